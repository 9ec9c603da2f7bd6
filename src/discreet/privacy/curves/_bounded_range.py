"""The curve of bounded-range mechanisms that are all fixed in advance."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.privacy.curves._base import Curve, FunctionCurve, SplitBounds, two_sided
from discreet.privacy.curves._binary import log_sum, within
from discreet.privacy.curves._rounding import down, up

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["bounded_range_curve"]

_LARGEST_COUNT = 20_000
_LARGEST_TABLE = 200_000
_FEW = 64
_STEP = 1e-10
_NEAR = 1e-4
_ROUNDING = 2.0**-36


def bounded_range_curve(eps: Fraction, count: int, upper: Curve) -> Curve:
    """The curve of `count` mechanisms of ε-bounded range: Dong, Durfee and Rogers 2020, Theorem 2.

    Above 20,000 of them the upper end is that of `upper`, any valid upper curve of the same loss.

    The worst pair of one mechanism has losses t and t − ε, with P(t) = (1 − e^{t−ε})/(1 − e^{−ε}). For k of them the
    worst is k copies with one t, and the best t for a target is one of (target + (l+1)ε)/(k+1), l = 0, …, k, cut to
    [0, ε]. The theorem gives a maximum over t, where an error in t counts squared; any one t gives a lower end.
    """
    low, high = _Copies(down(eps), count), _Copies(up(eps), count)
    if count > _LARGEST_COUNT:
        lower = FunctionCurve(lambda target: (low.log_lower(target), 0.0), _STEP)
        return two_sided(lower, upper)
    return SplitBounds(low.log_lower, high.log_upper, _STEP)


class _Copies:
    """`count` copies of the pair with range ε, for every t."""

    def __init__(self, eps: float, count: int) -> None:
        self.eps, self.count = eps, count

    def log_lower(self, target: float) -> float:
        """The terms of the t that seems best, on ever finer grids."""
        import numpy as np

        if target >= self.count * self.eps * (1 + 1e-14):
            return -math.inf
        best, reach = self.count / 2, self.count / 2
        while True:
            around = np.linspace(max(0.0, best - reach), min(self.count, best + reach), _FEW)
            tops, last = self._candidates(target, np.unique(np.floor(around)))
            chosen = int(np.argmax(self._upper(target, tops, last)))
            if reach <= _FEW / 2 or reach < self.count * _NEAR:
                return self._reached(target, tops[[chosen]], int(last[chosen])) - self._margin()
            best, reach = float(last[chosen]), reach / 16

    def log_upper(self, target: float) -> float:
        """The largest over all t: all terms of the t for which the difference of two tails leaves room."""
        import numpy as np

        if target >= self.count * self.eps * (1 + 1e-14):
            return -math.inf
        tops, last = self._candidates(target, np.arange(self.count + 1, dtype=np.float64))
        values = self._upper(target, tops, last)
        chosen = int(np.argmax(values))
        above = np.flatnonzero(values > self._reached(target, tops[[chosen]], int(last[chosen])))
        if above.size * (self.count + 1) <= _LARGEST_TABLE:
            every = np.arange(self.count + 1, dtype=np.float64)
            exact = [log_sum(row) for row in self._terms(target, tops[above], every, -1)]
            values[above] = np.minimum(values[above], exact)
        return float(np.max(values)) + self._margin()

    def _reached(self, target: float, top: Floats, last: int) -> float:
        minus = within(lambda at: self._terms(target, top, at, 1)[0], min(last + 1, self.count), 50.0)
        return log_sum(self._terms(target, top, minus, 1)[0])

    def _margin(self) -> float:
        """Logarithms of masses to 2⁻⁴⁶ of what lgamma adds up. Generous: a t that is 1e-7 of ε off costs less."""
        return 2.0**-46 * (1 + self.count + math.lgamma(self.count + 1) + self.count * self.eps) + 1e-6

    def _candidates(self, target: float, last: Floats) -> tuple[Floats, Floats]:
        """The t of the theorem for numbers l of minus signs, and the l, where t is inside (0, ε); ε/2 if none is."""
        import numpy as np

        tops = (target + (last + 1) * self.eps) / (self.count + 1)
        inside = (tops > 0) & (tops < self.eps)
        if not np.any(inside):
            top = self.eps / 2
            return np.array([top]), np.array([math.floor(max(0.0, (self.count * top - target) / self.eps))])
        return tops[inside], last[inside]

    def _upper(self, target: float, tops: Floats, last: Floats) -> Floats:
        """Upper bounds of ln δ for each t: P(Bin ≤ l) − e^target Q(Bin ≤ l), both right to 2⁻³⁶ (scipy, k ≤ 20,000).

        Below e^{−600} the second is dropped, and the first is bounded by Zubkov and Serov 2013, Theorem 1.
        """
        import numpy as np
        from scipy.special import betainc, log_ndtr  # pyright: ignore[reportMissingTypeStubs]

        k, likely, unlikely = self.count, *self._masses(tops)
        some = np.minimum(last, k - 1)
        own = np.where(last < k, betainc(k - some, some + 1, likely), 1.0)
        other = np.where(last < k, betainc(k - some, some + 1, likely * np.exp(-tops)), 1.0)
        paid = np.where(other > 1e-290, other, 0.0) * (1 - _ROUNDING) * max(0.0, 1 - 2.0**-47 * target)
        gap = own * (1 + _ROUNDING) - math.exp(min(target, 700.0)) * paid
        share = np.clip((some + 1) / k, 1e-300, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            rest = np.where(share < 1, (1 - share) * np.log((1 - share) / likely), 0.0)
            distance = np.maximum(share * np.log(share / unlikely) + rest, 0.0) * (1 - 1e-9)
            tail = np.where(share > unlikely, 0.0, log_ndtr(-np.sqrt(2 * k * distance)))
            return np.where(own > 1e-260, np.log(np.maximum(gap, 1e-300)), tail)

    def _masses(self, tops: Floats) -> tuple[Floats, Floats]:
        import numpy as np

        total = math.expm1(-self.eps)
        return np.expm1(tops - self.eps) / total, np.exp(tops - self.eps) * np.expm1(-tops) / total

    def _terms(self, target: float, tops: Floats, minus: Floats, side: int) -> Floats:
        """Ln P(j)(1 − e^{target − loss})⁺ for each t and j, at a target moved by 2⁻⁴⁸: up for side 1, down for −1."""
        import numpy as np
        from scipy.special import gammaln  # pyright: ignore[reportMissingTypeStubs]

        ways = math.lgamma(self.count + 1) - gammaln(minus + 1) - gammaln(self.count - minus + 1)
        likely, unlikely = (np.log(mass)[:, None] for mass in self._masses(tops))
        near = target + side * 2.0**-48 * (target + self.count * self.eps)
        loss = self.count * tops[:, None] - minus * self.eps
        with np.errstate(divide="ignore"):
            gain = np.log(-np.expm1(np.minimum(near - loss, 0.0)))
        return ways + (self.count - minus) * likely + minus * unlikely + gain
