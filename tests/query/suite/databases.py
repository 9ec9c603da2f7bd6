"""A small shop: its policy, its rows, and the same rows as plain SQL sees them.

The rows stay within every cap, so that the bounded truth is plain SQL over clamped columns. Many values lie outside
their bounds, and there are nulls, NaN, keys that the policy does not list, orders of nobody, orders of people who are
no customers, and items of orders that do not exist.
"""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from suite.features import FEATURES, LANDED, Feature

__all__ = ["CITIES", "STATUSES", "plain_database", "shop_policy", "shop_tables", "sources"]

CITIES = ("Bern", "Graz", "Linz", "Wien")
STATUSES = ("lost", "open", "paid", "void")
"""No order is lost: a public key without rows."""

_NEW_YEAR = dt.datetime.fromisoformat("2023-01-01")
_PAGES = ("home", "Search", "cart", "Ω-news")
_CHANNELS = ("web", "shop", "phone", "O'Brien", None)
_CLAMPED = {
    "customers": {"age": (0, 100), "score": (0, 10)},
    "orders": {"price": (0, 200), "discount": (0, 50)},
    "items": {"quantity": (0, 5), "price": (0, 50)},
    "products": {"list_price": (0, 90)},
    "regions": {"weight": (0, 3)},
    "visits": {"seconds": (0, 600)},
}
_NEEDS: dict[str, Feature] = {"items": "paths", "products": "public tables", "regions": "public tables"}


def shop_policy(budget: dict[str, object], features: frozenset[Feature] = LANDED, **more: object) -> dict[str, Any]:
    """The policy, with the tables that `features` can describe; `more` goes to the top level."""
    tables: dict[str, dict[str, Any]] = {
        "customers": {
            "unit": "id",
            "max_rows": 2,  # a join with the regions doubles some
            "columns": {
                "id": {"type": "int"},
                "city": {"type": "string", "keys": list(CITIES)},
                "age": {"type": "int", "bounds": [0, 100]},
                "joined": {"type": "date"},
                "score": {"type": "float", "bounds": [0, 10]},
                "vip": {"type": "bool", "keys": [True, False]},
                "Full Name": {"type": "string"},
            },
        },
        "orders": {
            "unit": "customer_id",
            "max_rows": 12,
            "columns": {
                "id": {"type": "int"},
                "customer_id": {"type": "int"},
                "status": {"type": "string", "keys": list(STATUSES)},
                "channel": {"type": "string"},
                "placed": {"type": "timestamp", "nullable": False},
                "price": {"type": "decimal", "bounds": [0, 200]},
                "discount": {"type": "decimal", "bounds": [0, 50]},
            },
        },
        "items": {
            "unit": "order_id -> orders.id",
            "max_rows": 24,
            "columns": {
                "order_id": {"type": "int"},
                "product": {"type": "int"},
                "quantity": {"type": "int", "bounds": [0, 5]},
                "price": {"type": "decimal", "bounds": [0, 50]},
            },
        },
        "products": {
            "public": True,
            "key": "id",
            "columns": {
                "id": {"type": "int"},
                "category": {"type": "string", "keys": ["book", "food", "toy"]},
                "list_price": {"type": "float", "bounds": [0, 90]},
            },
        },
        "regions": {
            "public": True,
            "columns": {
                "city": {"type": "string"},
                "region": {"type": "string", "keys": ["east", "south", "west"]},
                "weight": {"type": "int", "bounds": [0, 3]},
            },
        },
        "visits": {
            "unit": "rows",
            "columns": {
                "page": {"type": "string"},
                "device": {"type": "string", "keys": ["desk", "phone"]},
                "seconds": {"type": "int", "bounds": [0, 600]},
                "seen_at": {"type": "timestamp"},
                "day": {"type": "date"},
            },
        },
    }
    unknown = features - FEATURES
    assert not unknown, unknown
    kept = {name: table for name, table in tables.items() if name not in _NEEDS or _NEEDS[name] in features}
    return {"version": "1", "budget": budget, "tables": kept, **more}


def sources(tables: dict[str, pa.Table], policy: dict[str, Any]) -> dict[str, pa.Table]:
    """The rows of the tables that a policy names."""
    return {name: tables[name] for name in policy["tables"]}


def shop_tables() -> dict[str, pa.Table]:
    """The rows of every table, always the same."""
    dice = random.Random("shop")
    customers = [_customer(dice, i) for i in range(1, 401)]
    orders: list[dict[str, Any]] = []
    items: list[dict[str, Any]] = []
    for person in [*range(1, 401), *range(9001, 9021), *[None] * 9]:  # people who are no customers, and nobody
        for _ in range(dice.choice([0, 1, 1, 2, 2, 3])):
            order = _order(dice, len(orders) + 1, person)
            orders.append(order)
            items += [_item(dice, order["id"]) for _ in range(dice.choice([0, 1, 1, 2]))]
    items += [_item(dice, number) for number in (*range(50_000, 50_012), None)]
    dice.shuffle(orders)
    dice.shuffle(items)
    products = [
        {"id": i, "category": ("book", "food", "toy")[i % 3], "list_price": [i * 9.5, 95.0][i == 7]} for i in range(9)
    ]
    regions = [("Graz", "south", 1), ("Graz", "east", 2), ("Wien", "east", 3), ("Linz", "west", 5), ("Rom", "south", 1)]
    return {
        "customers": pa.Table.from_pylist(customers, _CUSTOMERS),
        "orders": pa.Table.from_pylist(orders, _ORDERS),
        "items": pa.Table.from_pylist(items, _ITEMS),
        "products": pa.Table.from_pylist(products, _PRODUCTS),
        "regions": pa.Table.from_pylist([dict(zip(_REGIONS.names, row, strict=True)) for row in regions], _REGIONS),
        "visits": pa.Table.from_pylist([_visit(dice, i) for i in range(600)], _VISITS),
    }


