"""Numbers as categories: bins that are equally wide, or bought ones with about equally many rows."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import LEVELS, MISSING, Input, Inputs, Places
from discreet.learn._steps import Measurer, RowNorms
from discreet.learn.algorithms._algorithm import Parameters
from discreet.learn.algorithms._bins import check_whole
from discreet.learn.preparing._distribution import distribution_norms, measure_distributions
from discreet.learn.preparing._preparation import Preparation

__all__ = ["BinnerAlgorithm"]

_WAYS = ("uniform", "quantile")
_MOST_BINS = 256


@dataclass(frozen=True)
class BinnerAlgorithm(Preparation):
    """Each number becomes a category, whose values are the bins from 0; categories stay as they are.

    `strategy` ``"uniform"``: bins of one width between the public bounds; free. ``"quantile"``: between noisy
    quantiles; bought. What is missing is in no bin.
    """

    bins: int = 8
    strategy: str = "quantile"
    name: ClassVar[str] = "binner"

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` for no numbers, or parameters out of range."""
        if self.strategy not in _WAYS:
            raise ParameterError(f"strategy is one of {', '.join(_WAYS)}, not {self.strategy!r}")
        check_whole("bins", self.bins, 2, _MOST_BINS)
        if not inputs.numbers:
            raise ParameterError("there is no number to cut into bins")

    @property
    def may_buy(self) -> bool:
        """Whether quantiles are asked for."""
        return self.strategy == "quantile"

    def buys(self, inputs: Inputs) -> bool:
        """Whether there are numbers to measure."""
        return self.may_buy and bool(inputs.numbers)

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """Of the distribution of each number."""
        return {"distribution": distribution_norms(inputs)}[step]

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """The first level of each bin but the first, which are equal where bins are empty."""
        if not self.buys(examples.inputs):
            return {}
        measured = measure_distributions(measurer, "distribution", examples, Fraction(1))
        return {"edges": measured.quantiles([i / self.bins for i in range(1, self.bins)]) + 1}

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless they are edges between bins, in order."""
        shapes = {"edges": (len(inputs.numbers), self.bins - 1)} if self.buys(inputs) else {}
        if {name: array.shape for name, array in parameters.items()} != shapes:
            raise ValueError
        edges = parameters.get("edges")
        if edges is not None and not (
            (edges >= 0).all() and (edges <= LEVELS + 1).all() and (np.diff(edges, axis=1) >= 0).all()
        ):
            raise ValueError

    def prepared(self, inputs: Inputs) -> Inputs:
        """Categories of as many values as there are bins."""
        values = tuple(range(self.bins))
        return Inputs(
            tuple(Input(each.name, values, type="int") if each.is_number else each for each in inputs.features),
            inputs.target,
        )

    def apply(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> tuple[Places, Places]:
        """The bin of each level, by comparisons and whole numbers alone."""
        if self.buys(inputs):
            bins = np.zeros(numbers.shape, np.int32)
            for edge in parameters["edges"].T:
                bins += numbers >= edge
        else:
            bins = np.minimum(numbers * self.bins // LEVELS, self.bins - 1)
        columns, others = iter(np.where(numbers == MISSING, MISSING, bins).T), iter(cells.T)
        placed = [next(columns) if each.is_number else next(others) for each in inputs.features]
        return np.zeros((len(numbers), 0), np.int32), np.stack(placed, axis=1).astype(np.int32)
