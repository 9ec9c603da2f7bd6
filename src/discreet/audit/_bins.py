"""A number put into one of a few hundred places: a value of its own if it is frequent, else a range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.audit._columns import Floats

__all__ = ["Bins", "fitted"]

_MOST_ATOMS = 2_000
_FREQUENT = 5
_RANGES = 64
_IN_RANGE = 8


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Places 0 … a−1 are the `atoms`, then come the ranges between the `edges`, and last what is no number."""

    atoms: Floats
    edges: Floats

    @property
    def count(self) -> int:
        """How many places there are."""
        return len(self.atoms) + len(self.edges) + 2

    @property
    def by_value(self) -> NDArray[np.intp]:
        """The places in the order of their values, what is no number last."""
        return np.append(np.argsort(self._starts, kind="stable"), self.count - 1)

    @property
    def _starts(self) -> Floats:
        """The least value in each place, but for the last."""
        return np.concatenate([self.atoms, [-np.inf], self.edges])

    def places(self, values: Floats) -> NDArray[np.intp]:
        """The place of each value."""
        found = len(self.atoms) + np.searchsorted(self.edges, values, side="right")
        if len(self.atoms):
            near = np.minimum(np.searchsorted(self.atoms, values), len(self.atoms) - 1)
            found = np.where(self.atoms[near] == values, near, found)
        return np.where(np.isnan(values), self.count - 1, found)

    def text(self, chosen: NDArray[np.bool_], texts: tuple[str, ...] | None = None) -> str:
        """In words, which values the chosen places hold."""
        if texts is not None:
            return "is " + _listed([texts[int(value)] for value in self.atoms[chosen[: len(self.atoms)]]])
        order, starts = self.by_value[:-1], self._starts
        said: list[str] = []
        for first, after in _stretches(chosen[order]):
            low, last = starts[order[first]], order[after - 1]
            if first == after - 1 and last < len(self.atoms):
                said.append(f"{low:.12g}")
                continue
            if after == len(order):
                high = ""
            else:
                high = f"at most {starts[last]:.6g}" if last < len(self.atoms) else f"below {starts[order[after]]:.6g}"
            least = "" if low == -np.inf else f"at least {low:.6g}"
            said.append(" and ".join(filter(None, (least, high))) or "any number")
        return "is " + _listed([*said, *(["no number"] * bool(chosen[-1]))])


def fitted(values: Floats, *, codes: bool = False) -> Bins:
    """Places that suit these values: one for each that is frequent, and ranges of a like size for the rest.

    If the values are `codes`, which have no order, each of them gets a place.
    """
    known = values[~np.isnan(values)]
    distinct, counts = np.unique(known, return_counts=True)
    frequent = counts >= max(_FREQUENT, known.size // 2_000)
    if codes or (frequent.all() and len(distinct) <= _MOST_ATOMS):
        return Bins(distinct, np.empty(0))
    atoms = distinct[frequent] if np.count_nonzero(frequent) <= _MOST_ATOMS else np.empty(0)
    rest = np.sort(known[~np.isin(known, atoms)])
    inner = np.arange(1, count := min(_RANGES, 1 + len(rest) // _IN_RANGE)) / count
    tails = 0.5 ** np.arange(7, max(7, int(np.log2(max(len(rest), 1) / _IN_RANGE)) + 1))
    shares = np.concatenate([inner, tails, 1 - tails])
    cuts = np.minimum((shares * len(rest)).astype(np.intp), max(len(rest) - 1, 0))
    ends = [atoms[0], np.nextafter(atoms[-1], np.inf)] if len(atoms) else []
    return Bins(atoms, np.unique(np.concatenate([rest[cuts], ends])))


def _stretches(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    steps = np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]]))
    return list(zip(np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist(), strict=True))


def _listed(said: list[str], most: int = 3) -> str:
    if not said:
        return "nothing"
    more = f", or one of {len(said) - most} more" if len(said) > most else ""
    return " or ".join(each if len(each) <= 80 else each[:77] + "…" for each in said[:most]) + more
