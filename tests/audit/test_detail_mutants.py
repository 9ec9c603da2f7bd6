"""A replay sees every mistake in groups that overlap, and nothing in what is sound."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from mutants.detail import MUTANTS, DetailMutant

import discreet as dp
from discreet import census
from discreet.audit import run_entries
from discreet.errors import DiscreetError
from discreet.release import verify_loss

sys.path.append(str(Path(__file__).parents[1] / "synth"))

from replay import Diverged, Transcript, check_given, check_moves, check_same, lost, run

pytestmark = pytest.mark.usefixtures("one_database")

_PAIRS, _MOST, _SECONDS = 4, 2, 60
_CODES = ["a", "b", "c", "d", "nobody"]
_CURRENCIES = {"pure": (dp.pure(4), {"epsilon": 9}), "rho": (dp.rho(1), {"rho": 9})}
Person = tuple[int, str, str, list[str]]
"""A person, a block, a sex and groups."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_is_caught_within_a_minute(mutant: DetailMutant) -> None:
    start = time.process_time()
    with mutant.patches():
        seen = first_fault(mutant.relation)
    assert seen is not None
    print(seen)
    assert time.process_time() - start < _SECONDS


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_nothing_is_seen_in_the_sound_code(relation: str) -> None:
    assert first_fault(relation) is None


def test_there_are_many_each_with_its_own_name() -> None:
    assert len({each.name for each in MUTANTS}) == len(MUTANTS) >= 12


@pytest.mark.soak
def test_two_stages_that_are_seen_whole_show_most_of_their_loss() -> None:
    """Certified at a confidence of 1 − 1e-9: ε ≥ .6 of 1."""
    [audited] = run_entries(["DetailTables of two stages"], samples=60_000, confidence=1 - 1e-9)
    assert not audited.violated
    assert audited.verdict.epsilon_lower >= 0.6, audited.verdict.sentence


def spec() -> census.DetailSpec:
    return census.DetailSpec.of_dict({
        "table": "origins", "groups": {"column": "origin", "most": _MOST, "codes": _CODES}, "chance": 0,
        "geography": {"areas": {"part": ["left", "left", "right"], "b": ["x", "y", "empty"]}, "levels": ["part", "b"]},
        "detail": {"by_sex": {"from": 3, "columns": ["sex"]}},
        "shares": {"part": 1, "b": {"totals": 1, "detail": 2}},
    })  # fmt: skip


def policy_of(relation: str, budget: dict[str, Any]) -> dict[str, Any]:
    sex = {"type": "string", "keys": ["F", "M"], "nullable": False}
    people = {"unit": "person", "max_rows": 1, "columns": {"b": {"type": "string"}, "sex": sex}}
    origins = {"unit": "person -> people.person", "max_rows": 4, "columns": {"origin": {"type": "string"}}}
    return {"version": "1", "relation": relation, "budget": budget, "tables": {"people": people, "origins": origins}}


def tables_of(people: list[Person]) -> dict[str, pa.Table]:
    origins = [(person, code) for person, _, _, codes in people for code in codes]
    numbers, blocks, sexes, _ = zip(*people, strict=True)
    return {
        "people": pa.table({"person": list(numbers), "b": list(blocks), "sex": list(sexes)}),
        "origins": pa.table({"person": [p for p, _ in origins], "origin": [code for _, code in origins]}),
    }


def first_fault(relation: str) -> str | None:
    """What a replay on random neighbours and on strangers sees first."""
    dice = random.Random(relation)
    for place in range(_PAIRS):
        currency, (spend, budget) = list(_CURRENCIES.items())[place % 2]
        policy = policy_of(relation, budget)
        others = [_some(dice, person, most=5) for person in range(1, 12)]
        one = (0, "x", "F", _CODES[:4] if place < 2 else ["a", "a", "a"] if place == 2 else _some(dice, 0)[3])
        other = [(0, "y", "M", ["c", "d"])] if relation == "substitute" else []
        strangers = [(person, dice.choice(["x", "y"]), dice.choice("FM"), ["a"]) for person in range(40)]
        try:
            _replayed(([*others, one], [*others, *other], strangers), policy, currency, spend)
        except (Diverged, AssertionError, DiscreetError) as error:
            return str(error) or type(error).__name__
    return None


def _some(dice: random.Random, person: int, most: int = 6) -> Person:
    codes = [dice.choice([*_CODES[:4], "unlisted"]) for _ in range(dice.randint(0, most))]
    return person, dice.choice(["x", "y", "abroad"]), dice.choice("FM"), codes


def _replayed(people: tuple[list[Person], ...], policy: dict[str, Any], currency: str, spend: dp.Loss) -> None:
    norms = census.details.group_norms(_MOST, 1, policy["relation"])

    def ask(session: dp.Session) -> census.DetailTables:
        return census.detail(session, spec(), spend)

    first = run(ask, tables_of(people[0]), policy)
    check_given(first)
    _check_spent(first, lost(first, norms, currency), spend)
    for each in people[1:]:
        again = run(ask, tables_of(each), policy, first)
        check_same(first, again)
        check_given(again)
        if each is people[1]:
            check_moves(first, again, norms)


def _check_spent(first: Transcript, loss: dp.Loss, spend: dp.Loss) -> None:
    certificate = first.content["certificate"]
    assert len(certificate["measured"]) == len(first.drawn) == 4, "other measurements ran than the certificate lists"
    assert loss.fits(spend), "the mechanisms lose more than was charged"
    assert len({salt for _, salt in first.requests}) == 1, "the stages count other people"
    assert len(first.drawn[0].given) == 2 * len(_CODES), "groups without people are left out"
    verify_loss(certificate)
