"""Choice among several classifiers, all of which are paid for. Proof: ``proofs/learning_search.md``."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import Inputs, Places
from discreet.learn._steps import Measurer, RowNorms
from discreet.learn.algorithms._algorithm import Algorithm, Parameters, Task
from discreet.learn.algorithms._registry import algorithm_from_json, enlist
from discreet.prices import Additive

__all__ = ["SearchAlgorithm"]

_CHOOSING = Fraction(1, 10)
_MOST = 100
_LONGEST = 100_000


@dataclass(frozen=True)
class SearchAlgorithm(Algorithm):
    """Fits each candidate with its part of the spend, and chooses one by how many rows it predicts rightly.

    `candidates` is a list of classifiers as JSON, each as its `to_json` gives it.
    """

    candidates: str = '[{"name": "naive_bayes", "bins": 4}, {"name": "naive_bayes", "bins": 16}]'
    name: ClassVar[str] = "search"
    task: ClassVar[Task] = "classification"

    @classmethod
    def among(cls, candidates: list[Algorithm]) -> SearchAlgorithm:
        """A search among these."""
        return cls(json.dumps([each.to_json() for each in candidates], sort_keys=True))

    @cached_property
    def algorithms(self) -> tuple[Algorithm, ...]:
        """The candidates. Raises `ParameterError` for what is no list of two classifiers or more."""
        try:
            if not isinstance(self.candidates, str) or len(self.candidates) > _LONGEST:  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError
            listed: Any = json.loads(self.candidates)
            algorithms = [algorithm_from_json(each) for each in listed]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ParameterError("candidates is a list of algorithms as JSON, each as its to_json gives it") from None
        if not 2 <= len(algorithms) <= _MOST or len(set(algorithms)) < len(algorithms):
            raise ParameterError(f"a search is among 2 to {_MOST} different candidates")
        if any(each.task != "classification" or isinstance(each, SearchAlgorithm) for each in algorithms):
            raise ParameterError("a search chooses among classifiers, by how many rows each predicts rightly")
        return tuple(algorithms)

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` unless every candidate takes the inputs."""
        for each in self.algorithms:
            each.check(inputs)

    def allowed(self) -> tuple[str, ...]:
        """The currencies in which every candidate can be fitted."""
        return tuple(name for name in self.currencies if all(name in each.allowed() for each in self.algorithms))

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """Of a candidate's step what the candidate says; a row is predicted rightly or not."""
        if step == "right":
            return RowNorms(1, 1)
        place, _, own = step.partition(":")
        candidates = {str(i): each for i, each in enumerate(self.algorithms)}
        return candidates[place].row_norms(inputs, own)

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """The parameters of the candidate that was chosen, with its place."""
        inputs, part = examples.inputs, (1 - _CHOOSING) / len(self.algorithms)
        fitted = [each.fit(examples, _Part(measurer, i, part)) for i, each in enumerate(self.algorithms)]
        right = np.zeros(len(fitted), np.int64)
        for row in range(examples.rows):  # one by one, so that no row changes what is predicted of another
            values = examples.numbers[row : row + 1], examples.cells[row : row + 1]
            for i, (each, parameters) in enumerate(zip(self.algorithms, fitted, strict=True)):
                with np.errstate(all="ignore"):
                    right[i] += each.outputs(inputs, parameters, *values)[0].argmax() == examples.target[row]
        chosen = measurer.choose("right", right, _CHOOSING)
        return {"chosen": np.array([float(chosen)]), **fitted[chosen]}

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless they are a candidate's, with its place."""
        self.chosen(parameters).check_parameters(inputs, self.parameters_of_chosen(parameters))

    def outputs(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> NDArray[np.float64]:
        """The probability of each class, by the candidate that was chosen."""
        own = self.parameters_of_chosen(parameters)
        return self.chosen(parameters).outputs(inputs, own, numbers, cells)

    def chosen(self, parameters: Parameters) -> Algorithm:
        """The candidate that was chosen. Raises `ValueError` if the parameters name none."""
        chosen = parameters.get("chosen")
        if chosen is None or chosen.shape != (1,) or chosen[0] not in range(len(self.algorithms)):
            raise ValueError
        return self.algorithms[int(chosen[0])]

    def parameters_of_chosen(self, parameters: Parameters) -> Parameters:
        """The parameters that are the candidate's own."""
        return {name: array for name, array in parameters.items() if name != "chosen"}


class _Part(Measurer):
    """The measurer of one candidate: its steps have its place in front, and its whole is a part of the spend."""

    def __init__(self, measurer: Measurer, place: int, part: Fraction) -> None:
        self._measurer, self._place, self._part = measurer, place, part
        self._before = measurer.left

    @property
    def currency(self) -> str:
        return self._measurer.currency

    @property
    def left(self) -> Fraction:
        return 1 - (self._before - self._measurer.left) / self._part

    def noise_of(self, name: str, share: Fraction) -> Additive:
        return self._measurer.noise_of(self._named(name), share * self._part)

    def measure(self, name: str, sums: NDArray[Any], noise: Additive) -> NDArray[np.float64]:
        return self._measurer.measure(self._named(name), sums, noise)

    def choose_in_parts(self, name: str, scores: Any, share: Fraction) -> list[int]:
        return self._measurer.choose_in_parts(self._named(name), scores, share * self._part)

    def _named(self, name: str) -> str:
        return f"{self._place}:{name}"


enlist(SearchAlgorithm)
