"""A replay sees every mistake in fits and checks of synthetic tables, and nothing in what is sound."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mutants.synth import MUTANTS, SynthMutant

import discreet as dp
from discreet import synth
from discreet.audit import run_entries
from discreet.errors import LedgerError
from discreet.release import verify_loss
from discreet.sensitivity import Norms, bounded_sum
from discreet.synth.checks._norms import count_norms, distance_norms, score_norms

sys.path.append(str(Path(__file__).parents[1] / "synth"))

from replay import Diverged, Transcript, check_given, check_moves, check_same, lost, run
from synth_neighbours import policy_of, some_pair, some_rows, table_of

pytestmark = pytest.mark.usefixtures("one_database")

_PAIRS, _SECONDS = 5, 60
_ROWS = 2
_CURRENCIES = {"pure": (dp.pure(4), {"epsilon": 9}), "rho": (dp.rho(1), {"rho": 9})}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_is_caught_within_a_minute(mutant: SynthMutant) -> None:
    start = time.process_time()
    with mutant.patches():
        seen = _first_fault(mutant.asks, mutant.relation)
    assert seen is not None
    print(seen)
    assert time.process_time() - start < _SECONDS


@pytest.mark.parametrize("asks", ["fit", "check"])
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_nothing_is_seen_in_the_sound_code(asks: str, relation: str) -> None:
    assert _first_fault(asks, relation) is None


def test_there_are_many_each_with_its_own_name() -> None:
    assert len({each.name for each in MUTANTS}) == len(MUTANTS) >= 12


@pytest.mark.soak
def test_a_fit_that_is_seen_whole_shows_most_of_its_loss() -> None:
    """Certified at a confidence of 1 − 1e-9: ε ≥ .7 of 1."""
    [found] = run_entries(["SyntheticTable of two columns"], samples=100_000, confidence=1 - 1e-9)
    assert not found.violated
    assert found.verdict.epsilon_lower >= 0.7, found.verdict.sentence


def _first_fault(asks: str, relation: str) -> str | None:
    """What a replay of fits, or checks, on random neighbours and on strangers sees first."""
    dice = random.Random(f"{asks} {relation}")
    for place in range(_PAIRS if asks == "fit" else 2):
        currency, (spend, budget) = list(_CURRENCIES.items())[place % 2]
        policy = policy_of(relation, _ROWS, budget)
        one, other = some_pair(dice, relation, people=12)
        strangers = [row for person in range(40) for row in some_rows(dice, 0, person, most=20)]
        try:
            if asks == "fit":
                _replayed(_fit(spend), (one, other, strangers), policy, currency, spend)
            else:
                _checked(one, other, _crowd(dice), policy, spend)
        except (Diverged, AssertionError, LedgerError) as error:
            return str(error) or type(error).__name__
    return None


def _crowd(dice: random.Random) -> Any:
    """So many people that a table fitted to them has both labels."""
    return [row for person in range(600) for row in some_rows(dice, 0, person)]


def _fit(spend: dp.Loss) -> Any:
    return lambda session: synth.fit(session, "t", spend, target="c")


def _replayed(ask: Any, tables: tuple[Any, Any, Any], policy: dict[str, Any], currency: str, spend: dp.Loss) -> None:
    norms = bounded_sum(0, 1, _ROWS, policy["relation"], grouped=True)
    first = run(ask, {"t": table_of(tables[0])}, policy)
    _check_spent(first, norms, currency, spend)
    for rows in tables[1:]:
        again = run(ask, {"t": table_of(rows)}, policy, first)
        check_same(first, again)
        check_given(again)
        if rows is tables[1]:
            check_moves(first, again, norms)


def _check_spent(first: Transcript, norms: Norms, currency: str, spend: dp.Loss) -> None:
    check_given(first)
    certificate = first.content["certificate"]
    assert len(certificate["steps"]) == len(first.drawn), "the certificate lists other steps than ran"
    assert lost(first, norms, currency).fits(spend), "the mechanisms lose more than was charged"
    assert len({salt for _, salt in first.requests}) == 1, "passes count other rows"
    verify_loss(certificate)


def _checked(one: Any, other: Any, crowd: Any, policy: dict[str, Any], spend: dp.Loss) -> None:
    with dp.connect({"t": table_of(crowd)}, policy) as session:
        table = synth.fit(session, "t", spend, tier="instant")

    def ask(session: dp.Session) -> Any:
        return synth.check(session, table, spend, target="c")

    first = run(ask, {"t": table_of(one)}, policy)
    second = run(ask, {"t": table_of(other)}, policy, first)
    check_same(first, second)
    check_given(second)
    verify_loss(first.content["certificate"])
    relation = policy["relation"]
    assert isinstance(first.release, synth.SyntheticCheck)
    norms = [count_norms(_ROWS, relation)]
    norms += [distance_norms(_ROWS, relation, each.sets, each.grid) for each in first.release.distances]
    norms.append(score_norms(_ROWS, relation))
    for each, a, b in zip(norms, first.drawn, second.drawn, strict=True):
        assert sum(abs(x - y) for x, y in zip(a.given, b.given, strict=True)) <= each.l1
