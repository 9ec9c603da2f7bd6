"""A replay sees every mistake in marginals by residuals, and nothing in what is sound."""

from __future__ import annotations

import random
import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from mutants.marginals import MUTANTS, MarginalMutant

import discreet as dp
from discreet import census
from discreet.audit import run_entries
from discreet.errors import LedgerError
from discreet.release import verify_loss

sys.path.append(str(Path(__file__).parents[1] / "synth"))

from replay import Diverged, Transcript, check_given, check_same, run
from synth_neighbours import Row, policy_of, some_pair, some_rows, table_of

pytestmark = pytest.mark.usefixtures("one_database")

_PAIRS, _ROWS, _SECONDS = 6, 2, 60
_SPEND = dp.rho(1)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_is_caught_within_a_minute(mutant: MarginalMutant) -> None:
    start = time.process_time()
    with mutant.patches():
        seen = _first_fault(mutant.relation)
    assert seen is not None
    print(seen)
    assert time.process_time() - start < _SECONDS


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_nothing_is_seen_in_the_sound_code(relation: str) -> None:
    assert _first_fault(relation) is None


def test_each_has_its_own_name() -> None:
    assert len({each.name for each in MUTANTS}) == len(MUTANTS) >= 10


@pytest.mark.soak
def test_marginals_that_are_seen_whole_show_most_of_their_loss() -> None:
    """Certified at a confidence of 1 − 1e-9: at least .7 of μ = 1."""
    [seen] = run_entries(["MarginalTables of two columns"], samples=60_000, confidence=1 - 1e-9)
    assert not seen.violated
    assert seen.ratio >= 0.7, seen.verdict.sentence


def _first_fault(relation: str) -> str | None:
    """What a replay on neighbours and on strangers sees first."""
    dice = random.Random(relation)
    policy = policy_of(relation, _ROWS, {"rho": 9})

    def ask(session: dp.Session) -> Any:
        return census.marginals(session, "t", _SPEND, ways=2, columns=["a", "b", "c"])

    for place in range(_PAIRS):
        tables = (*_far_apart(dice, relation), _strangers(dice)) if place == 0 else _some(dice, relation)
        try:
            first = run(ask, {"t": table_of(tables[0])}, policy)
            check_given(first)
            verify_loss(first.content["certificate"])
            assert len(first.content["certificate"]["measured"]) == len(first.drawn), "the certificate lists others"
            assert len({salt for _, salt in first.requests}) == 1, "passes count other rows"
            for rows in tables[1:]:
                again = run(ask, {"t": table_of(rows)}, policy, first)
                check_same(first, again)
                if rows is tables[1]:
                    assert _lost(first, again) <= 2 * (1 + Fraction(1, 10**9)), "a person moves more than is charged"
        except (Diverged, AssertionError, LedgerError) as error:
            return str(error) or type(error).__name__
    return None


def _lost(first: Transcript, again: Transcript) -> Fraction:
    """Twice the ρ between two tables of the noise that ran: infinite where a number went without."""
    total = Fraction(0)
    for one, two in zip(first.drawn, again.drawn, strict=True):
        apart = [a - b for a, b in zip(one.given, two.given, strict=True)]
        total += Fraction(sum(each * each for each in apart)) / one.mechanism.sigma**2
    return total


def _far_apart(dice: random.Random, relation: str) -> tuple[list[Row], list[Row]]:
    """A person whose rows are all in one cell, who is gone or moves to another."""
    others = [row for person in range(1, 9) for row in some_rows(dice, 0, person)]
    one = [(0, 0, 1, "x", True, 0.0)] * _ROWS
    other = [(0, 0, 1, "y", True, 0.0)] * _ROWS if relation == "substitute" else []
    return [*others, *one], [*others, *other]


def _strangers(dice: random.Random) -> list[Row]:
    return [row for person in range(40) for row in some_rows(dice, 0, person, most=20)]


def _some(dice: random.Random, relation: str) -> tuple[list[Row], list[Row], list[Row]]:
    return (*some_pair(dice, relation, people=12), _strangers(dice))
