"""Certified privacy curves: for each ε a bracket of ln δ(ε), and for each δ a bracket of ε.

A curve works with ln δ, so that δ = 1e-1000 is as easy as 0.1. The lower end is attained by some release with that
loss, or is 0; the upper end holds for every one. Both directions of the pair are covered.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

__all__ = [
    "WIDE",
    "Bounds",
    "Curve",
    "FunctionCurve",
    "LogDelta",
    "SplitBounds",
    "best",
    "either",
    "leaking",
    "log1mexp",
    "outward",
    "two_sided",
]


Bounds = tuple[float, float]
LogDelta = Callable[[float], Bounds]

WIDE = 2.0**-46
"""A relative margin (1.4e-14) for what a handful of float operations and library functions may lose."""


class Curve(Protocol):
    """What a loss means for (ε, δ)."""

    def log_delta(self, eps: float) -> Bounds:
        """A bracket of ln δ at ε ≥ 0."""
        ...

    def epsilon(self, log_delta: Bounds) -> Bounds:
        """A bracket of ε at a δ whose logarithm is known to lie in a bracket."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionCurve:
    """A curve given by ln δ(ε); ε is found by bisection, and the two ends are points where the bracket was computed."""

    function: LogDelta
    tolerance: float = 4e-16
    """How far the bisection goes, relative to ε; coarser where a point costs much."""

    def log_delta(self, eps: float) -> Bounds:
        """A bracket of ln δ at ε."""
        low, high = self.function(eps)
        return min(low, 0.0), min(high, 0.0)

    def epsilon(self, log_delta: Bounds) -> Bounds:
        """Upper: the least ε found with ln δ_upper(ε) ≤ ln δ. Lower: the largest found with ln δ_lower(ε) > ln δ."""
        known: dict[float, Bounds] = {}

        def at(eps: float) -> Bounds:
            if eps not in known:
                known[eps] = self.log_delta(eps)
            return known[eps]

        upper = _least(lambda eps: at(eps)[1] <= log_delta[0], self.tolerance)[1]
        lower = _least(lambda eps: at(eps)[0] <= log_delta[1], self.tolerance)[0]
        return min(lower, upper), upper


def _least(holds: Callable[[float], bool], tolerance: float) -> Bounds:
    """(a, b) with b the least found where `holds`, a next below where it does not; (0, 0) if it holds at 0."""
    if holds(0.0):
        return 0.0, 0.0
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, high * 4
        if high > 1e200:
            return low, math.inf
    if low == 0.0:
        while high > 1e-12 and holds(high / 16):
            high /= 16
    while high - low > tolerance * high and high - low > 1e-300:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if holds(middle):
            high = middle
        else:
            low = middle
    return low, high


@dataclass(frozen=True, slots=True)
class _Best:
    curves: tuple[Curve, ...]

    def log_delta(self, eps: float) -> Bounds:
        """Inside every bracket."""
        brackets = [curve.log_delta(eps) for curve in self.curves]
        high = min(high for _, high in brackets)
        return min(max(low for low, _ in brackets), high), high

    def epsilon(self, log_delta: Bounds) -> Bounds:
        """Inside every bracket."""
        brackets = [curve.epsilon(log_delta) for curve in self.curves]
        high = min(high for _, high in brackets)
        return min(max(low for low, _ in brackets), high), high


def best(*curves: Curve) -> Curve:
    """The best of several valid curves of one loss, at each point."""
    return curves[0] if len(curves) == 1 else _Best(curves)


def two_sided(lower: Curve, upper: Curve) -> Curve:
    """A curve whose lower end comes from a release with that loss, and whose upper end from a theorem."""
    return best(FunctionCurve(lambda eps: (lower.log_delta(eps)[0], 0.0)), _UpperOnly(upper))


@dataclass(frozen=True, slots=True)
class _UpperOnly:
    curve: Curve

    def log_delta(self, eps: float) -> Bounds:
        return -math.inf, self.curve.log_delta(eps)[1]

    def epsilon(self, log_delta: Bounds) -> Bounds:
        return 0.0, self.curve.epsilon(log_delta)[1]


