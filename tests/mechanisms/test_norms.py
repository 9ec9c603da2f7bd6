"""Selections and comparisons read the L∞ of `Norms`: by how much one unit moves one count at most."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

import discreet as dp
from discreet.errors import ParameterError
from discreet.mechanisms import AboveThreshold, Exponential, PermuteAndFlip, ReportNoisyMax, TopK
from discreet.sensitivity import Norms, bounded_sum, count

READERS = {
    "Exponential": lambda of: Exponential(1, of),
    "PermuteAndFlip": lambda of: PermuteAndFlip(1, of),
    "ReportNoisyMax": lambda of: ReportNoisyMax(1, of),
    "TopK": lambda of: TopK(2, 1, of),
    "AboveThreshold": lambda of: AboveThreshold(10, 1, of),
    "Exponential.calibrate": lambda of: Exponential.calibrate(dp.pure(1), of),
    "PermuteAndFlip.calibrate": lambda of: PermuteAndFlip.calibrate(dp.pure(1), of),
    "ReportNoisyMax.calibrate": lambda of: ReportNoisyMax.calibrate(dp.pure(1), of, noise="laplace"),
    "TopK.calibrate": lambda of: TopK.calibrate(dp.pure(1), of, k=2),
    "AboveThreshold.calibrate": lambda of: AboveThreshold.calibrate(dp.pure(1), of, threshold=10),
}


@pytest.mark.parametrize("reader", READERS)
def test_the_sensitivity_is_the_largest_move_of_one_entry(reader: str) -> None:
    make = READERS[reader]
    assert make(count(3, "substitute", grouped=True)) == make(3)
    assert make(bounded_sum(-2, 5, 2, "substitute", grouped=True)) == make(14)
    assert make(Norms(5, 13)) == make(3)
    with pytest.raises(ParameterError, match="sensitivity must be greater than 0"):
        make(Norms(0, 0))


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_a_pick_by_counts_is_private_at_what_it_claims(relation: str) -> None:
    """The exact log-ratios of the exponential mechanism over all pairs of histograms one unit of two rows apart."""
    rows = 2
    choice = Exponential(1, count(rows, relation, grouped=True))
    units = [h for h in product(range(rows + 1), repeat=3) if sum(h) <= rows]
    others = [(0, 0, 0)] if relation == "add_remove" else units
    worst = Fraction(0)
    for base, mine, yours in product([(0, 0, 0), (4, 1, 0)], units, others):
        one, other = ([b + m for b, m in zip(base, unit, strict=True)] for unit in (mine, yours))
        rate = choice.epsilon / (2 * choice.sensitivity)
        # ln p_i − ln q_i is a shift of u_i − v_i by the normalisers, which are at most the largest shift apart.
        shifts = [rate * (u - v) for u, v in zip(one, other, strict=True)]
        worst = max(worst, max(shifts) - min(shifts))
    assert worst <= choice.loss().eps
    # Rows that move from one group to another use it all; under add/remove counts are monotone, and half is left.
    assert worst == (choice.loss().eps if relation == "substitute" else choice.loss().eps / 2)
