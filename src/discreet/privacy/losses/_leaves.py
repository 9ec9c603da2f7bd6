"""The leaves of a loss: one definition or one mechanism each. Numbers are exact fractions.

Every node is checked when it is created, and raises `ParameterError` naming the argument and its range.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from discreet.errors import ParameterError
from discreet.privacy.losses._base import Loss
from discreet.privacy.losses._notation import exact_text, root_text, written
from discreet.privacy.losses._unit import Relation
from discreet.privacy.losses._validation import LEAST, MOST, check_costs, check_integer, check_noise, fraction_in

__all__ = [
    "ApproxLoss",
    "BoundedRangeLoss",
    "DiscreteGaussianLoss",
    "DiscreteLaplaceLoss",
    "GaussianLoss",
    "LaplaceLoss",
    "MuLoss",
    "NonAdaptiveLoss",
    "PureLoss",
    "RandomizedResponseLoss",
    "RdpLoss",
    "RhoLoss",
    "TradeoffLoss",
]

_MOST_RENYI = Fraction(10) ** 100
_LEAST_MASS = Fraction(1, 10**300)


@dataclass(frozen=True, slots=True)
class PureLoss(Loss):
    """Pure ε-differential privacy."""

    eps: Fraction

    def __post_init__(self) -> None:
        check_costs(self, "eps")

    def __repr__(self) -> str:
        return written("pure", self.eps, as_node=self.eps > MOST)


@dataclass(frozen=True, slots=True)
class ApproxLoss(Loss):
    """(ε, δ)-differential privacy."""

    eps: Fraction
    at_delta: Fraction

    def __post_init__(self) -> None:
        check_costs(self, "eps", "at_delta")

    def __repr__(self) -> str:
        return written("approx", self.eps, self.at_delta, as_node=self.eps > MOST or self.at_delta >= 1)


@dataclass(frozen=True, slots=True)
class RhoLoss(Loss):
    """δ-approximate ρ-zero-concentrated differential privacy (Bun and Steinke 2016, Definition 8.1)."""

    rho_value: Fraction
    at_delta: Fraction

    def __post_init__(self) -> None:
        check_costs(self, "rho_value", "at_delta")

    def __repr__(self) -> str:
        delta = (self.at_delta,) if self.at_delta else ()
        return written("rho", self.rho_value, *delta, as_node=self.rho_value > MOST or self.at_delta >= 1)


@dataclass(frozen=True, slots=True)
class MuLoss(Loss):
    """μ-Gaussian differential privacy off an event of probability δ. Its field is μ², which is what adds up."""

    mu_squared: Fraction
    at_delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        check_costs(self, "mu_squared", "at_delta")
        if self.mu_squared and self.mu_squared < LEAST * LEAST:
            raise ParameterError("mu must be 0 or at least 1e-100")

    def __repr__(self) -> str:
        delta = (self.at_delta,) if self.at_delta else ()
        too_much = self.mu_squared > MOST * MOST or self.at_delta >= 1
        return written("mu", root_text(self.mu_squared), *delta, as_node=too_much)


@dataclass(frozen=True, slots=True)
class RdpLoss(Loss):
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

    def __repr__(self) -> str:
        orders, values = (", ".join(map(exact_text, each)) for each in (self.orders, self.values))
        return f"rdp([{orders}], [{values}])"


@dataclass(frozen=True, slots=True)
class GaussianLoss(Loss):
    """Continuous Gaussian noise; `noise` is its standard deviation over the L2 sensitivity."""

    noise: Fraction

    def __post_init__(self) -> None:
        check_noise(self, "noise")

    def __repr__(self) -> str:
        return written("gaussian", self.noise)


@dataclass(frozen=True, slots=True)
class LaplaceLoss(Loss):
    """Continuous Laplace noise; `scale` is its scale over the L1 sensitivity."""

    scale: Fraction

    def __post_init__(self) -> None:
        check_noise(self, "scale")

    def __repr__(self) -> str:
        return written("laplace", self.scale)


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLoss(Loss):
    """Noise on the integers with weight exp(−abs(x)/scale), and a value that moves by at most `sensitivity` steps."""

    scale: Fraction
    sensitivity: int

    def __post_init__(self) -> None:
        check_noise(self, "scale")
        check_integer(self, "sensitivity")

    def __repr__(self) -> str:
        sensitivity = () if self.sensitivity == 1 else (self.sensitivity,)
        return written("discrete_laplace", self.scale, *sensitivity)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianLoss(Loss):
    """Noise on the integers with weight exp(−x²/2σ²), and a value that moves by at most `sensitivity` steps."""

    sigma: Fraction
    sensitivity: int

    def __post_init__(self) -> None:
        check_noise(self, "sigma")
        check_integer(self, "sensitivity")

    def __repr__(self) -> str:
        sensitivity = () if self.sensitivity == 1 else (self.sensitivity,)
        return written("discrete_gaussian", self.sigma, *sensitivity)


@dataclass(frozen=True, slots=True)
class RandomizedResponseLoss(Loss):
    """The true one of `k` values with probability `p`, else another one, uniformly."""

    p: Fraction
    k: int

    def __post_init__(self) -> None:
        if not LEAST <= fraction_in(self, "p") <= 1 - LEAST:
            raise ParameterError(
                "p must be greater than 0 and less than 1, by 1e-100 at least: a certain answer has no finite epsilon"
            )
        check_integer(self, "k", 2)

    def __repr__(self) -> str:
        return written("randomized_response", self.p, *(() if self.k == 2 else (self.k,)))

    @property
    def relation(self) -> Relation | None:
        """Substitution: the report exists either way."""
        return "substitute"


@dataclass(frozen=True, slots=True)
class BoundedRangeLoss(Loss):
    """ε-bounded range: the privacy losses of all outcomes lie in an interval of length ε (exponential mechanism)."""

    eps: Fraction

    def __post_init__(self) -> None:
        _check_range(self)

    def __repr__(self) -> str:
        return written("bounded_range", self.eps, as_node=self.eps > MOST)


@dataclass(frozen=True, slots=True)
class NonAdaptiveLoss(Loss):
    """`count` mechanisms of ε-bounded range, all of them fixed before the first is run."""

    count: int
    eps: Fraction

    def __post_init__(self) -> None:
        check_integer(self, "count")
        _check_range(self)

    def __repr__(self) -> str:
        return written("nonadaptive", repr(BoundedRangeLoss(self.eps)), self.count)


@dataclass(frozen=True, slots=True)
class TradeoffLoss(Loss):
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

    def __repr__(self) -> str:
        corners = ", ".join(f"({exact_text(a)}, {exact_text(b)})" for a, b in self.points)
        runs = [(q[0] - p[0], p[1] - q[1]) for p, q in pairwise(self.points)]
        straight = any(a * d == b * c for (a, b), (c, d) in pairwise(runs))
        return written("tradeoff", f"[{corners}]", as_node=straight or len(self.points) == 1)


def _check_range(node: BoundedRangeLoss | NonAdaptiveLoss) -> None:
    check_costs(node, "eps")
    if node.eps and node.eps < LEAST:
        raise ParameterError("epsilon of a bounded range must be 0 or at least 1e-100")
