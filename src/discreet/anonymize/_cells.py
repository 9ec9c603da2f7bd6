"""The cells of a table whose rows were divided into classes: one text for all values that a class has in a column."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymize.hierarchies import ANY, Hierarchy, text_of
from discreet.anonymize.tables import Column

__all__ = ["cell_texts"]

_ROOM = 1 << 22


def cell_texts(
    column: Column, hierarchy: Hierarchy | None, classes: NDArray[np.int64], rows: NDArray[np.int64]
) -> pa.Array:
    """The cell of each class of some rows: a value, an interval, a set of values, or an ancestor in a hierarchy.

    >>> import pyarrow as pa
    >>> from discreet.anonymize.tables import read_columns, read_frame
    >>> (age,) = read_columns(read_frame(pa.table({"age": [31, 34, 47, 47]})), ["age"], "quasi")
    >>> cell_texts(age, None, np.array([0, 0, 1, 1]), np.arange(4)).to_pylist()
    ['[31, 34]', '47']
    """
    count = int(classes.max()) + 1
    owners, codes = np.divmod(_different(classes * column.size + column.codes[rows], count * column.size), column.size)
    starts = np.searchsorted(owners, np.arange(count + 1))
    texts = [text_of(each) for each in column.values]
    if hierarchy is not None:
        cells = _ancestors(column, hierarchy, codes, starts)
    elif column.is_number:
        firsts, lasts = codes[starts[:-1]], codes[starts[1:] - 1]
        cells = [texts[a] if a == b else f"[{texts[a]}, {texts[b]}]" for a, b in zip(firsts, lasts, strict=True)]
    else:
        cells = [_set([texts[each] for each in codes[a:b]], column.size) for a, b in pairwise(starts)]
    return pa.array(cells, pa.string())


def _different(keys: NDArray[np.int64], bound: int) -> NDArray[np.int64]:
    """Different keys, ascending; below a bound that is not too large they are marked, which is quicker than sorting."""
    if bound > max(_ROOM, 8 * len(keys)):
        return np.unique(keys)
    marked = np.zeros(bound, bool)
    marked[keys] = True
    return np.flatnonzero(marked)


def _set(values: Sequence[str], size: int) -> str:
    if len(values) == 1:
        return values[0]
    return ANY if len(values) == size else f"{{{', '.join(values)}}}"


def _ancestors(column: Column, hierarchy: Hierarchy, codes: NDArray[np.int64], starts: NDArray[np.int64]) -> list[str]:
    cells: list[str | None] = [None] * (len(starts) - 1)
    for level in range(hierarchy.height + 1):
        labels, groups = hierarchy.labels(column, level), hierarchy.groups(column, level)[codes]
        lowest, highest = np.minimum.reduceat(groups, starts[:-1]), np.maximum.reduceat(groups, starts[:-1])
        for i in np.flatnonzero(lowest == highest):
            cells[i] = cells[i] if cells[i] is not None else labels[codes[starts[i]]]
    return [ANY if each is None else each for each in cells]
