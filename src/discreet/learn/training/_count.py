"""A count of people with noise: the public divisor of sums where nobody knows one, bought out of the same spend."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from discreet.errors import LedgerError, ParameterError
from discreet.mechanisms import Gaussian
from discreet.prices import additive_from_json, additive_to_json
from discreet.privacy import Loss, MuLoss
from discreet.rational import Number, rational

__all__ = ["MOST_PEOPLE", "NoisyCount", "count_from_json", "count_to_json", "loss_with", "noisy_count", "part_of_spend"]

MOST_PEOPLE = 1 << 62
"""The largest count that comes out, far beyond any that goes in."""


@dataclass(frozen=True)
class NoisyCount:
    """How many people there are, bought: counted once, with noise, before the first step, and within the same spend.

    Parameters
    ----------
    share
        Which part of the spend the count takes: of a ρ, of the square of a μ, or of the largest μ² that is within an
        (ε, δ). Above 0 and below 1. The steps have the rest: where it is a hundredth, their noise grows by about half
        a percent.

    Raises `ParameterError` for a share outside its range. Source: ``proofs/learning_training.md``.

    >>> from discreet.privacy import approx
    >>> NoisyCount().within(approx(1, "1e-6")).error(0.95)      # a count of thousands is within so many people
    83
    """

    share: Number = "0.01"

    def __post_init__(self) -> None:
        if not 0 < rational(self.share, "share") < 1:
            raise ParameterError(f"the share of a spend that a count takes is above 0 and below 1, not {self.share!r}")

    def within(self, spend: Loss) -> Gaussian:
        """The noise of the count, for its share of a spend. Raises `ParameterError` for a pure ε."""
        return _for_squared(rational(self.share, "share") / Gaussian.calibrate(spend, 1).sigma ** 2)

    def beside(self, steps: Loss) -> Gaussian:
        """The noise of the count, where the steps cost so much, and that is the rest of the spend.

        Raises `ParameterError` for a pure ε.
        """
        share = rational(self.share, "share")
        return _for_squared(share / (1 - share) / Gaussian.calibrate(steps, 1).sigma ** 2)


def _for_squared(squared: Fraction) -> Gaussian:
    return Gaussian.calibrate(MuLoss(squared), 1)


def noisy_count(noise: Gaussian, people: int) -> int:
    """So many people with noise, 1 at least: what one person more or less costs is `noise.loss(1)`."""
    return min(max(noise.release(people), 1), MOST_PEOPLE)


def loss_with(noise: Gaussian | None, steps: Loss) -> Loss:
    """What the count, if there is one, and the steps lose together."""
    return steps if noise is None else noise.loss(1) + steps


def part_of_spend(noise: Gaussian, spend: Loss) -> float:
    """Which part of a spend the count takes, as `NoisyCount.share` has it."""
    return float((Gaussian.calibrate(spend, 1).sigma / noise.sigma) ** 2)


def count_to_json(noise: Gaussian) -> dict[str, str]:
    """The noise of a count as plain JSON, exactly."""
    return additive_to_json(noise)


def count_from_json(data: Any) -> Gaussian:
    """The inverse, of JSON that is not trusted. Raises `LedgerError` or `ParameterError` for anything else."""
    noise = additive_from_json(cast("dict[str, Any]", data)) if isinstance(data, dict) else None
    if not isinstance(noise, Gaussian):
        raise LedgerError("the count of people has no noise that this version of discreet knows")
    return noise
