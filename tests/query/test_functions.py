"""The table of functions: bounds, nulls, and refusals that say what to do next."""

from __future__ import annotations

import math
import random
from decimal import localcontext
from fractions import Fraction
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import Column
from discreet.query import FUNCTIONS, Field, nullable
from discreet.query.expressions._intervals import interval
from discreet.query.expressions._types import check_scalar
from discreet.query.functions._numbers import _cbrt
from discreet.query.functions._ranges import grown

COLUMNS: dict[str, Any] = {
    "x": Column(type="int", bounds=(-3, 9), nullable=False),
    "y": Column(type="float", bounds=(0, 2), nullable=False),
    "z": Column(type="float", bounds=("0.5", 2)),
    "u": Column(type="float"),
    "s": Column(type="string"),
    "d": Column(type="date", nullable=False),
    "m": Column(type="timestamp"),
    "b": Column(type="bool", nullable=False),
    "p": Field("date", (Fraction(10957), Fraction(11322)), nullable=False),  # the year 2000
    "q": Field("timestamp", (Fraction(3_600_000_000), Fraction(3_660_000_000))),  # one minute, both ends included
}


def _parsed(text: str) -> exp.Expr:
    node = sqlglot.parse_one(text, read="duckdb")
    assert isinstance(node, exp.Expr)
    return node


