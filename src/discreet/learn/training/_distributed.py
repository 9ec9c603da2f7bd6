"""Training in several processes: each adds up its part of a step's people, and one of them draws the noise.

Process 0 has the session, the ledger, the rows, the coins and the optimiser. It sends every other process, a `Worker`,
the rows of its part of a step; sums in whole numbers come back, and weights go out after the step.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from discreet import noise as noises
from discreet.errors import LedgerError, ParameterError
from discreet.learn.gradients import Clipping, Column, Exact, Fixed, Normalised, UnitGradients, uncompiled
from discreet.learn.processes import HEADER, Shards, Wire, is_sharded
from discreet.learn.training._adam import DPAdam
from discreet.learn.training._adder import Adder
from discreet.learn.training._loop import Batch, Exchange, Microbatch
from discreet.learn.training._weights import StillTensors

__all__ = ["Processes", "Worker", "check_bare"]

_SECONDS = 600.0
_CLIPPINGS: Mapping[str, type[Fixed | Normalised]] = {"Fixed": Fixed, "Normalised": Normalised}


class _Kind(IntEnum):
    """What a message of process 0 is about."""

    BEGIN = 1
    STATE = 2
    STEP = 3
    MOVE = 4
    CHECK = 5
    END = 6
    FAILED = 7
    OPEN = 8
    SAVE = 9
    LOAD = 10


class Processes:
    """The other processes of a group of torch.distributed, for `Private` in process 0; each has a `Worker`.

    Every unit belongs to one process, by a die for that unit alone, for as long as the training runs. So which machine
    computes what a unit adds depends on no other unit, and machines may differ.

    Parameters
    ----------
    timeout
        Seconds to wait for another process before training ends with an error.

    Raises `ParameterError` outside process 0 and without a group.
    """

    def __init__(self, timeout: float = _SECONDS) -> None:
        self._wire = Wire(timeout)
        if self._wire.rank:
            raise ParameterError(
                f"this is process {self._wire.rank}: process 0 has the session and the rows; make a learn.Worker here"
            )
        self.count = self._wire.count
        """How many there are, this one too."""
        self.owners: NDArray[np.int64] = np.zeros(0, np.int64)
        """Which process each unit belongs to: private."""
        self._gone: list[int] = []
        self._waiting: int | None = None
        self._parameters: Mapping[str, nn.Parameter] = {}
        self._shards: Shards | None = None

    def accept(self, net: nn.Module, arithmetic: str) -> Processes:
        """Itself, for a training in exact arithmetic on the CPU. Raises `ParameterError` for another."""
        _check_on_cpu(net)
        if arithmetic != "exact":
            raise ParameterError(
                "sums of floats depend on which process added what: with processes, use arithmetic='exact'"
            )
        return self

    def open(self, net: nn.Module, optimizer: torch.optim.Optimizer) -> Shards:
        """The shards of a sharded network, which is whole from now on until they are closed.

        Raises `ParameterError` for one that is sharded otherwise than here and in all other processes.
        """
        shards = Shards(net, optimizer, self._wire)
        self._open(shards)
        return shards

    def _open(self, shards: Shards) -> None:
        self._say(_Kind.OPEN)
        self.agree()
        shards.open()

    def led(self, batches: Generator[Batch], net: nn.Module, shards: Shards | None) -> Generator[Batch]:
        """The turns of the loop in this process; the others end when it ends, also by an error."""
        self._gone, self._waiting, self._shards = [], None, shards
        try:
            if shards is not None:
                self._open(shards)
            yield from batches
            self._say(_Kind.END)
            self._share_state(net)
        except BaseException:
            self._fail()
            raise
        finally:
            if shards is not None:
                shards.close()

    def _share_state(self, net: nn.Module) -> None:
        _share_state(self._wire, net, self._shards)

    def begin(
        self, net: nn.Module, gradients: UnitGradients, columns: tuple[Column, Column], places: int, *, by_unit: bool
    ) -> None:
        """Gives the others the public settings and the weights. Raises `ParameterError` if their networks differ."""
        assert isinstance(gradients.arithmetic, Exact)
        self._parameters = gradients.parameters
        settings = {
            "state": _shapes(net),
            "trained": list(gradients.parameters),
            "clipping": _clipping_to_json(gradients.clipping),
            "steps": gradients.arithmetic.steps,
            "columns": [[list(each.shape), each.values] for each in columns],
            "places": places,
            "by_unit": by_unit,
            "optimizer": None if self._shards is None else _optimizer_to_json(self._shards),
        }
        text = np.frombuffer(json.dumps(settings).encode(), np.uint8).copy()
        self._say(_Kind.BEGIN, len(text), then=[torch.from_numpy(text)])
        self.agree()
        self._share_state(net)
        self._waiting = 0

    def agree(self) -> None:
        """Waits for the others' word that they can go on. Raises `ParameterError` if one cannot; nothing is spent."""
        self._waiting = None
        _, self._gone = self._wire.add(np.zeros(0, np.int64), failed=False)
        if self._gone:
            raise ParameterError(
                f"process {self._gone[0]} does not take part in this training: its error says why; nothing is spent"
            )

    def start(self, net: nn.Module, units: int) -> None:
        """Gives the others the weights that steps go on from, and each unit the process that it belongs to."""
        self.owners = noises.uniform_below(self.count, units) if self.count > 1 else np.zeros(units, np.int64)
        self._say(_Kind.STATE)
        self._share_state(net)

    def scatter(self, shares: Sequence[tuple[int, Iterable[Microbatch]]]) -> Iterable[Microbatch]:
        """Sends the others their part of a step, so many microbatches each; what is left is this process's own."""
        for number, (count, share) in enumerate(shares[1:], start=1):
            self._send(number, _Kind.STEP, count)
            for each in share:
                self._wire.send(each, number)
        self._waiting = sum(each.numel() for each in self._parameters.values())
        return shares[0][1]

    def gather(self, exact: NDArray[np.int64]) -> NDArray[np.int64]:
        """The exact sum of all parts of a step. Raises `LedgerError` if a process has left its loop."""
        self._waiting = None
        total, self._gone = self._wire.add(exact, failed=False)
        if self._gone:
            raise LedgerError(
                f"process {self._gone[0]} has left the training: its error says why. Steps that were begun stay "
                "charged; start all processes again, with the same checkpoint"
            )
        return total

    def move(self) -> None:
        """Gives the others the trained weights after a step: functions of noisy sums. Shards have moved before."""
        if self._shards is None:
            self._say(_Kind.MOVE)
            self._wire.share_trained(list(self._parameters.values()))

    def step(self, gathered: torch.optim.Optimizer) -> None:
        """Each process moves its shards by its part of the noisy gradients, with the optimiser's settings of this one.

        `gathered` has the gradients, and knows how much noise is in them, if it wants to.
        """
        shards = self._shards
        assert shards is not None
        gradients = [each.grad.flatten() for each in self._parameters.values() if each.grad is not None]
        if isinstance(gathered, DPAdam) and isinstance(shards.optimizer, DPAdam):
            shards.optimizer.noise_variance = gathered.noise_variance
        self._say(_Kind.MOVE)
        self._wire.share_bytes(_settings_to_bytes(shards.optimizer))
        _step(self._wire, shards, self._parameters, torch.cat(gradients))

    def optimizer_state(self) -> dict[str, Any]:
        """What the optimisers of all processes keep of their shards, as if there were one."""
        assert self._shards is not None
        self._say(_Kind.SAVE)
        return self._shards.optimizer_state()

    def load_optimizer_state(self, state: Mapping[str, Any]) -> None:
        """Give each process its part of what an optimiser kept."""
        assert self._shards is not None
        self._say(_Kind.LOAD)
        self._shards.load_optimizer_state(state)

    def check_still(self) -> None:
        """Raises `LedgerError` if a loop of another process has moved buffers or frozen parameters."""
        self._say(_Kind.CHECK)
        _, self._gone = self._wire.add(np.zeros(0, np.int64), failed=False)
        if self._gone:
            raise LedgerError(
                f"buffers or frozen parameters of the network have changed in process {self._gone[0]}, and could carry "
                "what rows hold past the noise: nothing is stored; keep them as they are"
            )

    def _say(self, kind: _Kind, number: int = 0, *, then: Sequence[Tensor] = ()) -> None:
        for other in range(1, self.count):
            self._send(other, kind, number)
            self._wire.send(then, other)

    def _send(self, other: int, kind: _Kind, number: int = 0) -> None:
        self._wire.send([torch.tensor([kind, number, 0], dtype=torch.int64)], other)

    def _fail(self) -> None:
        """Tell those that still listen that training has ended; whoever cannot be reached has ended before."""
        if self._waiting is not None:
            size, self._waiting = self._waiting, None
            try:
                _, self._gone = self._wire.add(np.zeros(size, np.int64), failed=True)
            except LedgerError:
                self._gone = []
        for other in range(1, self.count):
            if other not in self._gone:
                try:
                    self._send(other, _Kind.FAILED)
                except LedgerError:
                    continue


