"""Private training in a loop of one's own: microbatches of chosen rows, a loss for each, and noise after each step."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from torch import Tensor, nn

from discreet.errors import LedgerError, ParameterError
from discreet.learn._examples import inputs_of_plan
from discreet.learn.correlated import CorrelatedNoise
from discreet.learn.gradients import Adaptive, Clipping, Column, uncompiled
from discreet.learn.processes import is_sharded
from discreet.learn.training._adder import Adder
from discreet.learn.training._checkpoint import (
    Checkpoint,
    check_place,
    packed,
    read_checkpoint,
    stepped_state,
    write_checkpoint,
)
from discreet.learn.training._count import NoisyCount
from discreet.learn.training._distributed import Processes, check_bare
from discreet.learn.training._loop import Batch, Exchange
from discreet.learn.training._network import Network
from discreet.learn.training._plan import TrainingPlan
from discreet.learn.training._rows import Sampler, Tensors, columns_of
from discreet.learn.training._settings import Choices, choices_from, settings_of
from discreet.learn.training._sums import LocalSums, SharedSums, Sums
from discreet.learn.training._training_run import TrainingRun, check_size, open_training
from discreet.learn.training._update import Update
from discreet.learn.training._weights import StillTensors, WeightMean, weights_digest
from discreet.ledger import RunState
from discreet.privacy import Loss
from discreet.rational import Number
from discreet.records import Records

__all__ = ["Private", "resume"]

_BLOCK = 100
_LARGEST_BLOCK = 100_000


class Private:
    """Trains a network so that one person more or less moves the probability of every outcome by no more than a loss.

    Each step takes people by exact coins, clips what each of them, with all their rows, adds to the gradient, adds that
    up in whole numbers, and adds exact noise; the optimiser goes on from there, and everything after that is free.
    Training is charged whole before it begins, and a durable counter moves before a step's noise is drawn.

    Parameters
    ----------
    net
        A module that keeps the rows of a batch apart; batch normalisation and dropout are refused.
    optimizer
        Any torch optimiser of its parameters.
    data
        Records of a session, whose ledger is charged; or `Tensors` in memory, and nobody is charged.
    spend
        What it costs: (ε, δ) with δ > 0, ρ or μ. The noise follows from it.
    multiplier, delta
        In place of a spend the noise, in parts of what one person adds at most, and a δ: the ε follows, and is charged.
    steps
        How many steps.
    rate, epochs
        How people take part: by a coin of this probability in each step, or everybody once in each epoch, in groups.
    about
        About how many people there are, a public number: sums are divided by what a step takes of it on average. Or
        `NoisyCount`: they are counted before the first step, with noise, for a part of the spend.
    clip
        The most that one person adds, as an L2 norm; a `Clipping`; or `Adaptive`, which finds it from noisy counts.
    noise
        ``"independent"``, or ``"auto"``: the least planned error of noise that is correlated between steps; for (ε, δ)
        and epochs also of coins that take a person once in each epoch on average.
    arithmetic
        ``"exact"``: the loss is that of the numbers which the machine computed. ``"float"`` is faster, and its
        certificate says "in real-number arithmetic".
    places
        How many rows a microbatch has: a public number that bounds memory.
    average
        Whether the network that comes out has the mean of the weights after each step of the second half: less noise.
    name
        A public name: another name is another training, with a charge of its own.
    processes
        The other processes of a group of torch.distributed that compute with this one, each a `Worker`.

    Raises `ParameterError` for what cannot be trained. Source: Abadi et al. 2016; ``proofs/learning_training.md``.
    """

    def __init__(  # noqa: PLR0913
        self,
        net: nn.Module,
        optimizer: torch.optim.Optimizer,
        data: Records | Tensors,
        *,
        steps: int,
        about: int | NoisyCount,
        spend: Loss | None = None,
        multiplier: Number | None = None,
        delta: Number | None = None,
        rate: Number | None = None,
        epochs: int | None = None,
        clip: float | Clipping | Adaptive = 1.0,
        noise: Literal["independent", "auto"] = "independent",
        arithmetic: Literal["exact", "float"] = "exact",
        places: int = 64,
        average: bool = False,
        name: str = "",
        processes: Processes | None = None,
    ) -> None:
        choices = Choices(
            steps, about, spend, multiplier, delta, rate, epochs, clip, noise, arithmetic, places, average, name
        )
        self._set_up(net, optimizer, data, choices, processes)

    @classmethod
    def of_checkpoint(  # noqa: PLR0913, PLR0917
        cls,
        path: Path,
        net: nn.Module,
        optimizer: torch.optim.Optimizer,
        data: Records,
        choices: Choices,
        processes: Processes | None,
    ) -> Private:
        """The training that wrote a file, which `batches` goes on from if it is given no other: see `resume`."""
        private = cls.__new__(cls)
        private._set_up(net, optimizer, data, choices, processes, path)  # noqa: SLF001
        return private

    def _set_up(  # noqa: PLR0913, PLR0917
        self,
        net: nn.Module,
        optimizer: torch.optim.Optimizer,
        data: Records | Tensors,
        choices: Choices,
        processes: Processes | None,
        path: Path | None = None,
    ) -> None:
        net = uncompiled(net)
        check_bare(net)
        self._path, self._shards = path, None
        if not is_sharded(net):
            self._check(net, optimizer, data, choices, processes)
            return
        if processes is None:
            raise ParameterError(
                "this network is sharded, over processes that are to compute together: give "
                "processes=learn.Processes() here, and in each of the others learn.Worker(net, optimizer=…)"
            )
        self._shards = processes.open(net, optimizer)
        try:
            self._check(net, self._shards.whole_optimizer(), data, choices, processes)
        finally:
            self._shards.close()

    def _check(
        self,
        net: nn.Module,
        optimizer: torch.optim.Optimizer,
        data: Records | Tensors,
        choices: Choices,
        processes: Processes | None,
    ) -> None:
        path, places = self._path, choices.places
        self._net, self._optimizer, self._data = net, optimizer, data
        self._settings = settings_of(net, optimizer, data, choices)
        if path is not None:
            self._settings.accept(read_checkpoint(path).public)
        self._gradients = self._settings.gradients
        count = self._settings.count
        if processes is not None and count is not None:
            raise ParameterError("a clip that moves is not for several processes: give clip a number, or Normalised")
        self._processes = processes if processes is None else processes.accept(net, choices.arithmetic)
        self._exchange = Exchange(places)
        self._adder = Adder(
            self._gradients, self._exchange, places, self._settings.grid, by_unit=self._settings.by_unit,
            weight=0 if count is None else count.weight,
        )  # fmt: skip
        step = None if self._shards is None or processes is None else partial(processes.step, optimizer)
        self._update = Update(self._gradients, optimizer, self._settings.divisor, count, step)
        self._mean = WeightMean(self._gradients.parameters, self._settings.steps) if choices.average else None
        self._is_running = False
        self.network: Network | None = None
        """What was trained, once the loop has ended."""

    def plan(self) -> TrainingPlan:
        """What training will cost and how much noise it adds. Free, and touches no data."""
        return self._settings.plan()

    def step(self, losses: Tensor) -> None:
        """Takes the losses of the rows of the batch that the loop got last. Raises `ParameterError` for others."""
        self._exchange.step(losses)

    def batches(self, checkpoint: str | Path | None = None, every: int = _BLOCK) -> Iterator[Batch]:
        """Microbatches to compute losses of, for as many steps as there are; the loop calls `step` once for each.

        First the loop is tried on made-up rows. Then training is charged, or goes on from the checkpoint's file, if
        there is one, which is written at the start and every so many steps: steps that were begun after it are lost,
        and stay charged; of people in groups, the rest of the round too. Once all steps are taken, the network is
        stored in the ledger; the same training is then given again, free. A loop or a loss is no part of what is
        compared: another one needs another name.

        Raises `ParameterError` for loops that mix rows, and checkpoints of another training; nothing is spent. Raises
        `BudgetExceeded`, `DataError` and `LedgerError` as `Session.answer`. To stop, leave the loop.
        """
        if self._is_running:
            raise ParameterError("another loop takes batches of this training: end it first")
        self._is_running = True
        try:
            if self._processes is None:
                yield from self._batches(checkpoint, every)
            else:
                yield from self._processes.led(self._batches(checkpoint, every), self._net, self._shards)
        finally:
            self._is_running = False

    def _batches(self, checkpoint: str | Path | None, every: int) -> Generator[Batch]:
        path = self._path if checkpoint is None else Path(checkpoint)
        saved = self._saved(path, every)
        if self.network is not None and isinstance(self._data, Tensors):
            self.network.load_into(self._net)
            return
        self._try_state(path)
        yield from self._rehearsed()
        training = open_training(self._settings, self._data, None if saved is None else saved.run)
        state = training.run.read()
        people = training.counted(state)
        if people is not None:
            training = self._with_people(training, people)
        if self._given_again(training, state):
            return
        if saved is None:
            training.check_begun(state)
        else:
            if saved.people != people:
                raise ParameterError("the checkpoint is of another training: it has another count of people")
            saved.restore(self._net, self._optimizer)
            if self._processes is not None and self._shards is not None:
                self._processes.load_optimizer_state(self._optimizer.state_dict())
                self._optimizer.state.clear()
            if self._mean is not None:
                self._mean.tensors = dict(saved.averaged)
        clip = self._settings.clip if saved is None else saved.clip
        if clip is None and self._settings.count is not None:
            raise ParameterError("the checkpoint is of another training: it has no clip")
        sums = self._sums(training.read())
        if people is None and self._settings.counting is not None:
            people, state = training.count(sums.units, state)
            training = self._with_people(training, people)
        if clip is not None and self._settings.count is not None:
            self._update.set_clip(clip)
        noise, state = training.noise_after(None if saved is None else saved.noise, state)
        still = StillTensors(self._net, self._gradients.parameters.values())
        yield from self._trained(training, sums, noise, state, still, path, every)
        self._finish(training, still)

    def _with_people(self, training: TrainingRun, people: int) -> TrainingRun:
        """The training, where about so many people there are, as is known from now on."""
        self._settings = self._settings.with_people(people)
        self._settings.inform(self._optimizer)
        self._update.set_divisor(self._settings.divisor, self._settings.count)
        return training.with_settings(self._settings)

    def _saved(self, path: Path | None, every: int) -> Checkpoint | None:
        """The checkpoint that training goes on from, if there is one; refuses what does not fit together."""
        if isinstance(every, bool) or not isinstance(every, int) or not 1 <= every <= _LARGEST_BLOCK:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"every is a number of steps, from 1 to {_LARGEST_BLOCK:,}, not {every!r}")
        if path is not None and isinstance(self._data, Tensors):
            raise ParameterError("a checkpoint needs a durable counter: train on records of a session")
        if self._path is not None and path != self._path:
            raise ParameterError("a training that goes on from a checkpoint goes on from that file: name no other")
        saved = read_checkpoint(path) if path is not None and (self._path is not None or path.exists()) else None
        if saved is not None:
            self._settings.accept(saved.public)
        elif self.network is None and weights_digest(self._net) != self._settings.compared["weights"]:
            raise ParameterError("the network's weights have changed since this training was made: make it anew")
        return saved

    def _try_state(self, path: Path | None) -> None:
        """Refuses, before the charge, what cannot go on, be written as a checkpoint, or be stored at the end."""
        check_size(self._net, self._data)
        state = stepped_state(self._optimizer)
        if path is not None:
            check_place(path)
            start = self._settings.mechanism.start().state()
            packed(Checkpoint(0, "", {}, self._net.state_dict(), state, start))

    def _rehearsed(self) -> Generator[Batch]:
        columns, processes = self._columns(), self._processes
        if processes is not None:
            processes.begin(self._net, self._gradients, columns, self._settings.places, by_unit=self._settings.by_unit)
        yield from self._adder.rehearse(self._net, columns)
        if processes is not None:
            processes.agree()

    def _columns(self) -> tuple[Column, Column]:
        data = self._data
        if isinstance(data, Records):
            return columns_of(inputs_of_plan(data.plan, data.label))
        x, y = (Column(tuple(each.shape[1:]), None if each.is_floating_point() else 2) for each in (data.x, data.y))
        return x, y

    def _given_again(self, training: TrainingRun, state: RunState) -> bool:
        network = training.stored(state)
        if network is None:
            return False
        self.network = network
        network.load_into(self._net)
        return True

    def _sums(self, rows: Tensors) -> Sums:
        """What adds up each step, over these rows."""
        sampler = Sampler(rows, self._settings.mechanism.sampling, self._settings.places)
        if self._processes is None:
            return LocalSums(self._adder, sampler, (rows.x, rows.y))
        self._processes.start(self._net, sampler.units)
        return SharedSums(self._adder, sampler, (rows.x, rows.y), self._processes)

    def _trained(  # noqa: PLR0913, PLR0917
        self,
        training: TrainingRun,
        sums: Sums,
        noise: CorrelatedNoise,
        state: RunState,
        still: StillTensors,
        path: Path | None,
        every: int,
    ) -> Generator[Batch]:
        begun, steps, process = training.begun(state), self._settings.steps, os.getpid()
        if path is not None and not begun:
            write_checkpoint(self._checkpoint(0, training, noise, still), path)
        with ThreadPoolExecutor(1, "noise") as beside:
            while begun < steps:
                block, state = training.begin(min(every, steps - begun), state)
                begun = block[-1]
                drawn: Future[None] = beside.submit(noise.draw_ahead)
                for step in block:
                    exact = yield from sums.sum(step)
                    if os.getpid() != process:
                        raise LedgerError(
                            "this process was forked from the one that began the step, which has its noise"
                        )
                    drawn.result()
                    added = noise.next(step)
                    if step < block[-1]:
                        drawn = beside.submit(noise.draw_ahead)
                    self._update.apply(exact, added, noise.places)
                    if self._processes is not None:
                        self._processes.move()
                    if self._mean is not None:
                        self._mean.add(step)
                    training.report(step)
                if path is not None:
                    write_checkpoint(self._checkpoint(begun, training, noise, still), path)

    def _checkpoint(self, step: int, training: TrainingRun, noise: CorrelatedNoise, still: StillTensors) -> Checkpoint:
        self._check_still(still)
        return Checkpoint(
            step,
            training.run.id,
            training.public,
            self._net.state_dict(),
            self._optimizer_state(),
            noise.state(),
            {} if self._mean is None else self._mean.tensors,
            self._update.clip,
            None if self._settings.counting is None else self._settings.people,
        )

    def _optimizer_state(self) -> dict[str, Any]:
        """What the optimiser keeps; of one that is shared out to processes, all of it."""
        if self._processes is None or self._shards is None:
            return self._optimizer.state_dict()
        return self._processes.optimizer_state()

    def _finish(self, training: TrainingRun, still: StillTensors) -> None:
        if self._mean is not None:
            self._mean.load_into(self._net)
        state = training.run.read()
        if not self._given_again(training, state):  # unless another process has ended it meanwhile
            self._check_still(still)
            self.network = training.finish(self._net, state)

    def _check_still(self, still: StillTensors) -> None:
        """Raise `LedgerError` if buffers or frozen parameters have moved, in this process or in another."""
        still.check()
        if self._processes is not None:
            self._processes.check_still()


class Reads(Protocol):
    """Where records are: a `discreet.Session`."""

    def records(self, query: str, label: str | None = None) -> Records:
        """See `discreet.Session.records`."""
        ...


def resume(
    checkpoint: str | Path,
    session: Reads,
    net: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    processes: Processes | None = None,
) -> Private:
    """The training that wrote a checkpoint, with all its settings; its `batches` goes on from that file.

    The query, the spend, the noise, the clip and all else that was asked are read from the checkpoint. The network and
    the optimiser are code, which is in no checkpoint: give a network of the same architecture, whatever its weights
    are, and an optimiser of the same settings. Costs nothing: a training that the session's ledger has not charged is
    refused.

    Raises `DataError` for a file that is no checkpoint, `ParameterError` for one of another network or optimiser, and
    `LedgerError`, once batches are taken, for one that this ledger has not charged.
    """
    path = Path(checkpoint)
    query, label, choices = choices_from(read_checkpoint(path).public)
    return Private.of_checkpoint(path, net, optimizer, session.records(query, label), choices, processes)
