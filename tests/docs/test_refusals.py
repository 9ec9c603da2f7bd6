"""The page of refusals: each question of its table gets the message beside it, and what to ask instead is planned."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pages import is_like

import discreet as dp
from discreet.datasets import rand

PAGE = Path(__file__).parents[2] / "docs" / "refusals.md"
ROW = re.compile(r"^\| `(.+?)` \| `(.+)` \| (.+) \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def session() -> Iterator[dp.Session]:
    with dp.connect({rand.name: rand.table}, policy=rand.policy) as opened:
        yield opened


def test_the_table_is_read() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    assert len(ROWS) == sum(line.startswith("| `") for line in lines) > 20


@pytest.mark.parametrize(("asked", "message", "instead"), ROWS, ids=[row[0] for row in ROWS])
def test_it_says_what_the_page_says(session: dp.Session, asked: str, message: str, instead: str) -> None:
    with pytest.raises(dp.DiscreetError) as refused:
        session.plan(asked, spend=dp.pure(0.1))
    assert is_like(str(refused.value), message), refused.value
    for query in re.findall(r"`(SELECT .+?)`", instead):
        session.plan(query, spend=dp.pure(0.1))
