"""Models of anonymity, with fit and transform as scikit-learn has them."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from discreet.anonymize._anonymized import Anonymized, anonymized
from discreet.anonymize._parameters import METHODS, check_columns, check_conditions, check_k, problem_of
from discreet.anonymize.algorithms import Problem, settled
from discreet.anonymize.conditions import Condition, LDiversity, PopulationSize, Presence, TCloseness
from discreet.anonymize.hierarchies import Hierarchy
from discreet.anonymize.tables import Frame, read_columns, read_frame, with_population
from discreet.errors import ParameterError

__all__ = ["DeltaPresence", "KAnonymity", "KMap", "Model"]

_PRESENT = "is in the table"


@dataclass(eq=False, repr=False)
class _Options:
    """Parameters of every model, by name alone."""

    _: KW_ONLY
    hierarchies: str | Path | Mapping[str, Hierarchy] | None = None
    weights: Mapping[str, float] | None = None
    other: Sequence[str] = ()
    method: str = "best"
    suppression: float = 0.0


class Model(_Options, ABC):
    """What is asked of a table's classes, and how it is divided. Parameters are attributes of the same names."""

    quasi: Sequence[str]
    sensitive: Sequence[str]

    @abstractmethod
    def _stated(self) -> dict[str, Any]:
        """The model with its own parameters, for the certificate."""

    @abstractmethod
    def _divided(self, frame: Frame) -> tuple[Problem, list[Condition]]:
        """What the table is divided by; rows of the table come first, those of a population after them."""

    def fit_transform(self, table: object, y: object = None) -> Anonymized:  # noqa: ARG002 - as scikit-learn has it
        """Divide a table into classes and give it with coarser cells.

        Raises
        ------
        ParameterError
            For a k larger than the table, columns that are missing, named twice or cannot be read, hierarchies without
            a value, conditions that the table as one class does not satisfy, and more suppression than is allowed.
        """
        check_columns(self.quasi, self.sensitive, self.other)
        if self.method not in METHODS:
            raise ParameterError(f"the method is one of {', '.join(METHODS)}; not {self.method!r}")
        if not 0 <= self.suppression <= 1:
            raise ParameterError(f"suppression is a share of rows from 0 to 1, not {self.suppression!r}")
        frame = read_frame(table)
        read_columns(frame, [*self.sensitive, *self.other], "sensitive or other")
        problem, conditions = self._divided(frame)
        check_satisfiable(problem)
        classes = settled(problem, METHODS[self.method](problem))
        rows = frame.table.num_rows
        lost = float((classes[:rows] < 0).mean())
        if lost > self.suppression:
            raise ParameterError(
                f"{self.method} would suppress {lost:.1%} of the rows, and suppression allows {self.suppression:.1%}: "
                "allow more, lower k, or use method='best', which suppresses none"
            )
        stated = {
            **self._stated(),
            "method": self.method,
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            "other": list(self.other),
            "conditions": [each.to_json() for each in conditions],
        }
        return anonymized(frame, problem, classes, stated, [*self.sensitive, *self.other])

    def fit(self, table: object, y: object = None) -> Self:  # noqa: ARG002 - as scikit-learn has it
        """Divide a table into classes, for `transform`. Raises `ParameterError` as `fit_transform`."""
        self.fitted_ = self.fit_transform(table)
        return self

    def transform(self, table: object) -> Anonymized:
        """The table that was fitted, with coarser cells.

        Classes are of these rows alone: others in their cells would be no part of any class of k.
        Raises `ParameterError` for another table, or before `fit`.
        """
        fitted: Anonymized | None = getattr(self, "fitted_", None)
        if fitted is None:
            raise ParameterError("fit the table first, or call fit_transform")
        if not fitted.is_made_of(read_columns(read_frame(table), self.quasi, "quasi")):
            raise ParameterError("classes hold for the rows that were fitted alone: call fit_transform on this table")
        return fitted

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002 - as scikit-learn has it
        """The parameters by name, as scikit-learn's `clone` reads them."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name. Raises `ParameterError` for others."""
        left = set(parameters) - set(self.get_params())
        if left:
            raise ParameterError(f"there is no parameter {sorted(left)[0]}")
        for name, value in parameters.items():
            setattr(self, name, value)
        return self


def check_satisfiable(problem: Problem) -> None:
    """Raise `ParameterError` unless the table as one class satisfies everything."""
    if problem.rows < problem.k:
        raise ParameterError(f"the table has {problem.rows:,} rows, fewer than k = {problem.k:,}: lower k")
    one = np.zeros(problem.rows, np.int64)
    for spread in problem.spreads:
        if not spread.holds_of(one, 1).all():
            raise ParameterError(
                f"the condition on {spread.column.name} does not hold even of the table as one class: ask for less"
            )


