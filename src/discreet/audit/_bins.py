"""A number put into one of a few hundred places: a value of its own if it is frequent, else a range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.audit._columns import Floats

__all__ = ["Bins", "fitted"]

_MOST_ATOMS = 2_000
_FEW_VALUES = 400
_RANGES = 64


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
        starts = np.concatenate([[-np.inf], self.edges])
        values = np.concatenate([self.atoms, starts])
        return np.append(np.argsort(values, kind="stable"), self.count - 1)

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
        said = [f"{value:.12g}" for value in self.atoms[chosen[: len(self.atoms)]]]
        if len(said) > 2:
            said = _runs(self.atoms, chosen[: len(self.atoms)])
        ranges = _runs_between(self.edges, chosen[len(self.atoms) : -1])
        return "is " + _listed([*said, *ranges, *(["no number"] * bool(chosen[-1]))])


def fitted(values: Floats, *, codes: bool = False) -> Bins:
    """Places that suit these values: all of them if they are few, else the frequent ones, and ranges for the rest.

    If the values are `codes`, which have no order, each of them gets a place.
    """
    known = values[~np.isnan(values)]
    distinct, counts = np.unique(known, return_counts=True)
    if codes or len(distinct) <= _FEW_VALUES:
        return Bins(distinct, np.empty(0))
    frequent = counts >= max(8, known.size // 500)
    if frequent.all() and len(distinct) <= _MOST_ATOMS:
        return Bins(distinct, np.empty(0))
    atoms = distinct[frequent]
    rest = np.sort(known[~np.isin(known, atoms)]) if len(atoms) else np.sort(known)
    if not len(rest):
        return Bins(atoms, np.empty(0))
    tails = 0.5 ** np.arange(7, max(8, int(np.log2(len(rest)))))
    shares = np.concatenate([np.arange(1, _RANGES) / _RANGES, tails, 1 - tails])
    cuts = np.minimum((shares * len(rest)).astype(np.intp), len(rest) - 1)
    return Bins(atoms, np.unique(rest[cuts]))


def _runs(values: Floats, chosen: NDArray[np.bool_]) -> list[str]:
    """Atoms next to one another, as a range."""
    said: list[str] = []
    for start, stop in _stretches(chosen):
        low = "" if start == 0 else f"{values[start]:.6g} … "
        high = f"{values[stop - 1]:.6g}"
        if start == stop - 1:
            said.append(high)
        elif stop == len(values):
            said.append("anything" if start == 0 else f"at least {values[start]:.6g}")
        else:
            said.append(f"at most {high}" if start == 0 else low + high)
    return said


def _runs_between(edges: Floats, chosen: NDArray[np.bool_]) -> list[str]:
    said: list[str] = []
    for start, stop in _stretches(chosen):
        low = None if start == 0 else f"{edges[start - 1]:.6g}"
        high = None if stop > len(edges) else f"{edges[stop - 1]:.6g}"
        match low, high:
            case None, None:
                said.append("any other number")
            case None, _:
                said.append(f"below {high}")
            case _, None:
                said.append(f"at least {low}")
            case _:
                said.append(f"from {low} to below {high}")
    return said


def _stretches(chosen: NDArray[np.bool_]) -> list[tuple[int, int]]:
    steps = np.diff(np.concatenate([[0], chosen.astype(np.int8), [0]]))
    return list(zip(np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist(), strict=True))


def _listed(said: list[str], most: int = 3) -> str:
    if not said:
        return "nothing"
    more = f", or one of {len(said) - most} more" if len(said) > most else ""
    return " or ".join(each if len(each) <= 80 else each[:77] + "…" for each in said[:most]) + more
