"""Events that tell two inputs apart, learned from outputs of both."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit._binomial import at_least, at_most
from discreet.audit._bins import Bins, fitted
from discreet.audit._columns import Columns, Floats, Reader, reader_for
from discreet.audit._features import Feature, features_of
from discreet.audit._scores import Score, fit_score

__all__ = ["Aim", "Event", "learn"]

Aim = Callable[[Floats, Floats], Floats]
"""How much an event shows whose probability is at least p on one input and at most q on the other. Takes arrays."""

_MOST_CELLS = 6_000_000
_TO_LOOK_AT = 2_000
_IN_SCORE = 40
_DOUBTS = (1e-2, 1e-4)
"""What doubt the limits leave that events are ranked by. Much favours what is rare, and little what is sure."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A set of outputs. `on_second`: whether it is likelier on the second input of the pair. `promise`: see `Aim`."""

    text: str
    reader: Reader
    holds: Callable[[Columns], NDArray[np.bool_]]
    on_second: bool
    promise: float


def learn(one: Sequence[Any], other: Sequence[Any], aims: Sequence[Aim]) -> list[Event]:
    """For each aim, one or two events that promise most, among those of single features and of a score of them all."""
    looked_at = [*one[:_TO_LOOK_AT], *other[:_TO_LOOK_AT]]
    reader = reader_for(looked_at)
    features = features_of(reader.read(looked_at))
    most = max(_MOST_CELLS // (2 * max(len(features), 1)), _TO_LOOK_AT)
    pooled = reader.read([*one[:most], *other[:most]])
    is_other = np.arange(pooled.size) >= min(len(one), most)
    computed = _computed(pooled, features)
    wanted = [(aim, doubt) for aim in aims for doubt in _DOUBTS]
    best: list[Event | None] = [None] * len(wanted)

    learning = np.arange(pooled.size) % 2 == 0

    def offer(scored: Feature | Score, bins: Bins, places: NDArray[np.intp]) -> None:
        learned, fresh = (
            np.stack([np.bincount(places[rows & (is_other == side)], minlength=bins.count) for side in (False, True)])
            for rows in (learning, ~learning)
        )
        orders = [_by_likelihood(learned)] if scored.texts is not None else [bins.by_value, _by_likelihood(learned)]
        met = (learned + fresh).any(axis=0)
        for i, (aim, doubt) in enumerate(wanted):
            promise, on_second, found = _best_set(fresh, orders, aim, doubt)
            held, chosen = best[i], found & met
            if held is None or promise > held.promise:
                best[i] = Event(_text(scored, bins, chosen), reader, _holds(scored, bins, chosen), on_second, promise)

    for feature, (bins, places) in zip(features, computed, strict=True):
        offer(feature, bins, places)
    if len(features) > 1:
        score = fit_score(features, computed, is_other, learning, _IN_SCORE)
        values = score.of_places(computed)
        bins = fitted(values)
        offer(score, bins, bins.places(values))
    return list({event.text: event for event in best if event is not None}.values())


def _computed(pooled: Columns, features: Sequence[Feature]) -> list[tuple[Bins, NDArray[np.intp]]]:
    found: list[tuple[Bins, NDArray[np.intp]]] = []
    for feature in features:
        values = feature.compute(pooled)
        bins = fitted(values, codes=feature.texts is not None)
        found.append((bins, bins.places(values)))
    return found


def _text(scored: Feature | Score, bins: Bins, chosen: NDArray[np.bool_]) -> str:
    return f"{scored.name} {bins.text(chosen, scored.texts)}"


def _holds(scored: Feature | Score, bins: Bins, chosen: NDArray[np.bool_]) -> Callable[[Columns], NDArray[np.bool_]]:
    return lambda columns: chosen[bins.places(scored.compute(columns))]


def _by_likelihood(seen: NDArray[np.int64]) -> NDArray[np.intp]:
    """The places in the order of how much likelier they are on the first input; `seen` counts either input's."""
    totals = seen.sum(axis=1)
    ratio = np.log((seen[0] + 0.5) / (totals[0] + 1)) - np.log((seen[1] + 0.5) / (totals[1] + 1))
    return np.argsort(-ratio, kind="stable")


def _best_set(
    seen: NDArray[np.int64], orders: Sequence[NDArray[np.intp]], aim: Aim, doubt: float
) -> tuple[float, bool, NDArray[np.bool_]]:
    """Among the first so many places in an order, and the last so many, those that promise most on either input."""
    totals = seen.sum(axis=1, keepdims=True)
    best, chosen = (-math.inf, False), np.zeros(seen.shape[1], dtype=bool)
    for order in orders:
        first = np.cumsum(seen[:, order], axis=1)
        for hits, of_last in ((first, False), (totals - first, True)):
            low, high = (limit(hits, np.maximum(totals, 1), doubt) for limit in (at_least, at_most))
            for on_second in (False, True):
                found = aim(low[int(on_second)], high[int(not on_second)])
                at = int(np.argmax(found))
                if found[at] > best[0]:
                    best, chosen = (float(found[at]), on_second), np.zeros(seen.shape[1], dtype=bool)
                    chosen[order[at + 1 :] if of_last else order[: at + 1]] = True
    return best[0], best[1], chosen
