"""Constructors of the leaves of a loss."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.errors import ParameterError
from discreet.privacy.losses._base import Loss
from discreet.privacy.losses._leaves import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    MuLoss,
    NonAdaptiveLoss,
    PureLoss,
    RandomizedResponseLoss,
    RdpLoss,
    RhoLoss,
)
from discreet.privacy.losses._validation import at_least_zero, delta, positive
from discreet.rational import Number, rational

__all__ = [
    "approx",
    "bounded_range",
    "discrete_gaussian",
    "discrete_laplace",
    "gaussian",
    "laplace",
    "mu",
    "nonadaptive",
    "pure",
    "randomized_response",
    "rdp",
    "rho",
]

_delta = delta


def pure(epsilon: Number) -> Loss:
    """Pure ε-differential privacy: every outcome is at most e^ε times likelier with a person than without.

    Raises `ParameterError` unless 0 < ε ≤ 1e100. Source: Dwork and Roth 2014, Definition 2.4 with δ = 0.

    >>> pure(0.5)
    pure(0.5)
    """
    return PureLoss(positive(epsilon, "epsilon"))


def approx(epsilon: Number, delta: Number) -> Loss:
    """(ε, δ)-differential privacy: P(S) ≤ e^ε Q(S) + δ for every event S and neighbours P, Q, both ways.

    Raises `ParameterError` unless 0 < ε ≤ 1e100 and 0 ≤ δ < 1. Source: Dwork and Roth 2014, Definition 2.4.

    >>> approx(1, 1e-6).epsilon(delta=1e-6)
    1.0
    """
    return ApproxLoss(positive(epsilon, "epsilon"), _delta(delta))


def rho(rho: Number, delta: Number = 0) -> Loss:
    """δ-approximate ρ-zero-concentrated differential privacy. Key discovery needs δ > 0: no ρ alone covers it.

    Raises `ParameterError` unless 0 < ρ ≤ 1e100 and 0 ≤ δ < 1. Source: Bun and Steinke 2016, Definitions 1.1 and 8.1.

    >>> rho(0.5).fits(rho(1))
    True
    """
    return RhoLoss(positive(rho, "rho"), _delta(delta))


def mu(mu: Number, delta: Number = 0) -> Loss:
    """μ-Gaussian differential privacy: as hard to test as N(0, 1) against N(μ, 1), off an event of probability δ.

    Raises `ParameterError` unless 1e-100 ≤ μ ≤ 1e100 and 0 ≤ δ < 1. Source: Dong, Roth and Su 2022, Definition 4.

    >>> mu(3) + mu(4) == mu(5), (mu(3) + mu(4)).mu()
    (False, 5.0)
    """
    return MuLoss(positive(mu, "mu") ** 2, _delta(delta))


def rdp(orders: Sequence[Number], values: Sequence[Number]) -> Loss:
    """Rényi differential privacy: at each of the orders α > 1 the divergence is at most the value beside it, in nats.

    Raises `ParameterError` if orders do not increase from above 1, or a value is negative, or the lengths differ.
    Source: Mironov 2017, Definition 4.

    >>> round(rdp([2, 8, 32], [0.02, 0.08, 0.32]).epsilon(delta=1e-6), 4)
    0.6221
    """
    alphas = tuple(positive(order, "orders") for order in orders)
    spent = tuple(at_least_zero(value, "values") for value in values)
    return RdpLoss(alphas, spent)


def gaussian(noise: Number) -> Loss:
    """Continuous Gaussian noise with a standard deviation of `noise` times the L2 sensitivity.

    Also for continuous noise that is rounded exactly afterwards (post-processing); for noise drawn on a grid use
    `discrete_gaussian`. Raises `ParameterError` unless noise is in [1e-100, 1e100].
    Source: Balle and Wang 2018, Theorem 8.

    >>> low, high = gaussian(1).bounds(delta=1e-5)
    >>> low <= 4.3771780956812 <= high, high - low < 1e-9
    (True, True)
    """
    return GaussianLoss(rational(noise, "noise"))


def laplace(scale: Number) -> Loss:
    """Continuous Laplace noise with a scale of `scale` times the L1 sensitivity; pure ε with ε = 1/scale.

    Raises `ParameterError` unless scale is in [1e-100, 1e100].
    Source: Dwork, McSherry, Nissim and Smith 2006, Example 1.

    >>> laplace(2).epsilon()
    0.5
    """
    return LaplaceLoss(rational(scale, "scale"))


def discrete_laplace(scale: Number, sensitivity: int = 1) -> Loss:
    """Noise on the integers, P(x) ∝ exp(−|x|/scale), on a value that moves by at most `sensitivity` whole steps.

    Raises `ParameterError` unless scale is in [1e-100, 1e100] and 1 ≤ sensitivity ≤ 10¹⁵.
    Source: Ghosh, Roughgarden and Sundararajan 2012.

    >>> discrete_laplace(10).epsilon()
    0.1
    """
    return DiscreteLaplaceLoss(rational(scale, "scale"), sensitivity)


def discrete_gaussian(sigma: Number, sensitivity: int = 1) -> Loss:
    """Noise on the integers, P(x) ∝ exp(−x²/2σ²), on a value that moves by at most `sensitivity` whole steps.

    Raises `ParameterError` unless sigma is in [1e-100, 1e100] and 1 ≤ sensitivity ≤ 10¹⁵.
    Source: Canonne, Kamath and Steinke 2020.

    >>> f"{discrete_gaussian(3.7306).delta(1):.3e}"
    '1.035e-05'
    """
    return DiscreteGaussianLoss(rational(sigma, "sigma"), sensitivity)


def randomized_response(p: Number, k: int = 2) -> Loss:
    """A person's own report: the true one of `k` values with probability `p`, else one of the others, uniformly.

    ε = |ln(p(k−1)/(1−p))|, for p above 1/k and below. At p = 1/k the report is independent of the truth, and ε = 0.
    Valid under substitution: the report exists either way. Raises `ParameterError` unless 0 < p < 1
    and k ≥ 2. Source: Warner 1965; Kairouz, Oh and Viswanath 2016, "Extremal mechanisms", Definition 2.

    >>> round(randomized_response(0.2).epsilon(), 3), randomized_response(0.5).epsilon()
    (1.386, 0.0)
    """
    return RandomizedResponseLoss(rational(p, "p"), k)


def bounded_range(epsilon: Number) -> Loss:
    """ε-bounded range, as of the exponential mechanism with Pr ∝ exp(εu/2Δu): the losses span at most ε.

    Sums are charged for adaptive choices: ε pure, ρ = ε²/8. `nonadaptive` is the cheaper bound for mechanisms that
    are all fixed in advance. Raises `ParameterError` unless ε > 0.
    Sources: Durfee and Rogers 2019, Definition 3.1; Cesar and Rogers 2021, Lemma 3.4 (ε²/8).

    >>> bounded_range(1).rho()
    0.125
    """
    return BoundedRangeLoss(positive(epsilon, "epsilon"))


def nonadaptive(loss: Loss, count: int) -> Loss:
    """`count` mechanisms of one bounded range, all fixed (with their data queries) before the first one is run.

    Charging this for mechanisms picked after seeing earlier outcomes understates the loss. Raises `ParameterError`
    unless the loss is a `bounded_range`. Source: Dong, Durfee and Rogers 2020, Theorem 2.

    >>> round(nonadaptive(bounded_range(0.1), 100).epsilon(delta=1e-6), 4)
    2.246
    """
    if not isinstance(loss, BoundedRangeLoss):
        raise ParameterError("nonadaptive takes a dp.bounded_range(epsilon); other losses cost the same either way")
    return NonAdaptiveLoss(count, loss.eps)
