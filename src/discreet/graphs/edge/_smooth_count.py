"""A count of subgraphs under pure ε, with noise scaled to its smooth sensitivity and tails of a bounded stretch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Literal

from discreet.errors import ParameterError
from discreet.graphs._graph import Graph
from discreet.graphs.counts import Count, CountedGraph
from discreet.noise import exp_bounds, rounded_pareto
from discreet.privacy import Loss, PureLoss, budget_of
from discreet.rational import Number, rational
from discreet.sensitivity import smooth

__all__ = ["SmoothCount", "pareto_rate", "pure_epsilon", "shape_for"]

_BITS = 256
_GRID = 2**96
_MOST_EPSILON = 64
_LEAST_EPSILON = Fraction(1, 10**6)
_ROOT_GRID = 10**12


def pareto_rate(epsilon: Fraction, shape: int) -> Fraction:
    """The largest rate, rounded down, at which noise of P(|Z| > z) = (1 + z)**−shape and scale S / rate is pure ε.

    S is β-smooth for β = epsilon / shape. The rate is the lesser of e**(ε/γ) − 1 and e**β (e**((ε − β)/γ) − 1), with
    γ = shape + 1. Source: ``proofs/smooth_count.md``.

    >>> round(float(pareto_rate(Fraction(1), 64)) * 63, 4)
    0.9765
    """
    beta, gamma = epsilon / shape, shape + 1
    one = 1 << _BITS
    still = Fraction(one, exp_bounds(epsilon / gamma, _BITS)[1]) - 1
    stretched = Fraction(one, exp_bounds(beta, _BITS)[1]) * (
        Fraction(one, exp_bounds((epsilon - beta) / gamma, _BITS)[1]) - 1
    )
    return Fraction((min(still, stretched) * _GRID).__floor__(), _GRID)


def shape_for(epsilon: Fraction, per_epsilon: int = 64, least: int = 16) -> int:
    """The shape that is taken if none is given, by ε and the statistic alone: of subgraphs 64 ε, and 16 or more.

    So β is 1/64 or less: as a graph in which some pair has 64 common neighbours needs no more noise than its local
    sensitivity; and for an ε below 1/4 it is ε/16, which keeps the tails short. Of clustering β is 1/8 or less.
    """
    return max(least, (per_epsilon * epsilon).__ceil__())


def pure_epsilon(spend: Loss) -> Fraction:
    """The ε that a mechanism of pure ε may use for a spend: ε of (ε, δ), whose δ it does not need, and √(2ρ) of ρ.

    Raises `ParameterError` for a spend in μ, and for one that is 0 or too small or large for noise on counts.

    >>> from discreet.privacy import rho
    >>> pure_epsilon(rho("0.125"))
    Fraction(1, 2)
    """
    kind, (amount, *_) = budget_of(spend)
    if kind == "mu":
        raise ParameterError(
            "a count of subgraphs is paid in epsilon or rho, and this spend is in mu; spend dp.pure(0.5), "
            "dp.approx(0.5, 1e-6) or dp.rho(0.1)"
        )
    epsilon = _root_down(2 * amount) if kind == "rho" else amount
    if not _LEAST_EPSILON <= epsilon <= _MOST_EPSILON:
        raise ParameterError(f"a count of subgraphs takes an epsilon from {float(_LEAST_EPSILON)} to {_MOST_EPSILON}")
    return epsilon


@dataclass(frozen=True, slots=True)
class SmoothCount:
    """A number of subgraphs with noise of scale S / rate, S being a β-smooth bound of its local sensitivity. Pure ε.

    The noise has P(|Z| > z) = (1 + z)**−shape and either sign; β = ε / shape is the most that its tails can be
    stretched for ε. The mean absolute error is S / (rate · (shape − 1)), which is near S / ε for a large shape, and the
    noise is rounded exactly to integers. It needs no δ.

    Parameters
    ----------
    statistic
        A `discreet.graphs.counts.Count`.
    epsilon
        The loss, public.
    shape
        An integer from 3 on, public; see `shape_for` for the one that is taken if none is given. A larger one has
        lighter tails and a smaller β, for which S is larger.

    Raises `ParameterError` for an argument out of its range. Source: Nissim, Raskhodnikova and Smith 2007, section 2,
    for noise of polynomial tails; the exact rate: ``proofs/smooth_count.md``.

    >>> from discreet.graphs.counts import Triangles
    >>> SmoothCount(Triangles(4039), "1/2").shape
    32
    """

    ledger_counts: ClassVar[Literal["edges"]] = "edges"

    statistic: Count
    epsilon: Fraction
    shape: int
    rate: Fraction = field(compare=False, repr=False)

    def __init__(self, statistic: Count, epsilon: Number, shape: int | None = None) -> None:
        if not isinstance(statistic, Count):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("the statistic must be a count of discreet.graphs.counts")
        exact = rational(epsilon, "epsilon")
        if not _LEAST_EPSILON <= exact <= _MOST_EPSILON:
            raise ParameterError(f"epsilon must be from {float(_LEAST_EPSILON)} to {_MOST_EPSILON}, got {epsilon!r}")
        chosen = shape
        if chosen is None:
            chosen = shape_for(exact, statistic.shape_per_epsilon, statistic.least_shape)
        if isinstance(chosen, bool) or not isinstance(chosen, int) or not 3 <= chosen <= 2**16:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"shape must be an integer from 3 to {2**16}, got {shape!r}")
        rate = pareto_rate(exact, chosen)
        for name, value in (("statistic", statistic), ("epsilon", exact), ("shape", chosen), ("rate", rate)):
            object.__setattr__(self, name, value)

    @classmethod
    def calibrate(cls, spend: Loss, statistic: Count) -> SmoothCount:
        """The one that a spend allows. Raises `ParameterError` as `pure_epsilon`."""
        return cls(statistic, pure_epsilon(spend))

    @property
    def beta(self) -> Fraction:
        """How much the logarithm of S may differ between neighbours: ε / shape."""
        return self.epsilon / self.shape

    def loss(self) -> Loss:
        """Pure ε, for one edge. Source: ``proofs/smooth_count.md``."""
        return PureLoss(self.epsilon)

    def mean_error(self, sensitivity: float) -> float:
        """The mean absolute error, if S is `sensitivity`: public where that is an assumption, SENSITIVE if it is S."""
        return sensitivity / (float(self.rate) * (self.shape - 1))

    def std(self, sensitivity: float) -> float:
        """The standard deviation of the noise, if S is `sensitivity`: public or SENSITIVE as `mean_error` is."""
        return sensitivity / float(self.rate) * math.sqrt(2 / ((self.shape - 1) * (self.shape - 2)))

    def error(self, sensitivity: float, level: float = 0.95) -> float:
        """How far an answer is from the count, at most, with probability `level`, if S is `sensitivity`.

        Raises `ParameterError` unless 0 < level < 1.
        """
        if not 0 < level < 1:
            raise ParameterError(f"level must be above 0 and below 1, got {level!r}")
        return sensitivity / float(self.rate) * ((1 - level) ** (-1 / self.shape) - 1) + 0.5

    def release(self, graph: Graph | CountedGraph) -> int:
        """The count with noise, an integer. Costs `loss()`, **and charges nobody**: this is the raw toolbox.

        The scale of the noise is SENSITIVE and is not released. Raises `ParameterError` only for a graph of another
        number of vertices, which is public, and for a `CountedGraph` where the statistic needs all edges.

        >>> from discreet.graphs.counts import Triangles
        >>> clique = Graph.from_pairs([(a, b) for a in range(99) for b in range(a)])
        >>> abs(SmoothCount(Triangles(99), 8).release(clique) - 156_849) < 5_000
        True
        """
        value, scale = self.before_noise(graph)
        return rounded_pareto(Fraction(value), scale, self.shape)

    def before_noise(self, graph: Graph | CountedGraph) -> tuple[int | Fraction, Fraction]:
        """The count, and the scale of its noise, from which its law follows. SENSITIVE. Raises as `release`."""
        bound = Fraction(smooth(self.statistic, graph, self.beta))
        return self.statistic.value(graph), bound / self.rate


def _root_down(square: Fraction) -> Fraction:
    """The largest multiple of 1e-12 whose square is at most `square`.

    >>> _root_down(Fraction(1, 4))
    Fraction(1, 2)
    """
    return Fraction(math.isqrt(square.numerator * _ROOT_GRID**2 // square.denominator), _ROOT_GRID)
