"""Private training in a loop of one's own: microbatches of chosen rows, a loss for each, and noise after each step."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import safetensors.torch
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet import noise as noises
from discreet.elapsed import report_step
from discreet.errors import LedgerError, ParameterError
from discreet.learn._examples import examples_of_records, inputs_of_plan
from discreet.learn._inputs import Inputs
from discreet.learn.correlated import CorrelatedNoise, CyclicPoisson, Independent
from discreet.learn.gradients import Clipping, Column, Exact, Fixed, Float, Normalised, UnitGradients, probe, uncompiled
from discreet.learn.training._adam import DPAdam
from discreet.learn.training._checkpoint import Checkpoint, packed, read_checkpoint, write_checkpoint
from discreet.learn.training._mechanism import (
    mechanism_for,
    mechanism_of_multiplier,
    mechanism_to_json,
    sampling_for,
    spend_of_noise,
)
from discreet.learn.training._network import Network
from discreet.learn.training._plan import TrainingPlan
from discreet.learn.training._question import PreparedTraining, Training
from discreet.learn.training._rehearsal import rehearsal
from discreet.learn.training._rows import Sampler, Tensors, columns_of, laid_out, tensors_of_examples
from discreet.learn.training._trials import check_place, stepped_state, still_digest
from discreet.ledger import Run, RunState, open_ledger
from discreet.privacy import Loss, to_json
from discreet.query import PERSON_COLUMN
from discreet.rational import Number
from discreet.records import Records
from discreet.release import ReleaseContext

__all__ = ["Batch", "Private"]

_FINISHING = 16
"""Steps of the run beside those that draw noise: as many attempts to store the network."""
_BLOCK = 100
_LARGEST_BLOCK = 100_000
_MOST_EXACT = 1 << 62
_COARSE = 1 << 20
"""Steps of the grid where noise is correlated, which has entries that are larger than the sums."""


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """One microbatch: rows of people in the first places, zeros in the rest. Private, but in a rehearsal.

    Attributes
    ----------
    x, y
        What a model reads and what it predicts, a row along the first axis, always as many.
    rehearsal
        Whether the rows are made up: before training, the loop is tried on such rows.
    """

    x: Tensor
    y: Tensor
    rehearsal: bool = False

    def __repr__(self) -> str:
        return f"<batch of {len(self.x)} places>"


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
        How people take part: by a coin of this probability in each step, or everybody once in each epoch.
    about
        About how many people there are, a public number: sums are divided by what a step takes of it on average.
    clip
        The most that one person adds, as an L2 norm, or a `Clipping`.
    noise
        ``"independent"``, or ``"auto"``: the least planned error of noise that is correlated between steps.
    arithmetic
        ``"exact"``: the loss is that of the numbers which the machine computed. ``"float"`` is faster, and its
        certificate says "in real-number arithmetic".
    places
        How many rows a microbatch has: a public number that bounds memory.
    average
        Whether the network that comes out has the mean of the weights after each step of the second half: less noise.
    name
        A public name: another name is another training, with a charge of its own.

    Raises `ParameterError` for what cannot be trained. Source: Abadi et al. 2016; ``proofs/learning_training.md``.
    """

    def __init__(  # noqa: PLR0913
        self,
        net: nn.Module,
        optimizer: torch.optim.Optimizer,
        data: Records | Tensors,
        *,
        steps: int,
        about: int,
        spend: Loss | None = None,
        multiplier: Number | None = None,
        delta: Number | None = None,
        rate: Number | None = None,
        epochs: int | None = None,
        clip: float | Clipping = 1.0,
        noise: Literal["independent", "auto"] = "independent",
        arithmetic: Literal["exact", "float"] = "exact",
        places: int = 64,
        average: bool = False,
        name: str = "",
    ) -> None:
        if not isinstance(data, Records | Tensors):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(
                f"training takes its rows itself, by coins that the loss is for: give records, as in session.records("
                f"query, label=…), or learn.Tensors(x, y), not {type(data).__name__}"
            )
        _check_sizes(about, places)
        if (spend is None) == (multiplier is None) or (multiplier is None) != (delta is None):
            raise ParameterError("say what to spend, or in its place the noise: multiplier=1.1, delta=1e-6")
        if spend is not None and not isinstance(spend, Loss):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError('spend must be a loss, for example dp.approx(3, "1e-6")')
        net = uncompiled(net)
        self._net, self._optimizer, self._data = net, optimizer, data
        self._places = places
        clipping = Fixed(float(clip)) if isinstance(clip, int | float) else clip
        if not isinstance(clipping, Fixed | Normalised):
            raise ParameterError(f"clip is a number, Fixed or Normalised, whose bounds are proved, not {clip!r}")
        self._grid = _COARSE if noise == "auto" else Exact().steps
        kinds: dict[str, Exact | Float] = {"exact": Exact(self._grid), "float": Float()}
        if arithmetic not in kinds:
            raise ParameterError(f"arithmetic is 'exact' or 'float', not {arithmetic!r}")
        self._gradients = UnitGradients(net, clipping, kinds[arithmetic])
        self._check_optimizer()
        self._by_unit = self._rows_per_unit > 1
        if self._rows_per_unit > places:
            raise ParameterError(f"a person may have {self._rows_per_unit} rows: give as many places or more")
        # A float sum is rounded to the grid, which moves it by less than one step more in each entry.
        size = self._gradients.size
        bound = self._grid + (math.isqrt(size) + 1 if arithmetic == "float" else 0)
        if spend is not None:
            self._mechanism = mechanism_for(spend, steps, rate=rate, epochs=epochs, noise=noise, bound=bound, size=size)
            self._spend = spend
        else:
            assert multiplier is not None and delta is not None
            taken = sampling_for(steps, rate=rate, epochs=epochs)
            self._mechanism = mechanism_of_multiplier(multiplier, taken, bound=bound, size=size)
            self._spend = spend_of_noise(self._mechanism, delta)
        self._resumable = epochs is None
        grid = self._grid / float(self._gradients.clipping.bound)
        sampling = self._mechanism.sampling
        share = float(sampling.rate) if isinstance(sampling, CyclicPoisson) else 1 / sampling.separation
        self._divisor = share * about * grid
        self._settings: dict[str, Any] = {
            "network": _described(net),
            "optimizer": repr(optimizer),
            "weights": _weights_digest(net),
            "clipping": repr(self._gradients.clipping),
            "arithmetic": arithmetic,
            "about": about,
            "places": places,
            "average": bool(average),
            "name": name,
        }
        self._averaged: dict[str, Tensor] | None = {} if average else None
        if isinstance(optimizer, DPAdam):
            if not isinstance(self._mechanism.strategy, Independent):
                raise ParameterError("DPAdam knows the variance of independent noise alone: use noise='independent'")
            optimizer.noise_variance = self.plan().noise ** 2
        self._public: Mapping[str, Any] = {}
        self._asked_for: Mapping[str, Any] = {}
        self._losses: Tensor | None = None
        self._answers = False
        self._is_running = False
        self.network: Network | None = None
        """What was trained, once the loop has ended."""

    @property
    def _rows_per_unit(self) -> int:
        if isinstance(self._data, Tensors):
            return self._data.rows_per_unit if self._data.units is not None else 1
        bounded = self._data.plan.rows.bounded
        return 1 if bounded.unit is None else bounded.max_rows

    def _check_optimizer(self) -> None:
        known = {id(each) for each in self._gradients.parameters.values()}
        theirs = {id(each) for group in self._optimizer.param_groups for each in group["params"]}
        if theirs - known - {id(each) for each in self._net.parameters()}:
            raise ParameterError("the optimiser has parameters that are not the network's")
        if known - theirs:
            raise ParameterError(
                "some trained parameters are not in the optimiser: freeze them, or give it all of them"
            )

    def plan(self) -> TrainingPlan:
        """What training will cost and how much noise it adds. Free, and touches no data."""
        return TrainingPlan(
            self._mechanism,
            self._spend,
            self._divisor,
            float(self._gradients.clipping.bound) / self._grid,
            self._gradients.arithmetic.certificate,
        )

    def step(self, losses: Tensor) -> None:
        """Takes the losses of the rows of the batch that the loop got last. Raises `ParameterError` for others."""
        if self._losses is not None or not self._answers:
            raise ParameterError("a batch takes its losses once: call step(losses) once for each batch of batches()")
        if losses.dim() != 1 or len(losses) != self._places:
            raise ParameterError(
                f"step takes a loss for each of {self._places} rows of the batch, got the shape {tuple(losses.shape)}: "
                "use reduction='none', and take no mean or sum"
            )
        self._losses = losses

    def batches(self, checkpoint: str | Path | None = None, every: int = _BLOCK) -> Iterator[Batch]:
        """Microbatches to compute losses of, for as many steps as there are; the loop calls `step` once for each.

        First the loop is tried on made-up rows. Then training is charged, or goes on from the checkpoint's file, if
        there is one, which is written at the start and every so many steps: steps that were begun after it are lost,
        and stay charged. Once all steps are taken, the network is stored in the ledger; the same training is then given
        again, free. A loop or a loss is no part of what is compared: another one needs another name.

        Raises `ParameterError` for loops that mix rows, and checkpoints of another training; nothing is spent. Raises
        `BudgetExceeded`, `DataError` and `LedgerError` as `Session.answer`. To stop, leave the loop.
        """
        if self._is_running:
            raise ParameterError("another loop takes batches of this training: end it first")
        self._is_running = True
        try:
            yield from self._batches(checkpoint, every)
        finally:
            self._is_running = False

    def _batches(self, checkpoint: str | Path | None, every: int) -> Generator[Batch]:
        path = None if checkpoint is None else Path(checkpoint)
        if isinstance(every, bool) or not isinstance(every, int) or not 1 <= every <= _LARGEST_BLOCK:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"every is a number of steps, from 1 to {_LARGEST_BLOCK:,}, not {every!r}")
        if path is not None and (isinstance(self._data, Tensors) or not self._resumable):
            raise ParameterError(
                "a checkpoint needs a durable counter, and groups that are drawn for life: train on records, with rate="
            )
        saved = read_checkpoint(path) if path is not None and path.exists() else None
        if saved is not None:
            self._accept(saved)
        elif self.network is None and _weights_digest(self._net) != self._settings["weights"]:
            raise ParameterError("the network's weights have changed since this training was made: make it anew")
        elif self.network is not None and isinstance(self._data, Tensors):
            self.network.load_into(self._net)
            return
        self._try_state(path)
        yield from self._rehearsed()
        run, context, inputs = self._opened(None if saved is None else saved.run)
        state = run.read()
        if self._given_again(run, state):
            return
        if state.begun and saved is None:
            raise LedgerError(
                f"this training has begun {state.begun:,} steps, and was charged for all: go on from its checkpoint, "
                "or give it another name= and pay anew"
            )
        if saved is not None:
            saved.restore(self._net, self._optimizer)
            if self._averaged is not None:
                self._averaged = dict(saved.averaged)
        noise = self._mechanism.resume(None if saved is None else saved.noise, min(state.begun, self._steps))
        yield from self._trained(run, context, noise, state, path, every)
        self._finish(run, inputs)

    def _try_state(self, path: Path | None) -> None:
        """Refuses, before the charge, an optimiser that cannot go on and a checkpoint that cannot be written."""
        state = stepped_state(self._optimizer)
        if path is not None:
            check_place(path)
            packed(Checkpoint(0, "", {}, self._net.state_dict(), state, self._mechanism.start().state()))

    @property
    def _steps(self) -> int:
        return self._mechanism.sampling.steps

    def _accept(self, saved: Checkpoint) -> None:
        """Take the checkpoint's first weights as those of this training, if all else is the same."""
        ours = {name: value for name, value in self._settings.items() if name != "weights"}
        theirs = {name: saved.public.get(name) for name in ours}
        if ours != theirs or saved.public.get("noise") != mechanism_to_json(self._mechanism):
            changed = [name for name in ours if ours[name] != theirs[name]] or ["noise, rate or steps"]
            raise ParameterError(f"the checkpoint is of another training: it differs in {', '.join(changed)}")
        weights = saved.public.get("weights")
        if not isinstance(weights, str):
            raise ParameterError("the checkpoint is of another training: it has no first weights")
        self._settings["weights"] = weights

    def _rehearsed(self) -> Generator[Batch]:
        columns = self._columns()
        tried = rehearsal(
            lambda losses: probe(
                self._net, losses, columns, self._places, clipping=self._gradients.clipping,
                arithmetic=self._gradients.arithmetic if isinstance(self._gradients.arithmetic, Exact) else None,
                by_unit=self._by_unit,
            )
        )  # fmt: skip
        try:
            batch = next(tried)
            while True:
                yield from self._asked(Batch(batch[0], batch[1], rehearsal=True))
                losses, self._losses = self._losses, None
                assert losses is not None
                batch = tried.send(losses)
        except StopIteration:
            return
        finally:
            tried.close()

    def _asked(self, batch: Batch) -> Generator[Batch]:
        self._losses, self._answers = None, True
        yield batch
        self._answers = False
        if self._losses is None:
            raise ParameterError("the loop took a batch without step(losses): call it once for each batch")

    def _columns(self) -> tuple[Column, Column]:
        data = self._data
        if isinstance(data, Records):
            return columns_of(inputs_of_plan(data.plan, data.label))
        x, y = (Column(tuple(each.shape[1:]), None if each.is_floating_point() else 2) for each in (data.x, data.y))
        return x, y

    def _opened(self, charged: str | None) -> tuple[Run, ReleaseContext | None, Inputs | None]:
        data, steps = self._data, self._steps + _FINISHING
        if isinstance(data, Tensors):
            name = hashlib.sha256(noises.secret(32)).hexdigest()
            return open_ledger(None, self._spend).open_run(name, self._spend, steps), None, None
        question = Training(data.plan, data.label, self._mechanism, self._spend, self._settings)
        prepared = data.session.prepare(question)
        assert isinstance(prepared, PreparedTraining)
        self._public, self._asked_for = prepared.public, prepared.stated
        run, context = data.session.open_run(question, steps, charged)
        return run, context, inputs_of_plan(data.plan, data.label)

    def _given_again(self, run: Run, state: RunState) -> bool:
        if state.stored <= self._steps:
            return False
        payload = run.answer(state.stored)
        assert payload is not None
        self.network = Network.from_bytes(payload)
        self.network.load_into(self._net)
        return True

    def _read(self, context: ReleaseContext | None) -> Tensors:
        data = self._data
        if isinstance(data, Tensors):
            return data
        assert context is not None
        table = context.read_records(data.plan.rows, noises.secret(16))
        units: NDArray[np.int64] | None = None
        inputs = inputs_of_plan(data.plan, data.label)
        examples = examples_of_records(data.plan, data.label, inputs, table)
        if self._by_unit:
            units = table.column(PERSON_COLUMN).to_numpy()[examples.places]
        return tensors_of_examples(examples, units, self._rows_per_unit)

    def _trained(  # noqa: PLR0913, PLR0917
        self,
        run: Run,
        context: ReleaseContext | None,
        noise: CorrelatedNoise,
        state: RunState,
        path: Path | None,
        every: int,
    ) -> Generator[Batch]:
        rows = self._read(context)
        sampler = Sampler(rows, self._mechanism.sampling, self._places)
        columns = (rows.x, rows.y)
        begun, stored, process = state.begun, state.stored, os.getpid()
        self._still = still_digest(self._net, self._gradients.parameters.values())
        if path is not None and not begun:
            write_checkpoint(self._checkpoint(0, run, noise), path)
        with ThreadPoolExecutor(1, "noise") as beside:
            while begun < self._steps:
                block = run.begin(min(every, self._steps - begun), after=RunState(begun, stored, None))
                begun = block[-1]
                drawn: Future[None] = beside.submit(noise.draw_ahead)
                for step in block:
                    exact = yield from self._summed(sampler, columns, step)
                    if os.getpid() != process:
                        raise LedgerError(
                            "this process was forked from the one that began the step, which has its noise"
                        )
                    drawn.result()
                    added = noise.next(step)
                    if step < block[-1]:
                        drawn = beside.submit(noise.draw_ahead)
                    self._move(exact, added, noise.places)
                    self._average(step)
                    report_step(step, self._steps) if context is None else context.step(step, self._steps)
                if path is not None:
                    write_checkpoint(self._checkpoint(begun, run, noise), path)

    def _summed(
        self, sampler: Sampler, columns: tuple[Tensor, Tensor], step: int
    ) -> Generator[Batch, None, NDArray[np.int64]]:
        """The exact sum of a step's contributions."""
        gradients = self._gradients
        exact = np.zeros(gradients.size, np.int64)
        total, held = gradients.zeros(), 0
        for rows, slots in sampler.batches(step):
            x, y = laid_out(columns, rows, self._places)
            active = torch.zeros(self._places, dtype=torch.bool)
            active[: len(rows)] = True
            units: Tensor | None = None
            if self._by_unit:
                units = torch.full((self._places,), -1, dtype=torch.int64)
                units[: len(rows)] = torch.from_numpy(slots)
            if held + self._places > self._most_at_once:
                exact += self._integers(total)
                total, held = gradients.zeros(), 0
            with gradients.listening(self._places):
                yield from self._asked(Batch(x, y))
                losses, self._losses = self._losses, None
                assert losses is not None
                if units is None:
                    gradients.add(losses, total, active=active)
                else:
                    gradients.add(losses, total, units=units)
            held += self._places
        return exact + self._integers(total)

    @property
    def _most_at_once(self) -> int:
        arithmetic = self._gradients.arithmetic
        return arithmetic.most_units if isinstance(arithmetic, Exact) else 1 << 30

    def _integers(self, total: Tensor) -> NDArray[np.int64]:
        """The sum in whole numbers of the grid; float sums are rounded to it."""
        if isinstance(self._gradients.arithmetic, Exact):
            return total.numpy().astype(np.int64)
        grid = self._grid / self._gradients.clipping.bound
        return np.rint(total.double().numpy() * grid).astype(np.int64)

    def _move(self, exact: NDArray[Any], added: NDArray[Any], places: int) -> None:
        """Adds the noise, divides by public numbers, and lets the optimiser take its step on that alone."""
        if added.dtype == object or int(np.abs(exact).max(initial=0)) >= _MOST_EXACT >> places:
            exact, added = exact.astype(object), added.astype(object)
        noisy = (exact * (1 << places) + added).astype(np.float64) / float(1 << places)
        flat = torch.from_numpy(noisy / self._divisor)
        self._optimizer.zero_grad(set_to_none=True)  # of what the loop may have left in others
        for name, part in self._gradients.split(flat).items():
            parameter = self._gradients.parameters[name]
            parameter.grad = part.to(parameter.dtype).clone()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)

    def _average(self, step: int) -> None:
        """Takes the weights after a step of the second half into their mean."""
        count = step - self._steps // 2
        if self._averaged is None or count < 1:
            return
        for name, each in self._gradients.parameters.items():
            before = self._averaged.setdefault(name, each.detach().clone())
            before += (each.detach() - before) / count

    def _check_still(self) -> None:
        if still_digest(self._net, self._gradients.parameters.values()) != self._still:
            raise LedgerError(
                "buffers or frozen parameters of the network have changed in training, and could carry what rows hold "
                "past the noise: nothing is stored; keep them as they are"
            )

    def _checkpoint(self, step: int, run: Run, noise: CorrelatedNoise) -> Checkpoint:
        self._check_still()
        return Checkpoint(
            step,
            run.id,
            self._public,
            self._net.state_dict(),
            self._optimizer.state_dict(),
            noise.state(),
            self._averaged or {},
        )

    def _finish(self, run: Run, inputs: Inputs | None) -> None:
        """The network as a release, stored in the ledger before anybody has it from there."""
        if self._averaged:
            self._net.load_state_dict({**self._net.state_dict(), **self._averaged})
        state = run.read()
        if self._given_again(run, state):  # another process has ended it meanwhile
            return
        self._check_still()
        (step,) = run.begin(after=state)
        payload = _weights(self._net)
        bare = Network(inputs, payload, self._spend, {})
        statement: Mapping[str, Any] = {
            "kind": "network",
            **self._asked_for,
            **self._settings,
            "noise": mechanism_to_json(self._mechanism),
            "arithmetic": self._gradients.arithmetic.certificate,
            "relation": "add_remove",
            "rows_per_unit": self._rows_per_unit,
            "loss": to_json(self._spend),
            "answer": bare.digest(),
        }
        self.network = Network(inputs, payload, self._spend, run.certify(statement))
        run.store(step, self.network.to_bytes())


def _check_sizes(about: object, places: object) -> None:
    if isinstance(about, bool) or not isinstance(about, int) or about < 1:
        raise ParameterError(f"about is a whole number of people, 1 or more, not {about!r}")
    if isinstance(places, bool) or not isinstance(places, int) or not 4 <= places <= 65_536:
        raise ParameterError(f"places is a number of rows from 4 to 65,536, not {places!r}")


def _described(net: nn.Module) -> str:
    shapes = ", ".join(f"{name} {tuple(each.shape)}" for name, each in net.named_parameters())
    return hashlib.sha256(f"{net!r} {shapes}".encode()).hexdigest()


def _weights_digest(net: nn.Module) -> str:
    return hashlib.sha256(_weights(net)).hexdigest()


def _weights(net: nn.Module) -> bytes:
    """A file of the network's tensors; of tied ones under each name."""
    state = net.state_dict()
    return safetensors.torch.save(
        {name: each.clone(memory_format=torch.contiguous_format) for name, each in state.items()}
    )
