"""What charts call the columns of an answer."""

from __future__ import annotations

import pytest
from sqlglot import parse_one

from discreet import privacy
from discreet.policy import Policy
from discreet.query import make_plan
from discreet.query.results._words import answer_words, in_plain_words, loss_in_symbols

WORDS = {
    "COUNT(*)": "number of rows",
    'COUNT("cost")': "number of rows with cost",
    'COUNT(DISTINCT "v"."who")': "number of people",
    'COUNT(DISTINCT "city")': "number of distinct values of city",
    'COUNT(*) FILTER(WHERE "age" > 65)': "number of rows where age > 65",
    'COUNT_IF("age" > 65)': "number of rows where age > 65",
    'SUM("v"."cost")': "sum of cost",
    'AVG("a" * 2)': "average of a * 2",
    'MEDIAN("cost")': "median of cost",
    'MIN("cost")': "1 % quantile of cost",
    'STDDEV_POP("cost")': "standard deviation of cost",
    'VAR_SAMP("cost")': "variance of cost",
    'CORR("y", "x")': "correlation of y and x",
    'SUM("a") / COUNT(*)': "SUM(a) / COUNT(*)",
    f"SUM({' + '.join(['a_column'] * 9)})": f"SUM({' + '.join(['a_column'] * 9)})",
}


@pytest.mark.parametrize("sql", WORDS)
def test_aggregates_in_words(sql: str) -> None:
    assert in_plain_words(parse_one(sql, dialect="duckdb"), "who") == WORDS[sql]


def test_an_answer_in_words(policy: Policy) -> None:
    items = "plan, GROUPING(plan) AS g, COUNT(*) AS n, AVG(cost) AS c"
    plan = make_plan(f"SELECT {items} FROM clinic WHERE age > 3 GROUP BY ROLLUP (plan)", policy)
    words = answer_words({"query": plan.sql})
    assert words.columns["n"] == "number of rows" and words.columns["c"] == "average of cost"
    assert words.counts == {"n"} and words.levels == {"g"} and words.where == "where age > 3"


@pytest.mark.parametrize("query", [None, 7, "", "SELECT (", "DROP TABLE t", "x" * 70_000, "(" * 30_000])
def test_a_certificate_without_a_query_has_no_words(query: object, caplog: pytest.LogCaptureFixture) -> None:
    """Files come from anywhere; what cannot be read is drawn under its columns' own names, and logged nowhere."""
    words = answer_words({"query": query} if query is not None else {})
    assert not words.columns and not words.counts and not words.where
    assert not caplog.records


def test_losses_in_symbols() -> None:
    assert loss_in_symbols(privacy.pure("1/2")) == "ε = 0.5"
    assert loss_in_symbols(privacy.rho("0.1", "1e-6")) == "ρ = 0.1, δ = 1e-06"
    assert loss_in_symbols(privacy.mu(2)) == "μ = 2"
    assert loss_in_symbols(privacy.laplace(3)) == "Laplace noise 3"
