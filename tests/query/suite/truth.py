"""Whether an answer is the truth, up to the grid."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

__all__ = ["Rows", "difference", "rows_of"]

Rows = list[tuple[Any, ...]]


def rows_of(table: Any) -> Rows:
    """The rows of an Arrow table."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True)) if table.num_columns else []


def difference(ours: Rows, truth: Rows, *, ordered: bool, within: float = 0.0) -> str | None:
    """What is wrong with an answer; None if nothing is. Numbers agree to a millionth, or `within`."""
    ours, truth = ([tuple(map(_plain, row)) for row in rows] for rows in (ours, truth))
    if len(ours) != len(truth):
        return f"{len(ours)} rows for {len(truth)}: {ours[:4]} for {truth[:4]}"
    if not ordered:
        ours, truth = sorted(ours, key=_exact), sorted(truth, key=_exact)
    for mine, other in zip(ours, truth, strict=True):
        if len(mine) != len(other) or not all(_near(a, b, within) for a, b in zip(mine, other, strict=True)):
            return f"{mine} for {other}"
    return None


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dt.datetime) and value.tzinfo is None and value.time() == dt.time():
        return value.date()
    return value


def _exact(row: Sequence[object]) -> list[tuple[bool, str]]:
    """An order by what is exact: the keys and the counts."""
    kept = [int(v) if isinstance(v, float) and v.is_integer() else v for v in row]
    return [(value is None, str(value)) for value in kept if not isinstance(value, float)]


def _near(one: object, other: object, within: float) -> bool:
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (one, other))
    if not numbers:
        return one == other
    assert isinstance(one, int | float) and isinstance(other, int | float)
    return abs(one - other) <= max(1e-3, 1e-6 * abs(other), within)
