"""What can be evaluated: a model, or a network with its weights, each row of which is predicted from that row alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import Inputs
from discreet.learn._model import Model

__all__ = ["Predictor", "predictor_of"]


class Predictor(Protocol):
    """Predicts the label of rows: what comes of one depends on no other."""

    @property
    def inputs(self) -> Inputs:
        """What it reads and predicts."""
        ...

    def digest(self) -> str:
        """Its digest, which the certificate of an evaluation names."""
        ...

    def predicted(self, examples: Examples) -> NDArray[np.float64]:
        """Of each row the place of its class, or its number."""
        ...


@dataclass(frozen=True)
class ModelPredictor:
    """A model, by its likeliest class or its number."""

    model: Model

    @property
    def inputs(self) -> Inputs:
        """As of `Predictor`."""
        return self.model.inputs

    def digest(self) -> str:
        """As of `Predictor`."""
        return self.model.digest()

    def predicted(self, examples: Examples) -> NDArray[np.float64]:
        """As of `Predictor`: each row on its own, as products over many rows add in other orders.

        They are prepared together, as they are for a fit: what a row becomes there depends on it alone.
        """
        model, target = self.model, self.model.inputs.target
        is_number = target is not None and target.is_number
        predicted = np.zeros(examples.rows)
        with np.errstate(all="ignore"):
            asked = model.algorithm.behind_preparations(
                model.inputs, model.parameters, examples.numbers, examples.cells
            )
            for i in range(examples.rows):
                row = asked.numbers[i : i + 1], asked.cells[i : i + 1]
                outputs = asked.algorithm.outputs(asked.inputs, asked.parameters, *row)
                predicted[i] = outputs[0, 0] if is_number else outputs[0].argmax()
        return predicted


def predictor_of(model: object, net: Any = None) -> Predictor:
    """What is evaluated. Raises `ParameterError` for what predicts no label, or a network without its module."""
    fitted = getattr(model, "model_", model)
    if isinstance(fitted, Model):
        if net is not None:
            raise ParameterError("net is for the weights of a network: a model predicts by itself; leave it out")
        if fitted.algorithm.task not in ("classification", "regression"):
            raise ParameterError(f"a model by {fitted.algorithm.name} predicts no label, so none can be right")
        return ModelPredictor(fitted)
    if type(fitted).__module__ == "discreet.learn.training._network":
        network_predictor: Callable[..., Predictor] = import_module(
            "discreet.learn.training._predictor"
        ).predictor_of_network
        return network_predictor(fitted, net)
    raise ParameterError(
        f"evaluate takes a model, a fitted estimator, or a network's weights with net=, not {type(model).__name__}"
    )
