"""The graphs whose releases are stored: with the privacy of edges, and with that of people."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet import graphs

PEOPLE = range(40)
VERTEX = {"type": "int", "bounds": [0, 39], "nullable": False}
PAIRS = [(i, j) for i in PEOPLE for j in range(i) if i % 10 == j % 10 or (i * j) % 7 == 1]
EDGES: dict[str, Any] = {
    "version": "2026-11",
    "budget": {"epsilon": 100, "delta": "1/10"},
    "tables": {
        "ties": {"unit": "rows", "columns": {"a": VERTEX, "b": VERTEX}},
        "places": {
            "public": True,
            "key": "id",
            "columns": {"id": VERTEX, "place": {"type": "string", "keys": ["north", "south"]}},
        },
    },
    "graphs": {"town": {"edges": "ties", "ends": ["a", "b"], "protects": "edge"}},
}
NODES: dict[str, Any] = EDGES | {
    "tables": {
        "ties": {"unit": "ends", "columns": {"a": VERTEX, "b": VERTEX}},
        "people": {"unit": "id", "max_rows": 1, "columns": {"id": VERTEX}},
    },
    "graphs": {
        "town": {"edges": "ties", "ends": ["a", "b"], "protects": "node", "nodes": "people.id", "max_degree": 20}
    },
}
ARCS: dict[str, Any] = EDGES | {
    "graphs": {"town": {"edges": "ties", "ends": ["a", "b"], "protects": "edge", "directed": True}},
}
NAME = {"type": "string", "nullable": False}
LISTED: dict[str, Any] = NODES | {
    "tables": {
        "names": {"unit": "ends", "columns": {"a": NAME, "b": NAME}},
        "register": {"public": True, "columns": {"name": NAME}},
    },
    "graphs": {
        "town": {"edges": "names", "ends": ["a", "b"], "protects": "node", "nodes": "register.name", "max_degree": 20}
    },
}
"""People are texts that a public table lists, and the policy does not."""
UNITS = {"edges": EDGES, "people": NODES, "arcs": ARCS, "listed": LISTED}
PURE, GAUSSIAN = dp.pure(2), dp.approx(2, "1/1000")


def tables() -> dict[str, pa.Table]:
    """The private tables, and a public one."""
    a, b = zip(*PAIRS, strict=True)
    called = [f"person {i}" for i in PEOPLE]
    return {
        "names": pa.table({"a": [called[i] for i in a], "b": [called[i] for i in b]}),
        "register": pa.table({"name": called}),
        "ties": pa.table({"a": a, "b": b}),
        "people": pa.table({"id": list(PEOPLE)}),
        "places": pa.table({"id": list(PEOPLE), "place": [("north", "south")[i % 2] for i in PEOPLE]}),
    }


def policy(unit: str) -> dict[str, Any]:
    """Of the ledger that counts edges, of that which counts people, or of that which counts arcs."""
    return UNITS[unit]


def sources(unit: str) -> dict[str, pa.Table]:
    """Those of the policy."""
    return {name: table for name, table in tables().items() if name in policy(unit)["tables"]}


def asked(unit: str) -> dict[str, Callable[[dp.Session], Any]]:
    """Each release, by the name of its file."""

    def town(ask: Callable[[graphs.PrivateGraph], Any]) -> Callable[[dp.Session], Any]:
        return lambda session: ask(graphs.open(session, "town"))

    if unit == "people":
        return {
            "node-count": town(lambda g: g.count("triangles", PURE)),
            "node-count-public": town(lambda g: g.count("edges", GAUSSIAN, cap="public")),
            "node-count-stars": town(lambda g: g.count("2-stars", PURE, cap="public")),
            "node-count-components": town(lambda g: g.count("components", PURE)),
            "node-degrees": town(lambda g: g.degrees(PURE)),
            "node-degrees-public": town(lambda g: g.degrees(GAUSSIAN, cap="public")),
        }
    if unit == "listed":
        return {
            "node-count-listed": town(lambda g: g.count("triangles", PURE)),
            "node-degrees-listed": town(lambda g: g.degrees(PURE)),
        }
    if unit == "arcs":
        return {
            "count-arcs": town(lambda g: g.count("edges", PURE)),
            "count-reciprocity": town(lambda g: g.count("reciprocity", PURE)),
            "degrees-out": town(lambda g: g.degrees(PURE, direction="out")),
            "mixing-arcs": town(lambda g: g.mixing("places.place", PURE)),
        }
    vectors = np.column_stack([np.arange(40) % 3, np.arange(40) % 5]).astype(float)
    return {
        "count": town(lambda g: g.count("edges", PURE)),
        "count-triangles": town(lambda g: g.count("triangles", PURE)),
        "count-clustering": town(lambda g: g.clustering(PURE)),
        "degrees": town(lambda g: g.degrees(PURE)),
        "count-average": town(lambda g: g.count("average clustering", PURE)),
        "count-assortativity": town(lambda g: g.count("degree assortativity", PURE)),
        "cuts": town(lambda g: g.cuts(PURE)),
        "features": town(lambda g: g.features(vectors, GAUSSIAN)),
        "mixing": town(lambda g: g.mixing("places.place", PURE)),
        "synthetic": town(lambda g: g.synthetic(PURE)),
    }


def seen(release: Any) -> Any:
    """What anyone sees of a release, as JSON."""
    rows = [release.cells(), release.note()]
    return json.loads(
        json.dumps({"digest": release.digest(), "certificate": dict(release.certificate), "rows": rows}, default=str)
    )
