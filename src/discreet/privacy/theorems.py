"""The classical theorems under their names, for teaching and comparison; a `Loss` has certified bounds.

Numbers are floats or anything `float` takes; δ, ε and divergences are in the units of the papers (nats). Nothing here
touches data or costs privacy. Results are right to about 1e-12 and not rounded outward.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from discreet.errors import ParameterError
from discreet.privacy.losses._constructors import approx
from discreet.privacy.losses._unit import Relation, checked_relation
from discreet.privacy.losses._validation import integer

__all__ = [
    "advanced_composition",
    "approximate_max_divergence",
    "azuma",
    "basic_composition",
    "group_privacy",
    "kl_divergence",
    "kl_of_pure",
    "max_divergence",
    "optimal_composition",
    "parallel_composition",
    "renyi_divergence",
]

_LARGEST_EXPONENT = 709.0


def basic_composition(pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Several (ε, δ), even chosen adaptively, are (Σε, Σδ): Dwork and Roth 2014, Theorem 3.16.

    >>> basic_composition([(0.5, 0), (0.25, 1e-6)])
    (0.75, 1e-06)
    """
    epsilons, deltas = zip((0.0, 0.0), *((_epsilon(e), _delta(d)) for e, d in pairs), strict=True)
    return math.fsum(epsilons), math.fsum(deltas)


def advanced_composition(epsilon: float, delta: float, k: int, slack: float) -> tuple[float, float]:
    """Compose k copies of (ε, δ): (ε′, kδ + δ′) with ε′ = √(2k ln(1/δ′))·ε + kε(e^ε − 1), or kε if that is less.

    `slack` is δ′, in (0, 1). Source: Dwork, Rothblum and Vadhan 2010; Dwork and Roth 2014, Theorem 3.20.

    >>> round(advanced_composition(0.1, 0, 100, 1e-6)[0], 2)
    6.31
    """
    eps, each, count, spare = _epsilon(epsilon), _delta(delta), _count(k), _delta(slack, "slack")
    if spare == 0:
        raise ParameterError("slack must be greater than 0: without it, only k * epsilon holds")
    growth = math.expm1(eps) if eps < _LARGEST_EXPONENT else math.inf
    advanced = math.sqrt(2 * count * math.log(1 / spare)) * eps + count * eps * growth
    if count * eps <= advanced:
        return count * eps, count * each
    return advanced, count * each + spare


def optimal_composition(epsilon: float, delta: float, k: int, total_delta: float) -> float:
    """The least ε′ such that k copies of every (ε, δ) release are (ε′, total_delta); rounded up.

    Source: Kairouz, Oh and Viswanath 2015, Theorem 3.3.

    >>> round(optimal_composition(0.1, 0, 100, 1e-6), 4)
    4.7746
    """
    return (_count(k) * approx(epsilon, delta)).epsilon(total_delta)


def kl_of_pure(epsilon: float, *, tight: bool = True) -> float:
    """The largest D(Y‖Z) of two distributions that are ε-close both ways.

    Tight: ε·tanh(ε/2), attained by randomized response (Bun and Steinke 2016, Proposition 3.3 at α → 1). Loose:
    ε(e^ε − 1), Lemma 3.18 of Dwork and Roth 2014.

    >>> round(kl_of_pure(1), 3), round(kl_of_pure(1, tight=False), 3)
    (0.462, 1.718)
    """
    eps = _epsilon(epsilon)
    if tight:
        return eps * math.tanh(eps / 2)
    return eps * math.expm1(eps) if eps < _LARGEST_EXPONENT else math.inf


def max_divergence(p: Sequence[float], q: Sequence[float]) -> float:
    """D_∞(P‖Q) = max_S ln P(S)/Q(S), of probabilities on one finite set: Dwork and Roth 2014, Definition 3.6.

    >>> round(max_divergence([0.75, 0.25], [0.25, 0.75]), 4)
    1.0986
    """
    return approximate_max_divergence(p, q, 0)


def approximate_max_divergence(p: Sequence[float], q: Sequence[float], delta: float) -> float:
    """D_∞^δ(P‖Q) = max over S with P(S) ≥ δ of ln((P(S) − δ)/Q(S)): Dwork and Roth 2014, Definition 3.6.

    The best S holds the outcomes of largest P/Q. Both ways at most ε is the same as (ε, δ)-DP (Remark 3.1).

    >>> round(approximate_max_divergence([0.1, 0.9], [0, 1], 0.1), 4)
    -0.1054
    """
    first, second = _distributions(p, q)
    spared = _delta(delta)
    order = sorted(range(len(first)), key=lambda i: -_ratio(first[i], second[i]))
    best, mass, other = -math.inf, 0.0, 0.0
    for i in order:
        mass, other = mass + first[i], other + second[i]
        if mass - spared > 1e-15 * mass:
            best = max(best, math.log((mass - spared) / other) if other > 0 else math.inf)
    return best


