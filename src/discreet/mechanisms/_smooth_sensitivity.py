"""Noise scaled to smooth sensitivity: what the data at hand need, and not what the worst data would."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet.errors import ParameterError
from discreet.mechanisms._answer import answer, numeric, power_of_two_below, to_float
from discreet.mechanisms._dilation import laplace_beta, laplace_rate, student_rate
from discreet.noise import rounded_laplace, rounded_student_t
from discreet.privacy import Approx, Loss, Pure, Relation, budget_of
from discreet.rational import Number, decimal_text, rational
from discreet.sensitivity import Statistic, smooth

__all__ = ["SmoothNoise", "SmoothSensitivity"]

SmoothNoise = Literal["laplace", "cauchy", "student_t"]

_DEGREES = {"cauchy": 1, "student_t": 3}
_BETA_SHARE = {"cauchy": Fraction(7, 10), "student_t": Fraction(23, 100)}
_UNIT_STDS = {"cauchy": math.inf, "laplace": math.sqrt(2), "student_t": 1.0}
_FINENESS = 2**28
_LEAST_STEP = Fraction(1, 2**900)
_LEAST_BETA = Fraction(1, 10**8)


@dataclass(frozen=True, slots=True, init=False)
class SmoothSensitivity:
    """A statistic with noise of scale S / rate, S being a β-smooth upper bound of its local sensitivity.

    ========== ============== ================================================= =====================
    noise      loss           rate                                              β, if not given
    ========== ============== ================================================= =====================
    laplace    (ε, δ)         ε/2; for another β the largest possible           the largest possible
    cauchy     pure ε         the largest possible, about √(ε² − β²)            0.7 ε
    student_t  pure ε         the largest possible, about √((ε − 3β)(ε + β))/2  0.23 ε
    ========== ============== ================================================= =====================

    "Possible" is decided by the exact worst case over all moves and stretches, not by a sum of two bounds. Student's t
    has 3 degrees of freedom and is divided by √3: its variance is 1. Cauchy noise has no mean. The β for Cauchy and
    Student are best where S falls like 1/β. The real sum of statistic and noise is rounded once, exactly, to a grid.

    Parameters
    ----------
    statistic
        A name such as ``"median"``, or a `discreet.sensitivity.Statistic` with numbers as values.
    bounds
        The public (lower, upper) of the data.
    spend
        `dp.approx(ε, δ)` with δ above 0 for Laplace noise; otherwise its ε is spent, and a δ is not used.
    noise
        ``"laplace"``, ``"cauchy"`` or ``"student_t"``.
    relation
        What neighbours are: ``"add_remove"`` or ``"substitute"``.
    beta
        How much the logarithm of S may differ between neighbours: public, 1e-8 or more. A larger one means less S, and
        more noise for the same S.

    Raises `ParameterError` for an argument out of its range, which never depends on data.
    Source: Nissim, Raskhodnikova and Smith 2007, section 2, with the constants of ``proofs/smooth_sensitivity.md``.

    >>> from discreet.privacy import pure
    >>> median = SmoothSensitivity("median", bounds=(0, 1), spend=pure(1), noise="cauchy", beta=0.5)
    >>> median.loss(), round(float(median.rate), 4)
    (Pure(eps=Fraction(1, 1)), 1.0422)
    """

    statistic: Statistic
    bounds: Any
    spend: Loss
    noise: SmoothNoise
    relation: Relation
    beta: Fraction
    rate: Fraction
    step: Fraction

    def __init__(  # noqa: PLR0913 (all but the first by keyword)
        self,
        statistic: str | Statistic,
        *,
        bounds: Any = None,
        spend: Loss,
        noise: SmoothNoise = "laplace",
        relation: Relation = "add_remove",
        beta: Number | None = None,
    ) -> None:
        found, most = numeric(statistic, bounds, relation)
        if not math.isfinite(most):
            raise ParameterError("smooth sensitivity needs a statistic of finite global sensitivity")
        paid = _paid(spend, noise)
        chosen, rate = _beta_and_rate(paid, noise, None if beta is None else rational(beta, "beta"))
        if chosen < _LEAST_BETA or rate <= 0:
            raise ParameterError(
                f"beta {decimal_text(chosen)} leaves no room for noise: it must be 1e-8 or more, and small against "
                "epsilon; spend more, or give a smaller beta"
            )
        for name, value in (
            ("statistic", found),
            ("bounds", bounds),
            ("spend", paid),
            ("noise", noise),
            ("relation", relation),
            ("beta", chosen),
            ("rate", rate),
            ("step", _step(found, bounds, most)),
        ):
            object.__setattr__(self, name, value)

    def loss(self) -> Loss:
        """The whole spend: (ε, δ) with Laplace noise, else pure ε. Source: ``proofs/smooth_sensitivity.md``."""
        return self.spend

    def release(self, x: Any) -> float:
        """The statistic of x with noise: a float, a multiple of `step` unless it is beyond 2**53 steps.

        The scale of the noise is SENSITIVE and is not told. Costs `loss()`, **and charges nobody**: this is the raw
        toolbox. Answers are cut to 2**52 steps around 0 before the noise. Raises `ParameterError` only if x is not a
        data set of the statistic's shape. Source: ``proofs/smooth_sensitivity.md``.

        >>> from discreet.privacy import approx
        >>> median = SmoothSensitivity("median", bounds=(0, 1), spend=approx(1, 1e-6))
        >>> abs(median.release([0.25] * 2000) - 0.25) < 0.01
        True
        """
        value, scale = self._before_noise(x)
        return to_float(_ROUNDED[self.noise](value / self.step, scale / self.step), self.step)

    @property
    def unit_std(self) -> float:
        """The standard deviation of the noise at scale 1: infinite for Cauchy noise. Public."""
        return _UNIT_STDS[self.noise]

    def _before_noise(self, x: Any) -> tuple[Fraction, Fraction]:
        """The statistic, and the scale of the noise: S, and a step more for the rounding to floats. SENSITIVE."""
        bound = Fraction(smooth(self.statistic, x, self.beta, bounds=self.bounds, relation=self.relation))
        return answer(self.statistic, x, self.bounds, self.step), (bound + self.step) / self.rate


_ROUNDED: dict[str, Callable[[Fraction, Fraction], int]] = {
    "laplace": rounded_laplace,
    "cauchy": lambda center, scale: rounded_student_t(center, scale, _DEGREES["cauchy"]),
    "student_t": lambda center, scale: rounded_student_t(center, scale, _DEGREES["student_t"]),
}


def _paid(spend: Loss, noise: str) -> Pure | Approx:
    if noise not in _ROUNDED:
        raise ParameterError(f"noise must be one of {', '.join(_ROUNDED)}, got {noise!r}")
    kind, allowed = budget_of(spend)
    epsilon, delta = (*allowed, Fraction(0))[:2]
    if kind not in {"pure", "approx"} or epsilon <= 0:
        raise ParameterError("noise for smooth sensitivity is paid in epsilon; spend dp.approx(1, 1e-6) or dp.pure(1)")
    if noise != "laplace":
        return Pure(epsilon)
    if delta <= 0:
        raise ParameterError(
            "Laplace noise for smooth sensitivity needs a delta above 0, because its scale differs between neighbours; "
            "spend for example dp.approx(1, 1e-6), or take noise='student_t'"
        )
    return Approx(epsilon, delta)


def _beta_and_rate(paid: Pure | Approx, noise: str, beta: Fraction | None) -> tuple[Fraction, Fraction]:
    """β and the rate for it; a rate of 0 or less if no noise of any scale would do."""
    if isinstance(paid, Approx):
        if beta is None:
            return laplace_beta(paid.eps, paid.at_delta), paid.eps / 2
        return beta, laplace_rate(paid.eps, paid.at_delta, beta) if beta > 0 else Fraction(0)
    chosen = paid.eps * _BETA_SHARE[noise] if beta is None else beta
    return chosen, student_rate(paid.eps, chosen, _DEGREES[noise])


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
