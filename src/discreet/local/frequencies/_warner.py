"""Warner's randomized response: a survey with a sensitive yes-or-no question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal, longitudinal_of
from discreet.local._domain import Domain
from discreet.local._estimate import SupportEstimate
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local.frequencies._supports import SupportScheme, add_cells
from discreet.mechanisms import RandomizedResponse
from discreet.noise import Draws
from discreet.privacy import Loss, randomized_response
from discreet.rational import Number, rational

__all__ = ["Information", "Survey", "Warner", "information_of"]


@dataclass(frozen=True, slots=True)
class Information:
    """The answer Y of a person whose truth X is yes with the prior probability: what Y reveals about X on average.

    Attributes
    ----------
    before
        H(X): what is not known of X before the answer.
    after
        H(X | Y): what is not known of X after it, on average; never more than `before`.
    mutual_information
        I(X; Y) = H(X) − H(X | Y): what the answer reveals on average. For the worst case over all priors and answers
        see the loss.
    if_yes, if_no
        The probability that X is yes, after the answer yes and after the answer no.
    """

    before: float
    after: float
    mutual_information: float
    if_yes: float
    if_no: float


def information_of(prior: float, p: float) -> Information:
    """The information of one answer with truth probability `p`, for a prior strictly between 0 and 1.

    H(X | Y) = H(X) + H(Y | X) − H(Y), with H(Y | X) = h(p) and P(Y = yes) = prior·p + (1 − prior)(1 − p).
    Source: Cover and Thomas 2006, Theorem 2.4.1.
    """
    yes = prior * p + (1 - prior) * (1 - p)
    before, noise, answer = _entropy(prior), _entropy(p), _entropy(yes)
    mutual = max(answer - noise, 0.0)
    return Information(before, max(before - mutual, 0.0), mutual, prior * p / yes, prior * (1 - p) / (1 - yes))


def _entropy(p: float) -> float:
    return -sum(each * math.log2(each) for each in (p, 1 - p) if each > 0)


_LEAST_GAP = Fraction(1, 10**12)


@dataclass(frozen=True, slots=True, eq=False)
class Survey(SupportEstimate):
    """The estimate of a survey; `frequencies`, `counts` and the interval list no first, then yes.

    Attributes
    ----------
    share
        The share of yes, π̂ = (p − 1)/(2p − 1) + n₁/((2p − 1)n) for n₁ answers of yes: unbiased, and the likeliest share
        unless it falls outside of 0 … 1.
    variance
        Its variance over the choice of people from a large population and over their coins, estimated:
        π(1 − π)/n + p(1 − p)/(n(2p − 1)²). `stderr` is over the coins alone.
    yes
        The share as a number of people, N̂ = n·π̂.
    """

    @property
    def share(self) -> float:
        return float(self.frequencies[1])

    @property
    def variance(self) -> float:
        yes_share = float(self.supports[1]) / self.reports
        return yes_share * (1 - yes_share) / (self.reports * (self.p - self.q) ** 2)

    @property
    def yes(self) -> float:
        return float(self.counts[1])


@dataclass(frozen=True, slots=True, init=False)
class Warner(SupportScheme):
    """Answers a yes-or-no question with the truth with probability `p`, and else with the opposite.

    ε = |ln(p / (1 − p))|, whoever sees the answer: for p = 0.2 it is 1.386, as for 0.8. A report is one byte. Raises
    `ParameterError` unless 0 < p < 1 and for p = 1/2, or nearly so, where the answers are pure chance and nothing can
    be estimated.
    Source: Warner 1965; ``proofs/randomized_response.md``.

    >>> scheme = Warner(p="0.75")
    >>> estimate = scheme.server().add(scheme.client().encode([True] * 300 + [False] * 700)).estimate()
    >>> low, high = estimate.interval(level=0.999999)
    >>> bool(low[1] <= 0.3 <= high[1])
    True
    """

    protocol: ClassVar[str] = "warner"

    p: Fraction
    longitudinal: Longitudinal
    domain: Domain
    epsilon: Fraction

    def __init__(self, p: Number, *, longitudinal: Longitudinal = "once") -> None:
        exact = rational(p, "p")
        loss = randomized_response(exact, 2)  # refuses what has no finite loss
        if abs(exact - Fraction(1, 2)) < _LEAST_GAP:
            raise ParameterError(
                "p must not be 1/2, nor within 1e-12 of it: the answers would be pure chance; see Warner.from_epsilon"
            )
        object.__setattr__(self, "p", exact)
        object.__setattr__(self, "longitudinal", longitudinal_of(longitudinal))
        object.__setattr__(self, "domain", Domain(2))
        object.__setattr__(self, "epsilon", Fraction(loss.epsilon()))

    @classmethod
    def from_epsilon(cls, epsilon: Number, *, longitudinal: Longitudinal = "once") -> Warner:
        """The question with the largest p that costs at most `epsilon`, p = e^ε/(e^ε + 1), a little lower.

        Raises `ParameterError` unless ε ≤ 1000, and for ε below 1e-11 or so, where nothing can be estimated.

        >>> round(float(Warner.from_epsilon(1).p), 4)
        0.7311
        """
        return cls(RandomizedResponse.from_epsilon(epsilon).p, longitudinal=longitudinal)

    @property
    def loss(self) -> Loss:
        """ε = |ln(p / (1 − p))| of one answer."""
        return randomized_response(self.p, 2)

    @property
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """The probabilities p of the true answer and 1 − p of the opposite one."""
        return self.p, 1 - self.p

    @property
    def layout(self) -> Layout:
        """0 for no, 1 for yes."""
        return Layout((2,))

    @property
    def cells(self) -> int:
        """Answers of no, answers of yes."""
        return 2

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, as JSON has them."""
        return {"p": str(self.p)}

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A coin for each person."""
        answers = np.where(draws.coins(self.p, prepared.size), prepared, 1 - prepared)
        return self.layout.pack(answers)

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count the answers."""
        add_cells(fields.numbers[0], counts)

    def supports(self, counts: Integers) -> Integers:
        """An answer supports what it says."""
        return counts.copy()

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> Survey:
        """Warner's estimate."""
        estimate = SupportScheme.read(self, counts, reports, candidates)
        shares, stderr, answers = estimate.frequencies, estimate.stderr, self.supports(counts)
        return Survey(estimate.domain, reports, shares, stderr, answers, float(self.p), float(1 - self.p))

    def information(self, prior: Number) -> Information:
        """What one answer reveals, in bits, on average over a person who is a yes with the given prior probability.

        Does not depend on data and costs no privacy. Raises `ParameterError` unless 0 < prior < 1.
        Source: Cover and Thomas 2006, Section 2.3.

        >>> information = Warner(p="0.75").information(prior="0.1")
        >>> round(information.before, 4), round(information.after, 4), round(information.if_yes, 4)
        (0.469, 0.399, 0.25)
        """
        exact = rational(prior, "prior")
        if not 0 < exact < 1:
            raise ParameterError(f"prior must be between 0 and 1, got {prior!r}")
        return information_of(float(exact), float(self.p))
