"""Noise scaled to smooth sensitivity: what the data at hand need, and not what the worst data would."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, cast, get_args

from discreet.errors import ParameterError
from discreet.mechanisms.statistics._answer import answer, fixed, numeric, power_of_two_below, to_float
from discreet.mechanisms.statistics._dilation import (
    LogNormal,
    fit_log_normal,
    laplace_beta,
    laplace_rate,
    log_normal_std,
    student_rate,
)
from discreet.noise import (
    rounded_laplace,
    rounded_laplace_log_normal,
    rounded_student_t,
    rounded_uniform_log_normal,
)
from discreet.privacy import ApproxLoss, Loss, PureLoss, Relation, RhoLoss, budget_of
from discreet.rational import Number, decimal_text, rational
from discreet.reprs import call_repr
from discreet.sensitivity import Statistic, smooth

__all__ = ["SmoothNoise", "SmoothSensitivity"]

SmoothNoise = Literal["laplace", "cauchy", "student_t"] | LogNormal

_LOG_NORMALS: tuple[LogNormal, ...] = get_args(LogNormal)
_NOISES = ("laplace", "cauchy", "student_t", *_LOG_NORMALS)
_DEGREES = {"cauchy": 1, "student_t": 3}
_BETA_SHARE = {"cauchy": Fraction(7, 10), "student_t": Fraction(23, 100)}
_UNIT_STDS = {"cauchy": math.inf, "laplace": math.sqrt(2), "student_t": 1.0}
_FINENESS = 2**28
_LEAST_STEP = Fraction(1, 2**900)
_LEAST_BETA = Fraction(1, 10**8)


@dataclass(frozen=True, slots=True, init=False)
class SmoothSensitivity:
    """A statistic with noise of scale S / rate, S being a β-smooth upper bound of its local sensitivity.

    ==================  =======  ==================================================  ======================
    noise               loss     rate                                                β, if not given
    ==================  =======  ==================================================  ======================
    laplace             (ε, δ)   ε/2; for another β the largest possible             the largest possible
    cauchy              pure ε   the largest possible, about √(ε² − β²)              0.7 ε
    student_t           pure ε   the largest possible, about √((ε − 3β)(ε + β))/2    0.23 ε
    uniform_log_normal  ρ        √(2ρ − β²/σ²) / 1.89 for σ = 0.8                    0.8 √ρ
    laplace_log_normal  ρ        √(2ρ − β²/σ²) / e^(3σ²/2)                           0.45 √ρ
    ==================  =======  ==================================================  ======================

    "Possible" is decided by the exact worst case over all moves and stretches, not by a sum of two bounds. Student's t
    has 3 degrees of freedom and is divided by √3: its variance is 1. Cauchy noise has no mean. Log-normal noise is a
    uniform number from −1 to 1, or a Laplace one, times e^(σY), Y standard normal; `sigma` is the σ of least variance.
    The β of all but Laplace noise are best where S falls like 1/β. The real sum of statistic and noise is rounded once,
    exactly, to a grid.

    Parameters
    ----------
    statistic
        A name such as ``"median"``, or a `discreet.sensitivity.Statistic` with numbers as values.
    bounds
        The public (lower, upper) of the data.
    spend
        `dp.approx(ε, δ)`, `dp.pure(ε)` or `dp.rho(ρ)`. A δ is used by Laplace noise alone.
    noise
        ``"laplace"``, ``"cauchy"`` or ``"student_t"`` for ε, ``"uniform_log_normal"`` or ``"laplace_log_normal"`` for
        ρ. If not given: Laplace where the spend has a δ, Student's t for pure ε, and for ρ the log-normal one of the
        least variance.
    relation
        What neighbours are: ``"add_remove"`` or ``"substitute"``.
    beta
        How much the logarithm of S may differ between neighbours: public, 1e-8 or more. A larger one means less S, and
        more noise for the same S.

    Raises `ParameterError` for an argument out of its range, which never depends on data.
    Source: Nissim, Raskhodnikova and Smith 2007, section 2, and Bun and Steinke 2019, with the constants of
    ``proofs/smooth_sensitivity.md``.

    >>> from discreet.privacy import pure
    >>> median = SmoothSensitivity("median", bounds=(0, 1), spend=pure(1), noise="cauchy", beta=0.5)
    >>> median.loss(), round(float(median.rate), 4)
    (pure(1), 1.0422)
    """

    statistic: Statistic
    bounds: Any
    spend: Loss
    noise: SmoothNoise
    relation: Relation
    beta: Fraction
    sigma: Fraction | None
    rate: Fraction
    step: Fraction

    def __init__(  # noqa: PLR0913 (all but the first by keyword)
        self,
        statistic: str | Statistic,
        *,
        bounds: Any = None,
        spend: Loss,
        noise: SmoothNoise | None = None,
        relation: Relation = "add_remove",
        beta: Number | None = None,
    ) -> None:
        chosen, most = numeric(statistic, bounds, relation)
        if not math.isfinite(most):
            raise ParameterError("smooth sensitivity needs a statistic of finite global sensitivity")
        paid, noises = _paid(spend, noise)
        taken, exact_beta, sigma, rate = _fitted(paid, noises, None if beta is None else rational(beta, "beta"))
        if exact_beta < _LEAST_BETA or rate <= 0:
            raise ParameterError(
                f"beta {decimal_text(exact_beta)} leaves no room for noise: it must be 1e-8 or more, and small against "
                "the spend; spend more, or give a smaller beta"
            )
        for name, value in (
            ("statistic", chosen),
            ("bounds", fixed(bounds)),
            ("spend", paid),
            ("noise", taken),
            ("relation", relation),
            ("beta", exact_beta),
            ("sigma", sigma),
            ("rate", rate),
            ("step", _step(chosen, bounds, most)),
        ):
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        unasked = SmoothSensitivity(
            self.statistic, bounds=self.bounds, spend=self.spend, noise=self.noise, relation=self.relation
        )
        return call_repr(self, leave_out={"beta"} if unasked == self else ())

    def loss(self) -> Loss:
        """The whole spend: (ε, δ) with Laplace noise, ρ with log-normal noise, else pure ε.

        Source: ``proofs/smooth_sensitivity.md``.
        """
        return self.spend

    def release(self, x: Any) -> float:
        """The statistic of x with noise: a float, a multiple of `step` unless it is beyond 2**53 steps.

        The scale of the noise is SENSITIVE and is not released. Costs `loss()`, **and charges nobody**: this is the raw
        toolbox. Answers are cut to 2**52 steps around 0 before the noise. Raises `ParameterError` only if x is not a
        data set of the statistic's shape. Source: ``proofs/smooth_sensitivity.md``.

        >>> from discreet.privacy import approx
        >>> median = SmoothSensitivity("median", bounds=(0, 1), spend=approx(1, 1e-6))
        >>> abs(median.release([0.25] * 2000) - 0.25) < 0.01
        True
        """
        value, scale = self._before_noise(x)
        return to_float(self._rounded(value / self.step, scale / self.step), self.step)

    @property
    def unit_std(self) -> float:
        """The standard deviation of the noise at scale 1: infinite for Cauchy noise. Public."""
        match self.noise:
            case "uniform_log_normal" | "laplace_log_normal" as noise:
                return log_normal_std(noise, self.sigma or Fraction(0))
            case other:
                return _UNIT_STDS[other]

    def _before_noise(self, x: Any) -> tuple[Fraction, Fraction]:
        """The statistic, and the scale of the noise: S, and a step more for the rounding to floats. SENSITIVE."""
        bound = Fraction(smooth(self.statistic, x, self.beta, bounds=self.bounds, relation=self.relation))
        return answer(self.statistic, x, self.bounds, self.step), (bound + self.step) / self.rate

    def _rounded(self, center: Fraction, scale: Fraction) -> int:
        match self.noise:
            case "laplace":
                return rounded_laplace(center, scale)
            case "uniform_log_normal":
                return rounded_uniform_log_normal(center, scale, self.sigma or Fraction(0))
            case "laplace_log_normal":
                return rounded_laplace_log_normal(center, scale, self.sigma or Fraction(0))
            case student:
                return rounded_student_t(center, scale, _DEGREES[student])


def _paid(spend: Loss, noise: str | None) -> tuple[PureLoss | ApproxLoss | RhoLoss, tuple[str, ...]]:
    """What is spent, and the noises that may be taken for it."""
    if noise is not None and noise not in _NOISES:
        raise ParameterError(f"noise must be one of {', '.join(_NOISES)}, got {noise!r}")
    kind, allowed = budget_of(spend)
    if kind == "mu":
        raise ParameterError(
            "noise for smooth sensitivity is paid in epsilon or rho, and this spend is in mu; "
            "spend dp.rho(0.01), dp.approx(1, 1e-6) or dp.pure(1)"
        )
    amount, delta = (*allowed, Fraction(0))[:2]
    if amount <= 0:
        raise ParameterError(f"{'rho' if kind == 'rho' else 'epsilon'} must be greater than 0")
    if noise is not None and (noise in _LOG_NORMALS) != (kind == "rho"):
        raise ParameterError(
            f"{noise} noise is paid in {'rho' if noise in _LOG_NORMALS else 'epsilon'}, and this spend is in "
            f"{'rho' if kind == 'rho' else 'epsilon'}; leave the noise out to take one that fits"
        )
    if kind == "rho":
        return RhoLoss(amount, Fraction(0)), _LOG_NORMALS if noise is None else (noise,)
    taken = noise or ("laplace" if delta > 0 else "student_t")
    if taken != "laplace":
        return PureLoss(amount), (taken,)
    if delta <= 0:
        raise ParameterError(
            "Laplace noise for smooth sensitivity needs a delta above 0, because its scale differs between neighbours; "
            "spend for example dp.approx(1, 1e-6), or take noise='student_t'"
        )
    return ApproxLoss(amount, delta), (taken,)


def _fitted(
    paid: PureLoss | ApproxLoss | RhoLoss, noises: tuple[str, ...], beta: Fraction | None
) -> tuple[str, Fraction, Fraction | None, Fraction]:
    """Noise, β, σ and rate; a rate of 0 or less if no noise of any scale would do."""
    if beta is not None and beta <= 0:
        return noises[0], beta, None, Fraction(0)
    match paid:
        case RhoLoss(rho):
            return fit_log_normal(cast("tuple[LogNormal, ...]", noises), rho, beta)
        case ApproxLoss(epsilon, delta):
            if beta is None:
                return noises[0], laplace_beta(epsilon, delta), None, epsilon / 2
            return noises[0], beta, None, laplace_rate(epsilon, delta, beta)
        case PureLoss(epsilon):
            chosen = epsilon * _BETA_SHARE[noises[0]] if beta is None else beta
            return noises[0], chosen, None, student_rate(epsilon, chosen, _DEGREES[noises[0]])


def _step(statistic: Statistic, bounds: Any, most: float) -> Fraction:
    """A power of two, 2**-28 of the answers' public size or less: of their largest sensitivity, or of no data's."""
    size = max(Fraction(most), abs(_of_no_data(statistic, bounds))) or Fraction(1)
    return max(power_of_two_below(size) / _FINENESS, _LEAST_STEP)


def _of_no_data(statistic: Statistic, bounds: Any) -> Fraction:
    for nothing in ([], ([], [])):
        try:
            return answer(statistic, nothing, bounds, Fraction(2**900))
        except Exception:  # noqa: BLE001, S112 (a plug-in may take neither; no data are involved)
            continue
    return Fraction(0)
