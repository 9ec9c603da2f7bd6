"""k, l and t of a table as its cells have them: classes are the rows whose quasi-identifiers are equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.errors import ParameterError

__all__ = ["Spread", "Verdict", "verify"]

_BLOCK = 1 << 22
_LARGEST = 1 << 62
_Ints = NDArray[np.int64]
_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """How one sensitive column is spread, in the worst class of each measure.

    Attributes
    ----------
    distinct
        The least number of different values in a class: the table is distinct l-diverse, and p-sensitive, for it.
    entropy
        The least exponential of a class's entropy: the table is entropy l-diverse for it.
    recursive
        For l = 2 the table is recursively (c, 2)-diverse for every c above it: the greatest ratio of the most frequent
        value to all others; infinite if a class has one value alone.
    equal, ordered
        The greatest earth mover's distance of a class from the table, where all values are 1 apart, and by rank.
    """

    distinct: int
    entropy: float
    recursive: float
    equal: float
    ordered: float


@dataclass(frozen=True)
class Verdict:
    """What a table satisfies. It is a condition on the table, and no promise about what can be learnt from it.

    Attributes
    ----------
    k
        Rows in the smallest class.
    classes, rows
        How many there are.
    spreads
        For each sensitive column.
    smallest
        The values of up to ten of the smallest classes.
    """

    k: int
    classes: int
    rows: int
    spreads: dict[str, Spread]
    smallest: tuple[dict[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        """It as plain JSON, without the classes' values."""
        return {
            "k": self.k,
            "classes": self.classes,
            "rows": self.rows,
            "sensitive": {
                name: {
                    "distinct_l": each.distinct,
                    "entropy_l": each.entropy,
                    "recursive_c": each.recursive if np.isfinite(each.recursive) else None,
                    "t_equal": each.equal,
                    "t_ordered": each.ordered,
                }
                for name, each in self.spreads.items()
            },
        }


def verify(table: object, quasi: Sequence[str], sensitive: Sequence[str] = ()) -> Verdict:
    """Find the greatest k and l and the least t that a table satisfies.

    Parameters
    ----------
    table
        An Arrow, pandas or polars table, anonymised by whatever means.
    quasi, sensitive
        Its columns.

    Raises
    ------
    ParameterError
        For a table without rows, and columns that it has not.

    >>> table = pa.table({"age": ["[30, 39]"] * 2 + ["40"] * 3, "illness": ["flu", "flu", "flu", "gout", "gout"]})
    >>> verdict = verify(table, ["age"], ["illness"])
    >>> verdict.k, verdict.spreads["illness"].distinct
    (2, 1)
    """
    rows = table if isinstance(table, pa.Table) else _arrow(table)
    if not rows.num_rows:
        raise ParameterError("the table has no rows to verify")
    if not quasi:
        raise ParameterError("name the quasi-identifiers: quasi=['age', 'sex']")
    for name in [*quasi, *sensitive]:
        if name not in rows.column_names:
            raise ParameterError(f"the table has no column {name}; it has {', '.join(rows.column_names)}")
    both = [name for name in sensitive if name in quasi]
    if both:
        raise ParameterError(f"the column {both[0]} is named as a quasi-identifier and as sensitive: choose one")
    classes, values, sizes = _classes(rows.select(list(dict.fromkeys(quasi))))
    order = np.argsort(sizes, kind="stable")[:10]
    smallest = values.take(order).to_pylist()
    return Verdict(
        k=int(sizes.min()),
        classes=len(sizes),
        rows=rows.num_rows,
        spreads={name: _spread(classes, sizes, rows.column(name)) for name in sensitive},
        smallest=tuple({**row, "rows": int(sizes[i])} for row, i in zip(smallest, order, strict=True)),
    )


def _arrow(table: object) -> pa.Table:
    try:
        return nw.from_native(table, eager_only=True).to_arrow()  # pyright: ignore[reportArgumentType, reportCallIssue]
    except TypeError:
        raise ParameterError(f"give a table: Arrow, pandas or polars, not {type(table).__name__}") from None


def _classes(rows: pa.Table) -> tuple[_Ints, pa.Table, _Ints]:
    """The class of each row, the values of each class, and its size."""
    keys, size = np.zeros(rows.num_rows, np.int64), 1
    for name in rows.column_names:
        encoded: Any = pc.dictionary_encode(rows.column(name).combine_chunks(), null_encoding="encode")
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        different = len(encoded.dictionary)
        if size * different >= _LARGEST:
            listed, keys = np.unique(keys, return_inverse=True)
            size = len(listed)
        keys = keys * different + codes
        size *= different
    _, first, of_row, sizes = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    return of_row.astype(np.int64), rows.take(first), sizes


def _spread(classes: _Ints, sizes: _Ints, column: pa.ChunkedArray[Any]) -> Spread:
    pairs = pa.table([pa.array(classes), column.combine_chunks()], ["class", "value"])
    counted = pairs.group_by(["class", "value"]).aggregate([([], "count_all")])
    owner = counted.column("class").to_numpy()
    listed = pc.rank(counted.column("value").combine_chunks(), "ascending", tiebreaker="dense").to_numpy()
    count = counted.column("count_all").to_numpy().astype(np.float64)
    value = listed.astype(np.int64) - 1
    order = np.lexsort((-count, owner))
    owner, value, count = owner[order], value[order], count[order]
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    distinct = np.diff(np.r_[starts, len(owner)])
    logs = np.log(sizes) - np.add.reduceat(count * np.log(count), starts) / sizes
    most = count[starts]
    rest = sizes - most
    with np.errstate(divide="ignore"):
        recursive = np.where(rest > 0, most / rest, np.inf)
    table = np.bincount(value, weights=count) / sizes.sum()
    share = count / sizes[owner]
    differences = np.add.reduceat(np.abs(share - table[value]) - table[value], starts)
    return Spread(
        distinct=int(distinct.min()),
        entropy=float(np.exp(logs.min())),
        recursive=float(recursive.max()),
        equal=float((differences.max() + 1) / 2),
        ordered=_ordered(owner, value, share, table, len(sizes)),
    )


def _ordered(owner: _Ints, value: _Ints, share: _Floats, table: _Floats, classes: int) -> float:
    """The greatest distance by rank, a block of classes at a time."""
    if len(table) == 1:
        return 0.0
    step = max(_BLOCK // len(table), 1)
    greatest = 0.0
    for first in range(0, classes, step):
        there = (owner >= first) & (owner < first + step)
        block = np.zeros((min(step, classes - first), len(table)))
        block[owner[there] - first, value[there]] = share[there]
        far = np.abs(np.cumsum(block - table, axis=1)).sum(axis=1) / (len(table) - 1)
        greatest = max(greatest, float(far.max()))
    return greatest
