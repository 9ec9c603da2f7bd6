"""Features of rows as a free preparation: public maps of one row each. Proof: ``proofs/learning_preparing.md``."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
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
from discreet.learn.preparing._preparation import MOST_FEATURES, Preparation

__all__ = [
    "FeaturesAlgorithm",
    "FrozenAlgorithm",
    "Reals",
    "cut_at",
    "is_whole",
    "networks_at_hand",
    "pixel_bounds",
    "read_pixels",
    "shortened",
    "values_of",
]

Reals = NDArray[np.float64]

_MOST_ROWS, _LONGEST = 65_536, 1_000
_DIGEST = re.compile("[0-9a-f]{64}")
_SHAPE = re.compile(r"[0-9]{1,8}(x[0-9]{1,8}){0,5}")
_CUT = 4.0
"""Of the root mean square that features of a row of length 1 have: larger ones count as if they were so large."""
_NUMBERS = 2**19
"""How many numbers of rows are mapped at once."""


@dataclass(frozen=True)
class FeaturesAlgorithm(Preparation):
    """All columns of a row, which are numbers, become features: a public map, which costs nothing and learns nothing.

    Its fields say what the map is, and are a part of the question and of the certificate. Bounds of features follow
    from them alone. A number that is missing is at the lower bound of its column, or 0.
    """

    prefix: ClassVar[str]
    """What features are called by, with their places."""

    @abstractmethod
    def columns_read(self, columns: int) -> int:
        """How many columns it reads, of which it is given so many. Raises `ParameterError` for wrong parameters."""

    @abstractmethod
    def count(self, columns: int) -> int:
        """How many features a row of so many columns has."""

    @abstractmethod
    def bounds(self, columns: int) -> tuple[float, float]:
        """Between what all features of such rows are."""

    @abstractmethod
    def mapped(self, inputs: Inputs, numbers: Places) -> Reals:
        """The features of each row, from its levels alone, to the last bit."""

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` for categories, another number of columns, or too many features."""
        if inputs.categories:
            raise ParameterError(
                f"features are of numbers, and {inputs.categories[0].name} is a category: give the map columns of its "
                "own by learn.ColumnTransformer"
            )
        columns = len(inputs.numbers)
        if self.columns_read(columns) != columns:
            raise ParameterError(f"the map reads {self.columns_read(columns)} columns, and is given {columns}")
        if not 0 < self.count(columns) <= MOST_FEATURES:
            raise ParameterError(f"rows would have {self.count(columns)} features, and may have {MOST_FEATURES}")

    @property
    def may_buy(self) -> bool:
        """Never: the map is public."""
        return False

    def buys(self, inputs: Inputs) -> bool:  # noqa: ARG002 - as every preparation has it
        """Never."""
        return False

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:  # noqa: ARG002 - as every algorithm has it
        """It has no steps. Raises `KeyError`."""
        raise KeyError(step)

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:  # noqa: ARG002 - as every algorithm has it
        """Nothing: there are no parameters."""
        return {}

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:  # noqa: ARG002 - as above
        """Raise `ValueError` unless there are none."""
        if parameters:
            raise ValueError

    def prepared(self, inputs: Inputs) -> Inputs:
        """A number for each feature, between the public bounds of all of them."""
        columns = len(inputs.numbers)
        return Inputs(tuple(self._feature(i, columns) for i in range(self.count(columns))), inputs.target)

    def apply(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> tuple[Places, Places]:  # noqa: ARG002
        """The level of each feature; rows in blocks, of which a row's features do not depend."""
        after = self._feature(0, len(inputs.numbers))
        block = max(_NUMBERS // max(numbers.shape[1], 1), 1)
        starts = range(0, max(len(numbers), 1), block)
        levels = [after.levels(self.mapped(inputs, numbers[start : start + block])) for start in starts]
        return np.concatenate(levels), cells

    def _feature(self, place: int, columns: int) -> Input:
        lower, upper = self.bounds(columns)
        return Input(f"{self.prefix}{place}", None, Fraction(lower), Fraction(upper))


@dataclass(frozen=True)
class FrozenAlgorithm(FeaturesAlgorithm):
    """Columns are what a network that was trained elsewhere reads of a row; features are what it makes of that.

    Attributes
    ----------
    network, layers, weights
        Its class, and the SHA-256 of what it prints of its layers, and of its weights.
    shape
        The shape of a row to it, as ``"1x28x28"``.
    rows
        How many rows a microbatch has.
    features
        How many features it makes of a row.

    Neither code nor weights are in it: a model that was read from a file finds the network among those at hand.
    """

    network: str = ""
    layers: str = ""
    weights: str = ""
    shape: str = "1"
    rows: int = 64
    features: int = 1
    name: ClassVar[str] = "frozen_network"
    prefix: ClassVar[str] = "frozen"

    def columns_read(self, columns: int) -> int:  # noqa: ARG002 - the shape says it
        """All numbers of the shape. Raises `ParameterError` for what is none."""
        texts = (self.network, self.layers, self.weights, self.shape)
        if not all(isinstance(each, str) and len(each) <= _LONGEST for each in texts):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("what a frozen network is are short texts")
        if not (_DIGEST.fullmatch(self.layers) and _DIGEST.fullmatch(self.weights)):
            raise ParameterError("the layers and the weights of a frozen network are each a SHA-256 in hexadecimal")
        if not (is_whole(self.rows, 1, _MOST_ROWS) and is_whole(self.features, 1, 2**24)):
            raise ParameterError("a frozen network reads 1 row or more at once, and makes 1 feature or more")
        if not _SHAPE.fullmatch(self.shape):
            raise ParameterError(f"the shape that a frozen network reads is as in '1x28x28', not {self.shape!r}")
        return math.prod(map(int, self.shape.split("x")))

    def count(self, columns: int) -> int:  # noqa: ARG002 - it is said
        """How many it was seen to make."""
        return self.features

    def bounds(self, columns: int) -> tuple[float, float]:  # noqa: ARG002 - those of rows of length 1
        """Where large ones are cut, below 0 and above it."""
        return -cut_at(self.features), cut_at(self.features)

    def mapped(self, inputs: Inputs, numbers: Places) -> Reals:
        """What the network makes of each row. Raises `ParameterError` if it is not at hand, whatever the rows are."""
        run = networks_at_hand.get(self)
        if run is None:
            raise ParameterError(
                f"these features are of a network, {self.network} with weights of the SHA-256 {self.weights}, which is "
                "in no file: build it and its weights here, and say learn.features.Frozen(net, shape=…).register()"
            )
        return run(values_of(inputs, numbers)) if len(numbers) else np.zeros((0, self.features))


networks_at_hand: dict[FrozenAlgorithm, Callable[[Reals], Reals]] = {}
"""What the networks make of rows, by what they are: those that this process has frozen for a model."""


def values_of(inputs: Inputs, numbers: Places) -> Reals:
    """The number of each level, NaN for what is missing."""
    lower = np.array([float(each.lower) for each in inputs.numbers])
    width = np.array([float(each.upper - each.lower) for each in inputs.numbers])
    return np.where(numbers == MISSING, np.nan, lower + numbers / LEVELS * width)


def cut_at(count: int) -> float:
    """Above what size one of so many features of a row is cut.

    Rows have length 1, so that few features are far above 1/√count; bounds closer than 1 leave them less noise.

    >>> cut_at(64), cut_at(4)
    (0.5, 1.0)
    """
    return min(_CUT / math.sqrt(count), 1.0)


def shortened(rows: Reals, floor: float) -> Reals:
    """Rows over their L2 norms, those shorter than `floor` over that, with entries cut at `cut_at`.

    Basic operations of IEEE 754 on numbers of one row, in the order of its columns. What is no finite number counts
    as 0.

    >>> shortened(np.array([[3.0, 4.0], [0.0, 0.0], [np.nan, 2.0]]), 1e-6).tolist()
    [[0.6, 0.8], [0.0, 0.0], [0.0, 1.0]]
    """
    finite = np.where(np.isfinite(rows), rows, 0.0)
    largest = np.zeros(len(finite))
    for column in finite.T:
        largest = np.maximum(largest, np.abs(column))
    scale = np.maximum(largest, floor / math.sqrt(finite.shape[1]))[:, None]
    finite = finite / scale
    squared = np.zeros(len(finite))
    for column in finite.T:
        squared += column * column
    length = np.maximum(np.sqrt(squared), floor / scale[:, 0])
    cut = cut_at(finite.shape[1])
    return np.clip(finite / length[:, None], -cut, cut)


def pixel_bounds(bounds: Sequence[float]) -> tuple[float, float]:
    """The two ends. Raises `ParameterError` for what is no pair of finite numbers in order."""
    try:
        lower, upper = (float(each) for each in bounds)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"pixels is a pair of numbers, as in pixels=(0, 255), not {bounds!r}") from None
    if not (math.isfinite(lower) and math.isfinite(upper) and 0 < upper - lower < math.inf):
        raise ParameterError(f"pixels is a pair of finite numbers, the lower one first, not {bounds!r}")
    return lower, upper


def read_pixels(rows: Reals, bounds: Sequence[float]) -> Reals:
    """Numbers as 0 to 1 between their public bounds, those beyond moved to them; what is missing is at the lower one.

    Raises `ParameterError` for bounds that are no pair of finite numbers in order.
    """
    lower, upper = pixel_bounds(bounds)
    known = np.where(np.isnan(rows), lower, rows)
    return (np.minimum(np.maximum(known, lower), upper) - lower) / (upper - lower)


def is_whole(value: object, least: int, most: int) -> bool:
    """Whether it is a whole number, no truth value, between two."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and least <= int(value) <= most
