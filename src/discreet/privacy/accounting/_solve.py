"""The smallest noise, the most steps, the largest sampling rate that a budget allows.

The value that is returned has itself been checked to fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, overload

from discreet.errors import ParameterError
from discreet.privacy.accounting._gauge import Gauge, gauge_of, verdict_of
from discreet.privacy.losses._base import Loss

__all__ = ["solve"]

_TOLERANCE = 0.98e-4  # of ln x; what is left of 1e-4 is for rounding to seven digits
_LEAP = math.log(64)
_MOST_PROBES = 200
_NEAR = 0.3  # as an excess: from there on the next guess is too good for a rough gauge to decide


@dataclass
class _Range:
    """Where to search. An end that the caller left open is lenient: a refusal by `make_loss` moves it inward."""

    low: float
    high: float
    integer: bool
    lenient_low: bool
    lenient_high: bool

    def clip(self, x: float) -> float:
        """A value near x in the range: a whole number, or one of seven digits."""
        near = round(x) if self.integer else float(f"{x:.7g}")
        return min(max(near, self.low), self.high)

    def end_at(self, x: float, *, upward: bool) -> None:
        """Search no further than x."""
        if upward:
            self.high = x
        else:
            self.low = x


class _Search:
    """A search for the last value that fits, under one gauge: first for neighbours around it, then by Brent's method.

    `excess` has, for each value that was tried, by how much it exceeds the budget, as a logarithm. It is never 0:
    Brent's method would stop there, and beyond it there may be more values that fit.
    """

    def __init__(self, make_loss: Callable[[Any], Loss], gauge: Gauge, limits: _Range) -> None:
        self.make_loss, self.gauge, self.limits = make_loss, gauge, limits
        self.excess: dict[float, float] = {}
        self.refused: dict[bool, float] = {}
        """The nearest value that `make_loss` has refused, upward and downward."""

    def run(self) -> float:
        """The last value that fits."""
        low, high = self._around()
        self._approach(low, high)
        low, high = self._around()
        while self.limits.integer and high - low > 1:
            self._probe((low + high) // 2)
            low, high = self._around()
        return low if self._fits(low) else high

    def _probe(self, x: float) -> float:
        if x not in self.excess:
            near = any(abs(excess) < _NEAR for excess in self.excess.values())
            self.excess[x] = self.gauge(self.make_loss(x), near) or -math.ulp(0.0)
        return self.excess[x]

    def _fits(self, x: float) -> bool:
        return self.excess[x] < 0

    def _around(self) -> tuple[float, float]:
        """Neighbours among the values that were tried, of which one fits and one does not; tries more until there are.

        The first two tell which way to go, and a straight line how far; where they do not, both ways alternate.
        """
        limits, leap = self.limits, math.log(2)
        if not self.excess:
            middle = 1.0 if limits.low <= 1 <= limits.high else math.sqrt(limits.low) * math.sqrt(limits.high)
            self._probe(limits.clip(middle))
        while True:
            tried = sorted(self.excess)
            for left, right in pairwise(tried):
                if self._fits(left) != self._fits(right):
                    return left, right
            first, last = tried[0], tried[-1]
            rise = self.excess[last] - self.excess[first]
            sloped = rise != 0 and math.isfinite(rise)
            if sloped:
                upward = (rise > 0) == self._fits(first)
            else:
                upward = last < limits.high and (first <= limits.low or len(tried) % 2 == 1)
            known, end = (last, limits.high) if upward else (first, limits.low)
            if known == end or len(tried) >= _MOST_PROBES:
                raise self._undecided()
            if sloped:
                needed = 1.2 * abs(self.excess[known] / rise) * (math.log(last) - math.log(first))
                leap = min(max(needed, 0.01), _LEAP)
            self._go(known, leap if upward else -leap)
            leap = min(2 * leap, _LEAP)

    def _go(self, known: float, leap: float) -> None:
        """Probe a value beyond the known ones. Short of one that `make_loss` has refused, halfway to it.

        Where nothing is left in between, the range ends at what is known.
        """
        limits, upward = self.limits, leap > 0
        x = limits.clip(known * math.exp(leap))
        if x == known and limits.integer:
            x += 1 if upward else -1
        refused = self.refused.get(upward)
        if refused is not None and (x >= refused if upward else x <= refused):
            x = limits.clip(math.sqrt(known) * math.sqrt(refused))
            if x in (known, refused) or abs(math.log(refused / known)) < _TOLERANCE:
                limits.end_at(known, upward=upward)
                return
        try:
            self._probe(x)
        except ParameterError:
            if not (limits.lenient_high if upward else limits.lenient_low):
                raise
            self.refused[upward] = x

    def _approach(self, low: float, high: float) -> None:
        """Probe between two values until a pair of neighbours is close. Whole numbers stay two apart, or a few."""
        width = math.log(high / low)
        tolerance = 2 / high if self.limits.integer else _TOLERANCE
        if width <= tolerance:
            return
        from scipy.optimize import brentq

        ends = {0.0: low, width: high}

        def excess_at(u: float) -> float:
            return self._probe(ends.get(u) or self.limits.clip(low * math.exp(u)))

        brentq(excess_at, 0.0, width, xtol=tolerance, maxiter=_MOST_PROBES, disp=False)

    def _undecided(self) -> ParameterError:
        where = f"from {self.limits.low:g} to {self.limits.high:g}"
        if self._fits(next(iter(self.excess))):
            return ParameterError(
                f"every value {where} fits the budget, so the budget does not decide; widen low and high, or spend less"
            )
        return ParameterError(f"no value {where} fits the budget; widen low and high, or allow a larger budget")


_LOW, _HIGH, _MOST_INTEGER = 1e-9, 1e9, 10**12


@overload
def solve(
    make_loss: Callable[[int], Loss],
    budget: Loss,
    *,
    low: float | None = None,
    high: float | None = None,
    integer: Literal[True],
) -> int: ...
@overload
def solve(
    make_loss: Callable[[float], Loss],
    budget: Loss,
    *,
    low: float | None = None,
    high: float | None = None,
    integer: Literal[False] = False,
) -> float: ...
def solve(
    make_loss: Callable[[Any], Loss],
    budget: Loss,
    *,
    low: float | None = None,
    high: float | None = None,
    integer: bool = False,
) -> float:
    """Return the x at which ``make_loss(x)`` only just fits the budget: the least noise, the most steps, or the like.

    The cost must only rise or only fall with x > 0; the search finds out which. The answer itself fits (`Loss.fits`),
    and a value that costs more, by 1e-4 of x, does not. With ``integer=True`` the answer is a whole number, and the
    next one does not fit. Without `low` and `high` the search begins at 1 and goes no further than `make_loss`
    accepts. Costs no privacy: no data are seen. Raises `ParameterError` if nothing in the range fits, or if everything
    does, because then the budget does not decide.

    >>> from discreet.privacy import approx, gaussian, pure
    >>> noise = solve(lambda noise: gaussian(noise), budget=approx(1, 1e-5))
    >>> round(noise, 2)
    3.73
    >>> solve(lambda steps: steps * pure(0.1), budget=pure(3), integer=True)
    30
    """
    least, most = _range(low, high, integer=integer)
    limits = _Range(least, most, integer=integer, lenient_low=low is None, lenient_high=high is None)
    for gauge in (gauge_of(budget), verdict_of(budget)):
        x = _Search(make_loss, gauge, limits).run()
        if make_loss(x).fits(budget):
            return x
    raise ParameterError("the loss neither only rises nor only falls with its argument, so no value can be trusted")


def _range(low: float | None, high: float | None, *, integer: bool) -> tuple[float, float]:
    least = (1 if integer else _LOW) if low is None else low
    most = (_MOST_INTEGER if integer else _HIGH) if high is None else high
    try:
        finite = all(math.isfinite(end) and math.isfinite(float(end)) for end in (least, most))
    except (OverflowError, TypeError, ValueError):
        finite = False
    if not finite:
        raise ParameterError("low and high must be finite numbers, below 1e308")
    if integer:
        least, most = math.ceil(least), math.floor(most)
    if not 0 < least <= most < math.inf:
        raise ParameterError(f"low and high must be finite, with 0 < low <= high, got {least:g} and {most:g}")
    return least, most
