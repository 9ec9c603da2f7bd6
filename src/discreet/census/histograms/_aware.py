"""How a histogram becomes aware of its data: what is measured first, and what follows from the noisy counts of that.

A small part of ε is spent on wide blocks. Where more than a few of them clearly hold something, a tree of all cells has
the rest. Elsewhere three levels down to single cells are measured, whatever they show, so that every range has an
unbiased number; of these follows a private partition, whose segments have what is left. All choices are functions of
noisy counts and of public facts. ``proofs/private_partition.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.census.histograms._measured import Measured
from discreet.marginals.strategies import Partition, nested, partition_of
from discreet.marginals.trees import LeastSquares
from discreet.prices import Additive

__all__ = [
    "FIRST_SHARE", "LEVEL_SHARES", "REST_SHARE", "UNIT_SHARE", "combined", "is_spread", "levels_of",
    "partition_by",
]  # fmt: skip

FIRST_SHARE = Fraction(1, 20)
LEVEL_SHARES = (Fraction(1, 10), Fraction(1, 4), Fraction(3, 50))
"""Of wide blocks, of units, and of cells. The last buys unbiased numbers alone."""
REST_SHARE = 1 - FIRST_SHARE - sum(LEVEL_SHARES)
UNIT_SHARE = Fraction(3, 5)
"""Which part of the rest a unit that is split has for its sum; its cells have what is left."""
_CLEAR = 3.0
_FEW, _FEW_PARTS = 2, 8


def levels_of(cells: int) -> tuple[int, int, int]:
    """How wide the blocks of the three levels are: wide blocks, units, cells.

    >>> levels_of(4096)
    (256, 16, 1)
    """
    degree = round(cells ** (1 / 3))
    return degree**2, degree, 1


def is_spread(first: Measured) -> bool:
    """Whether more than a few wide blocks clearly hold something: more than 2 of them, and more than an eighth."""
    clear = int(np.count_nonzero(first.numbers > _CLEAR * first.variance**0.5))
    return clear > max(_FEW, len(first.counts) / _FEW_PARTS)


def combined(measured: Sequence[Measured]) -> tuple[NDArray[np.float64], float]:
    """The best mean of measurements of the same counts, and its variance."""
    weights = 1 / np.array([each.variance for each in measured])
    numbers = np.array([each.numbers for each in measured])
    return weights @ numbers / weights.sum(), float(1 / weights.sum())


def partition_by(
    first: Measured, levels: Sequence[Measured], cells: int, widths: Sequence[int], rest: Additive
) -> Partition:
    """The partition that follows from noisy counts of blocks and units, and from nothing else."""
    wide, unit = widths[0], widths[1]
    units = nested(-(-cells // unit), (wide // unit, 1))
    numbers, variance = combined([first, levels[0]])
    squares = LeastSquares(units, (float("inf"), variance, levels[1].variance))
    estimates = squares.estimate([None, numbers, levels[1].numbers])
    return partition_of(estimates[-1], cells, unit, max(rest.std, 1e-6) ** 2, levels[1].variance ** 0.5)