def plain_database(tables: dict[str, pa.Table]) -> duckdb.DuckDBPyConnection:
    """Plain DuckDB over the rows that count: `x_` is column x clamped to its bounds, and NaN is null."""
    connection = duckdb.connect()
    owned = {
        "customers": "id IS NOT NULL",
        "orders": "customer_id IS NOT NULL",
        "items": "order_id IN (SELECT id FROM raw_orders WHERE customer_id IS NOT NULL)",
    }
    for name, table in tables.items():
        connection.register(f"arrow_{name}", table)
        connection.execute(f"CREATE TABLE raw_{name} AS SELECT * FROM arrow_{name}")
        columns = [f'"{column}"' for column in table.column_names if column != "score"]
        if "score" in table.column_names:
            columns.append("CASE WHEN NOT isnan(score) THEN score END AS score")
        clamped = [
            f"CASE WHEN {column} IS NOT NULL THEN greatest(least({column}, {high}), {low}) END AS {column}_"
            for column, (low, high) in _CLAMPED[name].items()
        ]
        connection.execute(
            f"CREATE VIEW {name} AS SELECT *, {', '.join(clamped)} FROM "
            f"(SELECT {', '.join(columns)} FROM raw_{name} WHERE {owned.get(name, 'TRUE')})"
        )
    connection.execute(f"CREATE TABLE cities AS SELECT unnest({list(CITIES)}) AS city")
    connection.execute(f"CREATE TABLE statuses AS SELECT unnest({list(STATUSES)}) AS status")
    return connection


def _customer(dice: random.Random, number: int) -> dict[str, Any]:
    return {
        "id": number,
        "city": dice.choice([*CITIES, *CITIES, "Paris", None]),
        "age": dice.choice([None, -3, 130, *[dice.randrange(18, 91) for _ in range(20)]]),
        "joined": dice.choice([None, *[dt.date(2020, 1, 1) + dt.timedelta(days=dice.randrange(1500))] * 9]),
        "score": dice.choice([None, float("nan"), -2.0, 12.5, *[dice.randrange(0, 41) / 4 for _ in range(12)]]),
        "vip": dice.choice([True, False, False, None]),
        "Full Name": dice.choice(["Ann Lee", "bob", "Čeněk", "", None]),
    }


def _order(dice: random.Random, number: int, person: int | None) -> dict[str, Any]:
    return {
        "id": number,
        "customer_id": person,
        "status": dice.choice(["open", "paid", "paid", "void", "other", None]),
        "channel": dice.choice(_CHANNELS),
        "placed": _NEW_YEAR + dt.timedelta(minutes=dice.randrange(0, 900_000)),
        "price": Decimal(dice.randrange(-500, 26_000)) / 100,
        "discount": dice.choice([None, None, Decimal(dice.randrange(0, 6000)) / 100]),
    }


def _item(dice: random.Random, order: int | None) -> dict[str, Any]:
    return {
        "order_id": order,
        "product": dice.choice([None, *range(11)]),
        "quantity": dice.choice([None, 1, 1, 2, 3, 7]),
        "price": Decimal(dice.randrange(0, 6000)) / 100,
    }


def _visit(dice: random.Random, number: int) -> dict[str, Any]:
    moment = _NEW_YEAR + dt.timedelta(days=422, minutes=17 * number)
    return {
        "page": dice.choice([*_PAGES, None]),
        "device": dice.choice(["desk", "phone", "tablet", None]),
        "seconds": dice.choice([None, dice.randrange(-20, 900)]),
        "seen_at": dice.choice([moment, moment, None]),
        "day": moment.date(),
    }


_CUSTOMERS = pa.schema(
    {
        "id": pa.int64(),
        "city": pa.string(),
        "age": pa.int32(),
        "joined": pa.date32(),
        "score": pa.float64(),
        "vip": pa.bool_(),
        "Full Name": pa.string(),
    }
)
_ORDERS = pa.schema(
    {
        "id": pa.int64(),
        "customer_id": pa.int64(),
        "status": pa.string(),
        "channel": pa.string(),
        "placed": pa.timestamp("us"),
        "price": pa.decimal128(8, 2),
        "discount": pa.decimal128(8, 2),
    }
)
_ITEMS = pa.schema(
    {"order_id": pa.int64(), "product": pa.int64(), "quantity": pa.int32(), "price": pa.decimal128(8, 2)}
)
_PRODUCTS = pa.schema({"id": pa.int64(), "category": pa.string(), "list_price": pa.float64()})
_REGIONS = pa.schema({"city": pa.string(), "region": pa.string(), "weight": pa.int64()})
_VISITS = pa.schema(
    {
        "page": pa.string(),
        "device": pa.string(),
        "seconds": pa.int64(),
        "seen_at": pa.timestamp("us"),
        "day": pa.date32(),
    }
)
