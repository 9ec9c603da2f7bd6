"""A trained network as a release: its weights as safetensors, what it reads, its loss and its certificate."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import safetensors.torch
from torch import Tensor, nn

from discreet.errors import LedgerError, ParameterError
from discreet.learn._inputs import Inputs
from discreet.learn.training._mechanism import mechanism_from_json
from discreet.learn.training._rows import tensor_of_rows
from discreet.privacy import Loss, from_json, to_json
from discreet.release import BaseRelease, Content, ReleaseKind, check_within, register, stated_in

__all__ = ["NETWORK_KIND", "Network"]

_FORMAT = 1
_FIELDS = frozenset({"format", "inputs", "weights"})
_MALFORMED = (
    *(KeyError, IndexError, ValueError, TypeError, AttributeError, ArithmeticError, ParameterError),
    *(RuntimeError, MemoryError, LedgerError, safetensors.SafetensorError),
)


@dataclass(frozen=True, repr=False)
class Network(BaseRelease):
    """The weights of a network that was trained on private rows. They may be shown to anyone, and used freely.

    Attributes
    ----------
    inputs
        What it reads and predicts, where it was trained on records; None for tensors.
    payload
        Its weights, as a file of safetensors, which holds no code.
    loss, certificate
        As of every release; the certificate states the noise, the sampling and the arithmetic that ran.
    """

    inputs: Inputs | None
    payload: bytes
    loss: Loss
    certificate: Mapping[str, Any]

    @property
    def weights(self) -> dict[str, Tensor]:
        """Its tensors, in the order of their names: safetensors reads them in another one each time."""
        return dict(sorted(safetensors.torch.load(self.payload).items()))

    def encode(self, rows: object) -> Tensor:
        """What the network reads of the rows of a frame, as it was trained: numbers from −1 to 1, categories one-hot.

        Costs nothing. Raises `ParameterError` for rows without its columns, and for a network trained on tensors.
        """
        if self.inputs is None:
            raise ParameterError("this network was trained on tensors: encode rows as those were")
        return tensor_of_rows(self.inputs, *self.inputs.of_frame(rows))

    def load_into(self, model: nn.Module) -> None:
        """Give a module of the same architecture these weights. Raises `ParameterError` for another one."""
        try:
            model.load_state_dict(self.weights)
        except RuntimeError as error:
            raise ParameterError(f"the weights are those of another architecture: {error}") from None

    def to_bytes(self) -> bytes:
        """The network as JSON; `from_bytes` restores it."""
        return json.dumps(self.to_dict(), allow_nan=False).encode()

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:  # noqa: ARG002
        """The network as plain JSON; weights are safetensors in base 64."""
        return {**self._content(), "loss": to_json(self.loss), "certificate": dict(self.certificate)}

    def digest(self) -> str:
        """SHA-256 of the network without its loss and certificate, which states it."""
        return _digest(self._content())

    def _content(self) -> dict[str, Any]:
        inputs = None if self.inputs is None else self.inputs.to_json()
        return {"format": _FORMAT, "inputs": inputs, "weights": base64.b64encode(self.payload).decode()}

    @classmethod
    def from_bytes(cls, payload: bytes) -> Network:
        """Restore a stored network; no code in it is run. Raises `LedgerError` if the bytes are none."""
        try:
            content: dict[str, Any] = json.loads(payload)
            if content["format"] != _FORMAT or not isinstance(content["certificate"], dict):
                raise ValueError
            inputs = None if content["inputs"] is None else Inputs.from_json(content["inputs"])
            weights = base64.b64decode(content["weights"], validate=True)
            safetensors.torch.load(weights)
            return cls(inputs, weights, from_json(content["loss"]), content["certificate"])
        except _MALFORMED:
            raise LedgerError("a stored network cannot be read; it is damaged, or of a later version") from None

    def header(self) -> list[tuple[str, bool]]:
        """Its tensors."""
        return [("weights", False), ("shape", False)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002
        """A row for each tensor as text."""
        shapes = [(name, "×".join(map(str, each.shape)) or "1") for name, each in self.weights.items()]
        return [[name, shape] for name, shape in shapes][:first]

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002
        """What it is."""
        return f"a network of {sum(each.numel() for each in self.weights.values()):,} weights"


def _network_digests(content: Content) -> tuple[dict[str, str], None]:
    fields = {name: value for name, value in content.fields.items() if name in _FIELDS}
    if content.columns is not None or len(fields) != len(_FIELDS):
        raise KeyError("a file of a network has other fields")
    return {"answer": _digest(fields)}, None


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _recompute(certificate: Mapping[str, Any]) -> Loss:
    try:
        if certificate["relation"] != "add_remove":
            raise ValueError
        return mechanism_from_json(certificate["noise"]).loss
    except (ParameterError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise LedgerError("the certificate of this network cannot be followed: it is malformed") from None


def _verify(certificate: Mapping[str, Any]) -> None:
    check_within("all steps together", _recompute(certificate), stated_in(certificate))


NETWORK_KIND = register(ReleaseKind("network", Network.from_bytes, _network_digests, _recompute, _verify))
