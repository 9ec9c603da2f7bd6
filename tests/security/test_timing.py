"""The time that noise takes says little about its magnitude: the bounds of ``proofs/noise.md``, under Time.

Were times and magnitudes independent, any order of the magnitudes would be as likely as any other, however disturbed
the times are and whichever calls are kept for the quiet around them, so the rank correlation of n calls would exceed
z/√n with probability 2Φ(−z) (Kendall and Stuart: normal for n in the thousands). What is measured on an idle machine is
below each bound by z = 6.2 or more, which is 6e-10.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet import noise

Sampler = Callable[[int], np.ndarray]

ONE, MANY = 0.15, 0.3
CALLS = 3_000
MADE = 4_800


def moment(turns: int = 1_000) -> int:
    """What a fixed loop takes now: its time tells how disturbed the machine is, and nothing of any noise."""
    start = time.thread_time_ns()
    for _ in range(turns):
        pass
    return time.thread_time_ns() - start


def rank_correlation(sampler: Sampler, size: int, calls: int = CALLS) -> float:
    """Between CPU time and total magnitude, over the quietest of the calls that draw `size` each: a quarter, or fewer.

    A call's time is taken in units of the fixed loops beside it, and a call counts as quiet by the slower of the two.
    """
    sampler(size)  # makes the tables
    made = max(4 * calls, MADE)
    times, magnitudes, loops = np.empty(made), np.empty(made), np.empty((made, 2))
    for i in range(made):
        loops[i, 0] = moment()
        start = time.thread_time_ns()
        drawn = sampler(size)
        times[i] = time.thread_time_ns() - start
        loops[i, 1] = moment()
        magnitudes[i] = float(np.abs(drawn).sum())
    quiet = np.argsort(loops.max(axis=1), kind="stable")[:calls]
    return float(stats.spearmanr((times / loops.sum(axis=1))[quiet], magnitudes[quiet]).statistic)


def counted(size: int, again: float) -> np.ndarray:
    """Geometric noise as a textbook draws it: trials until the first failure."""
    drawn = np.zeros(size)
    for i in range(size):
        while COINS.random() < again:
            drawn[i] += 1
    return drawn


COINS = np.random.default_rng()


def test_a_sampler_that_counts_is_caught() -> None:
    """A sum of 64 varies as much in proportion to its mean, whichever the coin: a shorter one is as telling."""
    assert rank_correlation(lambda size: counted(size, 0.99), 1) > 5 * ONE
    assert rank_correlation(lambda size: counted(size, 0.9), 64, calls=300) > 2 * MANY


VECTORS: dict[str, Callable[[Fraction], Sampler]] = {
    "discrete_laplace": lambda scale: lambda size: noise.discrete_laplace(scale, size),
    "discrete_gaussian": lambda scale: lambda size: noise.discrete_gaussian(scale, size),
    "rounded_gaussian": lambda scale: lambda size: noise.rounded_gaussian(scale, size),
}


@pytest.mark.sampled
@pytest.mark.parametrize(("size", "bound"), [(1, ONE), (64, MANY)])
@pytest.mark.parametrize("scale", [10, 10**6])
@pytest.mark.parametrize("sampler", VECTORS)
def test_vectors_of_noise(sampler: str, scale: int, size: int, bound: float) -> None:
    assert abs(rank_correlation(VECTORS[sampler](Fraction(scale)), size)) <= bound


SCALE = Fraction(1000)
SINGLES: dict[str, Callable[[], int]] = {
    "rounded_laplace": lambda: noise.rounded_laplace(Fraction(0), SCALE),
    "rounded_pareto 16": lambda: noise.rounded_pareto(Fraction(0), SCALE, 16),
    "rounded_student_t 1": lambda: noise.rounded_student_t(Fraction(0), SCALE, 1),
    "rounded_student_t 3": lambda: noise.rounded_student_t(Fraction(0), SCALE, 3),
}


@pytest.mark.parametrize("sampler", SINGLES)
def test_single_draws_of_rounded_noise(sampler: str) -> None:
    assert abs(rank_correlation(lambda _: np.array([SINGLES[sampler]()], dtype=object), 1)) <= MANY


@pytest.mark.sampled
@pytest.mark.parametrize("scale", [10, 10**6])
def test_releases_of_additive_mechanisms(additive_case, scale: int) -> None:
    mechanism = additive_case.at(scale)
    assert abs(rank_correlation(lambda size: np.array(additive_case.draw(mechanism, 0, size)), 64)) <= MANY
