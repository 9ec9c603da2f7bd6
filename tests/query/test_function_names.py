"""The page on SQL lists every name by which a function or a statistic can be asked for; near names are suggested."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError

from discreet.errors import QueryError
from discreet.policy import load_policy
from discreet.query import FUNCTIONS, QUANTILE_NAMES, STATISTIC_NAMES, make_plan
from discreet.query.functions._registry import find
from discreet.query.parse._parse import parse

PAGE = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
POLICY = load_policy(
    {
        "version": "1",
        "budget": {"epsilon": 1},
        "tables": {
            "t": {
                "unit": "rows",
                "columns": {
                    "x": {"type": "int", "bounds": [0, 9]},
                    "y": {"type": "float", "bounds": [0, 9]},
                    "s": {"type": "string"},
                    "b": {"type": "bool"},
                    "d": {"type": "date"},
                },
            }
        },
    }
)
NAMES = sorted(
    {
        *DuckDB.Parser.FUNCTIONS,
        *DuckDB.Parser.FUNCTION_PARSERS,
        *(name for node in exp.ALL_FUNCTIONS for name in node.sql_names()),
        *(name for entry in FUNCTIONS for name in entry.names if name.isidentifier()),
    }
)
"""Every function that sqlglot reads in DuckDB's dialect, and those that it does not know and the table has."""
ARGUMENTS = (
    *("x", "s", "d", "b", "x, 2", "x, y", "s, 'a'", "s, 2", "b, x, y", "s, 'a', 'b'", "x, 1, 5, 4"),
    *("'day', d, d", "'day', d", "d, 'day'", "day FROM d", "d, '%Y'", "d, INTERVAL 3 DAY", "x AS INT"),
    *("2020, 1, 2", "2020, 1, 2, 3, 4, 5"),
)
AGGREGATED = ("x", "b", "x, y", "x, 0.5")
NOT_LISTED = {
    "DATE_TO_DATE_STR": "the parser's own, which it writes as a cast",
    "TIME_TO_TIME_STR": "the parser's own, which it writes as a cast",
    "TS_OR_DS_TO_DATE_STR": "the parser's own, which it writes as a part of a cast",
}


@pytest.fixture(autouse=True)
def silent() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def _answered(query: str) -> bool:
    try:
        make_plan(query, POLICY)
    except (QueryError, SqlglotError):
        return False
    return True


def _table(name: str) -> str:
    return PAGE.partition(f"<!-- {name} -->")[2].partition("<!-- end -->")[0]


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("chunk", range(4))
def test_every_name_that_is_answered_stands_on_the_page(chunk: int) -> None:
    answered = {
        name
        for name in NAMES[chunk::4]
        if any(_answered(f"SELECT COUNT(*) AS n FROM t WHERE {name}({part}) IS NOT NULL") for part in ARGUMENTS)
    }
    assert len(answered) > 10
    listed = set(re.findall(r"[A-Z]\w+", PAGE.partition("## Functions and operators")[2].partition("\n## ")[0]))
    assert answered - listed - NOT_LISTED.keys() == set()


def test_every_statistic_that_is_answered_stands_on_the_page() -> None:
    answered = {
        name
        for name in {*NAMES, *QUANTILE_NAMES}
        if any(_answered(f"SELECT {name}({part}) AS n FROM t") for part in AGGREGATED)
    }
    listed = set(re.findall(r"[A-Z]\w+", _table("statistics")))
    assert {*STATISTIC_NAMES, *QUANTILE_NAMES} - {"QUANTILE"} <= answered
    assert answered - listed == set()


@pytest.mark.parametrize("entry", FUNCTIONS, ids=lambda entry: entry.names[0])
def test_every_name_of_an_entry_is_the_entry(entry: object) -> None:
    names = [name for name in entry.names if name.isidentifier()]  # type: ignore[attr-defined]
    row = next(line for line in _table("functions").splitlines() if line.startswith(f"| `{_escaped(entry)}`"))
    for name in names:
        calls = [_find(f"{name}({part})") for part in ARGUMENTS]
        assert name in re.findall(r"\w+", row)
        assert not calls or entry in calls or name in ("BETWEEN", "IN", "LIKE", "ILIKE", "AND", "OR", "NOT", "CASE")


def _escaped(entry: object) -> str:
    return entry.signature.replace("|", "\\|")  # type: ignore[attr-defined]


def _find(text: str) -> object:
    try:
        node = parse(f"SELECT {text} FROM t").expressions[0]
        known = find(node)
    except (QueryError, SqlglotError):
        return None
    return None if known is None else known[0]


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("MEDIN(x)", "MEDIAN"),
        ("AVGG(x)", "AVG"),
        ("AVERAGE(x)", "AVG"),
        ("STDD(x)", "STDDEV"),
        ("VARIENCE(x)", "VARIANCE"),
        ("QUANTIL_CONT(x, 0.5)", "QUANTILE_CONT"),
        ("SUM(SQR(x))", "SQRT"),
        ("COUNT(*) FILTER (WHERE STARTWITH(s, 'a'))", "STARTSWITH"),
        ("SUM(DATE_DIF('day', d, d))", "DATE_DIFF"),
    ],
)
def test_a_name_nearly_right_is_answered_with_the_right_one(text: str, near: str) -> None:
    with pytest.raises(QueryError, match=rf"not supported; did you mean {near}\?|\(did you mean {near}\?\)"):
        make_plan(f"SELECT {text} AS n FROM t", POLICY)


@pytest.mark.parametrize("text", ["FROBNICATE(x)", "SUM(FROBNICATE(x))", "MODE(x, TRUE)", "ENTROPY(x)"])
def test_what_is_near_nothing_is_not_guessed_at(text: str) -> None:
    with pytest.raises(QueryError) as caught:
        make_plan(f"SELECT {text} AS n FROM t", POLICY)
    assert "did you mean" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("YEARWEEK(d) = 1", "STRFTIME(d, '%G-%V') = 'a'"),
        ("ISOYEAR(d) = 1", "STRFTIME(d, '%G') = 'a'"),
        ("EPOCH(d) = 1", "DATE_DIFF('second', TIMESTAMP '1970-01-01', d) = 1"),
        ("DAY_NAME(d) = 'a'", "STRFTIME(d, '%A') = 'a'"),
        ("TO_DATE(s, 'YYYY') = d", "CAST(s AS DATE) = d"),
        ("TO_CHAR(d, 'YYYY') = 'a'", "STRFTIME(d, '%Y-%m') = 'a'"),
        ("ISNAN(y)", "y IS NULL"),
    ],
)
def test_what_is_refused_says_what_to_write_and_that_is_answered(text: str, instead: str) -> None:
    with pytest.raises(QueryError, match="write ") as caught:
        make_plan(f"SELECT COUNT(*) AS n FROM t WHERE {text}", POLICY)
    written = re.sub(r" = .*", "", instead)
    assert written in str(caught.value) or "x IS NULL" in str(caught.value)
    make_plan(f"SELECT COUNT(*) AS n FROM t WHERE {instead}", POLICY)
