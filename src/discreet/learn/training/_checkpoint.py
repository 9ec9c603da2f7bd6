"""Checkpoints of a run: weights, the optimiser and the noise's secret, as safetensors; no code in them is run.

Whether there can be one is tried before the charge, on nothing private: the optimiser's step, and room for the file.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import safetensors
import safetensors.torch
import torch
from torch import Tensor, nn

from discreet.errors import DataError, ParameterError
from discreet.learn.correlated import NoiseState
from discreet.learn.gradients import LEAST_BOUND, MOST_BOUND
from discreet.learn.training._count import MOST_PEOPLE

__all__ = ["Checkpoint", "check_place", "packed", "read_checkpoint", "stepped_state", "write_checkpoint"]

_FORMAT = "1"
_DAMAGED = "is no checkpoint that can be read: torn, damaged, or another file; name one that training wrote"
_STATE_TYPES = (bool, int, float, str, type(None))


@dataclass(frozen=True, repr=False)
class Checkpoint:
    """All that a run needs to go on. **A secret**: with it and later weights, the noise of some steps can be taken off.

    Attributes
    ----------
    step
        The last step that is in the weights.
    run
        The ledger's name of the run.
    public
        What was asked, as `PreparedTraining.public` has it.
    weights
        The network's tensors by name.
    optimizer
        Its state: tensors by the number and name of what they belong to, and plain values.
    noise
        What the noise of the next steps is correlated with.
    averaged
        The mean of earlier weights, where it is asked for.
    clip
        The clip of the next step, where it moves.
    people
        The count of people that was bought, if it was: sums are divided by what a step takes of it.
    """

    step: int
    run: str
    public: Mapping[str, Any]
    weights: Mapping[str, Tensor]
    optimizer: Mapping[str, Any]
    noise: NoiseState
    averaged: Mapping[str, Tensor] = field(default_factory=dict[str, Tensor])
    clip: float | None = None
    people: int | None = None

    def restore(self, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        """Give the network and the optimiser the state of the checkpoint.

        Raises `ParameterError` if they differ, or if the optimiser takes no step from that state.
        """
        try:
            model.load_state_dict(dict(self.weights))
            if any(each.shape != self.weights[name].shape for name, each in self.averaged.items()):
                raise ValueError
            own = optimizer.state_dict()
            if [len(each["params"]) for each in own["param_groups"]] != [
                len(each["params"]) for each in self.optimizer["param_groups"]
            ]:
                raise ValueError
            optimizer.load_state_dict(dict(self.optimizer))
            stepped_state(optimizer)
        except (RuntimeError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, ParameterError):
            raise ParameterError(
                "the checkpoint is of another network or optimiser; give those it was made with"
            ) from None


def packed(checkpoint: Checkpoint) -> bytes:
    """It as a file of safetensors. Raises `ParameterError` for an optimiser whose state is no numbers and tensors."""
    tensors = {f"weights.{name}": each.detach().cpu() for name, each in checkpoint.weights.items()}
    plain: dict[str, Any] = {"param_groups": checkpoint.optimizer["param_groups"], "state": {}}
    for number, state in checkpoint.optimizer["state"].items():
        values: dict[str, Any] = {}
        for name, value in state.items():
            if isinstance(value, Tensor):
                tensors[f"optimizer.{number}.{name}"] = value.detach().cpu()
            elif isinstance(value, _STATE_TYPES):
                values[name] = value
            else:
                raise ParameterError(
                    f"a checkpoint holds no {type(value).__name__}, which this optimiser keeps as {name}"
                )
        plain["state"][str(number)] = values
    tensors |= {f"averaged.{name}": each.detach().cpu() for name, each in checkpoint.averaged.items()}
    rows = checkpoint.noise.rows
    if rows.dtype == object:
        raise ParameterError("the noise of this run is too large for a checkpoint")
    tensors["noise"] = torch.from_numpy(np.ascontiguousarray(rows))
    head: dict[str, Any] = {
        "step": checkpoint.step,
        "run": checkpoint.run,
        "public": dict(checkpoint.public),
        "optimizer": plain,
    }
    if checkpoint.clip is not None:
        head["clip"] = checkpoint.clip
    if checkpoint.people is not None:
        head["people"] = checkpoint.people
    try:
        text = json.dumps(head, sort_keys=True)
    except TypeError as error:
        raise ParameterError(
            f"a checkpoint holds plain numbers of an optimiser's groups ({error}): give lr and the like as floats"
        ) from None
    tensors = _apart(tensors)
    metadata = {"format": _FORMAT, "training": text, "digest": _digest(text, tensors)}
    return safetensors.torch.save(tensors, metadata)


def write_checkpoint(checkpoint: Checkpoint, path: Path) -> None:
    """Put it in place of the file at once, durably, and for this user alone. Raises `DataError` if it cannot."""
    payload = packed(checkpoint)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(payload)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise DataError(f"the checkpoint {os.fspath(path)!r} cannot be written: {error.strerror}") from None


def read_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint in a file, which may be anybody's. Raises `DataError` if it is none, or damaged."""
    try:
        payload = path.read_bytes()
        tensors = safetensors.torch.load(payload)
        metadata = _metadata(payload)
        text = metadata["training"]
        if metadata["format"] != _FORMAT or metadata["digest"] != _digest(text, tensors):
            raise ValueError
        head = json.loads(text)
        weights = {name.removeprefix("weights."): each for name, each in tensors.items() if name.startswith("weights.")}
        state: dict[int, dict[str, Any]] = {
            int(number): dict(values) for number, values in head["optimizer"]["state"].items()
        }
        for name, each in tensors.items():
            if name.startswith("optimizer."):
                _, number, field = name.split(".", 2)
                state[int(number)][field] = each
        rows = tensors["noise"].numpy()
        step, run, public = head["step"], head["run"], head["public"]
        clip, people = head.get("clip"), head.get("people")
        if clip is not None and (type(clip) is not float or not LEAST_BOUND <= clip <= MOST_BOUND):
            raise ValueError
        if people is not None and (type(people) is not int or not 1 <= people <= MOST_PEOPLE):
            raise ValueError
        if type(step) is not int or not isinstance(run, str) or not isinstance(public, dict):
            raise ValueError
        optimizer = {"state": state, "param_groups": head["optimizer"]["param_groups"]}
        averaged = {
            name.removeprefix("averaged."): each for name, each in tensors.items() if name.startswith("averaged.")
        }
        noise = NoiseState(step, rows)
        return Checkpoint(step, run, cast("dict[str, Any]", public), weights, optimizer, noise, averaged, clip, people)
    except OSError as error:
        raise DataError(f"the checkpoint {os.fspath(path)!r} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError, MemoryError, safetensors.SafetensorError):
        raise DataError(f"{os.fspath(path)!r} {_DAMAGED}") from None


def stepped_state(optimizer: torch.optim.Optimizer) -> Mapping[str, Any]:
    """The state that a copy of the optimiser has after a step on gradients of zeros.

    Raises `ParameterError` for one that takes no step on dense gradients alone, as those that ask for the loss again.
    """
    try:
        copied = copy.deepcopy(optimizer)
        for name, value in vars(optimizer).items():  # torch copies state and groups alone
            if not callable(value):
                vars(copied).setdefault(name, value)
        for parameter in (each for group in copied.param_groups for each in group["params"]):
            parameter.grad = torch.zeros_like(parameter) if parameter.requires_grad else None
        copied.step()
    except Exception as error:  # noqa: BLE001 - whatever an optimiser of anybody's raises, it is told before the charge
        raise ParameterError(
            f"{type(optimizer).__name__} takes no step on gradients alone ({error}): use one that needs neither the "
            "loss nor sparse gradients, as SGD or Adam"
        ) from None
    return copied.state_dict()


def check_place(path: Path) -> None:
    """Raise `DataError` unless files can be made where the checkpoint is to be."""
    try:
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise DataError(f"the checkpoint {os.fspath(path)!r} cannot be written: {error.strerror}") from None


def _apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Each in memory of its own: tied weights share theirs, and a file holds each name's. Copies what shares it."""
    used: set[int] = set()
    apart: dict[str, Tensor] = {}
    for name, each in tensors.items():
        storage = each.untyped_storage()
        is_alone = storage.nbytes() == each.nbytes and storage.data_ptr() not in used and each.is_contiguous()
        used.add(storage.data_ptr())
        apart[name] = each if is_alone else each.clone(memory_format=torch.contiguous_format)
    return apart


def _metadata(payload: bytes) -> dict[str, Any]:
    length = int.from_bytes(payload[:8], "little")
    return json.loads(payload[8 : 8 + length])["__metadata__"]


def _digest(text: str, tensors: Mapping[str, Tensor]) -> str:
    digest = hashlib.sha256(text.encode())
    for name, each in sorted(tensors.items()):
        digest.update(f"{name} {each.dtype} {tuple(each.shape)}".encode())
        if each.numel():
            digest.update(each.contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()