class Worker:
    """The loop of `Private` in the other processes of a group: it computes with what process 0 sends.

    It asks no ledger, draws nothing, and sees the rows of its own part of each step.

    Parameters
    ----------
    net
        A module of the same architecture as in process 0, with the same parameters frozen; weights come from there.
    timeout
        Seconds to wait for process 0.
    optimizer
        For a network that `fully_shard` was applied to: the same as in process 0, of this process's shards.

    Raises `ParameterError` in process 0, without a group, and for a network that is wrapped.
    """

    def __init__(
        self, net: nn.Module, timeout: float = _SECONDS, optimizer: torch.optim.Optimizer | None = None
    ) -> None:
        net = uncompiled(net)
        check_bare(net)
        _check_on_cpu(net)
        self._net, self._wire = net, Wire(timeout)
        if not self._wire.rank:
            raise ParameterError("this is process 0, which has the session: make a learn.Private with processes= here")
        self._is_sharded = is_sharded(net)
        self._shards = Shards(net, optimizer, self._wire) if self._is_sharded and optimizer is not None else None
        self._exchange: Exchange | None = None
        self._waiting: int | None = None
        self._is_running = False

    def step(self, losses: Tensor) -> None:
        """As `Private.step`."""
        if self._exchange is None:
            raise ParameterError("a batch takes its losses once: call step(losses) once for each batch of batches()")
        self._exchange.step(losses)

    def batches(self) -> Iterator[Batch]:
        """As `Private.batches`; at the end the network has the weights that process 0 stored.

        Raises `ParameterError` for networks that differ from that of process 0, and loops that mix rows; `LedgerError`
        if another process ends before.
        """
        if self._is_running:
            raise ParameterError("another loop takes batches of this training: end it first")
        self._is_running, self._waiting = True, None
        try:
            yield from self._batches()
        except BaseException:
            self._leave()
            raise
        finally:
            if self._shards is not None:
                self._shards.close()
            self._is_running = False

    def _batches(self) -> Generator[Batch]:
        kind, number = self._opened()
        if kind is _Kind.END and self._exchange is not None:  # the same training once more
            self._share_state()
            return
        if kind is not _Kind.BEGIN:
            raise LedgerError("process 0 goes on with a training that this process has not begun")
        (text,) = self._wire.receive([torch.zeros(number, dtype=torch.uint8)])
        self._waiting = 0
        settings = json.loads(text.numpy().tobytes())
        gradients, columns = self._taken(settings)
        exchange = self._exchange = Exchange(settings["places"])
        adder = Adder(gradients, exchange, settings["places"], settings["steps"], by_unit=settings["by_unit"])
        self._report()
        self._share_state()
        self._waiting = 0
        yield from adder.rehearse(self._net, columns)
        self._report()
        parameters = gradients.parameters
        like = (*(each.blank(settings["places"]) for each in columns), torch.zeros(settings["places"]).long())
        still = StillTensors(self._net, parameters.values())
        while True:
            kind, number = self._heard()
            match kind:
                case _Kind.STATE | _Kind.END:
                    self._share_state()
                    if kind is _Kind.END:
                        return
                    still = StillTensors(self._net, parameters.values())
                case _Kind.STEP:
                    received = [self._wire.receive(like) for _ in range(number)]
                    self._waiting = gradients.size
                    exact = yield from adder.sum((x, y, slots) for x, y, slots in received)
                    self._report(exact)
                case _Kind.MOVE if self._shards is not None:
                    _take_settings(self._shards.optimizer, self._wire.share_bytes(b""))
                    _step(self._wire, self._shards, parameters, torch.zeros(gradients.size))
                case _Kind.MOVE:
                    self._wire.share_trained(list(parameters.values()))
                case _Kind.SAVE if self._shards is not None:
                    self._shards.optimizer_state()
                case _Kind.LOAD if self._shards is not None:
                    self._shards.load_optimizer_state({})
                case _Kind.CHECK:
                    self._waiting = 0
                    still.check()
                    self._report()
                case _:
                    raise LedgerError("process 0 goes on with another training than this process")

    def _opened(self) -> tuple[_Kind, int]:
        """What process 0 says first, once the network is whole where it is sharded."""
        kind, number = self._heard()
        while kind is _Kind.OPEN:
            self._waiting = 0
            if not self._is_sharded:
                raise ParameterError("the network is sharded in process 0 and not here: build the same one in each")
            if self._shards is None:
                raise ParameterError(
                    "each process moves its shards of this network: give the same optimiser as in process 0, as "
                    "learn.Worker(net, optimizer=…)"
                )
            self._report()
            self._shards.open()
            kind, number = self._heard()
        return kind, number

    def _taken(self, settings: Mapping[str, Any]) -> tuple[UnitGradients, tuple[Column, Column]]:
        """What process 0 asks for, on this network. Raises `ParameterError` if that is another one."""
        if self._is_sharded and (self._shards is None or not self._shards.is_open):
            raise ParameterError("the network is sharded here and not in process 0: build the same one in each")
        clipping = _CLIPPINGS[settings["clipping"]["kind"]](**settings["clipping"]["of"])
        gradients = UnitGradients(self._net, clipping, Exact(settings["steps"]))
        if settings["state"] != _shapes(self._net) or settings["trained"] != list(gradients.parameters):
            raise ParameterError(
                "the network of this process has other tensors, or others of them frozen, than that of process 0: "
                "build the same one in every process"
            )
        if self._shards is not None and settings["optimizer"] != _optimizer_to_json(self._shards):
            raise ParameterError(
                "the optimiser of this process has other settings or parameters than that of process 0: make the same "
                "one in every process"
            )
        x, y = (Column(tuple(shape), values) for shape, values in settings["columns"])
        return gradients, (x, y)

    def _share_state(self) -> None:
        _share_state(self._wire, self._net, self._shards)

    def _heard(self) -> tuple[_Kind, int]:
        (head,) = self._wire.receive([torch.zeros(HEADER, dtype=torch.int64)])
        kind = _Kind(int(head[0]))
        if kind is _Kind.FAILED:
            raise LedgerError("process 0 has ended the training: its error says why")
        return kind, int(head[1])

    def _report(self, exact: NDArray[np.int64] | None = None) -> None:
        self._waiting = None
        self._wire.add(np.zeros(0, np.int64) if exact is None else exact, failed=False)

    def _leave(self) -> None:
        """Say where the others wait for this process that it has failed."""
        if self._waiting is not None:
            size, self._waiting = self._waiting, None
            try:
                self._wire.add(np.zeros(size, np.int64), failed=True)
            except LedgerError:
                return