def kl_divergence(p: Sequence[float], q: Sequence[float]) -> float:
    """D(P‖Q) = Σ p ln(p/q): Dwork and Roth 2014, Definition 3.5.

    >>> round(kl_divergence([0.75, 0.25], [0.25, 0.75]), 4)
    0.5493
    """
    first, second = _distributions(p, q)
    return math.fsum(a * math.log(_ratio(a, b)) if b > 0 else math.inf for a, b in zip(first, second, strict=True) if a)


def renyi_divergence(p: Sequence[float], q: Sequence[float], order: float) -> float:
    """D_α(P‖Q) = ln(Σ p^α q^{1−α})/(α − 1) for α > 1, its limits at α = 1 (KL) and ∞ (max): Mironov 2017, Definition 3.

    >>> round(renyi_divergence([0.75, 0.25], [0.25, 0.75], 2), 4)
    0.8473
    """
    if order == 1:
        return kl_divergence(p, q)
    if order == math.inf:
        return max_divergence(p, q)
    if not 1 < order <= 1e100:
        raise ParameterError(f"order must be from 1 to 1e100 or inf, got {order!r}")
    first, second = _distributions(p, q)
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if a > 0]
    if any(b == 0 for _, b in pairs):
        return math.inf
    exponents = [order * math.log(a) + (1 - order) * math.log(b) for a, b in pairs]
    top = max(exponents)
    return (top + math.log(math.fsum(math.exp(each - top) for each in exponents))) / (order - 1)


def azuma(k: int, alpha: float, beta: float, z: float) -> tuple[float, float]:
    """(threshold, probability): if |C_i| ≤ α with conditional means ≤ β, Pr[ΣC_i > kβ + z√k·α] ≤ e^{−z²/2}.

    Source: Azuma 1967; Dwork and Roth 2014, Lemma 3.19.

    >>> azuma(100, 0.1, 0.005, 2)
    (2.5, 0.1353352832366127)
    """
    if not (alpha >= 0 and z >= 0 and math.isfinite(beta)):
        raise ParameterError(f"alpha and z must be at least 0 and beta finite, got {alpha!r}, {z!r} and {beta!r}")
    return _count(k) * beta + z * math.sqrt(k) * alpha, math.exp(-z * z / 2)


def group_privacy(epsilon: float, delta: float, k: int, *, tight: bool = True) -> tuple[float, float]:
    """(kε, δ′) for k people together; δ′ = δ(e^{kε} − 1)/(e^ε − 1), or the looser k·e^{(k−1)ε}·δ; ``inf`` past floats.

    Source: Vadhan 2017, "The complexity of differential privacy", Lemma 2.2, which bounds the sum of its proof, the
    tight form, by the loose one. (Dwork and Roth 2014, Theorem 2.2, is the case δ = 0.)

    >>> [round(group_privacy(0.5, 1, 10, tight=tight)[1]) for tight in (True, False)]
    [227, 900]
    """
    eps, count = _epsilon(epsilon), _count(k)
    if not 0 <= delta < math.inf:
        raise ParameterError(f"delta must be finite and at least 0, got {delta!r}")
    if eps == 0:
        return 0.0, count * delta
    if delta == 0:
        return count * eps, 0.0
    log_growth = _log_expm1(count * eps) - _log_expm1(eps) if tight else math.log(count) + (count - 1) * eps
    log_delta = log_growth + math.log(delta)
    return count * eps, math.exp(log_delta) if log_delta < _LARGEST_EXPONENT else math.inf


def _log_expm1(x: float) -> float:
    return math.log(math.expm1(x)) if x < 1 else x + math.log1p(-math.exp(-x))


def parallel_composition(epsilons: Iterable[float], relation: Relation = "add_remove") -> float:
    """The ε of releases on disjoint parts: the largest under add/remove, twice that under substitution.

    Under substitution a record may leave one part and enter another. Source: McSherry 2009, Theorem 4.

    >>> parallel_composition([1, 0.5]), parallel_composition([1, 0.5], "substitute")
    (1.0, 2.0)
    """
    worst = max((_epsilon(epsilon) for epsilon in epsilons), default=0.0)
    return worst if checked_relation(relation) == "add_remove" else 2 * worst


def _epsilon(value: float) -> float:
    if not 0 <= value < math.inf:
        raise ParameterError(f"epsilon must be finite and at least 0, got {value!r}")
    return float(value)


def _delta(value: float, name: str = "delta") -> float:
    if not 0 <= value < 1:
        raise ParameterError(f"{name} must be at least 0 and less than 1, got {value!r}")
    return float(value)


def _count(k: int) -> int:
    return integer(k, "k")


def _ratio(a: float, b: float) -> float:
    return a / b if b > 0 else math.inf if a > 0 else 0.0


def _distributions(p: Sequence[float], q: Sequence[float]) -> tuple[list[float], list[float]]:
    first, second = [float(each) for each in p], [float(each) for each in q]
    if len(first) != len(second) or not first:
        raise ParameterError(f"p and q must be equally long, 1 or more, got {len(first)} and {len(second)}")
    for name, values in (("p", first), ("q", second)):
        if not all(each >= 0 for each in values) or abs(math.fsum(values) - 1) > 1e-9:
            raise ParameterError(f"{name} must be probabilities that sum to 1")
    return first, second
