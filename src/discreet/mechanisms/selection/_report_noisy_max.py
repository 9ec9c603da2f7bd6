"""Report noisy max: the candidate whose utility is the largest after noise, and nothing but its index."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import epsilon_within, level_of, linf_of, positive_of, range_within, rate_of
from discreet.mechanisms.additive._discrete_laplace import DiscreteLaplace
from discreet.mechanisms.numeric._integers import whole_numbers
from discreet.mechanisms.selection._candidates import Utilities, utilities_of
from discreet.mechanisms.selection._exponential import Exponential
from discreet.mechanisms.selection._permute_and_flip import PermuteAndFlip
from discreet.noise import MIN_SCALE, discrete_laplace, scale_in_range
from discreet.privacy import Loss, PureLoss
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["ReportNoisyMax"]

Noise = Literal["gumbel", "exponential", "laplace"]


@dataclass(frozen=True, slots=True, init=False)
class ReportNoisyMax:
    """Picks argmax(uᵢ + noise), with independent noise of scale 2Δ/ε, or Δ/ε if monotone, exactly.

    Parameters
    ----------
    epsilon
        The ε of one pick.
    sensitivity
        Δ, in units of the utilities: by how much neighbouring data move any one utility at most. `Norms`: its L∞.
    noise
        ``"gumbel"`` has exactly the law of `Exponential`, and is run as it. ``"exponential"`` has exactly the law of
        `PermuteAndFlip`, and is run as it: it errs least. ``"laplace"`` is discrete Laplace noise on whole-number
        utilities, where the first of equal maxima wins.
    monotone
        Whether neighbouring data move all utilities up, or all down, as adding a person does to counts.

    Raises `ParameterError` unless both numbers are above 0, and the scale of Laplace noise at most 2**56.
    Source: Dwork and Roth 2014, section 3.3; Ding, Kifer and others 2021; ``proofs/report_noisy_max.md``.

    >>> choice = ReportNoisyMax(epsilon=1, sensitivity=1, noise="laplace")
    >>> choice.loss(), choice.release([0, 3000, 7])
    (pure(1), 1)
    """

    epsilon: Fraction
    sensitivity: Fraction
    noise: Noise
    monotone: bool

    __repr__ = call_repr

    def __init__(
        self, epsilon: Number, sensitivity: Number | Norms, noise: Noise = "exponential", *, monotone: bool = False
    ) -> None:
        if noise not in ("gumbel", "exponential", "laplace"):
            raise ParameterError(f'noise must be "gumbel", "exponential" or "laplace", got {noise!r}')
        for name, value in (
            ("epsilon", positive_of(epsilon, "epsilon")),
            ("sensitivity", linf_of(sensitivity)),
            ("noise", noise),
            ("monotone", monotone),
        ):
            object.__setattr__(self, name, value)
        if noise == "laplace":
            scale_in_range(self.scale, "the scale of the noise")

    @classmethod
    def calibrate(
        cls, spend: Loss, sensitivity: Number | Norms, *, noise: Noise = "exponential", monotone: bool = False
    ) -> ReportNoisyMax:
        """The mechanism with the largest ε that the spend allows, in its own currency: ε, (ε, δ), ρ, or μ.

        ρ is ε²/8 for Gumbel noise and else ε²/2; a spend in (ε, δ) is taken at its ε. Costs no privacy. Raises
        `ParameterError` as the constructor does, and for a spend of nothing. Source: ``proofs/report_noisy_max.md``.

        >>> from discreet.privacy import rho
        >>> [ReportNoisyMax.calibrate(rho(2), 1, noise=noise).epsilon for noise in ("gumbel", "laplace")]
        [Fraction(4, 1), Fraction(2, 1)]
        """
        epsilon = range_within(spend) if noise == "gumbel" else epsilon_within(spend, per_rho=2)
        return cls(epsilon, sensitivity, noise, monotone=monotone)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise, in units of the utilities; of Laplace noise, 0.001 if that is larger."""
        exact = 1 / rate_of(self.epsilon, self.sensitivity, monotone=self.monotone)
        return max(exact, MIN_SCALE) if self.noise == "laplace" else exact

    @property
    def _same(self) -> Exponential | PermuteAndFlip:
        kind = Exponential if self.noise == "gumbel" else PermuteAndFlip
        return kind(self.epsilon, self.sensitivity, monotone=self.monotone)

    def loss(self) -> Loss:
        """ε-bounded range for Gumbel noise, pure ε for the others. Source: ``proofs/report_noisy_max.md``.

        >>> ReportNoisyMax(2, 1, "gumbel").loss()
        bounded_range(2)
        """
        return PureLoss(self.epsilon) if self.noise == "laplace" else self._same.loss()

    def release(self, utilities: Utilities) -> int:
        """The index of the picked candidate.

        `utilities` holds one number per candidate, in a public order: whole numbers for Laplace noise, and else as
        `Exponential.release` takes them. Costs `loss()`, **and charges nobody**: this is the raw toolbox. Raises
        `ParameterError`, before anything is drawn, if there are no candidates or a utility is not such a number.
        Source: ``proofs/report_noisy_max.md``.
        """
        if self.noise != "laplace":
            return self._same.release(utilities)
        exact = whole_numbers(utilities)
        drawn = discrete_laplace(self.scale, utilities_of(exact).size).tolist()
        noisy = [utility + int(noise) for utility, noise in zip(exact, drawn, strict=True)]
        return noisy.index(max(noisy))

    def error(self, level: Number = 0.95, *, candidates: int) -> float:
        """How far the picked utility is below the best one at most, with probability `level` or more.

        In units of the utilities. Does not depend on data and costs no privacy. Raises `ParameterError` unless
        0 < level < 1 and candidates ≥ 1. Source: as `Exponential.error`; for Laplace noise, twice the bound that all
        noises keep to, ``proofs/report_noisy_max.md``.

        >>> [round(ReportNoisyMax(1, 1, noise).error(candidates=100), 1) for noise in ("exponential", "laplace")]
        [15.2, 30.0]
        """
        bound = self._same.error(level, candidates=candidates)
        if self.noise != "laplace":
            return bound
        return 2.0 * DiscreteLaplace(self.scale).error(1 - (1 - level_of(level)) / candidates)
