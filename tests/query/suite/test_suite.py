"""The queries that people write: answered right, or refused in words that help.

What has not landed yet is asked too, and must be refused: no query is silently wrong at any time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.session import Session
from suite.case import Case, Rejection
from suite.cases import CASES
from suite.combined import COMBINED, PIVOTS
from suite.databases import shop_policy, sources
from suite.features import landed
from suite.rejections import REJECTIONS
from suite.truth import difference, rows_of

ANSWERED = [each for each in (*CASES, *COMBINED, *PIVOTS) if landed(each.needs)]
WAITING = [each for each in CASES if not landed(each.needs)]
NEARLY_EXACT = dp.approx(10**9, 1e-6)
ADVICE = re.compile(
    r"supported|did you mean|it has|declare|write|give|need(s|ed)?\b|rescale|must|takes|instead|neither|reads|"
    r"are never|compared|called|cannot|no bounds|can use|such as",
    re.IGNORECASE,
)
"""A word that says what is allowed or what to do next stands in every message."""


@pytest.fixture(scope="module")
def session(tables: dict[str, pa.Table]) -> Iterator[Session]:
    policy = shop_policy({"epsilon": 10**14, "delta": 0.9})
    with dp.connect(sources(tables, policy), policy) as opened:
        yield opened


def _name(each: Case | Rejection) -> str:
    return each.query[:110]


def test_the_suite_is_as_large_as_it_says() -> None:
    assert len({each.query for each in CASES}) >= 200
    assert len({each.query for each in CASES}) == len(CASES)
    assert len({each.query for each in REJECTIONS}) == len(REJECTIONS) >= 80


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("each", ANSWERED, ids=_name)
def test_an_answer_is_the_bounded_truth(each: Case, session: Session, plain: duckdb.DuckDBPyConnection) -> None:
    release = session.sql(each.query, NEARLY_EXACT)
    truth = plain.execute(each.truth).fetchall()
    found = difference(rows_of(release.to_arrow()), truth, ordered=each.ordered, within=each.within)
    assert found is None, found


def test_first_keys_are_asked_of_a_choice(session: Session) -> None:
    noises = [session.plan(each.query, NEARLY_EXACT).levels[0].noise for each in ANSWERED if "top-k" in each.needs]
    assert len(noises) >= 4
    assert all(noise is not None and noise.top_keys is not None for noise in noises)


def test_what_has_not_landed_is_refused_in_words_that_help(session: Session) -> None:
    for each in WAITING:
        _assert_refused(session, each.query, ())


@pytest.mark.parametrize("each", REJECTIONS, ids=_name)
def test_a_rejection_says_what_is_wrong_and_what_to_do(each: Rejection, session: Session) -> None:
    _assert_refused(session, each.query, each.words if landed(each.needs) else ())


def test_every_truth_is_sql_that_plain_duckdb_reads(plain: duckdb.DuckDBPyConnection) -> None:
    for each in CASES:
        rows: list[tuple[Any, ...]] = plain.execute(each.truth).fetchall()
        assert rows or "LIMIT 0" in each.query or "1000000" in each.query, each.truth


def _assert_refused(session: Session, query: str, words: tuple[str, ...]) -> None:
    spent = session.spent
    with pytest.raises(dp.QueryError) as caught:
        session.sql(query, NEARLY_EXACT)
    message = str(caught.value)
    assert session.spent == spent
    assert ADVICE.search(message), message
    assert "\n" not in message
    assert [word for word in words if word.casefold() not in message.casefold()] == [], message
