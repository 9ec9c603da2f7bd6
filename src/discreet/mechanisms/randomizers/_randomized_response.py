"""Randomized response: each person's own report is the truth with a known probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import epsilon_within, level_of, positive_of
from discreet.noise import bernoulli, exp_bounds, uniform_below
from discreet.privacy import Loss, randomized_response
from discreet.rational import Number, rational
from discreet.reprs import call_repr

__all__ = ["Proportions", "RandomizedResponse", "proportions_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Proportions:
    """Estimated proportions, one entry per category; all follow from public reports.

    Attributes
    ----------
    proportions
        Unbiased estimates; they sum to 1 and each can fall outside of 0 … 1.
    variance
        Of each estimate, estimated: that of sampling the population and that of the randomized answers together.
    interval
        Lower and upper ends, within 0 … 1: each category's own, at the stated level.
    level
        The probability with which each interval holds its proportion, at least.
    reports
        How many reports there were.

    Source: ``proofs/randomized_response.md``.
    """

    proportions: NDArray[np.float64]
    variance: NDArray[np.float64]
    interval: tuple[NDArray[np.float64], NDArray[np.float64]]
    level: float
    reports: int


def proportions_of(counts: NDArray[Any], truth: Fraction, lie: Fraction, level: Fraction) -> Proportions:
    """From how often each category was reported, where a report is `truth` likely to be one's own, else `lie` each.

    The intervals are those of Clopper and Pearson 1934 for the share of reports, mapped by λ ↦ (λ − lie)/(truth − lie).
    """
    from scipy.special import betaincinv  # pyright: ignore[reportMissingTypeStubs]

    n = int(counts.sum())
    share, span = counts / n, float(truth - lie)
    rest, miss = n - counts, float(1 - level) / 2
    low = np.where(counts == 0, 0.0, betaincinv(np.maximum(counts, 1), rest + 1, miss))
    high = np.where(rest == 0, 1.0, betaincinv(counts + 1, np.maximum(rest, 1), 1 - miss))
    ends = [np.clip((end - float(lie)) / span, 0.0, 1.0) for end in ((low, high) if span > 0 else (high, low))]
    return Proportions(
        proportions=(share - float(lie)) / span,
        variance=share * (1 - share) / (n * span**2),
        interval=(ends[0], ends[1]),
        level=float(level),
        reports=n,
    )


_MOST_EPSILON = 1000
_LOWERED = 1 - Fraction(1, 2**45)
_MOST_CATEGORIES = 10**15


@dataclass(frozen=True, slots=True, init=False)
class RandomizedResponse:
    """Reports a category 0 … k − 1 as it is with probability `p`, exactly, and else one of the others, uniformly.

    For k = 2 this is Warner's question. Neighbours differ in the category of one person (substitution). Raises
    `ParameterError` unless 0 < p < 1, k is a whole number from 2, and p is not 1/k: such reports tell nothing, and no
    estimate could be made of them. Source: Warner 1965; Kairouz, Bonawitz and Ramage 2016;
    ``proofs/randomized_response.md``.

    >>> question = RandomizedResponse(p=0.75)
    >>> round(question.loss().epsilon(), 4)
    1.0986
    >>> question.estimate([1] * 60 + [0] * 40).proportions.round(3).tolist()
    [0.3, 0.7]
    """

    p: Fraction
    k: int

    __repr__ = call_repr

    def __init__(self, p: Number, k: int = 2) -> None:
        randomized_response(p, k)  # refuses what has no finite loss
        if k > _MOST_CATEGORIES:
            raise ParameterError("k must be at most 10**15")
        object.__setattr__(self, "p", rational(p, "p"))
        object.__setattr__(self, "k", k)
        if self.p == self.lie:
            raise ParameterError("p must not be 1/k: the reports would not depend on the answers; see from_epsilon")

    @classmethod
    def from_epsilon(cls, epsilon: Number, k: int = 2) -> RandomizedResponse:
        """The mechanism of pure ε: p = e^ε / (e^ε + k − 1), a little lower, so that its loss fits ε.

        The ε of p is below the one asked for by 3e-14 of it. Costs no privacy. Raises
        `ParameterError` unless 0 < ε ≤ 1000 and k is a whole number from 2. Source: Kairouz, Bonawitz and Ramage 2016;
        ``proofs/randomized_response.md``.

        >>> RandomizedResponse.from_epsilon(1).loss().epsilon() <= 1
        True
        """
        exact = positive_of(epsilon, "epsilon") * _LOWERED
        if exact > _MOST_EPSILON:
            raise ParameterError("epsilon must be at most 1000")
        randomized_response("0.5", k)  # refuses a k that is not a whole number from 2
        tiny = max(0, -math.floor(math.log2(exact)))
        bits = 128 + tiny + 2 * math.ceil(exact) + 2 * k.bit_length()
        fall = exp_bounds(exact, bits)[1]  # at least 2**bits · e^−ε, so p = 1 / (1 + (k − 1) e^−ε) is rounded down
        one = 1 << bits
        return cls(Fraction(one * one // (one + (k - 1) * fall), one), k)

    @classmethod
    def calibrate(cls, spend: Loss, *, k: int = 2) -> RandomizedResponse:
        """The mechanism with the largest p that the spend allows, in its own currency: ε, (ε, δ), ρ = ε²/2, or μ.

        A spend in (ε, δ) is taken at its ε. Costs no privacy. Raises `ParameterError` as `from_epsilon`, and for a
        spend of nothing. Source: ``proofs/randomized_response.md``.

        >>> from discreet.privacy import pure
        >>> RandomizedResponse.calibrate(pure(1), k=4) == RandomizedResponse.from_epsilon(1, k=4)
        True
        """
        return cls.from_epsilon(epsilon_within(spend, per_rho=2), k)

    @property
    def lie(self) -> Fraction:
        """The probability of each category that is not the true one: (1 − p) / (k − 1)."""
        return (1 - self.p) / (self.k - 1)

    def loss(self) -> Loss:
        """The loss of one person's report: ε = |ln(p(k − 1) / (1 − p))|, whoever sees it.

        Source: Warner 1965; ``proofs/randomized_response.md``.

        >>> RandomizedResponse("0.2").loss()
        randomized_response(0.2)
        """
        return randomized_response(self.p, self.k)

    def release(self, values: ArrayLike) -> NDArray[np.int64]:
        """A report for each value, with fresh randomness each, in the shape of `values`: integers 0 … k − 1.

        Costs each person `loss()` per report about them, **and charges nobody**: this is the raw toolbox. Raises
        `ParameterError`, before anything is drawn, unless the values are integers 0 … k − 1 (or booleans, for k = 2).
        Source: ``proofs/randomized_response.md``.
        """
        truth = self._categories(values, "values")
        honest = bernoulli(self.p, truth.size).reshape(truth.shape)
        other = uniform_below(self.k - 1, truth.size).reshape(truth.shape)
        return np.where(honest, truth, other + (other >= truth))

    def estimate(self, reports: ArrayLike, level: Number = 0.95) -> Proportions:
        """The maximum-likelihood estimate of each category's proportion, with its variance and interval.

        For k = 2 the proportion of 1s is (p − 1)/(2p − 1) + n₁/((2p − 1) n). It is unbiased, and so can fall outside of
        0 … 1. Each interval holds the proportion in the population with probability `level` or more. Works on what was
        reported, so it costs no privacy. Raises `ParameterError` unless there are reports, integers 0 … k − 1, k is
        at most 2**24, and 0 < level < 1. Source: Warner 1965; ``proofs/randomized_response.md``.

        >>> found = RandomizedResponse(0.75).estimate([1] * 600 + [0] * 400)
        >>> low, high = found.interval
        >>> low[1].round(3), found.proportions[1].round(3), high[1].round(3)
        (np.float64(0.638), np.float64(0.7), np.float64(0.761))
        """
        if self.k > 2**24:
            raise ParameterError("an estimate needs k of at most 2**24; use fewer categories")
        categories = self._categories(reports, "reports").ravel()
        if categories.size == 0:
            raise ParameterError("an estimate needs at least one report")
        return proportions_of(np.bincount(categories, minlength=self.k), self.p, self.lie, level_of(level))

    def error(self, level: Number = 0.95, *, reports: int) -> float:
        """How far the estimate of one proportion is from the truth at most, with probability `level` or more.

        Over `reports` people: √(ln(2/(1 − level)) / (2 · reports)) / |p − (1 − p)/(k − 1)|. Does not depend on data and
        costs no privacy. Raises `ParameterError` unless 0 < level < 1 and reports ≥ 1.
        Source: Hoeffding 1963, Theorem 1; ``proofs/randomized_response.md``.

        >>> round(RandomizedResponse(0.75).error(reports=10_000), 3)
        0.027
        """
        if isinstance(reports, bool) or not isinstance(reports, int) or reports < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"reports must be a whole number, 1 or more, got {reports!r}")
        half = math.sqrt(math.log(2 / (1 - level_of(level))) / (2 * reports))
        return half / abs(float(self.p - self.lie)) * (1 + 1e-12)

    def _categories(self, values: ArrayLike, name: str) -> NDArray[Any]:
        array = np.asarray(values)
        if array.dtype.kind == "b" and self.k == 2:
            return array.astype(np.int64)
        if array.size == 0:
            return np.zeros(array.shape, dtype=np.int64)
        if array.dtype.kind not in "iu" or bool((array < 0).any()) or bool((array >= self.k).any()):
            raise ParameterError(f"{name} must be whole numbers from 0 to k - 1 = {self.k - 1}")
        return array.astype(np.int64)
