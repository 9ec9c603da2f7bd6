"""k-anonymity and what may be asked beside it, with fit and transform as scikit-learn has them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pyarrow as pa

from discreet.anonymize._anonymized import LIMITS, Anonymized
from discreet.anonymize._cells import cell_texts
from discreet.anonymize.algorithms import Problem, Spread, best_mondrian, fast_mondrian
from discreet.anonymize.conditions import Condition, LDiversity, TCloseness
from discreet.anonymize.hierarchies import Hierarchy, load_hierarchies
from discreet.anonymize.losses import losses_of
from discreet.anonymize.tables import Codes, Column, Frame, read_columns, read_frame
from discreet.anonymize.verification import verify
from discreet.errors import ParameterError

__all__ = ["KAnonymity"]

_METHODS = {"best": best_mondrian, "fast": fast_mondrian}


class KAnonymity:
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
        Every class has l different values of each sensitive column.
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
        ``"best"`` weighs every cut by the loss that it saves, ``"fast"`` cuts at medians.

    Source: Samarati and Sweeney 1998; LeFevre, DeWitt and Ramakrishnan 2006.

    >>> table = pa.table({"age": [31, 32, 47, 49], "town": ["A", "A", "A", "B"], "illness": ["flu", "gout"] * 2})
    >>> out = KAnonymity(k=2, quasi=["age", "town"], sensitive=["illness"], l=2).fit_transform(table)
    >>> out.table.column("age").to_pylist()
    ['[31, 32]', '[31, 32]', '[47, 49]', '[47, 49]']
    >>> out.verdict.k
    2
    """

    def __init__(  # noqa: PLR0913
        self,
        k: int,
        quasi: Sequence[str],
        sensitive: Sequence[str] = (),
        *,
        l: int | None = None,  # noqa: E741
        t: float | None = None,
        conditions: Sequence[Condition] = (),
        hierarchies: str | Path | Mapping[str, Hierarchy] | None = None,
        weights: Mapping[str, float] | None = None,
        other: Sequence[str] = (),
        method: Literal["best", "fast"] = "best",
    ) -> None:
        self.k, self.quasi, self.sensitive = k, quasi, sensitive
        self.l, self.t, self.conditions = l, t, conditions
        self.hierarchies, self.weights, self.other, self.method = hierarchies, weights, other, method

    def fit_transform(self, table: object, y: object = None) -> Anonymized:  # noqa: ARG002 - as scikit-learn has it
        """Divide a table into classes and give it with coarser cells.

        Raises
        ------
        ParameterError
            For a k larger than the table, columns that are missing, named twice or cannot be read, hierarchies without
            a value, and conditions that the table as one class does not satisfy.
        """
        self._check()
        frame = read_frame(table)
        problem = self._problem(frame)
        one = np.zeros(problem.rows, np.int64)
        if problem.rows < problem.k:
            raise ParameterError(f"the table has {problem.rows:,} rows, fewer than k = {problem.k:,}: lower k")
        for spread in problem.spreads:
            if not spread.holds_of(one, 1).all():
                raise ParameterError(
                    f"{spread.column.name} does not vary enough even in the table as one class: lower l, or raise t"
                )
        classes = _METHODS[self.method](problem)
        return self._result(frame, problem, classes)

    def _check(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"k is a whole number of rows, 1 or more, not {self.k!r}")
        if self.method not in _METHODS:
            raise ParameterError(f"the method is {' or '.join(_METHODS)}, not {self.method!r}")
        for called, names in (("quasi", self.quasi), ("sensitive", self.sensitive), ("other", self.other)):
            if isinstance(names, str):
                raise ParameterError(f"{called} is a list of columns: {called}=[{names!r}]")
        if not self.quasi:
            raise ParameterError("name the quasi-identifiers: quasi=['age', 'sex']")
        for name in [*self.sensitive, *self.other]:
            if name in self.quasi:
                raise ParameterError(
                    f"the column {name} is a quasi-identifier, and named as one that is published as it is: choose one"
                )
        left = [name for name in self.weights or {} if name not in self.quasi]
        if left:
            raise ParameterError(f"weights names {left[0]}, which is no quasi-identifier")
        if any(not (weight > 0 and np.isfinite(weight)) for weight in (self.weights or {}).values()):
            raise ParameterError("weights are positive numbers")

    def _problem(self, frame: Frame) -> Problem:
        quasi = read_columns(frame, self.quasi, "quasi")
        conditions = self._conditions()
        sensitive = {each.name: each for each in read_columns(frame, self.sensitive, "sensitive")}
        trees = self._trees({each.name: each for each in quasi})
        return Problem(
            quasi,
            self.k,
            tuple(Spread(sensitive[each.column], each.check(sensitive[each.column])) for each in conditions),
            tuple(float((self.weights or {}).get(each.name, 1)) for each in quasi),
            tuple(trees.get(each.name) for each in quasi),
        )

    def _conditions(self) -> list[Condition]:
        conditions = list(self.conditions)
        if self.l is not None:
            conditions += [LDiversity(name, self.l) for name in self.sensitive]
        if self.t is not None:
            conditions += [TCloseness(name, self.t) for name in self.sensitive]
        if (self.l is not None or self.t is not None) and not self.sensitive:
            raise ParameterError("l and t are of sensitive columns: name them, as in sensitive=['salary']")
        for each in conditions:
            if each.column not in self.sensitive:
                raise ParameterError(f"a condition names {each.column}, which is not among the sensitive columns")
        return conditions

    def _trees(self, columns: Mapping[str, Column]) -> Mapping[str, Hierarchy]:
        match self.hierarchies:
            case None:
                return {}
            case str() | Path():
                return load_hierarchies(self.hierarchies, columns)
            case _:
                left = [name for name in self.hierarchies if name not in columns]
                if left:
                    raise ParameterError(f"hierarchies names {left[0]}, which is no quasi-identifier")
                return self.hierarchies

    def _result(self, frame: Frame, problem: Problem, classes: Codes) -> Anonymized:
        there = np.flatnonzero(classes >= 0)
        own = classes[there]
        columns = {
            column.name: cell_texts(column, tree, own, there).take(pa.array(own))
            for column, tree in zip(problem.quasi, problem.hierarchies, strict=True)
        }
        passed = frame.table.select([*self.sensitive, *self.other]).take(pa.array(there))
        made = pa.table({**columns, **{name: passed.column(name) for name in passed.column_names}})
        verdict = verify(made, list(self.quasi), list(self.sensitive))
        losses = losses_of(problem, classes)
        certificate = {
            "kind": "anonymised table",
            "k": self.k,
            "method": self.method,
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            "conditions": [each.to_json() for each in self._conditions()],
            "other": list(self.other),
            "left out": [name for name in frame.table.column_names if name not in made.column_names],
            "found": verdict.to_json(),
            "certainty_penalty": losses.certainty,
            "suppressed": losses.suppressed,
            "digest": table_digest(made),
            "not promised": list(LIMITS),
        }
        return Anonymized(frame.restore(made), verdict, losses, certificate, problem, classes)

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
        columns = read_columns(read_frame(table), self.quasi, "quasi")
        ours = fitted._problem.quasi  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        same = all(
            a.values == b.values and np.array_equal(a.codes, b.codes) for a, b in zip(columns, ours, strict=True)
        )
        if not same:
            raise ParameterError("classes hold for the rows that were fitted alone: call fit_transform on this table")
        return fitted

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002 - as scikit-learn has it
        """The parameters by name, as scikit-learn's `clone` reads them."""
        names = ("k", "quasi", "sensitive", "l", "t", "conditions", "hierarchies", "weights", "other", "method")
        return {name: getattr(self, name) for name in names}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name. Raises `ParameterError` for others."""
        left = set(parameters) - set(self.get_params())
        if left:
            raise ParameterError(f"there is no parameter {sorted(left)[0]}")
        for name, value in parameters.items():
            setattr(self, name, value)
        return self


def table_digest(table: pa.Table) -> str:
    """SHA-256 of a table's columns, which another order of rows changes."""
    digest = hashlib.sha256()
    for name in table.column_names:
        digest.update(f"{name}\0{table.column(name).type}\0".encode())
        for text in table.column(name).cast(pa.string()).to_pylist():
            digest.update(b"\0" if text is None else f"{len(text)}:{text}".encode())
    return digest.hexdigest()
