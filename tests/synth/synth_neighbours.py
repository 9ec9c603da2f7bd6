"""Small tables in which caps bite, and neighbours of them: for the tests of how far one person moves a fit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

COLUMNS: dict[str, Any] = {
    "a": {"type": "int", "bounds": [0, 3]},
    "b": {"type": "string", "keys": ["x", "y", "z"]},
    "c": {"type": "bool", "nullable": False},
    "d": {"type": "float", "bounds": [-1, 1], "nullable": False},
}
WORLDS = 40
Row = tuple[int, int, int | None, str | None, bool | None, float | None]
"""A world, a person of it, and the columns."""
_TYPES = {
    "world": pa.int64(), "person": pa.int64(), "a": pa.int64(), "b": pa.string(), "c": pa.bool_(), "d": pa.float64(),
}  # fmt: skip


def policy_of(relation: str, max_rows: int, budget: dict[str, Any], worlds: int = 0) -> dict[str, Any]:
    """One table of persons with at most so many rows each; of several worlds, which are public keys, or of one."""
    world = {"world": {"type": "int", "keys": list(range(worlds)), "nullable": False}} if worlds else {}
    table = {"unit": "person", "max_rows": max_rows, "columns": {**world, **COLUMNS}}
    return {"version": "1", "relation": relation, "budget": budget, "tables": {"t": table}}


def some_rows(dice: random.Random, world: int, person: int, most: int = 6) -> list[Row]:
    """Rows of one person: few different ones, values that are not public, and nulls where there are none."""
    pool = [
        (
            dice.choice([0, 1, 3, 9, None]),
            dice.choice(["x", "y", "z", "w", None]),
            dice.choice([True, False, False, None]),
            dice.choice([-1.0, 0.0, 0.3, 7.0, float("nan"), None]),
        )
        for _ in range(dice.randint(1, 3))
    ]
    return [(world, person, *dice.choice(pool)) for _ in range(dice.randint(0, most))]


def some_pair(dice: random.Random, relation: str, world: int = 0, people: int = 4) -> tuple[list[Row], list[Row]]:
    """Rows of several persons, and of the same but for one, who is gone or has other rows."""
    first = 1000 * world
    others = [row for person in range(1, people) for row in some_rows(dice, world, first + person)]
    one = some_rows(dice, world, first)
    other = some_rows(dice, world, first) if relation == "substitute" else []
    pair = ([*others, *one], [*others, *other])
    for rows in pair:
        dice.shuffle(rows)
    return pair


def table_of(rows: Sequence[Row]) -> pa.Table:
    """Rows as a table."""
    return pa.table({name: pa.array([row[i] for row in rows], kind) for i, (name, kind) in enumerate(_TYPES.items())})
