"""Learn an event that distinguishes two inputs on one half of the outputs, and test it on the other half.

A property gives each output a cell, such as its last binary digit. A quarter of the outputs orders the cells by how
much likelier each is on one input; the next quarter chooses the property, and how many of its first cells make the
event; the other half, which none of that has seen, tests that one event. Source: Lokna, Paradis, Dimitrov and Vechev
2023, "Group and attack: auditing differential privacy", section 4, for events that are sets of groups of outputs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.black_box._claim import Claim, at_least, at_most, epsilon_shown
from discreet.audit.probes._finding import Finding, unmeasured

__all__ = ["ALARM", "Cells", "Distinguisher", "distinguish", "flagged"]

ALARM = 1e-10
"""The false alarm of one finding."""

_LEAST = 40
"""Outputs on each input below which nothing is tested."""

_WORTH = 2.0
"""The epsilon that deserves a look where there is no claim."""

Cells = tuple[Sequence[Hashable], Sequence[Hashable]]
"""A cell for each output on the first input, and for each on the second."""


@dataclass(frozen=True, slots=True)
class Distinguisher:
    """One event that was tested.

    epsilon: no ε below it holds, at the δ of the claim. refuted: whether the claim does not allow it.
    likelier, rarer: the least probability of the event on the input where it is likelier, the greatest on the other.
    """

    property_name: str
    cells: tuple[Hashable, ...]
    on_second: bool
    hits: tuple[int, int]
    size: int
    likelier: float
    rarer: float
    epsilon: float
    refuted: bool

    @property
    def event(self) -> str:
        """The event in words."""
        shown = ", ".join(str(each)[:24] for each in self.cells[:4]) + (", …" if len(self.cells) > 4 else "")
        here, there = (f"{hits:,} of {self.size:,}" for hits in self.hits)
        return f"{self.property_name} in {{{shown}}} for {here} outputs on the first input and {there} on the second"

    @property
    def numbers(self) -> dict[str, Any]:
        """The counts and bounds of the event, by name."""
        return {
            "property": self.property_name,
            "cells": [str(each) for each in self.cells[:20]],
            "hits": list(self.hits),
            "of": self.size,
            "likelier": self.likelier,
            "rarer": self.rarer,
            "epsilon_lower": self.epsilon,
        }


def distinguish(properties: Mapping[str, Cells], claim: Claim | None, alarm: float = ALARM) -> Distinguisher | None:
    """The set of cells of one property that distinguishes the inputs best, tested; None with too few outputs.

    `epsilon` is above the truth, or a claim that holds is refuted, with probability at most `alarm`.
    """
    delta = claim.delta if claim else 0.0
    best: tuple[float, str, bool, tuple[Hashable, ...]] | None = None
    for name, cells in properties.items():
        if min(map(len, cells)) < _LEAST:
            continue
        for on_second, event, shown in _learned(cells, delta, alarm):
            if best is None or shown > best[0]:
                best = shown, name, on_second, event
    if best is None:
        sizes = [min(map(len, cells)) for cells in properties.values()]
        enough = max(sizes, default=0)
        return None if enough < _LEAST else _nothing(enough // 2)
    _, name, on_second, event = best
    return _tested(name, properties[name], event, claim, alarm, on_second=on_second)


def _learned(cells: Cells, delta: float, alarm: float) -> list[tuple[bool, tuple[Hashable, ...], float]]:
    """For each of the two inputs, the event that is likelier there, and what it showed on the second quarter."""
    quarter = min(map(len, cells)) // 4
    index: dict[Hashable, int] = {}
    worlds = [
        np.array([index.setdefault(each, len(index)) for each in world[: 2 * quarter]], dtype=np.int64)
        for world in cells
    ]
    ordering = [np.bincount(world[:quarter], minlength=len(index)) for world in worlds]
    choosing = [np.bincount(world[quarter:], minlength=len(index)) for world in worlds]
    names = list(index)
    events: list[tuple[bool, tuple[Hashable, ...], float]] = []
    for on_second in (False, True):
        here, there = (1, 0) if on_second else (0, 1)
        score = np.log(ordering[here] + 0.5) - np.log(ordering[there] + 0.5)
        order = np.argsort(-score, kind="stable")
        order = order[score[order] > 0]
        if not order.size:
            continue
        sizes = _few(order.size)
        hits = [np.cumsum(choosing[world][order])[sizes - 1] for world in (here, there)]
        shown = epsilon_shown(at_least(hits[0], quarter, alarm / 2), at_most(hits[1], quarter, alarm / 2), delta)
        # Where nothing is shown yet, the whole half may still show it: the likeliest events go first.
        value = shown + 1e-6 * (hits[0] - hits[1]) / quarter
        top = int(np.argmax(value))
        events.append((on_second, tuple(names[i] for i in order[: sizes[top]]), float(value[top])))
    return events


def _few(most: int) -> NDArray[np.int64]:
    """At most some hundred numbers from 1 to `most`."""
    return np.unique(np.concatenate([np.arange(1, min(most, 64) + 1), np.geomspace(1, most, 64).astype(np.int64)]))


def _nothing(size: int) -> Distinguisher:
    """No cell is likelier on either input."""
    return Distinguisher(
        "nothing", (), on_second=False, hits=(0, 0), size=size, likelier=0.0, rarer=1.0, epsilon=0.0, refuted=False
    )


def _tested(  # noqa: PLR0913 (an event, and what it is held against)
    name: str, cells: Cells, event: tuple[Hashable, ...], claim: Claim | None, alarm: float, *, on_second: bool
) -> Distinguisher:
    quarter = min(map(len, cells)) // 4
    chosen = frozenset(event)
    tested = [world[2 * quarter : 4 * quarter] for world in cells]
    first, second = (sum(each in chosen for each in world) for world in tested)
    size = 2 * quarter
    here, there = (second, first) if on_second else (first, second)
    p, q = float(at_least(here, size, alarm / 2)), float(at_most(there, size, alarm / 2))
    epsilon = float(epsilon_shown(p, q, claim.delta if claim else 0.0))
    refuted = claim is not None and claim.refuted_by(p, q)
    return Distinguisher(name, event, on_second, (first, second), size, p, q, epsilon, refuted)


def flagged(name: str, distinguisher: Distinguisher | None, claim: Claim | None, *, leak: str, fine: str) -> Finding:
    """A finding about one tested event. `leak` says what to do next, `fine` what was not seen.

    Without a claim nothing is violated, and a large bound is a warning.
    """
    if distinguisher is None:
        return unmeasured(name, f"there are fewer than {_LEAST} outputs to compare.")
    at = f" at delta {claim.delta:g}" if claim and claim.delta else ""
    shown = f"this alone proves an epsilon of at least {distinguisher.epsilon:.2f}{at}"
    if distinguisher.refuted and claim:
        sentence = f"{distinguisher.event}; {shown}, and the claim allows {claim.epsilon:.4g}. {leak}"
        return Finding(name, violated=True, sentence=sentence, false_alarm=ALARM, numbers=distinguisher.numbers)
    if claim is None and distinguisher.epsilon >= _WORTH:
        sentence = f"{distinguisher.event}; {shown}. Hold it against a claim to see whether that is too much. {leak}"
        return Finding(
            name, violated=False, sentence=sentence, false_alarm=0.0, numbers=distinguisher.numbers, warning=True
        )
    return Finding(name, violated=False, sentence=fine, false_alarm=ALARM, numbers=distinguisher.numbers)
