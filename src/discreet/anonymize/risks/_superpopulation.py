"""Models of how large a population's classes are, fitted to the classes of a sample of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.anonymize.tables import Codes

__all__ = ["Pitman", "PoissonMixture", "Superpopulation", "fit_gamma", "fit_lognormal", "fit_pitman", "misfit"]

_FURTHEST = 20_000
_LARGEST = 60
"""Classes of more rows are counted together: what they are like tells nothing of those of one."""

_Floats = NDArray[np.float64]


class Superpopulation(ABC):
    """How people of a population are spread over classes, and what a class of the sample says of it."""

    @abstractmethod
    def stays_alone(self, rows: int, size: int) -> float:
        """How probable it is that a person who is unique in a sample of `rows` is unique among `size` people."""

    @abstractmethod
    def match(self, count: int, rows: int, size: int) -> float:
        """One divided by the people of the population in a class of which the sample has so many, as is expected."""

    @abstractmethod
    def seen_sizes(self, rows: int) -> _Floats:
        """How probable it is that a class that the sample has has 1, 2, … 60 rows in it."""


@dataclass(frozen=True)
class Pitman(Superpopulation):
    """Pitman's sampling formula: classes are met as people are drawn one by one.

    After n people the next is of a class of f with probability (f − α) / (n + θ), and else of a new one.

    Attributes
    ----------
    alpha
        Between 0 and 1: how heavy the tail of small classes is.
    theta
        Above 0: how many classes there are.
    """

    alpha: float
    theta: float

    def stays_alone(self, rows: int, size: int) -> float:
        """See `Superpopulation.stays_alone`.

        >>> Pitman(0.5, 10.0).stays_alone(100, 100)
        1.0
        """
        from scipy.special import betaln  # pyright: ignore[reportMissingTypeStubs]

        a, b = 1 - self.alpha, self.theta + rows - 1 + self.alpha
        return math.exp(float(betaln(a, b + size - rows) - betaln(a, b)))

    def match(self, count: int, rows: int, size: int) -> float:
        """See `Superpopulation.match`.

        The others of the class are beta-binomial. Those beyond 20,000 count as so many, which adds 5e-5 at most.

        >>> Pitman(0.5, 10.0).match(2, 100, 100)
        0.5
        """
        from scipy.special import betaln, gammaln  # pyright: ignore[reportMissingTypeStubs]

        left = size - rows
        more = np.arange(min(left, _FURTHEST) + 1)
        a, b = count - self.alpha, self.theta + rows - count + self.alpha
        chosen = gammaln(left + 1) - gammaln(more + 1) - gammaln(left - more + 1)
        probability = np.exp(chosen + betaln(more + a, left - more + b) - betaln(a, b))
        beyond = max(1 - float(probability.sum()), 0.0)
        expected = float((probability / (count + more)).sum()) + beyond / (count + len(more))
        return min(expected, 1 / count)

    def seen_sizes(self, rows: int) -> _Floats:
        """See `Superpopulation.seen_sizes`: what is expected of each size, over all classes.

        >>> bool(np.isclose(Pitman(0.3, 5.0).seen_sizes(50).sum(), 1))
        True
        """
        from scipy.special import digamma, gammaln  # pyright: ignore[reportMissingTypeStubs]

        a, t = self.alpha, self.theta
        counts = np.arange(1.0, min(rows, _LARGEST) + 1)
        ways = gammaln(rows + 1) - gammaln(counts + 1) - gammaln(rows - counts + 1)
        joined = gammaln(counts - a) - gammaln(1 - a)
        others = gammaln(t + rows - counts + a) - gammaln(t + a) - gammaln(t + rows) + gammaln(t + 1)
        if a < 1e-5:
            classes = t * float(digamma(t + rows) - digamma(t))
        else:
            grown = gammaln(t + a + rows) - gammaln(t + a) - gammaln(t + rows) + gammaln(t)
            classes = t / a * math.expm1(float(grown))
        return np.exp(ways + joined + others) / classes


@dataclass(frozen=True, eq=False, repr=False)
class PoissonMixture(Superpopulation):
    """Each class is met as often as a Poisson number says, by a rate of its own.

    Attributes
    ----------
    rates
        What is expected of a class in the sample.
    weights
        The share of classes of each rate.
    """

    rates: _Floats
    weights: _Floats

    def stays_alone(self, rows: int, size: int) -> float:
        """See `Superpopulation.stays_alone`."""
        return float(self._posterior(1) @ np.exp(-self.rates * (size - rows) / rows))

    def match(self, count: int, rows: int, size: int) -> float:
        """See `Superpopulation.match`.

        A class of more than 60 has as many others for each of it as the sample has.
        """
        if count > _LARGEST:
            return rows / (size * count)
        return float(self._posterior(count) @ _inverse_mean(count, self.rates * (size - rows) / rows))

    def seen_sizes(self, rows: int) -> _Floats:  # noqa: ARG002
        """See `Superpopulation.seen_sizes`."""
        return _poisson(self.rates) @ self.weights / (1 - np.exp(-self.rates) @ self.weights)

    def _posterior(self, count: int) -> _Floats:
        """The share of each rate among the classes of which the sample has so many."""
        logs = count * np.log(self.rates) - self.rates
        likely = self.weights * np.exp(logs - logs.max())
        return likely / likely.sum()


def _poisson(rates: _Floats) -> _Floats:
    from scipy.special import gammaln  # pyright: ignore[reportMissingTypeStubs]

    counts = np.arange(1.0, _LARGEST + 1)[:, None]
    return np.exp(counts * np.log(rates) - rates - gammaln(counts + 1))


def _inverse_mean(count: int, others: _Floats) -> _Floats:
    """The mean of 1 / (count + R), where R is Poisson: the integral of (1 − u)^(count − 1) exp(−others·u) over [0, 1].

    >>> bool(np.isclose(_inverse_mean(1, np.array([2.0]))[0], (1 - math.exp(-2)) / 2))
    True
    """
    points, weights = np.polynomial.legendre.leggauss(48)
    end = np.minimum(40 / np.maximum(count - 1 + others, 1e-9), 1.0)[:, None]
    u = end * (points + 1) / 2
    return ((1 - u) ** (count - 1) * np.exp(-others[:, None] * u) * weights).sum(axis=1) * end[:, 0] / 2


def misfit(model: Superpopulation, sizes: Codes) -> float:
    """The negative log-likelihood of the sizes of a sample's classes, each by itself; those above 60 are one size."""
    return _misfit(_counted(sizes), model.seen_sizes(int(sizes.sum())))


