"""Upper bounds at many points of a privacy curve from few compositions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf, log
from typing import TYPE_CHECKING

from discreet.privacy.pld._bounds import epsilon_bounds, revealed
from discreet.privacy.pld._compose import Composition, WindowTooLargeError, compose
from discreet.privacy.pld._hockey_stick import delta_of, doubt_at, epsilon_of
from discreet.privacy.pld._plan import Plan, first_step, largest_loss, measures, merged, plans_for
from discreet.privacy.pld._tilting import aimed_window, full_window, tilt_for_delta, tilt_for_epsilon

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy.pld._compose import Shape
    from discreet.privacy.pld._pairs import Pair

    Parts = Sequence[tuple[Pair, int]]

ROUGH = 30.0  # the first look at each direction allows that much more
DOUBT = 0.1  # of the allowed error: round-off beyond it is worth extended precision, or another tilt
SLACK = 5.0  # of what is allowed: where one mesh was misjudged by more, a finer one is tried


class Profile:
    """Upper bounds on epsilon and delta of the composition of `count` copies of each pair; both are valid everywhere.

    A composition is tilted where it is first asked for, and read again wherever its round-off allows. The tolerance
    `gap` is relative to epsilon and to delta; it is what the mesh is chosen for, not a promise, for no lower bound is
    computed.
    """

    def __init__(self, parts: Parts, gap: float = 3e-6) -> None:
        self._parts = merged(parts)
        self._gap = gap
        self._known: list[list[Composition]] = []

    def epsilon(self, delta: float) -> float:
        """Return an epsilon with delta(epsilon) <= delta; infinite if events of more than delta reveal outright."""
        if not self._parts:
            return 0.0
        if revealed(self._parts) > delta:
            return inf
        log_delta = log(max(delta, 1e-290))
        plans = plans_for(self._parts, log_delta, lambda c: tilt_for_delta(c, log_delta), symmetric=True)
        allowed = self._gap * max(plans[0].guess, 1e-6)
        rough = [_read(plan, ROUGH * allowed, delta)[1] for plan in plans]
        order = sorted(range(len(plans)), key=lambda index: -rough[index])
        largest = 0.0
        for index in order:
            if rough[index] > largest:
                largest = max(largest, min(rough[index], _fine(plans[index], allowed, delta, rough[index])))
        if largest == inf:
            largest = min(largest, epsilon_bounds(self._parts, delta, max(self._gap, 1e-4))[1])
        return largest

    def delta(self, epsilon: float) -> float:
        """Return a bound on delta(epsilon)."""
        if not self._parts:
            return 0.0
        for known in self._known:
            if all(doubt_at(each, epsilon) < DOUBT * self._gap for each in known):
                return max(delta_of(each, epsilon, upper=True) for each in known)
        plans = plans_for(self._parts, None, lambda c: tilt_for_epsilon(c, epsilon), symmetric=True)
        self._known.append([self._near(plan, epsilon) for plan in plans])
        return max(delta_of(each, epsilon, upper=True) for each in self._known[-1])

    def _near(self, plan: Plan, epsilon: float) -> Composition:
        """Compose on a mesh that a coarser one shows to be fine enough, as far as the work limit goes."""
        allowed = 10 * self._gap / plan.tilt
        coarse = delta_of(_composed(plan, 9 * allowed), epsilon, upper=True)
        composition = _composed(plan, allowed)
        for _ in range(2):
            bound = delta_of(composition, epsilon, upper=True)
            excess = (coarse - bound) / 8  # the mesh is three times finer, and its error about nine times smaller
            if excess <= 10 * SLACK * self._gap * bound:
                break
            allowed *= max(1e-3, 10 * self._gap * bound / excess)
            coarse, composition = bound, _composed(plan, allowed)
        return composition


def _fine(plan: Plan, allowed: float, delta: float, near: float) -> float:
    composition, epsilon = _read(plan, allowed, delta, near)
    excess = (near - epsilon) / (ROUGH - 1)  # the mesh does that, if its error falls like its square
    if SLACK * allowed < excess < inf:
        allowed *= max(1e-2, allowed / excess)
        composition, epsilon = _read(plan, allowed, delta, epsilon)
    if epsilon < inf and doubt_at(composition, epsilon) > DOUBT * allowed * plan.tilt:
        epsilon = min(epsilon, _read(plan, allowed, delta, epsilon, extended=True)[1])
    return epsilon


def _read(
    plan: Plan, allowed: float, delta: float, near: float | None = None, *, extended: bool = False
) -> tuple[Composition, float]:
    """Compose about where epsilon is expected, or all of it if it turns out to be elsewhere, and read it."""
    composition = _composed(plan, allowed, partial(aimed_window, aim=plan.aim), extended=extended)
    epsilon = epsilon_of(composition, delta, upper=True, near=near)
    if composition.misses(epsilon):
        composition = _composed(plan, allowed, extended=extended)
        epsilon = epsilon_of(composition, delta, upper=True)
    return composition, min(epsilon, largest_loss([plan], delta))


def _composed(plan: Plan, allowed: float, shape: Shape = full_window, *, extended: bool = False) -> Composition:
    step = first_step(plan, allowed)
    while True:
        try:
            parts = measures(replace(plan, tolerance=allowed), step, upper=True)
            return compose(parts, plan.tilt, upper=True, extended=extended, shape=shape)
        except WindowTooLargeError:
            step *= 4.0
