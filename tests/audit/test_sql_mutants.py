"""The auditor sees what is broken in queries, sessions and ledgers, and nothing in what is sound."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pytest
from mutants import MUTANTS, Mutant, ledger, sql
from mutants._databases import kept

from discreet.audit import check
from discreet.audit.sql._pair import loss_between
from discreet.mechanisms import PartitionSelection
from discreet.privacy import PureLoss

pytestmark = pytest.mark.usefixtures("one_database")

_ALARM = 1e-9
"""Each test's rate of false alarms: the confidence of its verdict is 1 less that."""

_MUTANTS = (*sql.MUTANTS, *ledger.MUTANTS)


_CERTAIN = {
    "SQL: the sum of nulls is null",
    "SQL: a cast that fails on one row",
    "SQL: absent public keys left out",
    "SQL: keys that are not listed",
    "SQL: small groups suppressed by their exact count",
    "SQL: rows in the order of the data",
    "SQL: private keys shown as found",
    "SQL: discovery of nothing is drawn again",
}
"""One output tells which world it is from, by its form."""


def _cases(mutants: Iterable[Mutant], *, soak: bool = True, every: int = 1) -> list[object]:
    """The slow ones are for the soak alone, and so are all but one in `every`."""
    return [
        pytest.param(each, id=each.name, marks=[pytest.mark.soak] * (soak and (each.slow or place % every > 0)))
        for place, each in enumerate(mutants)
    ]


def _told(output: dict[str, object]) -> object:
    """An output without its numbers."""
    return output.get("refused", output.get("rows"))


@pytest.mark.parametrize("mutant", _cases(_MUTANTS, every=8))
def test_a_mutant_is_caught(mutant: Mutant) -> None:
    """Some every time; how far sums move in each that has no private keys is worked out below, exactly."""
    with mutant.broken() as mechanism:
        verdict = check(
            mechanism, [mutant.pair], mutant.claim, samples=mutant.samples, delta=mutant.delta, confidence=1 - _ALARM
        )
    assert verdict.violated, verdict.sentence
    assert verdict.epsilon_lower <= mutant.epsilon + 1e-6


@pytest.mark.parametrize("mutant", _cases(_MUTANTS, every=32))
def test_its_sound_twin_is_not(mutant: Mutant) -> None:
    """A few every time: `test_entries.py` holds every statistic to its claim."""
    with mutant.sound() as mechanism:
        verdict = check(
            mechanism, [mutant.pair], mutant.claim, samples=mutant.samples, delta=mutant.delta, confidence=1 - _ALARM
        )
    assert not verdict.violated, verdict.sentence


def test_every_mutant_breaks_its_claim_by_a_fifth() -> None:
    assert len(_MUTANTS) >= 14
    assert len({each.name for each in (*_MUTANTS, *MUTANTS)}) == len(_MUTANTS) + len(MUTANTS) >= 40
    for mutant in _MUTANTS:
        assert mutant.claimed >= 0.5
        assert mutant.epsilon >= 1.2 * mutant.claimed, mutant.name


_WITH_SUMS = [
    each
    for each in sql.MUTANTS
    if math.isfinite(each.epsilon) and isinstance(each.claim, PureLoss) and each.name != "SQL: noise for a cap of 1"
]
"""Those without private keys, whose leak is how far the sums move, under a cap that is known beforehand."""


@pytest.mark.parametrize("mutant", _cases(_WITH_SUMS, soak=False))
def test_the_sums_move_as_far_as_was_worked_out(mutant: Mutant) -> None:
    with mutant.broken() as asked:
        loss = loss_between(asked, *mutant.pair)
    assert loss is not None
    assert loss.epsilon() == pytest.approx(mutant.epsilon, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.05), (1 / 3, 0.2), (0.5, 0.001)])
def test_chances_of_discovery_are_those_of_the_code(epsilon: float, delta: float) -> None:
    selection = PartitionSelection(epsilon, delta)
    for units in range(12):
        assert kept(units, epsilon, delta) == pytest.approx(float(selection.probability(units)), rel=1e-9, abs=1e-15)


def test_a_run_is_broken_like_a_redraw() -> None:
    """What is certain to show in a redrawn output shows in a complete run, too."""
    for mutant in sql.MUTANTS:
        if mutant.name in _CERTAIN:
            with mutant.broken() as asked:
                runs = [asked(world) for world in mutant.pair]
                drawn = [asked.draw(world, 1)[0] for world in mutant.pair]
            assert list(map(_told, runs)) == list(map(_told, drawn))
            assert _told(runs[0]) != _told(runs[1]), mutant.name
