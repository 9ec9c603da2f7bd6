"""Which linear queries of a histogram are to come out well: all ranges, all prefixes, or those of a list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

__all__ = ["Kind", "Workload"]

Numbers = NDArray[np.float64]
Places = NDArray[np.int64]
Kind = Literal["ranges", "prefixes", "queries"]
_KINDS = ("ranges", "prefixes", "queries")
_RIDGE = 1e-6


@dataclass(frozen=True)
class Workload:
    """Queries of `cells` cells in a row, each as important as the others. It is public.

    Attributes
    ----------
    kind
        ``"ranges"`` are all runs of neighbouring cells, ``"prefixes"`` those that begin at the first cell.
    cells
        How many cells there are, 1 or more.
    ends
        Of ``"queries"`` the first and the last cell of each.

    Raises `ParameterError` for none of these, and for a query that is no run of cells.

    >>> Workload("prefixes", 3).count, Workload("queries", 9, ((0, 3), (2, 8))).starts.tolist()
    (3, [0, 2, 4])
    """

    kind: Kind
    cells: int
    ends: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ParameterError(f"a workload is 'ranges', 'prefixes' or a list of queries, not {self.kind!r}")
        if self.cells < 1:
            raise ParameterError("a histogram has 1 cell or more")
        if (self.kind == "queries") != bool(self.ends):
            raise ParameterError("a workload of queries lists one or more of them, and no other does")
        if not all(0 <= first <= last < self.cells for first, last in self.ends):
            raise ParameterError(f"a query is a run of cells from 0 to {self.cells - 1}, first cell and last")

    @property
    def count(self) -> int:
        """How many queries there are."""
        match self.kind:
            case "ranges":
                return self.cells * (self.cells + 1) // 2
            case "prefixes":
                return self.cells
            case "queries":
                return len(self.ends)

    @cached_property
    def starts(self) -> Places:
        """The first cells of the runs that no query cuts: all that the queries can distinguish."""
        if self.kind != "queries":
            return np.arange(self.cells)
        cuts = {0, *(first for first, _ in self.ends), *(last + 1 for _, last in self.ends)}
        return np.array(sorted(cuts - {self.cells}))

    def merged(self) -> Workload:
        """The same queries of the runs that none of them cuts."""
        if self.kind != "queries":
            return self
        firsts = np.searchsorted(self.starts, [first for first, _ in self.ends])
        lasts = np.searchsorted(self.starts, [last for _, last in self.ends], side="right") - 1
        return Workload("queries", len(self.starts), tuple(zip(firsts.tolist(), lasts.tolist(), strict=True)))

    def energies(self, profile: Numbers, starts: Places) -> Numbers:
        """For each block of cells the mean over the queries of the square of the query's sum of `profile` in it.

        Blocks are given by their first cells. Linear in the cells, and in their product with the queries of a list.
        """
        if self.kind == "queries":
            sums = np.concatenate([np.zeros(1), np.cumsum(profile)])
            begins, stops = starts, np.append(starts[1:], self.cells)
            energies = np.zeros(len(starts))
            for first, last in self.ends:
                inside = sums[np.minimum(stops, last + 1)] - sums[np.clip(begins, first, last + 1)]
                energies += np.maximum(inside, 0) ** 2
            return energies / self.count
        at = np.arange(self.cells)
        rising = (at + 1.0) if self.kind == "ranges" else np.ones(self.cells)
        falling = profile * (self.cells - at)
        before = np.concatenate([np.zeros(1), np.cumsum(profile * rising)])
        block = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, self.cells)))
        pairs = 2 * falling * (before[:-1] - before[starts][block]) + falling * profile * rising
        return np.asarray(np.add.reduceat(pairs, starts) / self.count)

    def gram(self) -> Numbers:
        """For each two cells how many queries have both, as a matrix."""
        if self.kind == "queries":
            rows = np.zeros((self.count, self.cells))
            for row, (first, last) in zip(rows, self.ends, strict=True):
                row[first : last + 1] = 1
            return rows.T @ rows
        at = np.arange(self.cells)
        after = self.cells - np.maximum.outer(at, at)
        return (after * (np.minimum.outer(at, at) + 1 if self.kind == "ranges" else 1)).astype(np.float64)

    @cached_property
    def singular_values(self) -> Numbers:
        """Of the matrix of all queries: in closed form for ranges and prefixes.

        The singular vectors of these are sines.
        """
        n, k = self.cells, np.arange(1, self.cells + 1)
        match self.kind:
            case "ranges":
                return np.sqrt(n + 1) / (2 * np.sin(np.pi * k / (2 * (n + 1))))
            case "prefixes":
                return 1 / (2 * np.sin((2 * k - 1) * np.pi / (4 * n + 2)))
            case "queries":
                return np.sqrt(np.maximum(np.linalg.eigvalsh(self.gram()), 0.0))

    @property
    def bound(self) -> float:
        """The least mean variance that any unbiased linear strategy has, by noise of variance 1 at L2 sensitivity 1.

        Source: Li and Miklau 2013, the SVD bound. L1 sensitivity is no less than L2, so it bounds pure ε too, where
        the noise of sensitivity 1 has the variance 2 / ε².
        """
        return float(self.singular_values.sum() ** 2 / self.cells / self.count)

    def padded_gram(self) -> Numbers:
        """The Gram matrix with a little for every cell, so that all of them can be estimated."""
        gram = self.gram()
        return gram + np.eye(self.cells) * (_RIDGE * np.trace(gram) / self.cells)
