"""A table of people, and a public one beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.session import Session

COLUMNS = {
    "k": {"type": "string", "keys": ["a", "b", "c"]},
    "q": {"type": "string"},
    "x": {"type": "int", "bounds": [0, 9]},
    "d": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"]},
}


def shop_policy(**more: Any) -> dict[str, Any]:
    return {
        "version": "1",
        "budget": {"epsilon": 10**12, "delta": 0.5},
        "tables": {
            "t": {"unit": "id", "max_rows": 2, "columns": COLUMNS},
            "others": {"public": True, "key": "k", "columns": {"k": {"type": "string"}, "label": {"type": "string"}}},
            "labels": {
                "public": True,
                "key": "k",
                "columns": {
                    "k": {"type": "string"},
                    "label": {"type": "string"},
                    "weight": {"type": "float"},
                    "size": {"type": "int"},
                },
            },
        },
        **more,
    }


def shop_tables() -> dict[str, pa.Table]:
    size = 300
    return {
        "t": pa.table(
            {
                "id": pa.array(range(size)),
                "k": ["abcz"[i % 4] for i in range(size)],
                "q": ["uv"[i % 2] for i in range(size)],
                "x": pa.array(i % 10 for i in range(size)),
                "d": pa.array([i % 28 for i in range(size)], pa.int32()).cast(pa.date32()),
            }
        ),
        "others": pa.table({"k": ["a", "b"], "label": ["other", "another"]}),
        "labels": pa.table(
            {"k": ["a", "b", "e"], "label": ["first", "second", None], "weight": [0.5, 1.5, 2.5], "size": [1, None, 3]}
        ),
    }


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with dp.connect(shop_tables(), shop_policy()) as opened:
        yield opened
