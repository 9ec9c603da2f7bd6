"""Certified two-sided bounds on epsilon and delta of a composition of pairs."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf, log
from typing import TYPE_CHECKING, Protocol

from discreet.privacy._pld._compose import Composition, WindowTooLargeError, compose
from discreet.privacy._pld._cumulants import tilt_for_delta, tilt_for_epsilon
from discreet.privacy._pld._hockey_stick import delta_of, epsilon_of
from discreet.privacy._pld._plan import Plan, first_step, fitted_step, largest_loss, measures, plans_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.privacy._pld._pair import Pair

    Parts = Sequence[tuple[Pair, int]]

ROUNDS = 6  # meshes tried
TOO_MANY = 2000  # parts, from which on one mesh has to do


class _Value(Protocol):
    """Reads the number wanted off a composition."""

    def __call__(self, composition: Composition, /, *, upper: bool) -> float: ...


def epsilon_bounds(parts: Parts, delta: float, gap: float = 1e-3, *, symmetric: bool = True) -> tuple[float, float]:
    """Return (lower, upper) with lower <= epsilon(delta) <= upper for the composition of `count` copies of each pair.

    `gap` is the relative width asked for; where it takes more than the work limit, the bracket is wider and no less
    valid. `symmetric` takes the larger of the two directions (remove and add). The upper bound is infinite only if
    events of more than delta reveal the record outright. Valid for mechanisms fixed in advance (also when their outputs
    are chosen adaptively from a family that each pair dominates: Zhu, Dong and Wang 2022, Theorem 10).
    """
    plans = plans_for(
        parts, log(max(delta, 1e-290)), lambda c: tilt_for_delta(c, log(max(delta, 1e-290))), symmetric=symmetric
    )
    lower, upper = _bracket(
        plans,
        partial(epsilon_of, delta=delta),
        lambda _, found: gap * max(min(plans[0].guess, found), 1e-6),
        gap,
        largest_loss(plans, delta),
    )
    return min(lower, upper), upper


def delta_bounds(parts: Parts, epsilon: float, gap: float = 1e-3, *, symmetric: bool = True) -> tuple[float, float]:
    """Return (lower, upper) with lower <= delta(epsilon) <= upper; the rest as in `epsilon_bounds`."""
    plans = plans_for(parts, None, lambda c: tilt_for_epsilon(c, epsilon), symmetric=symmetric)
    return _bracket(
        plans,
        partial(delta_of, epsilon=epsilon),
        lambda plan, _: gap / plan.tilt,
        gap,
        1.0,
    )


def curve(parts: Parts, epsilons: Sequence[float], gap: float = 1e-3, *, symmetric: bool = True) -> list[float]:
    """Return upper bounds on delta at each epsilon, from one composition; tightest near the middle one."""
    middle = sorted(epsilons)[len(epsilons) // 2]
    plans = plans_for(parts, None, lambda c: tilt_for_epsilon(c, middle), symmetric=symmetric)
    found = [0.0] * len(epsilons)
    for plan in plans:
        step = first_step(plan, gap / plan.tilt)
        composition = compose(measures(plan, step, upper=True), plan.tilt, upper=True)
        found = [max(old, delta_of(composition, each, upper=True)) for old, each in zip(found, epsilons, strict=True)]
    return found


def _bracket(
    plans: Sequence[Plan],
    value: _Value,
    tolerance: Callable[[Plan, float], float],
    gap: float,
    worst: float,
) -> tuple[float, float]:
    """Refine meshes until upper and lower are within `gap`; every bound found on the way is valid, so keep the best."""
    best = [(0.0, worst)] * len(plans)
    only = len(plans[0].parts) >= TOO_MANY
    steps = [first_step(plan, tolerance(plan, inf) * (0.15 if only else 1.0)) for plan in plans]
    lower = upper = 0.0
    plans = [replace(plan, tolerance=tolerance(plan, inf)) for plan in plans]
    earlier: list[tuple[float, float] | None] = [None] * len(plans)  # mesh and width the round before
    for _ in range(1 if only else ROUNDS):
        for index, plan in enumerate(plans):
            low, high = best[index]
            lower = max(each for each, _ in best)
            if high <= lower * (1 + gap):
                continue  # the other direction decides
            try:
                above = compose(measures(plan, steps[index], upper=True), plan.tilt, upper=True)
                high = min(high, value(above, upper=True))
                below = compose(measures(plan, steps[index], upper=False), plan.tilt, upper=False)
                low = max(low, value(below, upper=False))
            except WindowTooLargeError:
                steps[index] *= 4.0
                continue
            best[index] = (low, high)
        lower, upper = max(low for low, _ in best), max(high for _, high in best)
        if upper <= lower * (1 + gap) or upper == 0.0:
            break
        plans = [replace(plan, tolerance=tolerance(plan, high)) for plan, (_, high) in zip(plans, best, strict=True)]
        finer: list[float] = []
        for index, (plan, step, (low, high)) in enumerate(zip(plans, steps, best, strict=True)):
            width = (high - low) / max(low, 1e-300) if high < inf else 100.0
            finer.append(fitted_step(plan, step * _refinement(step, width, gap, earlier[index])))
            earlier[index] = (step, width)
        if finer == steps:
            break
        steps = finer
    return lower, upper


def _refinement(step: float, width: float, gap: float, earlier: tuple[float, float] | None) -> float:
    """By what factor to refine the mesh, from the order of convergence seen so far (two, until seen otherwise)."""
    order = 2.0
    if earlier is not None and 0 < width < earlier[1] and step < earlier[0]:
        order = min(2.0, max(0.5, log(earlier[1] / width) / log(earlier[0] / step)))
    return min(0.7, max(0.1, (0.7 * gap / max(width, 1e-300)) ** (1 / order)))
