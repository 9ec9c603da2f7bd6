"""Drop synthetic rows that are rare among the others, and say what that bends."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import ParameterError

__all__ = ["RepeatedRows", "min_repeats"]

_KEY = b"discreet.min_repeats"


@dataclass(frozen=True, eq=False)
class RepeatedRows:
    """Rows each of which occurs at least `least` times.

    Attributes
    ----------
    rows
        Those that are left; the metadata of their schema has the rest of this, as JSON.
    least, dropped
        How frequent each row occurs at least, and how many rows were dropped.
    bent
        For each column the total variation distance of its values from those of all rows: from 0 to 1.
    """

    rows: pa.Table
    least: int
    dropped: int
    bent: Mapping[str, float]

    @property
    def note(self) -> str:
        """What was dropped, and what that bends, in a sentence."""
        every = self.rows.num_rows + self.dropped
        share = f"{self.dropped:,} of {every:,} rows occurred fewer than {self.least} times and were dropped"
        if not self.dropped or not self.rows.num_rows:
            return f"{share}."
        worst = sorted(self.bent, key=lambda name: -self.bent[name])[:3]
        named = ", ".join(f"{name} {self.bent[name]:.3f}" for name in worst)
        return f"{share}. That bends marginals; most in total variation: {named}."


def min_repeats(rows: pa.Table, least: int) -> RepeatedRows:
    r"""The rows that occur at least so many times, all values taken together. Costs nothing: synthetic rows are public.

    This is no privacy protection, which the loss alone states: it leaves out combinations that are rare in the sample,
    as some rules of publication want. Numbers on a fine grid are rare each: fit few values, or leave them out.
    Raises `ParameterError` unless `least` is a whole number of 1 or more.

    >>> result = min_repeats(pa.table({"a": [1, 1, 2], "b": ["x", "x", "x"]}), 2)
    >>> result.rows.num_rows, result.dropped, round(result.bent["a"], 3)
    (2, 1, 0.333)
    >>> print(result.note.replace(". ", ".\n"))
    1 of 3 rows occurred fewer than 2 times and were dropped.
    That bends marginals; most in total variation: a 0.333, b 0.000.
    """
    if type(least) is not int or least < 1:
        raise ParameterError(f"min_repeats is a whole number of 1 or more, not {least!r}")
    codes = [_codes(column) for column in rows.columns]
    groups = np.zeros(rows.num_rows, np.int64)
    for each in codes:
        groups = groups * (int(each.max(initial=0)) + 1) + each
        groups = np.unique(groups, return_inverse=True)[1].astype(np.int64).ravel()
    frequent = np.bincount(groups, minlength=1)[groups] >= least if groups.size else np.ones(0, bool)
    bent = {name: _distance(each, frequent) for name, each in zip(rows.column_names, codes, strict=True)}
    dropped = int((~frequent).sum())
    stated = json.dumps({"least": least, "dropped": dropped, "bent": bent}).encode()
    left = rows.filter(pa.array(frequent)).replace_schema_metadata({**(rows.schema.metadata or {}), _KEY: stated})
    return RepeatedRows(left, least, dropped, bent)


def _codes(column: pa.ChunkedArray[pa.Scalar]) -> NDArray[np.int64]:
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return np.asarray(encoded.indices, dtype=np.int64)


def _distance(codes: NDArray[np.int64], frequent: NDArray[np.bool_]) -> float:
    """Total variation between the values of all rows and of the frequent ones; 1 where none is."""
    if not codes.size or not frequent.any():
        return float(codes.size > 0)
    size = int(codes.max()) + 1
    before, after = np.bincount(codes, minlength=size), np.bincount(codes[frequent], minlength=size)
    return float(np.abs(before / codes.size - after / frequent.sum()).sum() / 2)
