"""Public values of expressions, and the types of keys."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import Column
from discreet.query import domain, key_type

COLUMNS = {
    "x": Column(type="int", bounds=(0, 9), nullable=False),
    "f": Column(type="float", nullable=False),
    "n": Column(type="float"),
    "c": Column(type="int", keys=(0, 25, 95)),
    "s": Column(type="string"),
    "p": Column(type="string", keys=("free", "Gold")),
    "w": Column(type="string", keys=("ß", "a")),
    "d": Column(type="date", nullable=False),
    "q": Column(type="date", keys=("2024-01-01", "2024-05-31")),
    "b": Column(type="bool", nullable=False),
    "m": Column(type="bool"),
}


def _parsed(text: str) -> exp.Expr:
    node = sqlglot.parse_one(text, read="duckdb")
    assert isinstance(node, exp.Expr)
    return node


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p", ("free", "Gold")),
        ("x", None),
        ("s", None),
        ("x > 3", (False, True)),
        ("p = 'free'", (False, True)),
        ("1 / x > 3", (False, True, None)),
        ("s IS NULL", (False, True)),
        ("UPPER(p)", ("FREE", "GOLD")),
        ("UPPER(w)", None),
        ("LEFT(p, 1)", ("f", "G")),
        ("LENGTH(p)", (4,)),
        ("p || '-' || p", ("free-free", "free-Gold", "Gold-free", "Gold-Gold")),
        ("FLOOR(c / 10) * 10", (0, 20, 90)),
        ("c + 1", (1, 26, 96)),
        ("c / 2", None),
        ("c % 10", (0, 5)),
        ("-c", (0, -25, -95)),
        ("MONTH(d)", tuple(range(1, 13))),
        ("MONTH(q)", (1, 5)),
        ("YEAR(d)", None),
        ("YEAR(q)", (2024,)),
        ("HOUR(d)", tuple(range(24))),
        ("DATE_TRUNC('month', q)", (dt.date(2024, 1, 1), dt.date(2024, 5, 1))),
        ("DATE_TRUNC('month', d)", None),
        ("LAST_DAY(q)", (dt.date(2024, 1, 31), dt.date(2024, 5, 31))),
        ("LAST_DAY(d)", None),
        ("WIDTH_BUCKET(f, 0, 10, 4)", (0, 1, 2, 3, 4, 5)),
        ("CASE WHEN x > 3 THEN 'many' WHEN x > 1 THEN 'few' END", ("many", "few", None)),
        ("CASE WHEN x > 3 THEN 'many' ELSE p END", ("many", "free", "Gold")),
        ("CASE WHEN x > 3 THEN s ELSE p END", None),
        ("CASE p WHEN 'free' THEN 0 ELSE 1 END", (0, 1)),
        ("COALESCE(p, 'none')", ("free", "Gold", "none")),
        ("COALESCE(MONTH(d), 0)", (*range(1, 13), 0)),
        ("NULLIF(p, 'free')", ("free", "Gold", None)),
        ("IF(b, 1, 0)", (1, 0)),
        ("LEAST(GREATEST(FLOOR(f / 8), 0), 3)", (0, 1, 2, 3)),
        ("CEIL(LEAST(GREATEST(f, 0), 1) * 0.1 * 30)", None),
        ("CAST(b AS INTEGER)", (0, 1)),
        ("CASE WHEN b THEN 9007199254740993 ELSE 0 END", (9007199254740993, 0)),
        ("WIDTH_BUCKET(f, 0, 10, 9998)", tuple(range(10_000))),
        ("b", (False, True)),
        ("m", (False, True, None)),
        ("NOT m", (False, True, None)),
        ("m IS NULL", (False, True)),
        ("n > 3", (False, True, None)),
        ("WIDTH_BUCKET(n, 0, 10, 2)", (0, 1, 2, 3, None)),
        ("COALESCE(m, FALSE)", (False, True)),
    ],
)
def test_public_values(text: str, expected: tuple[Any, ...] | None) -> None:
    found = domain(_parsed(text), COLUMNS)
    assert found == expected
    assert found is None or [type(v) for v in found] == [type(v) for v in expected or ()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", "int"),
        ("FLOOR(f)", "int"),
        ("f", None),
        ("f + 1", None),
        ("x / 2", None),
        ("x + 1", "int"),
        ("s", "string"),
        ("UPPER(s)", "string"),
        ("x > 1", "bool"),
        ("d", "date"),
        ("DATE_TRUNC('month', d)", "date"),
        ("NULL", None),
        ("d + INTERVAL 1 DAY", "timestamp"),
        ("ROUND(f)", "int"),
        ("ROUND(f, 1)", None),
        ("CASE WHEN b THEN 1 END", "int"),
        ("CASE WHEN b THEN 1.5 END", None),
        ("CAST(f AS INTEGER)", "int"),
    ],
)
def test_types_of_keys(text: str, expected: str | None) -> None:
    if expected is None:
        with pytest.raises(QueryError, match="group"):
            key_type(_parsed(text), COLUMNS)
    else:
        assert key_type(_parsed(text), COLUMNS) == expected
