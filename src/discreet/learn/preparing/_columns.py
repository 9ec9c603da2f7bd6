"""Some columns prepared in one way, others in another, side by side. Proof: ``proofs/learning_preparing.md``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import Inputs, Places
from discreet.learn._steps import Measurer, RowNorms
from discreet.learn.algorithms._algorithm import Parameters
from discreet.learn.preparing._element import (
    Column,
    Element,
    check_elements,
    check_own,
    columns_from_json,
    element_named,
    element_norms,
    elements_from_json,
    extent_of,
    fit_element,
    own_parameters,
)
from discreet.learn.preparing._preparation import Preparation, check_features
from discreet.learn.preparing._scaler import ScalerAlgorithm

__all__ = ["ColumnsAlgorithm"]

_REST = "remainder"
_DEFAULT = (Element("numbers", ScalerAlgorithm(), Fraction(1), (0,)),)


@dataclass(frozen=True)
class ColumnsAlgorithm(Preparation):
    """Each part prepares columns of its own, all of them the rows as they came; what comes of it is side by side.

    A column that is in two parts is prepared twice, and paid twice if that is bought. Columns in no part stay as they
    are behind the others, if `keeps_rest`, but those that are `dropped`. Prepared columns have the name of their part,
    two underscores, and their own.
    """

    parts: tuple[Element, ...] = _DEFAULT
    keeps_rest: bool = True
    dropped: tuple[Column, ...] = ()
    name: ClassVar[str] = "columns"

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` for columns that are not there, parts that do not take theirs, or nothing left."""
        check_elements(self.parts)
        if not isinstance(self.keeps_rest, bool) or not isinstance(self.dropped, tuple):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("keeps_rest is True or False, and dropped a tuple of columns")
        for each, own, _ in self._blocks(inputs):
            if each.name == _REST:
                continue
            if each.algorithm is not None and not isinstance(each.algorithm, Preparation):
                raise ParameterError(f"{each.name} does not prepare columns; a model is the last step of a pipeline")
            if each.algorithm is not None:
                each.algorithm.check(own)
            if each.buys(own) and not each.share:
                raise ParameterError(f"{each.name} has no share of the spend")
        if any(each.name == _REST for each in self.parts):
            raise ParameterError(f"{_REST} names the columns that are in no part")
        check_features(self.prepared(inputs))

    @property
    def may_buy(self) -> bool:
        """Whether a part may."""
        return any(isinstance(each.algorithm, Preparation) and each.algorithm.may_buy for each in self.parts)

    @property
    def extent(self) -> tuple[int, int]:
        """All of its parts, and one deeper than they are."""
        return extent_of(self.parts)

    def buys(self, inputs: Inputs) -> bool:
        """Whether a part does."""
        return any(each.buys(own) for each, own, _ in self._blocks(inputs))

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """Of a part's step what the part says."""
        name, _, own = step.partition(":")
        part = element_named(self.parts, name)
        return element_norms(part, _selected(inputs, _resolved(inputs, part.columns)), own)

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """The parameters of each part."""
        inputs = examples.inputs
        parameters: dict[str, Any] = {}
        for each, own, places in self._blocks(inputs):
            numbers, cells = _values(inputs, places, examples.numbers, examples.cells)
            rows = replace(examples, inputs=own, numbers=numbers, cells=cells)
            parameters.update(fit_element(each, rows, measurer, each.share))
        return parameters

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless they are those of the parts."""
        check_own(self.parts, parameters)
        for each, own, _ in self._blocks(inputs):
            if each.algorithm is not None:
                each.algorithm.check_parameters(own, own_parameters(parameters, each.name))

    def prepared(self, inputs: Inputs) -> Inputs:
        """The columns of each part, one part after the other."""
        features = [
            replace(feature, name=f"{each.name}__{feature.name}")
            for each, own, _ in self._blocks(inputs)
            for feature in _after(each, own).features
        ]
        return Inputs(tuple(features), inputs.target)

    def apply(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> tuple[Places, Places]:
        """Each part's own columns, prepared by it."""
        blocks: list[tuple[Places, Places]] = []
        for each, own, places in self._blocks(inputs):
            values = _values(inputs, places, numbers, cells)
            if isinstance(each.algorithm, Preparation):
                values = each.algorithm.apply(own, own_parameters(parameters, each.name), *values)
            blocks.append(values)
        levels, places = (np.concatenate(each, axis=1) for each in zip(*blocks, strict=True))
        return levels, places

    def _blocks(self, inputs: Inputs) -> Iterator[tuple[Element, Inputs, list[int]]]:
        """Each part with its own inputs and their places, and what is left of them, if it is kept and there is any."""
        used = set(_resolved(inputs, self.dropped)) if self.dropped else set[int]()
        for each in self.parts:
            places = _resolved(inputs, each.columns)
            used.update(places)
            yield each, _selected(inputs, places), places
        left = [i for i in range(len(inputs.features)) if i not in used]
        if self.keeps_rest and left:
            yield Element(_REST, None), _selected(inputs, left), left

    def to_json(self) -> dict[str, Any]:
        """Its parts as plain JSON."""
        return {
            "name": self.name,
            "parts": [each.to_json() for each in self.parts],
            "keeps_rest": self.keeps_rest,
            "dropped": list(self.dropped),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Restore it from JSON that is not trusted. Raises `ValueError` or `ParameterError` for what is none."""
        if set(data) != {"name", "parts", "keeps_rest", "dropped"} or not isinstance(data["keeps_rest"], bool):
            raise ValueError
        return cls(elements_from_json(data["parts"]), data["keeps_rest"], columns_from_json(data["dropped"]))

    def fitted_parts(self, inputs: Inputs, parameters: Parameters) -> Iterator[tuple[Element, Inputs, Parameters]]:
        """Each part with what it is given, and its own parameters."""
        for each, own, _ in self._blocks(inputs):
            yield each, own, own_parameters(parameters, each.name)


def _resolved(inputs: Inputs, columns: tuple[Column, ...]) -> list[int]:
    """The places of columns. Raises `ParameterError` for one that is not there, or is there twice."""
    names = [each.name for each in inputs.features]
    places: list[int] = []
    for each in columns:
        if isinstance(each, str) and names.count(each) == 1:
            places.append(names.index(each))
        elif isinstance(each, int) and 0 <= each < len(names):
            places.append(each)
        else:
            raise ParameterError(f"there is no column {each!r}, or two; there are {', '.join(names)}")
    if not places or len(set(places)) < len(places):
        raise ParameterError("a part prepares one column or more, each once")
    return places


def _selected(inputs: Inputs, places: list[int]) -> Inputs:
    return Inputs(tuple(inputs.features[i] for i in places), inputs.target)


def _values(inputs: Inputs, places: list[int], numbers: Places, cells: Places) -> tuple[Places, Places]:
    """The levels and cells of some of the columns."""
    before = np.cumsum([0, *(each.is_number for each in inputs.features)])
    levels = [int(before[i]) for i in places if inputs.features[i].is_number]
    others = [i - int(before[i]) for i in places if not inputs.features[i].is_number]
    return numbers[:, levels], cells[:, others]


def _after(element: Element, inputs: Inputs) -> Inputs:
    return element.algorithm.prepared(inputs) if isinstance(element.algorithm, Preparation) else inputs
