"""Window functions over the rows of an answer: post-processing, which costs nothing.

They see the rows that HAVING has left, with their noise, and nothing else. Sums and averages are exact sums of the
released numbers, rounded once.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.parse._trees import Texts, put
from discreet.query.passes._windows import FIRST_ROWS, RANKS, SHIFTS, windows_of
from discreet.query.results._conditions import keep_rows
from discreet.query.results._dual import Dual
from discreet.query.results._evaluate import Rows
from discreet.query.results._frames import Frames, Integers, codes, frames
from discreet.query.results._row_noise import Linear, of_window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from discreet.query.results._conditions import Values

__all__ = ["is_number", "with_windows"]

_INT64 = 2**63


def with_windows(select: exp.Select, rows: Rows) -> tuple[exp.Select, Rows, dict[str, Linear | None]]:
    """The SELECT with a placeholder ``:w0``, ``:w1``, … for each window, and the rows with what these stand for.

    A window whose values are texts, dates or truth values is a column instead, as a key is. In rows that HAVING drops
    all are null. With them comes how each placeholder is linear in the noises of the rows, or None. Raises `QueryError`
    for a window over what is no key and no aggregate, or over values of a wrong kind.
    """
    windows = windows_of(select)
    if not windows:
        return select, rows, {}
    having = select.args.get("having")
    taken = np.arange(rows.size, dtype=np.int64)
    if having is not None:
        taken = taken[keep_rows(having.this, rows.column).to_numpy(zero_copy_only=False)]
    leaves, keys, shown = dict(rows.leaves), dict(rows.keys), dict[str, "Values"]()
    places: dict[str, exp.Expr] = {}
    linear: dict[str, Linear | None] = {}
    for number, (text, window) in enumerate(windows.items()):
        here = frames(window, rows.column, taken)
        column = _column(window, rows, here)
        if is_number(column):
            name = f"w{number}"
            shown[name] = column
            doubles = pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
            leaves[name] = Dual(np.asarray(doubles, dtype=np.float64), {})
            linear[name] = of_window(window, rows, here, column)
            places[text] = exp.Placeholder(this=name)
        else:
            name = text
            while name in keys:
                name += " "
            keys[name] = column
            places[text] = exp.column(exp.to_identifier(name, quoted=True))
    select = select.copy()
    written = list(select.find_all(exp.Window))
    texts = Texts(*written)
    for window in written:
        put(window, places[texts.text(window)].copy())
    return select, replace(rows, leaves=leaves, keys=keys, shown=shown), linear


def is_number(column: Values | pa.Field) -> bool:
    """Whether a column, or a field of a table, holds numbers."""
    return pa.types.is_integer(column.type) or pa.types.is_floating(column.type)


def _column(window: exp.Window, rows: Rows, here: Frames) -> Values:
    """A window's values in every row, null where it has none."""
    function = window.this
    if isinstance(function, RANKS):
        values = _ranks(function, here)
    elif isinstance(function, SHIFTS):
        values = _shifted(function, rows, here)
    elif isinstance(function, FIRST_ROWS):
        values = _first(function, rows, here)
    else:
        values = _total(function, rows, here)
    back = np.full(rows.size, -1, dtype=np.int64)
    back[here.rows] = here.places
    return _take(values, back)


def _take(values: Values, places: Integers) -> Values:
    """The values at some places, and null where a place is negative."""
    return pc.take(values, pa.array(places, pa.int64(), mask=places < 0))


def _argument(node: exp.Expr, rows: Rows, here: Frames) -> Values:
    return pc.take(rows.column(node), pa.array(here.rows, pa.int64()))


def _ranks(function: exp.Expr, here: Frames) -> Values:
    place, size = here.places - here.start, here.end - here.start
    rank = here.first_peer - here.start
    match function:
        case exp.RowNumber():
            return pa.array(place + 1)
        case exp.Rank():
            return pa.array(rank + 1)
        case exp.DenseRank():
            begins = np.cumsum(here.first_peer == here.places)
            return pa.array(begins - begins[here.start] + 1)
        case exp.PercentRank():
            return pa.array(np.where(size > 1, rank / np.maximum(size - 1, 1), 0.0))
        case exp.CumeDist():
            return pa.array((here.last_peer - here.start) / size)
        case _:
            return pa.array(_tile(place, size, int(function.this.name)))


