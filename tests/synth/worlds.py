"""Small random databases of people, their visits, orders and items; and what each part of a fit counts, by hand."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.marginals import ColumnCells
from discreet.policy import Policy, load_policy
from discreet.synth.related._parts import Part, parts_of
from discreet.synth.related._shapes import History, Shape, shapes_of

Row = dict[str, Any]
World = dict[str, list[Row]]
DAY = dt.date(2024, 1, 1)
HISTORIES = [
    {"visits": History(order="t", constant=["s", "w"]), "items": History(order="n", constant=["w"])},
    {"visits": History(order="day", constant=["w"], repeats=False), "items": History(constant=["y", "w"])},
]
WORLDS = 100
"""So many small databases are kept apart by a column `w`, and asked as one."""
TYPES: Mapping[str, Mapping[str, Any]] = {
    "persons": {"p": pa.int64(), "f": pa.bool_(), "w": pa.int64()},
    "visits": {
        "p": pa.int64(),
        "t": pa.int64(),
        "x": pa.float64(),
        "s": pa.string(),
        "day": pa.date32(),
        "w": pa.int64(),
    },
    "orders": {"p": pa.int64(), "id": pa.int64(), "k": pa.string(), "w": pa.int64()},
    "items": {"o": pa.int64(), "n": pa.int64(), "y": pa.bool_(), "w": pa.int64()},
}


def world_policy(relation: str = "add_remove", caps: Sequence[int] = (3, 2, 4)) -> Policy:
    visits, orders, items = caps
    world = {"w": {"type": "int", "keys": {"from": 0, "to": WORLDS - 1}, "nullable": False}}
    return load_policy({
        "version": "1",
        "relation": relation,
        "tables": {
            "persons": {"unit": "p", "max_rows": 1, "columns": {"f": {"type": "bool"}, **world}},
            "visits": {
                "unit": "p",
                "max_rows": visits,
                "columns": {
                    "t": {"type": "int", "bounds": [0, 3]},
                    "x": {"type": "float", "bounds": [0, 1]},
                    "s": {"type": "string", "keys": ["b", "a"], "nullable": False},
                    "day": {"type": "date", "bounds": ["2024-01-01", "2024-01-04"], "nullable": False},
                    **world,
                },
            },
            "orders": {
                "unit": "p",
                "max_rows": orders,
                "columns": {"k": {"type": "string", "keys": ["u", "v"]}, **world},
            },
            "items": {
                "unit": "o -> orders.id",
                "max_rows": items,
                "columns": {"n": {"type": "int", "bounds": [0, 4]}, "y": {"type": "bool", "nullable": False}, **world},
            },
        },
    })  # fmt: skip


def parts(policy: Policy, histories: Mapping[str, History]) -> list[tuple[Part, Shape]]:
    """All parts of a fit of all tables, and of one of the visits alone, with few cells for x."""
    cells = {"visits": {"x": 2}}
    together = shapes_of(policy, ["items", "persons", "visits", "orders"], histories, {}, cells, {}, {})
    alone = shapes_of(policy, ["visits"], {"visits": histories["visits"]}, {}, cells, {}, {})
    listed = [(part, next(s for s in together if s.table == part.table)) for part in parts_of(policy, together)]
    return [*listed, *((part, alone[0]) for part in parts_of(policy, alone))]


def some_world(dice: random.Random, people: Sequence[int], rows: int) -> World:
    def one_of(*values: Any) -> Any:
        return dice.choice([*values, *values, None])

    def person() -> Any:
        return dice.choice([*people, *people, *people, None])

    return {
        "persons": [{"p": p, "f": one_of(True, False)} for p in people for _ in range(dice.choice([0, 1, 1, 1, 2]))],
        "visits": [
            {
                "p": person(),
                "t": one_of(-1, 0, 1, 2, 3, 9),
                "x": one_of(-1.0, 0.0, 0.2, 0.6, 1.0, 7.0, float("nan")),
                "s": one_of("a", "b", "a", "b", "zz"),
                "day": one_of(*(DAY + dt.timedelta(days=days) for days in (-3, 0, 1, 2, 3))),
            }
            for _ in range(dice.randrange(rows))
        ],
        "orders": [
            {"p": person(), "id": one_of(*range(5)), "k": one_of("u", "v", "u", "v", "w")}
            for _ in range(dice.randrange(rows))
        ],
        "items": [
            {"o": one_of(*range(5)), "n": one_of(0, 1, 2, 3, 4, 5), "y": one_of(True, False)}
            for _ in range(dice.randrange(2 * rows))
        ],
    }


def together(worlds: Sequence[World]) -> World:
    """Databases as one: people and orders of each have numbers of their own, and rows say which they are from."""

    def moved(row: Row, world: int) -> Row:
        numbers = {name: row[name] + 1000 * world for name in ("p", "id", "o") if row.get(name) is not None}
        return {**row, **numbers, "w": world}

    return {name: [moved(row, i) for i, world in enumerate(worlds) for row in world[name]] for name in TYPES}


def tables(world: World) -> dict[str, pa.Table]:
    return {
        name: pa.table({column: pa.array([row[column] for row in world[name]], kind) for column, kind in types.items()})
        for name, types in TYPES.items()
    }


def owned(world: World, table: str) -> list[tuple[int, Row]]:
    """The rows of a table, each once for each person that owns it."""
    if table != "items":
        return [(row["p"], row) for row in world[table] if row["p"] is not None]
    pairs = {(row["id"], row["p"]) for row in world["orders"] if row["p"] is not None and row["id"] is not None}
    return [(p, row) for row in world["items"] for number, p in sorted(pairs) if number == row["o"]]


def linked(table: str, row: Row) -> Any:
    return row["o"] if table == "items" else None


def cell(cells: ColumnCells, value: Any) -> int | None:
    """The cell of a value; None where its row does not count."""
    if value is None or value != value:
        return cells.valued if cells.nullable else None
    if cells.keys is not None:
        return cells.keys.index(value) if value in cells.keys else None
    if cells.type == "date":
        value = min(max(value, DAY), DAY + dt.timedelta(days=3))
    else:
        value = min(max(value, int(cells.lower)), int(cells.upper))
    return cells.cell(value)


def by_hand(policy: Policy, part: Part, shape: Shape, world: World) -> list[tuple[int, tuple[int, ...]]]:
    """The owner and the cells of each row that a part counts, before any cap."""
    own = [name for kind, name in part.roles if kind in ("own", "previous", "step")]
    kept: list[tuple[int, Row]] = []
    for owner, row in owned(world, part.table):
        declared = policy.tables[part.table].columns
        if any(row[name] is None and not declared[name].nullable for name in own):
            continue
        if part.which != "every" and shape.order is not None and row[shape.order] is None:
            continue
        kept.append((owner, {**row, **_children(part, owner, row, world)}))
    ranked = _ranked(part, shape, kept)
    counted: list[tuple[int, tuple[int, ...]]] = []
    for owner, row, before, place, number in ranked:
        if part.which != "every" and (place == 0) != (part.which == "first"):
            continue
        for parent in _parents(policy, part, shape, owner, row, world):
            cells = [
                _value(role, each, row, before, number, parent)
                for role, each in zip(part.roles, part.columns, strict=True)
            ]
            if None not in cells:
                counted.append((owner, tuple(cells)))  # pyright: ignore[reportArgumentType]
    return counted


def _children(part: Part, owner: int, row: Row, world: World) -> Row:
    numbers: Row = {}
    for kind, child in part.roles:
        if kind == "children":
            rows = [each for p, each in owned(world, child) if p == owner]
            numbers[f"#{child}"] = sum(child != "items" or each["o"] == row["id"] for each in rows)
    return numbers


def _ranked(part: Part, shape: Shape, rows: list[tuple[int, Row]]) -> list[tuple[int, Row, Row, int, int]]:
    groups: dict[tuple[int, Any], list[Row]] = {}
    for owner, row in rows:
        groups.setdefault((owner, linked(part.table, row)), []).append(row)
    result: list[tuple[int, Row, Row, int, int]] = []
    for (owner, _), some in groups.items():
        some.sort(key=lambda row: _content(part, shape, row))
        result += [(owner, row, some[i - 1], i, len(some)) for i, row in enumerate(some)]
    return result


def _content(part: Part, shape: Shape, row: Row) -> list[tuple[bool, Any]]:
    """What a row is put in order by: the order column as it is stored, then what is counted of it, null first."""
    values: list[Any] = [] if shape.order is None else [row[shape.order]]
    for kinds in (("own", "previous"), ("children",)):
        for (kind, name), cells in zip(part.roles, part.columns, strict=True):
            if kind in kinds and cells.keys is None:
                values.append(cell(cells, row[f"#{name}"] if kind == "children" else row[name]))
            elif kind in kinds:
                values.append(row[name])
    return [(value is not None, value if value is not None else 0) for value in values]


def _parents(policy: Policy, part: Part, shape: Shape, owner: int, row: Row, world: World) -> list[Row]:
    names = [name for kind, name in part.roles if kind == "parent"]
    if not names or shape.parent is None:
        return [{}]
    declared = policy.tables[shape.parent].columns
    return [
        each
        for p, each in owned(world, shape.parent)
        if p == owner
        and (shape.link is None or each["id"] == row["o"])
        and not any(each[name] is None and not declared[name].nullable for name in names)
    ]


def _value(role: Any, cells: ColumnCells, row: Row, before: Row, number: int, parent: Row) -> int | None:
    kind, name = role
    match kind:
        case "own":
            return cell(cells, row[name])
        case "previous":
            return cell(cells, before[name])
        case "parent":
            return cell(cells, parent[name])
        case "children":
            return cell(cells, row[f"#{name}"])
        case "number":
            return cell(cells, number)
        case _:
            low, high = (DAY, DAY + dt.timedelta(days=3)) if name == "day" else (0, 3) if name == "t" else (0, 4)
            here, there = (min(max(each[name], low), high) for each in (row, before))
            return cell(cells, (here - there).days if isinstance(here, dt.date) else here - there)


def marginals(
    part: Part, counted: Sequence[tuple[int, tuple[int, ...]]], sets: Sequence[tuple[int, ...]]
) -> list[NDArray[np.int64]]:
    """Plain counts by each set of a part's columns."""
    result: list[NDArray[np.int64]] = []
    for each in sets:
        counts = np.zeros([part.columns[i].size for i in each], np.int64)
        for _, cells in counted:
            counts[tuple(cells[i] for i in each)] += 1
        result.append(counts)
    return result
