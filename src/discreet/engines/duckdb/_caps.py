"""Which rows of each person count: the caps on rows and groups, over packed rows in order.

A packed row is one or more whole numbers, the first with the person above the keys. So in order the rows of a person
lie together, and among them the rows of a group. Of n items of a person, in order, at most `limit` are kept: those at
the ranks floor((j·n + start) / limit) for j = 0, 1, …, limit − 1, with start a salted hash of the person modulo n. As
start runs over 0, …, n − 1, each rank is met `limit` times: see proofs/bounding.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Caps", "Integers", "Words", "capped", "firsts"]

Integers = NDArray[np.int64]
Words = tuple[Integers, ...]
Booleans = NDArray[np.bool_]
Hashes = Callable[[Integers], "NDArray[np.uint64]"]


@dataclass(frozen=True, slots=True)
class Caps:
    """The caps, and for each a salted hash of every one of some people."""

    max_rows: int
    max_groups: int | None
    rows_hash: Hashes
    groups_hash: Hashes


def capped(rows: Words, person: int, group: int, caps: Caps) -> tuple[Words, Booleans]:
    """The rows that count, in order, and of each whether it is the first of its person in its group.

    `rows` are in order and hold whole people. `person` and `group` are the number of bits of a first word beneath the
    person and the group.
    """
    starts, sizes = _runs(rows[0] >> person)
    keep = _chosen(starts, sizes, rows[0][starts] >> person, caps.max_rows, caps.rows_hash)
    if keep is not None:
        rows = tuple(word[keep] for word in rows)
    starts, sizes = _runs(rows[0] >> group)
    if caps.max_groups is not None:
        people = rows[0][starts] >> person
        firsts, counts = _runs(people)
        keep = _chosen(firsts, counts, people[firsts], caps.max_groups, caps.groups_hash)
        if keep is not None:
            within = _within(starts[keep], sizes[keep], rows[0].size)
            rows = tuple(word[within] for word in rows)
            sizes = sizes[keep]
            starts = np.cumsum(sizes) - sizes
    first = np.zeros(rows[0].size, np.bool_)
    first[starts] = True
    return rows, first


def firsts(groups: Integers, held: Integers) -> Booleans:
    """Of rows in order of their groups, which are the first in theirs of those that hold something."""
    first = np.zeros(groups.size, np.bool_)
    some = np.flatnonzero(held)
    first[some[_runs(groups[some])[0]]] = True
    return first


def _runs(labels: Integers) -> tuple[Integers, Integers]:
    """Where each run of equal labels begins, and how long it is."""
    if not labels.size:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    starts = np.concatenate(([0], np.flatnonzero(labels[1:] != labels[:-1]) + 1))
    return starts, np.diff(starts, append=labels.size)


def _chosen(starts: Integers, sizes: Integers, people: Integers, limit: int, hashes: Hashes) -> Booleans | None:
    """Of runs of items, one for each person, which items are kept; None if no run is longer than the limit."""
    above = sizes > limit
    if not above.any():
        return None
    begin, n = starts[above], sizes[above]
    start = (hashes(people[above]) % n.astype(np.uint64)).astype(np.int64)
    keep = ~_within(begin, n, int(sizes.sum()))
    ranks = (np.arange(limit)[:, np.newaxis] * n + start) // limit
    keep[(begin + ranks).ravel()] = True
    return keep


def _within(starts: Integers, sizes: Integers, total: int) -> Booleans:
    """Which of `total` places lie in one of the runs, which do not overlap."""
    change = np.zeros(total + 1, np.int8)
    change[starts] = 1
    change[starts + sizes] -= 1
    return np.cumsum(change[:-1], dtype=np.int8).view(np.bool_)