def check_bare(net: nn.Module) -> None:
    """Raise `ParameterError` for a module that torch's own data parallelism wraps."""
    for name, each in net.named_modules():
        if isinstance(each, nn.parallel.DistributedDataParallel | nn.DataParallel):
            inner = "net.module" if not name else f"the .module of {name}"
            raise ParameterError(
                f"{type(each).__name__} averages gradients that are not clipped yet, in floats: give {inner}, bare, "
                "and processes=learn.Processes(); whole numbers are then added across processes"
            )


def _check_on_cpu(net: nn.Module) -> None:
    if any(each.device.type != "cpu" for each in net.state_dict().values()):
        raise ParameterError(
            "several processes train on CPUs, where their sums have been checked: call net.cpu(), or train in one "
            "process on one GPU"
        )


def _clipping_to_json(clipping: Clipping) -> dict[str, Any]:
    if type(clipping) is Fixed:
        return {"kind": "Fixed", "of": {"bound": clipping.bound}}
    if type(clipping) is Normalised:
        return {"kind": "Normalised", "of": {"bound": clipping.bound, "stability": clipping.stability}}
    raise ParameterError("with processes, clip is a number, Fixed or Normalised itself")


def _share_state(wire: Wire, net: nn.Module, shards: Shards | None) -> None:
    """Give all processes the tensors of process 0."""
    wire.share(each for _, each in sorted(net.state_dict().items()))
    if shards is not None:
        shards.keep()


