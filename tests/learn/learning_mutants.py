"""Mistakes in private learning: the real code with one of them patched in, what it truly costs, and what sees it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any
from unittest.mock import patch

import learning_checks as checks
import numpy as np
import torch
from scipy.optimize import brentq
from scipy.stats import binom, norm

import discreet as dp
from discreet import learn, noise
from discreet.learn import _fit, _steps
from discreet.learn._inputs import LEVELS
from discreet.learn.correlated import CorrelatedGaussian
from discreet.learn.correlated._noise import CorrelatedNoise
from discreet.learn.gradients import (
    Exact,
    Fixed,
    LengthCount,
    UnitGradients,
    _dropout,
    _exact,
    _probe,
    _recorder,
    _rules,
    _unit_gradients,
)
from discreet.learn.gradients._pieces import Dense, Series, dense
from discreet.learn.preparing import GradientsAlgorithm, ScalerAlgorithm, _chain, _scaler
from discreet.learn.training import _question, _settings, _training_run
from discreet.learn.training._mechanism import mechanism_for
from discreet.learn.training._private import Private
from discreet.learn.training._rows import Sampler
from discreet.learn.training._sums import LocalSums, SharedSums
from discreet.learn.training._update import Update
from discreet.mechanisms import Gaussian
from discreet.release import Terms

__all__ = ["MUTANTS", "Mutant"]

_DELTA = 1e-6


@dataclass(frozen=True)
class Mutant:
    """The real code with one mistake in it.

    Attributes
    ----------
    name, why
        What is wrong.
    changes
        What is patched: (owner, name, value).
    check
        What sees it: raises with the mistake, and not without.
    epsilon
        What it truly costs on the worst neighbours, at δ = 1e-6; at 0 for fits, which are charged in pure ε. In which
        steps a person takes part counts as known, unless a coin for that person alone decides it.
    claimed
        What is charged for it.
    """

    name: str
    why: str
    changes: tuple[tuple[Any, str, Any], ...]
    check: Callable[[], None]
    epsilon: Callable[[], float]
    claimed: Callable[[], float] = lambda: 2.0

    @contextmanager
    def broken(self) -> Iterator[None]:
        with ExitStack() as stack:
            for owner, name, value in self.changes:
                stack.enter_context(patch.object(owner, name, value))
            yield


@cache
def _multiplier() -> float:
    """The noise of the sound training, in parts of what one person adds."""
    net = checks.small()
    settings = {"spend": checks.SPEND, "steps": checks.STEPS, "rate": checks.RATE, "about": 8, "places": 4}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    return learn.Trainer(net, optimizer, checks.squares, checks.rows_of(None), **settings).plan().noise_multiplier


def training(times: float = 1.0, rate: float = 0.5, steps: int = checks.STEPS) -> Callable[[], float]:
    """ε of the training where a person adds so many times the bound, at another rate, for so many steps."""

    def epsilon() -> float:
        step = dp.gaussian(_multiplier() / times)
        return float((steps * (step.sampled(rate) if rate < 1 else step)).epsilon(_DELTA))

    return epsilon


@cache
def _noises_with_count() -> tuple[float, float]:
    """The noise of the steps, in parts of what one person adds, and of the count, where people are counted."""
    net = checks.small()
    settings = {"spend": checks.SPEND, "steps": checks.STEPS, "rate": checks.RATE, "about": checks.COUNT, "places": 4}
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    plan = learn.Trainer(net, optimizer, checks.squares, checks.rows_of(None), **settings).plan()
    return plan.noise_multiplier, float(plan.count.sigma)


def with_count(times: float = 1.0, counts: int = 1, *, uncharged: bool = False) -> Callable[[], float]:
    """ε of steps and so many counts, which a person moves by so much; steps may have the noise of all the spend."""

    def epsilon() -> float:
        of_steps, of_count = _noises_with_count()
        steps = checks.STEPS * dp.gaussian(_multiplier() if uncharged else of_steps).sampled(checks.RATE)
        if not counts:
            return float(steps.epsilon(_DELTA))
        return float((dp.mu(times * math.sqrt(counts) / of_count) + steps).epsilon(_DELTA))

    return epsilon


def known(steps: int, rate: float, spend_steps: float | None = None) -> Callable[[], float]:
    """ε of the training where the steps that a person takes part in are drawn at a rate, and known."""

    def epsilon() -> float:
        noise_of = _multiplier() if spend_steps is None else math.sqrt(spend_steps) * _full_batch()
        counts = np.arange(steps + 1)
        chances, mus = binom.pmf(counts, steps, rate), np.sqrt(counts) / noise_of

        def delta(eps: float) -> float:
            sure = np.maximum(mus, 1e-12)
            each = norm.cdf(sure / 2 - eps / sure) - math.exp(eps) * norm.cdf(-sure / 2 - eps / sure)
            return float(chances @ each)

        return float(brentq(lambda eps: delta(eps) - _DELTA, 0, 100))

    return epsilon


def substituted() -> float:
    """ε of one step where a person is replaced by another, with the opposite gradient."""
    apart = 1 / _multiplier()

    def excess(eps: float) -> float:
        def ratio(x: float) -> float:
            up, down = (math.log(1 + math.exp(sign * apart * x - apart**2 / 2)) for sign in (1, -1))
            return up - down - eps

        at = brentq(ratio, -200, 200)
        tails = (norm.sf(at) + norm.sf(at - apart)) / 2, (norm.sf(at) + norm.sf(at + apart)) / 2
        return float(tails[0] - math.exp(eps) * tails[1] - _DELTA)

    return float(brentq(excess, 0, 50))


@cache
def _full_batch() -> float:
    """The noise of one step of everybody at the same spend."""
    return float(Gaussian.calibrate(checks.SPEND, 1).sigma)


@cache
def _run_in_groups() -> CorrelatedGaussian:
    """The noise of the run of `learning_checks.check_restart`."""
    return mechanism_for(dp.rho(1), 12, rate=None, epochs=3, noise="auto", bound=1 << 20, size=4)


def in_groups(*shifts: tuple[int, ...]) -> Callable[[], float]:
    """ε of that run for a person in the steps after these, a tuple for all that share noise: parts have 12 in all."""

    def epsilon() -> float:
        run = _run_in_groups()
        column, places = run.strategy.column_above(12)
        squared, start = 0.0, 0
        for part, end in zip(shifts, [min(each) for each in shifts[1:]] + [12], strict=True):
            moved = np.zeros(12)
            for shift in part:
                moved[shift:] += column[: 12 - shift].astype(float) / 2**places
            squared += float((moved[start:end] ** 2).sum())
            start = end
        return float(dp.mu(math.sqrt(squared) * float(run.bound / run.sigma)).epsilon(_DELTA))

    return epsilon


def infinite() -> float:
    """No ε is true."""
    return math.inf


def constant(epsilon: float) -> Callable[[], float]:
    """An ε that is plain."""
    return lambda: epsilon


def one() -> float:
    """What a fit is charged."""
    return 1.0


# Gradients.

_multiplied, _squared, _combined, _add = _exact.multiplied, _exact.squared_norms, _recorder.combined, Exact.add
_units_add, _slots, _truncated = UnitGradients.add, _unit_gradients.slots, _exact.truncated


@dataclass(frozen=True)
class _Ghost(Dense):
    series: Any = None


@dataclass(frozen=True)
class _Once(Dense):
    first: Any = None


class _Loose(Fixed):
    def factors(self, norms: Any) -> Any:
        return torch.ones_like(norms)


def _with_ghosts(piece: Any) -> Any:
    return _Ghost(dense(piece), piece) if isinstance(piece, Series) else _multiplied(piece)


def _ghost_norms(piece: Any) -> Any:
    if not isinstance(piece, _Ghost):
        return _squared(piece)
    left = torch.bmm(piece.series.outputs, piece.series.outputs.mT)
    right = torch.bmm(piece.series.inputs, piece.series.inputs.mT)
    return (left * right).sum((1, 2)).clamp_min(0).double()


def _first_unclipped(self: Any, pieces: Any, clipping: Any, active: Any, sums: Any) -> None:
    first, *others = pieces
    _add(self, {name: pieces[name] for name in others}, clipping, active, sums)
    _add(self, {first: pieces[first]}, _Loose(clipping.bound), active, sums)


def _with_once(pieces: Any) -> Any:
    total = _combined(pieces)
    return _Once(total.values, pieces[0]) if len(pieces) > 1 and isinstance(total, Dense) else total


def _norm_of_first(piece: Any) -> Any:
    return _squared(_multiplied(piece.first)) if isinstance(piece, _Once) else _squared(piece)


def _norms_of_products(piece: Any) -> Any:
    return torch.zeros(len(piece.values)).double() if isinstance(piece, Dense) else _squared(piece)


def _twice(self: Any, norms: Any) -> Any:
    """But for the largest bound, with which the probe takes gradients as they are."""
    return (1 if self.bound > 1e9 else 2) * self.bound / norms.clamp_min(self.bound)


def _clipped_after(self: Any, losses: Any, total: Any, *, units: Any = None, active: Any = None) -> None:
    used = (
        (units >= 0) if units is not None else torch.ones(len(losses), dtype=torch.bool) if active is None else active
    )
    part = self.zeros()
    _units_add(self, losses, part, units=torch.where(used, 0, -1))
    total += part * int(used.sum())


def _nan_counts(self: Any, pieces: Any, clipping: Any, active: Any, sums: Any) -> None:
    ready = {name: _exact.multiplied(piece) for name, piece in pieces.items()}
    norms = sum(_exact.squared_norms(piece) for piece in ready.values()).sqrt()
    scale = torch.where(active, clipping.factors(norms) * (self.steps / clipping.bound * _exact.INWARD), 0)
    for name, piece in ready.items():
        values = dense(piece) * scale.unsqueeze(1)
        sums[name] += values[active].sum(0)


def _padding_counts(units: Any, active: Any, rows: int, device: Any) -> Any:
    owners, used = _slots(units, active, rows, device)
    return owners, torch.ones_like(used) if units is None else used


# Masks.


def _one_mask(rate: Any, shape: tuple[int, ...]) -> Any:
    return np.broadcast_to(noise.bernoulli(rate, math.prod(shape[1:])).reshape(shape[1:]), shape).copy()


@contextmanager
def _left_in_place(dropouts: Any, _: Any) -> Iterator[None]:
    yield
    for each in dropouts:
        each.masks = lambda rate, shape: _dropout.RehearsedMasks(0, np.arange(shape[0]) % 5)(rate, shape)


# Coins.


def _shuffled(self: Any, step: int) -> Any:
    if not hasattr(self, "order"):
        self.order = noise.permutation(self.units)
    size = self.units // 2
    return np.sort(np.roll(self.order, -size * step)[:size])


def _coins_by_row(self: Any, step: int) -> Any:
    coins = noise.bernoulli(self._sampling.rate, len(self._order))
    return np.flatnonzero(np.add.reduceat(coins, self._starts[:-1])) if len(coins) else np.arange(0)


def _one_coin(self: Any, step: int) -> Any:
    return np.arange(self.units) if noise.bernoulli(self._sampling.rate, 1)[0] else np.arange(0)


def _likelier(self: Any, step: int) -> Any:
    return np.flatnonzero(noise.bernoulli(self._sampling.rate * 3 / 2, self.units))


def _groups_again(self: Any, step: int) -> Any:
    separation = self._sampling.separation
    return np.flatnonzero(noise.uniform_below(separation, self.units) == step % separation)


def _parted(self: Any, step: int) -> Iterator[Any]:
    """Places are filled to the last: rows of one person may be in two microbatches, each clipped by itself."""
    rows, slots = [np.concatenate([np.zeros(0, np.int64), *parts]) for parts in zip(*_batches(self, step), strict=True)]
    owners = np.repeat(np.arange(self.units), np.diff(self._starts))[np.argsort(self._order)][rows]
    del slots
    for start in range(0, max(len(rows), 1), self.places):
        part = owners[start : start + self.places]
        yield rows[start : start + self.places], np.unique(part, return_inverse=True)[1].astype(np.int64)


_batches, _chosen = Sampler.batches, Sampler._chosen


def _rows_dealt(self: Any, step: int, owners: Any, count: int) -> list[Any]:
    """Rows go to the processes in turn, whosever they are: each process clips what it has of a person."""
    del owners
    shares: list[list[Any]] = [[] for _ in range(count)]
    for rows, slots in _batches(self, step):
        for number, share in enumerate(shares):
            share.append((rows[number::count], slots[number::count]))
    return shares


# Noise.

_start, _next, _move = CorrelatedNoise.__init__, CorrelatedNoise.next, Update.apply


def _halved(self: Any, strategy: Any, sigma: Any, size: int, steps: int) -> None:
    _start(self, strategy, sigma / 2, size, steps)


_REUSED: dict[int, Any] = {}


def _same_noise(self: Any, step: int) -> Any:
    added = _next(self, step)
    return _REUSED.setdefault(id(self), added) if step > 1 else _REUSED.update({id(self): added}) or added


def _from_the_start(self: Any, strategy: Any, sigma: Any, size: int, steps: int) -> None:
    """Each process draws the same noise, from a stored state of a generator."""
    _start(self, strategy, sigma, size, steps)
    stored = np.random.default_rng(5)
    for _ in range(steps):
        self._ahead.append(np.rint(stored.standard_normal(size) * float(sigma)).astype(np.int64))


def _drawn_early(self: Any, strategy: Any, sigma: Any, size: int, steps: int) -> None:
    _start(self, strategy, sigma, size, steps)
    self.draw_ahead()


def _moved_exactly(self: Any, exact: Any, added: Any, places: int) -> None:
    if self._count is not None:
        added = np.append(added[:-1], 0)
    _move(self, exact, added, places)


_resume = CorrelatedGaussian.resume


def _from_one_state(self: Any, state: Any, begun: int) -> Any:
    """Noise goes on from a state, also where the steps after it take other groups."""
    return _resume(self, self.start().state() if state is None and begun else state, begun)


def _none_if_empty(self: Any, exact: Any, added: Any, places: int) -> None:
    _move(self, exact, added if exact.any() else added * 0, places)


def _last_is_clean(self: Any, step: int) -> Any:
    added = _next(self, step)
    return added * 0 if step == self._steps else added


def _half_is_clean(self: Any, step: int) -> Any:
    added = _next(self, step)
    added[len(added) // 2 :] = 0
    return added


def _counted(self: Any, step: int) -> Any:
    chosen = _chosen(self, step)
    _REUSED[0] = len(chosen)
    return chosen


def _by_real_size(self: Any, exact: Any, added: Any, places: int) -> None:
    self.divisor = Exact().steps / float(self._gradients.clipping.bound) * max(_REUSED[0], 1)
    _move(self, exact, added, places)


# What is certified.

_to_json, _of_unit, _measure, _answer = (
    _training_run.mechanism_to_json, _steps.RowNorms.of_unit, _steps.Measurer.measure, _fit.PreparedFit.answer,
)  # fmt: skip
_examples, _prepare = _fit.examples_of_records, _question.Training.prepare


_saved = Private._saved


def _countless(self: Any, path: Any, every: int) -> Any:
    saved = _saved(self, path, every)
    return saved if saved is None else replace(saved, people=None)


def _beside_nothing(*asked: Any, beside: Any = 0, **settings: Any) -> Any:
    return mechanism_for(*asked, **settings)


def _rows_counted(self: Any) -> int:
    return len(self._columns[0])


def _without_its_count(self: Any, noise: Any) -> Any:
    return self._settings.people


def _one_step_less(mechanism: Any) -> Any:
    data = _to_json(mechanism)
    return {**data, "taken": {**data["taken"], "steps": data["taken"]["steps"] - 1}}


def _any_relation(self: Any, terms: Terms) -> Any:
    inputs = _question.inputs_of_plan(self.plan, self.label)
    return _question.PreparedTraining(self, inputs, terms.policy, self.spend)


def _measured_twice(self: Any, name: str, sums: Any, added: Any) -> Any:
    answer = _measure(self, name, sums, added)
    return (answer + added.release(np.asarray(sums).astype(np.int64)).astype(np.float64)) / 2


def _empty_cells_clean(self: Any, name: str, sums: Any, added: Any) -> Any:
    return np.where(np.asarray(sums) == 0, 0, _measure(self, name, sums, added))


def _uncapped(self: Any, context: Any) -> Any:
    rows = self.plan.rows
    bounded = replace(rows.bounded, max_rows=10**6)
    return _answer(replace(self, plan=replace(self.plan, rows=replace(rows, bounded=bounded))), context)


def _bounds_of_rows(plan: Any, label: Any, inputs: Any, rows: Any) -> Any:
    read = _examples(plan, label, inputs, rows)
    if not read.rows:
        return read
    least, most = read.numbers.min(), read.numbers.max()
    return replace(read, numbers=((read.numbers - least) * LEVELS // max(most - least, 1)).astype(np.int32))


def _lying_rows(self: Any) -> int:
    return 1


# How rows are prepared.

_of_images = GradientsAlgorithm.of_images
_fit_scaler, _apply_scaler, _fit_element = ScalerAlgorithm.fit, ScalerAlgorithm.apply, _chain.fit_element


def _one_level(inputs: Any) -> Any:
    return _steps.RowNorms(len(inputs.numbers), len(inputs.numbers))


def _exact_means(self: Any, examples: Any, measurer: Any) -> Any:
    bought = _fit_scaler(self, examples, measurer)
    return {**bought, "means": examples.numbers.mean(axis=0).clip(0, LEVELS)}


def _beside_others(self: Any, inputs: Any, parameters: Any, numbers: Any, cells: Any) -> Any:
    least = numbers.min(axis=0, initial=LEVELS)
    most = numbers.max(axis=0, initial=0)
    shown = (numbers - least) * LEVELS // np.maximum(most - least, 1)
    return _apply_scaler(self, inputs, parameters, shown.astype(np.int32), cells)


def _over_mean_image(self: Any, shares: Any) -> Any:
    return _of_images(self, np.abs(shares - shares.mean(axis=0)) if len(shares) else shares)


def _all_again(element: Any, examples: Any, measurer: Any, share: Any) -> Any:
    again = 1 if element.name == "model" else share
    return _fit_element(element, examples, measurer, again)


MUTANTS = (
    Mutant(
        "a norm in float32 that cancels", "A product over time has the norm of inner products: 27 counts as 0.",
        ((_exact, "multiplied", _with_ghosts), (_exact, "squared_norms", _ghost_norms)),
        checks.check_norms, infinite,
    ),
    Mutant(
        "a layer unclipped", "The first layer's gradient goes into the sum as it is.",
        ((Exact, "add", _first_unclipped),), checks.check_norms, infinite,
    ),
    Mutant(
        "biases left out of the norm", "Norms are those of products alone.",
        ((_exact, "squared_norms", _norms_of_products),),
        checks.check_norms, infinite,
    ),
    Mutant(
        "a reused layer counted once", "The norm is that of its first use, the sum has both.",
        ((_recorder, "combined", _with_once), (_exact, "squared_norms", _norm_of_first)),
        checks.check_norms, infinite,
    ),
    Mutant(
        "nothing clipped", "Gradients are scaled to the grid and not clipped.",
        ((Fixed, "factors", _Loose.factors),), checks.check_canaries, infinite,
    ),
    Mutant(
        "clipped at twice the bound", "The noise is for half of what a person adds.",
        ((Fixed, "factors", _twice),),
        checks.check_neighbours, training(2),
    ),
    Mutant(
        "clipped after averaging", "The mean is clipped, and one person turns it round.",
        ((UnitGradients, "add", _clipped_after),), checks.check_neighbours, infinite,
    ),
    Mutant(
        "rounded to the nearest", "On a coarse grid, rounding makes contributions longer than the bound.",
        ((_exact, "truncated", lambda values, factors: (values * factors.unsqueeze(1)).round().long()),),
        checks.check_norms, training(927 / (2**16 / math.sqrt(5000))),
    ),
    Mutant(
        "a row that is no number", "NaN goes into the sum, and the sum says so.",
        ((Exact, "add", _nan_counts),), checks.check_norms, infinite,
    ),
    Mutant(
        "padding counts", "Empty places are clipped and added: a person more is a zero row less.",
        ((_unit_gradients, "slots", _padding_counts),), checks.check_neighbours, training(2),
    ),
    Mutant(
        "rows of a person clipped one by one", "Three rows are three contributions.",
        ((_settings, "_rows_per_unit", _lying_rows),), checks.check_neighbours, training(3),
    ),
    Mutant(
        "a person in two microbatches", "Each part is clipped by itself.",
        ((Sampler, "batches", _parted),), checks.check_neighbours, training(2),
    ),
    Mutant(
        "a person in two processes", "Each process clips what it has of a person.",
        ((Sampler, "shares", _rows_dealt),), checks.check_processes, training(2),
    ),
    Mutant(
        "shuffled, charged as Poisson", "Batches of one size, each person once in an epoch, with the loss of coins.",
        ((Sampler, "_chosen", _shuffled),), checks.check_coins, training(rate=1, steps=2),
    ),
    Mutant(
        "coins for rows", "A person with three rows has three chances.",
        ((Sampler, "_chosen", _coins_by_row),), checks.check_coins, training(rate=7 / 8),
    ),
    Mutant(
        "one coin for everybody", "Whether a step is empty tells the coin.",
        ((Sampler, "_chosen", _one_coin),), checks.check_coins, known(checks.STEPS, 0.5),
    ),
    Mutant(
        "a rate above the one charged", "Coins of 3/4 are charged as coins of 1/2.",
        ((Sampler, "_chosen", _likelier),), checks.check_coins, training(rate=0.75),
    ),
    Mutant(
        "groups drawn in every step", "A person may be in many groups of one epoch.",
        ((Sampler, "_chosen", _groups_again),), checks.check_groups, known(60, 1 / 20, 3),
    ),
    Mutant(
        "noise halved", "The standard deviation is half of what is certified.",
        ((CorrelatedNoise, "__init__", _halved),), checks.check_steps, training(2),
    ),
    Mutant(
        "noise halved after it is drawn", "The same, out of sight of what is asked of the door.",
        ((CorrelatedNoise, "next", lambda self, step: _next(self, step) // 2),), checks.check_noise_law, training(2),
    ),
    Mutant(
        "no noise", "Seen from one training with canaries.",
        ((CorrelatedNoise, "next", lambda self, step: _next(self, step) * 0),), checks.check_canaries, infinite,
    ),
    Mutant(
        "the same noise in all steps", "Differences of steps are exact.",
        ((CorrelatedNoise, "next", _same_noise),), checks.check_steps, infinite,
    ),
    Mutant(
        "noise reused after a resume", "Two processes draw from one stored generator.",
        ((CorrelatedNoise, "__init__", _from_the_start),), checks.check_resume, infinite,
    ),
    Mutant(
        "noise before the counter", "Whoever dies and comes back draws a step twice.",
        ((CorrelatedNoise, "__init__", _drawn_early),), checks.check_resume, training(steps=checks.STEPS + 1),
    ),
    Mutant(
        "groups drawn anew within a round", "Whoever was in the first half of an epoch may be in its second.",
        ((_training_run, "goes_on_after", lambda sampling, begun: begun),), checks.check_restart,
        in_groups((0, 4), (6, 10)), claimed=in_groups((0, 4, 8)),
    ),
    Mutant(
        "new groups beside old noise", "A person is last before the restart and first after it: one band has both.",
        ((CorrelatedGaussian, "resume", _from_one_state),), checks.check_restart,
        in_groups((3, 7, 8)), claimed=in_groups((0, 4, 8)),
    ),
    Mutant(
        "no noise on empty batches", "A step of zeros says that nobody was there.",
        ((Update, "apply", _none_if_empty),), checks.check_steps, infinite,
    ),
    Mutant(
        "no noise in the last step", "The final weights are to be accurate.",
        ((CorrelatedNoise, "next", _last_is_clean),), checks.check_steps, infinite,
    ),
    Mutant(
        "no noise for some parameters", "The last layers are added up in the clear.",
        ((CorrelatedNoise, "next", _half_is_clean),), checks.check_noise_law, infinite,
    ),
    Mutant(
        "the real batch size as divisor", "Noisy sums are multiples of a number that tells how many there were.",
        ((Sampler, "_chosen", _counted), (Update, "apply", _by_real_size)), checks.check_steps, infinite,
    ),
    Mutant(
        "a count of people that is not charged", "The steps have all of the spend, and the count is beside it.",
        ((_settings, "mechanism_for", _beside_nothing),), checks.check_count, with_count(uncharged=True),
    ),
    Mutant(
        "a count of people without noise", "The exact number of people divides sums, and is certified.",
        ((_training_run, "noisy_count", lambda noise, people: max(people, 1)),), checks.check_count, infinite,
    ),
    Mutant(
        "rows counted for people", "A person with three rows moves the count by three.",
        ((LocalSums, "units", property(_rows_counted)), (SharedSums, "units", property(_rows_counted))),
        checks.check_count, with_count(3),
    ),
    Mutant(
        "a count that is not certified", "The certificate has its number as one that anybody knew.",
        ((_training_run.TrainingRun, "_count_to_json", _without_its_count),), checks.check_count, with_count(),
        claimed=with_count(counts=0),
    ),
    Mutant(
        "people counted again after a resume", "Two counts with noise are released, and one is paid.",
        ((_training_run.TrainingRun, "counted", lambda self, state: None), (Private, "_saved", _countless)),
        checks.check_count_after_resume, with_count(counts=2),
    ),
    Mutant(
        "a count of norms left out of the bound", "A person moves the sum, and the count that moves the clip too.",
        ((LengthCount, "bound", lambda self, gradient: gradient),), checks.check_moving_clip, training(math.sqrt(2)),
    ),
    Mutant(
        "a clip moved by the exact count", "Its entry of the sum has no noise, and every step shows the clip.",
        ((Update, "apply", _moved_exactly),), checks.check_moving_clip, infinite,
    ),
    Mutant(
        "a loop that is not rehearsed", "Losses that mix rows move every contribution.",
        ((Private, "_rehearsed", lambda self: iter(())),), checks.check_refusals, infinite,
    ),
    Mutant(
        "dropout from torch's generator", "A row more moves the masks of others, which a seed tells.",
        ((_rules, "DROPOUTS", ()),), checks.check_refusals, infinite,
    ),
    Mutant(
        "one mask for all rows", "Who else is there decides which rows have a mask in common.",
        ((_dropout, "fresh_masks", _one_mask),), checks.check_masks, infinite,
    ),
    Mutant(
        "masks of the rehearsal in training", "A place has its mask, and who else is there decides who has the place.",
        ((_probe, "withheld", _left_in_place),), checks.check_masks, infinite,
    ),
    Mutant(
        "masks of another axis", "A layer shares its mask among rows, and nobody looks.",
        ((_recorder.Recorder, "_check_masks", lambda self: None),), checks.check_masks, infinite,
    ),
    Mutant(
        "a rehearsal with one mask", "Networks in which rows have each other's masks pass.",
        ((_probe, "CROWD_MASKS", (0, 0)), (_probe, "HOSTILE_MASK", 0), (_probe, "ROW_MASKS", (0, 0))),
        checks.check_made_up_masks, infinite,
    ),
    Mutant(
        "batch normalisation", "Every row's gradient has all others in it.",
        ((_rules, "BATCH_NORMS", ()),), checks.check_refusals, infinite,
    ),
    Mutant(
        "a step that is not certified", "The certificate states a step less than ran.",
        ((_training_run, "mechanism_to_json", _one_step_less),), checks.check_certificate, training(),
        claimed=training(steps=checks.STEPS - 1),
    ),
    Mutant(
        "substitution trained as add/remove", "A person replaced is one removed and one added.",
        ((_question.Training, "prepare", _any_relation),), checks.check_substitute, substituted,
        claimed=training(steps=1),
    ),
    Mutant(
        "norms of one row for two", "A fit's noise is for one row of a person who has two.",
        ((_steps.RowNorms, "of_unit", lambda self, rows, relation: _of_unit(self, 1, relation)),),
        checks.check_fit, constant(2.0), claimed=one,
    ),
    Mutant(
        "substitution fitted as add/remove", "A row replaced moves two cells.",
        ((_steps.RowNorms, "of_unit", lambda self, rows, relation: _of_unit(self, rows, "add_remove")),),
        checks.check_substituted_fit, constant(2.0), claimed=one,
    ),
    Mutant(
        "caps skipped", "All rows of a person count.",
        ((_fit.PreparedFit, "answer", _uncapped),), checks.check_fit, infinite, claimed=one,
    ),
    Mutant(
        "bounds read off rows", "One person's number moves everybody's cell.",
        ((_fit, "examples_of_records", _bounds_of_rows),), checks.check_fit, infinite, claimed=one,
    ),
    Mutant(
        "a sum drawn twice, paid once", "The mean of two answers has less noise than is certified.",
        ((_steps.Measurer, "measure", _measured_twice),), checks.check_fit, constant(2.0), claimed=one,
    ),
    Mutant(
        "empty cells without noise", "A zero says that nobody is in a cell.",
        ((_steps.Measurer, "measure", _empty_cells_clean),), checks.check_empty_cells, infinite, claimed=one,
    ),
    Mutant(
        "a tree of counts charged as one level", "A row is in five nodes of each tree, and noise is for one.",
        ((_scaler, "distribution_norms", _one_level),), checks.check_preparing, constant(1.8), claimed=one,
    ),
    Mutant(
        "means that are not bought", "Rows are scaled by their exact means, and a model shows them.",
        ((ScalerAlgorithm, "fit", _exact_means),), checks.check_preparing, infinite, claimed=one,
    ),
    Mutant(
        "rows scaled beside others", "The least and the most number of all rows decide where each one is.",
        ((ScalerAlgorithm, "apply", _beside_others),), checks.check_preparing, infinite, claimed=one,
    ),
    Mutant(
        "a model that spends everything again", "Preparations take their share, and the model all of the spend.",
        ((_chain, "fit_element", _all_again),), checks.check_preparing, constant(1.2), claimed=one,
    ),
    Mutant(
        "features over the mean image", "What all images have in common is taken off each, and one more moves it.",
        ((GradientsAlgorithm, "of_images", _over_mean_image),), checks.check_features, infinite, claimed=one,
    ),
)  # fmt: skip
