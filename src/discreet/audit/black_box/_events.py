"""Events that distinguish two inputs, learned from outputs on both."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.black_box._claim import at_least, at_most
from discreet.audit.black_box._columns import Columns, Floats, Reader, reader_for
from discreet.audit.black_box._features import Bins, Feature, Score, features_of, fit_score, fitted

__all__ = ["Aim", "Event", "learn"]

Aim = Callable[[Floats, Floats], Floats]
"""How much an event shows whose probability is at least p on one input and at most q on the other. Takes arrays."""

_MOST_CELLS = 6_000_000
_TO_LOOK_AT = 2_000
_IN_SCORE = 40
_DOUBTS = (1e-2, 1e-4)
"""Error probabilities of the bounds that rank events. A large one favours rare events, a small one certain ones."""


_SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 0.99, 0.997, 0.999)
"""The share of the outputs in each of an event's other sets, averaged over the two inputs."""


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """A set of outputs: those of a rank below `cut`.

    on_second: whether it is likelier on the second input of the pair. promise: see `Aim`. others: cuts that make
    smaller and larger sets of the same kind, as points of the trade-off curve.
    """

    text: str
    reader: Reader
    rank: Callable[[Columns], NDArray[np.intp]]
    cut: int
    others: tuple[int, ...]
    on_second: bool
    promise: float

    def hits(self, outputs: Columns) -> NDArray[np.int64]:
        """How many outputs are in the set, and in each of the other ones."""
        below = np.cumsum(np.bincount(self.rank(outputs)))
        return np.array([below[min(cut, len(below)) - 1] for cut in (self.cut, *self.others)], dtype=np.int64)


def learn(one: Sequence[Any], other: Sequence[Any], aims: Sequence[Aim]) -> list[Event]:
    """For each aim, the one or two most promising events, of single features and of a score of all features."""
    looked_at = [*one[:_TO_LOOK_AT], *other[:_TO_LOOK_AT]]
    reader = reader_for(looked_at)
    features = features_of(reader.read(looked_at), np.arange(len(looked_at)) >= len(one[:_TO_LOOK_AT]))
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
        orders = [_by_likelihood(learned)] if isinstance(scored, Feature) else []
        if scored.texts is None:
            orders.append(bins.by_value)
        for i, (aim, doubt) in enumerate(wanted):
            candidate = _best_set(fresh, orders, aim, doubt)
            held = best[i]
            if held is None or candidate.promise > held.promise:
                best[i] = _event(scored, bins, reader, candidate, learned + fresh)

    for feature, (bins, places) in zip(features, computed, strict=True):
        offer(feature, bins, places)
    if len(features) > 1:
        score = fit_score(features, computed, is_other, learning, _IN_SCORE)
        values = score.of_places(computed)
        bins = fitted(values)
        offer(score, bins, bins.places(values))
    return list({event.text: event for event in best if event is not None}.values())


def _computed(pooled: Columns, features: Sequence[Feature]) -> list[tuple[Bins, NDArray[np.intp]]]:
    binned: list[tuple[Bins, NDArray[np.intp]]] = []
    for feature in features:
        values = feature.compute(pooled)
        bins = fitted(values, codes=feature.texts is not None)
        binned.append((bins, bins.places(values)))
    return binned


@dataclass(frozen=True, slots=True, eq=False)
class _Best:
    """The first `cut` places of an order, likelier on the second input or on the first, and what they promise."""

    promise: float
    on_second: bool
    order: NDArray[np.intp]
    cut: int


def _event(scored: Feature | Score, bins: Bins, reader: Reader, best: _Best, seen: NDArray[np.int64]) -> Event:
    """The event of the best set. The place of non-numbers is left out of it if no output was one."""
    met = (best.order != bins.count - 1) | np.asarray(seen.any(axis=0))[best.order]
    order = np.concatenate([best.order[met], best.order[~met]])
    cut = max(1, int(met[: best.cut].sum()))
    ranks = np.empty(bins.count, dtype=np.intp)
    ranks[order] = np.arange(bins.count)
    chosen = np.zeros(bins.count, dtype=bool)
    chosen[order[:cut]] = True
    shares = np.cumsum((seen / np.maximum(seen.sum(axis=1, keepdims=True), 1)).sum(axis=0)[order]) / 2
    others = {int(each) + 1 for each in np.searchsorted(shares, _SHARES)} - {cut}
    return Event(
        text=f"{scored.name} {bins.text(chosen, scored.texts)}",
        reader=reader,
        rank=lambda columns: ranks[bins.places(scored.compute(columns))],
        cut=cut,
        others=tuple(sorted(each for each in others if each < int(met.sum()))),
        on_second=best.on_second,
        promise=best.promise,
    )


def _by_likelihood(seen: NDArray[np.int64]) -> NDArray[np.intp]:
    """The places by how much likelier they are on the first input; `seen` has the counts on both inputs."""
    totals = seen.sum(axis=1)
    ratio = np.log((seen[0] + 0.5) / (totals[0] + 1)) - np.log((seen[1] + 0.5) / (totals[1] + 1))
    return np.argsort(-ratio, kind="stable")


def _best_set(seen: NDArray[np.int64], orders: Sequence[NDArray[np.intp]], aim: Aim, doubt: float) -> _Best:
    """Among the first so many places in an order, and the last so many, those that promise most on either input."""
    totals = np.maximum(seen.sum(axis=1, keepdims=True), 1)
    best = _Best(-math.inf, on_second=False, order=orders[0], cut=1)
    for order in (each[::step] for each in orders for step in (1, -1)):
        hits = np.cumsum(seen[:, order], axis=1)
        low, high = (limit(hits, totals, doubt) for limit in (at_least, at_most))
        for on_second in (False, True):
            shown = aim(low[int(on_second)], high[int(not on_second)])
            at = int(np.argmax(shown))
            if shown[at] > best.promise:
                best = _Best(float(shown[at]), on_second, order, at + 1)
    return best
