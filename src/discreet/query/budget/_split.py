"""The best split of a spend among measures, given how much each adds to the error of each column.

Theory: ``proofs/budgets.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

__all__ = ["best_shares", "even_shares", "mean_log_error"]

_MOST = 1e200
"""Beyond this a variance is of no use, and squares of it overflow."""
_GRID = 1024
_FLOOR = 0.5
_STEPS = 10_000
_WORK = 1_000_000
"""No more parts of variances are looked at, in all steps together. Every step lessens the mean error, so that to stop
early is to share less well, no more. Dozens of columns come close long before."""
_CLOSE = 1e-12


def even_shares(measures: int) -> tuple[Fraction, ...]:
    """The same share for each measure."""
    return (Fraction(1, max(measures, 1)),) * measures


def best_shares(columns: Sequence[Sequence[float]], measures: int, power: int) -> tuple[Fraction, ...]:
    """Positive shares, exactly 1 in sum, for which the geometric mean of the columns' standard errors is least.

    Parameters
    ----------
    columns
        For each column, the variance that each measure's noise would cause in it if that measure had the whole spend.
        Columns with a variance beyond 1e200, or with none, do not count.
    measures
        How many measures there are.
    power
        A share w multiplies a variance by 1/w^power: 2 for Laplace noise in ε, 1 for Gaussian noise in ρ or μ².

    No share is below half of an even one, so whatever the true slopes are no variance is above 2^power times what
    even shares give. Without columns that count, shares are even. They are in steps of about 1/1024, from float sums,
    products and square roots alone, which every machine rounds alike. Costs nothing.

    >>> best_shares([[1.0, 0.0], [1.0, 8.0]], 2, power=2)
    (Fraction(277, 512), Fraction(235, 512))
    """
    return _best_shares(tuple(map(tuple, columns)), measures, power)


@lru_cache(maxsize=8)
def _best_shares(columns: tuple[tuple[float, ...], ...], measures: int, power: int) -> tuple[Fraction, ...]:
    """`best_shares`, worked out once for the many spends that a search tries."""
    counted = [
        [(i, part) for i, part in enumerate(row) if part]
        for row in columns
        if all(part < _MOST for part in row) and sum(row) > 0
    ]
    if measures < 2 or not counted:
        return even_shares(measures)
    shares = [1 / measures] * measures
    for _ in range(min(_STEPS, _WORK // (measures + sum(map(len, counted))))):
        near = shares
        shares = _step(counted, shares, power)
        if max(abs(a - b) for a, b in zip(shares, near, strict=True)) < _CLOSE:
            break
    parts = [max(round(share * _GRID), 1) for share in shares]
    return tuple(Fraction(part, sum(parts)) for part in parts)


def mean_log_error(slopes: Sequence[Sequence[float]], spreads: Sequence[float]) -> float | None:
    """The logarithm of the geometric mean of the columns' standard errors, given the noises' standard deviations.

    None if no column counts, or if one of them has no error at all.

    >>> mean_log_error([[1.0, 0.0], [3.0, 4.0]], [1.0, 1.0]) == math.log(5) / 2
    True
    """
    variances = [sum((s * d) * (s * d) for s, d in zip(row, spreads, strict=True)) for row in slopes if any(row)]
    counted = [variance for variance in variances if variance < _MOST]
    if not counted or min(counted) == 0:
        return None
    return sum(math.log(variance) for variance in counted) / (2 * len(counted))


def _step(columns: Sequence[Sequence[tuple[int, float]]], shares: Sequence[float], power: int) -> list[float]:
    """Shares that are best for Σ blame·(share/now)^−power, which lies above the objective and touches it now."""
    blame = [0.0] * len(shares)
    for row in columns:
        parts = [(i, part / shares[i] ** power) for i, part in row]
        total = sum(part for _, part in parts)
        for i, part in parts:
            blame[i] += part / total
    ideal = [_root(each * share**power, power + 1) for each, share in zip(blame, shares, strict=True)]
    return _above(ideal, _FLOOR / len(shares))


def _above(ideal: Sequence[float], floor: float) -> list[float]:
    """Shares in proportion to the ideal, but for those that would be below the floor, which have the floor."""
    low: set[int] = set()
    while True:
        rest = 1 - floor * len(low)
        total = sum(each for i, each in enumerate(ideal) if i not in low)
        shares = [floor if i in low else rest * each / total for i, each in enumerate(ideal)]
        below = {i for i, share in enumerate(shares) if i not in low and share < floor}
        if not below:
            return shares
        low |= below


def _root(value: float, degree: int) -> float:
    """The square root, or the cube root by Newton's steps from above: IEEE operations alone."""
    if degree == 2 or value == 0:
        return math.sqrt(value)
    near = max(value, 1.0)
    while True:
        following = (2 * near + value / (near * near)) / 3
        if following >= near:
            return near
        near = following
