"""A training on its ledger: opened or gone on with, the rows that it may read, and the network stored at its end."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import nn

from discreet import noise as noises
from discreet.elapsed import report_step
from discreet.errors import LedgerError, ParameterError
from discreet.learn._examples import examples_of_records, inputs_of_plan
from discreet.learn._inputs import Inputs
from discreet.learn.correlated import CorrelatedNoise, NoiseState
from discreet.learn.gradients import described
from discreet.learn.training._count import count_to_json, noisy_count
from discreet.learn.training._mechanism import goes_on_after, groups_of, mechanism_to_json
from discreet.learn.training._network import Network
from discreet.learn.training._question import PreparedTraining, Training
from discreet.learn.training._rows import Tensors, tensors_of_examples
from discreet.learn.training._settings import Settings
from discreet.learn.training._weights import weights_to_bytes
from discreet.ledger import LARGEST_PAYLOAD, Run, RunState, open_ledger
from discreet.mechanisms import Gaussian
from discreet.privacy import to_json
from discreet.query import PERSON_COLUMN
from discreet.records import Records
from discreet.release import ReleaseContext

__all__ = ["TrainingRun", "check_size", "open_training"]

_FINISHING = 16
"""Steps of the run beside those that draw noise: as many attempts to store the network."""
_MOST_LOST = 100_000
"""Steps that the counter moves on by at once, at most."""
_ROOM = 1 << 16
"""Bytes for what is stored beside the weights, but for names of inputs and of tensors."""


@dataclass(frozen=True, eq=False, repr=False)
class TrainingRun:
    """A training that was charged. Where people are counted, that is the first step of its run, before the others.

    Attributes
    ----------
    run
        The run of the ledger: the durable counter.
    public
        What was asked, as `PreparedTraining.public` has it: empty for tensors in memory.
    """

    run: Run
    public: Mapping[str, Any]
    _settings: Settings
    _data: Records | Tensors
    _context: ReleaseContext | None
    _stated: Mapping[str, Any]

    @property
    def _before(self) -> int:
        """How many steps of the run are before those of the training."""
        return 0 if self._settings.counting is None else 1

    def with_settings(self, settings: Settings) -> TrainingRun:
        """The same, where more is known of its settings."""
        return replace(self, _settings=settings)

    def begun(self, state: RunState) -> int:
        """The last step of the training that anybody has begun, or one that stores its network."""
        return max(state.begun - self._before, 0)

    def begin(self, count: int, state: RunState) -> tuple[range, RunState]:
        """Move the counter by so many steps of the training: which these are, and where the run then stands.

        Raises `LedgerError` as `Run.begin`.
        """
        steps = self.run.begin(count, after=state)
        return range(steps[0] - self._before, steps[-1] - self._before + 1), RunState(steps[-1], state.stored, None)

    def counted(self, state: RunState) -> int | None:
        """The count of people that was bought; None where there is none yet. Costs nothing.

        Raises `LedgerError` if the count was begun and is lost: it is not drawn again.
        """
        if self._settings.counting is None or not state.begun:
            return None
        payload = self.run.answer(1)
        if payload is None:
            raise LedgerError(
                "this training was charged for all, and its count of people was begun and is not stored: a process was "
                "broken off there, or another one counts just now; a count is not drawn twice: wait for that process, "
                "or give the training another name= and pay anew"
            )
        return int(payload)

    def count(self, people: int, state: RunState) -> tuple[int, RunState]:
        """Count people with noise, durably and once, and where the run then stands. Raises `LedgerError` as `Run`."""
        noise = self._settings.counting
        assert noise is not None
        (step,) = self.run.begin(after=state)
        released = noisy_count(noise, people)
        self.run.store(step, str(released).encode())
        return released, RunState(step, step, None)

    def stored(self, state: RunState) -> Network | None:
        """The network that the ledger has already, if it has one."""
        if state.stored <= self._settings.steps + self._before:
            return None
        payload = self.run.answer(state.stored)
        assert payload is not None
        return Network.from_bytes(payload)

    def read(self) -> Tensors:
        """The private rows. Raises `DataError` if the engine cannot read them."""
        data = self._data
        if isinstance(data, Tensors):
            return data
        assert self._context is not None
        table = self._context.read_records(data.plan.rows, noises.secret(16))
        units: NDArray[np.int64] | None = None
        inputs = inputs_of_plan(data.plan, data.label)
        examples = examples_of_records(data.plan, data.label, inputs, table)
        if self._settings.by_unit:
            units = table.column(PERSON_COLUMN).to_numpy()[examples.places]
        return tensors_of_examples(examples, units, self._settings.rows_per_unit)

    def report(self, step: int) -> None:
        """Tell whoever watches that a step is over."""
        steps = self._settings.steps
        report_step(step, steps) if self._context is None else self._context.step(step, steps)

    def check_begun(self, state: RunState) -> None:
        """Raise `LedgerError` if steps were begun that nobody goes on from."""
        if begun := self.begun(state):
            raise LedgerError(
                f"this training has begun {begun:,} steps, and was charged for all: go on from its checkpoint, "
                "or give it another name= and pay anew"
            )

    def noise_after(self, saved: NoiseState | None, state: RunState) -> tuple[CorrelatedNoise, RunState]:
        """The noise of the steps that are left, and the counter where they begin.

        Where people are in groups, this process draws them anew: the rest of the round that was begun is lost, by the
        counter too, and so is what was kept of earlier noise. Raises `LedgerError` as `Run.begin`.
        """
        mechanism = self._settings.mechanism
        sampling, begun = mechanism.sampling, min(self.begun(state), self._settings.steps)
        if not begun or groups_of(sampling) == 1:
            return mechanism.resume(saved, begun), state
        after = goes_on_after(sampling, begun)
        while begun < after:
            lost, state = self.begin(min(after - begun, _MOST_LOST), state)
            begun = lost[-1]
        return mechanism.resume(None, begun), state

    def finish(self, net: nn.Module, state: RunState) -> Network:
        """The network as a release, stored in the ledger before anybody has it from there."""
        settings, inputs = self._settings, _inputs_of(self._data)
        (step,) = self.run.begin(after=state)
        payload = weights_to_bytes(net)
        bare = Network(inputs, payload, settings.spend, {})
        statement: Mapping[str, Any] = {
            "kind": "network",
            **self._stated,
            **settings.compared,
            **described(settings.gradients.device),
            **({} if settings.counting is None else {"about": self._count_to_json(settings.counting)}),
            "noise": mechanism_to_json(settings.mechanism),
            "arithmetic": settings.gradients.arithmetic.certificate,
            "relation": "add_remove",
            "rows_per_unit": settings.rows_per_unit,
            "loss": to_json(settings.spend),
            "answer": bare.digest(),
        }
        network = Network(inputs, payload, settings.spend, self.run.certify(statement))
        self.run.store(step, network.to_bytes())
        return network

    def _count_to_json(self, noise: Gaussian) -> dict[str, Any]:
        return {**count_to_json(noise), "count": self._settings.people}


def check_size(net: nn.Module, data: Records | Tensors) -> None:
    """Raise `ParameterError` for a network that no ledger stores: its tensors in base 64, with their names."""
    inputs = _inputs_of(data)
    facts = "" if inputs is None else json.dumps(inputs.to_json())
    tensors = net.state_dict()
    size = sum(each.numel() * each.element_size() for each in tensors.values()) + 200 * len(tensors)
    size += sum(len(name.encode()) for name in tensors)
    needed = -(-size // 3) * 4 + 2 * len(facts.encode()) + _ROOM
    if needed > LARGEST_PAYLOAD:
        raise ParameterError(
            f"the network takes about {needed:,} bytes, and the largest that a ledger stores is {LARGEST_PAYLOAD:,}: "
            "train a part of it (an adapter), and keep frozen tensors outside the module"
        )


def open_training(settings: Settings, data: Records | Tensors, charged: str | None) -> TrainingRun:
    """Charge a training whole, or go on with the run that was charged. Raises `BudgetExceeded` and `LedgerError`."""
    steps = settings.steps + _FINISHING + (0 if settings.counting is None else 1)
    if isinstance(data, Tensors):
        name = hashlib.sha256(noises.secret(32)).hexdigest()
        run = open_ledger(None, settings.spend).open_run(name, settings.spend, steps)
        return TrainingRun(run, {}, settings, data, None, {})
    question = Training(data.plan, data.label, settings.mechanism, settings.spend, settings.compared)
    prepared = data.session.prepare(question)
    assert isinstance(prepared, PreparedTraining)
    run, context = data.session.open_run(question, steps, charged)
    return TrainingRun(run, prepared.public, settings, data, context, prepared.stated)


def _inputs_of(data: Records | Tensors) -> Inputs | None:
    return None if isinstance(data, Tensors) else inputs_of_plan(data.plan, data.label)
