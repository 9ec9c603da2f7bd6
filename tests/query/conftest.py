"""A policy and a small table that exercise every column type."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from discreet.policy import Policy, load_policy

COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"type": "int", "bounds": [0, 120], "nullable": False},
    "visits": {"type": "int", "bounds": [-5, 10]},
    "cost": {"type": "float", "bounds": [0, 2000]},
    "dose": {"type": "decimal", "bounds": ["0.5", 9]},
    "city": {"type": "string"},
    "plan": {"type": "string", "keys": ["free", "basic", "gold"]},
    "coins": {"type": "int", "keys": [0, 25, 95], "bounds": [0, 100]},
    "insured": {"type": "bool", "keys": [True, False]},
    "seen": {"type": "date"},
    "quarter": {"type": "date", "keys": ["2024-01-01", "2024-04-01"]},
    "stamp": {"type": "timestamp"},
    "code": {"type": "int"},
    'odd "name"': {"type": "int", "bounds": [0, 5]},
}


def make_policy(**table: Any) -> Policy:
    """A policy over one table `Clinic`, row-level unless `unit` says otherwise."""
    return load_policy(
        {
            "version": "1",
            "budget": {"epsilon": 10**12, "delta": "0.5"},
            "tables": {"Clinic": {"unit": "rows", "columns": COLUMNS, **table}},
        }
    )


def clinic_table(rows: int = 120) -> pa.Table:
    """Rows in which every column is null somewhere, and out of its bounds or keys somewhere."""
    cities = ["Łódź", "Graz", None, "O'Hare", "graz", ""]
    plans = ["free", "basic", None, "platinum", "free"]
    start = dt.date(2024, 1, 1)
    data = {
        "age": pa.array([(i * 37) % 131 for i in range(rows)], pa.int64()),
        "visits": pa.array([None if i % 7 == 3 else (i * 5) % 23 - 8 for i in range(rows)], pa.int32()),
        "cost": pa.array(
            [None if i % 11 == 5 else (i * 97 % 2500) / 8 + i // 2 / 16 for i in range(rows)], pa.float64()
        ),
        "dose": pa.array([None if i % 13 == 1 else (i % 40) / 4 for i in range(rows)], pa.float64()),
        "city": pa.array([cities[i % 6] for i in range(rows)], pa.string()),
        "plan": pa.array([plans[i % 5] for i in range(rows)], pa.string()),
        "coins": pa.array([[0, 25, None, 50][i % 4] for i in range(rows)], pa.int64()),
        "insured": pa.array([[True, False, True, None][i * 3 % 4] for i in range(rows)], pa.bool_()),
        "seen": pa.array([None if i % 9 == 2 else start + dt.timedelta(days=i % 30) for i in range(rows)], pa.date32()),
        "quarter": pa.array([[start, dt.date(2024, 4, 1), dt.date(2024, 7, 1), None][i % 4] for i in range(rows)]),
        "stamp": pa.array(
            [None if i % 10 == 4 else dt.datetime.combine(start, dt.time(i % 24, 30)) for i in range(rows)],
            pa.timestamp("us"),
        ),
        "code": pa.array([[2**62 + 1, -5, None, 7][i % 4] for i in range(rows)], pa.int64()),
        'odd "name"': pa.array([i % 4 for i in range(rows)], pa.int64()),
    }
    return pa.table(data)


@pytest.fixture(scope="session")
def policy() -> Policy:
    return make_policy()


@pytest.fixture(scope="session")
def clinic_policy() -> Callable[..., Policy]:
    return make_policy


@pytest.fixture(scope="session")
def clinic() -> pa.Table:
    return clinic_table()
