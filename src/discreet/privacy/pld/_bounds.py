"""Certified two-sided bounds on epsilon and delta of a composition of pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import expm1, fsum, inf, log, log1p
from typing import TYPE_CHECKING, Protocol

from discreet.privacy.pld._compose import Composition, WindowTooLargeError, compose
from discreet.privacy.pld._hockey_stick import delta_of, epsilon_of
from discreet.privacy.pld._plan import Plan, first_step, fitted_step, largest_loss, measures, merged, plans_for
from discreet.privacy.pld._tilting import aimed_window, tilt_for_delta, tilt_for_epsilon

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.privacy.pld._pairs import Pair

    Parts = Sequence[tuple[Pair, int]]

ROUNDS = 8  # meshes tried
TOO_MANY = 2000  # parts, from which on one mesh has to do


class _Wanted(Protocol):
    """What is read off a composition."""

    def read(self, composition: Composition, /, *, upper: bool) -> float:
        """A bound."""
        ...

    def misses(self, composition: Composition, bound: float, /) -> bool:
        """Whether the window was aimed too high for it."""
        ...


@dataclass(frozen=True)
class _Epsilon:
    delta: float

    def read(self, composition: Composition, /, *, upper: bool) -> float:
        return epsilon_of(composition, self.delta, upper=upper)

    def misses(self, composition: Composition, bound: float, /) -> bool:
        return composition.misses(bound)


@dataclass(frozen=True)
class _Delta:
    epsilon: float

    def read(self, composition: Composition, /, *, upper: bool) -> float:
        return delta_of(composition, self.epsilon, upper=upper)

    def misses(self, composition: Composition, bound: float, /) -> bool:  # noqa: ARG002
        return composition.misses(self.epsilon)


def epsilon_bounds(parts: Parts, delta: float, gap: float = 1e-3, *, symmetric: bool = True) -> tuple[float, float]:
    """Return (lower, upper) with lower <= epsilon(delta) <= upper for the composition of `count` copies of each pair.

    `gap` is the relative width asked for; where it takes more than the work limit, the bracket is wider and no less
    valid. `symmetric` takes the larger of the two directions (remove and add). The upper bound is infinite only if
    events of more than delta reveal the record outright. Valid for mechanisms fixed in advance (also when their outputs
    are chosen adaptively from a family that each pair dominates: Zhu, Dong and Wang 2022, Theorem 10).
    """
    if not merged(parts):
        return 0.0, 0.0
    if revealed(parts) > delta:
        return inf, inf
    plans = plans_for(
        parts, log(max(delta, 1e-290)), lambda c: tilt_for_delta(c, log(max(delta, 1e-290))), symmetric=symmetric
    )
    lower, upper = _bracket(
        plans,
        _Epsilon(delta),
        lambda _, high: gap * max(min(plans[0].guess, high), 1e-6),
        gap,
        largest_loss(plans, delta),
    )
    return min(lower, upper), upper


def revealed(parts: Parts) -> float:
    """At most the probability that some output reveals the record outright."""
    return -expm1(fsum(n * log1p(-min(pair.infinity[0], 1 - 1e-16)) for pair, n in parts)) * (1 - 1e-12)


def delta_bounds(parts: Parts, epsilon: float, gap: float = 1e-3, *, symmetric: bool = True) -> tuple[float, float]:
    """Return (lower, upper) with lower <= delta(epsilon) <= upper; the rest as in `epsilon_bounds`."""
    if not merged(parts):
        return 0.0, 0.0
    plans = plans_for(parts, None, lambda c: tilt_for_epsilon(c, epsilon), symmetric=symmetric)
    return _bracket(
        plans,
        _Delta(epsilon),
        lambda plan, _: gap / plan.tilt,
        gap,
        1.0,
    )


@dataclass(frozen=True)
class _Attempt:
    """A plan, the mesh it is tried on next, in which precision, and what is known so far."""

    plan: Plan
    step: float
    low: float
    high: float
    extended: bool = False
    doubted: bool = False  # round-off decided the last width, and can still be lessened
    earlier: tuple[float, float] | None = None  # mesh and relative width the time before


def _bracket(
    plans: Sequence[Plan],
    wanted: _Wanted,
    tolerance: Callable[[Plan, float], float],
    gap: float,
    worst: float,
) -> tuple[float, float]:
    """Refine meshes until upper and lower are within `gap`; every bound found on the way is valid, so keep the best."""
    only = len(plans[0].parts) >= TOO_MANY
    tries: list[_Attempt] = []
    for plan in plans:
        allowed = tolerance(plan, inf)
        step = first_step(plan, allowed * (0.15 if only else 1.0))
        tries.append(_Attempt(replace(plan, tolerance=allowed), step, 0.0, worst))
    for _ in range(1 if only else ROUNDS):
        for index, each in enumerate(tries):
            if each.high > max(other.low for other in tries) * (1 + gap):  # else the other direction decides
                tries[index] = _tried(each, wanted, gap)
        lower, upper = max(each.low for each in tries), max(each.high for each in tries)
        if upper <= lower * (1 + gap) or upper == 0.0:
            break
        following = [_refined(each, tolerance(each.plan, each.high), gap) for each in tries]
        if not any(each.doubted for each in tries) and [a.step for a in following] == [a.step for a in tries]:
            break
        tries = following
    return max(each.low for each in tries), max(each.high for each in tries)


def _tried(each: _Attempt, wanted: _Wanted, gap: float) -> _Attempt:
    """Both bounds on the current mesh; the next one in extended precision where round-off was what mattered."""
    plan, step, improved, rounded = each.plan, each.step, each, False
    try:
        for upper in (True, False):
            parts = measures(plan, step, upper=upper)
            shape = partial(aimed_window, aim=plan.aim)
            composition = compose(parts, plan.tilt, upper=upper, extended=each.extended, shape=shape)
            bound = wanted.read(composition, upper=upper)
            if wanted.misses(composition, bound):
                composition = compose(parts, plan.tilt, upper=upper, extended=each.extended)
                bound = wanted.read(composition, upper=upper)
            exact = wanted.read(replace(composition, error=0.0), upper=upper)
            rounded = rounded or not abs(bound - exact) <= 0.1 * gap * max(abs(exact), 1e-300)
            if upper:
                improved = replace(improved, high=min(improved.high, bound))
            else:
                improved = replace(improved, low=max(improved.low, bound))
    except WindowTooLargeError:
        return replace(improved, step=4.0 * step, earlier=None, doubted=True)
    return replace(improved, extended=each.extended or rounded, doubted=rounded and not each.extended)


def _width(each: _Attempt) -> float:
    return (each.high - each.low) / max(each.low, 1e-300) if each.high < inf else 100.0


def _refined(each: _Attempt, allowed: float, gap: float) -> _Attempt:
    """The next mesh, from the order of convergence seen so far (two, until seen otherwise)."""
    width, order = _width(each), 2.0
    if each.earlier is not None and 0 < width < each.earlier[1] and each.step < each.earlier[0]:
        order = min(2.0, max(0.5, log(each.earlier[1] / width) / log(each.earlier[0] / each.step)))
    ratio = min(0.7, max(0.1, (0.7 * gap / max(width, 1e-300)) ** (1 / order)))
    plan = replace(each.plan, tolerance=allowed)
    if each.doubted:
        return replace(each, plan=plan, doubted=False)
    return replace(each, plan=plan, step=fitted_step(plan, each.step * ratio), earlier=(each.step, width))
