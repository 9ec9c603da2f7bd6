"""The synthetic tables whose files are stored: a fit with rules, people with histories, a check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

import discreet as dp
from discreet import synth

BUDGET = dp.approx(100, "1/10")
POLICY: dict[str, Any] = {
    "version": "2026-11",
    "budget": {"epsilon": 100, "delta": "1/10"},
    "tables": {
        "persons": {
            "unit": "person",
            "max_rows": 1,
            "columns": {
                "grade": {"type": "string", "keys": ["a", "b", "c"]},
                "level": {"type": "int", "keys": [1, 4, 9], "nullable": False},
                "town": {"type": "string"},
                "born": {"type": "date", "bounds": ["1950-01-01", "2009-12-31"]},
            },
        },
        "stays": {
            "unit": "person",
            "max_rows": 3,
            "columns": {
                "year": {"type": "int", "bounds": [1, 6], "nullable": False},
                "nights": {"type": "int", "bounds": [0, 30], "nullable": False},
                "cost": {"type": "decimal", "bounds": [0, 900]},
                "well": {"type": "bool"},
            },
        },
    },
}
LEVELS = {"a": 1, "b": 4, "c": 9, None: 1}


def tables() -> dict[str, pa.Table]:
    """The private tables."""
    import datetime as dt
    from decimal import Decimal

    numbers = range(600)
    return {
        "persons": pa.table({
            "person": list(numbers),
            "grade": [[None, "a", "b", "c"][i % 4] for i in numbers],
            "level": [9] * 600,
            "town": [("Graz", "Linz")[i % 3 == 0] for i in numbers],
            "born": [dt.date(1950 + i % 60, 1 + i % 12, 1 + i % 28) for i in numbers],
        }),
        "stays": pa.table({
            "person": [i // 2 for i in range(900)],
            "year": [1 + i % 6 for i in range(900)],
            "nights": [i % 9 if i % 3 else 0 for i in range(900)],
            "cost": [None if i % 10 == 0 else Decimal(i % 9 if i % 3 else 0) * 50 for i in range(900)],
            "well": [None if i % 7 == 0 else i % 3 > 0 for i in range(900)],
        }),
    }  # fmt: skip


def fits() -> dict[str, Callable[[dp.Session], Any]]:
    """Each kind of fit, by the name of its file."""
    history = synth.History(order="year", constant=["well"], repeats=False)
    return {
        "persons": lambda session: synth.fit(
            session, "persons", dp.approx(4, "1/1000"), target="grade", workload=[("grade", "born")], cells={"born": 6},
            rules=["grade IS NULL OR born < DATE '2000-01-01'", synth.Follows("level", "grade", LEVELS)],
        ),
        "people": lambda session: synth.fit_tables(
            session, ["persons", "stays"], dp.pure(4), columns={"persons": ["grade", "born"]},
            histories={"stays": history}, rules={"stays": ["nights > 0 OR cost = 0"]},
        ),
    }  # fmt: skip


def seen(model: Any) -> dict[str, Any]:
    """What anyone sees of a model."""
    if isinstance(model, synth.SyntheticTable):
        answer = model.sql("SELECT grade, COUNT(*) AS n FROM persons GROUP BY grade ORDER BY grade")
        rows, more = {"persons": model.sample(9, label="a")}, {
            "answer": [answer.table["n"].to_pylist(), list(map(float, answer.error("n")))],
            "report": [each.name for each in model.report().marginals],
        }  # fmt: skip
    else:
        rows, more = model.sample(4, label="a"), {"report": {k: len(v.marginals) for k, v in model.report().items()}}
    return {
        "digest": model.digest(),
        "certificate": dict(model.certificate),
        "rows": {name: {k: list(map(repr, v)) for k, v in table.to_pydict().items()} for name, table in rows.items()},
        "policy": model.policy_toml(),
        **more,
    }


def check(session: dp.Session, model: synth.SyntheticTable) -> synth.SyntheticCheck:
    """The check that is stored beside the fit."""
    return synth.check(session, model, dp.pure(2), target={"grade": "a"}, accept={"tv1": 0.5})
