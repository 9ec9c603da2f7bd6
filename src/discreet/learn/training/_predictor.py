"""A trained network that predicts rows of records, each from that row alone."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import Inputs
from discreet.learn.gradients import Column, PrivateRows, check_rows_apart, outputs_of, uncompiled
from discreet.learn.training._network import Network
from discreet.learn.training._rows import columns_of, tensor_of_rows
from discreet.learn.training._weights import architecture_digest

__all__ = ["NetworkPredictor", "predictor_of_network"]

_ROWS = 64


@dataclass(frozen=True)
class NetworkPredictor:
    """The weights of a network in a module of its architecture, in eval mode."""

    network: Network
    private: PrivateRows

    @property
    def inputs(self) -> Inputs:
        """What it reads and predicts."""
        assert self.network.inputs is not None
        return self.network.inputs

    def digest(self) -> str:
        """That of its weights."""
        return self.network.digest()

    def predicted(self, examples: Examples) -> NDArray[np.float64]:
        """The place of the class of the largest output, or of a single one above 0; or the number. A row alone."""
        outputs = self.private.outputs(tensor_of_rows(self.inputs, examples.numbers, examples.cells)).double()
        if self.inputs.target is not None and self.inputs.target.is_number:
            return outputs[:, 0].numpy()
        chosen = outputs[:, 0] > 0 if self.private.count == 1 else outputs.nan_to_num(nan=-torch.inf).argmax(1)
        return chosen.double().numpy()


def predictor_of_network(network: Network, net: object) -> NetworkPredictor:
    """The network's weights in a copy of the module, tried on made-up rows. Costs nothing.

    Raises `ParameterError` for another architecture, for outputs that are no classes and no number, and for a module in
    which rows meet.
    """
    if not isinstance(net, nn.Module):
        raise ParameterError("weights alone predict nothing: give the module that they were trained in, as in net=net")
    inputs = network.inputs
    if inputs is None or inputs.target is None:
        raise ParameterError("this network was trained on tensors, or without a label: records have no such columns")
    module = uncompiled(net)
    if architecture_digest(module) != network.certificate.get("network"):
        raise ParameterError("net is of another architecture than the network was trained in: give that module")
    copied = copy.deepcopy(module).cpu().eval().requires_grad_(requires_grad=False)
    network.load_into(copied)
    column, _ = columns_of(inputs)
    check_rows_apart(copied, Column(column.shape), _ROWS)
    count = outputs_of(copied, Column(column.shape).blank(_ROWS)).shape[1]
    _check_outputs(inputs, count)
    return NetworkPredictor(network, PrivateRows(copied, _ROWS, count))


def _check_outputs(inputs: Inputs, count: int) -> None:
    target = inputs.target
    assert target is not None
    if target.is_number:
        fits, words = count == 1, "one output, the number"
    else:
        is_one = target.size == 2
        fits, words = count == target.size or (is_one and count == 1), f"an output for each of {target.size} classes"
        words += ", or one, above 0 for the second" if is_one else ""
    if not fits:
        raise ParameterError(f"net gives out {count} numbers for a row; to predict {target.name} it is to have {words}")
