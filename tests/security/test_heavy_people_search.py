"""Random queries between neighbours that differ in one heavy person, in a small memory and disk: they end alike.

Most pairs are compared below the session, where they cost least: a request ends, or fails in the same words. A few are
asked of sessions. Before the rows and bytes of one unit were bounded, 9 of the first 40 pairs differed, from the second
on, which joins public tables; the sixteenth joins computed texts of five private rows.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from pressure.databases import NEIGHBOURS, PACKED, neighbour, shop, shop_policy
from pressure.outcomes import ended, interrupt, limit, released
from pressure.queries import random_query

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.errors import QueryError
from discreet.policy import Policy
from discreet.query import Plan, make_plan

SECONDS = 100
LEVELS = 2
"""Of the levels of a ROLLUP so many are asked, the widest first."""
LIMITS = {"256MB": ("256MB", "256MB"), "2GB": ("256MB", "2GB")}
KINDS = tuple(kind for kind, (rows, *_) in NEIGHBOURS.items() if rows <= PACKED)
"""A pair with more rows takes a minute; the scripts have them."""
DAILY_KINDS = ("one row", "a few long", "many long")


class Shops:
    """Engines over the shop and its neighbours, each opened when it is first asked."""

    def __init__(self) -> None:
        self.policy: Policy = shop_policy()
        self._tables = shop()
        self._engines: dict[str | None, DuckDB] = {}

    def tables(self, kind: str | None) -> dict[str, object]:
        return dict(self._tables if kind is None else neighbour(kind, self._tables))

    def engine(self, kind: str | None, disk: str) -> DuckDB:
        if kind not in self._engines:
            engine = DuckDB(self.tables(kind), self.policy)
            for table in self.policy.tables:
                engine.check(table)
            self._engines[kind] = engine
        limit(self._engines[kind], *LIMITS[disk])
        return self._engines[kind]

    def difference(self, plan: Plan, kind: str, disk: str) -> str | None:
        """How the outcomes of a plan's levels differ, if they do."""
        outcomes: list[list[object]] = []
        for which in (None, kind):
            engine = self.engine(which, disk)
            requests = [level.bounded for level in plan.levels[:LEVELS]]
            outcomes.append(
                [ended(engine, each, lambda engine=engine: interrupt(engine), SECONDS) for each in requests]
            )
        without, with_them = outcomes
        return None if without == with_them else f"{kind}, {disk}: {without} without 777, {with_them} with 777"

    def close(self) -> None:
        for engine in self._engines.values():
            engine.close()


@pytest.fixture(scope="module")
def shops() -> Iterator[Shops]:
    opened = Shops()
    yield opened
    opened.close()


def pairs(dice: random.Random, policy: Policy, kinds: tuple[str, ...], count: int) -> Iterator[tuple[str, Plan, str]]:
    """So many queries that are planned, and rows of 777 for each. One that is refused is refused for everybody."""
    while count:
        query, kind = random_query(dice), dice.choice(kinds)
        try:
            plan = make_plan(query, policy)
        except QueryError:
            continue
        count -= 1
        yield query, plan, kind


def differing(shops: Shops, seed: str, kinds: tuple[str, ...], count: int) -> list[str]:
    dice = random.Random(seed)
    messages = list[str]()
    for query, plan, kind in pairs(dice, shops.policy, kinds, count):
        disk = "2GB" if kinds == KINDS and dice.random() < 0.1 else "256MB"
        message = shops.difference(plan, kind, disk)
        if message is not None:
            messages.append(f"{query}: {message}")
    return messages


@pytest.mark.timeout(600)
@pytest.mark.parametrize("count", [16, pytest.param(40, marks=pytest.mark.soak)])
def test_random_queries_end_alike(shops: Shops, count: int) -> None:
    assert differing(shops, "daily", DAILY_KINDS, count) == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(40))
def test_two_thousand_random_queries_end_alike(shops: Shops, seed: int) -> None:
    """40 seeds of 50 pairs."""
    assert differing(shops, f"soak {seed}", KINDS, 50) == []


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_sessions_end_alike(shops: Shops) -> None:
    for query, _, kind in pairs(random.Random("sessions"), shops.policy, KINDS, 40):
        outcomes = []
        for which in (None, kind):
            with dp.connect(shops.tables(which), shops.policy) as session:
                engine = session._engine
                limit(engine, *LIMITS["256MB"])
                outcomes.append(released(session, query, lambda engine=engine: interrupt(engine), SECONDS))
        assert outcomes[0] == outcomes[1], query
