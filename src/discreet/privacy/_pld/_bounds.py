"""Certified two-sided bounds on epsilon and delta of a composition of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, fsum, inf, log, log1p, sqrt
from typing import TYPE_CHECKING

from discreet.privacy._pld._compose import Composition, WindowTooLargeError, compose
from discreet.privacy._pld._cumulants import Cumulants, tilt_for_delta, tilt_for_epsilon
from discreet.privacy._pld._hockey_stick import delta_of, epsilon_of
from discreet.privacy._pld._lower import lower_measure
from discreet.privacy._pld._merge import merged
from discreet.privacy._pld._swapped import Swapped
from discreet.privacy._pld._upper import upper_measure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.privacy._pld._measure import Measure
    from discreet.privacy._pld._pair import Pair

    Parts = Sequence[tuple[Pair, int]]

ROUNDS = 6  # meshes tried
CELLS = 1 << 21  # cells of all pairs together, at most: the work limit
MANY = 50  # parts, from which on closed forms are used
TOO_MANY = 2000  # parts, from which on one mesh has to do
COARSE = 600  # cells of a pair when only the tilt is sought


@dataclass(frozen=True)
class _Plan:
    """One direction: what is composed, where it is tilted, and how far tails must reach."""

    parts: Parts
    tilt: float
    guess: float
    spans: Sequence[tuple[float, float]]
    width: float

    @property
    def count(self) -> int:
        return sum(count for _, count in self.parts)


def epsilon_bounds(parts: Parts, delta: float, gap: float = 1e-3, *, symmetric: bool = True) -> tuple[float, float]:
    """Return (lower, upper) with lower <= epsilon(delta) <= upper for the composition of `count` copies of each pair.

    `gap` is the relative width asked for; where it takes more than the work limit, the bracket is wider and no less
    valid. `symmetric` takes the larger of the two directions (remove and add). The upper bound is infinite only if
    events of more than delta reveal the record outright. Valid for mechanisms fixed in advance (also when their outputs
    are chosen adaptively from a family that each pair dominates: Zhu, Dong and Wang 2022, Theorem 10).
    """
    plans = _plans(
        parts, log(max(delta, 1e-290)), lambda c: tilt_for_delta(c, log(max(delta, 1e-290))), symmetric=symmetric
    )
    lower, upper = _bracket(
        plans,
        lambda composition, upper: epsilon_of(composition, delta, upper=upper),
        lambda _: gap * max(plans[0].guess, 1e-6),
        gap,
        _largest_loss(plans, delta),
    )
    return min(lower, upper), upper


def delta_bounds(parts: Parts, epsilon: float, gap: float = 1e-3, *, symmetric: bool = True) -> tuple[float, float]:
    """Return (lower, upper) with lower <= delta(epsilon) <= upper; the rest as in `epsilon_bounds`."""
    plans = _plans(parts, None, lambda c: tilt_for_epsilon(c, epsilon), symmetric=symmetric)
    return _bracket(
        plans,
        lambda composition, upper: delta_of(composition, epsilon, upper=upper),
        lambda plan: gap / plan.tilt,
        gap,
        1.0,
    )


def curve(parts: Parts, epsilons: Sequence[float], gap: float = 1e-3, *, symmetric: bool = True) -> list[float]:
    """Return upper bounds on delta at each epsilon, from one composition; tightest near the middle one."""
    middle = sorted(epsilons)[len(epsilons) // 2]
    plans = _plans(parts, None, lambda c: tilt_for_epsilon(c, middle), symmetric=symmetric)
    found = [0.0] * len(epsilons)
    for plan in plans:
        step = _step(plan, gap / plan.tilt)
        composition = compose(_measures(plan, step, upper=True), plan.tilt, upper=True)
        found = [max(old, delta_of(composition, each, upper=True)) for old, each in zip(found, epsilons, strict=True)]
    return found


def _plans(
    parts: Parts, log_delta: float | None, tilt_of: Callable[[Cumulants], float], *, symmetric: bool
) -> list[_Plan]:
    """One plan per direction that matters."""
    ours = [(pair, count) for pair, count in merged(parts) if count > 0]
    directions = [ours]
    if symmetric and not all(pair.symmetric for pair, _ in ours):
        directions.append([(Swapped(pair), count) for pair, count in ours])
    plans: list[_Plan] = []
    for each in directions:
        count = sum(n for _, n in each)
        log_tail = max(-640.0, (-60.0 if log_delta is None else log_delta) - log(max(count, 1)) - 14.0)
        for _ in range(3):
            cumulants = Cumulants.rough(each, log_tail, max(12, min(COARSE, 100_000 // len(each))))
            tilt = tilt_of(cumulants)
            k, mean, variance = cumulants.moments(tilt)
            reached = k - tilt * mean - log1p(tilt)
            if log_delta is not None or reached - log(count) - 14.0 > log_tail:
                break
            log_tail = max(-640.0, reached - log(count) - 24.0)
        guess = (k - log1p(tilt) - log_delta) / tilt if log_delta is not None else mean
        plans.append(
            _Plan(each, tilt, max(guess, 0.0), _spans(each, log_tail, tilt, cumulants), sqrt(max(variance, 0.0)))
        )
    return sorted(plans, key=lambda plan: -plan.guess)


def _largest_loss(plans: Sequence[_Plan], delta: float) -> float:
    """No epsilon is larger than the largest finite loss, unless infinite losses have more than delta."""
    found = 0.0
    for plan in plans:
        if not all(pair.bounded for pair, _ in plan.parts):
            return inf
        if fsum(count * pair.infinity[1] for pair, count in plan.parts) > delta * (1 - 1e-12):
            return inf
        found = max(
            found, fsum(count * max(high, 0.0) for (_, count), (_, high) in zip(plan.parts, plan.spans, strict=True))
        )
    return found * (1 + 1e-12) + 1e-300


def _spans(parts: Parts, log_tail: float, tilt: float, cumulants: Cumulants) -> list[tuple[float, float]]:
    """The losses that matter of each pair.

    Raising losses below x to x adds at most e^{tilt x} to the sum of mass e^{tilt loss} = e^K: no more than e^-16 of
    delta, over all copies, if x = (K - 16 - ln count) / tilt.
    """
    count = log(sum(n for _, n in parts))
    found: list[tuple[float, float]] = []
    for (pair, _), k in zip(parts, cumulants.each(tilt).tolist(), strict=True):
        low, high = pair.span(log_tail)
        found.append((min(max(low, (k - 16.0 - count) / tilt), high), high))
    return found


def _step(plan: _Plan, tolerance: float) -> float:
    """The mesh at which connecting the dots costs about `tolerance`: each step adds (1 + tilt) h^2 / 12."""
    wanted = sqrt(12 * tolerance / (plan.count * (1 + plan.tilt)))
    return _fitted(plan, wanted)


def _fitted(plan: _Plan, wanted: float) -> float:
    """A mesh of about `wanted` that divides the lattice of the most used pair that has one, within the work limit."""
    total = sum(high - low for low, high in plan.spans)
    wanted = max(wanted, total / CELLS, 16 * plan.width / CELLS, 1e-13)
    lattices = [(count, pair.lattice) for pair, count in plan.parts]
    known = [(count, lattice) for count, lattice in lattices if lattice is not None and lattice.spacing > 1e-12]
    if not known:
        return wanted
    _, lattice = max(known, key=lambda each: each[0])
    if len(plan.parts) == 1 and lattice.only_atoms:
        return lattice.spacing
    return lattice.spacing / ceil(lattice.spacing / wanted)


def _measures(plan: _Plan, step: float, *, upper: bool) -> list[tuple[Measure, int]]:
    found: list[tuple[Measure, int]] = []
    for (pair, count), (low, high) in zip(plan.parts, plan.spans, strict=True):
        closed = pair.measures(step) if len(plan.parts) > MANY else None
        if closed is not None:
            measure = closed[upper]
        elif upper:
            measure = upper_measure(pair, step, low, high)
        else:
            measure = lower_measure(pair, step, low, high, plan.tilt)
        found.append((measure, count))
    return found


def _bracket(
    plans: Sequence[_Plan],
    value: Callable[[Composition, bool], float],
    tolerance: Callable[[_Plan], float],
    gap: float,
    worst: float,
) -> tuple[float, float]:
    """Refine meshes until upper and lower are within `gap`; every bound found on the way is valid, so keep the best."""
    best = [(0.0, worst)] * len(plans)
    only = len(plans[0].parts) >= TOO_MANY
    steps = [_step(plan, tolerance(plan) * (0.15 if only else 1.0)) for plan in plans]
    lower = upper = 0.0
    earlier: list[tuple[float, float] | None] = [None] * len(plans)  # mesh and width the round before
    for _ in range(1 if only else ROUNDS):
        for index, plan in enumerate(plans):
            low, high = best[index]
            lower = max(each for each, _ in best)
            if high <= lower * (1 + gap):
                continue  # the other direction decides
            try:
                high = min(high, value(compose(_measures(plan, steps[index], upper=True), plan.tilt, upper=True), True))
                low = max(
                    low, value(compose(_measures(plan, steps[index], upper=False), plan.tilt, upper=False), False)
                )
            except WindowTooLargeError:
                steps[index] *= 4.0
                continue
            best[index] = (low, high)
        lower, upper = max(low for low, _ in best), max(high for _, high in best)
        if upper <= lower * (1 + gap) or upper == 0.0:
            break
        finer: list[float] = []
        for index, (plan, step, (low, high)) in enumerate(zip(plans, steps, best, strict=True)):
            width = (high - low) / max(low, 1e-300) if high < inf else 100.0
            finer.append(_fitted(plan, step * _refinement(step, width, gap, earlier[index])))
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
