"""The smallest noise, the most steps, the largest sampling rate that a budget allows.

The value that is returned has itself been checked to fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, Literal, overload

from discreet.errors import ParameterError
from discreet.privacy.accounting._budget import budget_of
from discreet.privacy.accounting._certify import certified_epsilon
from discreet.privacy.accounting._currencies import in_currency, parts
from discreet.privacy.losses._base import Loss

__all__ = ["Gauge", "Probe", "Range", "Search", "gauge_of", "solve", "verdict_of"]


Gauge = Callable[[Loss, bool], float]
"""Takes a loss, and whether the search is so near that it needs the exact value."""

_COARSE = 0.03


def gauge_of(budget: Loss) -> Gauge:
    """A smooth gauge: ε at the budget's δ where it has one, else the worst part in the budget's own currency.

    >>> from discreet.privacy import approx, pure
    >>> gauge_of(pure(2))(pure(1), True) == -math.log(2), gauge_of(approx(1, 1e-6))(100 * pure(1), False) > 0
    (True, True)
    """
    name, allowed = budget_of(budget)
    if name == "approx" and allowed[1] > 0 and allowed[0] > 0:
        return lambda loss, near: _by_epsilon(loss, *allowed, near=near)

    def by_parts(loss: Loss, _near: bool) -> float:  # noqa: FBT001 — as every gauge is called
        try:
            spent = parts(in_currency(loss, name))
        except ParameterError:
            return math.inf
        return max(map(_ratio, spent, allowed))

    return by_parts


def verdict_of(budget: Loss) -> Gauge:
    """A gauge of two values, −1 where the loss fits and 1 where it does not."""
    return lambda loss, _: -1.0 if loss.fits(budget) else 1.0


def _by_epsilon(loss: Loss, epsilon: Fraction, delta: Fraction, *, near: bool) -> float:
    """Far from the budget a rough bracket of ε decides, at a fraction of the work."""
    allowed = float(epsilon)
    if not near:
        low, high = loss.bounds(delta=delta, gap=_COARSE)
        if low > allowed and math.isinf(high):
            return math.log(low / allowed)
        if low > allowed or high < allowed:
            return math.log(max(math.sqrt(low) * math.sqrt(high) or high, 1e-300) / allowed)
    return math.log(max(certified_epsilon(loss, delta), 1e-300) / allowed)


def _ratio(spent: Fraction, allowed: Fraction) -> float:
    if spent <= 0 or allowed <= 0:
        return -math.inf if spent <= 0 else math.inf
    log = math.log(spent / allowed)
    return log if log or spent == allowed else math.copysign(5e-324, spent - allowed)


_TOLERANCE = 1e-4
_LEAP = math.log(64)
_MOST_PROBES = 200
_NEAR = 0.3  # as an excess: from there on the next guess is too good for a rough gauge to decide


@dataclass
class Range:
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

    def text(self) -> str:
        """The range in words."""
        return f"from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Probe:
    """One value that was tried, and by how much it exceeds the budget, as a logarithm."""

    x: float
    excess: float

    @property
    def fits(self) -> bool:
        """Whether it is within the budget."""
        return self.excess <= 0

    @property
    def at(self) -> float:
        """Its place on the scale of the search."""
        return math.log(self.x)


class Search:
    """A search for the last value that fits, under one gauge."""

    def __init__(self, make_loss: Callable[[Any], Loss], gauge: Gauge, limits: Range) -> None:
        self.make_loss, self.gauge, self.limits = make_loss, gauge, limits
        self.probes: list[Probe] = []
        self.pushes = 0

    def run(self) -> float:
        """The last value that fits."""
        good, bad = self._around()
        while not self._close(good, bad) and len(self.probes) < _MOST_PROBES:
            probe = self._probe(self._between(good, bad))
            good, bad = (probe, bad) if probe.fits else (good, probe)
        return good.x

    def _probe(self, x: float) -> Probe:
        near = any(abs(probe.excess) < _NEAR for probe in self.probes)
        probe = Probe(x, self.gauge(self.make_loss(x), near))
        self.probes.append(probe)
        return probe

    def _try(self, x: float) -> None:
        """Probe x; where the caller left that end of the range open, a refusal by `make_loss` narrows the range."""
        known = [probe.x for probe in self.probes]
        try:
            self._probe(x)
        except ParameterError:
            if known and x > max(known) and self.limits.lenient_high:
                self.limits.high = max(known)
            elif known and x < min(known) and self.limits.lenient_low:
                self.limits.low = min(known)
            else:
                raise

    def _around(self) -> tuple[Probe, Probe]:
        """Neighbouring probes of which one fits and one does not."""
        limits = self.limits
        middle = 1.0 if limits.low <= 1 <= limits.high else math.sqrt(limits.low) * math.sqrt(limits.high)
        self._probe(limits.clip(middle))
        leap = math.log(2)
        while len(self.probes) < _MOST_PROBES:
            ordered = sorted(self.probes, key=lambda probe: probe.x)
            for left, right in pairwise(ordered):
                if left.fits != right.fits:
                    return (left, right) if left.fits else (right, left)
            first, last = ordered[0], ordered[-1]
            upward, leap = self._onward(first, last, leap)
            if first.x <= limits.low and last.x >= limits.high:
                raise self._undecided(fits=first.fits)
            if upward is None:
                upward = last.x < limits.high and (first.x <= limits.low or len(self.probes) % 2 == 1)
            elif (upward and last.x >= limits.high) or (not upward and first.x <= limits.low):
                raise self._undecided(fits=first.fits)
            x = last.x * math.exp(leap) if upward else first.x * math.exp(-leap)
            known = last.x if upward else first.x
            near = limits.clip(x)
            self._try(known + (1 if upward else -1) if limits.integer and near == known else near)
        raise self._undecided(fits=self.probes[0].fits)

    def _onward(self, first: Probe, last: Probe, leap: float) -> tuple[bool | None, float]:
        """Whether to go on above the last probe or below the first, if one can tell, and how far in ln x."""
        rise = last.excess - first.excess
        if not math.isfinite(rise) or rise == 0:
            return (None, leap) if len(self.probes) == 1 else (None, min(2 * leap, _LEAP))
        upward = (rise > 0) == first.fits
        near = last if upward else first
        needed = 1.2 * abs(near.excess) * (last.at - first.at) / abs(rise)
        return upward, min(max(needed, 0.01), _LEAP)

    def _close(self, good: Probe, bad: Probe) -> bool:
        if self.limits.integer:
            return abs(good.x - bad.x) <= 1
        return abs(good.x - bad.x) <= _TOLERANCE * min(good.x, bad.x) * 0.99

    def _between(self, good: Probe, bad: Probe) -> float:
        """Where to look next: by secant; a little past it, once it is too near to one end; sometimes in the middle."""
        left, right = sorted((good.at, bad.at))
        at = (
            self._curved(left, right)
            or self._secant(self.probes[-2], self.probes[-1], left, right)
            or self._secant(good, bad, left, right)
        )
        if at is None or (len(self.probes) > 16 and len(self.probes) % 3 == 0):
            at = (left + right) / 2
        else:
            grain = 1 / good.x if self.limits.integer else _TOLERANCE
            push = 0.9 * grain * 2**self.pushes
            if min(at - left, right - at) < 0.8 * grain:
                self.pushes += 1
                at = left + push if at - left < right - at else right - push
                at = at if left < at < right else (left + right) / 2
        low, high = sorted((good.x, bad.x))
        if self.limits.integer:
            return min(max(round(math.exp(at)), low + 1), high - 1)
        x = float(f"{math.exp(at):.7g}")
        return x if low < x < high else math.sqrt(low) * math.sqrt(high)

    def _curved(self, left: float, right: float) -> float | None:
        """Where the parabola through the last three probes, ln x over excess, has excess 0; unless these are close."""
        last = self.probes[-3:]
        steps = [abs(a.excess - b.excess) for a, b in combinations(last, 2)]
        if len(last) < 3 or not all(math.isfinite(step) and step > 1e-3 for step in steps):
            return None
        at = sum(a.at * math.prod(b.excess / (b.excess - a.excess) for b in last if b is not a) for a in last)
        return at if left <= at <= right else None

    @staticmethod
    def _secant(a: Probe, b: Probe, left: float, right: float) -> float | None:
        rise = b.excess - a.excess
        if not math.isfinite(rise) or rise == 0:
            return None
        at = a.at - a.excess * (b.at - a.at) / rise
        return at if left <= at <= right else None

    def _undecided(self, *, fits: bool) -> ParameterError:
        where = self.limits.text()
        if fits:
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
    limits = Range(least, most, integer=integer, lenient_low=low is None, lenient_high=high is None)
    for gauge in (gauge_of(budget), verdict_of(budget)):
        search = Search(make_loss, gauge, limits)
        x = search.run()
        if make_loss(x).fits(budget):
            return x
    raise ParameterError("the loss neither only rises nor only falls with its argument, so no value can be trusted")


def _range(low: float | None, high: float | None, *, integer: bool) -> tuple[float, float]:
    least = (1 if integer else _LOW) if low is None else low
    most = (_MOST_INTEGER if integer else _HIGH) if high is None else high
    if integer:
        if not all(math.isfinite(end) for end in (least, most)):
            raise ParameterError(f"low and high must be finite numbers, got {low} and {high}")
        least, most = math.ceil(least), math.floor(most)
    if not 0 < least <= most < math.inf:
        raise ParameterError(f"low and high must be finite, with 0 < low <= high, got {least:g} and {most:g}")
    return least, most
