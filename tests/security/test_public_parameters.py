"""No parameter is read from data: what is planned, charged and certified is the same for every table."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.session import Session

pytestmark = pytest.mark.usefixtures("one_database")

COLUMNS = {
    "x": {"type": "float", "bounds": [-5, 9]},
    "y": {"type": "int", "bounds": [0, 100]},
    "k": {"type": "string", "keys": ["a", "b", "c"]},
    "q": {"type": "string"},
}
UNITS = {"rows": {"unit": "rows"}, "people": {"unit": "u", "max_rows": 3, "max_groups": 2}}
SPENDS = {
    "approx": ({"epsilon": 100, "delta": "0.5"}, dp.approx(1, 1e-3)),
    "rho": ({"rho": 100, "delta": "0.5"}, dp.rho(1, 1e-3)),
    "mu": ({"mu": 100, "delta": "0.5"}, dp.mu(1, 1e-3)),
}


def table(rows: int, **changes: Any) -> pa.Table:
    data = {
        "u": list(range(rows)),
        "x": [float(i % 7) for i in range(rows)],
        "y": [i % 90 for i in range(rows)],
        "k": ["abc"[i % 3] for i in range(rows)],
        "q": [f"q{i % 4}" for i in range(rows)],
    } | changes
    schema = {"u": pa.int64(), "x": pa.float64(), "y": pa.int64(), "k": pa.string(), "q": pa.string()}
    return pa.table({name: pa.array(data[name], kind) for name, kind in schema.items()})


TABLES = {
    "one": table(120),
    "a neighbour": table(119),
    "empty": table(0),
    "one person": table(400, u=[7] * 400),
    "nulls": table(50, x=[None] * 50, y=[None] * 50, k=[None] * 50, q=[None] * 50),
    "wild": table(5_000, x=[float("inf"), float("nan"), -1e300, 1e-300, 0.0] * 1000, y=[-(2**60), 2**60] * 2500),
    "other keys": table(90, k=["z" * 1000] * 90, q=[f"{i}" for i in range(90)]),
}
QUERIES = {
    "whole": "SELECT COUNT(*) AS n, SUM(x) AS s, AVG(y) AS a FROM t WHERE x > 0",
    "public keys": "SELECT k, COUNT(x) AS n, SUM(y) AS s FROM t GROUP BY k",
    "private keys": "SELECT q, COUNT(*) AS n, AVG(x) AS a FROM t GROUP BY q",
}


OF_ONE_RELEASE = {"answer", "error_bars", "ledger", "position", "at", "signature"}
"""In a certificate: the digests of what was released, and where and when the ledger charged it."""


def open_session(name: str, unit: str, budget: dict[str, Any]) -> Session:
    policy = {"version": "1", "budget": budget, "tables": {"t": {**UNITS[unit], "columns": COLUMNS}}}
    return dp.connect({"t": TABLES[name]}, policy)


def told(name: str, unit: str, currency: str, query: str) -> dict[str, Any]:
    """All that a session says beside the values, and which keys there are."""
    budget, spend = SPENDS[currency]
    with open_session(name, unit, budget) as session:
        plan = session.plan(QUERIES[query], spend)
        release = session.sql(QUERIES[query], spend)
        assert plan.levels[0].noise is not None
        steps = [(a.x, a.y, a.xx, a.xy, a.yy) for a in plan.aggregates]
        return {
            "plan": (
                plan.hash(session._policy),
                plan.sql,
                plan.levels[0].norms,
                plan.levels[0].noise,
                steps,
                plan.explain(),
            ),
            "certificate": json.dumps({k: v for k, v in release.certificate.items() if k not in OF_ONE_RELEASE}),
            "loss": (release.loss, session.spent, session.remaining),
            "columns": [release.to_arrow().schema, *((each, release.approximate(each)) for each in release.noisy)],
            "errors": [plan.error("n"), set(release.error("n")) <= {plan.error("n")}],
            "rows": None if query == "private keys" else release.to_arrow().select(["k"] if "keys" in query else []),
            "ledger": [(entry.kind, entry.loss) for entry in session._ledger.entries()],
        }


@pytest.mark.sampled
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(("currency", "unit"), [("approx", "rows"), ("rho", "people"), ("mu", "people")])
def test_all_tables_are_told_the_same(currency: str, unit: str, query: str) -> None:
    first = told("one", unit, currency, query)
    for name in TABLES.keys() - {"one"}:
        assert told(name, unit, currency, query) == first, name


@pytest.mark.parametrize("unit", UNITS)
def test_all_tables_are_refused_the_same(unit: str) -> None:
    budget, spend = SPENDS["approx"]
    asked = [
        ("SELECT SUM(z) FROM t", spend),
        ("SELECT x FROM t", spend),
        (QUERIES["private keys"], dp.pure(1)),
        (QUERIES["whole"], dp.approx(1000, 0.1)),
        (QUERIES["whole"], dp.rho(1)),
        (QUERIES["whole"], None),
    ]
    messages: list[list[str]] = []
    for name in TABLES:
        messages.append([])
        with open_session(name, unit, budget) as session:
            for query, cost in asked:
                with pytest.raises(dp.DiscreetError) as refused:
                    session.sql(query, cost)
                messages[-1].append(f"{type(refused.value).__name__}: {refused.value}")
    assert messages == [messages[0]] * len(TABLES)


def public(mechanism: Any) -> dict[str, Any]:
    """Every attribute that is no secret and no function, and what it costs."""
    names = {name for name in dir(type(mechanism)) if not name.startswith("_")}
    values = {name: getattr(mechanism, name) for name in names | {field.name for field in fields(mechanism)}}
    return {name: value for name, value in values.items() if not callable(value)}


def test_mechanisms_are_the_same_before_and_after(case) -> None:
    """Frozen, without memory: neither parameters nor claimed losses change with what was released."""
    mechanism, fresh = case.at(2), case.at(2)
    before, cost = public(mechanism), case.loss(mechanism)
    for world in case.worlds:
        case.draw(mechanism, world, 3)
    assert public(mechanism) == before == public(fresh)
    assert case.loss(mechanism) == cost == case.loss(fresh)
    assert mechanism == fresh
    with pytest.raises(AttributeError):
        setattr(mechanism, fields(mechanism)[0].name, None)
    assert not hasattr(mechanism, "__dict__")


def test_outputs_are_of_one_type(case) -> None:
    mechanism = case.at(2)
    kinds = {type(each) for world in case.worlds for each in case.draw(mechanism, world, 20)} - {type(None)}
    assert len(kinds) == 1
    assert kinds <= {int, float, list, np.ndarray}
