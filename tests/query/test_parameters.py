"""Parameters are constants of the query, whatever they hold, and each has its value."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

import discreet as dp
from discreet.query import make_plan, parse

NEARLY_EXACT = dp.pure(10**6)
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 10**9},
    "tables": {
        "t": {
            "unit": "rows",
            "columns": {
                "s": {"type": "string"},
                "x": {"type": "float", "bounds": [-9, 9]},
                "d": {"type": "date"},
                "m": {"type": "timestamp"},
                "yes": {"type": "bool"},
            },
        }
    },
}
ROWS = pa.table(
    {
        "s": ["a", "Cork's", "?", "'; --", "$1"],
        "x": [1.5, -2.0, 3.0, 0.0, -0.25],
        "d": [dt.date(2024, 1, day) for day in range(1, 6)],
        "m": [dt.datetime(2024, 1, 1, hour, 0, 0, 5) for hour in range(5)],  # noqa: DTZ001
        "yes": [True, False, True, True, None],
    }
)


def constants(query: str) -> list[exp.Expr]:
    """What stands on the right of each comparison, in order."""
    where = parse(query).args["where"]
    return [node.expression.unnest() for node in where.find_all(exp.EQ)]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30))
def test_a_text_is_a_constant_whatever_it_holds(text: str) -> None:
    for query in (
        dp.bind("SELECT COUNT(*) FROM t WHERE s = ?", text),
        dp.bind("SELECT COUNT(*) FROM t WHERE s = :s", s=text),
    ):
        (node,) = constants(query)
        assert isinstance(node, exp.Literal) and node.is_string and node.name == text


@given(
    st.one_of(
        st.integers(-(10**30), 10**30),
        st.floats(allow_nan=False, allow_infinity=False),
        st.decimals(-(10**9), 10**9, places=4),
    )
)
def test_a_number_is_the_same_number(number: float | Decimal) -> None:
    (node,) = constants(dp.bind("SELECT COUNT(*) FROM t WHERE x = $1", number))
    sign, literal = (-1, node.this) if isinstance(node, exp.Neg) else (1, node)
    assert not literal.is_string
    assert sign * Fraction(literal.name) == Fraction(repr(number) if isinstance(number, float) else number)


@pytest.mark.parametrize(
    ("where", "values", "rows"),
    [
        ("s = ?", ["Cork's"], 1),
        ("s = ? OR s = ?", ["'; --", "$1"], 2),
        ("s IN (?, '?', ?) -- ?", ["a", "nobody"], 2),
        ("x < $2 AND x > $1", [-1, 2], 3),
        ("x = ?", [-0.25], 1),
        ("x = ?", [Decimal("1.5")], 1),
        ("d >= ?", [dt.date(2024, 1, 3)], 3),
        ("m > ?", [dt.datetime(2024, 1, 1, 3, 0, 0, 4)], 2),  # noqa: DTZ001
        ("yes = ?", [True], 3),
        ("s = 'é😀' OR s = ? OR s = '😀' OR s = ?", ["a", "?"], 2),
    ],
)
def test_a_session_answers_what_was_meant(where: str, values: list[Any], rows: int) -> None:
    with dp.connect({"t": ROWS}, policy=POLICY) as session:
        release = session.sql(dp.bind(f"SELECT COUNT(*) AS n FROM t WHERE {where}", *values), NEARLY_EXACT)
        assert release.to_arrow().to_pylist() == [{"n": rows}]


def test_question_marks_are_counted_as_the_text_has_them() -> None:
    query = "WITH q AS (SELECT s, x FROM t WHERE s = ?) SELECT COUNT(*) AS n FROM q WHERE x = ? ORDER BY n LIMIT ?"
    bound = dp.bind(query, "a", 1.5, 3)
    assert bound.index("'a'") < bound.index("1.5") < bound.index("LIMIT 3")
    assert make_plan(bound, dp.Policy.model_validate(POLICY)) is not None


@pytest.mark.parametrize(
    ("query", "values", "named", "words"),
    [
        ("SELECT COUNT(*) FROM t WHERE x = ?", [], {}, "0 values"),
        ("SELECT COUNT(*) FROM t WHERE x = ?", [1, 2], {}, "no parameter 2"),
        ("SELECT COUNT(*) FROM t WHERE x = $0", [1], {}, "parameter 0"),
        ("SELECT COUNT(*) FROM t WHERE x = $2", [1, 2], {}, "no parameter 1"),
        ("SELECT COUNT(*) FROM t WHERE x = ? OR x = $1", [1], {}, "both kinds"),
        ("SELECT COUNT(*) FROM t WHERE x = :a", [], {}, "give a="),
        ("SELECT COUNT(*) FROM t WHERE x = :a", [], {"a": 1, "b": 2}, "no parameter b"),
        ("SELECT COUNT(*) FROM t WHERE x = ?", [float("nan")], {}, "finite"),
        ("SELECT COUNT(*) FROM t WHERE x = ?", [Decimal("inf")], {}, "finite"),
        ("SELECT COUNT(*) FROM t WHERE x = ?", [[1]], {}, "list"),
        ("SELECT COUNT(*) FROM t WHERE m = ?", [dt.datetime(2024, 1, 1, tzinfo=dt.UTC)], {}, "time zone"),
    ],
)
def test_what_has_no_value_is_refused(query: str, values: list[Any], named: dict[str, Any], words: str) -> None:
    with pytest.raises(dp.ParameterError, match=words):
        dp.bind(query, *values, **named)


def test_a_query_with_parameters_is_not_answered() -> None:
    with pytest.raises(dp.QueryError, match=r"discreet\.bind"):
        make_plan("SELECT COUNT(*) FROM t WHERE x = ?", dp.Policy.model_validate(POLICY))
    for text in ("SELECT ? FROM", "DROP TABLE t", "SELECT 'a"):
        with pytest.raises(dp.QueryError):
            dp.bind(text, 1)
    with pytest.raises(dp.ParameterError, match="SQL text"):
        dp.bind(3)  # type: ignore[arg-type]
