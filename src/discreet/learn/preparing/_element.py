"""One algorithm of several that are fitted one after the other, with its name and its share of the spend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn._inputs import Inputs
from discreet.learn._steps import Measurer, RowNorms
from discreet.learn.algorithms._algorithm import Algorithm, Parameters
from discreet.learn.algorithms._registry import algorithm_from_json
from discreet.learn.preparing._preparation import Preparation
from discreet.prices import Additive
from discreet.rational import from_exact_text

__all__ = [
    "Column",
    "Element",
    "Part",
    "check_elements",
    "check_own",
    "columns_from_json",
    "element_named",
    "element_norms",
    "elements_from_json",
    "extent_of",
    "fit_element",
    "own_parameters",
]

_MOST, _DEEPEST = 100, 6
_LONGEST_NAME, _LONGEST_SHARE, _LONGEST_COLUMN = 100, 100, 10_000
Column = int | str


@dataclass(frozen=True)
class Element:
    """An algorithm among others.

    Attributes
    ----------
    name
        What its steps and its parameters are called by in front of their own names.
    algorithm
        What is fitted; None: columns stay as they are.
    share
        Of what is given for all of them, which part it may spend; 0 if it is free, or has what is left.
    columns
        Which columns it is given, by name or place, where it has not all of them.
    """

    name: str
    algorithm: Algorithm | None
    share: Fraction = Fraction(0)
    columns: tuple[Column, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """It as plain JSON."""
        return {
            "name": self.name,
            "algorithm": None if self.algorithm is None else self.algorithm.to_json(),
            "share": str(self.share),
            "columns": list(self.columns),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Element:
        """Restore it from JSON that is not trusted. Raises `ValueError` for what is none."""
        if not isinstance(data, dict) or set(data) != {"name", "algorithm", "share", "columns"}:
            raise ValueError
        share = data["share"]
        if not isinstance(share, str) or len(share) > _LONGEST_SHARE:
            raise ValueError
        algorithm = None if data["algorithm"] is None else algorithm_from_json(data["algorithm"])
        return cls(data["name"], algorithm, from_exact_text(share), columns_from_json(data["columns"]))

    def buys(self, inputs: Inputs) -> bool:
        """Whether fitting it costs."""
        if isinstance(self.algorithm, Preparation):
            return self.algorithm.buys(inputs)
        return self.algorithm is not None


def columns_from_json(data: object) -> tuple[Column, ...]:
    """Names or places of columns, from JSON that is not trusted. Raises `ValueError` for what is none."""
    if not isinstance(data, list):
        raise ValueError
    listed = cast("list[Any]", data)
    if not all(type(each) in (int, str) for each in listed):
        raise ValueError
    return tuple(listed)


def elements_from_json(data: object) -> tuple[Element, ...]:
    """Several, from JSON that is not trusted. Raises `ValueError` for what is none."""
    if not isinstance(data, list) or len(data) > _MOST:  # pyright: ignore[reportUnknownArgumentType]
        raise ValueError
    return tuple(Element.from_json(each) for each in cast("list[Any]", data))


def check_elements(elements: Sequence[Element]) -> None:
    """Raise `ParameterError` for none, for names that are not different texts, or shares above 1 in all."""
    if not isinstance(elements, tuple) or not all(isinstance(each, Element) for each in elements):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("the steps are a tuple of elements")
    if not 0 < len(elements) <= _MOST:
        raise ParameterError(f"there are 1 to {_MOST} steps, not {len(elements)}")
    count, depth = extent_of(elements)
    if count > _MOST or depth > _DEEPEST:
        raise ParameterError(f"there are {_MOST} steps at most in all, nested {_DEEPEST} deep at most")
    names = [each.name for each in elements]
    for name in names:
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or ":" in name or "__" in name:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"a step is named by a short text without a colon and two underscores, not {name!r}")
    if len(set(names)) < len(names):
        raise ParameterError("two steps have the same name")
    if any(each.share < 0 for each in elements) or sum(each.share for each in elements) > 1:
        raise ParameterError("the shares of the steps are from 0 to 1, and 1 at most in all")
    for each in elements:
        if any(isinstance(column, str) and len(column) > _LONGEST_COLUMN for column in each.columns):
            raise ParameterError("the name of a column is too long")


def extent_of(elements: Sequence[Element]) -> tuple[int, int]:
    """How many steps these are with all that they are made of, and how deep they are nested."""
    extents = [each.algorithm.extent if isinstance(each.algorithm, Preparation) else (1, 1) for each in elements]
    return sum(count for count, _ in extents), 1 + max((depth for _, depth in extents), default=0)


def element_named(elements: Sequence[Element], name: str) -> Element:
    """The one of a name. Raises `KeyError` if there is none."""
    return {each.name: each for each in elements}[name]


def own_parameters(parameters: Parameters, name: str) -> dict[str, NDArray[np.float64]]:
    """Those of one element, under its own names."""
    start = f"{name}:"
    return {each[len(start) :]: array for each, array in parameters.items() if each.startswith(start)}


def check_own(elements: Sequence[Element], parameters: Parameters) -> None:
    """Raise `ValueError` for parameters of none of the elements."""
    names = {each.name for each in elements if each.algorithm is not None}
    if any(name.partition(":")[0] not in names or ":" not in name for name in parameters):
        raise ValueError


def fit_element(element: Element, examples: Any, measurer: Measurer, share: Fraction) -> dict[str, Any]:
    """Its parameters with its name in front, for a share of what the measurer has."""
    if element.algorithm is None:
        return {}
    parameters = element.algorithm.fit(examples, Part(measurer, element.name, share))
    return {f"{element.name}:{name}": array for name, array in parameters.items()}


def element_norms(element: Element, inputs: Inputs, step: str) -> RowNorms:
    """What a row adds to a step of it. Raises `KeyError` if it has none of that name."""
    if element.algorithm is None:
        raise KeyError(step)
    return element.algorithm.row_norms(inputs, step)


class Part(Measurer):
    """The measurer of one element: its steps have its name in front, and its whole is a share of another's."""

    def __init__(self, measurer: Measurer, name: str, share: Fraction) -> None:
        self._measurer, self._name, self._share = measurer, name, share
        self._before = measurer.left

    @property
    def currency(self) -> str:
        return self._measurer.currency

    @property
    def left(self) -> Fraction:
        return 1 - (self._before - self._measurer.left) / self._share if self._share else Fraction(0)

    def noise_of(self, name: str, share: Fraction) -> Additive:
        return self._measurer.noise_of(self._named(name), share * self._share)

    def measure(self, name: str, sums: NDArray[Any], noise: Additive) -> NDArray[np.float64]:
        return self._measurer.measure(self._named(name), sums, noise)

    def choose_in_parts(self, name: str, scores: Any, share: Fraction) -> list[int]:
        return self._measurer.choose_in_parts(self._named(name), scores, share * self._share)

    def _named(self, name: str) -> str:
        return f"{self._name}:{name}"
