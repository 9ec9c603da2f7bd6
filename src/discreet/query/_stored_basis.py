"""A basis as plain JSON and columns beside the rows of a release, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from discreet.query._aggregates import Aggregate, Axis, Second
from discreet.query._basis import Basis
from discreet.query._intervals import Interval

if TYPE_CHECKING:
    from discreet.query._conditions import Values

__all__ = ["basis_columns", "basis_from_json", "basis_to_json"]

_AXES = ("x", "y")
_SECONDS = ("xx", "xy", "yy")


def basis_columns(basis: Basis) -> list[Values]:
    """What a basis holds of each row: its level, its sums by rising measure, and its keys by name."""
    sums = [pa.array(basis.sums[i]) for i in sorted(basis.sums)]
    return [pa.array(basis.level), *sums, *(basis.keys[name] for name in sorted(basis.keys))]


def basis_to_json(basis: Basis) -> dict[str, Any]:
    """What a basis holds of its columns; numbers exactly, as text."""
    return {
        "items": {name: item.sql() for name, item in basis.items.items()},
        "aggregates": {name: _aggregate(aggregate) for name, aggregate in basis.aggregates.items()},
        "sums": sorted(basis.sums),
        "keys": sorted(basis.keys),
        "measures": basis.measures,
    }


def basis_from_json(data: Mapping[str, Any], columns: Sequence[Any]) -> Basis:
    """The inverse of `basis_to_json` and `basis_columns`; raises `ValueError` or `KeyError` on anything else."""
    level, *rest = columns
    sums, keys = rest[: len(data["sums"])], rest[len(data["sums"]) :]
    try:
        items: dict[str, exp.Expr] = {name: parse_one(sql) for name, sql in data["items"].items()}
    except SqlglotError:
        raise ValueError("a column of the basis cannot be read") from None
    return Basis(
        items,
        {name: _read(stored) for name, stored in data["aggregates"].items()},
        {i: np.asarray(column, dtype=np.float64) for i, column in zip(data["sums"], sums, strict=True)},
        {name: pa.chunked_array(column).combine_chunks() for name, column in zip(data["keys"], keys, strict=True)},
        np.asarray(level, dtype=np.int64),
        data["measures"],
    )


def _aggregate(aggregate: Aggregate) -> dict[str, Any]:
    stored: dict[str, Any] = {"kind": aggregate.kind, "sql": aggregate.sql, "count": aggregate.count}
    for name in _AXES:
        axis: Axis | None = getattr(aggregate, name)
        if axis is not None:
            low, high, whole = str(axis.bounds.lower), str(axis.bounds.upper), axis.bounds.whole
            stored[name] = [axis.total, str(axis.step), axis.center, low, high, whole]
    for name in _SECONDS:
        second: Second | None = getattr(aggregate, name)
        if second is not None:
            stored[name] = [second.total, second.shift, second.center]
    return stored


def _read(stored: Mapping[str, Any]) -> Aggregate:
    parts: dict[str, Any] = {}
    for name in _AXES:
        if name in stored:
            total, step, center, low, high, whole = stored[name]
            parts[name] = Axis(total, Fraction(step), center, Interval(Fraction(low), Fraction(high), whole))
    parts |= {name: Second(*stored[name]) for name in _SECONDS if name in stored}
    return Aggregate(stored["kind"], stored["sql"], stored["count"], **parts)
