"""How many tries a search makes: a secret random number, drawn exactly, from a public distribution."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any

from discreet.errors import ParameterError
from discreet.noise import uniform_below
from discreet.rational import from_exact_text

__all__ = ["Tries"]

_FIRST = 1 << 52
"""The weight of one try; no other is greater, so that 1,024 of them add up to less than 2^63."""
_MOST, _LARGEST = 1024, 1 << 40
_LONGEST = 40
_LONGER, _STOPS = 4, 1 << 16


@dataclass(frozen=True)
class Tries:
    """A truncated negative binomial number of tries, 1 at least and `most` at most.

    The weight of k + 1 tries is that of k times (k + shape)(1 − stop)/(k + 1), cut to whole numbers; with whole
    weights a number of tries is drawn exactly. Source: the negative binomial number
    of Papernot and Steinke 2022, cut off at `most`.

    Attributes
    ----------
    shape
        Greater than −1, 1 at most: 1 is a coin after each try that says whether it was the last; the lower, the more of
        all tries are in few long searches.
    stop
        Between 0 and 1: the lower, the more tries there are.
    most
        The most tries, from 1 to 1,024.

    >>> even = Tries(Fraction(1), Fraction(1, 4), 3)
    >>> [float(weight / sum(even.weights)) for weight in even.weights], float(even.mean)
    ([0.43243243243243246, 0.32432432432432434, 0.24324324324324326], 1.8108108108108107)
    """

    shape: Fraction
    stop: Fraction
    most: int

    def __post_init__(self) -> None:
        """Raises `ParameterError` for what gives no such distribution."""
        numbers = (self.shape, self.stop)
        if any(type(each) is not Fraction or each.denominator > _LARGEST for each in numbers) or not (
            -1 < self.shape <= 1 and 0 < self.stop < 1 and type(self.most) is int and 1 <= self.most <= _MOST
        ):
            raise ParameterError(
                f"a number of tries has a shape above -1 and up to 1, a stop between 0 and 1, and {_MOST} tries at most"
            )

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The weight of 1, 2, … tries."""
        weights = [_FIRST]
        for k in range(1, self.most):
            factor = (k + self.shape) * (1 - self.stop) / (k + 1)
            weights.append(weights[-1] * factor.numerator // factor.denominator)
        return tuple(weights)

    @classmethod
    def of_mean(cls, shape: Fraction, mean: int) -> Tries:
        """The one with about so many tries on average, a little less, and four times as many at most.

        Raises `ParameterError` for a mean that is no whole number from 2 to 256.

        >>> Tries.of_mean(Fraction(1), 16)
        Tries(shape=Fraction(1, 1), stop=Fraction(935, 16384), most=64)
        """
        if type(mean) is not int or not 2 <= mean <= _MOST // _LONGER:
            raise ParameterError(f"tries must be a whole number from 2 to {_MOST // _LONGER}, on average, got {mean!r}")
        low, high = 0, _STOPS
        while high - low > 1:
            middle = (low + high) // 2
            few = cls(shape, Fraction(middle, _STOPS), _LONGER * mean).mean <= mean
            low, high = (low, middle) if few else (middle, high)
        return cls(shape, Fraction(high, _STOPS), _LONGER * mean)

    @property
    def mean(self) -> Fraction:
        """How many tries there are on average."""
        return Fraction(sum(k * weight for k, weight in enumerate(self.weights, 1)), sum(self.weights))

    def chance_of_none(self, among: int) -> float:
        """How likely one of so many candidates, of which each try draws one, is never tried."""
        left = 1 - 1 / among
        return sum(weight * left**k for k, weight in enumerate(self.weights, 1)) / sum(self.weights)

    def draw(self) -> int:
        """A number of tries. Nobody may learn it."""
        ends = list(accumulate(self.weights))
        return bisect_right(ends, int(uniform_below(ends[-1], 1)[0])) + 1

    def to_json(self) -> dict[str, Any]:
        """It as plain JSON."""
        return {"shape": str(self.shape), "stop": str(self.stop), "most": self.most}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Tries:
        """Restore it from JSON that is not trusted. Raises `ValueError`, `KeyError` or `ParameterError`."""
        if any(not isinstance(data[name], str) or len(data[name]) > _LONGEST for name in ("shape", "stop")):
            raise ValueError
        return cls(from_exact_text(data["shape"]), from_exact_text(data["stop"]), data["most"])
