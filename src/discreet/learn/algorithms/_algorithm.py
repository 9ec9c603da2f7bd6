"""The protocol of an algorithm: public parameters in, noisy sums asked for, a model's arrays out."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from discreet.learn._examples import Examples
from discreet.learn._inputs import Inputs, Places
from discreet.learn._steps import Measurer, RowNorms
from discreet.learn.selection import Tries
from discreet.prices import Prices, price_as_loss
from discreet.privacy import Loss
from discreet.sensitivity import Norms

__all__ = ["Algorithm", "Asked", "Parameters", "Task"]

Parameters = Mapping[str, NDArray[np.float64]]
"""What a model is made of beside its inputs: arrays by name, all finite."""
Task = Literal["classification", "regression", "transformation", "clustering"]


@dataclass(frozen=True)
class Algorithm(ABC):
    """One way to learn a model. A subclass is a frozen dataclass whose fields are whole numbers, bools and texts.

    A number that is not whole is a text: certificates hold no floats.

    Every field is public. `fit` asks a `Measurer` for noisy sums and computes the rest from them alone; the integers
    that a row adds to a sum depend on that row and on what was released before, never on other rows or on its place.
    """

    name: ClassVar[str]
    task: ClassVar[Task]
    currencies: ClassVar[tuple[str, ...]] = ("pure", "rho", "mu")
    """In which currencies it can be fitted: of ``"pure"``, ``"rho"`` and ``"mu"``; (ε, δ) is read as μ."""

    @abstractmethod
    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` for inputs or parameters that it cannot work with; by public facts alone."""

    def allowed(self) -> tuple[str, ...]:
        """In which of the currencies it can be fitted with these parameters."""
        return self.currencies

    def budget(self, spend: Loss) -> tuple[Prices, Tries | None]:
        """What its steps may spend for a spend; or what each of several tries may, and how many there are.

        Raises `ParameterError` for a spend that it cannot be fitted with.
        """
        return Prices.of_spend(spend, Norms(1, 1)), None

    def loss_of(self, steps: Fraction, certificate: Mapping[str, Any]) -> Loss:
        """What a fit lost whose steps cost so much together, by its certificate, which may be anybody's.

        Raises `ParameterError`, `LedgerError`, `ValueError` or `KeyError` for one that cannot be followed.
        """
        return price_as_loss(certificate["currency"], steps)

    def rehearse(self, nobody: Examples, measurer: Measurer) -> None:
        """Ask once for every noise that a fit may ask for, of no rows. Raises `ParameterError` as those do."""
        self.fit(nobody, measurer)

    @abstractmethod
    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """How much any one row adds to the sum of a step. Raises `KeyError` for a step that it has none of."""

    @abstractmethod
    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """The arrays of a model, from noisy sums alone."""

    @abstractmethod
    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless the arrays are those of a model with these inputs; they may be anybody's."""

    @abstractmethod
    def outputs(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> NDArray[np.float64]:
        """For each row: of a classification the probability of each class, else its numbers, one column at least.

        What it is of a row depends on that row alone, to the last bit, in any company and at any place.
        """

    def behind_preparations(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> Asked:
        """What is asked of rows in the end: itself, unless other algorithms prepare them, or it was chosen among some.

        Asking that of the rows that come with it gives `outputs`.
        """
        return Asked(self, inputs, parameters, numbers, cells)

    def to_json(self) -> dict[str, Any]:
        """Its name and parameters as plain JSON."""
        return {"name": self.name, **{each.name: getattr(self, each.name) for each in dataclasses.fields(self)}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Restore it from JSON that is not trusted. Raises `ValueError` or `ParameterError` for what is none."""
        fields = {each.name: each for each in dataclasses.fields(cls)}
        values = {name: value for name, value in data.items() if name != "name"}
        if set(values) != set(fields) or not all(
            value is None or type(value) in (bool, int, str) for value in values.values()
        ):
            raise ValueError
        return cls(**values)


class Asked(NamedTuple):
    """An algorithm, with what it reads and its own parameters; and rows, as it is given them."""

    algorithm: Algorithm
    inputs: Inputs
    parameters: Parameters
    numbers: Places
    cells: Places
