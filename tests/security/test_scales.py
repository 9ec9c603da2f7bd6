"""From a thousandth to 10¹²: noise of that scale, or a refusal in words, and never something else."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet as dp

SCALES = [Fraction(10) ** power for power in range(-3, 13)]
ALARM = 1e-11
REFUSING = {
    "GlobalSensitivity": "the noise has 2**28 grid steps for a sensitivity",
    "RandomizedResponse": "an epsilon of 1000 is the largest",
    "Shuffled": "its randomized response has an epsilon of 1000 at most",
    "SmoothSensitivity": "with a tiny epsilon no beta leaves room for noise",
    "SampleAndAggregate": "the noise has 2**30 grid steps for a sensitivity",
}
"""What refuses some of the scales, and why; everything else works at all of them."""


@pytest.mark.parametrize("scale", SCALES, ids=[f"1e{power}" for power in range(-3, 13)])
def test_a_mechanism_works_or_refuses(case, scale: Fraction) -> None:
    try:
        mechanism = case.at(scale)
    except dp.ParameterError:
        return
    assert case.plain or case.loss(mechanism).delta(float(1 / scale) * (1 + 1e-9)) < 0.31
    for world in case.worlds:
        for released in case.draw(mechanism, world, 8):
            parts = released if isinstance(released, list | np.ndarray) else [released]
            assert all(part is None or math.isfinite(float(part)) for part in parts)


def test_few_refuse_and_only_at_the_ends(cases) -> None:
    for name, case in cases.items():
        works = []
        for scale in SCALES:
            try:
                case.at(scale)
            except dp.ParameterError:
                works.append(False)
            else:
                works.append(True)
        assert all(works[3:7]), name  # from 1 to 1000
        assert all(works) == (name.partition(" ")[0] not in REFUSING), name
        first, last = works.index(True), len(works) - works[::-1].index(True)
        assert all(works[first:last]), name


@pytest.mark.parametrize("scale", SCALES, ids=[f"1e{power}" for power in range(-3, 13)])
def test_noise_has_the_size_that_is_told(additive_case, scale: Fraction) -> None:
    """The stated 50% and 95% errors against draws: too few within, or too many, by chance once in 10¹¹ at each."""
    mechanism, draws = additive_case.at(scale), 2_000
    noise = np.abs(np.array(additive_case.draw(mechanism, 10**6, draws), dtype=object) - 10**6)
    for level in (0.5, 0.95):
        within = int((noise <= mechanism.error(level)).sum())
        assert within >= stats.binom.ppf(ALARM, draws, level)
        if scale >= 100:  # then the error is the least that holds, to a hundredth
            assert within <= stats.binom.isf(ALARM, draws, level + 0.01)
    if scale >= 10:
        assert len(set(noise.tolist())) > 20
