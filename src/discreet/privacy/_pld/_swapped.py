"""The other direction of a pair: (Q, P) for the addition of a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.privacy._pld._pair import Cells, Lattice, Pair, Partition

if TYPE_CHECKING:
    from discreet.privacy._pld._measure import Measure
    from discreet.privacy._pld._pair import Floats


@dataclass(frozen=True)
class Swapped:
    """(Q, P): the loss changes sign, and the cells are read from the other end.

    Cells then include their lower edge and not their upper one, which neither bound minds.
    """

    pair: Pair

    @property
    def infinity(self) -> tuple[float, float]:
        """Q where P is 0."""
        return self.pair.missing

    @property
    def missing(self) -> tuple[float, float]:
        """P where Q is 0."""
        return self.pair.infinity

    @property
    def symmetric(self) -> bool:
        """As the pair."""
        return self.pair.symmetric

    @property
    def lattice(self) -> Lattice | None:
        """The reflected lattice."""
        found = self.pair.lattice
        return found and Lattice(-found.origin, found.spacing, found.only_atoms)

    def span(self, log_tail: float) -> tuple[float, float]:
        """The reflected span."""
        low, high = self.pair.span(log_tail)
        return -high, -low

    def cells(self, edges: Floats) -> Cells:
        """The same events, P and Q exchanged."""
        found = self.pair.cells(-edges[::-1])
        return Cells(found.q[::-1], found.p[::-1], found.q_error[::-1], found.p_error[::-1], found.edge_error)

    def measures(self, step: float) -> tuple[Measure, Measure] | None:
        """Those of the pair, if both directions are alike."""
        return self.pair.measures(step) if self.pair.symmetric else None

    @property
    def bounded(self) -> bool:
        """As the pair; nobody composes a pair that is bounded on one side only."""
        return self.pair.bounded

    def quantiles(self, log_tail: float, cells: int) -> Floats:
        """The same cuts."""
        return -self.pair.quantiles(log_tail, cells)[::-1]

    def partition(self, step: float, low: float, high: float) -> Partition:
        """The same cells."""
        found = self.pair.partition(step, -high, -low)
        return Partition(-found.origin, -found.edges[::-1])
