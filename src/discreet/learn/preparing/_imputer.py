"""What is missing, replaced by a public value, or by one that is bought."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import LEVELS, MISSING, Input, Inputs, Places
from discreet.learn._steps import Measurer, RowNorms
from discreet.learn.algorithms._algorithm import Parameters
from discreet.learn.preparing._distribution import distribution_norms, measure_distributions
from discreet.learn.preparing._preparation import Preparation, check_features
from discreet.learn.preparing._values import measure_values, value_norms
from discreet.rational import rational

__all__ = ["ImputerAlgorithm"]

_STRATEGIES = ("middle", "constant", "mean", "median", "most_frequent")
_HALF = Fraction(1, 2)
_LONGEST = 100


@dataclass(frozen=True)
class ImputerAlgorithm(Preparation):
    """A number that is null or NaN becomes another, and with some strategies a category that is none of its values.

    `strategy` ``"middle"``: numbers, the middle of their bounds; free. ``"constant"``: all, `fill_value`; free.
    ``"mean"`` and ``"median"``: numbers; bought. ``"most_frequent"``: all; bought. `add_indicator` adds a number for
    each column that is filled, 1 where it was missing and 0 elsewhere. A number that is not whole is a text, for a
    certificate holds no floats.
    """

    strategy: str = "median"
    fill_value: bool | int | str | None = None
    add_indicator: bool = False
    name: ClassVar[str] = "imputer"

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` for a strategy that is none, or a value that a column cannot have."""
        if self.strategy not in _STRATEGIES:
            raise ParameterError(f"strategy is one of {', '.join(_STRATEGIES)}, not {self.strategy!r}")
        if (self.fill_value is not None) != (self.strategy == "constant"):
            raise ParameterError("fill_value goes with strategy='constant', and that with fill_value")
        if not isinstance(self.add_indicator, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"add_indicator is True or False, not {self.add_indicator!r}")
        if not self._filled(inputs):
            raise ParameterError(f"there is no number to fill by the {self.strategy}, and categories have none")
        if self.strategy == "constant":
            self._constants(inputs)
        check_features(self.prepared(inputs))

    @property
    def may_buy(self) -> bool:
        """Whether the values to fill in are asked for."""
        return self.strategy not in ("middle", "constant")

    def buys(self, inputs: Inputs) -> bool:
        """Whether there are columns to measure."""
        return self.may_buy and bool(self._filled(inputs))

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """Of the distribution of each number, or the counts of each category's values."""
        if step == "values" and self.strategy != "most_frequent":
            raise KeyError(step)
        return {"distribution": distribution_norms(inputs), "values": value_norms(inputs.categories)}[step]

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """The level for each number, and the cell for each category if those are filled."""
        inputs = examples.inputs
        if not self.buys(inputs):
            return {}
        numbers, categories = len(inputs.numbers), len(inputs.categories)
        both = self.strategy == "most_frequent" and categories > 0
        parameters: dict[str, NDArray[np.float64]] = {}
        if numbers:
            share = _HALF if both else Fraction(1)
            measured = measure_distributions(measurer, "distribution", examples, share)
            match self.strategy:
                case "mean":
                    levels = np.round(measured.means())
                case "median":
                    levels = measured.quantiles([0.5])[:, 0]
                case _:
                    levels = measured.modes()
            parameters["levels"] = levels
        if both:
            counts = measure_values(measurer, "values", examples, inputs.categories, _HALF if numbers else Fraction(1))
            best = [
                np.where(_present(each), counted, -np.inf).argmax()
                for each, counted in zip(inputs.categories, counts, strict=True)
            ]
            parameters["cells"] = np.array(best, np.float64)
        return parameters

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless they are levels of the numbers, and cells of the categories that are filled."""
        most: dict[str, list[int]] = {}
        if self.buys(inputs):
            if inputs.numbers:
                most["levels"] = [LEVELS for _ in inputs.numbers]
            if self.strategy == "most_frequent" and inputs.categories:
                most["cells"] = [each.size - 1 for each in inputs.categories]
        if {name: array.shape for name, array in parameters.items()} != {n: (len(each),) for n, each in most.items()}:
            raise ValueError
        for name, array in parameters.items():
            if not ((array == np.floor(array)) & (array >= 0) & (array <= np.array(most[name]))).all():
                raise ValueError

    def prepared(self, inputs: Inputs) -> Inputs:
        """The same columns; those of indicators behind them."""
        more = [
            Input(f"{each.name} is missing", None, Fraction(0), Fraction(1))
            for each in self._filled(inputs)
            if self.add_indicator
        ]
        return Inputs((*inputs.features, *more), inputs.target)

    def apply(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> tuple[Places, Places]:
        """The value to fill in where one is missing, and the others as they are."""
        levels, places = self._fills(inputs, parameters)
        there = np.array([[_null_cell(each)] for each in inputs.categories], np.int32).reshape(1, -1)
        missing = numbers == MISSING, (cells == MISSING) | (cells == there)
        filled = np.where(missing[0], levels, numbers).astype(np.int32)
        if places is not None:
            cells = np.where(missing[1], places, cells).astype(np.int32)
        if self.add_indicator:
            columns, at = iter(missing[0].T), iter(missing[1].T)
            gone = [(each, next(columns) if each.is_number else next(at)) for each in inputs.features]
            chosen = set(self._filled(inputs))
            shown = [np.where(each, LEVELS, 0).astype(np.int32) for feature, each in gone if feature in chosen]
            filled = np.concatenate([filled, np.stack(shown, axis=1)], axis=1)
        return filled, cells

    def _filled(self, inputs: Inputs) -> tuple[Input, ...]:
        """The columns that are filled, in order."""
        return inputs.features if self.strategy in ("constant", "most_frequent") else inputs.numbers

    def _fills(self, inputs: Inputs, parameters: Parameters) -> tuple[Places, Places | None]:
        """The level of each number, and the cell of each category (None: they stay)."""
        match self.strategy:
            case "middle":
                return np.full(len(inputs.numbers), LEVELS // 2, np.int32), None
            case "constant":
                return self._constants(inputs)
            case _:
                levels = parameters.get("levels", np.zeros(0)).astype(np.int32)
                return levels, parameters["cells"].astype(np.int32) if "cells" in parameters else None

    def _constants(self, inputs: Inputs) -> tuple[Places, Places]:
        value = self.fill_value
        if not isinstance(value, bool | int | str):
            raise ParameterError(f"a column is filled with a whole number, a text or a truth value, not {value!r}")
        levels = [each.levels(np.array([_number_of(value, each)]))[0] for each in inputs.numbers]
        places = [int(each.cells([value])[0]) for each in inputs.categories]
        for each, place in zip(inputs.categories, places, strict=True):
            if place == MISSING:
                raise ParameterError(f"{value!r} is none of the values of {each.name}")
        return np.array(levels, np.int32), np.array(places, np.int32)


def _number_of(value: bool | int | str, number: Input) -> float:  # noqa: FBT001 - any of the three
    """The number that is written, within the bounds that it is moved to anyway. Raises `ParameterError` for none."""
    try:
        if len(str(value)) > _LONGEST:
            raise ValueError
        exact = rational(value, "fill_value")
    except (ParameterError, ValueError):
        shown = repr(value) if isinstance(value, str) and len(value) <= _LONGEST else "what is no number, or a long one"
        raise ParameterError(f"{number.name} is a number, and cannot be filled with {shown}") from None
    return float(max(min(exact, number.upper), number.lower))


def _null_cell(category: Input) -> int:
    """The cell of null, or one that is none."""
    values = category.values or ()
    return values.index(None) if None in values else category.size


def _present(category: Input) -> NDArray[np.bool_]:
    """Which of the cells are of values that are not null; all of them, if none is."""
    present = np.array([value is not None for value in category.values or ()])
    return present if present.any() else ~present
