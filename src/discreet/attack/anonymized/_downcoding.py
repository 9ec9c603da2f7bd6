"""Downcoding: cells that are no coarser than they must be tell what is below them.

A cell that stands for a set has each of its values in some row of the class; an interval has both of its ends. Cells of
a hierarchy promise nothing of the kind. What is left is guessed by how frequent values are at large.
Source: the idea of Cohen 2022, that minimality gives generalisation away; the guesser is our own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymize import Hierarchy, read_frame
from discreet.attack._bags import bag, shared
from discreet.attack._classes import codes_of, read_classes, values_of
from discreet.attack._outcome import Control, Outcome
from discreet.attack.linkage import compatible
from discreet.errors import ParameterError

__all__ = ["downcoding"]

_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


def downcoding(
    release: object,
    original: object,
    quasi: Sequence[str],
    *,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    prior: object = None,
) -> Outcome:
    """Guess the values below generalised cells, class by class.

    Rows of a class look alike, so a class is guessed as a bag of values: as many guesses are right as the bags share.
    The control guesses as many values by the prior alone.

    Parameters
    ----------
    release
        A table as it was published.
    original
        The truth: the same rows, in the same order.
    quasi
        The columns that were generalised.
    hierarchies
        Whose ancestors cells may be.
    prior
        A table whose values are as frequent as an attacker takes them to be at large; the original's own frequencies,
        which favour attack and control alike, if it is left out.

    Raises
    ------
    ParameterError
        For columns that are missing, tables of different lengths, and a release without a generalised cell.

    >>> original = pa.table({"town": ["a", "a", "b", "c"]})
    >>> release = pa.table({"town": ["{a, b}", "{a, b}", "{a, b}", "c"]})
    >>> downcoding(release, original, ["town"]).success
    1.0
    """
    rows = read_classes(release, quasi)
    truth = read_frame(original).table
    at_large = truth if prior is None else read_frame(prior).table
    if truth.num_rows != rows.table.num_rows:
        raise ParameterError(f"the release has {rows.table.num_rows:,} rows and the original {truth.num_rows:,}")
    order = np.argsort(rows.class_of, kind="stable")
    ends = np.searchsorted(rows.class_of[order], np.arange(rows.count + 1))
    columns: list[tuple[str, int, int, int, int]] = []
    for name in quasi:
        for table, called in ((truth, "original"), (at_large, "prior")):
            if name not in table.column_names:
                raise ParameterError(f"the {called} has no column {name}")
        own_values, usual = (values_of(each, name) for each in (truth, at_large))
        listed = sorted(set(own_values) | set(usual), key=_in_order)
        place = {each: i for i, each in enumerate(listed)}
        codes = np.array([place[each] for each in own_values], np.int64)
        shares = np.bincount([place[each] for each in usual], minlength=len(listed))
        cell_codes, cells = codes_of(rows.table, name)
        tree = (hierarchies or {}).get(name)
        fits = compatible(cells, listed, tree)
        for start, end in pairwise(ends):
            cell = int(cell_codes[order[start]])
            if fits[cell].sum() < 2:
                continue
            own = np.bincount(codes[order[start:end]], minlength=len(listed))
            size = int(end - start)
            needed = _needed(fits[cell], cells[cell], tree, listed)
            guess = bag(size, np.where(fits[cell], shares, 0), needed)
            blind = bag(size, shares, np.zeros(len(listed), np.int64))
            columns.append((name, int(start), size, shared(guess, own), shared(blind, own)))
    if not columns:
        raise ParameterError("no cell of the release is generalised: there is nothing to guess")
    names, starts, sizes, right, control = (list(each) for each in zip(*columns, strict=True))
    evidence = pa.table(
        [pa.array(names), pa.array(starts), pa.array(sizes), pa.array(right), pa.array(control)],
        ["column", "class", "rows", "right", "control"],
    )
    total = sum(sizes)
    return Outcome("downcoding", sum(right), total, Control(sum(control) / total, total), evidence)


def _in_order(value: Any) -> tuple[str, Any]:
    return (type(value).__name__, value)


def _needed(fits: NDArray[np.bool_], cell: Any, tree: Hierarchy | None, values: Sequence[Any]) -> _Ints:
    """How often each value must be in a class whose cell is no coarser than it must be."""
    needed = np.zeros(len(values), np.int64)
    below = np.flatnonzero(fits)
    text = str(cell)
    if tree is not None:
        return needed
    if text.startswith("{"):
        needed[below] = 1
    elif text.startswith("["):
        needed[below[[0, -1]]] = 1
    return needed
