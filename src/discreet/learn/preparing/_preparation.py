"""The protocol of a preparation: an algorithm that turns rows into other rows, for a model to learn from."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import MISSING, Inputs, Places
from discreet.learn.algorithms._algorithm import Algorithm, Parameters, Task

__all__ = ["MOST_FEATURES", "Preparation", "check_features"]

MOST_FEATURES = 10_000
"""How many columns prepared rows may have."""


@dataclass(frozen=True)
class Preparation(Algorithm):
    """Turns the levels and cells of a row into others, by public facts and what it has bought, one row at a time.

    What columns come of it, with their bounds and values, is public (`prepared`): a step behind it can say how much
    any row adds before a row is seen. A free one fits without asking anything and has no parameters.
    """

    task: ClassVar[Task] = "transformation"

    @property
    @abstractmethod
    def may_buy(self) -> bool:
        """Whether there are inputs of which it asks, for a part of the spend."""

    @property
    def extent(self) -> tuple[int, int]:
        """How many preparations it is made of, and how deep they are nested."""
        return 1, 1

    @abstractmethod
    def buys(self, inputs: Inputs) -> bool:
        """Whether it asks of the rows of these inputs; by public facts alone."""

    @abstractmethod
    def prepared(self, inputs: Inputs) -> Inputs:
        """What rows of these inputs are afterwards; by public facts alone. The target stays."""

    @abstractmethod
    def apply(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> tuple[Places, Places]:
        """The levels and cells of prepared rows: a row's are a function of that row and the parameters."""

    def prepare(self, examples: Examples, parameters: Parameters) -> Examples:
        """Private rows, prepared; as private as before."""
        inputs = examples.inputs
        numbers, cells = self.apply(inputs, parameters, examples.numbers, examples.cells)
        return replace(examples, inputs=self.prepared(inputs), numbers=numbers, cells=cells)

    def outputs(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> NDArray[np.float64]:
        """The prepared columns in order: a number, or the place of a category's value; NaN is what is missing."""
        after = self.prepared(inputs)
        numbers, cells = self.apply(inputs, parameters, numbers, cells)
        levels, places = iter(numbers.T), iter(cells.T)
        columns: list[NDArray[np.float64]] = []
        for each in after.features:
            place = next(levels) if each.is_number else next(places)
            shown = each.numbers(place) if each.is_number else place.astype(np.float64)
            columns.append(np.where(place == MISSING, np.nan, shown))
        return np.stack(columns, axis=1)


def check_features(inputs: Inputs) -> Inputs:
    """The inputs. Raises `ParameterError` for none, or more than `MOST_FEATURES`."""
    if not inputs.features:
        raise ParameterError("no column is left: keep some, as with remainder='passthrough'")
    if len(inputs.features) > MOST_FEATURES:
        raise ParameterError(f"the rows would have {len(inputs.features)} columns, and may have {MOST_FEATURES}")
    return inputs
