"""A pair of finite distributions given by their probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import fsum
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy._pld._pair import ROUNDING, Cells, Lattice, Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy._pld._measure import Measure
    from discreet.privacy._pld._pair import Floats


LEAST = 1e-300
Mass = float | Fraction | int


def _empty() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True)
class FinitePair:
    """P and Q on the same finite set, entry by entry; `error` bounds the relative error of every entry.

    Entries are Fractions, or floats that are right within `error`. An entry where Q is 0 has infinite loss. A zero that
    is no float is exact; floats of at most `LEAST` may have lost digits or be more than they say, and count as zeros in
    the upper bound and as nothing in the lower one.
    Masses of at most `defect` may have been left out of P and of Q; the upper bound puts them at infinite loss.
    """

    p: tuple[Mass, ...]
    q: tuple[Mass, ...]
    error: float = 4 * ROUNDING
    defect: float = 0.0
    _loss: Floats = field(init=False, repr=False, compare=False, default_factory=_empty)
    _p: Floats = field(init=False, repr=False, compare=False, default_factory=_empty)
    _q: Floats = field(init=False, repr=False, compare=False, default_factory=_empty)

    def __post_init__(self) -> None:
        """Sort the atoms by loss, once."""
        p = np.array([float(each) for each in self.p])
        q = np.array([float(each) for each in self.q])
        both = (p > LEAST) & (q > LEAST)
        p, q = p[both], q[both]
        loss = np.log(p) - np.log(q)
        close = np.abs(p - q) < 0.5 * q
        loss[close] = np.log1p((p[close] - q[close]) / q[close])
        order = np.argsort(loss, kind="stable")
        for name, value in (("_loss", loss[order]), ("_p", p[order]), ("_q", q[order])):
            object.__setattr__(self, name, value)

    @property
    def infinity(self) -> tuple[float, float]:
        """P where Q is 0."""
        return self._alone(self.p, self.q)

    @property
    def missing(self) -> tuple[float, float]:
        """Q where P is 0."""
        return self._alone(self.q, self.p)

    def _alone(self, mass: Sequence[Mass], other: Sequence[Mass]) -> tuple[float, float]:
        slack = self.error + 4 * ROUNDING
        sure = fsum(float(a) for a, b in zip(mass, other, strict=True) if b == 0 and not isinstance(b, float))
        possible = fsum(float(a) for a, b in zip(mass, other, strict=True) if float(b) <= LEAST)
        return sure * (1 - slack), possible * (1 + slack) + self.defect

    @property
    def bounded(self) -> bool:
        """Always."""
        return True

    @property
    def symmetric(self) -> bool:
        """Whether exchanging P and Q permutes the entries."""
        there = sorted(zip(self.p, self.q, strict=True))
        return there == sorted(zip(self.q, self.p, strict=True))

    @property
    def lattice(self) -> Lattice | None:
        """The common spacing of the losses, if they have one that is not finer than a 4096th of their span."""
        loss = self._loss
        gaps = np.diff(loss)
        gaps = gaps[gaps > 1e-13 * max(1e-300, float(np.ptp(loss)) if len(loss) else 0.0)]
        if len(loss) == 0 or len(gaps) == 0:
            return Lattice(float(loss[0]) if len(loss) else 0.0, 1.0, only_atoms=True)
        spacing, span = float(gaps.min()), float(np.ptp(loss))
        for divisor in range(1, 5):
            steps = np.round((loss - loss[0]) / spacing * divisor)
            fine = span / float(steps[-1])
            if steps[-1] <= 4096 and np.all(np.abs(loss[0] + steps * fine - loss) < 1e-12 * span):
                return Lattice(float(loss[0]), fine, only_atoms=True)
        return None

    def span(self, log_tail: float) -> tuple[float, float]:
        """The least and the largest finite loss, but for P-masses of at most e**log_tail at either end."""
        if len(self._loss) == 0:
            return 0.0, 0.0
        tail = float(np.exp(log_tail))
        kept = np.flatnonzero((np.cumsum(self._p) > tail) & (np.cumsum(self._p[::-1])[::-1] > tail))
        return (float(self._loss[kept[0]]), float(self._loss[kept[-1]])) if len(kept) else self.span(-np.inf)

    def cells(self, edges: Floats) -> Cells:
        """Atoms counted in cells; their losses are right within 2 `error` and a few round-offs."""
        where = np.searchsorted(edges, self._loss)
        size = len(edges) + 1
        p: Floats = np.bincount(where, self._p, size).astype(np.float64)
        q: Floats = np.bincount(where, self._q, size).astype(np.float64)
        factor = self.error + ROUNDING * len(self._loss)
        biggest = float(np.max(np.abs(self._loss), initial=0.0))
        return Cells(p, q, factor * p, factor * q, 4 * self.error + 8 * ROUNDING * (1 + biggest))

    def measures(self, step: float) -> tuple[Measure, Measure] | None:  # noqa: ARG002
        """No closed form."""
        return None

    def quantiles(self, log_tail: float, cells: int) -> Floats:  # noqa: ARG002  the loss is bounded
        """Between the atoms, or between some of them."""
        between = (self._loss[1:] + self._loss[:-1]) / 2
        return between[:: max(1, len(between) // cells)] if len(between) else self._loss + 1.0

    def partition(self, step: float, low: float, high: float) -> Partition:
        """Cells centred on the lattice, or else on the heaviest atom."""
        lattice = self.lattice
        if len(self._loss):
            low, high = max(low, float(self._loss[0])), min(high, float(self._loss[-1]))
        heaviest = float(self._loss[int(np.argmax(self._p))]) if len(self._loss) else 0.0
        origin = lattice.origin if lattice else heaviest
        first, last = np.floor((low - origin) / step) - 1, np.ceil((high - origin) / step) + 1
        return Partition(origin, origin + step * (np.arange(first, last) + 0.5))
