"""Which bounds, and which cap, serve best, judged by noisy counts of cells: post-processing, which costs nothing.

Theory: ``proofs/suggest.md``.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import DiscreteLaplace
from discreet.query._noise import NoiseMechanism
from discreet.query._suggest_ladder import Ladder, floats

__all__ = ["choose_bounds", "choose_cap"]

Counts = NDArray[np.float64]

_WIDER = 1 / 20
"""By how much, as a share, noise in empty cells may widen the bounds on average, at each side."""
_MISTAKEN = 1 / 1000
"""How likely noise alone may pass for the first cell with values."""
_ABSOLUTE = 0.75
"""The mean absolute value of noise by its standard deviation: 0.71 for Laplace noise, 0.80 for Gaussian."""
_NEAR_ZERO = 1000
"""A bound closer to zero than this part of the width becomes zero."""


def choose_bounds(
    noisy: Counts, ladder: Ladder, noise: NoiseMechanism, share: Fraction
) -> tuple[Fraction, Fraction] | None:
    """The bounds with the least estimated error of a mean, among the ends of cells; None where no cell stands out.

    `noisy` are the counts of all cells with the noise of `noise`, which had `share` of the spend. The error is that of
    an AVG for the whole spend: what clipping to the bounds takes from the mean, and the noise that they make.
    """
    zero = ladder.zero
    first = int(np.argmax(noisy))
    floor = _exceeded(noise, _MISTAKEN / ladder.cells)
    if noisy[first] <= floor:
        return None
    low = high = first
    if first == zero:
        others = noisy.copy()
        others[zero] = -np.inf
        first = int(np.argmax(others)) if ladder.cells > 1 else zero
        if first == zero or others[first] <= floor:
            return _about_zero(ladder)
        low, high = min(zero, first), max(zero, first)
    low, high = _held(noisy, floats(ladder.ends), noise, low, high)
    here = slice(low, high + 1)
    ends = ladder.ends[low : high + 2]
    spread = _halved(noise, share)
    below, above = _best(noisy[here], ladder.middles[here], floats(ends), spread)
    return _rounded(ends[below], ends[above + 1], ladder)


def choose_cap(noisy: Counts, ladder: Ladder, noise: NoiseMechanism, share: Fraction) -> int | None:
    """The cap with the least estimated error of a count: what it leaves out, and the noise that it makes.

    None where no cell stands out.
    """
    first = int(np.argmax(noisy))
    if noisy[first] <= _exceeded(noise, _MISTAKEN / ladder.cells):
        return None
    ends = floats(ladder.ends)
    _, high = _held(noisy, ends, noise, 0, first)
    caps = ends[1 : high + 2]
    lost = np.maximum(ladder.middles[None, : high + 1] - caps[:, None], 0) @ noisy[: high + 1]
    errors = np.maximum(lost, 0) + _ABSOLUTE * _whole(noise, share) * caps
    return int(ladder.ends[int(np.argmin(errors)) + 1])


def _held(noisy: Counts, ends: Counts, noise: NoiseMechanism, low: int, high: int) -> tuple[int, int]:
    """The outermost cells that hold values, as far as noise allows to tell, beside those from `low` to `high`.

    The g-th cell beyond them needs a count that noise alone exceeds with probability at most `_WIDER` / (g (g + 1)),
    by as many times less as taking it in makes the bounds wider. So empty cells widen them little on average, and near
    cells, which matter most, are the easiest to find.
    """
    last, moved = len(noisy) - 1, True
    while moved:
        moved = False
        for step in (1, -1):
            gap, cell = 1, high + 1 if step > 0 else low - 1
            while 0 <= cell <= last:
                wider = (ends[max(high, cell) + 1] - ends[min(low, cell)]) / (ends[high + 1] - ends[low])
                if noisy[cell] > _exceeded(noise, _WIDER / (gap * (gap + 1) * wider)):
                    low, high, gap, moved = min(low, cell), max(high, cell), 0, True
                gap, cell = gap + 1, cell + step
    return low, high


def _best(noisy: Counts, middles: Counts, ends: Counts, spread: float) -> tuple[int, int]:
    """The first and the last cell within the bounds of least error, for sums with noise of `spread` by row."""
    counts, sums = (np.concatenate([[0.0], np.cumsum(each)]) for each in (noisy, noisy * middles))
    lower, upper = ends[:-1], ends[1:]
    cut_below = np.maximum(lower * counts[:-1] - sums[:-1], 0)
    cut_above = np.maximum(sums[-1] - sums[1:] - upper * (counts[-1] - counts[1:]), 0)
    below, above = lower[:, None], upper[None, :]
    inside = sums[None, 1:] - sums[:-1, None] + below * counts[:-1, None] + above * (counts[-1] - counts[1:])[None, :]
    mean = np.clip(inside / max(counts[-1], 1.0), below, np.maximum(above, below))
    width, middle = above - below, (above + below) / 2
    error = cut_below[:, None] + cut_above[None, :] + _ABSOLUTE * spread * np.hypot(width / 2, mean - middle)
    first, last = np.unravel_index(int(np.argmin(np.where(width > 0, error, np.inf))), error.shape)
    return int(first), int(last)


def _about_zero(ladder: Ladder) -> tuple[Fraction, Fraction]:
    """Where all that stands out is zero: from there to one, or as near to it as declared bounds allow."""
    lower, upper = ladder.ends[0], ladder.ends[-1]
    return (Fraction(0), min(Fraction(1), upper)) if upper > 0 else (max(Fraction(-1), lower), Fraction(0))


def _rounded(lower: Fraction, upper: Fraction, ladder: Ladder) -> tuple[Fraction, Fraction]:
    least = (upper - lower) / _NEAR_ZERO
    if ladder.zero is None:
        return lower, upper
    return (Fraction(0) if abs(lower) < least else lower), (Fraction(0) if abs(upper) < least else upper)


def _exceeded(noise: NoiseMechanism, chance: float) -> float:
    """A number that the noise of one cell exceeds with at most so small a probability; see the proof note."""
    if isinstance(noise, DiscreteLaplace):
        scale = float(noise.scale)
        return max(scale * -math.log(chance * (1 + math.exp(-1 / scale))), 0.0)
    return float(noise.sigma) * math.sqrt(2 * max(-math.log(2 * chance), 0.0)) + 1


def _whole(noise: NoiseMechanism, share: Fraction) -> float:
    """The standard deviation that the same count would have for the whole spend."""
    return noise.std * (float(share) if isinstance(noise, DiscreteLaplace) else math.sqrt(share))


def _halved(noise: NoiseMechanism, share: Fraction) -> float:
    """The standard deviation that the same count would have for half of the spend, as those of a mean have."""
    return _whole(noise, share) * (2 if isinstance(noise, DiscreteLaplace) else math.sqrt(2))
