"""The auditor can fail a mechanism: every mutant is caught, and its sound twin is not.

Every audit here has a confidence of 1 − 1e-9, so that a sound twin is called broken, or an ε above the true one is
certified, with probability 1e-9 at most. That a mutant is missed is no alarm of the auditor but a lack of power: the
numbers of samples were chosen by trial, with room to spare.
"""

from __future__ import annotations

import math

import door
import pytest
from mutants import MUTANTS, Mutant, rows

from discreet.audit import check

CONFIDENCE = 1 - 1e-9


def chosen(seen_by: str, *, twins: bool = False) -> list:
    """Those that are seen so; for the soak alone the slow ones, every other sampled one, and most sound twins.

    How much each costs is worked out every time, and what is sound held to its claim by `test_entries.py`.
    """
    seen = [each for each in MUTANTS if each.seen_by == seen_by]
    every = 24 if twins else 2 if seen_by == "sampling" else 1
    return [
        pytest.param(each, id=each.name, marks=[pytest.mark.soak] * (each.slow or place % every > 0))
        for place, each in enumerate(seen)
    ]


def sampled(mutant: Mutant, mechanism, part: int = 1):
    samples = mutant.samples // part
    return check(mechanism, [mutant.pair], mutant.claim, samples=samples, confidence=CONFIDENCE, delta=mutant.delta)


def enumerated(mutant: Mutant, release):
    return door.real_verdict(release, [mutant.pair], mutant.claim, delta=mutant.delta, **mutant.options())


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_patches_is_in_the_code(mutant):
    """Also of those that only the soak runs: a name that is changed in the code is changed there as well."""
    with mutant.broken():
        pass


LESS = {
    "substitution charged as add/remove", "L2 sensitivity as L-infinity", "tree charged one level short",
    "contiguous chunks", "the first record is always sampled",
}  # fmt: skip
"""Slow ones that are seen in a quarter of their samples as well."""


@pytest.mark.parametrize("mutant", chosen("sampling"))
def test_sampling_refutes_the_mutant(mutant):
    """In half of the samples if a quarter is enough."""
    with mutant.broken() as mechanism:
        broken = sampled(mutant, mechanism, 2 if mutant.name in LESS else 1)
    assert broken.violated, broken.sentence
    assert broken.epsilon_lower <= mutant.epsilon + 1e-6


@pytest.mark.soak
@pytest.mark.parametrize("mutant", [each for each in MUTANTS if each.name in LESS], ids=lambda each: each.name)
def test_all_samples_refute_it_as_well(mutant):
    with mutant.broken() as mechanism:
        assert sampled(mutant, mechanism).violated


@pytest.mark.parametrize("mutant", chosen("sampling", twins=True))
def test_sampling_does_not_refute_its_sound_twin(mutant):
    with mutant.sound() as mechanism:
        sound = sampled(mutant, mechanism)
    assert not sound.violated, sound.sentence


@pytest.mark.parametrize("mutant", chosen("exact"))
def test_exact_mode_refutes_the_mutant_and_not_its_sound_twin(mutant):
    with mutant.broken() as mechanism:
        broken = enumerated(mutant, mechanism)
        assert broken.violated, broken.sentence
    assert broken.epsilon[0] <= mutant.epsilon + 1e-6
    if math.isfinite(mutant.epsilon):  # rounding hides a little of continuous noise
        assert broken.epsilon[1] >= mutant.epsilon - 1e-3
    with mutant.sound() as mechanism:
        sound = enumerated(mutant, mechanism)
    assert not sound.violated, sound.sentence


def test_there_are_many_mutants_each_with_its_own_name():
    names = [each.name for each in MUTANTS]
    assert len(names) == len(set(names)) >= 36


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_every_mutant_breaks_its_claim(mutant):
    [(_, claimed, true, seen_by)] = rows((mutant,))
    assert not math.isnan(true)
    assert true > claimed * (1.2 if seen_by == "sampling" else 1.0)
    assert seen_by in {"sampling", "exact"}
