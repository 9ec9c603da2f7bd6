"""What a claim allows: at one δ, and over all events."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.audit.black_box._columns import Floats
from discreet.errors import ParameterError
from discreet.privacy import (
    ApproxLoss,
    Loss,
    MuLoss,
    PureLoss,
    RhoLoss,
    as_approx,
    as_rho,
    budget_of,
    in_currency,
    tradeoff_curve,
)
from discreet.rational import Number, rational

__all__ = [
    "Claim",
    "at_least",
    "at_most",
    "claim_of",
    "doubt_of",
    "epsilon_shown",
    "mu_shown",
    "rho_shown",
    "rho_shown_by_cells",
    "stated_point",
]


_ORDERS = 1 + np.geomspace(1e-3, 1e2, 61)
_PROOF_SLACK = 1e-11


def epsilon_shown(p: ArrayLike, q: ArrayLike, delta: float = 0.0) -> NDArray[np.float64]:
    """No ε below this holds at δ, as p ≤ e^ε q + δ would, and 1 − q ≤ e^ε (1 − p) + δ. Takes arrays; 0 shows nothing.

    Source: the definition of (ε, δ)-differential privacy, for the event and for its complement.

    >>> round(float(epsilon_shown(0.5, 0.25)), 4)
    0.6931
    """
    one, other = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    return np.maximum(_log_ratio(one - delta, other), _log_ratio(1 - other - delta, 1 - one))


def _log_ratio(above: NDArray[np.float64], below: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = np.log(np.maximum(above, 0.0)) - np.log(np.maximum(below, 0.0))
    return np.maximum(np.nan_to_num(shown, nan=0.0, posinf=np.inf, neginf=0.0) - _PROOF_SLACK, 0.0)


def mu_shown(p: ArrayLike, q: ArrayLike, delta: float = 0.0) -> NDArray[np.float64]:
    """No μ below this holds: Gaussian differential privacy allows p at most Φ(Φ⁻¹(q) + μ), apart from a mass of δ.

    Tight for Gaussian noise at every event, where ε at a small δ is not. Takes arrays. Source: Dong, Roth and Su 2022,
    equation 6; Nasr et al. 2023, "Tight auditing of differentially private machine learning", section 4.

    >>> round(float(mu_shown(0.5, 0.15865)), 3)
    1.0
    """
    from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

    one, other = _conditioned(p, q, delta)
    with np.errstate(invalid="ignore"):
        return np.where(one > other, np.maximum(ndtri(one) - ndtri(other) - 1e-10, 0.0), 0.0)


def rho_shown(p: ArrayLike, q: ArrayLike, delta: float = 0.0) -> NDArray[np.float64]:
    """No ρ below this holds: the Rényi divergence of order α of the two coins is at most ρα, apart from a mass of δ.

    Takes arrays. Source: data processing for the divergences of Bun and Steinke 2016, Definitions 1.1 and 8.1.

    >>> round(float(rho_shown(1.0, 0.25)), 4)  # the divergence of every order is ln 4
    1.3849
    """
    one, other = (part[..., None] for part in _conditioned(p, q, delta))
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = _ORDERS * np.log(one) + (1 - _ORDERS) * np.log(other)
        unseen = np.where(one < 1, _ORDERS * np.log1p(-one) + (1 - _ORDERS) * np.log1p(-other), -np.inf)
        shown = np.max(np.logaddexp(seen, unseen) / (_ORDERS - 1) / _ORDERS, axis=-1) - 1e-9
    return np.where(one[..., 0] > other[..., 0], np.maximum(shown, 0.0), 0.0)


def rho_shown_by_cells(p: ArrayLike, q: ArrayLike) -> float:
    """No ρ below this holds, for disjoint events of probability at least pᵢ on one input and at most qᵢ on the other.

    ln Σ pᵢ^α qᵢ^(1−α) / (α − 1) ≤ ρα for every order α > 1, since the sum grows with each pᵢ and falls with each qᵢ.
    Source: data processing for the divergence of Bun and Steinke 2016, Definition 1.1.

    >>> round(rho_shown_by_cells([0.75, 0.25], [0.25, 0.75]), 4)
    0.5492
    """
    one, other = np.asarray(p, dtype=np.float64), np.maximum(np.asarray(q, dtype=np.float64), 1e-300)
    with np.errstate(divide="ignore"):
        shares = _ORDERS[:, None] * np.log(one) + (1 - _ORDERS[:, None]) * np.log(other)
    return max(0.0, float(np.max(np.logaddexp.reduce(shares, axis=1) / (_ORDERS - 1) / _ORDERS)) - 1e-9)


def _conditioned(p: ArrayLike, q: ArrayLike, delta: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least p and the greatest q after a mass of δ is removed on either side."""
    one, other = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    if delta >= 1:
        return np.zeros_like(one), np.ones_like(other)
    return np.maximum(0.0, (one - delta) / (1 - delta)), np.minimum(1.0, other / (1 - delta))


