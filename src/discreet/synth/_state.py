"""A fit under way: what was measured so far, in which order, and the distribution estimated from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.marginals import Clique, Measurement, Model, Numbers, estimate
from discreet.prices import Additive, Choice, Prices, Purse, additive_to_json, choice_to_json
from discreet.synth.answers._estimates import LEAST_STD

__all__ = ["Counts", "Fit", "Step", "step_to_json"]

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Step:
    """One mechanism that ran: a marginal measured with noise, or a choice among so many candidates."""

    clique: Clique
    mechanism: Additive | Choice
    candidates: int | None = None
    counts: tuple[int, ...] = ()


@dataclass
class Fit:
    """What a fit knows; all of it is public once noise was added."""

    sizes: tuple[int, ...]
    total: float
    purse: Purse
    measurements: dict[Clique, Measurement]
    steps: list[Step] = field(default_factory=list[Step])
    model: Model | None = None
    fixed: dict[Clique, Numbers] = field(default_factory=dict[Clique, Numbers])
    """Potentials of cells that have no rows, by rules."""
    ruled: tuple[Clique, ...] = ()
    """Columns that rules tie together in the end: those of `fixed`, and of soft rules and totals."""

    @property
    def prices(self) -> Prices:
        """What a step costs."""
        return self.purse.prices

    def measure(self, clique: Clique, counts: Counts, mechanism: Additive) -> None:
        """Pay for one marginal, draw its noise, and keep it."""
        self.purse.pay(mechanism.loss(self.prices.norms))
        drawn = [int(each) for each in mechanism.release(counts.ravel().tolist())]
        values, variances = np.array(drawn, dtype=np.float64), np.full(len(drawn), max(mechanism.std, LEAST_STD) ** 2)
        earlier = self.measurements.get(clique)
        both = Measurement(clique, values, variances) if earlier is None else earlier.with_counts(values, variances)
        self.measurements[clique] = both
        self.steps.append(Step(clique, mechanism, None, tuple(drawn)))

    def choose(self, listed: Sequence[Clique], scores: Sequence[int], choice: Choice) -> Clique:
        """Pay for one choice by whole-number scores, draw it, and keep it."""
        self.purse.pay(choice.loss())
        clique = listed[choice.release(list(scores))]
        self.steps.append(Step(clique, choice, len(listed)))
        return clique

    def estimate(self, *, newton: int, steps: int) -> Model:
        """The distribution nearest to all that was measured, from where the last estimate stood."""
        start: Mapping[Clique, Numbers] = {} if self.model is None else self.model.potentials
        self.model = estimate(
            self.sizes, list(self.measurements.values()), self.total, newton=newton, steps=steps, start=dict(start),
            fixed=self.fixed,
        )  # fmt: skip
        return self.model


def step_to_json(step: Step, names: Sequence[str], prices: Prices) -> dict[str, Any]:
    """A step in a certificate: columns by their names, numbers from which its loss follows.

    The weight of a choice is that of its heaviest score: its sensitivity is that many times what moves a marginal.
    """
    columns = [names[column] for column in step.clique]
    if isinstance(step.mechanism, Choice):
        weight = int(step.mechanism.sensitivity) // prices.norms.l1
        return {"chosen": columns, "candidates": step.candidates, "weight": weight, **choice_to_json(step.mechanism)}
    return {"measured": columns, **additive_to_json(step.mechanism)}
