"""Random policies of one table, private rows that break them, and rules; and what rows are worth, by hand."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

DAY = dt.date(2024, 1, 1)
TYPES = {
    "int": pa.int64(), "float": pa.float64(), "decimal": pa.decimal128(12, 2), "string": pa.string(),
    "bool": pa.bool_(), "date": pa.date32(), "timestamp": pa.timestamp("us"),
}  # fmt: skip
TEXTS = ["a", "b", "it's", "", "ü"]


@dataclass(frozen=True)
class Case:
    """A policy, private rows, and rules."""

    columns: dict[str, dict[str, Any]]
    rows: list[dict[str, Any]]
    rules: list[str]

    @property
    def policy(self) -> dict[str, Any]:
        return {"version": "1", "budget": {"rho": 10_000}, "tables": {"t": {"unit": "rows", "columns": self.columns}}}

    @property
    def table(self) -> pa.Table:
        return pa.table({
            name: pa.array([row[name] for row in self.rows], TYPES[column["type"]])
            for name, column in self.columns.items()
        })  # fmt: skip

    @property
    def counted(self) -> list[dict[str, Any]]:
        """The rows with values that the policy has."""
        return [
            row for row in self.rows
            if all(row[name] is not None or _nullable(column) for name, column in self.columns.items())
            and all(
                row[name] in column["keys"]
                for name, column in self.columns.items() if "keys" in column and row[name] is not None
            )
        ]  # fmt: skip


def _nullable(column: dict[str, Any]) -> bool:
    return column.get("nullable", True)


def random_case(dice: random.Random, rows: int = 300) -> Case:
    columns = {f"c{i}": _column(dice) for i in range(dice.randint(2, 5))}
    data = [{name: _value(dice, column, hostile=True) for name, column in columns.items()} for _ in range(rows)]
    rules = [rule for rule in (_rule(dice, columns) for _ in range(dice.randint(0, 3))) if rule]
    return Case(columns, data, rules)


def public_row(dice: random.Random, case: Case) -> dict[str, Any]:
    """A row that the policy allows."""
    return {name: _value(dice, column, hostile=False) for name, column in case.columns.items()}


def _column(dice: random.Random) -> dict[str, Any]:
    kind = dice.choice(list(TYPES))
    column: dict[str, Any] = {"type": kind, "nullable": dice.random() < 0.5}
    match kind:
        case "string":
            column["keys"] = dice.sample(TEXTS, dice.randint(1, 4))
        case "int" if dice.random() < 0.3:
            column["keys"] = sorted(dice.sample(range(-5, 20), dice.randint(1, 5)))
        case "int" | "float" | "decimal":
            lower = dice.choice([-100, -3, 0, 7])
            column["bounds"] = [lower, lower + dice.choice([1, 5, 90, 4_000])]
        case "date":
            column["bounds"] = [DAY, DAY + dt.timedelta(days=dice.choice([3, 400]))]
        case "timestamp":
            column["bounds"] = [DAY, DAY + dt.timedelta(days=dice.choice([1, 90]))]
        case _:
            pass
    return column


def _value(dice: random.Random, column: dict[str, Any], *, hostile: bool) -> Any:
    if dice.random() < 0.2 and (hostile or _nullable(column)):
        return None
    if "keys" in column:
        odd = hostile and dice.random() < 0.05
        return dice.choice([*column["keys"], *([999 if column["type"] == "int" else "odd"] if odd else [])])
    if column["type"] == "bool":
        return dice.random() < 0.3
    lower, upper = column["bounds"]
    wild = hostile and dice.random() < 0.05
    share = dice.choice([-1.0, 2.0]) if wild else dice.choice([0.0, 1.0, dice.random(), dice.random()])
    match column["type"]:
        case "date":
            return lower + dt.timedelta(days=round((upper - lower).days * share))
        case "timestamp":
            start = dt.datetime.combine(lower, dt.time.min)
            return start + dt.timedelta(seconds=round(((upper - lower).days * 86_400 + 86_399) * share))
        case "float":
            return lower + (upper - lower) * share
        case "decimal":
            return Decimal(round((lower + (upper - lower) * share) * 100)) / 100
        case _:
            return lower + round((upper - lower) * share)


def _rule(dice: random.Random, columns: dict[str, dict[str, Any]]) -> str:
    numbers = [name for name, each in columns.items() if each["type"] in ("int", "float", "decimal")]
    one, other = (dice.choice(list(columns)) for _ in range(2))
    simple = [_comparison(dice, name, columns[name]) for name in (one, other)]
    kinds = [simple[0], f"{simple[0]} OR {simple[1]}", f"NOT ({simple[0]} AND {simple[1]})", f"{one} IS NOT NULL"]
    if len(numbers) > 1:
        low, high = dice.sample(numbers, 2)
        kinds += [f"{low} <= {high}", f"{low} + 1 < 2 * {high} OR {one} IS NULL", f"ABS({low}) >= {high}"] * 2
    return dice.choice(kinds)


def _comparison(dice: random.Random, name: str, column: dict[str, Any]) -> str:
    value = _value(dice, {**column, "nullable": False}, hostile=False)
    match column["type"]:
        case "bool":
            return dice.choice([name, f"NOT {name}"])
        case "string":
            text = value.replace("'", "''")
            return f"{name} {dice.choice(['=', '<>'])} '{text}'"
        case "date":
            return f"{name} {dice.choice(['>=', '<'])} DATE '{value}'"
        case "timestamp":
            return f"{name} {dice.choice(['>=', '<'])} TIMESTAMP '{value}'"
        case _:
            return f"{name} {dice.choice(['>=', '<', '<>', '='])} {value}"


def broken(rule: str, rows: pa.Table) -> int:
    """How many rows break a rule, by a database of its own."""
    with duckdb.connect() as database:
        database.register("rows", rows)
        return database.sql(f"SELECT COUNT(*) FROM rows WHERE NOT ({rule})").fetchall()[0][0]


def wrong_value(column: dict[str, Any], value: Any) -> bool:
    """Whether the policy does not allow a value."""
    if value is None:
        return not _nullable(column)
    if "keys" in column:
        return value not in column["keys"]
    if column["type"] == "bool":
        return not isinstance(value, bool)
    lower, upper = column["bounds"]
    if column["type"] == "timestamp":
        lower, upper = dt.datetime.combine(lower, dt.time.min), dt.datetime.combine(upper, dt.time.max)
    return not lower <= value <= upper
