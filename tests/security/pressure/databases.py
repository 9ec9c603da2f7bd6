"""A shop without person 777, and the same with every kind of rows that make 777 heavy.

Each neighbour differs from the shop in the rows of 777 alone, or, of the table of row units, in one row. The texts are
drawn at random, so that they do not compress on their way to a disk.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from discreet.policy import Policy, load_policy

__all__ = ["NEIGHBOURS", "PACKED", "Tables", "neighbour", "shop", "shop_policy"]

VICTIM = 777
PRODUCTS = 3_000
LONG = 4_000
HEAVY = 10_000
PACKED = 70_000
"""More rows than DuckDB's plan over packed rows asks for."""

_CROWD = 12
_CITIES = ("Graz", "Wien", "Linz")
_STATUSES = ("open", "paid", "void")

Tables = dict[str, pa.Table]
Columns = dict[str, list[Any]]


def shop_policy(**more: Any) -> Policy:
    """Tables of people, one found by a path, one of row units, and public ones with a key and without."""
    number = {"type": "int", "bounds": [0, 9]}
    caps = {"max_rows": 3, "max_groups": 2}
    text = {"type": "string"}
    tables: dict[str, dict[str, Any]] = {
        "t": {
            "unit": "person",
            **caps,
            "columns": {
                "person": {"type": "int"},
                "x": number,
                "y": {"type": "float", "bounds": [0, 100]},
                "city": {"type": "string", "keys": list(_CITIES)},
                "name": text,
                "note": text,
            },
        },
        "orders": {
            "unit": "person",
            **caps,
            "columns": {
                "id": {"type": "int"},
                "person": {"type": "int"},
                "status": {"type": "string", "keys": list(_STATUSES)},
                "x": number,
                "note": text,
            },
        },
        "items": {
            "unit": "order_id -> orders.id",
            **caps,
            "columns": {"order_id": {"type": "int"}, "x": number, "note": text},
        },
        "visits": {
            "unit": "rows",
            "columns": {"x": number, "city": {"type": "string", "keys": list(_CITIES)}, "page": text},
        },
        "products": {
            "public": True,
            "columns": {"id": {"type": "int"}, "x": number, "kind": text, "label": text},
        },
        "catalog": {
            "public": True,
            "key": "id",
            "columns": {"id": {"type": "int"}, "x": number, "kind": text, "label": text},
        },
    }
    return load_policy({"version": "1", "budget": {"epsilon": 10**9, "delta": "0.9"}, "tables": tables, **more})


def shop() -> Tables:
    """The crowd: a few rows of each, and the public tables."""
    people = [person for person in range(1, _CROWD + 1) for _ in range(1 + person % 3)]
    visits = pa.table(
        {
            "x": pa.array([i % 10 for i in range(200)], pa.int64()),
            "city": [_CITIES[i % 3] for i in range(200)],
            "page": [f"page {i % 9}" for i in range(200)],
        }
    )
    public = {
        "x": pa.array([i % 10 for i in range(PRODUCTS)], pa.int64()),
        "kind": ["name"] * PRODUCTS,
        "label": [f"label {i}" for i in range(PRODUCTS)],
    }
    return {
        **_rows(people, [f"note {i % 7}" for i in range(len(people))], range(1, len(people) + 1)),
        "visits": visits,
        "products": pa.table({"id": pa.array([i % 50 for i in range(PRODUCTS)], pa.int64()), **public}),
        "catalog": pa.table({"id": pa.array(range(PRODUCTS), pa.int64()), **public}),
    }


NEIGHBOURS: Mapping[str, tuple[int, int, int, bool]] = {
    # how many rows 777 has, characters of each text, how many different texts, whether all orders have one number
    "one row": (1, 4, 1, True),
    "a few long": (5, LONG, 5, True),
    "many long": (HEAVY // 10, LONG, HEAVY // 10, True),
    "heavy": (HEAVY, LONG, HEAVY, True),
    "heavy, own orders": (HEAVY, LONG, HEAVY, False),
    "heavy, alike": (HEAVY, LONG, 1, True),
    "many short": (PACKED, 4, 9_000, False),
    "one huge": (1, 100_000_000, 1, True),
    "many of some length": (200_000, 250, 200_000, False),
    "very many short": (1_000_000, 4, 9_000, True),
}


def neighbour(kind: str, tables: Tables) -> Tables:
    """The tables, and rows of 777 in each table of people, with one row more in the table of row units."""
    rows, length, different, one_order = NEIGHBOURS[kind]
    texts = _texts(kind, length, different)
    orders = [_CROWD * 10] * rows if one_order else range(10**6, 10**6 + rows)
    victim = _rows([VICTIM] * rows, [texts[i % different] for i in range(rows)], orders)
    visit = {"x": pa.array([3], pa.int64()), "city": ["Graz"], "page": texts[:1]}
    return {**tables, **{n: pa.concat_tables([tables[n], t]).combine_chunks() for n, t in victim.items()}} | {
        "visits": pa.concat_tables([tables["visits"], pa.table(visit)])
    }


def _texts(kind: str, length: int, different: int) -> list[str]:
    dice = random.Random(kind)
    drawn = dice.randbytes(length // 2 + different + 1).hex()
    return [f"{i:05d}{drawn[i : i + length - 5]}" if length > 9 else f"{i:04d}" for i in range(different)]


def _rows(people: list[int], notes: list[str], orders: Any) -> Tables:
    count = len(people)
    owner = pa.array(people, pa.int64())
    x = pa.array([i % 10 for i in range(count)], pa.int64())
    note = pa.array(notes, pa.large_string()).cast(pa.string()) if sum(map(len, notes)) < 2**31 else None
    order = pa.array(orders, pa.int64())
    assert note is not None
    t = {
        "person": owner,
        "x": x,
        "y": pa.array([i % 101 for i in range(count)], pa.float64()),
        "city": [_CITIES[i % 3] for i in range(count)],
        "name": ["name"] * count,
        "note": note,
    }
    placed = {"id": order, "person": owner, "status": [_STATUSES[i % 3] for i in range(count)], "x": x, "note": note}
    return {"t": pa.table(t), "orders": pa.table(placed), "items": pa.table({"order_id": order, "x": x, "note": note})}