def _tile(place: Integers, size: Integers, tiles: int) -> Integers:
    """Which of so many tiles a row is in: the first ones have a row more, if rows are left over."""
    least, more = size // tiles, size % tiles
    longer = more * (least + 1)
    return np.where(place < longer, place // (least + 1), more + (place - longer) // np.maximum(least, 1)) + 1


def _shifted(function: exp.Expr, rows: Rows, here: Frames) -> Values:
    offset = function.args.get("offset")
    by = 1 if offset is None else int(offset.name)
    place = here.places + (by if isinstance(function, exp.Lead) else -by)
    inside = (place >= here.start) & (place < here.end)
    values = _take(_argument(function.this, rows, here), np.where(inside, place, -1))
    default = function.args.get("default")
    if default is None or isinstance(default, exp.Null):
        return values
    otherwise = rows.column(default).slice(0, len(values))
    try:
        if pa.types.is_integer(values.type) and pa.types.is_floating(otherwise.type):
            values, otherwise = _one_kind(values, otherwise)
        return pc.if_else(pa.array(inside), values, otherwise)
    except pa.ArrowException:
        raise QueryError(f"{function.sql()} needs a default of the kind of its values") from None


def _one_kind(integers: Values, constant: Values) -> tuple[Values, Values]:
    """Whole numbers beside a constant: as whole numbers if it is one, else as doubles."""
    try:
        return integers, pc.cast(constant, integers.type)
    except pa.ArrowException:
        return pc.cast(integers, pa.float64(), safe=False), constant


def _first(function: exp.Expr, rows: Rows, here: Frames) -> Values:
    match function:
        case exp.FirstValue():
            place = here.low
        case exp.LastValue():
            place = here.high - 1
        case _:
            place = here.low + int(function.args["offset"].name) - 1
    inside = (place >= here.low) & (place < here.high)
    return _take(_argument(function.this, rows, here), np.where(inside, place, -1))


def _total(function: exp.Expr, rows: Rows, here: Frames) -> Values:
    counted = np.ones(len(here.rows), dtype=np.bool_)
    if isinstance(function, exp.Filter):
        counted = rows.holds(function.expression.this)[here.rows]
        function = function.this
    if isinstance(function.this, exp.Star):
        return pa.array(_between(counted.astype(np.int64), here))
    values = _argument(function.this, rows, here)
    counted = counted & pc.is_valid(values).to_numpy(zero_copy_only=False)
    numbers = _between(counted.astype(np.int64), here)
    if isinstance(function, exp.Count):
        return pa.array(numbers)
    if isinstance(function, exp.Min | exp.Max):
        return _extreme(values, counted, here, largest=isinstance(function, exp.Max))
    if not is_number(values):
        raise QueryError(f"{function.sql()} needs a number in its window")
    return _sums(values, counted, numbers, here, mean=isinstance(function, exp.Avg))


def _between(numbers: Integers, here: Frames) -> Integers:
    """The sum of whole numbers over each frame."""
    so_far = np.concatenate([[0], np.cumsum(numbers)])
    return so_far[here.high] - so_far[here.low]


def _sums(values: Values, counted: NDArray[np.bool_], numbers: Integers, here: Frames, *, mean: bool) -> Values:
    """The sums or the means of what counts in each frame: exactly, then rounded to a double unless all is integer."""
    listed: list[Any] = pc.if_else(pa.array(counted), values, pa.scalar(0, values.type)).to_pylist()
    parts, unit = _scaled(listed)
    so_far = list(itertools.accumulate(parts, initial=0))
    sums = [so_far[high] - so_far[low] for low, high in zip(here.low.tolist(), here.high.tolist(), strict=True)]
    if pa.types.is_integer(values.type) and not mean:
        clipped = [max(-_INT64, min(each, _INT64 - 1)) for each in sums]
        return pa.array(clipped, pa.int64(), mask=numbers == 0)
    divisors = [unit * (max(count, 1) if mean else 1) for count in numbers.tolist()]
    quotients = np.array([_quotient(*each) for each in zip(sums, divisors, strict=True)], dtype=np.float64)
    return pa.array(quotients, mask=(numbers == 0) | ~np.isfinite(quotients))


def _scaled(values: Sequence[int | float]) -> tuple[list[int], int]:
    """Numbers as multiples of one over a power of two, and that power."""
    ratios = [value.as_integer_ratio() for value in values]
    unit = max((bottom for _, bottom in ratios), default=1)
    return [top * (unit // bottom) for top, bottom in ratios], unit


def _quotient(top: int, bottom: int) -> float:
    try:
        return top / bottom
    except OverflowError:
        return np.inf


def _extreme(values: Values, counted: NDArray[np.bool_], here: Frames, *, largest: bool) -> Values:
    """The least or the largest of what counts in each frame: by the places of values in their own order."""
    order = codes(values)
    rank = -order if largest else order
    size = len(rank)
    nothing = size + 1
    best = [np.where(counted, rank, nothing)]
    while 2 ** len(best) <= size:
        before, width = best[-1], 2 ** (len(best) - 1)
        best.append(np.minimum(before[: size - 2 * width + 1], before[width : size - width + 1]))
    length = here.high - here.low
    depth = np.zeros(size, dtype=np.int64)
    for each in range(1, len(best)):
        depth[length >= 2**each] = each
    least = np.full(size, nothing, dtype=np.int64)
    for each, row in enumerate(best):
        at = np.flatnonzero((depth == each) & (length > 0))
        least[at] = np.minimum(row[here.low[at]], row[here.high[at] - 2**each])
    where = np.full(2 * nothing + 1, -1, dtype=np.int64)
    where[rank[counted]] = np.flatnonzero(counted)
    where[nothing] = -1
    return _take(values, where[least])
