"""The smallest noise, the most steps, the largest sampling rate that a budget allows.

Which way the cost goes is seen from two probes; then ln(cost / budget) is followed over ln x by secants, which are nearly
straight there, and a bracket is kept: one value that fits, one that does not. What is returned was itself checked.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, overload

from discreet.errors import ParameterError
from discreet.privacy._gauge import Gauge, gauge_of, verdict_of
from discreet.privacy._loss import Loss

__all__ = ["solve"]

_TOLERANCE = 1e-4
_LOW, _HIGH, _MOST_WHOLE = 1e-9, 1e9, 10**12
_LEAP = math.log(64)
_PROBES = 200
_NEAR = 0.05  # in ln x: then the rough gauge would seldom decide


@overload
def solve(
    make_loss: Callable[[int], Loss],
    budget: Loss,
    *,
    low: float | None = None,
    high: float | None = None,
    whole: Literal[True],
) -> int: ...
@overload
def solve(
    make_loss: Callable[[float], Loss],
    budget: Loss,
    *,
    low: float | None = None,
    high: float | None = None,
    whole: Literal[False] = False,
) -> float: ...
def solve(
    make_loss: Callable[[Any], Loss],
    budget: Loss,
    *,
    low: float | None = None,
    high: float | None = None,
    whole: bool = False,
) -> float:
    """Return the x at which ``make_loss(x)`` only just fits the budget: the least noise, or the most steps, or the like.

    The cost must only rise or only fall with x > 0; which of the two is found out. The answer itself fits
    (`Loss.fits`), and a value 1e-4 of it cheaper in noise, or dearer in privacy, does not; with ``whole=True`` it is a
    whole number and its neighbour does not. Without `low` and `high` the search leaves from 1 and goes no further than
    `make_loss` accepts. Costs nothing: no data are seen. Raises `ParameterError` if nothing in the range fits, or if
    everything does, for then the budget does not decide.

    >>> from discreet.privacy import approx, gaussian, pure
    >>> noise = solve(lambda noise: gaussian(noise), budget=approx(1, 1e-5))
    >>> round(noise, 2)
    3.73
    >>> solve(lambda steps: steps * pure(0.1), budget=pure(3), whole=True)
    30
    """
    least, most = _range(low, high, whole=whole)
    limits = _Range(least, most, whole=whole, lenient_low=low is None, lenient_high=high is None)
    for gauge in (gauge_of(budget), verdict_of(budget)):
        search = _Search(make_loss, gauge, limits)
        found = search.run()
        if make_loss(found).fits(budget):
            return found
    raise ParameterError("the loss neither only rises nor only falls with its argument, so no value can be trusted")


def _range(low: float | None, high: float | None, *, whole: bool) -> tuple[float, float]:
    least = (1 if whole else _LOW) if low is None else low
    most = (_MOST_WHOLE if whole else _HIGH) if high is None else high
    if whole:
        if not all(math.isfinite(end) for end in (least, most)):
            raise ParameterError(f"low and high must be finite numbers, got {low} and {high}")
        least, most = math.ceil(least), math.floor(most)
    if not 0 < least <= most < math.inf:
        raise ParameterError(f"low and high must be finite, with 0 < low <= high, got {least:g} and {most:g}")
    return least, most


@dataclass
class _Range:
    low: float
    high: float
    whole: bool
    lenient_low: bool
    lenient_high: bool

    def clip(self, x: float) -> float:
        """A value near x in the range: a whole number, or one of seven digits."""
        near = round(x) if self.whole else float(f"{x:.7g}")
        return min(max(near, self.low), self.high)

    def text(self) -> str:
        return f"from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class _Probe:
    x: float
    excess: float

    @property
    def fits(self) -> bool:
        return self.excess <= 0

    @property
    def at(self) -> float:
        return math.log(self.x)


class _Search:
    def __init__(self, make_loss: Callable[[Any], Loss], gauge: Gauge, limits: _Range) -> None:
        self.make_loss, self.gauge, self.limits = make_loss, gauge, limits
        self.probes: list[_Probe] = []

    def run(self) -> float:
        """The last value that fits."""
        good, bad = self._around()
        while not self._close(good, bad) and len(self.probes) < _PROBES:
            near = abs(good.at - bad.at) < _NEAR
            probe = self._probe(self._between(good, bad), near=near)
            good, bad = (probe, bad) if probe.fits else (good, probe)
        return good.x

    def _probe(self, x: float, *, near: bool = False) -> _Probe:
        probe = _Probe(x, self.gauge(self.make_loss(x), near))
        self.probes.append(probe)
        return probe

    def _try(self, x: float) -> None:
        """Probe x; where nobody named that end of the range, a refusal by `make_loss` narrows the range."""
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

    def _around(self) -> tuple[_Probe, _Probe]:
        """Neighbouring probes of which one fits and one does not."""
        limits = self.limits
        middle = 1.0 if limits.low <= 1 <= limits.high else math.sqrt(limits.low) * math.sqrt(limits.high)
        self._probe(limits.clip(middle))
        leap = math.log(2)
        while len(self.probes) < _PROBES:
            ordered = sorted(self.probes, key=lambda probe: probe.x)
            for left, right in zip(ordered, ordered[1:], strict=False):
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
            self._try(known + (1 if upward else -1) if limits.whole and near == known else near)
        raise self._undecided(fits=self.probes[0].fits)

    def _onward(self, first: _Probe, last: _Probe, leap: float) -> tuple[bool | None, float]:
        """Whether to go on above the last probe or below the first, if one can tell, and how far in ln x."""
        rise = last.excess - first.excess
        if not math.isfinite(rise) or rise == 0:
            return (None, leap) if len(self.probes) == 1 else (None, min(2 * leap, _LEAP))
        upward = (rise > 0) == first.fits
        near = last if upward else first
        needed = 1.2 * abs(near.excess) * (last.at - first.at) / abs(rise)
        return upward, min(max(needed, 0.05), _LEAP)

    def _close(self, good: _Probe, bad: _Probe) -> bool:
        if self.limits.whole:
            return abs(good.x - bad.x) <= 1
        return abs(good.x - bad.x) <= _TOLERANCE * min(good.x, bad.x) * 0.99

    def _between(self, good: _Probe, bad: _Probe) -> float:
        """Where to look next: by secant; a little past it, once it is too near to one end; sometimes in the middle."""
        left, right = sorted((good.at, bad.at))
        recent = self.probes[-8:]
        at = self._secant(*self.probes[-2:], left, right) or self._secant(good, bad, left, right)
        if at is None or (len(self.probes) > 16 and len(self.probes) % 3 == 0):
            at = (left + right) / 2
        else:
            grain = 1 / good.x if self.limits.whole else _TOLERANCE
            close = sum(abs(probe.at - at) < 4 * grain for probe in recent)
            push = 0.7 * grain * 2 ** max(0, close - 2)
            if at - left < grain / 2:
                at = min(left + push, (left + right) / 2)
            elif right - at < grain / 2:
                at = max(right - push, (left + right) / 2)
        low, high = sorted((good.x, bad.x))
        if self.limits.whole:
            return min(max(round(math.exp(at)), low + 1), high - 1)
        x = float(f"{math.exp(at):.7g}")
        return x if low < x < high else math.sqrt(low) * math.sqrt(high)

    @staticmethod
    def _secant(a: _Probe, b: _Probe, left: float, right: float) -> float | None:
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