def _step(wire: Wire, shards: Shards, parameters: Mapping[str, nn.Parameter], flat: Tensor) -> None:
    """A step of all shards, along the gradients that process 0 has."""
    wire.share([flat])
    parts = flat.split([each.numel() for each in parameters.values()])
    shards.step(parameters, [part.view_as(each) for part, each in zip(parts, parameters.values(), strict=True)])


def _optimizer_to_json(shards: Shards) -> list[Any]:
    return [type(shards.optimizer).__qualname__, shards.layout]


def _settings_to_bytes(optimizer: torch.optim.Optimizer) -> bytes:
    """The plain numbers of an optimiser's groups, which a schedule may have changed, and what it knows of the noise."""
    groups = [
        {name: each for name, each in group.items() if isinstance(each, int | float | tuple)}
        for group in optimizer.param_groups
    ]
    return json.dumps([groups, optimizer.noise_variance if isinstance(optimizer, DPAdam) else None]).encode()


def _take_settings(optimizer: torch.optim.Optimizer, payload: bytes) -> None:
    groups, variance = json.loads(payload)
    for group, values in zip(optimizer.param_groups, groups, strict=True):
        group.update({name: tuple(each) if isinstance(each, list) else each for name, each in values.items()})
    if isinstance(optimizer, DPAdam):
        optimizer.noise_variance = float(variance)


def _shapes(net: nn.Module) -> list[list[Any]]:
    return [[name, list(each.shape), str(each.dtype)] for name, each in sorted(net.state_dict().items())]