def _counted(sizes: Codes) -> Codes:
    """How many classes have 1, 2, … 60 rows, and how many more."""
    return np.bincount(np.minimum(sizes, _LARGEST + 1), minlength=_LARGEST + 2)[1:]


def _misfit(counts: Codes, seen: _Floats) -> float:
    probability = np.zeros(_LARGEST + 1)
    probability[: len(seen)] = seen
    probability[-1] = 1 - seen.sum()
    return -float(counts @ np.log(np.maximum(probability, 1e-12)))


def fit_pitman(sizes: Codes) -> Pitman:
    """Fit Pitman's formula by likelihood.

    Source: Hoshino 2001, Applying Pitman's sampling formula to microdata disclosure risk assessment.

    >>> fit_pitman(np.array([1, 1, 1, 1, 2, 3])).alpha > fit_pitman(np.array([1, 4, 4])).alpha
    True
    """
    from scipy.special import gammaln  # pyright: ignore[reportMissingTypeStubs]

    rows, classes = int(sizes.sum()), len(sizes)
    if classes == rows:
        return Pitman(1 - 1e-12, 1.0)  # nobody was met twice: the likelihood grows until all are unique
    listed, counts = np.unique(sizes, return_counts=True)
    steps = np.arange(1, classes)

    def loss(point: _Floats) -> float:
        alpha, theta = _parameters(point)
        joined = counts @ (gammaln(listed - alpha) - gammaln(1 - alpha))
        opened = np.log(theta + steps * alpha).sum()
        value = opened + joined - gammaln(theta + rows) + gammaln(theta + 1)
        return -float(value) if np.isfinite(value) else math.inf

    return Pitman(*_parameters(_lowest(loss, [(a, math.log(t)) for a in (-2.0, 0.0, 2.0) for t in (1.0, 100.0)])))


def _parameters(point: _Floats) -> tuple[float, float]:
    """α within (0, 1) and θ above 0, of a point of the plane."""
    alpha = 1 / (1 + math.exp(-float(np.clip(point[0], -30, 30))))
    return min(alpha, 1 - 1e-9), math.exp(float(np.clip(point[1], -30, 30)))


def fit_gamma(sizes: Codes) -> PoissonMixture:
    """Fit rates that are gamma-distributed, by likelihood: classes are negative binomial.

    Source: Bethlehem, Keller and Pannekoek 1990, Disclosure control of microdata.
    """

    def density(point: _Floats) -> _Floats:
        shape, mean = math.exp(float(np.clip(point[0], -12, 6))), math.exp(float(np.clip(point[1], -20, 12)))
        return shape * np.log(_rates() / mean) - _rates() * shape / mean

    return _fit_mixture(sizes, density, [(s, m) for s in (-2.0, 0.0, 2.0) for m in (-3.0, 0.0, 2.0)])


def fit_lognormal(sizes: Codes) -> PoissonMixture:
    """Fit rates that are log-normal, by likelihood.

    Source: Skinner and Holmes 1993, Modelling population uniqueness.
    """

    def density(point: _Floats) -> _Floats:
        return -(((np.log(_rates()) - point[0]) / math.exp(float(np.clip(point[1], -3, 4)))) ** 2) / 2

    return _fit_mixture(sizes, density, [(m, s) for m in (-4.0, -1.0, 1.0) for s in (0.0, 1.0)])


@cache
def _rates() -> _Floats:
    return np.exp(np.linspace(math.log(1e-7), math.log(1e4), 400))


def _fit_mixture(
    sizes: Codes, density: Callable[[_Floats], _Floats], starts: list[tuple[float, float]]
) -> PoissonMixture:
    def mixture(point: _Floats) -> PoissonMixture:
        logs = density(point)
        weights = np.exp(logs - logs.max())
        return PoissonMixture(_rates(), weights / weights.sum())

    table, unseen = _poisson(_rates()), np.exp(-_rates())
    counts = _counted(sizes)

    def loss(point: _Floats) -> float:
        weights = mixture(point).weights
        return _misfit(counts, table @ weights / max(1 - float(unseen @ weights), 1e-12))

    return mixture(_lowest(loss, starts))


def _lowest(loss: Callable[[_Floats], float], starts: list[tuple[float, float]]) -> _Floats:
    from scipy.optimize import minimize

    ends: list[Any] = [minimize(loss, np.array(start), method="Nelder-Mead") for start in starts]
    return ends[int(np.argmin([float(end.fun) for end in ends]))].x