@pytest.mark.parametrize(
    ("text", "lower", "upper", "whole"),
    [
        ("x * x", 0, 81, True),
        ("x * y", -6, 18, False),
        ("POWER(x, 2)", 0, 81, True),
        ("POWER(x, 3)", -27, 729, True),
        ("POWER(z, -1)", 0.5, 2, False),
        ("POWER(y, 0.5)", 0, math.sqrt(2), False),
        ("POWER(2, x)", 0.125, 512, False),
        ("LEAST(POWER(QUARTER(d), u), 9)", 0, 9, False),
        ("LEAST(POWER(GREATEST(u, 1), y), 9)", 1, 9, False),
        ("ABS(x)", 0, 9, True),
        ("ABS(x - 20)", 11, 23, True),
        ("x % 4", -3, 3, True),
        ("y % 4", 0, 2, False),
        ("x % z", -2, 2, False),
        ("SIGN(x)", -1, 1, True),
        ("SIGN(z)", 1, 1, True),
        ("ROUND(z)", 1, 2, True),
        ("ROUND(x, -1)", 0, 10, True),
        ("ROUND(z / 3, 1)", 0.2, 0.7, False),
        ("FLOOR(z)", 0, 2, True),
        ("CEIL(z)", 1, 2, True),
        ("TRUNC(-z)", -2, 0, True),
        ("SQRT(x)", 0, 3, False),
        ("CBRT(x - 5)", -2, 4 ** (1 / 3), False),
        ("EXP(y)", 1, math.exp(2), False),
        ("LN(z)", math.log(0.5), math.log(2), False),
        ("LN(x)", 0, math.log(9), False),
        ("LOG10(y)", math.log10(5e-324), math.log10(2), False),
        ("LOG2(z)", -1, 1, False),
        ("LOG(4, z)", -0.5, 0.5, False),
        ("GREATEST(LEAST(u, 100), 0)", 0, 100, False),
        ("LEAST(x, y)", -3, 2, False),
        ("GREATEST(x, y)", 0, 9, False),
        ("CASE WHEN u > 3 THEN x ELSE 20 END", -3, 20, True),
        ("CASE x WHEN 1 THEN 2 ELSE y END", 0, 2, False),
        ("COALESCE(z, 0)", 0, 2, False),
        ("NULLIF(x, 0)", -3, 9, True),
        ("IF(b, 1, 0)", 0, 1, True),
        ("CAST(b AS INTEGER)", 0, 1, True),
        ("CAST(z AS INTEGER)", 0, 2, True),
        ("CAST(x * 100 AS TINYINT)", -128, 127, True),
        ("WIDTH_BUCKET(u, 0, 1, 10)", 0, 11, True),
        ("MONTH(d)", 1, 12, True),
        ("EXTRACT(hour FROM m)", 0, 23, True),
        ("LENGTH(s)", 0, 2**14, True),
        ("STRLEN(s)", 0, 2**16, True),
        ("LEAST(LENGTH(s), 50)", 0, 50, True),
        ("LEAST(EXP(x * 1000), 5)", 0, 5, False),
        ("SIGN(d - d)", -1, 1, True),
        ("d - d", -3_652_058, 3_652_058, True),
        ("p - DATE '2000-01-01'", 0, 365, True),
        ("DATE_DIFF('day', p, DATE '2000-01-01')", -365, 0, True),
        ("DATE_DIFF('day', '2000-01-01', p)", 0, 365, True),
        ("DATE_DIFF('week', p, DATE '2000-06-30')", -26, 25, True),
        ("DATE_DIFF('month', DATE '1999-12-31', p)", 1, 12, True),
        ("DATE_DIFF('quarter', p, p)", -3, 3, True),
        ("DATE_DIFF('year', d, DATE '2000-01-01')", -7999, 1999, True),
        ("DATE_DIFF('hour', DATE '1970-01-01', q)", 1, 1, True),
        ("DATE_DIFF('second', q, p)", 946_681_140, 978_217_200, True),
        ("DATE_DIFF('day', CAST(s AS DATE), DATE '0001-01-02')", -3_652_057, 1, True),
        (
            "DATE_DIFF('day', GREATEST(LEAST(d, DATE '2000-12-31'), DATE '2000-01-01'), DATE '2000-01-01')",
            -365,
            0,
            True,
        ),
        ("DATE_DIFF('day', CASE WHEN b THEN p ELSE q END, DATE '2000-01-01')", -365, 10957, True),
        ("YEAR(p)", 2000, 2000, True),
        ("YEAR(d)", 1, 9999, True),
        ("YEAR(p + INTERVAL 1 DAY)", 2000, 2001, True),
        ("YEAR(p + INTERVAL 9000 YEAR)", 9999, 9999, True),
        ("MONTH(p)", 1, 12, True),
        ("MONTH(p - INTERVAL 1 MONTH)", 1, 12, True),
        ("MONTH(q)", 1, 1, True),
        ("WEEK(p)", 1, 53, True),
        ("DAY(q + INTERVAL 1 DAY)", 2, 2, True),
        ("ISODOW(q)", 4, 4, True),
        ("DAYOFWEEK(q + INTERVAL 3 DAY)", 0, 0, True),
        ("DAYOFYEAR(p)", 1, 366, True),
        ("HOUR(q)", 1, 1, True),
        ("MINUTE(q)", 0, 1, True),
        ("SECOND(q)", 0, 59, True),
        ("DAY(DATE_TRUNC('month', q))", 1, 1, True),
        ("YEAR(DATE_TRUNC('year', p))", 2000, 2000, True),
        ("YEAR(LAST_DAY(d))", 1, 9999, True),
        ("DAY(LAST_DAY(q))", 31, 31, True),
        ("DATE_DIFF('day', p, LAST_DAY(p))", -335, 365, True),
        ("MONTH(LAST_DAY(p))", 1, 12, True),
    ],
)
def test_bounds_are_tight_and_never_too_narrow(text: str, lower: float, upper: float, whole: bool) -> None:
    found = interval(_parsed(text), COLUMNS, "t")
    assert (float(found.lower), float(found.upper), found.integer) == (
        pytest.approx(lower),
        pytest.approx(upper),
        whole,
    )
    if text not in ("POWER(y, 0.5)", "EXP(y)") and "L" not in text[:3]:
        assert found.lower <= Fraction(lower) or abs(found.lower - Fraction(lower)) < Fraction(1, 10**12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", False),
        ("z", True),
        ("x + y", False),
        ("1 / x", True),
        ("1 / (x + 4)", False),
        ("1 / (y + 1e-300)", True),
        ("SQRT(y)", False),
        ("CBRT(x)", False),
        ("SQRT(x)", True),
        ("LN(y)", True),
        ("LN(y + 1)", False),
        ("LN(x + 4)", False),
        ("POWER(x, 2)", False),
        ("POWER(x, -1)", True),
        ("POWER(y, 0.5)", False),
        ("u * 2", True),
        ("x % 3", False),
        ("CASE WHEN b THEN 1 END", True),
        ("CASE WHEN b THEN 1 ELSE x END", False),
        ("COALESCE(z, 1)", False),
        ("COALESCE(z, u)", True),
        ("NULLIF(x, 1)", True),
        ("GREATEST(z, 1)", False),
        ("LEAST(z, u)", True),
        ("z IS NULL", False),
        ("z > 1", True),
        ("x > 1", False),
        ("x IN (1, NULL)", True),
        ("CAST(x AS TINYINT)", False),
        ("CAST(x * 100 AS TINYINT)", True),
        ("CAST(s AS DATE)", True),
        ("d + INTERVAL 1 DAY", True),
        ("MONTH(d)", False),
        ("CONCAT(s, 'a')", False),
        ("s || 'a'", True),
        ("1 / ((x + 1e20) - 1e20)", True),
        ("NULL", True),
        ("EXP(x)", False),
        ("DATE '2020-01-01'", False),
        ("d IS DISTINCT FROM NULL", False),
    ],
)
def test_what_can_be_null(text: str, expected: bool) -> None:
    node = _parsed(text)
    check_scalar(node, COLUMNS)
    assert nullable(node, COLUMNS) is expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("FOO(x)", "not supported.*Functions are"),
        ("UPER(s)", "did you mean UPPER"),
        ("LENGHT(s)", "did you mean LENGTH"),
        ("RANDOM()", "changes from run to run"),
        ("NOW()", "changes from run to run"),
        ("CURRENT_DATE", "changes from run to run"),
        ("UUID()", "changes from run to run"),
        ("REGEXP_EXTRACT_ALL(s, 'a')", "use REGEXP_EXTRACT"),
        ("LPAD(s, 3, 'x')", "any length"),
        ("REPEAT(s, 3)", "any length"),
        ("x // 2", "FLOOR"),
        ("s[1:3]", "SUBSTRING"),
        ("s COLLATE NOCASE", "LOWER"),
        ("s LIKE 'a!%' ESCAPE '!'", "CONTAINS"),
        ("s LIKE s", "constant pattern"),
        ("s LIKE '%a%a%a%a%a%a%a%a%a%a%a'", "at most"),
        ("x IN (y)", "constants"),
        ("ROUND(y, x)", "constant"),
        ("ROUND(y, 400)", "constant"),
        ("TRUNC(y, 2)", "DECIMALS"),
        ("WIDTH_BUCKET(x, 3, 1, 5)", "low < high"),
        ("WIDTH_BUCKET(x, 1, 3, 0)", "whole constant n"),
        ("WIDTH_BUCKET(x, 1, 3, y)", "whole constant n"),
        ("LOG(1, x)", "constant b"),
        ("CAST(x AS DATE)", "does not convert"),
        ("CAST(d AS INTEGER)", "does not convert"),
        ("DATE_TRUNC('century', d)", "DATE_TRUNC takes a part"),
        ("DATE_PART('epoch', d)", "takes a part"),
        ("STRFTIME(d, '%Q')", "does not know %Q; it knows %Y %y"),
        ("STRFTIME(d, '%-d')", "does not know %-d; it knows"),
        ("STRFTIME(d, '%Y%')", "does not know %; it knows"),
        ("STRFTIME(d, 'plain')", "at least one of %Y"),
        ("STRFTIME(d, '%%Y')", "at least one of %Y"),
        (f"STRFTIME(d, '%Y{'.' * 99}')", "at most 100 characters"),
        ("STRFTIME(d, s)", "constant format"),
        ("STRFTIME('2020-01-01', '%Y')", "string, where STRFTIME needs a date"),
        ("TO_CHAR(d, 'YYYY')", "write STRFTIME"),
        ("DATE_FORMAT(d, '%Y')", "write STRFTIME"),
        ("d + 3", "INTERVAL 3 DAY"),
        ("m - m", "DATE_DIFF"),
        ("d + INTERVAL (x) DAY", "INTERVAL 3 DAY"),
        ("d + INTERVAL '1 month 2 days'", "INTERVAL 3 DAY"),
        ("d + INTERVAL 20000 YEAR", "10,000 years"),
        ("REPLACE(s, s, 'a')", "constants"),
        (f"REPLACE(s, 'a', '{'b' * 51}')", "at most 50"),
        ("TRIM(s, s)", "constant"),
        ("UPPER(x)", "number, where UPPER needs a string"),
        ("x + s", "needs a number"),
        ("COALESCE(x, s)", "cannot be compared or mixed"),
        ("CASE WHEN x THEN 1 END", "needs a condition"),
        ("CASE WHEN b THEN 1 ELSE 'a' END", "mixed"),
        ("d = '2024-02-30'", "not a date"),
        ("COALESCE(d, 'tomorrow')", "not a date"),
        ("UPPER(s, s)", "not valid|arguments|not supported|EXPRESSION"),
        ("SUM(x) + 1", "aggregate"),
        ("read_csv('a')", "not supported"),
        ("getenv('HOME')", "not supported"),
        ("current_setting('a')", "not supported"),
        ("WIDTH_BUCKET(WIDTH_BUCKET(x, 0, 1, 2), 0, 1, 2)", "WIDTH_BUCKET of a WIDTH_BUCKET"),
        ("CASE x+x+x+x+x+x+x+x+x+x+x WHEN 1 THEN 1 END", "too long to stand after CASE"),
    ],
)
def test_refusals_say_what_to_do(text: str, words: str) -> None:
    with pytest.raises((QueryError, sqlglot.errors.ParseError), match=words):
        check_scalar(_parsed(text), COLUMNS)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("u", r"u has no bounds.*bounds = \[lower, upper\]"),
        ("u + 1", "u has no bounds"),
        ("COALESCE(u, 1)", "u has no bounds"),
        ("1 / x", "x may be zero"),
        ("POWER(y, -1)", "y may be zero"),
        ("LENGTH(UPPER(s))", "GREATEST.LEAST.LENGTH"),
        ("CAST(s AS INTEGER)", "GREATEST"),
        ("EXP(x * 100)", "too wide"),
        ("1e150 * 1e150 * y", "too wide"),
        ("s", "SUM and AVG take numbers"),
    ],
)
def test_sums_without_bounds_are_refused(text: str, words: str) -> None:
    with pytest.raises(QueryError, match=words):
        interval(_parsed(text), COLUMNS, "t")


