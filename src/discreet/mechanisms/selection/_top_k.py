"""Top-k: several candidates at once, each picked as the exponential mechanism would from those that are left."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import level_of, range_within
from discreet.mechanisms.selection._candidates import Utilities, utilities_of
from discreet.mechanisms.selection._exponential import Exponential
from discreet.privacy import Loss
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["TopK"]


@dataclass(frozen=True, slots=True, init=False)
class TopK:
    """The `k` candidates whose utilities are the largest after one Gumbel noise each, in that order, exactly.

    Parameters
    ----------
    k
        How many to pick.
    epsilon
        The bounded range of each pick; the pure ε of them all is k times that.
    sensitivity
        Δ, in units of the utilities: by how much neighbouring data move any one utility at most. `Norms`: its L∞.
    monotone
        Whether neighbouring data move all utilities up, or all down, as adding a person does to counts.

    The scale of the noise is 2Δ/ε, or Δ/ε if monotone; the law is that of k rounds of `Exponential`, and is run so.
    Raises `ParameterError` unless k is a whole number, 1 or more, and both numbers are above 0.
    Source: Durfee and Rogers 2019; ``proofs/top_k.md``.

    >>> picks = TopK(2, epsilon=1, sensitivity=1)
    >>> picks.release([0, 3000, 7, 5000])
    [3, 1]
    """

    k: int
    epsilon: Fraction
    sensitivity: Fraction
    monotone: bool

    __repr__ = call_repr

    def __init__(self, k: int, epsilon: Number, sensitivity: Number | Norms, *, monotone: bool = False) -> None:
        if isinstance(k, bool) or not isinstance(k, int) or k < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"k must be a whole number, 1 or more, got {k!r}")
        one = Exponential(epsilon, sensitivity, monotone=monotone)
        for name, value in (
            ("k", k),
            ("epsilon", one.epsilon),
            ("sensitivity", one.sensitivity),
            ("monotone", monotone),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def calibrate(cls, spend: Loss, sensitivity: Number | Norms, *, k: int, monotone: bool = False) -> TopK:
        """The mechanism with the largest ε that the spend allows, in its own currency: kε, (kε, δ), ρ = kε²/8, or μ.

        A spend in (ε, δ) is taken at its ε. Costs no privacy. Raises `ParameterError` as the constructor does, and for
        a spend of nothing. Source: ``proofs/top_k.md``.

        >>> from discreet.privacy import rho
        >>> TopK.calibrate(rho(1), sensitivity=1, k=8).epsilon
        Fraction(1, 1)
        """
        cls(k, 1, sensitivity)  # refuses a k that cannot be divided by
        return cls(k, range_within(spend, k), sensitivity, monotone=monotone)

    @property
    def _one(self) -> Exponential:
        return Exponential(self.epsilon, self.sensitivity, monotone=self.monotone)

    def loss(self) -> Loss:
        """K losses of ε-bounded range, composed as adaptive: kε, and ρ = kε²/8.

        A later pick is from what earlier picks left, so the cheaper `nonadaptive` does not apply.
        Source: ``proofs/top_k.md``.

        >>> TopK(4, 1, 1).loss().rho()
        0.5
        """
        return self.k * self._one.loss()

    def release(self, utilities: Utilities) -> list[int]:
        """The indices of the `k` picked candidates, the first pick first.

        `utilities` are as `Exponential.release` takes them. Costs `loss()`, **and charges nobody**: this is the raw
        toolbox. Raises `ParameterError`, before anything is drawn, if there are fewer than k candidates or a utility is
        not a finite number. Source: ``proofs/top_k.md``.
        """
        exact = utilities_of(utilities)
        if exact.size < self.k:
            raise ParameterError(f"there are fewer candidates than k = {self.k}; give more, or use a smaller k")
        left, picked, one = np.arange(exact.size), [], self._one
        for _ in range(self.k):
            place = one.release(exact[left])
            picked.append(int(left[place]))
            left = np.delete(left, place)
        return picked

    def error(self, level: Number = 0.95, *, candidates: int) -> float:
        """How far each pick is below the best candidate left at most, for all picks with probability `level` or more.

        So the j-th pick is at most that far below the j-th largest utility. In units of the utilities:
        ln(k · candidates / (1 − level)) · 2Δ/ε, or Δ/ε if monotone. Does not depend on data and costs no privacy.
        Raises `ParameterError` unless 0 < level < 1 and candidates ≥ 1. Source: ``proofs/top_k.md``.

        >>> round(TopK(5, 1, 1).error(candidates=100), 1)
        18.4
        """
        return self._one.error(1 - (1 - level_of(level)) / self.k, candidates=candidates)
