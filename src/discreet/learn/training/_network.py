"""A trained network as a release: its weights as safetensors, what it reads, its loss and its certificate."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import safetensors.torch
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn._inputs import Inputs
from discreet.learn.training._count import MOST_PEOPLE, count_from_json, loss_with
from discreet.learn.training._mechanism import mechanism_from_json
from discreet.learn.training._rows import tensor_of_rows
from discreet.privacy import Loss
from discreet.release import JsonRelease, ReleaseKind, check_within, refuse_malformed, register, stated_in

__all__ = ["NETWORK_KIND", "Network"]


@dataclass(frozen=True, repr=False)
class Network(JsonRelease):
    """The weights of a network that was trained on private rows. They may be shown to anyone, and used freely.

    Attributes
    ----------
    inputs
        What it reads and predicts, where it was trained on records; None for tensors.
    payload
        Its weights, as a file of safetensors, which holds no code.
    loss, certificate
        As of every release; the certificate states the noise, the sampling and the arithmetic that ran, and the count
        of people, if that was bought.
    """

    called = "network"
    fields = frozenset({"inputs", "weights"})

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

    def content(self) -> dict[str, Any]:
        """What it reads, and its weights: safetensors in base 64."""
        inputs = None if self.inputs is None else self.inputs.to_json()
        return {"inputs": inputs, "weights": base64.b64encode(self.payload).decode()}

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> Network:
        """The inverse of `content`."""
        inputs = None if content["inputs"] is None else Inputs.from_json(content["inputs"])
        weights = base64.b64decode(content["weights"], validate=True)
        try:
            safetensors.torch.load(weights)
        except safetensors.SafetensorError as error:
            raise ValueError("weights") from error
        return cls(inputs, weights, loss, certificate)

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


@refuse_malformed("network")
def _recompute(certificate: Mapping[str, Any]) -> Loss:
    if certificate["relation"] != "add_remove":
        raise ValueError
    mechanism = mechanism_from_json(certificate["noise"])
    moves = str(certificate.get("clipping")).startswith("Adaptive(")
    match certificate.get("clip_count"):
        case None if not moves:
            pass
        case {"grid": int(grid), "weight": int(weight)} if moves and mechanism.bound**2 >= grid**2 + weight**2:
            pass
        case _:
            raise ValueError
    match certificate.get("about"):
        case None | int():
            return mechanism.loss
        case {"count": int(people)} as count if 1 <= people <= MOST_PEOPLE:
            return loss_with(count_from_json(count), mechanism.loss)
        case _:
            raise ValueError


def _verify(certificate: Mapping[str, Any]) -> None:
    check_within("all steps together", _recompute(certificate), stated_in(certificate))


NETWORK_KIND = register(ReleaseKind("network", Network.from_bytes, Network.digests, _recompute, _verify))