@dataclass(eq=False, repr=False)
class KAnonymity(Model):
    """Coarsens quasi-identifiers until every row looks like k − 1 others at least, and sensitive columns vary within.

    It is a condition on the table, and not differential privacy: see `Anonymized.certificate` for what it does not
    promise.

    Parameters
    ----------
    k
        The smallest class.
    quasi
        The columns by which a person may be recognised.
    sensitive
        Columns that are published as they are, which nobody is to learn of a person.
    l
        Every class has l different values of each sensitive column (p-sensitivity is the same).
    t
        The earth mover's distance of each class from the table is at most t, where all values are 1 apart.
    conditions
        Others: `LDiversity`, `TCloseness`.
    hierarchies
        A TOML file, or a hierarchy for a column: its cells are ancestors in it.
    weights
        How much a loss in a column counts; 1 if it is not named.
    other
        More columns that are published as they are, at one's own risk. All others are left out.
    method
        ``"best"`` weighs every cut by the loss that it saves; ``"fast"`` cuts at medians; ``"full-domain"`` has one
        level for each column, the best of all, and others for the rows that would be suppressed (``"full-domain without
        recoding"`` suppresses them); ``"datafly"`` and ``"microaggregation"`` are baselines.
    suppression
        The largest share of rows that may be left out.

    Source: Samarati and Sweeney 1998; LeFevre, DeWitt and Ramakrishnan 2006.

    >>> table = pa.table({"age": [31, 32, 47, 49], "town": ["A", "A", "A", "B"], "illness": ["flu", "gout"] * 2})
    >>> out = KAnonymity(k=2, quasi=["age", "town"], sensitive=["illness"], l=2).fit_transform(table)
    >>> out.table.column("age").to_pylist()
    ['[31, 32]', '[31, 32]', '[47, 49]', '[47, 49]']
    >>> out.verdict.k
    2
    """

    k: int
    quasi: Sequence[str]
    sensitive: Sequence[str] = ()
    _: KW_ONLY
    l: int | None = None  # noqa: E741 - as the field calls it
    t: float | None = None
    conditions: Sequence[Condition] = ()

    def _stated(self) -> dict[str, Any]:
        return {"model": "k-anonymity", "k": self.k}

    def _divided(self, frame: Frame) -> tuple[Problem, list[Condition]]:
        conditions = list(self.conditions)
        if (self.l is not None or self.t is not None) and not self.sensitive:
            raise ParameterError("l and t are of sensitive columns: name them, as in sensitive=['salary']")
        if self.l is not None:
            conditions += [LDiversity(name, self.l) for name in self.sensitive]
        if self.t is not None:
            conditions += [TCloseness(name, self.t) for name in self.sensitive]
        check_conditions(conditions, self.sensitive)
        k = check_k(self.k)
        return problem_of(frame, self.quasi, k, conditions, self.hierarchies, self.weights), conditions


@dataclass(eq=False, repr=False)
class KMap(Model):
    """Every class of the table looks like k people of the population at least, who need not be in the table.

    Parameters are those of `KAnonymity`, and `population`: a table with the same quasi-identifiers of all people among
    whom somebody might look. Source: Sweeney 2001.
    """

    k: int
    quasi: Sequence[str]
    population: Any
    sensitive: Sequence[str] = ()

    def _stated(self) -> dict[str, Any]:
        return {"model": "k-map", "k": self.k}

    def _divided(self, frame: Frame) -> tuple[Problem, list[Condition]]:
        return _divided_in_population(self, frame, self.population, PopulationSize(_PRESENT, check_k(self.k)))


@dataclass(eq=False, repr=False)
class DeltaPresence(Model):
    """Of the people of the population who look alike, between two shares are in the table.

    Parameters are those of `KAnonymity`, and `population`: a table with the same quasi-identifiers of all people among
    whom somebody might look, those in the table too; `low` and `high`, the shares. Source: Nergiz, Atzori and Clifton
    2007.
    """

    low: float
    high: float
    quasi: Sequence[str]
    population: Any
    sensitive: Sequence[str] = ()

    def _stated(self) -> dict[str, Any]:
        return {"model": "δ-presence", "low": self.low, "high": self.high}

    def _divided(self, frame: Frame) -> tuple[Problem, list[Condition]]:
        return _divided_in_population(self, frame, self.population, Presence(_PRESENT, self.low, self.high))


def _divided_in_population(
    model: Model, frame: Frame, population: object, condition: Condition
) -> tuple[Problem, list[Condition]]:
    """The table with the population after it; each class satisfies a condition on how many of it are in the table."""
    names = list(model.quasi)
    people = read_frame(population)
    both = with_population(frame, people, names)
    present = pa.array(["in"] * frame.table.num_rows + ["population"] * people.table.num_rows)
    marked = Frame(both.table.append_column(_PRESENT, present), frame.restore)
    return problem_of(marked, names, 1, [condition], model.hierarchies, model.weights), [condition]
