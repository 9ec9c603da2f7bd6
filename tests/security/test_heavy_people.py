"""Whether a query ends does not depend on one person's rows, nor does anything else that is seen beside the noise.

Each query is asked of a shop, and of the same shop with rows of person 777, within the same small memory and disk. It
is refused by both, answered by both, or fails in both in the same words, and both are charged the same.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from pressure.databases import Tables, neighbour, shop, shop_policy
from pressure.outcomes import NEVER, Outcome, interrupt, limit, released
from pressure.queries import SCRIPTS

import discreet as dp
from discreet.policy import Policy

SECONDS = 100
DAILY = ("public, three times", "chain of left joins, five rows", "one row's text as key")
"""One of each kind: a public table, computed texts, a stored text. The others are for the soak."""


@cache
def tables_with(kind: str | None) -> Tables:
    return shop() if kind is None else neighbour(kind, tables_with(None))


@contextlib.contextmanager
def opened(kind: str | None, memory: str, disk: str, policy: Policy | None = None) -> Iterator[dp.Session]:
    with dp.connect(tables_with(kind), policy or shop_policy()) as session:
        limit(session._engine, memory, disk)
        yield session


def outcome(
    query: str, kind: str | None, memory: str = "256MB", disk: str = "256MB", policy: Policy | None = None
) -> Outcome:
    with opened(kind, memory, disk, policy) as session:
        return released(session, query, lambda: interrupt(session._engine), SECONDS)


def check_alike(query: str, without: Outcome, with_them: Outcome) -> None:
    assert with_them == without, query
    assert without[0] != NEVER, query
    if without[0] is dp.QueryError:
        with opened(None, "256MB", "256MB") as session:
            assert without[-1] == str(session.spent), "a refusal is free"


@pytest.mark.timeout(3 * SECONDS)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.soak] * (n not in DAILY)) for n in SCRIPTS])
def test_a_script_sees_nobody(name: str) -> None:
    script = SCRIPTS[name]
    check_alike(script.query, outcome(script.query, None), outcome(script.query, script.neighbour))


def choosing() -> Policy:
    """The policy of the shop, where each query chooses its cap on rows."""
    policy = shop_policy()
    tables = {
        name: table if table.public or table.by_rows else table.model_copy(update={"max_rows": "auto"})
        for name, table in policy.tables.items()
    }
    return policy.model_copy(update={"tables": tables})


@pytest.mark.timeout(3 * SECONDS)
@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.soak] * (n != DAILY[1])) for n in SCRIPTS])
def test_nor_does_it_where_the_query_chooses_its_cap(name: str) -> None:
    script, policy = SCRIPTS[name], choosing()
    without, with_them = (outcome(script.query, kind, policy=policy) for kind in (None, script.neighbour))
    assert with_them == without, script.query
    assert without[0] != NEVER, script.query


@pytest.mark.soak
@pytest.mark.timeout(3 * SECONDS)
@pytest.mark.parametrize(("memory", "disk"), [("2GB", "6GB"), ("256MB", "2GB"), ("1GB", "256MB")])
@pytest.mark.parametrize("name", ["public, three times", "chain of left joins, five rows", "two left joins, wide"])
def test_nor_does_it_with_more_room(name: str, memory: str, disk: str) -> None:
    script = SCRIPTS[name]
    check_alike(
        script.query,
        outcome(script.query, None, memory, disk),
        outcome(script.query, script.neighbour, memory, disk),
    )
