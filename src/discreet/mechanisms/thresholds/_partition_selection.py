"""Which keys of a private set may be shown: optimal partition selection, by the number of units behind each key."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import epsilon_of_mu
from discreet.mechanisms.numeric._integers import least
from discreet.mechanisms.numeric._roots import root_down
from discreet.noise import exp_bounds, uniform64
from discreet.privacy import ApproxLoss, Loss, RhoLoss, budget_of
from discreet.rational import Number, decimal_text, rational
from discreet.reprs import call_repr

__all__ = ["NEEDS_DELTA", "PartitionSelection", "units_of"]

_BITS = 128
_ONE = 1 << _BITS
_WORD = 2**64 - 1
_LEAST_DELTA = Fraction(1, 2**90)
_MOST_STEPS = 2**20


@dataclass(frozen=True, slots=True, init=False)
class PartitionSelection:
    """Keeps each key with the largest probability that (ε, δ) allows, given how many units have the key.

    A key that no unit has is never kept. A neighbour differs in at most `keys` keys, by one unit in each.

    Parameters
    ----------
    epsilon, delta
        The loss of one release of all keys; each key gets ε/keys and 1 − (1 − δ)^(1/keys), rounded down.
    keys
        In how many keys a neighbour can differ: `discreet.sensitivity.keys_touched`.
    concentrated
        Whether the loss is stated in ρ: keys · (ε/keys)² / 2, and the same δ.

    Raises `ParameterError` unless ε > 0, 0 < δ < 1 and keys ≥ 1, and if they would need more than a million steps.
    Source: Desfontaines, Voss, Gipson and Mandayam 2022, Theorem 1; ``proofs/partition_selection.md``.

    >>> choice = PartitionSelection(epsilon=1, delta=1e-6, keys=1)
    >>> float(choice.probability(1)), choice.release([0, 1000]).tolist()
    (1e-06, [False, True])
    """

    epsilon: Fraction
    delta: Fraction
    keys: int
    concentrated: bool

    __repr__ = call_repr

    def __init__(self, epsilon: Number, delta: Number, keys: int = 1, *, concentrated: bool = False) -> None:
        exact_epsilon, exact_delta = rational(epsilon, "epsilon"), rational(delta, "delta")
        if exact_epsilon <= 0:
            raise ParameterError(f"epsilon must be greater than 0, got {decimal_text(exact_epsilon)}")
        if exact_delta == 0:
            raise ParameterError(NEEDS_DELTA)
        if not 0 < exact_delta < 1:
            raise ParameterError(f"delta must be greater than 0 and less than 1, got {decimal_text(exact_delta)}")
        if isinstance(keys, bool) or not isinstance(keys, int) or keys < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"keys must be a whole number, 1 or more, got {keys!r}")
        for name, value in (
            ("epsilon", exact_epsilon),
            ("delta", exact_delta),
            ("keys", keys),
            ("concentrated", concentrated),
        ):
            object.__setattr__(self, name, value)
        _refuse_if_unreasonable(self.key_epsilon, self.key_delta)

    @classmethod
    def calibrate(cls, spend: Loss, *, keys: int = 1) -> PartitionSelection:
        """The selection that spends all of (ε, δ), or all of ρ and δ, on at most `keys` keys per neighbour.

        In ρ, each key gets the largest ε on a fine grid with keys · ε²/2 ≤ ρ; in μ, all keys together get an ε that is
        μ-GDP. Costs no privacy.
        Raises `ParameterError` for a spend without δ, which cannot buy the discovery of keys.
        Source: ``proofs/partition_selection.md``.

        >>> from discreet.privacy import rho
        >>> PartitionSelection.calibrate(rho(0.5, 1e-6)).key_epsilon
        Fraction(1, 1)
        """
        if isinstance(keys, bool) or not isinstance(keys, int) or keys < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"keys must be a whole number, 1 or more, got {keys!r}")
        match budget_of(spend):
            case "rho", (rho, delta):
                return cls(keys * root_down(2 * rho / keys), delta, keys, concentrated=True)
            case "mu", (squared, delta):
                return cls(epsilon_of_mu(squared), delta, keys)
            case "approx", (epsilon, delta):
                return cls(epsilon, delta, keys)
            case _:
                raise ParameterError(NEEDS_DELTA)

    @property
    def key_epsilon(self) -> Fraction:
        """The ε of one key."""
        return self.epsilon / self.keys

    @property
    def key_delta(self) -> Fraction:
        """The δ of one key: at most 1 − (1 − δ)^(1/keys)."""
        return _key_delta(self.delta, self.keys)

    def loss(self) -> Loss:
        """The loss of one release of any number of keys.

        Source: ``proofs/partition_selection.md``.

        >>> PartitionSelection(2, 1e-6, keys=2).loss()
        approx(2, 1e-06)
        """
        if self.concentrated:
            return RhoLoss(self.keys * self.key_epsilon**2 / 2, self.delta)
        return ApproxLoss(self.epsilon, self.delta)

    def probability(self, units: int) -> Fraction:
        """The exact probability that a key with so many distinct units is kept. Costs no privacy.

        Raises `ParameterError` if `units` is not a whole number, 0 or more. Source: ``proofs/partition_selection.md``.

        >>> PartitionSelection(1, 1e-6).probability(0)
        Fraction(0, 1)
        """
        if isinstance(units, bool) or not isinstance(units, int) or units < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"units must be a whole number, 0 or more, got {units!r}")
        high, low = _thresholds(self.key_epsilon, self.key_delta)
        if units >= high.size:
            return Fraction(1)
        return Fraction((int(high[units]) << 64) | int(low[units]), _ONE)

    def shown_from(self, level: float) -> int:
        """The least number of units of which a key is shown with probability `level` or more. Costs no privacy.

        Raises `ParameterError` unless 0 < level < 1.

        >>> PartitionSelection(1, 1e-6).shown_from(0.95)
        16
        """
        if not 0 < level < 1:
            raise ParameterError(f"level must be greater than 0 and less than 1, got {level!r}")
        return least(lambda units: self.probability(units) >= level)

    def release(self, counts: ArrayLike) -> NDArray[np.bool_]:
        """Which keys may be shown, given how many distinct units have each, with fresh randomness per key.

        Costs `loss()` for all keys together, **and charges nobody**: this is the raw toolbox. Raises
        `ParameterError` unless the counts are whole numbers, 0 or more. Source: ``proofs/partition_selection.md``.
        """
        units = units_of(counts)
        high, low = _thresholds(self.key_epsilon, self.key_delta)
        certain = units >= high.size
        at = np.where(certain, 0, units).astype(np.intp)
        first = uniform64(units.size).reshape(units.shape)
        second = uniform64(units.size).reshape(units.shape)
        below = (first < high[at]) | ((first == high[at]) & (second < low[at]))
        return certain | below


NEEDS_DELTA = (
    "showing keys that are found in private data needs a delta greater than 0; "
    "spend with a delta, for example dp.approx(1, 1e-6) or dp.rho(0.1, 1e-6), or list the keys in the policy"
)


def units_of(counts: ArrayLike) -> NDArray[Any]:
    """Counts of distinct units as an array of integers, or a `ParameterError`."""
    units = np.asarray(counts)
    if units.size == 0:
        return units.astype(np.int64)
    if units.dtype.kind not in "iu" or bool((units < 0).any()):
        raise ParameterError("counts must be whole numbers of distinct units, 0 or more")
    return units


def _refuse_if_unreasonable(epsilon: Fraction, delta: Fraction) -> None:
    """The probabilities climb to 1 in about 2 n₁ steps, with n₁ as in Desfontaines et al., Theorem 1."""
    if delta < _LEAST_DELTA:
        raise ParameterError(f"the delta of one key, {decimal_text(delta)}, is too small; it must be at least 2**-90")
    rate, gap = float(min(epsilon, Fraction(700))), float(delta)
    steps = 2 * (1 + math.log1p(math.tanh(rate / 2) * (1 / gap - 1)) / rate) if rate > 0 else 1 / gap
    if steps > _MOST_STEPS:
        raise ParameterError(
            f"with epsilon {decimal_text(epsilon)} and delta {decimal_text(delta)} for one key, no key with fewer than "
            f"about {steps / 2:.0f} units would be likely to appear; use a larger epsilon or fewer keys"
        )


@lru_cache(maxsize=64)
def _key_delta(delta: Fraction, keys: int) -> Fraction:
    """A δ' with 1 − (1 − δ')^keys ≤ δ, checked exactly; δ/keys always is one (Bernoulli's inequality)."""
    if keys == 1:
        return delta
    if float(delta) == 1:
        return delta / keys
    close = Fraction(-math.expm1(math.log1p(-float(delta)) / keys) * (1 - 2**-40))
    if delta / keys < close < 1 and _power_down(1 - close, keys) >= (1 - delta):
        return close
    return delta / keys


def _power_down(base: Fraction, exponent: int) -> Fraction:
    """At most base**exponent, for 0 ≤ base ≤ 1, at 256 bits."""
    width = 256
    square = (base.numerator << width) // base.denominator
    power = 1 << width
    while exponent:
        if exponent & 1:
            power = power * square >> width
        square = square * square >> width
        exponent >>= 1
    return Fraction(power, 1 << width)


@lru_cache(maxsize=64)
def _thresholds(epsilon: Fraction, delta: Fraction) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """⌊2**128 π(n)⌋ in two words, for n = 0, 1, 2, … while π(n) < 1, each rounded down given the one before:

    π(n) = min(e^ε π(n−1) + δ,  1 − e^−ε (1 − π(n−1) − δ),  1).
    """
    width = 256
    fall = exp_bounds(epsilon, width)[1]  # at least e^-epsilon
    rise = (1 << 2 * width) // fall  # at most e^epsilon
    step = delta.numerator * _ONE // delta.denominator
    probability, probabilities = 0, [0]
    while True:
        probability = min((probability * rise >> width) + step, _ONE + ((probability + step - _ONE) * fall >> width))
        if probability >= _ONE:
            break
        probabilities.append(probability)
    high = np.array([probability >> 64 for probability in probabilities], dtype=np.uint64)
    low = np.array([probability & _WORD for probability in probabilities], dtype=np.uint64)
    return high, low
