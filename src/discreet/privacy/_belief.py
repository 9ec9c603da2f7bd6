"""What a loss means for what an adversary believes, and for how many people a δ may fail."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy._checks import delta as checked_delta
from discreet.privacy._checks import probability, whole
from discreet.privacy._currency import as_approx, as_mu, as_pure
from discreet.privacy._interpret import curve_of
from discreet.privacy._loss import Loss
from discreet.privacy._normal import normal
from discreet.privacy._rounding import down, log_bounds, up
from discreet.rational import Number

__all__ = ["at_risk", "loss_tail", "posterior"]

_SHARES = (Fraction(2, 5), Fraction(1, 4), Fraction(1, 8), Fraction(1, 16), Fraction(1, 32), Fraction(1, 128))


def posterior(loss: Loss, prior: Number, delta: Number = 0, *, independent: bool = False) -> tuple[float, float]:
    """The range in which an adversary's belief about one person ends, who held `prior` before.

    At δ = 0 on every output: the odds move by at most e^{±2ε}, against what the same output would have taught without
    the person's data; for *any* prior, however records hang together. With ``independent=True`` (the person's record is
    independent of all others, the loss is for substitution) the odds move by at most e^{±ε} from the prior itself.

    At δ > 0 except on an event of probability at most δ, over what is true and the output. Then, in general, it is the
    belief in what is *true* that stays within a factor e^{±2ε}. The event is the tail of the privacy loss, not the δ of
    (ε, δ): see `loss_tail`. A loss for add/remove counts twice for ``independent=True``.

    Raises `ParameterError` unless 0 ≤ prior ≤ 1, and at δ = 0 if the loss is not pure.
    Sources: Kifer and Machanavajjhala 2014; Dwork and Roth 2014, Section 2.3; proofs/composition.md.

    >>> from discreet.privacy import pure
    >>> [round(b, 4) for b in pure(1).posterior(0.01)]
    [0.0014, 0.0695]
    >>> [round(b, 4) for b in pure(1).posterior(0.01, independent=True)]
    [0.0037, 0.0267]
    """
    before, at = probability(prior, "prior"), checked_delta(delta)
    steps = 1 if independent and loss.relation != "add_remove" else 2
    if at == 0:
        eps = as_pure(loss)
        if eps is None:
            raise ParameterError(
                "only a pure epsilon bounds a belief on every output; allow an event, for example delta=1e-6"
            )
        return _by_odds(before, steps * up(eps))
    if independent:
        relevant = loss.under("substitute") if loss.relation == "add_remove" else loss
        return _by_odds(before, loss_tail(relevant, at))
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
    people = whole(n, "n", 0)
    pair = as_approx(loss) or as_mu(loss)
    if pair is not None:
        return up(pair[1] * people)
    return up(normal(loss).leaked * people)


def _by_odds(prior: Fraction, move: float) -> tuple[float, float]:
    """p/(p + (1−p)e^{±m}), outward by 1e-13 of it."""
    p = float(prior)
    if p in (0.0, 1.0):
        return (down(prior), up(prior))
    odds = math.exp(-min(move, 700.0))
    low, high = p * odds / (p * odds + (1 - p)), p / (p + (1 - p) * odds)
    return low * (1 - 1e-13), min(1.0, high * (1 + 1e-13))
