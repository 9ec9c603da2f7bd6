"""Preparations one after the other, and a model behind them. Proof: ``proofs/learning_preparing.md``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import Inputs, Places
from discreet.learn._steps import Measurer, RowNorms
from discreet.learn.algorithms._algorithm import Algorithm, Asked, Parameters, Task
from discreet.learn.algorithms._naive_bayes import NaiveBayesAlgorithm
from discreet.learn.preparing._element import (
    Element,
    check_elements,
    check_own,
    element_named,
    elements_from_json,
    extent_of,
    fit_element,
    own_parameters,
)
from discreet.learn.preparing._imputer import ImputerAlgorithm
from discreet.learn.preparing._preparation import Preparation
from discreet.learn.preparing._scaler import ScalerAlgorithm

__all__ = ["ChainAlgorithm", "PipelineAlgorithm", "fitted_steps"]

_DEFAULT_CHAIN = (
    Element("impute", ImputerAlgorithm(), Fraction(1, 2)),
    Element("scale", ScalerAlgorithm(), Fraction(1, 2)),
)
_DEFAULT_PIPELINE = (Element("scale", ScalerAlgorithm(), Fraction(1, 5)), Element("model", NaiveBayesAlgorithm()))


@dataclass(frozen=True)
class ChainAlgorithm(Preparation):
    """Preparations, each of what came of the one before."""

    steps: tuple[Element, ...] = _DEFAULT_CHAIN
    name: ClassVar[str] = "chain"

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` unless each step takes what comes of those before it."""
        check_elements(self.steps)
        _check_each(self.steps, inputs)

    @property
    def may_buy(self) -> bool:
        """Whether a step may."""
        return any(isinstance(each.algorithm, Preparation) and each.algorithm.may_buy for each in self.steps)

    @property
    def extent(self) -> tuple[int, int]:
        """All of its steps, and one deeper than they are."""
        return extent_of(self.steps)

    def buys(self, inputs: Inputs) -> bool:
        """Whether a step does."""
        return any(each.buys(own) for each, own in _with_inputs(self.steps, inputs))

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """Of each step what it says of the columns that it is given."""
        return _row_norms(self.steps, inputs, step)

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """The parameters of each step."""
        return _fitted(self.steps, examples, measurer)[0]

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless they are those of the steps."""
        _check_parameters(self.steps, inputs, parameters)

    def prepared(self, inputs: Inputs) -> Inputs:
        """What comes of the last step."""
        return _prepared(self.steps, inputs)

    def apply(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> tuple[Places, Places]:
        """One step after the other."""
        return _applied(self.steps, inputs, parameters, numbers, cells)

    def to_json(self) -> dict[str, Any]:
        """Its steps as plain JSON."""
        return {"name": self.name, "steps": [each.to_json() for each in self.steps]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Restore it from JSON that is not trusted. Raises `ValueError` or `ParameterError` for what is none."""
        if set(data) != {"name", "steps"}:
            raise ValueError
        return cls(elements_from_json(data["steps"]))


