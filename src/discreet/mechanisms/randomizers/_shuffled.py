"""Randomized response whose reports are published in random order: what the shuffler is trusted with is run here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.errors import ParameterError
from discreet.mechanisms.randomizers._randomized_response import Proportions, RandomizedResponse
from discreet.noise import permutation
from discreet.privacy import Loss, budget_of, solve
from discreet.rational import Number
from discreet.reprs import call_repr

__all__ = ["Shuffled"]

_MOST_EPSILON = 1000.0


@dataclass(frozen=True, slots=True, init=False)
class Shuffled:
    """The reports of `n` people by one randomizer, in a uniformly random order, exactly.

    Who sees only the shuffled reports learns less of each person than from their report: among many, who sent which is
    hidden. Who sees reports before they are shuffled learns `randomizer.loss()`. `n` is public, and neighbours differ
    in the category of one of the n people (substitution). Raises `ParameterError` unless n is a whole number from 1,
    and for a randomizer that is not a `RandomizedResponse`.
    Source: Feldman, McMillan and Talwar 2021, Theorem 3.2; ``proofs/shuffled.md``.

    >>> crowd = Shuffled(RandomizedResponse(p=0.75), n=10_000)
    >>> round(crowd.loss().epsilon(delta=1e-6), 2), round(crowd.randomizer.loss().epsilon(), 2)
    (0.05, 1.1)
    """

    randomizer: RandomizedResponse
    n: int

    __repr__ = call_repr

    def __init__(self, randomizer: RandomizedResponse, n: int) -> None:
        if not isinstance(randomizer, RandomizedResponse):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"a shuffle is of RandomizedResponse reports, got {type(randomizer).__name__}")
        randomizer.loss().shuffled(n)  # refuses an n that is not a whole number from 1
        object.__setattr__(self, "randomizer", randomizer)
        object.__setattr__(self, "n", n)

    @classmethod
    def calibrate(cls, spend: Loss, *, n: int, k: int = 2) -> Shuffled:
        """The shuffle whose reports have the largest ε, to 1e-4, with which the published order of them fits `spend`.

        For a spend with a δ by the certified curve of the shuffle; a pure ε, a ρ or a μ is not amplified. Costs no
        privacy. Raises `ParameterError` as `RandomizedResponse.calibrate`, and for n that is not a whole number from 1.

        >>> from discreet.privacy import approx
        >>> round(Shuffled.calibrate(approx(0.1, 1e-6), n=10_000).randomizer.loss().epsilon(), 2)
        1.83
        """
        plain = cls(RandomizedResponse.calibrate(spend, k=k), n)
        kind, allowed = budget_of(spend)
        if kind != "approx" or allowed[1] == 0:
            return plain

        def at(epsilon: float) -> Shuffled:
            return cls(RandomizedResponse.from_epsilon(epsilon, k), n)

        return at(solve(lambda epsilon: at(epsilon).loss(), spend, low=float(allowed[0]) / 2, high=_MOST_EPSILON))

    def loss(self) -> Loss:
        """The loss of one person, to who sees the shuffled reports alone. Source: ``proofs/shuffled.md``."""
        return self.randomizer.loss().shuffled(self.n)

    def release(self, values: ArrayLike) -> NDArray[np.int64]:
        """A report for each of the n values, with fresh randomness each, in random order.

        Costs each person `loss()`, **and charges nobody**: this is the raw toolbox. Raises `ParameterError`, before
        anything is drawn, unless there are n values in one dimension, integers 0 … k − 1.
        """
        return self.shuffle(self.randomizer.release(self._all(values, "values")))

    def shuffle(self, reports: ArrayLike) -> NDArray[Any]:
        """Reports that people have randomized themselves, in random order: what the shuffler does.

        Raises `ParameterError` unless there are n reports in one dimension: fewer would hide each of them less than
        `loss` says.
        """
        return self._all(reports, "reports")[permutation(self.n)]

    def estimate(self, reports: ArrayLike, level: Number = 0.95) -> Proportions:
        """As `RandomizedResponse.estimate`, which does not depend on the order: costs no privacy."""
        return self.randomizer.estimate(reports, level)

    def error(self, level: Number = 0.95) -> float:
        """As `RandomizedResponse.error` over the n reports."""
        return self.randomizer.error(level, reports=self.n)

    def _all(self, values: ArrayLike, name: str) -> NDArray[Any]:
        array = np.asarray(values)
        if array.shape != (self.n,):
            raise ParameterError(f"{name} must be n = {self.n}, in one dimension, got shape {array.shape}")
        return array
