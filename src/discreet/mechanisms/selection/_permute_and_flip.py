"""Permute-and-flip: selection at pure ε that never errs more than the exponential mechanism."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.mechanisms._sensitivity import epsilon_within, level_of, linf_of, log_error, positive_of, rate_of
from discreet.mechanisms.selection._candidates import Utilities, exponents_of, utilities_of
from discreet.noise import bernoulli_exp, uniform_below
from discreet.privacy import Loss, PureLoss
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["PermuteAndFlip"]


@dataclass(frozen=True, slots=True, init=False)
class PermuteAndFlip:
    """Visits the candidates in random order and stops at i with probability exp(ε (uᵢ − max u) / 2Δ), exactly.

    Parameters
    ----------
    epsilon
        The pure ε of one pick.
    sensitivity
        Δ, in units of the utilities: by how much neighbouring data move any one utility at most. `Norms`: its L∞.
    monotone
        Whether neighbouring data move all utilities up, or all down; the exponent is then ε (uᵢ − max u) / Δ.

    Its expected error is at most that of `Exponential` at the same ε, and down to half of it. It has no bounded range:
    in ρ it costs ε²/2, so that under a budget in ρ `Exponential` is the better one. Raises `ParameterError` unless both
    numbers are above 0 (and from 1e-150 to 1e150, as their ratio).
    Source: McKenna and Sheldon 2020; ``proofs/permute_and_flip.md``.

    >>> choice = PermuteAndFlip(epsilon=1, sensitivity=1)
    >>> choice.loss(), choice.release([0, 3000, 7])
    (pure(1), 1)
    """

    epsilon: Fraction
    sensitivity: Fraction
    monotone: bool

    __repr__ = call_repr

    def __init__(self, epsilon: Number, sensitivity: Number | Norms, *, monotone: bool = False) -> None:
        object.__setattr__(self, "epsilon", positive_of(epsilon, "epsilon"))
        object.__setattr__(self, "sensitivity", linf_of(sensitivity))
        object.__setattr__(self, "monotone", monotone)
        rate_of(self.epsilon, self.sensitivity, monotone=monotone)

    @classmethod
    def calibrate(cls, spend: Loss, sensitivity: Number | Norms, *, monotone: bool = False) -> PermuteAndFlip:
        """The mechanism with the largest ε that the spend allows, in its own currency: ε, (ε, δ), ρ = ε²/2, or μ.

        A spend in (ε, δ) is taken at its ε. Costs no privacy. Raises `ParameterError` as the constructor does, and for
        a spend of nothing. Source: ``proofs/permute_and_flip.md``.

        >>> from discreet.privacy import pure
        >>> PermuteAndFlip.calibrate(pure(0.5), sensitivity=1).epsilon
        Fraction(1, 2)
        """
        return cls(epsilon_within(spend, per_rho=2), sensitivity, monotone=monotone)

    def loss(self) -> Loss:
        """Pure ε, monotone or not. Source: McKenna and Sheldon 2020; ``proofs/permute_and_flip.md``.

        >>> PermuteAndFlip(2, 1).loss()
        pure(2)
        """
        return PureLoss(self.epsilon)

    def release(self, utilities: Utilities) -> int:
        """The index of the picked candidate.

        `utilities` holds one number per candidate, in a public order: ints, fractions, decimals, or floats, which mean
        their exact binary values. Costs `loss()`, **and charges nobody**: this is the raw toolbox. Raises
        `ParameterError`, before anything is drawn, if there are no candidates or a utility is not a finite number.
        That tells nothing about the data as long as the sensitivity is true: a utility that moves by at most Δ
        is finite for all data sets or for none. Source: ``proofs/permute_and_flip.md``.
        """
        rate = rate_of(self.epsilon, self.sensitivity, monotone=self.monotone)
        floats, exact = exponents_of(utilities_of(utilities), rate)
        # The first to accept, in a random order of all, is any of those that would accept: the best always does.
        accepted = np.flatnonzero(bernoulli_exp(floats, exact))
        return int(accepted[uniform_below(accepted.size, 1)[0]])

    def error(self, level: Number = 0.95, *, candidates: int) -> float:
        """How far the picked utility is below the best one at most, with probability `level` or more.

        In units of the utilities: ln(candidates / (1 − level)) · 2Δ/ε, or Δ/ε if monotone. Does not depend on data and
        costs no privacy. Raises `ParameterError` unless 0 < level < 1 and candidates ≥ 1.
        Source: ``proofs/permute_and_flip.md``.

        >>> round(PermuteAndFlip(1, 1).error(candidates=100), 1)
        15.2
        """
        return log_error(rate_of(self.epsilon, self.sensitivity, monotone=self.monotone), candidates, level_of(level))