@dataclass(frozen=True)
class PipelineAlgorithm(Algorithm):
    """A model of prepared rows: the last step is any other algorithm, and spends all that the others leave.

    Predicting a row is preparing it, by what was released, and asking the model.
    """

    steps: tuple[Element, ...] = _DEFAULT_PIPELINE
    name: ClassVar[str] = "pipeline"
    task: ClassVar[Task] = "classification"

    def __post_init__(self) -> None:
        """Its task is that of its model. Raises `ParameterError` for steps that are none."""
        check_elements(self.steps)
        object.__setattr__(self, "task", self.model.task)

    @property
    def model(self) -> Algorithm:
        """The last step. Raises `ParameterError` if that is no model."""
        model = self.steps[-1].algorithm
        if model is None or isinstance(model, Preparation | PipelineAlgorithm):
            raise ParameterError("the last step of a pipeline is a model")
        return model

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` unless each step takes what comes of those before it."""
        _check_each(self.steps[:-1], inputs)
        self.model.check(self.model_inputs(inputs))
        if sum(each.share for each in self.steps[:-1]) >= 1:
            raise ParameterError("the preparations take all of the spend, and leave nothing for the model")

    def allowed(self) -> tuple[str, ...]:
        """The currencies in which every step can be fitted."""
        algorithms = [each.algorithm for each in self.steps if each.algorithm is not None]
        return tuple(name for name in self.currencies if all(name in each.allowed() for each in algorithms))

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """Of each step what it says of the columns that it is given."""
        return _row_norms(self.steps, inputs, step)

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """The parameters of each step; the last has what is left of the spend."""
        parameters, examples = _fitted(self.steps[:-1], examples, measurer)
        return {**parameters, **fit_element(self.steps[-1], examples, measurer, measurer.left)}

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless they are those of the steps."""
        _check_parameters(self.steps, inputs, parameters)

    def outputs(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> NDArray[np.float64]:
        """What the model computes of prepared rows."""
        asked = self.behind_preparations(inputs, parameters, numbers, cells)
        return asked.algorithm.outputs(asked.inputs, asked.parameters, asked.numbers, asked.cells)

    def behind_preparations(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> Asked:
        """The model, and the rows as they are prepared for it."""
        values = _applied(self.steps[:-1], inputs, parameters, numbers, cells)
        own = own_parameters(parameters, self.steps[-1].name)
        return self.model.behind_preparations(self.model_inputs(inputs), own, *values)

    def model_inputs(self, inputs: Inputs) -> Inputs:
        """What the model reads."""
        return _prepared(self.steps[:-1], inputs)

    def to_json(self) -> dict[str, Any]:
        """Its steps as plain JSON."""
        return {"name": self.name, "steps": [each.to_json() for each in self.steps]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Restore it from JSON that is not trusted. Raises `ValueError` or `ParameterError` for what is none."""
        if set(data) != {"name", "steps"}:
            raise ValueError
        return cls(elements_from_json(data["steps"]))


def _with_inputs(steps: tuple[Element, ...], inputs: Inputs) -> Iterator[tuple[Element, Inputs]]:
    """Each step with what it is given."""
    for each in steps:
        yield each, inputs
        if isinstance(each.algorithm, Preparation):
            inputs = each.algorithm.prepared(inputs)


def fitted_steps(
    algorithm: ChainAlgorithm | PipelineAlgorithm, inputs: Inputs, parameters: Parameters
) -> Iterator[tuple[Element, Inputs, Parameters]]:
    """Each step with what it is given, and its own parameters."""
    for each, own in _with_inputs(algorithm.steps, inputs):
        yield each, own, own_parameters(parameters, each.name)


def _prepared(steps: tuple[Element, ...], inputs: Inputs) -> Inputs:
    for each in steps:
        if isinstance(each.algorithm, Preparation):
            inputs = each.algorithm.prepared(inputs)
    return inputs


def _check_each(steps: tuple[Element, ...], inputs: Inputs) -> None:
    for each, own in _with_inputs(steps, inputs):
        if each.algorithm is not None and not isinstance(each.algorithm, Preparation):
            raise ParameterError(f"{each.name} does not prepare rows, and so is no step before the last one")
        if each.columns:
            raise ParameterError(f"{each.name} is given all columns; a part of a ColumnTransformer has its own")
        if each.algorithm is not None:
            each.algorithm.check(own)
        if each.buys(own) and not each.share:
            raise ParameterError(f"{each.name} has no share of the spend")


def _row_norms(steps: tuple[Element, ...], inputs: Inputs, step: str) -> RowNorms:
    name, _, own_step = step.partition(":")
    element_named(steps, name)
    for each, own in _with_inputs(steps, inputs):
        if each.name == name and each.algorithm is not None:
            return each.algorithm.row_norms(own, own_step)
    raise KeyError(step)


def _fitted(
    steps: tuple[Element, ...], examples: Examples, measurer: Measurer
) -> tuple[dict[str, NDArray[np.float64]], Examples]:
    """The parameters of preparations, and the rows behind the last of them."""
    parameters: dict[str, NDArray[np.float64]] = {}
    for each in steps:
        parameters.update(fit_element(each, examples, measurer, each.share))
        if isinstance(each.algorithm, Preparation):
            examples = each.algorithm.prepare(examples, own_parameters(parameters, each.name))
    return parameters, examples


def _check_parameters(steps: tuple[Element, ...], inputs: Inputs, parameters: Parameters) -> None:
    check_own(steps, parameters)
    for each, own in _with_inputs(steps, inputs):
        if each.algorithm is not None:
            each.algorithm.check_parameters(own, own_parameters(parameters, each.name))


def _applied(
    steps: tuple[Element, ...], inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places
) -> tuple[Places, Places]:
    for each, own in _with_inputs(steps, inputs):
        if isinstance(each.algorithm, Preparation):
            numbers, cells = each.algorithm.apply(own, own_parameters(parameters, each.name), numbers, cells)
    return numbers, cells
