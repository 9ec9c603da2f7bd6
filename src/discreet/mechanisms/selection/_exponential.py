"""The exponential mechanism: one of a public list of candidates, the likelier the higher its utility."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.mechanisms._sensitivity import level_of, linf_of, log_error, positive_of, range_within, rate_of
from discreet.mechanisms.selection._candidates import Utilities, exponents_of, utilities_of
from discreet.noise import bernoulli_exp, uniform_below
from discreet.privacy import BoundedRangeLoss, Loss
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["Exponential"]

_LARGEST_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True, init=False)
class Exponential:
    """Picks candidate i with probability proportional to exp(ε uᵢ / 2Δ), exactly; exp(ε uᵢ / Δ) if monotone.

    Parameters
    ----------
    epsilon
        The bounded range of one pick.
    sensitivity
        Δ, in units of the utilities: by how much neighbouring data move any one utility at most. `Norms`: its L∞.
    monotone
        Whether neighbouring data move all utilities up, or all down, as adding a person does to counts.

    `PermuteAndFlip` errs less at the same pure ε; this mechanism is the cheaper one in ρ: ε²/8 instead of ε²/2.
    Raises `ParameterError` unless both numbers are above 0 (and from 1e-150 to 1e150, as their ratio).
    Source: McSherry and Talwar 2007, Theorem 6; ``proofs/exponential.md``.

    >>> choice = Exponential(epsilon=1, sensitivity=1)
    >>> choice.loss(), choice.release([0, 3000, 7])
    (bounded_range(1), 1)
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
    def calibrate(cls, spend: Loss, sensitivity: Number | Norms, *, monotone: bool = False) -> Exponential:
        """The mechanism with the largest ε that the spend allows, in its own currency: ε, (ε, δ), ρ = ε²/8, or μ.

        A spend in (ε, δ) is taken at its ε. Costs no privacy. Raises `ParameterError` as the constructor does, and for
        a spend of nothing. Source: ``proofs/exponential.md``.

        >>> from discreet.privacy import rho
        >>> Exponential.calibrate(rho(0.125), sensitivity=1).epsilon
        Fraction(1, 1)
        """
        return cls(range_within(spend), sensitivity, monotone=monotone)

    def loss(self) -> Loss:
        """ε-bounded range, monotone or not: pure ε, and ρ = ε²/8. Source: ``proofs/exponential.md``.

        >>> Exponential(2, 1).loss().rho()
        0.5
        """
        return BoundedRangeLoss(self.epsilon)

    def release(self, utilities: Utilities) -> int:
        """The index of the picked candidate.

        `utilities` holds one number per candidate, in a public order: ints, fractions, decimals, or floats, which mean
        their exact binary values. Costs `loss()`, **and charges nobody**: this is the raw toolbox. Raises
        `ParameterError`, before anything is drawn, if there are no candidates or a utility is not a finite number.
        That tells nothing about the data as long as the sensitivity is true: a utility that moves by at most Δ
        is finite for all data sets or for none. Source: ``proofs/exponential.md``.
        """
        floats, exact = exponents_of(
            utilities_of(utilities), rate_of(self.epsilon, self.sensitivity, monotone=self.monotone)
        )
        chunk = 64
        while True:
            proposed = uniform_below(floats.size, chunk)
            accepted = bernoulli_exp(floats[proposed], lambda j, proposed=proposed: exact(int(proposed[j])))
            first = np.flatnonzero(accepted)
            if first.size:
                return int(proposed[first[0]])
            chunk = min(4 * chunk, _LARGEST_CHUNK)

    def error(self, level: Number = 0.95, *, candidates: int) -> float:
        """How far the picked utility is below the best one at most, with probability `level` or more.

        In units of the utilities: ln(candidates / (1 − level)) · 2Δ/ε, or Δ/ε if monotone. Does not depend on data and
        costs no privacy. Raises `ParameterError` unless 0 < level < 1 and candidates ≥ 1.
        Source: ``proofs/exponential.md``.

        >>> round(Exponential(1, 1).error(candidates=100), 1)
        15.2
        """
        return log_error(rate_of(self.epsilon, self.sensitivity, monotone=self.monotone), candidates, level_of(level))
