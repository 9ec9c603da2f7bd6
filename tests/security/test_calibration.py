"""What calibration promises, recomputed: the exact δ(ε) of the released law, in 60 digits and without the library.

By Neyman and Pearson the hockey-stick divergence of two laws whose ratio is monotone is reached by a half-line:
δ(ε) = max over t of P(X + Δ ≥ t) − e^ε P(X ≥ t), at the last t with P(X + Δ = t) > e^ε P(X = t).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any

import mpmath
import pytest

import discreet as dp
from discreet.privacy import Loss

EPSILONS = ["0.01", "0.1", "0.5", "1", "2", "5", "8", "12", "20", "50"]
DELTAS = ["1e-2", "1e-6", "1e-12"]
ROUNDING = mpmath.mpf(10) ** -45
"""Of the 60 digits here; it is what a δ of 0 comes out as."""
BITS = 280


def mp(value: Fraction | str) -> mpmath.mpf:
    exact = Fraction(value)
    return mpmath.mpf(exact.numerator) / exact.denominator


@dataclass(frozen=True)
class Law:
    """P(X = k) up to a factor, and P(X ≥ k) for k ≥ 1, of a symmetric law with a monotone ratio."""

    weight: Callable[[Any, int], mpmath.mpf]
    upper: Callable[[Any, int], mpmath.mpf]

    def tail(self, mechanism: Any, k: int) -> mpmath.mpf:
        return self.upper(mechanism, k) if k >= 1 else 1 - self.upper(mechanism, 1 - k)


def gaussian_tail(mechanism: Any, k: int) -> mpmath.mpf:
    return mpmath.ncdf(-(k - mpmath.mpf(1) / 2) / mp(mechanism.sigma))


def discrete_gaussian_weight(mechanism: Any, k: int) -> mpmath.mpf:
    return mpmath.exp(-(mpmath.mpf(k) ** 2) / (2 * mp(mechanism.sigma) ** 2))


@lru_cache(maxsize=2)
def discrete_gaussian_sums(sigma: Fraction) -> list[int]:
    """Σ exp(−i²/2σ²) over i ≥ k in units of 2**−`BITS`, for every k until nothing is left.

    Each weight is within n² units for n weights, of which there are a million at the very most.
    """
    with mpmath.workdps(100):
        rate = 1 / (2 * mp(sigma) ** 2)
        ratio, fall = (int(mpmath.ldexp(mpmath.exp(-each * rate), BITS)) for each in (1, 2))
    weight, weights = 1 << BITS, []
    while weight:
        weights.append(weight)
        weight, ratio = weight * ratio >> BITS, ratio * fall >> BITS
    return list(accumulate(reversed(weights)))[::-1]


def discrete_gaussian_tail(mechanism: Any, k: int) -> mpmath.mpf:
    sums = discrete_gaussian_sums(mechanism.sigma)
    return mpmath.mpf(sums[k] if k < len(sums) else 0) / (2 * sums[0] - (1 << BITS))


def laplace_ratio(mechanism: Any) -> mpmath.mpf:
    return mpmath.exp(-1 / mp(mechanism.scale))


def laplace_tail(mechanism: Any, k: int) -> mpmath.mpf:
    """P(X ≥ k) of continuous Laplace noise, rounded."""
    if k <= 0:
        return 1 - laplace_tail(mechanism, 1 - k)
    return mpmath.exp(-(k - mpmath.mpf("0.5")) / mp(mechanism.scale)) / 2


LAWS: dict[str, Law] = {
    "DiscreteLaplace": Law(
        weight=lambda mechanism, k: laplace_ratio(mechanism) ** abs(k),
        upper=lambda mechanism, k: laplace_ratio(mechanism) ** k / (1 + laplace_ratio(mechanism)),
    ),
    "DiscreteGaussian": Law(weight=discrete_gaussian_weight, upper=discrete_gaussian_tail),
    "Laplace": Law(
        weight=lambda mechanism, k: laplace_tail(mechanism, abs(k)) - laplace_tail(mechanism, abs(k) + 1),
        upper=laplace_tail,
    ),
    "Gaussian": Law(
        weight=lambda mechanism, k: gaussian_tail(mechanism, abs(k)) - gaussian_tail(mechanism, abs(k) + 1),
        upper=gaussian_tail,
    ),
}
"""By class; every plain additive mechanism has one."""


def exact_delta(law: Law, mechanism: Any, shift: int, epsilon: str) -> mpmath.mpf:
    grown = mpmath.exp(mp(epsilon))

    def gains(t: int) -> bool:
        return law.weight(mechanism, t - shift) > grown * law.weight(mechanism, t)

    low, high = -1, 1  # the ratio rises with t; find where it passes e^ε
    while not gains(high) and high < 2**40:
        low, high = high, 2 * high
    if not gains(high):
        return mpmath.mpf(0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if gains(middle) else (middle, high)
    return law.tail(mechanism, high - shift) - grown * law.tail(mechanism, high)


@cache
def spends(epsilon: str, delta: str) -> dict[str, Loss]:
    """What is within (ε, δ), by formulas that are not the library's: ρ by Bun and Steinke 2016, Proposition 1.3; μ by
    Balle and Wang 2018, Theorem 8, from just below."""
    log = -mpmath.log(mp(delta))
    low, high = mpmath.mpf(0), mpmath.mpf(100)
    for _ in range(60):
        mu = (low + high) / 2
        eps = mp(epsilon)
        spent = mpmath.ncdf(mu / 2 - eps / mu) - mpmath.exp(eps) * mpmath.ncdf(-mu / 2 - eps / mu)
        low, high = (mu, high) if spent <= mp(delta) else (low, mu)
    return {
        "pure": dp.pure(epsilon),
        "approx": dp.approx(epsilon, delta),
        "rho": dp.rho(float((mpmath.sqrt(mp(epsilon) + log) - mpmath.sqrt(log)) ** 2 * (1 - mpmath.mpf(10) ** -12))),
        "mu": dp.mu(float(low * (1 - mpmath.mpf(10) ** -12))),
    }


def test_every_plain_mechanism_has_a_law(cases) -> None:
    assert {name.partition(" ")[0] for name, case in cases.items() if case.plain} == set(LAWS)


@pytest.mark.sampled
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_calibrated_noise_is_within_the_spend(additive_case, epsilon: str) -> None:
    kind = type(additive_case.at(2))
    accepted = set()
    with mpmath.workdps(60):
        for delta in DELTAS:
            for currency, spend in spends(epsilon, delta).items():
                for sensitivity in (1, 3):
                    try:
                        mechanism = kind.calibrate(spend, sensitivity)
                    except dp.ParameterError:
                        continue
                    accepted.add(currency)
                    allowed = mpmath.mpf(0) if currency == "pure" else mp(delta)
                    assert exact_delta(LAWS[kind.__name__], mechanism, sensitivity, epsilon) <= allowed + ROUNDING
    assert accepted


def test_the_divergence_is_that_of_all_outcomes() -> None:
    """The half-line against the sum over every outcome, on noise that is small enough to list."""
    with mpmath.workdps(60):
        for mechanism in (
            dp.mechanisms.DiscreteLaplace(2),
            dp.mechanisms.DiscreteGaussian(2),
            dp.mechanisms.Gaussian(2),
        ):
            law = LAWS[type(mechanism).__name__]
            total = mpmath.fsum(law.weight(mechanism, k) for k in range(-150, 151))
            for shift, epsilon in ((1, "0.1"), (1, "0.4"), (3, "1"), (4, "5")):
                grown = mpmath.exp(mp(epsilon))
                listed = mpmath.fsum(
                    max(law.weight(mechanism, k - shift) - grown * law.weight(mechanism, k), 0)
                    for k in range(-140, 141)
                )
                assert mpmath.almosteq(exact_delta(law, mechanism, shift, epsilon), listed / total, abs_eps=1e-25)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-5"), ("8", "1e-6"), ("50", "1e-2")])
def test_noise_that_is_a_tenth_too_small_is_caught(epsilon: str, delta: str) -> None:
    with mpmath.workdps(60):
        for kind in (dp.mechanisms.Gaussian, dp.mechanisms.DiscreteLaplace):
            mechanism = kind.calibrate(dp.approx(epsilon, delta), 100)
            (scale,) = (getattr(mechanism, name) for name in kind.__slots__)
            weaker = kind(scale * Fraction(9, 10))
            allowed = mp(delta) if kind is dp.mechanisms.Gaussian else 0
            assert exact_delta(LAWS[kind.__name__], weaker, 100, epsilon) > allowed
