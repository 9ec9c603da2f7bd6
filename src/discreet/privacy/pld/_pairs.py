"""What the numeric accountant asks of a mechanism: the masses of two distributions between given privacy losses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    Floats = NDArray[np.floating[Any]]


ROUNDING = 2.0**-53  # unit round-off u of IEEE double arithmetic


@dataclass(frozen=True)
class Cells:
    """P- and Q-masses of the events L <= e_0, e_0 < L <= e_1, ..., e_{n-1} < L < inf, where L = ln dP/dQ.

    Every array has one entry more than there are edges. `p_error` and `q_error` bound the absolute errors of `p` and
    `q`. The cut that was made lies within `edge_error` (in units of loss) of the edge that was asked for; `p` and `q`
    always describe the same event, so a lower bound needs no `edge_error`.
    """

    p: Floats
    q: Floats
    p_error: Floats
    q_error: Floats
    edge_error: float = 0.0


@dataclass(frozen=True)
class Lattice:
    """The atoms of the loss lie on origin + spacing * integer; with `only_atoms` nothing lies elsewhere."""

    origin: float
    spacing: float
    only_atoms: bool


@dataclass(frozen=True)
class Partition:
    """Cut points for the lower bound: `edges` of the cells, whose merged losses should lie near origin + step * Z."""

    origin: float
    edges: Floats


class Pair(Protocol):
    """A dominating pair (P, Q) of a mechanism; L = ln dP/dQ is the privacy loss.

    By convention P is the output on the larger data set and Q on the smaller one (removal of a record); the other
    direction is `Swapped`.
    """

    @property
    def infinity(self) -> tuple[float, float]:
        """Lower and upper bound on the P-mass where Q has none."""
        ...

    @property
    def missing(self) -> tuple[float, float]:
        """Lower and upper bound on the Q-mass where P has none."""
        ...

    @property
    def symmetric(self) -> bool:
        """Whether (Q, P) has the same loss distribution as (P, Q)."""
        ...

    @property
    def bounded(self) -> bool:
        """Whether `span` gives the largest finite loss, up to round-off."""
        ...

    @property
    def lattice(self) -> Lattice | None:
        """Where heavy atoms of the loss lie; None when there are none, or when they lie on no lattice."""
        ...

    def span(self, log_tail: float) -> tuple[float, float]:
        """Return losses outside which both masses are about e**log_tail. Only a hint: what is outside is charged."""
        ...

    def cells(self, edges: Floats) -> Cells:
        """Return the masses between increasing losses `edges`."""
        ...

    def measures(self, step: float) -> tuple[Measure, Measure] | None:
        """Return a lower and an upper measure on a grid of that step where closed forms are known."""
        ...

    def quantiles(self, log_tail: float, cells: int) -> Floats:
        """Return about that many cuts, fine where the loss has structure. Only for choosing tilts and meshes."""
        ...

    def partition(self, step: float, low: float, high: float) -> Partition:
        """Return cells from `low` to `high` whose merged losses lie close to a grid of that step."""
        ...


@dataclass(frozen=True)
class Measure:
    """Mass `mass[i]` at loss origin + step * (first + i), and `infinity` at +inf.

    Of a lower bound, `folded` bounds how much of the tilted total may be false.

    A bound, not a distribution: totals may be a little above or below one.
    """

    origin: float
    step: float
    first: int
    mass: Floats
    infinity: float
    folded: float = 0.0

    def losses(self) -> Floats:
        """Where the masses lie."""
        return self.origin + self.step * (self.first + np.arange(len(self.mass)))

    def trimmed(self) -> Measure:
        """Without zeros at the ends."""
        nonzero = np.flatnonzero(self.mass)
        if len(nonzero) == 0:
            return Measure(self.origin, self.step, self.first, np.zeros(1), self.infinity)
        return Measure(
            self.origin, self.step, self.first + int(nonzero[0]), self.mass[nonzero[0] : nonzero[-1] + 1], self.infinity
        )
