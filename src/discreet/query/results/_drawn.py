"""Quantiles and modes, which are drawn and not read off sums: as leaves to compute with, and as they are shown."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from discreet.query.measures._aggregates import Aggregate
from discreet.query.measures._bounded import Group
from discreet.query.measures._histograms import Histogram
from discreet.query.results._conditions import ARROW
from discreet.query.results._dual import Dual, Floats

if TYPE_CHECKING:
    from discreet.query.results._conditions import Values

__all__ = ["QUANTILE", "Drawn", "read_drawn"]

QUANTILE = -1
"""In place of a measure: the answer hangs on a quantile, whose error in its own unit depends on the data, or on a mode,
which has none."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Aggregates by name: all as `leaves`, whole numbers in `exact`, and in `shown` what is no number.

    The leaves of dates are days since 1970, those of timestamps seconds, and those of texts and truth values places
    among the public values.
    """

    leaves: dict[str, Dual] = field(default_factory=dict[str, Dual])
    exact: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    shown: dict[str, Values] = field(default_factory=dict[str, "Values"])


def read_drawn(aggregates: Mapping[str, Aggregate], histograms: Sequence[Histogram], groups: Sequence[Group]) -> Drawn:
    """The quantiles and the modes among some aggregates, a value for each group."""
    drawn = Drawn()
    for name, aggregate in aggregates.items():
        if aggregate.quantile is None:
            continue
        position, place = aggregate.quantile
        values = np.array([group.quantiles[position][place] for group in groups], dtype=np.float64)
        histogram = histograms[position]
        column = _moments(values, histogram)
        if histogram.values:
            listed = [histogram.values[int(at)] for at in values]
            column = pa.array(list(map(_without_zone, listed)), ARROW[histogram.kind])
            values = _numbers(column, values)
            if histogram.kind == "int":
                drawn.exact[name] = [int(value) for value in listed if isinstance(value, int)]
        drawn.leaves[name] = Dual(values, {QUANTILE: np.ones_like(values)}, linear=False)
        if histogram.kind not in ("number", "int"):
            drawn.shown[name] = column
    return drawn


def _moments(values: Floats, histogram: Histogram) -> Values:
    """Days since 1970 as dates, or seconds as timestamps; numbers as they are."""
    if histogram.kind == "date":
        return pa.array(values.astype(np.int32), pa.int32()).cast(ARROW["date"])
    if histogram.kind == "timestamp":
        return pa.array(values.astype(np.int64) * 10**6, pa.int64()).cast(ARROW["timestamp"])
    return pa.array(values)


def _numbers(column: Values, places: Floats) -> Floats:
    """What can be computed with: numbers, days or seconds; of other values their places."""
    if pa.types.is_date(column.type):
        return np.asarray(column.cast(pa.int32()), dtype=np.float64)
    if pa.types.is_timestamp(column.type):
        return np.asarray(column.cast(pa.int64()), dtype=np.float64) / 10**6
    return np.asarray(column, dtype=np.float64) if pa.types.is_integer(column.type) else places


def _without_zone(value: Any) -> Any:
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value
