"""What is tried before the charge, on nothing private: the optimiser's step, and room for a checkpoint."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from discreet.errors import DataError, ParameterError

__all__ = ["check_place", "stepped_state"]


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
