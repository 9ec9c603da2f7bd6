"""Mistakes in Gaussian noise: which formula gives sigma, and for which noise it holds."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np

from discreet.audit import batched
from discreet.mechanisms import DiscreteGaussian, Gaussian
from discreet.mechanisms.additive import _discrete_gaussian as discrete
from discreet.mechanisms.additive import _gaussian as rounded
from discreet.privacy import approx, budget_of, mu, rho
from discreet.rational import rational
from discreet.sensitivity import Norms
from mutants._laws import gaussian_epsilon, root
from mutants._mutant import Mutant, patched

__all__ = ["MUTANTS"]

_STEPS = 1000
"""Grid steps in the sensitivity, so that rounding hides nothing that six digits show."""

_root_up, _norm_of = discrete.root_up, discrete.l2_squared_of


def _vector(mechanism) -> object:
    def draw(value: list[int], size: int) -> np.ndarray:
        return np.array(mechanism.release(value * size), dtype=np.int64).reshape(size, len(value))

    return batched(draw)


def _count(mechanism) -> object:
    return batched(lambda value, size: mechanism.release([value] * size))


def _discrete_epsilon(sigma: float, delta: float, moved: int = 1) -> float:
    """By summing the law e^(−x²/2σ²) and the same law moved."""
    reach = math.ceil(40 * sigma) + moved
    with mpmath.workdps(60):
        weights = {
            x: mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for x in range(-reach, reach + 1)
        }
        total = mpmath.fsum(weights.values())
        law = {x: weight / total for x, weight in weights.items()}
        best, above, below = mpmath.mpf(0), mpmath.mpf(0), mpmath.mpf(0)
        for x in sorted(law):  # the ratio to the moved law falls with x
            above, below = above + law[x], below + law.get(x - moved, mpmath.mpf(0))
            if above > delta:
                best = max(best, mpmath.inf if below == 0 else mpmath.log((above - delta) / below))
        return float(best)


def _continuous(cls, spend, sensitivity) -> DiscreteGaussian:
    return cls(Gaussian.calibrate(spend, sensitivity).sigma)


def _mu_for(spend) -> float:
    """The μ that fits (ε, √δ)."""
    _, (epsilon, delta) = budget_of(spend)
    return root(lambda each: float(epsilon) - gaussian_epsilon(each, math.sqrt(delta)), 0.01, 50.0)


def _sigma_for(epsilon: float, delta: float) -> float:
    """Of continuous noise at sensitivity 1."""
    return 1 / root(lambda each: epsilon - gaussian_epsilon(each, delta), 0.01, 50.0)


def _textbook(cls, spend, sensitivity) -> Gaussian:
    _, (epsilon, delta) = budget_of(spend)
    return cls(rational(math.sqrt(2 * math.log(1.25 / float(delta))), "") * sensitivity / epsilon)


def _textbook_epsilon() -> float:
    return gaussian_epsilon(16 / math.sqrt(2 * math.log(1.25e5)), 1e-5)


MUTANTS = (
    Mutant(
        "sigma squared halved",
        "sigma² = Δ²/4ρ, when ρ = Δ²/2σ² is turned around wrongly.",
        patched((discrete, "root_up", lambda value: _root_up(value / 2))),
        lambda: _count(DiscreteGaussian.calibrate(rho("0.5"), 1)),
        (0, 1),
        rho("0.5"),
        lambda: _discrete_epsilon(math.sqrt(0.5), 1e-6),
        samples=60_000,
    ),
    Mutant(
        "L2 sensitivity as L-infinity",
        "A person is in four sums, and the noise is scaled to how far one of them moves, not to the root of four.",
        patched((rounded, "l2_squared_of", lambda moves: _norm_of(moves if moves == 1 else moves.linf))),
        lambda: _vector(Gaussian.calibrate(mu(1), Norms(4 * _STEPS, 4 * _STEPS**2, _STEPS))),
        ([0] * 4, [_STEPS] * 4),
        mu(1),
        lambda: gaussian_epsilon(2.0, 1e-6),
        samples=40_000,
    ),
    Mutant(
        "the delta taken as its square root",
        "ln(1/δ) of the formula is halved, so that the noise fits δ = 1e-3 where 1e-6 is claimed.",
        patched((rounded, "_squared_for", lambda spend: Fraction(_mu_for(spend)) ** 2)),
        lambda: Gaussian.calibrate(approx(1, 1e-6), 16).release,
        (0, 16),
        approx(1, 1e-6),
        lambda: gaussian_epsilon(_mu_for(approx(1, 1e-6)), 1e-6),
        seen_by="exact",
    ),
    Mutant(
        "textbook sigma at a large epsilon",
        "sigma = Δ √(2 ln(1.25/δ)) / ε is proved for ε below 1, and at ε = 16 the δ is far above the claim.",
        patched((Gaussian, "calibrate", classmethod(_textbook))),
        lambda: Gaussian.calibrate(approx(16, 1e-5), 64).release,
        (0, 64),
        approx(16, 1e-5),
        _textbook_epsilon,
        seen_by="exact",
    ),
    Mutant(
        "discrete Gaussian charged as continuous",
        "The δ of continuous noise is used for discrete noise: at (8, 1e-6) the true δ is three times that.",
        patched((DiscreteGaussian, "_within", classmethod(_continuous))),
        lambda: DiscreteGaussian.calibrate(approx(8, 1e-6), 1).release,
        (0, 1),
        approx(8, 1e-6),
        lambda: _discrete_epsilon(_sigma_for(8, 1e-6), 1e-6),
        seen_by="exact",
    ),
)
