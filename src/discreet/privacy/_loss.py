"""Privacy loss as data: what a release reveals, written down and not yet interpreted.

A node only describes. What it means in a definition of differential privacy is the business of the interpreters
in `_interpret.py`; a new node or a new meaning touches one side only.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.rational import Number, decimal_text, rational

__all__ = ["Approx", "Loss", "Pure", "Rho", "Sum", "Times", "approx", "pure", "rho"]


class Loss:
    """An immutable description of privacy loss. A budget is a loss that somebody accepts.

    Losses add (sequential, adaptive composition) and take integer multiples. Build them with `pure`, `approx` and
    `rho`; the node classes are for interpreters.

    >>> step = pure(0.1)
    >>> (30 * step).fits(pure(3)), (31 * step).fits(pure(3))
    (True, False)
    """

    __slots__ = ()

    def __add__(self, other: Loss) -> Loss:
        if not isinstance(other, Loss):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return Sum((self, other))

    def __mul__(self, count: int) -> Loss:
        if isinstance(count, bool) or not isinstance(count, int):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        if count < 0:
            raise ParameterError(f"a loss can be taken a whole number of times, 0 or more, got {count}")
        return Times(count, self)

    __rmul__ = __mul__

    def epsilon(self, delta: Number = 0) -> float:
        """The least ε that discreet can certify at this δ: an upper bound, rounded up; ``inf`` where none is known.

        >>> round(rho(0.1).epsilon(delta=1e-6), 4)
        2.1419
        """
        from discreet.privacy._interpret import epsilon

        return epsilon(self, delta)

    def fits(self, budget: Loss) -> bool:
        """Whether a release of this loss stays within the budget, in the budget's own currency, decided exactly."""
        from discreet.privacy._interpret import fits

        return fits(self, budget)


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
class Sum(Loss):
    """Several releases about the same people, the later ones possibly chosen after seeing the earlier."""

    terms: tuple[Loss, ...]


@dataclass(frozen=True, slots=True)
class Times(Loss):
    """The same loss, `count` times."""

    count: int
    term: Loss


def pure(epsilon: Number) -> Loss:
    """Pure ε-differential privacy: every outcome is at most e^ε times likelier with a person than without.

    Raises `ParameterError` unless ε > 0. Source: Dwork and Roth 2014, Definition 2.4 with δ = 0.

    >>> pure(0.5)
    Pure(eps=Fraction(1, 2))
    """
    return Pure(_positive(epsilon, "epsilon"))


def approx(epsilon: Number, delta: Number) -> Loss:
    """(ε, δ)-differential privacy: P(S) ≤ e^ε Q(S) + δ for every event S and neighbours P, Q, both ways.

    Raises `ParameterError` unless ε > 0 and 0 ≤ δ < 1. Source: Dwork and Roth 2014, Definition 2.4.

    >>> approx(1, 1e-6).epsilon(delta=1e-6)
    1.0
    """
    return Approx(_positive(epsilon, "epsilon"), _delta(delta))


def rho(rho: Number, delta: Number = 0) -> Loss:
    """δ-approximate ρ-zero-concentrated differential privacy; δ pays for key discovery, which no ρ alone can buy.

    Raises `ParameterError` unless ρ > 0 and 0 ≤ δ < 1. Source: Bun and Steinke 2016, Definitions 1.1 and 8.1.

    >>> rho(0.5).fits(rho(1))
    True
    """
    return Rho(_positive(rho, "rho"), _delta(delta))


def _positive(value: Number, name: str) -> Fraction:
    exact = rational(value, name)
    if exact <= 0:
        raise ParameterError(f"{name} must be greater than 0, got {decimal_text(exact)}")
    return exact


def _delta(value: Number) -> Fraction:
    exact = rational(value, "delta")
    if not 0 <= exact < 1:
        raise ParameterError(f"delta must be at least 0 and less than 1, got {decimal_text(exact)}")
    return exact