_USUAL_DELTA = Fraction(1, 10**6)
_ERRORS = np.concatenate([np.geomspace(1e-6, 0.1, 16), np.linspace(0.15, 1.0, 18)])


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """A loss, prepared to be tested by events of probability at least p on one input and at most q on the other.

    delta, epsilon: the δ at which ε is stated, and that ε.
    beside: the δ that goes with its ρ or μ.
    stated: the loss as one ρ or one μ, if it is one.
    curve: for other losses than (ε, δ), the least type II error that the loss allows at each type I error of `_ERRORS`.
    It guides the search; `refuted_by` evaluates the exact point.
    """

    loss: Loss
    delta: float
    epsilon: float
    beside: float
    stated: RhoLoss | MuLoss | None
    curve: Floats | None

    @property
    def is_pure(self) -> bool:
        """Whether the claim is an ε at δ = 0, and nothing else."""
        return self.stated is None and self.curve is None and self.delta == 0

    @property
    def is_rho(self) -> bool:
        """Whether the claim is one ρ without a δ, which many disjoint events refute better than any single one."""
        return isinstance(self.stated, RhoLoss) and self.beside == 0

    def delta_shown(self, p: Floats, q: Floats) -> Floats:
        """No δ below this holds at the claimed ε."""
        with np.errstate(over="ignore"):
            grown = np.exp(self.epsilon + 1e-11)
        one, other = p - np.where(q > 0, grown * q, 0.0), 1 - q - np.where(p < 1, grown * (1 - p), 0.0)
        return np.maximum(np.maximum(one, other), 0.0)

    def excess(self, p: Floats, q: Floats) -> Floats:
        """What a search maximises besides ε at δ.

        It is ρ or μ; δ at the claimed ε; or for other curves, by how many probits p exceeds what is allowed at q.
        """
        from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

        match self.stated:
            case RhoLoss():
                return rho_shown(p, q, self.beside)
            case MuLoss():
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
            case RhoLoss(rho):
                return float(rho_shown(p, q, self.beside)) > rho
            case MuLoss(squared):
                return float(mu_shown(p, q, self.beside)) ** 2 * (1 - 1e-12) > squared
            case None:
                return self.curve is not None and p > q and 1 - p < tradeoff_curve(self.loss, [q])[0][1] - 1e-11


def claim_of(loss: Loss, delta: Number | None) -> Claim:
    """The claim, with its ε at the δ of `stated_point`. Raises `ParameterError` as that does."""
    at, epsilon = stated_point(loss, delta)
    stated = _stated(loss)
    curve = None
    if stated is None and not isinstance(loss, PureLoss | ApproxLoss):
        curve = np.array([least for _, least in tradeoff_curve(loss, _ERRORS.tolist())])
    return Claim(loss, float(at), epsilon, float(_beside(loss)), stated, curve)


def stated_point(loss: Loss, delta: Number | None) -> tuple[Fraction, float]:
    """The δ at which ε is stated, and that ε: the given δ, or that of basic composition, or 1e-6 where that has none.

    Raises `ParameterError` if `loss` is not a loss, or δ is not in [0, 1).
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


def _stated(loss: Loss) -> RhoLoss | MuLoss | None:
    try:
        name, _ = budget_of(loss)
    except ParameterError:
        return None
    converted = in_currency(loss, name)
    return converted if isinstance(converted, RhoLoss | MuLoss) else None


def _beside(loss: Loss) -> Fraction:
    try:
        return as_rho(loss)[1]
    except ParameterError:
        return Fraction(0)


_SLACK = 1e-9


def at_least(hits: ArrayLike, trials: ArrayLike, alarm: float) -> NDArray[np.float64]:
    """A lower confidence bound on the probability of the event: too high with probability at most `alarm`.

    Takes arrays. Lowered by 1e-9 of itself for float rounding. Source: Clopper and Pearson 1934.

    >>> float(at_least(0, 100, 0.05)), round(float(at_least(50, 100, 0.05)), 4)
    (0.0, 0.4136)
    """
    from scipy.special import betaincinv  # pyright: ignore[reportMissingTypeStubs]

    seen, total = _counts(hits), _counts(trials)
    low: Any = betaincinv(np.maximum(seen, 1), total - np.minimum(seen, total) + 1, alarm)
    return np.where(seen > 0, low * (1 - _SLACK), 0.0)


def at_most(hits: ArrayLike, trials: ArrayLike, alarm: float) -> NDArray[np.float64]:
    """An upper confidence bound on the probability of the event: too low with probability at most `alarm`.

    Takes arrays. Raised by 1e-9 of itself for float rounding. Source: Clopper and Pearson 1934.

    >>> round(float(at_most(0, 100, 0.05)), 4), float(at_most(100, 100, 0.05))
    (0.0295, 1.0)
    """
    from scipy.special import betainccinv  # pyright: ignore[reportMissingTypeStubs]

    seen, total = _counts(hits), _counts(trials)
    high: Any = betainccinv(np.minimum(seen, total - 1) + 1, np.maximum(total - seen, 1), alarm)
    return np.where(seen < total, np.minimum(high * (1 + _SLACK), 1.0), 1.0)


def _counts(number: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(number, dtype=np.float64)
