"""Bins of all inputs alike: equal bins of a number, the values of a category, and one more for what is missing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import LEVELS, MISSING, Inputs, Places

__all__ = ["BinnedRows", "Bins", "check_classes", "check_whole"]


@dataclass(frozen=True)
class Bins:
    """The bins of every input, numbers first, then categories; the last bin of each is for what is missing.

    >>> from fractions import Fraction
    >>> from discreet.learn._inputs import Input
    >>> inputs = Inputs((Input("age", None, Fraction(0), Fraction(64)), Input("city", ("Bern", "Rome"), type="string")))
    >>> bins = Bins(inputs, 4)
    >>> bins.sizes, bins.starts
    ((5, 3), (0, 5))
    >>> bins.places(np.array([[0], [1024], [-1]], np.int32), np.array([[1], [0], [-1]], np.int32)).tolist()
    [[0, 1], [3, 0], [4, 2]]
    """

    inputs: Inputs
    bins: int

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many bins each input has."""
        return (*(self.bins + 1 for _ in self.inputs.numbers), *(each.size + 1 for each in self.inputs.categories))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The place of each input's first bin, where all bins are in one row."""
        return tuple(np.cumsum((0, *self.sizes[:-1])).tolist())

    @property
    def count(self) -> int:
        """How many bins there are in all."""
        return sum(self.sizes)

    @cached_property
    def of_input(self) -> NDArray[np.int64]:
        """The input of each bin."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @cached_property
    def ordered(self) -> NDArray[np.bool_]:
        """Which inputs are numbers."""
        return np.arange(len(self.sizes)) < len(self.inputs.numbers)

    def places(self, numbers: Places, cells: Places) -> Places:
        """The bin of each input of each row; it depends on that row alone, for it is made of whole numbers."""
        bins = np.where(numbers == MISSING, self.bins, np.minimum(numbers * self.bins // LEVELS, self.bins - 1))
        others = np.array([each.size for each in self.inputs.categories], np.int32)
        return np.concatenate([bins, np.where(cells == MISSING, others, cells)], axis=1).astype(np.int32)

    def texts_of(self, i: int) -> list[str]:
        """The bins of an input in words: bounds, then ``"missing"``; or values, then ``"other"``.

        >>> from fractions import Fraction
        >>> from discreet.learn._inputs import Input
        >>> Bins(Inputs((Input("age", None, Fraction(0), Fraction(64)),)), 2).texts_of(0)
        ['0 to 32', '32 to 64', 'missing']
        """
        numbers = self.inputs.numbers
        if i < len(numbers):
            edges = [f"{edge:g}" for edge in self.edges_of(i)]
            return [*(f"{low} to {high}" for low, high in pairwise(edges)), "missing"]
        values = self.inputs.categories[i - len(numbers)].values or ()
        return [*("null" if value is None else str(value) for value in values), "other"]

    def edges_of(self, i: int) -> NDArray[np.float64]:
        """Where the bins of a number begin and end."""
        each = self.inputs.numbers[i]
        return np.linspace(float(each.lower), float(each.upper), self.bins + 1)

    @property
    def names(self) -> list[str]:
        """The inputs in the order of the bins."""
        return [each.name for each in (*self.inputs.numbers, *self.inputs.categories)]

    def slice_of(self, i: int) -> slice:
        """Where the bins of an input are, where all bins are in one row."""
        return slice(self.starts[i], self.starts[i] + self.sizes[i])


@dataclass(frozen=True, repr=False)
class BinnedRows:
    """Rows of people in bins, with their classes: private.

    Attributes
    ----------
    bins
        What the bins are.
    places
        The bin of each input of each row.
    target
        The class of each row.
    """

    bins: Bins
    places: Places
    target: Places

    @classmethod
    def from_examples(cls, bins: Bins, examples: Examples) -> BinnedRows:
        """The rows of a fit."""
        return cls(bins, bins.places(examples.numbers, examples.cells), examples.target)

    def __repr__(self) -> str:
        return "<rows in bins>"

    @property
    def classes(self) -> int:
        """How many classes there are."""
        return len(self.bins.inputs.classes)

    def some(self, chosen: NDArray[np.int64]) -> BinnedRows:
        """Some of the rows."""
        return BinnedRows(self.bins, self.places[chosen], self.target[chosen])

    def counts(self) -> NDArray[np.int64]:
        """How many rows are in each bin and class: an array (bins, classes)."""
        classes = self.classes
        counts = [
            np.bincount(self.places[:, i].astype(np.int64) * classes + self.target, minlength=size * classes)
            for i, size in enumerate(self.bins.sizes)
        ]
        return np.concatenate(counts).reshape(-1, classes)

    def sums(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """The sum of the rows' whole numbers in each bin, exact below 2^53."""
        sums = [np.bincount(self.places[:, i], values, minlength=size) for i, size in enumerate(self.bins.sizes)]
        return np.concatenate(sums).astype(np.int64)


def check_classes(inputs: Inputs) -> int:
    """How many classes there are. Raises `ParameterError` for fewer than two."""
    if len(inputs.classes) < 2:
        raise ParameterError("a classifier needs two classes or more")
    return len(inputs.classes)


def check_whole(name: str, value: object, lowest: int, highest: int) -> None:
    """Raise `ParameterError` unless a parameter is a whole number within its ends."""
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise ParameterError(f"{name} is a whole number from {lowest} to {highest}, not {value!r}")
