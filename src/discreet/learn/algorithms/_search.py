"""Choice among several models, by a score that is paid for. Proof: ``proofs/learning_search.md``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import LedgerError, ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import LEVELS, MISSING, Inputs, Places
from discreet.learn._steps import Measurer, RowNorms
from discreet.learn.algorithms._algorithm import Algorithm, Asked, Parameters, Task
from discreet.learn.algorithms._registry import algorithm_from_json, enlist
from discreet.learn.selection import CHOOSING, Tries, loss_of_best, prices_of_try
from discreet.prices import Additive, Prices
from discreet.privacy import Loss, from_json
from discreet.rational import from_exact_text

__all__ = ["MOST_CANDIDATES", "SearchAlgorithm"]

MOST_CANDIDATES = 1_000
"""How many models a search is among at most."""
_LONGEST = 1_000_000
_LONGEST_PRICE = 100
_WIDTH = 4
"""Errors of more than this part of the width of a target's bounds count as if they were so large."""
_ROWS = 1 << 12
_OWN = ("chosen", "score")


@dataclass(frozen=True)
class SearchAlgorithm(Algorithm):
    """Chooses one of several models by a score: how many rows each predicts rightly, or how closely.

    `candidates` is a list of classifiers, or of regressions, as JSON, each as its `to_json` gives it. If `tries` is
    empty, each is fitted with its part of the spend, and a part chooses. Else it is a `Tries` as JSON: that many times,
    which is secret, one of the candidates is drawn, fitted and scored, and the best of these tries is shown alone.
    """

    candidates: str = '[{"name": "naive_bayes", "bins": 4}, {"name": "naive_bayes", "bins": 16}]'
    tries: str = ""
    name: ClassVar[str] = "search"

    @classmethod
    def among(cls, candidates: Sequence[Algorithm], tries: Tries | None = None) -> SearchAlgorithm:
        """A search among these, by a number of tries or by paying for all."""
        listed = json.dumps([each.to_json() for each in candidates], sort_keys=True)
        return cls(listed, "" if tries is None else json.dumps(tries.to_json(), sort_keys=True))

    @property
    def task(self) -> Task:  # pyright: ignore[reportIncompatibleVariableOverride] - that of what is searched
        """Classification or regression, as the candidates."""
        return self.algorithms[0].task

    @cached_property
    def algorithms(self) -> tuple[Algorithm, ...]:
        """The candidates. Raises `ParameterError` for what is no list of two models or more, of one kind."""
        try:
            listed: Any = json.loads(_text(self.candidates))
            algorithms = [algorithm_from_json(each) for each in listed]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise ParameterError("candidates is a list of algorithms as JSON, each as its to_json gives it") from None
        if not 2 <= len(algorithms) <= MOST_CANDIDATES or len(set(algorithms)) < len(algorithms):
            raise ParameterError(f"a search is among 2 to {MOST_CANDIDATES:,} different candidates")
        if any(isinstance(each, SearchAlgorithm) for each in algorithms) or {each.task for each in algorithms} not in (
            {"classification"},
            {"regression"},
        ):
            raise ParameterError(
                "a search chooses among classifiers, by how many rows each predicts rightly, or among regressions, by "
                "how closely"
            )
        return tuple(algorithms)

    @cached_property
    def number_of_tries(self) -> Tries | None:
        """The distribution of how many tries there are; None if all are paid for. Raises `ParameterError`."""
        try:
            return Tries.from_json(json.loads(_text(self.tries))) if self.tries else None
        except (ValueError, KeyError, TypeError, RecursionError, AttributeError):
            raise ParameterError("tries is a number of tries as JSON, as its to_json gives it, or empty") from None

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` unless every candidate takes the inputs."""
        _ = self.number_of_tries
        for each in self.algorithms:
            each.check(inputs)

    def allowed(self) -> tuple[str, ...]:
        """The currencies in which every candidate can be fitted."""
        return tuple(name for name in self.currencies if all(name in each.allowed() for each in self.algorithms))

    def budget(self, spend: Loss) -> tuple[Prices, Tries | None]:
        """The spend, or what one try may spend, so that the best of all is within it."""
        tries = self.number_of_tries
        return super().budget(spend) if tries is None else (prices_of_try(spend, tries), tries)

    def loss_of(self, steps: Fraction, certificate: Mapping[str, Any]) -> Loss:
        """That of the steps; or of the best of all tries, if the steps of the best are within what one may spend."""
        tries = self.number_of_tries
        if tries is None:
            return super().loss_of(steps, certificate)
        one_try = from_exact_text(_text(certificate["one_try"], _LONGEST_PRICE))
        if steps > one_try:
            raise LedgerError("the steps of the try that is shown cost more than is stated of one try")
        return loss_of_best(certificate["currency"], one_try, tries, from_json(certificate["loss"]))

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """Of a candidate's step what the candidate says; a row is predicted rightly or not, or more or less closely."""
        if step == self._scored:
            most = 1 if step == "right" else LEVELS
            return RowNorms(most, most * most)
        place, _, own = step.partition(":")
        candidates = {str(i): each for i, each in enumerate(self.algorithms)}
        return candidates[place].row_norms(inputs, own)

    def rehearse(self, nobody: Examples, measurer: Measurer) -> None:
        """Each candidate once, whether or not a fit would draw it."""
        if measurer.tries is None:
            super().rehearse(nobody, measurer)
            return
        for place in range(len(self.algorithms)):
            self._try(nobody, measurer.one_try(), place)

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """The parameters of the candidate that was chosen, with its place; of tries with its noisy score too."""
        return self._fit_all(examples, measurer) if not self.tries else self._fit_tries(examples, measurer)

    def _fit_all(self, examples: Examples, measurer: Measurer) -> Parameters:
        part = (1 - CHOOSING) / len(self.algorithms)
        fitted = [each.fit(examples, _Part(measurer, i, part)) for i, each in enumerate(self.algorithms)]
        chosen = measurer.choose(self._scored, self._scores(examples, list(enumerate(fitted))), CHOOSING)
        return {"chosen": np.array([float(chosen)]), **fitted[chosen]}

    def _fit_tries(self, examples: Examples, measurer: Measurer) -> Parameters:
        """The first of the best ones. Tries are alike, so the first of equals is as good as any: see the proof."""
        best: tuple[float, Measurer, Parameters] | None = None
        for place in measurer.draw_tries(len(self.algorithms)):
            one_try = measurer.one_try()
            parameters = self._try(examples, one_try, place)
            score = float(parameters["score"][0])
            if best is None or score > best[0]:
                best = score, one_try, parameters
        assert best is not None
        measurer.show(best[1])
        return best[2]

    def _try(self, examples: Examples, measurer: Measurer, place: int) -> Parameters:
        """One candidate, fitted and scored with all that a try may spend."""
        fitted = self.algorithms[place].fit(examples, _Part(measurer, place, 1 - CHOOSING))
        exact = self._scores(examples, [(place, fitted)])
        score = measurer.measure(self._scored, exact, measurer.noise_of(self._scored, CHOOSING))
        return {"chosen": np.array([float(place)]), "score": score, **fitted}

    @property
    def _scored(self) -> str:
        return "right" if self.task == "classification" else "close"

    def _scores(self, examples: Examples, fitted: Sequence[tuple[int, Parameters]]) -> NDArray[np.int64]:
        """The score of each: a sum over rows, of what depends on one of them alone."""
        inputs, scores = examples.inputs, np.zeros(len(fitted), np.int64)
        for start in range(0, examples.rows, _ROWS):
            rows = slice(start, start + _ROWS)
            numbers, cells, target = examples.numbers[rows], examples.cells[rows], examples.target[rows]
            for i, (place, parameters) in enumerate(fitted):
                with np.errstate(all="ignore"):
                    predicted = self.algorithms[place].outputs(inputs, parameters, numbers, cells)
                scores[i] += (
                    (predicted.argmax(axis=1) == target).sum()
                    if self._scored == "right"
                    else _close(inputs, predicted[:, 0], target)
                )
        return scores

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless they are a candidate's, with its place, and of tries its score."""
        if ("score" in parameters) != bool(self.tries) or parameters.get("score", np.zeros(1)).shape != (1,):
            raise ValueError
        self.chosen(parameters).check_parameters(inputs, self.parameters_of_chosen(parameters))

    def outputs(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> NDArray[np.float64]:
        """The probability of each class, or the number, by the candidate that was chosen."""
        own = self.parameters_of_chosen(parameters)
        return self.chosen(parameters).outputs(inputs, own, numbers, cells)

    def behind_preparations(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> Asked:
        """That of the candidate that was chosen."""
        own = self.parameters_of_chosen(parameters)
        return self.chosen(parameters).behind_preparations(inputs, own, numbers, cells)

    def chosen(self, parameters: Parameters) -> Algorithm:
        """The candidate that was chosen. Raises `ValueError` if the parameters name none."""
        chosen = parameters.get("chosen")
        if chosen is None or chosen.shape != (1,) or chosen[0] not in range(len(self.algorithms)):
            raise ValueError
        return self.algorithms[int(chosen[0])]

    def parameters_of_chosen(self, parameters: Parameters) -> Parameters:
        """The parameters that are the candidate's own."""
        return {name: array for name, array in parameters.items() if name not in _OWN}


def _close(inputs: Inputs, predicted: NDArray[np.float64], target: Places) -> int:
    """How close numbers are to levels: from 0 to `LEVELS` for each row, by the square of the error."""
    assert inputs.target is not None
    levels = inputs.target.levels(predicted).astype(np.int64)
    errors = np.where(levels == MISSING, LEVELS, np.minimum(_WIDTH * np.abs(levels - target), LEVELS))
    return int((LEVELS - errors * errors // LEVELS).sum())


def _text(value: object, longest: int = _LONGEST) -> str:
    if not isinstance(value, str) or len(value) > longest:
        raise ValueError
    return value


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

    def draw(self, weights: NDArray[np.float64], count: int) -> NDArray[np.int64]:
        return self._measurer.draw(weights, count)

    def _named(self, name: str) -> str:
        return f"{self._place}:{name}"


enlist(SearchAlgorithm)
