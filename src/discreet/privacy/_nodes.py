"""The leaves of a loss: one definition or one mechanism each. Numbers are exact fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.privacy._loss import Loss

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


@dataclass(frozen=True, slots=True)
class Pure(Loss):
    """Pure ε-differential privacy."""

    eps: Fraction


@dataclass(frozen=True, slots=True)
class Approx(Loss):
    """(ε, δ)-differential privacy."""

    eps: Fraction
    at_delta: Fraction


@dataclass(frozen=True, slots=True)
class Rho(Loss):
    """δ-approximate ρ-zero-concentrated differential privacy (Bun and Steinke 2016, Definition 8.1)."""

    r: Fraction
    at_delta: Fraction


@dataclass(frozen=True, slots=True)
class Mu(Loss):
    """μ-Gaussian differential privacy off an event of probability δ. It holds μ², which is what adds up."""

    squared: Fraction
    at_delta: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Rdp(Loss):
    """Rényi differential privacy at some orders."""

    orders: tuple[Fraction, ...]
    values: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Gaussian(Loss):
    """Continuous Gaussian noise; `noise` is its standard deviation over the L2 sensitivity."""

    noise: Fraction


@dataclass(frozen=True, slots=True)
class Laplace(Loss):
    """Continuous Laplace noise; `scale` is its scale over the L1 sensitivity."""

    scale: Fraction


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Loss):
    """Noise on the integers with weight exp(−abs(x)/scale), and a value that moves by at most `sensitivity` steps."""

    scale: Fraction
    sensitivity: int


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Loss):
    """Noise on the integers with weight exp(−x²/2σ²), and a value that moves by at most `sensitivity` steps."""

    sigma: Fraction
    sensitivity: int


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Loss):
    """The true one of `k` values with probability `p`, else another one, uniformly."""

    p: Fraction
    k: int


@dataclass(frozen=True, slots=True)
class BoundedRange(Loss):
    """ε-bounded range: the privacy losses of all outcomes lie in an interval of length ε (exponential mechanism)."""

    eps: Fraction


@dataclass(frozen=True, slots=True)
class NonAdaptive(Loss):
    """`count` mechanisms of ε-bounded range, all of them fixed before the first is run."""

    count: int
    eps: Fraction


@dataclass(frozen=True, slots=True)
class Tradeoff(Loss):
    """f-differential privacy for a symmetric, convex, piecewise linear f: its corners (type I, type II error)."""

    points: tuple[tuple[Fraction, Fraction], ...]