@pytest.mark.parametrize("precision", [3, 28, 50])
def test_a_cube_root_is_within_its_bounds_whatever_the_callers_own_decimals(precision: int) -> None:
    draw = random.Random(precision)
    values = [Fraction(343597383680**3), Fraction(1, 3), Fraction(1, 27), Fraction(0), Fraction(2) ** -1074]
    values += [Fraction(draw.getrandbits(300), draw.getrandbits(bits) + 1) for bits in range(1, 600, 7)]
    with localcontext(prec=precision):
        for value in (sign * each for each in values for sign in (1, -1)):
            root = grown(_cbrt, value)
            assert root.lower**3 <= value <= root.upper**3
            assert root.upper - root.lower <= abs(root.upper) * Fraction(1, 10**20) + Fraction(2, 10**60)


NATIVE = [entry.names[0] for entry in FUNCTIONS if entry.native]


@pytest.mark.parametrize("name", [*NATIVE, "SQRT"])
def test_what_is_cancelled_within_a_function_is_not_taken_for_exact(name: str) -> None:
    divisor = f"{name}(({10**20} + y) - {10**20 - 1})"
    assert nullable(_parsed(f"1 / {divisor}"), COLUMNS)


def test_what_is_cancelled_within_a_whole_quotient_is_not_taken_for_exact() -> None:
    assert nullable(_parsed(f"1 / DIVIDE(({10**20} + x) - {10**20 - 20}, 1)"), COLUMNS)


@pytest.mark.parametrize("name", NATIVE)
def test_a_column_without_bounds_within_a_function_is_named(name: str) -> None:
    with pytest.raises(QueryError, match="u has no bounds"):
        interval(_parsed(f"{name}(u)"), COLUMNS, "t")


def test_the_table_is_whole() -> None:
    for entry in FUNCTIONS:
        assert entry.signature
        assert entry.does
        assert entry.bounds
        assert entry.nulls
        assert entry.arity[0] <= entry.arity[1]
