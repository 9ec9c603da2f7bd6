"""Other meanings of a loss: its trade-off function, Rényi divergence, ρ, μ, posterior beliefs, and people at risk."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy.accounting._budget import as_approx, as_mu, as_pure, as_rho
from discreet.privacy.accounting._canonical import canonical_form
from discreet.privacy.accounting._certify import curve_of
from discreet.privacy.accounting._closed_form import closed_curve
from discreet.privacy.accounting._renyi import total
from discreet.privacy.curves._rounding import down, log_bounds, root_up, up
from discreet.privacy.losses._base import Loss
from discreet.privacy.losses._leaves import MuLoss
from discreet.privacy.losses._validation import delta as checked_delta
from discreet.privacy.losses._validation import integer, probability
from discreet.rational import Number, decimal_text, rational

__all__ = ["at_risk", "loss_tail", "mu", "posterior", "renyi", "rho", "tradeoff", "tradeoff_curve"]


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
    """`tradeoff` at many type I errors, for little more work than one: pairs (alpha, least type II error).

    >>> from discreet.privacy import pure
    >>> [(alpha, round(beta, 4)) for alpha, beta in tradeoff_curve(pure(1), [0, 0.25, 1])]
    [(0.0, 1.0), (0.25, 0.3204), (1.0, 0.0)]
    """
    ats = [probability(alpha, "alpha") for alpha in alphas]
    form = canonical_form(loss)
    if not form.leaks and len(form.items) == 1 and isinstance(form.items[0][0], MuLoss):
        squared = form.items[0][0].mu_squared
        return [(float(at), _gaussian_tradeoff(squared, at)) for at in ats]
    closed = closed_curve(form)
    curve = closed or curve_of(loss, upper=True)
    points, rounds = (40, 30) if closed is not None else (60, 6)
    known: dict[float, float] = {}

    def one_minus_delta(eps: float) -> float:
        if eps not in known:
            known[eps] = -math.expm1(min(curve.log_delta(eps)[1], 0.0)) * (1 - 2.0**-50) - 2.0**-52
        return known[eps]

    top = min(max(curve.epsilon((-30.0, -30.0))[1], 1e-3), 700.0)
    grid = [top * (i / points) ** 2 for i in range(points + 1)]
    return [(float(at), _best_line(one_minus_delta, up(at), grid, rounds)) for at in ats]


def _best_line(one_minus_delta: Callable[[float], float], error: float, grid: list[float], rounds: int) -> float:
    """The largest lower bound at one type I error: over a grid of ε, then by golden section beside the best one."""

    def line(eps: float) -> float:
        part = one_minus_delta(eps)
        return max(part - math.exp(min(eps, 700.0)) * error * (1 + 2.0**-50), math.exp(-eps) * (part - error), 0.0)

    values = [line(eps) for eps in grid]
    best = max(range(len(grid)), key=values.__getitem__)
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    highest = values[best]
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(rounds):
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = line(left), line(right)
        highest = max(highest, at_left, at_right)
        if at_left > at_right:
            high = right
        else:
            low = left
    return max(0.0, highest * (1 - 2.0**-48))


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
    form = canonical_form(loss)
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


_SHARES = (Fraction(2, 5), Fraction(1, 4), Fraction(1, 8), Fraction(1, 16), Fraction(1, 32), Fraction(1, 128))


def posterior(loss: Loss, prior: Number, delta: Number = 0, *, independent: bool = False) -> tuple[float, float]:
    """The range in which the belief about one person ends of an adversary with this prior. See `Loss.posterior`."""
    before, at = probability(prior, "prior"), checked_delta(delta)
    steps = 1 if independent and loss.relation != "add_remove" else 2
    if at == 0:
        eps = as_pure(loss)
        if eps is None:
            raise ParameterError(
                "only a pure epsilon bounds a belief on every output; allow an event, for example delta=1e-6"
            )
        return _moved_belief(before, steps * up(eps))
    if independent:
        relevant = loss.under("substitute") if loss.relation == "add_remove" else loss
        return _moved_belief(before, loss_tail(relevant, at))
    factor = math.exp(min(2 * loss_tail(loss, at / 2), 700.0)) * (1 + 1e-13)
    return max(0.0, down(before) / factor), min(1.0, up(before) * factor)


def loss_tail(loss: Loss, probability: Fraction) -> float:
    """The least ε found such that the privacy loss is beyond ±ε with at most this probability, rounded up.

    For every e and t > 0, Pr[L > e + t] ≤ δ(e)/(1 − e^{−t}), because δ(e) ≥ E[(1 − e^{e−L})⁺]; and Pr[L < −x] is at
    most e^{−x} times the same tail of the other direction. With δ(e) a share s of the probability, t follows; the best
    of a few s. Unlike the exact tail, this bound survives post-processing.
    """
    eps = as_pure(loss)
    least = math.inf if eps is None else up(eps)
    curve = curve_of(loss, upper=True)
    for share in _SHARES:
        at = curve.epsilon(log_bounds(probability * share))[1]
        if math.isfinite(at):
            beyond = -math.log1p(-float(share) * (1 + math.exp(-at)))
            least = min(least, (at + beyond) * (1 + 1e-12))
    return least


def at_risk(loss: Loss, n: int) -> float:
    """δ·n: how many of `n` people the event of the stated δ is expected to hit at most; choose δ so that it is ≪ 1.

    The δ of the loss as written (0 for pure, ρ, μ and noise). δ must be public: never 1/n² for a secret n. Raises
    `ParameterError` unless n ≥ 0. Source: Dwork and Roth 2014, Section 2.3.

    >>> from discreet.privacy import approx
    >>> approx(1, 1e-6).at_risk(10_000)
    0.01
    """
    people = integer(n, "n", 0)
    pair = as_approx(loss) or as_mu(loss)
    if pair is not None:
        return up(pair[1] * people)
    return up(canonical_form(loss).leaked * people)


def _moved_belief(prior: Fraction, move: float) -> tuple[float, float]:
    """p/(p + (1−p)e^{±m}), outward by 1e-13 of it."""
    p = float(prior)
    if p in (0.0, 1.0):
        return (down(prior), up(prior))
    factor = math.exp(-min(move, 700.0))
    low, high = p * factor / (p * factor + (1 - p)), p / (p + (1 - p) * factor)
    return low * (1 - 1e-13), min(1.0, high * (1 + 1e-13))
