"""A pair of finite distributions given by their probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, exp, expm1, fsum
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy.pld._pairs import ROUNDING, Cells, Lattice, Partition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.privacy.pld._pairs import Floats, Measure


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
        inside = np.flatnonzero((np.cumsum(self._p) > tail) & (np.cumsum(self._p[::-1])[::-1] > tail))
        return (float(self._loss[inside[0]]), float(self._loss[inside[-1]])) if len(inside) else self.span(-np.inf)

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


def approximate_pair(epsilon: float, delta: float | Fraction = 0) -> FinitePair:
    """Return the pair that dominates every (epsilon, delta)-DP mechanism.

    Kairouz, Oh and Viswanath 2015, Section 3: with probability delta the answer gives the record away, otherwise it is
    randomized response with e^epsilon : 1.
    """
    likely, unlikely, rest = 1 / (1 + exp(-epsilon)), exp(-epsilon) / (1 + exp(-epsilon)), 1 - Fraction(delta)
    intact = float(rest)
    revealed = float(delta)
    return FinitePair(
        (revealed, intact * likely, intact * unlikely, 0),
        (0, intact * unlikely, intact * likely, revealed),
        error=ROUNDING * (16 + 4 * epsilon),
    )


def response_pair(truth: float | Fraction, answers: int = 2) -> FinitePair:
    """Return k-ary randomized response that tells the truth with probability `truth` (Kairouz, Bonawitz, Ramage 2016).

    Neighbours are two different true answers; the other k - 2 answers have loss zero and count as one.
    """
    share = (1 - Fraction(truth)) / (answers - 1)
    rest = (share * (answers - 2),) if answers > 2 and share > 0 else ()
    return FinitePair((Fraction(truth), share, *rest), (share, Fraction(truth), *rest))


def bounded_range_pair(epsilon: float, top: float) -> FinitePair:
    """Return the two-point pair with losses `top` and `top - epsilon`, 0 <= top <= epsilon.

    The losses of a bounded-range mechanism on one pair of neighbours lie in an interval of length epsilon; the worst is
    two-point (Dong, Durfee and Rogers 2020, Lemma 4.2). Which `top` is worst depends on what is asked, so this is one
    member of a family. For composition that is not adaptive.
    """
    if epsilon == 0:
        return FinitePair((1.0,), (1.0,))
    above, below = expm1(top - epsilon) / expm1(-epsilon), exp(top - epsilon) * expm1(-top) / expm1(-epsilon)
    return FinitePair(
        (above, below), (above * exp(-top), below * exp(epsilon - top)), error=ROUNDING * (32 + 8 * epsilon)
    )


def _sampled(p: list[float], q: list[float], rate: float, error: float, defect: float = 0.0) -> FinitePair:
    mixed = tuple((1 - rate) * b + rate * a for a, b in zip(p, q, strict=True)) if rate < 1 else tuple(p)
    return FinitePair(mixed, tuple(q), error=error + 8 * ROUNDING, defect=defect)


def discrete_laplace_pair(scale: float, sensitivity: int = 1, rate: float = 1.0) -> FinitePair:
    """Return noise P(X = x) ~ e^{-|x|/scale} on the integers, shifted by `sensitivity` against unshifted.

    Exact: all outcomes x <= 0 have loss -sensitivity/scale and all x >= sensitivity have loss +sensitivity/scale, so
    sensitivity + 1 atoms are left. With r = e^{-1/scale}, P(X <= -k) = r^k / (1 + r) for k >= 0.
    """
    a, s = 1 / scale, sensitivity
    norm = 1 + exp(-a)
    near = [-expm1(-a) * exp(-a * abs(x)) / norm for x in range(1, s)]
    end, other = 1 / norm, exp(-a * s) / norm
    return _sampled([other, *near[::-1], end], [end, *near, other], rate, ROUNDING * (24 + 8 * a * s))


LOG_TAIL = 300.0


def discrete_gaussian_pair(sigma: float, sensitivity: int = 1, rate: float = 1.0) -> FinitePair:
    """Return noise P(X = x) ~ e^{-x^2/(2 sigma^2)} on the integers, shifted by `sensitivity` against unshifted.

    Outcomes further than K = sigma sqrt(600) + 1 from either centre are dropped. The lighter of the two masses there is
    below e^-300 of one; the heavier is near it too unless the shift is large against sigma, in which case the drop is
    widened by the shift. What is dropped is charged as `defect`.
    """
    reach = ceil(sigma * (2 * LOG_TAIL) ** 0.5) + 1
    x = np.arange(-reach, reach + sensitivity + 1, dtype=float)
    norm = float(np.sum(np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)))
    exponent_q, exponent_p = -0.5 * (x / sigma) ** 2, -0.5 * ((x - sensitivity) / sigma) ** 2
    q, p = np.exp(np.maximum(exponent_q, -800)) / norm, np.exp(np.maximum(exponent_p, -800)) / norm
    q, p = np.where(exponent_q < -690, 0.0, q), np.where(exponent_p < -690, 0.0, p)
    defect = 4 * exp(-LOG_TAIL)
    return _sampled(p.tolist(), q.tolist(), rate, ROUNDING * (64 + 8 * LOG_TAIL), defect)
