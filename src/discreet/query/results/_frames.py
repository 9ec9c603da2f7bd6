"""The rows of windows: partitions, their order, peers, and the frame of each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sqlglot import exp

from discreet.query.passes._windows import frame_place
from discreet.query.results._conditions import sort_rows

if TYPE_CHECKING:
    from discreet.query.results._conditions import Leaf, Values

__all__ = ["Frames", "Integers", "codes", "frames"]

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Frames:
    """Rows in the order of a window, partition after partition; rows of one order that are equal are peers.

    `rows` are their positions in the answer. All else is by place in this order: where the partition and the peers of a
    row begin and end, and its frame, from `low` to before `high`.
    """

    rows: Integers
    start: Integers
    end: Integers
    first_peer: Integers
    last_peer: Integers
    low: Integers
    high: Integers

    @property
    def places(self) -> Integers:
        """The place of each row in the order."""
        return np.arange(len(self.rows), dtype=np.int64)


def frames(window: exp.Window, leaf: Leaf, rows: Integers) -> Frames:
    """The frames of some rows of an answer. Equal rows keep their order, so that the answer alone decides theirs."""
    taken = pa.array(rows, pa.int64())

    def here(node: exp.Expr) -> Values:
        return _plain_zero(pc.take(leaf(node), taken))

    order = window.args.get("order")
    ordered = [] if order is None else order.expressions
    place = sort_rows(ordered, here, len(rows)).to_numpy()
    parts = _joint([codes(here(node)) for node in window.args.get("partition_by") or ()], len(rows))
    place = place[np.argsort(parts[place], kind="stable")]
    peers = _joint([parts, *(codes(here(each.this)) for each in ordered)], len(rows))
    start, end = _runs(parts[place])
    first_peer, last_peer = _runs(peers[place])
    low, high = _frame(window, start, end, first_peer, last_peer)
    return Frames(rows[place], start, end, first_peer, last_peer, low, high)


def codes(column: Values) -> Integers:
    """A number for each value, the same for equal ones and rising with them; null has one of its own, above them."""
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype=np.int64)
    plain: Values = pc.cast(column, pa.int8()) if pa.types.is_boolean(column.type) else column
    order: Integers = pc.array_sort_indices(plain, null_placement="at_end").to_numpy()
    ordered = pc.take(plain, pa.array(order, pa.int64()))
    same = pc.equal(ordered.slice(1), ordered.slice(0, max(len(ordered) - 1, 0))).fill_null(fill_value=False)
    missing = pc.is_null(ordered).to_numpy(zero_copy_only=False)
    steps = ~(same.to_numpy(zero_copy_only=False) | (missing[1:] & missing[:-1]))
    numbers = np.zeros(len(order), dtype=np.int64)
    numbers[order] = np.concatenate([np.zeros(min(len(order), 1), dtype=np.int64), np.cumsum(steps)])
    return numbers


def _plain_zero(column: Values) -> Values:
    """The column with 0 for −0, which is its peer."""
    return pc.add(column, 0.0) if pa.types.is_floating(column.type) else column


def _joint(parts: list[Integers], rows: int) -> Integers:
    """A number for each combination of numbers."""
    joint = np.zeros(rows, dtype=np.int64)
    for part in parts:
        pairs = joint * (int(part.max(initial=0)) + 1) + part
        joint = np.unique(pairs, return_inverse=True)[1].ravel().astype(np.int64)
    return joint


def _runs(numbers: Integers) -> tuple[Integers, Integers]:
    """For each place, where the run of equal numbers around it begins, and where it has ended."""
    changes = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
    ends = np.concatenate([changes, [len(numbers)]]).astype(np.int64)
    which = np.searchsorted(ends, np.arange(len(numbers)), side="right")
    return np.concatenate([[0], ends[:-1]]).astype(np.int64)[which], ends[which]


def _frame(
    window: exp.Window, start: Integers, end: Integers, first_peer: Integers, last_peer: Integers
) -> tuple[Integers, Integers]:
    spec = window.args.get("spec")
    if spec is None:
        return start, last_peer if window.args.get("order") is not None else end
    first, last = frame_place(spec, "start"), frame_place(spec, "end")
    assert first is not None
    assert last is not None
    here = np.arange(len(start), dtype=np.int64)
    by_rows = str(spec.args.get("kind")).upper() == "ROWS"
    lows = (start, here - first[1], here if by_rows else first_peer, here + first[1], end)
    highs = (start, here - last[1] + 1, here + 1 if by_rows else last_peer, here + last[1] + 1, end)
    low = np.clip(lows[first[0]], start, end)
    return low, np.maximum(np.clip(highs[last[0]], start, end), low)
