"""What else a loss means: to a tester of hypotheses, and as one Rényi, concentrated or Gaussian number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy._checks import probability
from discreet.privacy._closed import closed_curve
from discreet.privacy._currency import as_mu, as_rho
from discreet.privacy._interpret import curve_of
from discreet.privacy._loss import Loss
from discreet.privacy._nodes import Mu
from discreet.privacy._normal import normal
from discreet.privacy._renyi import total
from discreet.privacy._rounding import root_up, up
from discreet.rational import Number, decimal_text, rational

__all__ = ["mu", "renyi", "rho", "tradeoff", "tradeoff_curve"]


def tradeoff(loss: Loss, alpha: Number) -> float:
    """The least type II error of any test between neighbours with type I error `alpha`, rounded down.

    Raises `ParameterError` unless 0 ≤ alpha ≤ 1. For Gaussian losses it is Φ(Φ⁻¹(1−α) − μ); otherwise the best of the
    lines max(1 − δ − e^ε α, e^{−ε}(1 − δ − α)) (Wasserman and Zhou 2010 for one (ε, δ); Dong, Roth and Su 2022, the
    duality of f-DP with a family of (ε, δ)). Each line is valid by itself, so the search for the best ε need not be
    exact.

    >>> from discreet.privacy import mu, pure
    >>> round(mu(1).tradeoff(0.05), 4), round(pure(1).tradeoff(0.05), 4)
    (0.7405, 0.8641)
    """
    return tradeoff_curve(loss, [alpha])[0][1]


def tradeoff_curve(loss: Loss, alphas: Iterable[Number]) -> list[tuple[float, float]]:
    """`tradeoff` at many type I errors, for little more than the price of one: pairs (alpha, least type II error).

    >>> from discreet.privacy import pure
    >>> [(alpha, round(beta, 4)) for alpha, beta in tradeoff_curve(pure(1), [0, 0.25, 1])]
    [(0.0, 1.0), (0.25, 0.3204), (1.0, 0.0)]
    """
    ats = [probability(alpha, "alpha") for alpha in alphas]
    form = normal(loss)
    if not form.leaks and len(form.items) == 1 and isinstance(form.items[0][0], Mu):
        squared = form.items[0][0].squared
        return [(float(at), _gaussian_tradeoff(squared, at)) for at in ats]
    closed = closed_curve(form)
    curve = closed or curve_of(loss, upper=True)
    points, rounds = (40, 30) if closed is not None else (60, 6)
    known: dict[float, float] = {}

    def kept(eps: float) -> float:
        if eps not in known:
            known[eps] = -math.expm1(min(curve.log_delta(eps)[1], 0.0)) * (1 - 2.0**-50) - 2.0**-52
        return known[eps]

    top = min(max(curve.epsilon((-30.0, -30.0))[1], 1e-3), 700.0)
    grid = [top * (i / points) ** 2 for i in range(points + 1)]
    return [(float(at), _best_line(kept, up(at), grid, rounds)) for at in ats]


def _best_line(kept: Callable[[float], float], error: float, grid: list[float], rounds: int) -> float:
    """The largest lower bound at one type I error: over a grid of ε, then by golden section beside the best one."""

    def line(eps: float) -> float:
        part = kept(eps)
        return max(part - math.exp(min(eps, 700.0)) * error * (1 + 2.0**-50), math.exp(-eps) * (part - error), 0.0)

    values = [line(eps) for eps in grid]
    best = max(range(len(grid)), key=values.__getitem__)
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = values[best]
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(rounds):
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = line(left), line(right)
        found = max(found, at_left, at_right)
        if at_left > at_right:
            high = right
        else:
            low = left
    return max(0.0, found * (1 - 2.0**-48))


def _gaussian_tradeoff(squared: Fraction, alpha: Fraction) -> float:
    """Dong, Roth and Su 2022, equation 6. ndtri and ndtr are taken to be right to 1e-13 of z and of the result."""
    from scipy.special import ndtr, ndtri  # pyright: ignore[reportMissingTypeStubs]

    z = -float(ndtri(up(alpha)))
    moved = z - up(root_up(squared))
    if math.isinf(z):
        return 1.0 if z > 0 else 0.0
    moved -= 1e-13 * (1 + abs(z) + abs(moved))
    return max(0.0, float(ndtr(moved)) * (1 - 1e-13))


def renyi(loss: Loss, order: Number) -> float:
    """D_α for every pair of neighbours, in nats, rounded up; ``inf`` where a δ or a jump makes it so.

    Raises `ParameterError` unless order > 1.

    >>> from discreet.privacy import gaussian, pure
    >>> round(gaussian(1).renyi(8), 9), round(pure(1).renyi(8), 4)
    (4.0, 0.9552)
    """
    alpha = rational(order, "order")
    if alpha <= 1:
        raise ParameterError(f"order must be greater than 1, got {decimal_text(alpha)}")
    form = normal(loss)
    return math.inf if form.leaks else total(form.items, up(alpha))


def rho(loss: Loss) -> float:
    """The ρ of zero-concentrated differential privacy, rounded up.

    Raises `ParameterError` if it has none, or only off an event (a δ): `as_rho` gives both.

    >>> from discreet.privacy import gaussian, pure
    >>> gaussian(1).rho(), pure(1).rho()
    (0.5, 0.5)
    """
    value, delta = as_rho(loss)
    if delta:
        raise ParameterError(f"this loss has a rho only off an event of probability {decimal_text(delta)}; see as_rho")
    return up(value)


def mu(loss: Loss) -> float:
    """The μ of Gaussian differential privacy, rounded up.

    Raises `ParameterError` if it has none (ρ and Rényi bounds, sampled noise), or only off an event: see `as_mu`.

    >>> from discreet.privacy import gaussian, pure
    >>> (4 * gaussian(1)).mu(), round(pure(1).mu(), 4)
    (2.0, 1.232)
    """
    pair = as_mu(loss)
    if pair is None:
        raise ParameterError("this loss has no mu of Gaussian differential privacy; ask for bounds(delta=...) instead")
    if pair[1]:
        raise ParameterError(f"this loss has a mu only off an event of probability {decimal_text(pair[1])}; see as_mu")
    return up(root_up(pair[0]))
