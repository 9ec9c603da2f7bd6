"""Upper bounds at many points of a privacy curve from few compositions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import inf, log
from typing import TYPE_CHECKING

from discreet.privacy._pld._bounds import epsilon_bounds, revealed
from discreet.privacy._pld._compose import Composition, WindowTooLargeError, compose
from discreet.privacy._pld._cumulants import tilt_for_delta, tilt_for_epsilon
from discreet.privacy._pld._hockey_stick import delta_of, epsilon_of
from discreet.privacy._pld._merge import merged
from discreet.privacy._pld._plan import Plan, first_step, largest_loss, measures, plans_for
from discreet.privacy._pld._window import aimed_window, full_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy._pld._compose import Shape
    from discreet.privacy._pld._pair import Pair

    Parts = Sequence[tuple[Pair, int]]

ROUGH = 30.0  # the first look at each direction allows that much more
DOUBT = 0.1  # of the allowed error: round-off beyond it is worth extended precision, or another tilt
NEGLIGIBLE = 1e-13  # a delta below which nobody minds round-off when the tilt was for larger ones


class Profile:
    """Upper bounds on epsilon and delta of the composition of `count` copies of each pair; both are valid everywhere.

    A composition is tilted where it is first asked for, and read again wherever its round-off allows. The tolerance
    `gap` is relative to epsilon; it is what the mesh is chosen for, not a promise, as no lower bound is computed.
    """

    def __init__(self, parts: Parts, gap: float = 5e-6) -> None:
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
        rough = [epsilon_of(_aimed(plan, ROUGH * allowed), delta, upper=True) for plan in plans]
        order = sorted(range(len(plans)), key=lambda index: -rough[index])
        found = 0.0
        for index in order:
            if rough[index] > found:
                found = max(found, min(rough[index], self._fine(plans[index], allowed, delta, rough[index])))
        if rough[order[0]] - found > 3 * ROUGH * allowed:  # the mesh did not behave as it should
            found = min(found, epsilon_bounds(self._parts, delta, max(self._gap, 1e-4))[1])
        return min(found, largest_loss(plans, delta))

    @staticmethod
    def _fine(plan: Plan, allowed: float, delta: float, near: float) -> float:
        composition = _aimed(plan, allowed)
        found = epsilon_of(composition, delta, upper=True, near=near)
        if found < inf and delta_of(_exact(composition), found - DOUBT * allowed, upper=True) <= delta:
            found = min(found, epsilon_of(_aimed(plan, allowed, extended=True), delta, upper=True, near=found))
        return found

    def delta(self, epsilon: float) -> float:
        """Return a bound on delta(epsilon)."""
        if not self._parts:
            return 0.0
        for known in self._known:
            found = max(delta_of(each, epsilon, upper=True) for each in known)
            exact = max(delta_of(_exact(each), epsilon, upper=True) for each in known)
            if found - exact <= self._gap * exact + NEGLIGIBLE:
                return found
        plans = plans_for(self._parts, None, lambda c: tilt_for_epsilon(c, epsilon), symmetric=True)
        self._known.append([_composed(plan, min(self._gap * max(epsilon, 1e-6), 1e-4 / plan.tilt)) for plan in plans])
        return max(delta_of(each, epsilon, upper=True) for each in self._known[-1])


def _aimed(plan: Plan, allowed: float, *, extended: bool = False) -> Composition:
    return _composed(plan, allowed, partial(aimed_window, aim=plan.aim), extended=extended)


def _composed(plan: Plan, allowed: float, shape: Shape = full_window, *, extended: bool = False) -> Composition:
    step = first_step(plan, allowed)
    while True:
        try:
            parts = measures(replace(plan, tolerance=allowed), step, upper=True)
            return compose(parts, plan.tilt, upper=True, extended=extended, shape=shape)
        except WindowTooLargeError:
            step *= 4.0


def _exact(composition: Composition) -> Composition:
    return replace(composition, error=0.0, below=0.0, beyond=0.0)
