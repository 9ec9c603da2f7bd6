"""A clip that follows a quantile of gradients' norms, by one more entry of each noisy sum."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from discreet.errors import ParameterError
from discreet.learn.gradients._clipping import LEAST_BOUND, MOST_BOUND, bound_in_range

__all__ = ["Adaptive", "LengthCount", "balance"]

_LEAST_WEIGHT, _MOST_WEIGHT = 1e-3, 1
_NEARLY = 1 - 2.0**-40
"""The factor of what is not clipped, bound · (1 / bound), may be a rounding below 1."""


@dataclass(frozen=True)
class Adaptive:
    """Clips to a norm that moves, after each step, towards a quantile of people's norms (Andrew et al. 2021).

    Each person whom a step takes adds to one more entry of its sum, or takes off, depending on whether their gradient
    was clipped; the entry has noise like the others, and is charged with them, as one vector.

    Parameters
    ----------
    start
        The clip of the first step, as an L2 norm.
    quantile
        The share of people who are not to be clipped, above 0 and below 1.
    speed
        By what factor, as a power of e, the clip moves at most in a step.
    weight
        How much a person moves the entry, in parts of the most that their gradient adds: noise grows by the factor
        √(1 + weight²), half a percent at 0.1. The share's noise is multiplier / (2 · weight · people in a step).

    Raises `ParameterError` for numbers outside their range. Source: ``proofs/learning_training.md``.
    """

    start: float = 1.0
    quantile: float = 0.5
    speed: float = 0.2
    weight: float = 0.1

    def __post_init__(self) -> None:
        bound_in_range(self.start, "start")
        if not 0 < self.quantile < 1:
            raise ParameterError(f"quantile is a number above 0 and below 1, not {self.quantile!r}")
        if not 0 < self.speed <= 1:
            raise ParameterError(f"speed is a number above 0, and 1 at most, not {self.speed!r}")
        if not _LEAST_WEIGHT <= self.weight <= _MOST_WEIGHT:
            raise ParameterError(f"weight is a number from {_LEAST_WEIGHT:g} to {_MOST_WEIGHT:g}, not {self.weight!r}")

    def moved(self, clip: float, share: float) -> float:
        """The clip after this one, where about such a share of people was not clipped: a number with noise in it."""
        bounded = min(max(share, 0.0), 1.0)
        return min(max(clip * math.exp(-self.speed * (bounded - self.quantile)), LEAST_BOUND), MOST_BOUND)


@dataclass(frozen=True)
class LengthCount:
    """One more entry of a step's sum: how many more people were within the clip than beyond it, times a weight.

    Attributes
    ----------
    adaptive
        What becomes of it.
    weight
        What a person adds if within the clip, and takes off if beyond it: a whole number of steps of the grid.
    people
        How many people a step takes on average, by public numbers.
    """

    adaptive: Adaptive
    weight: int
    people: float

    @classmethod
    def on_grid(cls, adaptive: Adaptive, grid: int, people: float) -> LengthCount:
        """That of a grid on which the most that a gradient adds is so many steps."""
        return cls(adaptive, max(1, round(adaptive.weight * grid)), people)

    def bound(self, gradient: int) -> int:
        """The most that a person moves a sum together with this entry, where gradients move it by so much at most."""
        return math.isqrt(gradient**2 + self.weight**2 - 1) + 1

    def moved(self, clip: float, entry: float) -> float:
        """The clip after this one, by the entry with its noise."""
        return self.adaptive.moved(clip, 0.5 + entry / (2 * self.weight * self.people))


def balance(scale: Tensor, unclipped: float) -> int:
    """How many units have the scale of what is not clipped, less how many have a smaller one. Zeros are blank."""
    within = scale >= unclipped * _NEARLY
    return int(within.sum()) - int(((scale > 0) & ~within).sum())