@dataclass(frozen=True, slots=True)
class _Either:
    curves: tuple[Curve, ...]

    def log_delta(self, eps: float) -> Bounds:
        brackets = [curve.log_delta(eps) for curve in self.curves]
        return max(low for low, _ in brackets), max(high for _, high in brackets)

    def epsilon(self, log_delta: Bounds) -> Bounds:
        brackets = [curve.epsilon(log_delta) for curve in self.curves]
        return max(low for low, _ in brackets), max(high for _, high in brackets)


def either(*curves: Curve) -> Curve:
    """The worst of several losses of which one is met: the largest δ at each ε, and the largest ε at each δ."""
    return curves[0] if len(curves) == 1 else _Either(curves)


def leaking(curve: Curve, log_kept: Bounds) -> Curve:
    """The mixture of a loss with weight κ and a full leak with weight 1 − κ: δ = 1 − κ(1 − δ_rest)."""
    return curve if log_kept == (0.0, 0.0) else _Leaking(curve, log_kept)


@dataclass(frozen=True, slots=True)
class _Leaking:
    curve: Curve
    log_kept: Bounds

    def log_delta(self, eps: float) -> Bounds:
        low, high = self.curve.log_delta(eps)
        return _mixed(low, self.log_kept[1], -1), min(0.0, _mixed(high, self.log_kept[0], 1))

    def epsilon(self, log_delta: Bounds) -> Bounds:
        """The ε of the rest at (δ − (1 − κ))/κ; infinite where δ is below the probability of the leak."""
        leaked = outward(log1mexp(self.log_kept[1]), -1), outward(log1mexp(self.log_kept[0]), 1)
        low, high = 0.0, math.inf
        if log_delta[1] < leaked[0]:
            return math.inf, math.inf
        at_most = _rest(log_delta[1], leaked[0], self.log_kept[1], 1)
        if log_delta[0] > leaked[1]:
            low, high = self.curve.epsilon((_rest(log_delta[0], leaked[1], self.log_kept[0], -1), at_most))
        elif at_most > -math.inf:
            low = self.curve.epsilon((at_most, at_most))[0]
        return low, high


def _rest(log_delta: float, log_leaked: float, log_kept: float, side: int) -> float:
    """ln((δ − (1 − κ))/κ); the margins of δ and κ are in the brackets they come with, so only arithmetic is added."""
    return min(0.0, outward(log_delta + log1mexp(min(log_leaked - log_delta, 0.0)) - log_kept, side))


def outward(value: float, side: int) -> float:
    """A logarithm moved by what a handful of operations may have lost: up for side 1, down for side −1."""
    return value + side * WIDE * (1 + abs(value)) if math.isfinite(value) else value


def _mixed(log_rest: float, log_kept: float, side: int) -> float:
    """ln(1 − κ(1 − δ)) = ln((1 − κ) + κδ), as a sum of two positive terms, moved outward."""
    leaked, rest = log1mexp(log_kept), log_kept + log_rest
    top = max(leaked, rest)
    if top == -math.inf:
        return top
    value = top + math.log1p(math.exp(min(leaked, rest) - top))
    return value + side * WIDE * (1 + abs(value))


def log1mexp(x: float) -> float:
    """ln(1 − e^x) for x ≤ 0 without cancellation (Mächler 2012).

    >>> log1mexp(-1e-20), log1mexp(0.0)
    (-46.051701859880914, -inf)
    """
    if x >= 0:
        return -math.inf
    return math.log(-math.expm1(x)) if x > -math.log(2) else math.log1p(-math.exp(x))


class SplitBounds:
    """Lower and upper ends of ln δ(ε); ε by two bisections, each on one end, to `tolerance` of itself."""

    def __init__(self, lower: Callable[[float], float], upper: Callable[[float], float], tolerance: float) -> None:
        self._lower = FunctionCurve(lambda eps: (low := lower(eps), low), tolerance)
        self._upper = FunctionCurve(lambda eps: (-math.inf, upper(eps)), tolerance)

    def log_delta(self, eps: float) -> Bounds:
        """A bracket of ln δ at ε."""
        high = self._upper.log_delta(eps)[1]
        return min(self._lower.log_delta(eps)[0], high), high

    def epsilon(self, log_delta: Bounds) -> Bounds:
        """A bracket of ε."""
        high = self._upper.epsilon(log_delta)[1]
        return min(self._lower.epsilon(log_delta)[0], high), high
