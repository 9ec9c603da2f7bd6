"""Going on with a training from its checkpoint alone: what was asked is in the file, and no code is."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from torch import nn

from discreet.errors import DiscreetError, ParameterError
from discreet.learn.correlated import CorrelatedGaussian
from discreet.learn.gradients import Clipping, Fixed, Normalised
from discreet.learn.training._checkpoint import read_checkpoint
from discreet.learn.training._distributed import Processes
from discreet.learn.training._mechanism import mechanism_from_json
from discreet.learn.training._private import Private
from discreet.learn.training._settings import COARSE, Choices
from discreet.privacy import from_json
from discreet.records import Records

__all__ = ["resume"]

_NUMBER = r"([0-9.e+-]{1,40})"
_FIXED = re.compile(rf"Fixed\(bound={_NUMBER}\)")
_NORMALISED = re.compile(rf"Normalised\(bound={_NUMBER}, stability={_NUMBER}\)")


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
    public = read_checkpoint(path).public
    try:
        query, label, choices = _asked(public)
    except (DiscreetError, ValueError, OverflowError):
        raise ParameterError("the checkpoint states no training that can be gone on with") from None
    return Private.of_checkpoint(path, net, optimizer, session.records(query, label), choices, processes)


def _asked(public: Any) -> tuple[str, str | None, Choices]:
    """The query, the label and the settings that a checkpoint states. Raises `ValueError` if it states none."""
    match public:
        case {
            "query": str(query), "label": str() | None as label, "noise": noise, "loss": loss, "about": int(people),
            "clipping": str(clipping), "arithmetic": "exact" | "float" as arithmetic, "places": int(places),
            "average": bool(average), "name": str(name),
        }:  # fmt: skip
            mechanism, spend = mechanism_from_json(noise), from_json(loss)
        case _:
            raise ValueError
    kind = _noise_of(mechanism, arithmetic)
    clip = _clipping_of(clipping)
    return query, label, Choices(
        mechanism.sampling.steps, people, spend, None, None, None, None, clip, kind, arithmetic, places, average, name,
        mechanism,
    )  # fmt: skip


def _noise_of(mechanism: CorrelatedGaussian, arithmetic: str) -> Literal["independent", "auto"]:
    """Which of the two it was, by the grid: that of ``"auto"`` is the coarse one."""
    slack = math.isqrt(mechanism.size) + 1 if arithmetic == "float" else 0
    return "auto" if mechanism.bound - slack == COARSE else "independent"


def _clipping_of(text: str) -> Clipping:
    fixed, normalised = _FIXED.fullmatch(text), _NORMALISED.fullmatch(text)
    if fixed is not None:
        return Fixed(float(fixed[1]))
    if normalised is not None:
        return Normalised(float(normalised[1]), float(normalised[2]))
    raise ValueError(text)
