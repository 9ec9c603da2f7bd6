"""Models and trainings, seen by somebody who knows all rows and wonders about one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit.catalog._entry import Entry
from discreet.errors import ParameterError
from discreet.learn import Model
from discreet.learn._examples import Examples
from discreet.learn._inputs import LEVELS, Input, Inputs
from discreet.learn._steps import Measurer
from discreet.learn.algorithms import ALGORITHMS, Algorithm, NaiveBayesAlgorithm, SearchAlgorithm
from discreet.learn.correlated import CorrelatedGaussian, CyclicPoisson, Independent
from discreet.learn.selection import Tries
from discreet.mechanisms import DiscreteLaplace, Gaussian
from discreet.prices import Additive
from discreet.privacy import Loss, MuLoss, approx, mu, pure

__all__ = ["learning_entries"]

_CROWD = 60
_STATED_PEOPLE = 40
"""How many people a training with a clip that moves is said to be of: the share of those within it is never cut."""
_NUMBERS = tuple(Input(f"x{i}", None, Fraction(0), Fraction(8)) for i in range(8))
_KIND = Input("kind", ("a", "b", "c"), type="string")
_TARGETS = {
    "classification": Input("y", ("no", "yes"), type="string"),
    "regression": Input("y", None, Fraction(0), Fraction(1)),
}


def learning_entries() -> tuple[Entry, ...]:
    """A model by every algorithm of `discreet.learn`, and, where torch is installed, trainings of a network.

    >>> "Model by naive_bayes" in [entry.name for entry in learning_entries()]
    True
    """
    models = tuple(_model_entry(kind()) for kind in ALGORITHMS.values())
    bayes = [NaiveBayesAlgorithm(2), NaiveBayesAlgorithm(4), NaiveBayesAlgorithm(8)]
    tries = replace(
        _model_entry(SearchAlgorithm.among(bayes, Tries.of_mean(Fraction(0), 4))),
        name="Model by search, the best of a random number of tries",
        samples=1_000,
    )
    has_torch = all(find_spec(each) is not None for each in ("torch", "safetensors"))
    return (*models, tries, *((*_training_entries(), _counted_training_entry()) if has_torch else ()))


def _model_entry(algorithm: Algorithm) -> Entry:
    spend = pure(1) if "pure" in algorithm.currencies else mu(1)
    more = _rows(algorithm)
    fewer = _taken(more, _CROWD - 1)
    return Entry(
        name=f"Model by {algorithm.name}",
        group="learning",
        shown=f"Model by {algorithm!r}, fitted to {_CROWD} rows",
        mechanism=_Fits(algorithm, spend, (more, fewer)),
        pairs=((more, fewer),),
        claim=spend,
        kind=Model,
        samples=4_000 if "pure" in algorithm.currencies else 500,
        note="a row at the ends of its bounds is there or not; answers are scored by who knows both tables; a fit may "
        "take a tenth of a second, so outputs are few",
    )


@dataclass(frozen=True)
class _Fits:
    """Fits of a model: how the answers tell one table from the other, and a sum of each of the model's arrays.

    The score is the loss of privacy of the noise that was added, exact for numbers: how much farther the answers of a
    fit are from the sums of one table than from those of the other, at the same answers.
    """

    algorithm: Algorithm
    spend: Loss
    tables: tuple[Examples, Examples]

    def draw(self, data: Examples, size: int) -> list[list[float]]:
        """`size` independent fits."""
        return [self._once(data) for _ in range(size)]

    def _once(self, data: Examples) -> list[float]:
        asked = self._measurer(_Script())
        parameters = self.algorithm.fit(data, asked)
        script = asked.script
        if asked.tries is not None:
            script.place = int(parameters["chosen"][0])
        one, other = (self._replayed(script, table) for table in self.tables)
        score = sum(map(_log_ratio, script.noises, script.answers, one, other))
        return [score, *(float(parameters[name].sum()) for name in sorted(parameters))]

    def _replayed(self, script: _Script, table: Examples) -> list[NDArray[Any]]:
        replay = self._measurer(script, again=True)
        self.algorithm.fit(table, replay)
        return replay.exact

    def _measurer(self, script: _Script, *, again: bool = False) -> _Scripted:
        inputs = self.tables[0].inputs
        prices, tries = self.algorithm.budget(self.spend)
        norms = partial(self.algorithm.row_norms, inputs)
        return _Scripted(prices, 1, "add_remove", norms, tries=tries, script=script, again=again)


@dataclass
class _Script:
    """What was answered in a fit, with which noise (of choices: with which share), and what was drawn in public.

    Of several tries it is that of the one that was shown, with the place of its candidate.
    """

    answers: list[Any] = field(default_factory=list[Any])
    noises: list[Additive | float] = field(default_factory=list["Additive | float"])
    drawn: list[NDArray[np.int64]] = field(default_factory=list[NDArray[np.int64]])
    place: int = 0


@dataclass
class _Scripted(Measurer):
    """Writes a script, or answers by it again; keeps the exact sums that it was asked for."""

    script: _Script = field(default_factory=_Script)
    again: bool = False
    exact: list[NDArray[Any]] = field(default_factory=list[NDArray[Any]])
    draws: int = 0

    def measure(self, name: str, sums: NDArray[Any], noise: Additive) -> NDArray[np.float64]:
        # What is answered again is paid again: algorithms look at what is left.
        answer = super().measure(name, sums, noise)
        return self._answers([np.asarray(sums).astype(np.float64)], [answer], noise)[0].copy()

    def choose_in_parts(self, name: str, scores: Sequence[NDArray[Any]], share: Fraction) -> list[int]:
        chosen = super().choose_in_parts(name, scores, share)
        return self._answers([np.asarray(each).astype(np.float64) for each in scores], chosen, float(share))

    def draw(self, weights: NDArray[np.float64], count: int) -> NDArray[np.int64]:
        self.draws += 1
        if not self.again:
            self.script.drawn.append(super().draw(weights, count))
        return self.script.drawn[self.draws - 1]

    def draw_tries(self, among: int) -> list[int]:
        return [self.script.place] if self.again else super().draw_tries(among)

    def one_try(self) -> _Scripted:
        script = self.script if self.again else _Script()
        return replace(self, steps=[], tries=None, script=script, exact=[], draws=0)

    def show(self, best: Measurer) -> None:
        assert isinstance(best, _Scripted)
        super().show(best)
        self.script, self.exact = best.script, best.exact

    def _answers(self, exact: list[NDArray[Any]], answers: list[Any], noise: Additive | float) -> list[Any]:
        start = len(self.exact)
        self.exact += exact
        if not self.again:
            self.script.answers += answers
            self.script.noises += [noise] * len(answers)
        return self.script.answers[start : len(self.exact)]


def _log_ratio(noise: Additive | float, answer: Any, first: NDArray[Any], second: NDArray[Any]) -> float:
    """How much likelier an answer is on the first table than on the second, as a logarithm; of choices roughly."""
    if isinstance(noise, float | int):
        moved = first - second
        return noise * float((moved - moved.mean())[answer]) / max(float(np.abs(moved).max()), 1.0)
    ours, theirs = answer - first, answer - second
    if isinstance(noise, DiscreteLaplace):
        return float((np.abs(theirs) - np.abs(ours)).sum()) / float(noise.scale)
    return float((theirs**2 - ours**2).sum()) / (2 * float(noise.sigma) ** 2)


def _rows(algorithm: Algorithm) -> Examples:
    """A crowd of different rows, and a last one at the ends of all bounds; inputs that the algorithm accepts."""
    inputs = _inputs(algorithm)
    places = np.arange(_CROWD)
    numbers = np.stack([(places * (37 + 54 * i)) % LEVELS for i in range(len(inputs.numbers))], axis=1)
    cells = np.array([places % each.size for each in inputs.categories]).reshape(-1, _CROWD).T
    target = inputs.target
    y = np.zeros(_CROWD) if target is None else places % target.size if target.size else (places * 53) % LEVELS
    numbers[-1], y[-1] = LEVELS, LEVELS if target is not None and target.is_number else min(int(y.max()), 1)
    return Examples(inputs, numbers.astype(np.int32), cells.astype(np.int32), y.astype(np.int32))


def _inputs(algorithm: Algorithm) -> Inputs:
    target = _TARGETS.get(algorithm.task)
    for features in ((*_NUMBERS[:2], _KIND), _NUMBERS[:2]):
        inputs = Inputs(features, target)
        with suppress(ParameterError):
            algorithm.check(inputs)
            return inputs
    return Inputs(_NUMBERS, target)


def _taken(examples: Examples, count: int) -> Examples:
    return Examples(examples.inputs, examples.numbers[:count], examples.cells[:count], examples.target[:count])


def _training_entries() -> tuple[Entry, ...]:
    """Trainings on neighbours whose gradients are beyond the clip: one that stays, and one that moves."""
    fixed, moving = _Trainings(approx(2, "1e-6"), Fraction(1, 2)), _Trainings(mu("0.5"), Fraction(1), moving=True)
    name, few = (
        "CorrelatedGaussian in a training of two steps",
        "; a training takes a tenth of a second, so outputs are few",
    )
    shown = "CorrelatedGaussian of discreet.learn.Trainer(…, steps=2, {}) on two records"
    pairs = (((-8.0, 8.0), (-8.0,)),)
    return (
        Entry(
            name=name,
            group="learning",
            shown=shown.format("rate='1/2'"),
            mechanism=fixed,
            pairs=pairs,
            claim=fixed.claim,
            delta="1e-6",
            kind=CorrelatedGaussian,
            samples=2_000,
            note=f"gradients of more than the clip, one against the other{few}",
        ),
        Entry(
            name=f"{name}, whose clip moves",
            group="learning",
            shown=shown.format("rate=1, clip=Adaptive(weight=1)"),
            mechanism=moving,
            pairs=pairs,
            claim=moving.spend,
            kind=CorrelatedGaussian,
            samples=1_000,
            note="gradients of more than the clip, one against the other, with a count as heavy, as its moves "
            f"show{few}",
        ),
    )


def _counted_training_entry() -> Entry:
    trainings = _CountedTrainings(approx(2, "1e-6"))
    return replace(
        _training_entries()[0],
        name="CorrelatedGaussian in a training that counts people",
        shown="CorrelatedGaussian of discreet.learn.Trainer(…, steps=2, rate='1/2', about=NoisyCount('1/2')) on two "
        "records",
        mechanism=trainings,
        claim=trainings.claim,
        samples=1_000,
        note="the count is beside the noisy sums of gradients; half of the spend is for it",
    )


@dataclass(frozen=True)
class _Trainings:
    """Trainings of one weight w in two steps, with the loss (w − y)² of a record y: its noisy gradients.

    If the clip moves, a person adds as much to the count that moves it as to the gradient: both are of one vector, and
    seen together.
    """

    spend: Loss
    rate: Fraction
    moving: bool = False

    @property
    def claim(self) -> Loss:
        """What both steps lose together, with coins: noise and coins as a plan states them."""
        coins = CyclicPoisson(2, self.rate)
        return CorrelatedGaussian.calibrate(self.spend, Independent(), coins, bound=1, size=1).loss

    def draw(self, data: tuple[float, ...], size: int) -> list[list[float]]:
        """`size` independent trainings."""
        return [self._once(data) for _ in range(size)]

    def _once(self, data: tuple[float, ...]) -> list[float]:
        import torch

        from discreet.learn import Adaptive, Tensors, Trainer

        net = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.zeros_(net.weight)
        optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
        rows = Tensors(torch.ones(len(data), 1), torch.tensor(data))
        adaptive = Adaptive(weight=1.0)
        trainer = Trainer(
            net, optimizer, lambda given, y: (given.squeeze(1) - y) ** 2, rows, spend=self.spend, steps=2,
            rate=self.rate, about=_STATED_PEOPLE if self.moving else 2, places=4, clip=adaptive if self.moving else 1.0,
        )  # fmt: skip
        update = trainer._private._update  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the clip is released
        seen: list[float] = []
        clips: list[float] = []

        def watch(*_: Any) -> None:
            assert net.weight.grad is not None
            seen.append(float(net.weight.grad))
            clips.append(update.clip or 1.0)

        optimizer.register_step_pre_hook(watch)
        trainer.fit()
        if not self.moving:
            return [sum(seen), *seen]
        people = float(_STATED_PEOPLE * self.rate)
        gradients = [people * gradient / clip for gradient, clip in zip(seen, clips, strict=True)]
        moves = [math.log(after / before) for before, after in pairwise([*clips, update.clip or 1.0])]
        counts = [2 * people * (adaptive.quantile - 0.5 - move / adaptive.speed) for move in moves]
        return [sum(gradients) + sum(counts), *gradients, *counts]


@dataclass(frozen=True)
class _CountedTrainings:
    """Trainings as those of `_Trainings` that count people: gradients as sums, beside the count that divided them."""

    spend: Loss

    @property
    def claim(self) -> Loss:
        """What both steps lose together: noise and coins as a plan states them."""
        halves = CyclicPoisson(2, Fraction(1, 2))
        calibrate = partial(CorrelatedGaussian.calibrate, self.spend, Independent(), halves, bound=1, size=1)
        half = 1 / (2 * Gaussian.calibrate(self.spend, 1).sigma ** 2)
        return Gaussian.calibrate(MuLoss(half), 1).loss(1) + calibrate(beside=half).loss

    def draw(self, data: tuple[float, ...], size: int) -> list[list[float]]:
        """`size` independent trainings."""
        return [self._once(data) for _ in range(size)]

    def _once(self, data: tuple[float, ...]) -> list[float]:
        import torch

        from discreet.learn import NoisyCount, Tensors, Trainer

        net = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.zeros_(net.weight)
        optimizer = torch.optim.SGD(net.parameters(), lr=1.0)
        seen: list[float] = []

        def watch(*_: Any) -> None:
            assert net.weight.grad is not None
            seen.append(float(net.weight.grad))

        optimizer.register_step_pre_hook(watch)
        rows = Tensors(torch.ones(len(data), 1), torch.tensor(data))
        trainer = Trainer(
            net, optimizer, lambda given, y: (given.squeeze(1) - y) ** 2, rows,
            spend=self.spend, steps=2, rate="1/2", about=NoisyCount("1/2"), places=4,
        )  # fmt: skip
        network = trainer.fit()
        people, plan = network.certificate["about"]["count"], trainer.plan()
        assert plan.count is not None
        sums = [people * each / 2 for each in seen]  # in clips: a step takes half of the people
        # The record that is there or not takes off one clip of each sum where its coin falls so, and adds to the count.
        score = people / float(plan.count.sigma) ** 2 - sum(sums) / (2 * plan.noise_multiplier**2)
        return [score, people, *sums]
