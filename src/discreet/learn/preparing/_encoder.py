"""Categories as numbers of 0 and 1, or as fewer categories, whose rare values are one."""

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
from discreet.learn.algorithms._bins import check_whole
from discreet.learn.preparing._preparation import MOST_FEATURES, Preparation, check_features
from discreet.learn.preparing._values import measure_values, value_norms

__all__ = ["EncoderAlgorithm"]


@dataclass(frozen=True)
class EncoderAlgorithm(Preparation):
    """Each category as a column for each of its public values, with 1 in one of them; or, not `one_hot`, as one column.

    A category with more than `max_categories` values gets so many: the most frequent ones by noisy counts, and one for
    all others; that is bought. None: all values are kept, which is free. What is none of the public values is 0 in all.
    """

    max_categories: int | None = 2
    one_hot: bool = True
    name: ClassVar[str] = "encoder"

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` for parameters out of range, or too many columns."""
        if self.max_categories is not None:
            check_whole("max_categories", self.max_categories, 2, MOST_FEATURES)
        if not isinstance(self.one_hot, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"one_hot is True or False, not {self.one_hot!r}")
        check_features(self.prepared(inputs))

    @property
    def may_buy(self) -> bool:
        """Whether values are counted, where a category has too many."""
        return self.max_categories is not None

    def buys(self, inputs: Inputs) -> bool:
        """Whether there is a category with more values than are kept."""
        return bool(self._merged(inputs))

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """A row has one value of each category that has too many."""
        return {"values": value_norms(self._merged(inputs))}[step]

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """The new place of each value of each category that has too many, in one row of all."""
        merged = self._merged(examples.inputs)
        if not merged:
            return {}
        counts = measure_values(measurer, "values", examples, merged, Fraction(1))
        return {"places": np.concatenate([np.minimum(_ranks(each), self._most - 1) for each in counts])}

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless there is a place for each value of a category that has too many."""
        merged = self._merged(inputs)
        shapes = {"places": (sum(each.size for each in merged),)} if merged else {}
        if {name: array.shape for name, array in parameters.items()} != shapes:
            raise ValueError
        for array in parameters.values():
            if not ((array == np.floor(array)) & (array >= 0) & (array < self._most)).all():
                raise ValueError

    def prepared(self, inputs: Inputs) -> Inputs:
        """A number for each value, or a category with the places of frequency as values where there were too many."""
        features: list[Input] = []
        for each in inputs.features:
            if each.is_number:
                features.append(each)
            elif self.one_hot:
                features += [Input(name, None, Fraction(0), Fraction(1)) for name in self._names(each)]
            elif self._has_too_many(each):
                features.append(Input(each.name, tuple(range(self._most)), type="int"))
            else:
                features.append(each)
        return Inputs(tuple(features), inputs.target)

    def apply(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> tuple[Places, Places]:
        """The place of each value, looked up; one-hot, a level at the upper end in its column."""
        tables = self._tables(inputs, parameters)
        # A table ends with what is missing, whose cell is -1.
        places = [table[column] for table, column in zip(tables, cells.T, strict=True)]
        rows = len(numbers)
        if not self.one_hot:
            return numbers, np.stack(places, axis=1) if places else np.zeros((rows, 0), np.int32)
        levels, at = iter(numbers.T), iter(places)
        columns: list[NDArray[np.int32]] = []
        for each in inputs.features:
            if each.is_number:
                columns.append(next(levels))
            else:
                place = next(at)
                columns += [np.where(place == i, LEVELS, 0).astype(np.int32) for i in range(self._size(each))]
        return np.stack(columns, axis=1), np.zeros((rows, 0), np.int32)

    def tables(self, inputs: Inputs, parameters: Parameters) -> list[NDArray[np.int32]]:
        """The new place of each value of each category."""
        return [table[:-1] for table in self._tables(inputs, parameters)]

    def _tables(self, inputs: Inputs, parameters: Parameters) -> list[NDArray[np.int32]]:
        merged = self._merged(inputs)
        ends = np.cumsum([each.size for each in merged])[:-1]
        bought = iter(np.split(parameters["places"], ends) if merged else ())
        tables = [next(bought) if self._has_too_many(each) else np.arange(each.size) for each in inputs.categories]
        return [np.append(table, MISSING).astype(np.int32) for table in tables]

    @property
    def _most(self) -> int:
        return self.max_categories or MOST_FEATURES

    def _has_too_many(self, category: Input) -> bool:
        return self.max_categories is not None and category.size > self.max_categories

    def _merged(self, inputs: Inputs) -> list[Input]:
        return [each for each in inputs.categories if self._has_too_many(each)]

    def _size(self, category: Input) -> int:
        return self._most if self._has_too_many(category) else category.size

    def _names(self, category: Input) -> list[str]:
        if self._has_too_many(category):
            places = [f"most frequent {i + 1}" for i in range(self._most - 1)]
            return [f"{category.name}={each}" for each in (*places, "others")]
        return [f"{category.name}={'null' if value is None else value}" for value in category.values or ()]


def _ranks(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """The place of each count, the largest first."""
    ranks = np.empty(len(counts))
    ranks[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return ranks
