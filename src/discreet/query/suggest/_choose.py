"""Choose bounds and caps from noisy counts of cells: post-processing, which costs nothing.

Theory: ``proofs/suggest.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import DiscreteLaplace
from discreet.query.budget._noise import NoiseMechanism
from discreet.query.suggest._ladder import Ladder, floats

__all__ = ["choose_bounds", "choose_cap"]

Counts = NDArray[np.float64]

_WINDOWS = (1, 2, 4, 8, 16)
"""How many neighbouring cells are judged together: tails have few rows in each cell, and many in all of them."""
_TAIL, _TAIL_POWER = 0.4, 1.5
_FAR, _FAR_POWER = 0.03, 2.0
_OTHER_SIGN = 0.1
"""How readily noise may pass for rows: next to a thin edge, elsewhere, and across zero; see the proof note."""
_FAR_WIDER = 10**100
"""From here on all that would widen bounds is as hard to believe."""
_THIN = 8
"""An edge is thin where its last cell has fewer rows than this many scales of the noise."""
_MISTAKEN = 1 / 1000
"""How likely noise alone may pass for the first cells with values."""
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
    if noisy[first] <= _exceeded(noise, 1, _MISTAKEN / ladder.cells):
        return None
    low = high = first
    if zero is not None and first == zero:
        beside = _clearest(noisy, noise, zero)
        if beside is None:
            return _about_zero(ladder)
        low, high = min(zero, beside[0]), max(zero, beside[1])
    low, high = _held(noisy, ladder.ends, noise, low, high)
    here = slice(low, high + 1)
    ends = ladder.ends[low : high + 2]
    inside, middles = (_within(ends[0], ends[-1], places) for places in (ends, ladder.middles[here]))
    below, above = _best(noisy[here], middles, inside, _halved(noise, share))
    return _rounded(ends[below], ends[above + 1], ladder)


def choose_cap(noisy: Counts, ladder: Ladder, noise: NoiseMechanism, share: Fraction) -> int | None:
    """The cap with the least estimated error of a count: what it leaves out, and the noise that it makes.

    None where no cell stands out.
    """
    first = int(np.argmax(noisy))
    if noisy[first] <= _exceeded(noise, 1, _MISTAKEN / ladder.cells):
        return None
    _, high = _held(noisy, ladder.ends, noise, 0, first)
    caps = floats(ladder.ends[1 : high + 2])
    lost = np.maximum(floats(ladder.middles[: high + 1])[None, :] - caps[:, None], 0) @ noisy[: high + 1]
    errors = np.maximum(lost, 0) + _ABSOLUTE * _full_spend_std(noise, share) * caps
    return int(ladder.ends[int(np.argmin(errors)) + 1])


def _clearest(noisy: Counts, noise: NoiseMechanism, zero: int) -> tuple[int, int] | None:
    """The window of cells on one side of zero that stands out most; None if none does."""
    sums = np.concatenate([[0.0], np.cumsum(noisy)])
    best: tuple[float, tuple[int, int]] = (1.0, (zero, zero))
    for size in _WINDOWS:
        starts = np.arange(len(noisy) - size + 1)
        starts = starts[(starts > zero) | (starts + size <= zero)]
        if starts.size:
            held = sums[starts + size] - sums[starts]
            clear = float(held.max()) / _exceeded(noise, size, _MISTAKEN / (len(noisy) * len(_WINDOWS)))
            at = int(starts[int(np.argmax(held))])
            best = max(best, (clear, (at, at + size - 1)))
    return None if best[0] <= 1 else best[1]


def _within(lower: Fraction, upper: Fraction, places: Sequence[Fraction]) -> Counts:
    """Where places lie between 0 for the lower end and 1 for the upper: no double tells apart ends that are far out."""
    return floats([(place - lower) / (upper - lower) for place in places])


def _held(noisy: Counts, ends: Sequence[Fraction], noise: NoiseMechanism, low: int, high: int) -> tuple[int, int]:
    """The outermost cells that hold values, as far as noise allows to tell, beside those from `low` to `high`.

    A window of cells is taken in if its count is above what noise alone exceeds with a small probability: the smaller
    the further away the window is, and the wider it would make the bounds. Next to a thin edge, where a tail is likely
    to go on, that probability is larger.
    """
    sums = np.concatenate([[0.0], np.cumsum(noisy)])
    thin = _THIN * _scale(noise)
    common = math.lcm(*(end.denominator for end in ends))
    places = [int(end * common) for end in ends]  # exact, and quicker than fractions
    known, moved = places[high + 1] - places[low], True

    def window(up: bool, gap: int) -> tuple[int, bool] | None:  # noqa: FBT001
        """The far end of the shortest window that is taken in at so many cells beyond, and whether as a tail."""
        tail = gap == 1 and bool(noisy[high if up else low] < thin)
        share, power = (_TAIL, _TAIL_POWER) if tail else (_FAR, _FAR_POWER)
        share *= _OTHER_SIGN if (ends[high + 1] <= 0 if up else ends[low] >= 0) else 1
        for size in _WINDOWS:
            first, last = (high + gap, high + gap + size - 1) if up else (low - gap - size + 1, low - gap)
            if first < 0 or last >= len(noisy):
                break
            width = places[max(high, last) + 1] - places[min(low, first)]
            wider = min(width, _FAR_WIDER * known) / known
            chance = share / wider**power / (gap * (gap + 1) / 2) ** 2
            if sums[last + 1] - sums[first] > _exceeded(noise, size, chance):
                return (last if up else first), tail
        return None

    while moved:
        moved = False
        for up in (True, False):
            gap = 1
            while (high + gap < len(noisy)) if up else (low - gap >= 0):
                extension = window(up, gap)
                gap += 1
                if extension is not None:
                    low, high = (low, extension[0]) if up else (extension[0], high)
                    known = known if extension[1] else places[high + 1] - places[low]
                    gap, moved = 1, True
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


def _exceeded(noise: NoiseMechanism, cells: int, chance: float) -> float:
    """What the noise of so many cells together exceeds with about so small a probability; 0 for a half and more.

    For Laplace noise by the saddle point of its cumulants, for Gaussian noise by its normal law.
    """
    if chance >= 0.5:
        return 0.0
    if not isinstance(noise, DiscreteLaplace):
        from scipy.special import ndtri

        return float(noise.sigma) * math.sqrt(cells) * -float(ndtri(max(chance, 1e-300)))
    chances, sums = _laplace_tail(cells)
    return float(noise.scale) * float(np.interp(-math.log(chance), chances, sums))


@cache
def _laplace_tail(cells: int) -> tuple[Counts, Counts]:
    """−ln P(S > s) and s, both rising, for the sum S of so many standard Laplace variables.

    Source: the saddle point approximation P(S > K′(t)) ≈ exp(K − tK′ + t²K″/2) Q(t√K″) with K(t) = −n ln(1 − t²).
    """
    from scipy.special import erfcx

    t = np.linspace(0.0005, 0.9995, 2000)
    rest = 1 - t * t
    sums, spread = 2 * cells * t / rest, 2 * cells * (1 + t * t) / rest**2
    chances = cells * np.log(rest) + t * sums - np.log(erfcx(t * np.sqrt(spread / 2)) / 2)
    return np.maximum.accumulate(chances), sums


def _scale(noise: NoiseMechanism) -> float:
    return float(noise.scale if isinstance(noise, DiscreteLaplace) else noise.sigma)


def _full_spend_std(noise: NoiseMechanism, share: Fraction) -> float:
    """The standard deviation that the same count would have for the whole spend."""
    return noise.std * (float(share) if isinstance(noise, DiscreteLaplace) else math.sqrt(share))


def _halved(noise: NoiseMechanism, share: Fraction) -> float:
    """The standard deviation that the same count would have for half of the spend, as those of a mean have."""
    return _full_spend_std(noise, share) * (2 if isinstance(noise, DiscreteLaplace) else math.sqrt(2))
