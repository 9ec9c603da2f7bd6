"""The distribution of a number, found from the cells that people reported."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import ParameterError
from discreet.local._estimate import Floats
from discreet.local._reports import Integers
from discreet.local.numbers._window import Window
from discreet.rational import Number, rational

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Distribution", "most_likely"]

_ROUNDS = 10_000
_GAIN = 1e-3
"""Expectation maximisation stops when the log-likelihood gains less."""


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """Shares of people over equal bins between two bounds. It follows from reports alone; it is not unbiased.

    Attributes
    ----------
    low, high
        The bounds.
    reports
        How many reports there were.
    shares
        The share of each bin: 0 or more, and 1 in all.
    """

    low: float
    high: float
    reports: int
    shares: Floats

    @property
    def edges(self) -> Floats:
        """The ends of the bins, one more than there are bins."""
        return np.linspace(self.low, self.high, self.shares.size + 1)

    @property
    def mean(self) -> float:
        """The mean, were each bin's people at its middle."""
        edges = self.edges
        return float(self.shares @ (edges[1:] + edges[:-1]) / 2)

    def quantile(self, q: Number) -> float:
        """The number that a share `q` of people is below, were each bin's people spread evenly over it.

        Raises `ParameterError` unless 0 ≤ q ≤ 1.
        """
        exact = rational(q, "q")
        if not 0 <= exact <= 1:
            raise ParameterError(f"q must be from 0 to 1, got {q!r}")
        return float(np.interp(float(exact), self._cumulated(), self.edges))

    def cdf(self, value: Number) -> float:
        """The share of people at or below a value, were each bin's people spread evenly over it."""
        return float(np.interp(float(rational(value, "value")), self.edges, self._cumulated()))

    def to_arrow(self) -> pa.Table:
        """A table: low and high of each bin, and its share."""
        import pyarrow as pa

        edges = self.edges
        columns = {"low": edges[:-1], "high": edges[1:], "share": self.shares}
        return pa.table({name: pa.array(each) for name, each in columns.items()})

    def _cumulated(self) -> Floats:
        cumulated = np.concatenate(([0.0], np.cumsum(self.shares)))
        return np.minimum(cumulated, 1.0)


def most_likely(counts: Integers, window: Window, *, smooth: bool) -> Floats:
    """The shares of positions under which the counted cells are likeliest; smoothed, each round ends with (1, 2, 1)/4.

    Source: Li et al. 2020, Section 5 (EM and EMS). The log-likelihood is concave, so without smoothing this tends to
    its maximum. A round goes over the cells a few times, as sums over windows are differences of cumulated sums:
    ``proofs/local_numbers.md``, section 5.
    """
    gain, size, width = float(window.exp_epsilon - 1), window.positions, window.width
    shares = np.full(size, 1 / size)
    before = -math.inf
    for _ in range(_ROUNDS):
        ahead = np.concatenate((np.zeros(width), np.cumsum(shares), np.full(width - 1, shares.sum())))
        likely = shares.sum() + gain * (ahead[width:] - ahead[:-width])
        likelihood = float(counts @ np.log(likely))
        if likelihood - before < _GAIN:
            break
        before = likelihood
        ratio = np.concatenate(([0.0], np.cumsum(counts / likely)))
        shares = shares * (ratio[-1] + gain * (ratio[width:] - ratio[:-width]))
        if smooth:
            padded = np.concatenate((shares[:1], shares, shares[-1:]))
            shares = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
        shares /= shares.sum()
    return shares
