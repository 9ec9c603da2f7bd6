"""A replay sees every mistake in publications of tables, and nothing in what is sound."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mutants.census import MUTANTS, CensusMutant

import discreet as dp
from discreet import census
from discreet.audit import run_entries
from discreet.errors import DiscreetError
from discreet.release import verify_loss
from discreet.sensitivity import bounded_sum

sys.path.append(str(Path(__file__).parents[1] / "synth"))

from replay import Diverged, Transcript, check_given, check_moves, check_same, lost, run
from synth_neighbours import policy_of, some_pair, some_rows, table_of

_PAIRS, _SECONDS, _ROWS = 12, 60, 2
_CURRENCIES = {"pure": (dp.pure(4), {"epsilon": 9}), "rho": (dp.rho(1), {"rho": 9})}
_AREAS = {"part": ["left", "left", "right", "right"], "b": ["x", "y", "z", "empty"]}
_DISTRICTS = {"district": {"one": ("x", "z"), "two": ("y", "z")}}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_is_caught_within_a_minute(mutant: CensusMutant) -> None:
    start = time.process_time()
    with mutant.patches():
        overlapping, several = mutant.name == "overlap forgotten", mutant.name == "universes for nothing"
        seen = first_fault("add_remove", overlapping=overlapping, several=several)
    assert seen is not None
    print(seen)
    assert time.process_time() - start < _SECONDS


@pytest.mark.parametrize("pairs", [4, pytest.param(_PAIRS, marks=pytest.mark.soak)])
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_nothing_is_seen_in_the_sound_code(relation: str, pairs: int) -> None:
    assert first_fault(relation, pairs=pairs) is None
    assert first_fault(relation, several=True, pairs=pairs) is None


def test_overlapping_districts_are_refused_where_they_would_be_measured() -> None:
    with pytest.raises(DiscreetError, match="overlaps"):
        country(overlapping=True)


def test_there_are_many_each_with_its_own_name() -> None:
    assert len({each.name for each in MUTANTS}) == len(MUTANTS) >= 12


@pytest.mark.soak
def test_a_publication_that_is_seen_whole_shows_most_of_its_loss() -> None:
    """Certified at a confidence of 1 − 1e-9: ε ≥ .7 of 1."""
    [audited] = run_entries(["Publication of two levels"], samples=100_000, confidence=1 - 1e-9)
    assert not audited.violated
    assert audited.verdict.epsilon_lower >= 0.7, audited.verdict.sentence


def country(*, overlapping: bool = False, several: bool = False) -> census.Spec:
    land = census.Geography.of_areas(_AREAS, ["part", "b"])
    shares: dict[str, Any] = {"all": 1, "part": 2, "b": 3} | ({"district": 2} if overlapping else {})
    districts: Any = _DISTRICTS if overlapping else {}
    beside: dict[str, Any] = {}
    if several:
        beside["universes"] = {"again": census.Spec("t", land, {"by_c": ("c",)}, column="b", districts=districts)}
        beside["rules"] = ("again <= 2 t", "t[c] <= 3 again[c]")
    return census.Spec(
        "t", land, {"total": (), "by_c": ("c",)}, column="b", shares=shares, districts=districts, **beside
    )


def first_fault(relation: str, *, overlapping: bool = False, several: bool = False, pairs: int = _PAIRS) -> str | None:
    """What a replay of publications on random neighbours and on strangers sees first."""
    dice = random.Random(relation)
    for place in range(pairs):
        currency, (spend, budget) = list(_CURRENCIES.items())[place % 2]
        policy = policy_of(relation, _ROWS, budget)
        one, other = some_pair(dice, relation, people=12)
        strangers = [row for person in range(40) for row in some_rows(dice, 0, person, most=20)]
        try:
            _replayed(
                country(overlapping=overlapping, several=several), (one, other, strangers), policy, currency, spend
            )
        except (Diverged, AssertionError, DiscreetError) as error:
            return str(error) or type(error).__name__
    return None


def _replayed(
    spec: census.Spec, tables: tuple[Any, Any, Any], policy: dict[str, Any], currency: str, spend: dp.Loss
) -> None:
    norms = bounded_sum(0, 1, _ROWS, policy["relation"], grouped=True)

    def ask(session: dp.Session) -> census.Publication:
        return census.publish(session, spec, spend)

    first = run(ask, {"t": table_of(tables[0])}, policy)
    check_given(first)
    _check_spent(first, lost(first, norms, currency), spend)
    for rows in tables[1:]:
        again = run(ask, {"t": table_of(rows)}, policy, first)
        check_same(first, again)
        check_given(again)
        if rows is tables[1]:
            check_moves(first, again, norms)


def _check_spent(first: Transcript, loss: dp.Loss, spend: dp.Loss) -> None:
    certificate = first.content["certificate"]
    every = [certificate, *certificate.get("universes", {}).values()]
    stated = sum(len(each["measured"]) for each in every)
    assert stated == len(first.drawn), "the certificate lists other measurements than ran"
    assert loss.fits(spend), "the mechanisms lose more than was charged"
    assert len(first.requests) == len(every), "rows are counted in more than one pass"
    verify_loss(certificate)
