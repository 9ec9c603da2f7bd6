"""The publication of people and households together that is stored."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

import discreet as dp
from discreet import census

POLICY: dict[str, Any] = {
    "version": "2026-11",
    "budget": {"rho": 10},
    "tables": {
        "people": {
            "unit": "household",
            "max_rows": 6,
            "columns": {
                "age": {"type": "int", "bounds": [0, 99], "nullable": False},
                "relation": {"type": "string", "keys": ["head", "other"], "nullable": False},
            },
        },
        "households": {
            "unit": "id",
            "max_rows": 1,
            "columns": {
                "block": {"type": "string"},
                "kind": {"type": "string", "keys": ["family", "single"], "nullable": False},
                "size": {"type": "int", "bounds": [1, 8], "nullable": False},
            },
        },
    },
}
SPEC: dict[str, Any] = {
    "name": "people",
    "table": "SELECT h.block, p.age, p.relation, h.kind FROM people p JOIN households h ON p.household = h.id",
    "share": 3,
    "rules": ["people[relation = 'head'] = households", "people[age < 18] <= 5 households"],
    "zeros": ["age < 18 AND relation = 'head'"],
    "geography": {"areas": {"state": ["n", "n", "s"], "block": ["n1", "n2", "s1"]}, "levels": ["state", "block"]},
    "cells": {"age": [18, 65]},
    "tables": {"total": [], "age_relation": ["age", "relation"], "kind": ["kind"]},
    "universes": {
        "households": {
            "table": "households",
            "column": "block",
            "share": 1,
            "tables": {"every": [], "size": ["size"]},
        }
    },
}


def tables() -> dict[str, pa.Table]:
    """The private tables: households of 1 to 4."""
    sizes = [1 + i % 4 for i in range(300)]
    members = [(i, place) for i, size in enumerate(sizes) for place in range(size)]
    return {
        "households": pa.table({
            "id": list(range(300)),
            "block": [("n1", "n2", "n2")[i % 3] for i in range(300)],
            "kind": ["single" if size == 1 else "family" for size in sizes],
            "size": sizes,
        }),
        "people": pa.table({
            "household": [i for i, _ in members],
            "age": [20 + i % 60 if place < 2 else i % 18 for i, place in members],
            "relation": ["head" if place == 0 else "other" for _, place in members],
        }),
    }  # fmt: skip


def publish(session: dp.Session) -> census.Publication:
    """The publication."""
    return census.publish(session, census.Spec.of_dict(SPEC), dp.rho(1))


def seen(release: census.Publication) -> Any:
    """What anyone sees of it, as JSON."""
    other = release.universes["households"]
    rate, beyond = (
        release.rate(areas=["n"], universe="households", per=1),
        release.beyond_cap("size", universe="households"),
    )
    rows = [release.cells(), other.cells(), other.table("size", level="state").to_pylist()]
    rows += [[rate.estimate, *rate.interval(0.9)], [beyond.unbiased, *beyond.interval(0.9)]]
    rows.append([release.microdata().num_rows, other.microdata().num_rows])
    return json.loads(
        json.dumps({"digest": release.digest(), "certificate": dict(release.certificate), "rows": rows}, default=str)
    )
