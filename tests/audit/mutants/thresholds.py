"""Mistakes in δ: thresholds that are one off, and a δ that is not shared among the keys of a person."""

from __future__ import annotations

import math

import numpy as np

from discreet.audit import batched
from discreet.mechanisms import PartitionSelection, ThresholdedCounts, TruncatedLaplace
from discreet.mechanisms.additive import _truncated_laplace as truncated
from discreet.mechanisms.thresholds import _partition_selection as partition_selection
from discreet.mechanisms.thresholds import _thresholded_counts as thresholded
from discreet.privacy import approx
from mutants._mutant import Mutant, patched

__all__ = ["MUTANTS"]

_KEYS = 8
_thresholds, _least, _outside = partition_selection._thresholds, thresholded.least, truncated._outside


def _rows(mechanism) -> object:
    """Eight keys of one unit, or none of them: the selections of many releases at once."""
    return batched(lambda counts, size: mechanism.release(np.tile(counts, (size, 1))).astype(np.int64))


def _one_lower(epsilon, delta) -> tuple:
    """Each key of n units is kept as one of n + 1 would be."""
    high, low = _thresholds(epsilon, delta)
    return np.append(high[:1], high[2:]), np.append(low[:1], low[2:])


def _words(spend) -> dict:
    """The words that a selection tells apart."""
    import door

    chosen = PartitionSelection.calibrate(spend)
    return door.between([each for part in _thresholds(chosen.key_epsilon, chosen.key_delta) for each in part])


def _counts(mechanism) -> object:
    return batched(lambda value, size: mechanism.release([value] * size))


def _one_key(mechanism):
    return lambda units: bool(mechanism.release([units])[0])


def _for_one_key(cls, noise, keys: int, delta) -> ThresholdedCounts:
    return cls(noise, _least(lambda threshold: thresholded._shown_up(noise, threshold) <= delta), keys)


def _one_end_less(search) -> int:
    return _least(search) - 1


MUTANTS = (
    Mutant(
        "delta not shared among keys",
        "Each of the eight keys of a person is kept with the whole δ, so that one of them is with eight times that.",
        patched((partition_selection, "_key_delta", lambda delta, keys: delta)),
        lambda: _rows(PartitionSelection.calibrate(approx(1, "0.01"), keys=_KEYS)),
        ([1] * _KEYS, [0] * _KEYS),
        approx(1, "0.01"),
        math.inf,
        samples=20_000,
    ),
    Mutant(
        "threshold not shared among keys",
        "The threshold keeps one key of one unit back but for δ, and a person has eight of them.",
        patched((ThresholdedCounts, "least", classmethod(_for_one_key))),
        lambda: ThresholdedCounts.calibrate(approx(1, "0.02"), keys=_KEYS).release,
        ([1] * _KEYS, [0] * _KEYS),
        approx(1, "0.02"),
        math.inf,
        samples=20_000,
        slow=True,
    ),
    Mutant(
        "selection one unit early",
        "Keys are kept as if one more unit had them: a key of one unit with probability (1 + e^ε) δ.",
        patched((partition_selection, "_thresholds", _one_lower)),
        lambda: _one_key(PartitionSelection.calibrate(approx(1, "1e-9"))),
        (1, 0),
        approx(1, "1e-9"),
        math.inf,
        seen_by="exact",
        options=lambda: {"words": _words(approx(1, "1e-9"))},
    ),
    Mutant(
        "threshold one lower",
        "Shown if above the threshold minus one: > and ≥ exchanged, at a δ of 1e-9.",
        patched((thresholded, "least", _one_end_less)),
        lambda: ThresholdedCounts.calibrate(approx(1, "1e-9")).release,
        ([1], [0]),
        approx(1, "1e-9"),
        math.inf,
        seen_by="exact",
    ),
    Mutant(
        "truncated one step short",
        "The bound is one less than the least at which the end has a mass of δ = 1e-9.",
        patched((truncated, "least", _one_end_less)),
        lambda: TruncatedLaplace.calibrate(approx(1, "1e-9"), 1).release,
        (0, 1),
        approx(1, "1e-9"),
        math.inf,
        seen_by="exact",
    ),
    Mutant(
        "truncated for half of each tail",
        "The mass beyond the bound is shared by two ends, but each neighbour meets the whole of one.",
        patched((truncated, "_outside", lambda scale, bound, moved: _outside(scale, bound, moved) / 2)),
        lambda: _counts(TruncatedLaplace.calibrate(approx(1, "0.012"), 1)),
        (0, 1),
        approx(1, "0.012"),
        math.inf,
        samples=150_000,
    ),
)
