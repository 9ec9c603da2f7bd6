"""Records: what a learner is given shows what is public and nothing else, and is refused before anything is read."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import ParameterError, QueryError
from discreet.query import plan_records

pytestmark = pytest.mark.usefixtures("one_database")
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"epsilon": 1},
    "tables": {
        "visits": {
            "unit": "person",
            "max_rows": 3,
            "columns": {
                "age": {"type": "int", "bounds": [0, 99], "nullable": False},
                "income": {"type": "float", "bounds": [0, 1000]},
                "site": {"type": "string", "keys": ["a", "b"]},
                "note": {"type": "string"},
                "height": {"type": "int"},
                "rank": {"type": "int", "keys": [1, 2, 3]},
            },
        },
        "towns": {"public": True, "columns": {"town": {"type": "string", "keys": ["x"]}}},
    },
}
ROWS = {
    "person": [7777],
    "age": [41],
    "income": [123.456],
    "site": ["b"],
    "note": ["secret"],
    "height": [9],
    "rank": [2],
}


@pytest.fixture
def session() -> Any:
    with dp.connect({"visits": pa.table(ROWS), "towns": pa.table({"town": ["x"]})}, POLICY) as opened:
        yield opened


def test_columns_have_what_follows_from_the_policy(session: dp.Session) -> None:
    data = session.records("SELECT age, LN(income + 1) AS logged, site, rank, age >= 65 AS y FROM visits", label="Y")
    assert data.label is not None and data.label.values == (False, True)
    age, logged, site, rank = data.features
    assert age.bounds == (0, 99) and age.integer and not age.nullable
    assert 6.9 < logged.bounds[1] < 6.91 and logged.nullable and not logged.integer
    assert site.values == ("a", "b", None) and rank.values == (1, 2, 3, None)
    assert repr(data) == "<Records of age, logged, site, rank, label y>"


def test_texts_are_read_as_they_are_only_where_that_is_asked_for() -> None:
    policy = dp.policy.load_policy(POLICY)
    plan = plan_records("SELECT note, age, site FROM visits", policy, texts=True)
    note, age, site = plan.features
    assert (note.values, note.type, note.is_number, note.nullable) == (None, "string", False, True)
    assert age.is_number and site.values == ("a", "b", None) and plan.rows.bounded.keys[0].values is None
    for query, texts in (("SELECT note FROM visits", False), ("SELECT UPPER(note) AS n FROM visits", True)):
        with pytest.raises(QueryError, match="no public values"):
            plan_records(query, policy, texts=texts)


def test_nothing_is_read_or_charged(session: dp.Session, monkeypatch: pytest.MonkeyPatch) -> None:
    before = session.remaining

    def read(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(type(session._engine), "read_records", read)
    session.records("SELECT age, site FROM visits")
    assert session.remaining == before


def test_a_handle_has_no_length_and_no_values(session: dp.Session) -> None:
    data: Any = session.records("SELECT age, site FROM visits", label="site")
    for wrong in (len, iter, list, np.asarray, lambda each: each[0]):
        with pytest.raises(ParameterError, match="show no rows, nor how many there are"):
            wrong(data)
    with pytest.raises(TypeError):
        pickle.dumps(data)
    assert data
    assert not any(value in repr(data) for value in ("7777", "41", "123", "secret"))
    assert not hasattr(data, "__dict__")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT * FROM visits", "list those of records"),
        ("SELECT AVG(age) AS a FROM visits", "no aggregates"),
        ("SELECT age FROM visits GROUP BY age", "no GROUP BY"),
        ("SELECT age FROM visits ORDER BY age", "no ORDER BY"),
        ("SELECT age FROM visits LIMIT 5", "no LIMIT"),
        ("SELECT DISTINCT age FROM visits", "no DISTINCT"),
        ("SELECT age, ROW_NUMBER() OVER () AS n FROM visits", "no aggregates"),
        ("SELECT height FROM visits", "height has no bounds"),
        ("SELECT age * height AS area FROM visits", "height"),
        ("SELECT note FROM visits", "note has no public values"),
        ("SELECT person FROM visits", "person says whose a row is"),
        ("SELECT age FROM visits WHERE person = 7", "person says whose a row is"),
        ("SELECT weight FROM visits", "no column weight"),
        ("SELECT town FROM towns", "public tables alone"),
        ("SELECT 1 AS one, age FROM visits", "the same on every row"),
        ("SELECT age, age AS again FROM visits", "twice"),
        ("SELECT age AS x, income AS X FROM visits", "two columns of the result are called X"),
        ("SELECT 1 / age AS inverse FROM visits", "may be zero"),
        ("SELECT age FROM visits UNION SELECT age FROM visits", "UNION"),
        ("SELECT (SELECT MAX(age) FROM visits) AS m, age FROM visits", "sub-query"),
        ("DELETE FROM visits", "DELETE"),
        ("SELECT RANDOM() * age AS r FROM visits", "RAND"),
        ("SELECT FROM visits", "names no columns"),
        (f"SELECT age{' + income' * 900} AS x FROM visits", "levels deep"),
        (f"SELECT age AS x FROM {'(SELECT -(-(age * -1)) + 1 AS age FROM ' * 40}visits{')' * 40}", "levels deep"),
    ],
)
def test_what_cannot_be_learnt_from_is_refused_in_words(session: dp.Session, query: str, words: str) -> None:
    before = session.remaining
    with pytest.raises(QueryError, match=words):
        session.records(query)
    assert session.remaining == before


def test_refusals_are_of_a_length_that_can_be_shown(session: dp.Session) -> None:
    with pytest.raises(QueryError, match="LENGTH") as refused:
        session.records(f"SELECT LENGTH('{'x' * 50_000}' || site) AS n FROM visits")
    assert len(str(refused.value)) < 2_100


def test_a_label_is_a_column_beside_others(session: dp.Session) -> None:
    with pytest.raises(QueryError, match="no column old"):
        session.records("SELECT age, site FROM visits", label="old")
    with pytest.raises(QueryError, match="beside the label"):
        session.records("SELECT age FROM visits", label="age")
    for wrong in (5, b"age", ["age"]):
        label: Any = wrong
        with pytest.raises(QueryError, match="named by a text"):
            session.records("SELECT age, site FROM visits", label=label)


def test_words_are_the_same_whatever_the_rows(session: dp.Session) -> None:
    """Two sources under one policy: refusals and plans are functions of the policy and the query."""
    policy = session._policy
    plan = plan_records("SELECT age, site FROM visits WHERE income > 5", policy)
    assert plan == plan_records("SELECT  age , site FROM visits WHERE (income) > 5", policy)
