"""Many small databases in one, and a neighbour of each.

Every person lives in one world, and every row carries its world, so that a query by world asks all of them at once.
People and groups of different worlds have nothing in common: how far one world's sums move is what they would move
alone. World 0 also serves on its own, for queries without keys.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from discreet.engines.duckdb import DuckDB
from discreet.policy import Policy, load_policy
from discreet.privacy import Loss, Relation
from discreet.query import BoundedAggregate, Group, Plan, make_plan, public_reader
from suite.features import LANDED

__all__ = ["CAPS", "CHOSEN", "Bench", "Pair", "World", "make_pair", "world_policy"]

CAPS: dict[str, dict[str, int]] = {
    "1 row": {"max_rows": 1},
    "2 rows": {"max_rows": 2},
    "2 rows 1 group": {"max_rows": 2, "max_groups": 1},
    "4 rows 2 groups": {"max_rows": 4, "max_groups": 2},
}

CHOSEN = "chosen by the query"
"""In place of caps: as many rows count as a query chooses."""

Row = dict[str, Any]
World = dict[str, list[Row]]

_BIG = 2**63 - 1
_NUMBERS = (-_BIG - 1, -7, -1, 0, 1, 2, 3, 99, _BIG, None)
_DOUBLES = (-1e308, -9.0, -0.5, 0.0, 0.3, 2.0, 7.5, 1e308, float("nan"), float("inf"), -float("inf"), None)
_TEXTS = ("p", "q", "", "é", "e\u0301", "Ω" * 40, None)
_DAYS = (dt.date(1, 1, 1), dt.date(2024, 2, 29), dt.date(2024, 3, 1), dt.date(9999, 12, 31), None)

_SCHEMAS = {
    "people": pa.schema(
        {"id": pa.int64(), "w": pa.string(), "k": pa.string(), "x": pa.int64(), "y": pa.float64(), "day": pa.date32()}
    ),
    "orders": pa.schema(
        {
            "no": pa.int64(),
            "person": pa.int64(),
            "w": pa.string(),
            "k": pa.string(),
            "q": pa.string(),
            "x": pa.int64(),
            "y": pa.float64(),
        }
    ),
    "items": pa.schema(
        {"order_no": pa.int64(), "w": pa.string(), "k": pa.string(), "x": pa.int64(), "y": pa.float64()}
    ),
    "tags": pa.schema({"k": pa.string(), "tag": pa.string(), "size": pa.int64()}),
    "visits": pa.schema({"w": pa.string(), "k": pa.string(), "q": pa.string(), "x": pa.int64(), "y": pa.float64()}),
}
_TAGS = [("a", "s", 1), ("a", "t", 2), ("a", "t", 3), ("b", "s", 1)]


@dataclass(frozen=True, slots=True)
class Pair:
    """A world and a neighbour of it."""

    one: World
    other: World


def world_policy(worlds: int, relation: Relation, caps: str) -> Policy:
    """The public facts, with the tables that the engine can describe so far."""
    limits: dict[str, Any] = {CHOSEN: {"max_rows": "auto"}, **CAPS}[caps]
    keyed = {"type": "string", "keys": ["a", "b", "c"]}
    numbers = {"x": {"type": "int", "bounds": [-1, 3]}, "y": {"type": "float", "bounds": [-0.5, 2]}}
    world = {"type": "string", "keys": [str(i) for i in range(worlds)]}
    text = {"type": "string"}
    rows = {"w": world, "k": keyed, "q": text, **numbers}
    tables: dict[str, dict[str, Any]] = {
        "people": {
            "unit": "id",
            "max_rows": limits["max_rows"],
            "columns": {"id": {"type": "int"}, "w": world, "k": keyed, "day": {"type": "date"}, **numbers},
        },
        "orders": {
            "unit": "person",
            **limits,
            "columns": {"no": {"type": "int"}, "person": {"type": "int"}, **rows},
        },
        "visits": {"unit": "rows", "columns": rows},
    }
    if "paths" in LANDED:
        columns = {"order_no": {"type": "int"}, "w": world, "k": keyed, **numbers}
        tables["items"] = {"unit": "order_no -> orders.no", **limits, "columns": columns}
    if "public tables" in LANDED:
        columns = {"k": text, "tag": {"type": "string", "keys": ["s", "t"]}, "size": {"type": "int", "bounds": [0, 2]}}
        tables["tags"] = {"public": True, "columns": columns}
    return load_policy({"version": "1", "relation": relation, "tables": tables})


def make_pair(dice: random.Random, world: int, relation: Relation) -> Pair:
    """A world of a few people, and the same without one of them, or with another in that one's place.

    A person goes with all rows of all tables. An item of an order that somebody else has too is that person's as well:
    it stays, and nobody else comes with one.
    """
    people = [world * 100 + i for i in range(dice.randrange(1, 5))]
    one: World = {name: [] for name in _SCHEMAS}
    for person in people:
        _add_person(one, dice, world, person)
    one["visits"] = [_row(dice, world) for _ in range(dice.randrange(0, 6))]
    one["orders"] += [{**_row(dice, world), "no": world * 100, "person": None} for _ in range(dice.choice([0, 0, 2]))]
    victim = dice.choice(people)
    other = {
        name: [row for row in rows if victim not in (row.get("id"), row.get("person"))] for name, rows in one.items()
    }
    left = {row["no"] for row in other["orders"]}
    other["items"] = [row for row in other["items"] if row["order_no"] in left or dice.random() < 0.3]
    if other["visits"]:
        del other["visits"][dice.randrange(len(other["visits"]))]
    if relation == "substitute":
        kept = len(other["items"])
        _add_person(other, dice, world, victim)
        other["items"][kept:] = [row for row in other["items"][kept:] if row["order_no"] not in left]
        if one["visits"]:
            other["visits"].append(_row(dice, world))
    return Pair(one, other)


def _add_person(world: World, dice: random.Random, number: int, person: int) -> None:
    for _ in range(dice.choice([0, 1, 1, 2])):
        world["people"].append({**_row(dice, number), "id": person, "day": dice.choice(_DAYS)})
    alike = _row(dice, number)
    for _ in range(dice.choice([0, 1, 2, 3, 5, 9])):
        row = alike if dice.random() < 0.4 else _row(dice, number)
        order = number * 100 + dice.randrange(8)  # now and then somebody else's too
        world["orders"].append({**row, "no": order, "person": person})
        for _ in range(dice.choice([0, 1, 2])):
            item = _row(dice, number)
            world["items"].append({"order_no": order, **{name: item[name] for name in ("w", "k", "x", "y")}})


def _row(dice: random.Random, world: int) -> Row:
    return {
        "w": str(world),
        "k": dice.choice(["a", "a", "b", "c", "elsewhere", None]),
        "q": dice.choice(_TEXTS),
        "x": dice.choice(_NUMBERS),
        "y": dice.choice(_DOUBLES),
    }


class Bench:
    """The engine over tables that change, with the salt held fixed."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.engine = DuckDB({name: _table(name, []) for name in policy.tables}, policy)
        for name in policy.tables:
            self.engine.check(name)
        self.load([])

    def load(self, worlds: Iterable[World]) -> None:
        """Put all worlds in the place of what was there."""
        every = list(worlds)
        for name in self.policy.tables:
            rows = [row for world in every for row in world[name]]
            if name == "tags":
                rows = [dict(zip(("k", "tag", "size"), row, strict=True)) for row in _TAGS]
            self.engine._connection.register(f"frame:{name}", _table(name, rows))

    def plan(self, query: str, spend: Loss) -> Plan:
        """The plan of a query, whose public groups are those of the public table."""
        return make_plan(query, self.policy, spend, public_reader(self.engine))

    def run(self, bounded: BoundedAggregate, salt: bytes) -> list[Group]:
        """The exact integers."""
        return self.engine.run(bounded, salt)

    def by_world(self, bounded: BoundedAggregate, salt: bytes) -> dict[object, list[Group]]:
        """The groups of each world, for a query whose first key is the world."""
        found: dict[object, list[Group]] = {}
        for group in self.run(bounded, salt):
            found.setdefault(group.key[0], []).append(replace(group, key=group.key[1:]))
        return found


def _table(name: str, rows: list[Row]) -> pa.Table:
    schema = _SCHEMAS[name]
    return pa.table({field: [row[field] for row in rows] for field in schema.names}, schema=schema)
