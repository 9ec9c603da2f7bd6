"""The steps of a private fit: noisy sums over rows, and choices, each paid before its noise is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import LedgerError
from discreet.learn.selection import Tries
from discreet.mechanisms import DiscreteLaplace
from discreet.noise import fresh_draws, uniform_below
from discreet.prices import (
    Additive,
    Choice,
    Prices,
    Purse,
    additive_from_json,
    additive_to_json,
    choice_from_json,
    choice_to_json,
)
from discreet.privacy import Loss, Relation
from discreet.sensitivity import Norms

__all__ = ["Measurer", "RowNorms", "Step", "deviation", "step_loss", "steps_from_json", "steps_to_json"]

_MOST_STEPS = 100_000


@dataclass(frozen=True, slots=True)
class RowNorms:
    """How much one row adds to a sum at most: its L1 norm, the square of its L2 norm, and whether never below 0.

    >>> RowNorms(l1=3, l2_squared=3).of_unit(2, "add_remove")
    Norms(l1=6, l2_squared=12, linf=3)
    """

    l1: int
    l2_squared: int
    nonnegative: bool = True

    def of_unit(self, rows: int, relation: Relation) -> Norms:
        """How far one unit of so many rows moves the sum. Source: ``proofs/learning_steps.md``."""
        if relation == "add_remove":
            return Norms(rows * self.l1, rows**2 * self.l2_squared)
        return Norms(2 * rows * self.l1, (2 if self.nonnegative else 4) * rows**2 * self.l2_squared)


@dataclass(frozen=True, slots=True)
class Step:
    """One mechanism that ran: a sum measured with noise, or a choice among so many candidates."""

    name: str
    mechanism: Additive | Choice
    candidates: int | None = None

    def to_json(self) -> dict[str, Any]:
        """It as plain JSON."""
        if isinstance(self.mechanism, Additive):
            return {"measured": self.name, **additive_to_json(self.mechanism)}
        return {"chosen": self.name, "candidates": self.candidates, **choice_to_json(self.mechanism)}


@dataclass
class Measurer:
    """What an algorithm may ask of private rows while it is fitted. It pays from what was charged, step by step.

    `norms` says of each name how much a row adds to its sum at most; an algorithm keeps to that for every row that
    there could be. Of an algorithm that shows the best of several tries, `prices` are those of one try, and `tries` is
    the distribution of their number.
    """

    prices: Prices
    rows_per_unit: int
    relation: Relation
    norms: Callable[[str], RowNorms]
    report: Callable[[Fraction], None] = lambda share: None  # noqa: ARG005 - as it is called
    steps: list[Step] = field(default_factory=list[Step])
    tries: Tries | None = None

    def __post_init__(self) -> None:
        self._purse = Purse(self.prices)

    @property
    def currency(self) -> str:
        """What the spend is counted in: ``"pure"``, ``"rho"`` or ``"mu"``."""
        return self.prices.currency

    @property
    def left(self) -> Fraction:
        """What share of the spend is left."""
        return self._purse.left / self.prices.total

    def noise_of(self, name: str, share: Fraction) -> Additive:
        """The noise that a share of the spend buys for the sum of a name, in its own units. Costs nothing."""
        norms = self.norms(name).of_unit(self.rows_per_unit, self.relation)
        return replace(self.prices, norms=norms).measurement(self.prices.total * share)

    def measure(self, name: str, sums: NDArray[Any], noise: Additive) -> NDArray[np.float64]:
        """The exact sums, whole numbers in any shape, with noise of `noise_of` that name; paid first.

        Raises `LedgerError` if it would cost more than is left.
        """
        norms = self.norms(name).of_unit(self.rows_per_unit, self.relation)
        self._purse.pay(noise.loss(norms))
        self.steps.append(Step(name, noise))
        self.report(1 - self.left)
        exact = np.asarray(sums).astype(np.int64)
        return noise.release(exact).astype(np.float64)

    def choose(self, name: str, scores: NDArray[Any], share: Fraction) -> int:
        """The place of one of the scores, whole numbers, the larger the likelier; paid first.

        A unit moves each of them by no more than the L1 norm of the name. Raises `LedgerError` as `measure`.
        """
        (chosen,) = self.choose_in_parts(name, [scores], share)
        return chosen

    def choose_in_parts(self, name: str, scores: Sequence[NDArray[Any]], share: Fraction) -> list[int]:
        """A choice in each of several parts, into which rows are divided by what was released; paid first, as one.

        A row moves each score of its own part by no more than the L1 norm of the name, and none of another part. So all
        of them cost what one does. Source: ``proofs/learning_trees.md``. Raises `LedgerError` as `measure`.
        """
        sensitivity = self.norms(name).of_unit(self.rows_per_unit, self.relation).l1
        choice = self.prices.choice(self.prices.total * share, sensitivity)
        self._purse.pay(choice.loss())
        self.steps.append(Step(name, choice, sum(map(len, scores))))
        self.report(1 - self.left)
        return [int(choice.release([int(each) for each in part])) for part in scores]

    def draw_tries(self, among: int) -> list[int]:
        """Which of so many candidates each try has, all equally likely. How many tries there are is secret.

        Raises `LedgerError` where one fit was paid for.
        """
        if self.tries is None:
            raise LedgerError("a random number of tries was asked for, and one fit is paid; report this as a bug")
        return uniform_below(among, self.tries.draw()).tolist()

    def one_try(self) -> Measurer:
        """The measurer of one try, which has all of the prices, and of which nothing shows but by `show`."""
        return replace(self, steps=[], tries=None)

    def show(self, best: Measurer) -> None:
        """Take what was measured in the best try for all that there is; the others are forgotten."""
        self._purse = best._purse
        self.steps += best.steps

    def draw(self, weights: NDArray[np.float64], count: int) -> NDArray[np.int64]:
        """Places at random, as likely as public weights: for what a model is made of beside its rows. Costs nothing."""
        ends = np.cumsum(weights / weights.sum())
        where = fresh_draws().below(1 << 53, count) / (1 << 53)
        return np.minimum(np.searchsorted(ends, where, side="right"), len(weights) - 1)


def deviation(noise: Additive) -> float:
    """The standard deviation of noise, in the units of the sum that it is added to; within 1 of the exact one."""
    return math.sqrt(2) * float(noise.scale) if isinstance(noise, DiscreteLaplace) else float(noise.sigma)


def steps_to_json(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """All steps in order; equal ones in a row are one entry, with how often."""
    listed: list[dict[str, Any]] = []
    for step in steps:
        entry = step.to_json()
        if listed and {**listed[-1], "times": 1} == {**entry, "times": 1}:
            listed[-1]["times"] += 1
        else:
            listed.append({**entry, "times": 1})
    return listed


def _step_from_json(data: Mapping[str, Any]) -> tuple[Step, int]:
    """One step and how often it ran. Raises `LedgerError` for anything else."""
    match dict(data):
        case {"measured": str(name), "times": int(times), **mechanism} if 0 < times <= _MOST_STEPS:
            return Step(name, additive_from_json(mechanism)), times
        case {"chosen": str(name), "candidates": int(candidates), "times": int(times), **mechanism} if (
            0 < times <= _MOST_STEPS
        ):
            return Step(name, choice_from_json(mechanism), candidates), times
        case _:
            raise LedgerError("a step of this model is not in the format of this version of discreet")


def steps_from_json(data: object) -> list[tuple[Step, int]]:
    """All steps. Raises `LedgerError` for anything else."""
    if not isinstance(data, list) or not data or not all(isinstance(each, dict) for each in cast("list[object]", data)):
        raise LedgerError("the certificate of this model states no steps")
    return [_step_from_json(each) for each in cast("list[dict[str, Any]]", data)]


def step_loss(step: Step, norms: Norms) -> Loss:
    """What a step loses, where one unit moves its sum by `norms`. Raises `LedgerError` if it chose with less."""
    if isinstance(step.mechanism, Additive):
        return step.mechanism.loss(norms)
    if step.mechanism.sensitivity != norms.l1:
        raise LedgerError("a choice states a sensitivity that is not what one unit moves its scores by")
    return step.mechanism.loss()
