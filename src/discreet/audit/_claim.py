"""What a claim allows: at one δ, and over all events."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.audit._columns import Floats
from discreet.audit._proof import epsilon_shown, mu_shown, rho_shown
from discreet.errors import ParameterError
from discreet.privacy import Approx, Loss, Mu, Pure, Rho, as_approx, as_rho, budget_of, in_currency, tradeoff_curve
from discreet.rational import Number, rational

__all__ = ["Claim", "claim_of", "doubt_of", "told_at"]

_USUAL_DELTA = Fraction(1, 10**6)
_ERRORS = np.concatenate([np.geomspace(1e-6, 0.1, 16), np.linspace(0.15, 1.0, 18)])


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """A loss, ready to be held against events of probability at least p on one input and at most q on the other.

    delta, epsilon: where ε is told. beside: the δ that goes with its ρ or μ. stated: the loss as one ρ or one μ, if
    that is what it is. curve: for other losses than (ε, δ), at each of `_ERRORS` as type I error the least type II
    error that the loss allows; it guides the search, and `refuted_by` looks at the exact place.
    """

    loss: Loss
    delta: float
    epsilon: float
    beside: float
    stated: Rho | Mu | None
    curve: Floats | None

    @property
    def is_pure(self) -> bool:
        """Whether an ε at δ = 0 says all that is claimed."""
        return self.stated is None and self.curve is None and self.delta == 0

    @property
    def is_rho(self) -> bool:
        """Whether one ρ with no δ beside it is claimed, which many disjoint events refute better than any one."""
        return isinstance(self.stated, Rho) and self.beside == 0

    def delta_shown(self, p: Floats, q: Floats) -> Floats:
        """No δ below this holds at the claimed ε."""
        with np.errstate(over="ignore"):
            grown = np.exp(self.epsilon + 1e-11)
        one, other = p - np.where(q > 0, grown * q, 0.0), 1 - q - np.where(p < 1, grown * (1 - p), 0.0)
        return np.maximum(np.maximum(one, other), 0.0)

    def excess(self, p: Floats, q: Floats) -> Floats:
        """What to look for beside a great ε at δ.

        A great ρ or μ; a great δ at ε; or for other curves p that is many probits above what is allowed at q.
        """
        from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

        match self.stated:
            case Rho():
                return rho_shown(p, q, self.beside)
            case Mu():
                return mu_shown(p, q, self.beside)
            case None if self.curve is None:
                return self.delta_shown(p, q)
            case None:
                assert self.curve is not None
                allowed = 1 - self.curve[np.minimum(np.searchsorted(_ERRORS, q), _ERRORS.size - 1)]
                return np.where(p > 0, ndtri(np.maximum(p, 1e-300)) - ndtri(allowed), -np.inf)

    def refuted_by(self, p: float, q: float) -> bool:
        """Whether no mechanism with this loss has such an event."""
        if float(epsilon_shown(p, q, self.delta)) > self.epsilon:
            return True
        match self.stated:
            case Rho(rho):
                return float(rho_shown(p, q, self.beside)) > rho
            case Mu(squared):
                return float(mu_shown(p, q, self.beside)) ** 2 * (1 - 1e-12) > squared
            case None:
                return self.curve is not None and p > q and 1 - p < tradeoff_curve(self.loss, [q])[0][1] - 1e-11


def claim_of(loss: Loss, delta: Number | None) -> Claim:
    """The claim, with its ε at the δ of `told_at`. Raises `ParameterError` as that does."""
    at, epsilon = told_at(loss, delta)
    stated = _stated(loss)
    curve = None
    if stated is None and not isinstance(loss, Pure | Approx):
        curve = np.array([least for _, least in tradeoff_curve(loss, _ERRORS.tolist())])
    return Claim(loss, float(at), epsilon, float(_beside(loss)), stated, curve)


def told_at(loss: Loss, delta: Number | None) -> tuple[Fraction, float]:
    """Where ε is told, and ε there: at the given δ, or that of basic composition, or 1e-6 where that has none.

    Raises `ParameterError` if `loss` is none, or δ is not in [0, 1).
    """
    if not isinstance(loss, Loss):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"a claim is a loss, such as dp.pure(1) or dp.rho(0.5), got {type(loss).__name__}")
    pair = as_approx(loss)
    usual = _beside(loss) + _USUAL_DELTA if pair is None else pair[1]
    at = usual if delta is None else rational(delta, "delta")
    return at, loss.epsilon(at)


def doubt_of(confidence: Number) -> float:
    """1 − confidence; raises `ParameterError` unless it is above 0 and below 1."""
    doubt = 1 - float(rational(confidence, "confidence"))
    if not 0 < doubt < 1:
        raise ParameterError(f"confidence must be above 0 and below 1, got {confidence!r}")
    return doubt


def _stated(loss: Loss) -> Rho | Mu | None:
    try:
        name, _ = budget_of(loss)
    except ParameterError:
        return None
    found = in_currency(loss, name)
    return found if isinstance(found, Rho | Mu) else None


def _beside(loss: Loss) -> Fraction:
    try:
        return as_rho(loss)[1]
    except ParameterError:
        return Fraction(0)
