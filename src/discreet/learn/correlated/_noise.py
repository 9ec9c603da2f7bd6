"""The noise of one run: drawn afresh for each step, correlated with what was drawn before, and never drawn twice."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from discreet.errors import ParameterError
from discreet.learn.correlated._filters import Integers, filter_for
from discreet.learn.correlated._strategies import Strategy
from discreet.mechanisms.numeric._integers import whole_in
from discreet.noise import rounded_gaussian

__all__ = ["CorrelatedNoise", "NoiseState"]


@dataclass(frozen=True, slots=True, eq=False)
class NoiseState:
    """What a checkpoint keeps of the noise, besides the number of its last step: **a secret**.

    Who has it and the estimates that were released can take off the noise of the last steps. `rows` are the strategy's
    `state` numbers for each parameter.
    """

    step: int
    rows: Integers = field(repr=False)


class CorrelatedNoise:
    """w = C⁻¹·z, a row for each step, on a grid of 2**−places of that of the contributions.

    `CorrelatedGaussian` makes it: one for a run. One thread may call `draw_ahead` while another calls `next`.
    """

    __slots__ = ("_ahead", "_filter", "_sigma", "_size", "_step", "_steps", "places")

    def __init__(self, strategy: Strategy, sigma: Fraction, size: int, steps: int) -> None:
        self.places = strategy.places
        self._sigma, self._size, self._steps = sigma * 2**strategy.places, size, steps
        self._step, self._ahead = 0, deque[Integers]()
        self._filter = filter_for(strategy, np.zeros((strategy.state, size), dtype=np.int64))

    def resume(self, strategy: Strategy, state: NoiseState | None, begun: int) -> None:
        """Go on after the step `begun`, the last that the durable counter says was begun.

        Noise of steps after that of the state is lost, and no later noise takes it back; without a state, that of all
        steps so far is. The loss stays what it was (``proofs/correlated_noise.md``), and sums err more. Raises
        `ParameterError` for a state of other noise, or of a step after `begun`: then the counter is not this run's.
        """
        begun = whole_in(begun, "begun", 0, self._steps)
        if state is not None:
            if state.rows.shape != (strategy.state, self._size) or state.rows.dtype.name not in {"int64", "object"}:
                raise ParameterError("the checkpoint's noise is not that of this strategy and model; take its own plan")
            if whole_in(state.step, "step of the checkpoint", 0, self._steps) > begun:
                raise ParameterError(
                    "the checkpoint is of a later step than any that the run's counter has begun; "
                    "resume with the ledger that the run was charged to"
                )
            self._filter = filter_for(strategy, state.rows)
            bands = strategy.bands
            for _ in range(min(begun - state.step, bands or self._steps)):
                self._filter.skip()
        self._step = begun

    @property
    def step(self) -> int:
        """How many steps have had their noise, or lost it."""
        return self._step

    def draw_ahead(self) -> None:
        """Draw the independent noise of one more step, to be taken by `next`. For a thread beside the training."""
        self._ahead.append(rounded_gaussian(self._sigma, self._size))

    def next(self, step: int) -> Integers:
        """The noise of a step, which the durable counter has moved to before: int64, or Python ints if they are larger.

        Add it to the contributions' sum times 2**places. Raises `ParameterError` unless it is the step after the last
        one, and one of the run's: noise for another step would be outside what was charged.
        """
        if step != self._step + 1 or not 1 <= step <= self._steps:
            raise ParameterError(
                f"the next noise is that of step {self._step + 1} of {self._steps}, not of step {step}; "
                "each step of a run has its noise once"
            )
        self._step = step
        try:
            noise = self._ahead.popleft()
        except IndexError:
            noise = rounded_gaussian(self._sigma, self._size)
        return self._filter.step(noise).copy()

    def state(self) -> NoiseState:
        """What a checkpoint after this step keeps: a copy."""
        return NoiseState(self._step, self._filter.rows())
