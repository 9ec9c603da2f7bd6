"""Quantiles of counted data: the same law as of the records themselves."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms import Quantiles
from discreet.mechanisms.quantiles._cuts import Stretch, _blocks

ALARM = 1e-12


def counted(cells: list[int], high: int) -> Stretch:
    values, counts = np.unique(np.array(cells, dtype=np.int64), return_counts=True)
    return Stretch(values, 0, high, 0, np.cumsum(counts))


@given(cells=st.lists(st.integers(0, 9), max_size=12).map(sorted), cut=st.integers(0, 9))
def test_a_counted_stretch_is_the_stretch_of_its_records(cells: list[int], cut: int) -> None:
    plain, counts = Stretch(np.array(cells, dtype=np.int64), 0, 9, 0), counted(cells, 9)
    for one, other in [(plain, counts), *zip(plain.parted(cut), counts.parted(cut), strict=True)]:
        assert one.size == other.size
        assert [one.from_cell(i) for i in range(one.size + 1)] == [other.from_cell(i) for i in range(one.size + 1)]
        assert [one.past_cell(i) for i in range(1, one.size + 2)] == [
            other.past_cell(i) for i in range(1, one.size + 2)
        ]
        for c in range(one.low, one.high + 1):
            assert (one.before(c), one.up_to(c)) == (other.before(c), other.up_to(c))


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)])
@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1, 50), Fraction(4)])
def test_blocks_of_counted_data_are_those_of_the_records(p: Fraction, rate: Fraction) -> None:
    cells = sorted([3] * 40 + [4] * 5 + [9] * 30 + [12])
    one, other = Stretch(np.array(cells, dtype=np.int64), 0, 15, 0), counted(cells, 15)
    width = max(1, 1 // rate)
    assert list(_blocks(one, p * 76, rate, width, 192)) == list(_blocks(other, p * 76, rate, width, 192))


@pytest.mark.parametrize(
    "counts",
    [[0, 3, 0, 7, 2, 0], *(pytest.param(each, marks=pytest.mark.soak) for each in ([0] * 6, [1, 0, 0, 0, 0, 60]))],
)
def test_frequencies_follow_the_law(counts: list[int]) -> None:
    """The exponential mechanism on the distance of rank n/2 from each cell's ranks; by Hoeffding's inequality."""
    mechanism = Quantiles("1/2", (0, 5), epsilon=Fraction(1, 2), step=1)
    before = np.cumsum([0, *counts])
    n = before[-1]
    weights = np.array([math.exp(-0.5 * max(0.0, before[i] - n / 2, n / 2 - before[i + 1])) for i in range(6)])
    size = 2_000
    drawn = Counter(mechanism.release_counts(np.arange(6), np.array(counts)) for _ in range(size))
    allowed = math.sqrt(math.log(2 * 6 / ALARM) / (2 * size))
    for i, exact in enumerate(weights / weights.sum()):
        assert abs(drawn[float(i)] / size - exact) <= allowed


@pytest.mark.parametrize("method", ["recursive", "joint"])
def test_many_quantiles_at_next_to_no_noise(method: str) -> None:
    mechanism = Quantiles(["1/4", "1/2", "3/4"], (0, 1000), 1000, step=1, method=method)  # type: ignore[arg-type]
    cells, counts = np.array([10, 500, 999]), np.array([300_000, 250_000, 450_000])
    assert list(mechanism.release_counts(cells, counts)) == [10.0, 500.0, 999.0]


@pytest.mark.parametrize(
    ("cells", "counts"), [([1, 1], [1, 1]), ([2, 1], [1, 1]), ([-1], [1]), ([6], [1]), ([1], [-1]), ([1], [1, 2])]
)
def test_what_is_no_histogram_is_refused(cells: list[int], counts: list[int]) -> None:
    with pytest.raises(ParameterError, match="rising order"):
        Quantiles("1/2", (0, 5), 1, step=1).release_counts(np.array(cells), np.array(counts))
