"""Numbers in other units: deviations from a bought mean, or parts of public bounds."""

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
from discreet.learn.preparing._distribution import distribution_norms, measure_distributions
from discreet.learn.preparing._preparation import Preparation
from discreet.rational import rational

__all__ = ["ScalerAlgorithm"]

_WAYS = ("deviations", "bounds")
_LONGEST = 100
_FAR = Fraction(10) ** 300


@dataclass(frozen=True)
class ScalerAlgorithm(Preparation):
    """Each number in units of its own; categories as they are.

    `by` ``"deviations"``: how many standard deviations it is from the mean, both bought; what is beyond `lower` or
    `upper` of them is moved there, and those are the new bounds, so that levels are spent where rows are. `by`
    ``"bounds"``: from `lower` to `upper` between its public bounds, which is free. Both ends are exact: texts
    are decimals or fractions. Not `centred`: how many deviations it is from 0.
    """

    by: str = "deviations"
    lower: int | str = "-3"
    upper: int | str = "3"
    centred: bool = True
    name: ClassVar[str] = "scaler"

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` for no numbers, or ends that are none."""
        if self.by not in _WAYS:
            raise ParameterError(f"by is one of {', '.join(_WAYS)}, not {self.by!r}")
        if not isinstance(self.centred, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"centred is True or False, not {self.centred!r}")
        lower, upper = self._ends()
        if self.by == "deviations" and not lower < 0 < upper:
            raise ParameterError("deviations are cut below 0 and above it")
        if not inputs.numbers:
            raise ParameterError("there is no number to scale")
        self.prepared(inputs)

    @property
    def may_buy(self) -> bool:
        """Whether means and deviations are asked for."""
        return self.by == "deviations"

    def buys(self, inputs: Inputs) -> bool:
        """Whether there are numbers to measure."""
        return self.may_buy and bool(inputs.numbers)

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """Of the distribution of each number."""
        return {"distribution": distribution_norms(inputs)}[step]

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """The mean and the deviation of each number, in levels; a level at least."""
        if not self.buys(examples.inputs):
            return {}
        measured = measure_distributions(measurer, "distribution", examples, Fraction(1))
        return {"means": measured.means(), "deviations": np.maximum(measured.deviations(), 1.0)}

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless there is a mean and a deviation for each number, within what rows can have."""
        names = {"means", "deviations"} if self.buys(inputs) else set[str]()
        if set(parameters) != names or any(each.shape != (len(inputs.numbers),) for each in parameters.values()):
            raise ValueError
        if names and not ((parameters["means"] >= 0).all() and (parameters["means"] <= LEVELS).all()):
            raise ValueError
        if names and not ((parameters["deviations"] >= 1).all() and (parameters["deviations"] <= LEVELS).all()):
            raise ValueError

    def prepared(self, inputs: Inputs) -> Inputs:
        """The same columns, numbers between other bounds."""
        lower, upper = self._ends()
        return Inputs(
            tuple(Input(each.name, None, lower, upper) if each.is_number else each for each in inputs.features),
            inputs.target,
        )

    def apply(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> tuple[Places, Places]:
        """Basic operations of IEEE 754 on each level; levels between bounds are what they were."""
        if not self.buys(inputs):
            return numbers, cells
        lower, upper = self._ends()
        after = Input("", None, lower, upper)
        centres = parameters["means"] if self.centred else np.array(list(map(_level_of_zero, inputs.numbers)))
        away = (numbers.astype(np.float64) - centres) / parameters["deviations"]
        return after.levels(np.where(numbers == MISSING, np.nan, away)), cells

    def _ends(self) -> tuple[Fraction, Fraction]:
        for each in (self.lower, self.upper):
            if isinstance(each, bool) or not isinstance(each, int | str) or len(str(each)) > _LONGEST:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ParameterError(f"an end of a scale is a number, not {each!r}")
        ends = rational(self.lower, "an end of a scale"), rational(self.upper, "an end of a scale")
        if not ends[0] < ends[1]:
            raise ParameterError(f"a scale goes from less to more, not from {self.lower} to {self.upper}")
        return ends


def _level_of_zero(number: Input) -> float:
    """Where 0 is among the levels of a number, or would be, if that is not too far for a float."""
    width = number.upper - number.lower
    level = -number.lower / width * LEVELS if width else Fraction(0)
    return float(max(min(level, _FAR), -_FAR))
