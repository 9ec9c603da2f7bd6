"""A clinic with and without one patient, as typed columns and as text, and with rows that try to break a query."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1] / "query"))

from suite.features import LANDED

from discreet.policy import Policy, load_policy

__all__ = ["NEIGHBOURS", "clinic_policy", "databases"]

VICTIM = 777
NEIGHBOURS = (("typed", "typed victim"), ("typed", "typed poison"), ("text", "text victim"), ("text", "text poison"))

_PATIENTS = ("person", "name", "city", "age", "cost", "seen", "moment", "note")
_STAYS = ("person", "ward", "nights", "cost")
_TYPED: dict[str, pa.DataType] = {
    "person": pa.int64(),
    "name": pa.string(),
    "city": pa.string(),
    "age": pa.int64(),
    "cost": pa.float64(),
    "seen": pa.date32(),
    "moment": pa.timestamp("us"),
    "note": pa.string(),
    "ward": pa.string(),
    "nights": pa.int64(),
}
_MOST = 2**63 - 1
_FIRST, _LAST = (dt.datetime.fromisoformat(text) for text in ("0001-01-01", "9999-12-31 23:59:59.999999"))
_DAY, _NOON = dt.date.fromisoformat("2024-02-29"), dt.datetime.fromisoformat("2024-02-29 12:00:00")

Rows = list[tuple[Any, ...]]


def clinic_policy() -> Policy:
    """At most 3 rows and 2 groups of a person; names, notes and wards are private text."""
    caps = {"unit": "person", "max_rows": 3, "max_groups": 2}
    cost = {"type": "float", "bounds": [0, 1000]}
    patients = {
        "person": {"type": "int"},
        "name": {"type": "string"},
        "city": {"type": "string", "keys": ["Graz", "Wien", "Linz"]},
        "age": {"type": "int", "bounds": [0, 120]},
        "cost": cost,
        "seen": {"type": "date"},
        "moment": {"type": "timestamp"},
        "note": {"type": "string"},
    }
    stays = {
        "person": {"type": "int"},
        "ward": {"type": "string"},
        "nights": {"type": "int", "bounds": [0, 30]},
        "cost": cost,
    }
    tables: dict[str, Any] = {"patients": {**caps, "columns": patients}, "stays": {**caps, "columns": stays}}
    if "public tables" in LANDED:
        wards = {"ward": {"type": "string"}, "beds": {"type": "int", "bounds": [0, 50]}}
        tables["wards"] = {"public": True, "columns": wards}
    return load_policy({"version": "1", "budget": {"epsilon": 10**9, "delta": 0.9}, "tables": tables})


def databases() -> dict[str, dict[str, pa.Table]]:
    """Tables by the name of the database. The neighbours of `NEIGHBOURS` differ in the rows of one person."""
    patients, stays = _people(range(1, 61))
    victim = _people([VICTIM])
    victim[0][0] = (VICTIM, "Victoria Victim", "Graz", 101, 999.0, _DAY, _NOON, "x")
    victim[1][:] = [(VICTIM, "secret ward", 29, 10.0)] * 5
    return {
        "typed": _tables(patients, stays, text=False),
        "typed victim": _tables(patients + victim[0], stays + victim[1], text=False),
        "typed poison": _tables(patients + _poison(), stays + _poisoned_stays(), text=False),
        "text": _tables(patients, stays, text=True),
        "text victim": _tables(patients + victim[0], stays + victim[1], text=True),
        "text poison": _tables(patients + _misspelt(), stays + _misspelt_stays(), text=True),
    }


def _people(numbers: Any) -> tuple[Rows, Rows]:
    patients: Rows = []
    stays: Rows = []
    for i in numbers:
        city, day = ("Graz", "Wien", "Linz", None)[i % 4], _DAY + dt.timedelta(days=i)
        name = ("Ann", "Bob", "Čeněk")[i % 3]
        patients.append((i, name, city, 20 + i, i * 7.5, day, _NOON + dt.timedelta(hours=i), "note" if i % 2 else None))
        stays += [(i, ("north", "south")[i % 2], n + 1, n * 10.0) for n in range(i % 5)]
    return patients, stays


def _poison() -> Rows:
    nan, inf = float("nan"), float("inf")
    return [
        (VICTIM, "x" * 10_000, "\u202e\u0000", _MOST, nan, dt.date.min, _FIRST, "%" * 10_000),
        (VICTIM, "", "", -_MOST - 1, inf, dt.date.max, _LAST, "\\"),
        (VICTIM, "e\u0301" * 999, "Graz", 101, -inf, None, None, "(a+)+$"),
        (VICTIM, None, None, 0, 1.7e308, _DAY, _NOON, "'; DROP TABLE patients; --"),
    ]


def _poisoned_stays() -> Rows:
    return [(VICTIM, "w" * 10_000, _MOST, float("nan")), (VICTIM, None, -_MOST - 1, 5e-324)] * 9


def _misspelt() -> Rows:
    """Text that is no number, no date, or too large a one."""
    return [
        (str(VICTIM), "x" * 10_000, "graz ", "9223372036854775808", "1e999", "2024-02-30", "2024-02-29 25:00:00", "1"),
        (str(VICTIM), "0", "Graz", "NaN", "nan", "infinity", "-infinity", "\u0000"),
        (str(VICTIM), "-1", "Wien", "12abc", "", "294247-01-10 (BC)", "now", "9" * 400),
        (str(VICTIM), "", "Linz", "1e300", "-inf", "epoch", "0001-01-01 (BC)", "{}"),
    ]


def _misspelt_stays() -> Rows:
    return [(str(VICTIM), "ward", "-9223372036854775809", "0x10"), (str(VICTIM), "", "1_000", "١٢")] * 9


def _tables(patients: Rows, stays: Rows, *, text: bool) -> dict[str, pa.Table]:
    tables = {"patients": _table(_PATIENTS, patients, text=text), "stays": _table(_STAYS, stays, text=text)}
    if "public tables" in LANDED:
        beds = pa.table({"ward": ["north", "north", "secret ward", "attic"], "beds": [10, 20, 1, 99]})
        tables["wards"] = beds
    return tables


def _table(names: tuple[str, ...], rows: Rows, *, text: bool) -> pa.Table:
    columns = zip(*rows, strict=True)
    if not text:
        return pa.table({name: pa.array(values, _TYPED[name]) for name, values in zip(names, columns, strict=True)})
    return pa.table(
        {
            name: pa.array([None if value is None else str(value) for value in values], pa.string())
            for name, values in zip(names, columns, strict=True)
        }
    )
