"""The leaves of a loss: one definition or one mechanism each. Numbers are exact fractions.

A node is checked when it is made, however it is made, and raises `ParameterError` naming the argument and its range.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from discreet.errors import ParameterError
from discreet.privacy.losses._base import Loss
from discreet.privacy.losses._validation import LEAST, check_costs, check_noise, check_whole, fraction_in

__all__ = [
    "Approx",
    "BoundedRange",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Gaussian",
    "Laplace",
    "Mu",
    "NonAdaptive",
    "Pure",
    "RandomizedResponse",
    "Rdp",
    "Rho",
    "Tradeoff",
]

_MOST_RENYI = Fraction(10) ** 100
_LEAST_MASS = Fraction(1, 10**300)


@dataclass(frozen=True, slots=True)
class Pure(Loss):
    """Pure ε-differential privacy."""

    eps: Fraction

    def __post_init__(self) -> None:
        check_costs(self, "eps")


@dataclass(frozen=True, slots=True)
class Approx(Loss):
    """(ε, δ)-differential privacy."""

    eps: Fraction
    at_delta: Fraction

    def __post_init__(self) -> None:
        check_costs(self, "eps", "at_delta")


@dataclass(frozen=True, slots=True)
class Rho(Loss):
    """δ-approximate ρ-zero-concentrated differential privacy (Bun and Steinke 2016, Definition 8.1)."""

    r: Fraction
    at_delta: Fraction

    def __post_init__(self) -> None:
        check_costs(self, "r", "at_delta")


@dataclass(frozen=True, slots=True)
class Mu(Loss):
    """μ-Gaussian differential privacy off an event of probability δ. It holds μ², which is what adds up."""

    squared: Fraction
    at_delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        check_costs(self, "squared", "at_delta")
        if self.squared and self.squared < LEAST * LEAST:
            raise ParameterError("mu must be 0 or at least 1e-100")


@dataclass(frozen=True, slots=True)
class Rdp(Loss):
    """Rényi differential privacy at some orders."""

    orders: tuple[Fraction, ...]
    values: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        if not self.orders or len(self.orders) != len(self.values):
            raise ParameterError(
                f"orders and values must be equally many, 1 or more, got {len(self.orders)} and {len(self.values)}"
            )
        for number in (*self.orders, *self.values):
            if type(number) is not Fraction or not 0 <= number <= _MOST_RENYI:
                raise ParameterError("orders and values must be Fractions in a node, from 0 to 1e100")
        if self.orders[0] <= 1 or any(a >= b for a, b in pairwise(self.orders)):
            raise ParameterError("orders must be greater than 1 and increase")


@dataclass(frozen=True, slots=True)
class Gaussian(Loss):
    """Continuous Gaussian noise; `noise` is its standard deviation over the L2 sensitivity."""

    noise: Fraction

    def __post_init__(self) -> None:
        check_noise(self, "noise")


@dataclass(frozen=True, slots=True)
class Laplace(Loss):
    """Continuous Laplace noise; `scale` is its scale over the L1 sensitivity."""

    scale: Fraction

    def __post_init__(self) -> None:
        check_noise(self, "scale")


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Loss):
    """Noise on the integers with weight exp(−abs(x)/scale), and a value that moves by at most `sensitivity` steps."""

    scale: Fraction
    sensitivity: int

    def __post_init__(self) -> None:
        check_noise(self, "scale")
        check_whole(self, "sensitivity")


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Loss):
    """Noise on the integers with weight exp(−x²/2σ²), and a value that moves by at most `sensitivity` steps."""

    sigma: Fraction
    sensitivity: int

    def __post_init__(self) -> None:
        check_noise(self, "sigma")
        check_whole(self, "sensitivity")


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Loss):
    """The true one of `k` values with probability `p`, else another one, uniformly."""

    p: Fraction
    k: int

    def __post_init__(self) -> None:
        if not LEAST <= fraction_in(self, "p") <= 1 - LEAST:
            raise ParameterError(
                "p must be greater than 0 and less than 1, by 1e-100 at least: a certain answer has no finite epsilon"
            )
        check_whole(self, "k", 2)


@dataclass(frozen=True, slots=True)
class BoundedRange(Loss):
    """ε-bounded range: the privacy losses of all outcomes lie in an interval of length ε (exponential mechanism)."""

    eps: Fraction

    def __post_init__(self) -> None:
        _check_range(self)


@dataclass(frozen=True, slots=True)
class NonAdaptive(Loss):
    """`count` mechanisms of ε-bounded range, all of them fixed before the first is run."""

    count: int
    eps: Fraction

    def __post_init__(self) -> None:
        check_whole(self, "count")
        _check_range(self)


@dataclass(frozen=True, slots=True)
class Tradeoff(Loss):
    """f-differential privacy for a symmetric, convex, piecewise linear f: its corners (type I, type II error)."""

    points: tuple[tuple[Fraction, Fraction], ...]

    def __post_init__(self) -> None:
        points = self.points
        if not points or any(type(each) is not Fraction or each < 0 for point in points for each in point):
            raise ParameterError("points of a trade-off function are pairs of Fractions of at least 0, one or more")
        runs = [(q[0] - p[0], p[1] - q[1]) for p, q in pairwise(points)]
        ends = 1 - points[0][1], 1 - points[-1][0]
        if points[0][0] != 0 or min(ends) < 0 or tuple((b, a) for a, b in reversed(points)) != points:
            raise ParameterError("points of a trade-off function are symmetric, from alpha 0 to the first beta of 0")
        if any(a <= 0 or b <= 0 for a, b in runs) or any(a * d > b * c for (a, b), (c, d) in pairwise(runs)):
            raise ParameterError("a trade-off function must be convex and decreasing")
        if any(0 < mass < _LEAST_MASS for mass in (*ends, *(each for run in runs for each in run))):
            raise ParameterError("corners of a trade-off function must be 1e-300 apart or more")


def _check_range(node: BoundedRange | NonAdaptive) -> None:
    check_costs(node, "eps")
    if node.eps and node.eps < LEAST:
        raise ParameterError("epsilon of a bounded range must be 0 or at least 1e-100")
