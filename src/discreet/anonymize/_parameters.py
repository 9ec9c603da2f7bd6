"""What every model is told of a table: its columns, hierarchies, weights and method, checked in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from discreet.anonymize.algorithms import (
    Problem,
    Spread,
    best_mondrian,
    datafly,
    fast_mondrian,
    full_domain,
    microaggregation,
)
from discreet.anonymize.conditions import Condition
from discreet.anonymize.hierarchies import Hierarchy, load_hierarchies
from discreet.anonymize.tables import Codes, Column, Frame, read_columns
from discreet.errors import ParameterError

__all__ = ["METHODS", "check_columns", "check_conditions", "check_k", "problem_of"]


def _without_recoding(problem: Problem) -> Codes:
    return full_domain(problem, recodes=False)


METHODS: dict[str, Callable[[Problem], Codes]] = {
    "best": best_mondrian,
    "fast": fast_mondrian,
    "full-domain": full_domain,
    "full-domain without recoding": _without_recoding,
    "datafly": datafly,
    "microaggregation": microaggregation,
}
"""How a table is divided, by name."""


def check_k(k: object) -> int:
    """Raise `ParameterError` unless k is a number of rows."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise ParameterError(f"k is a whole number of rows, 1 or more, not {k!r}")
    return k


def check_columns(quasi: Sequence[str], sensitive: Sequence[str], other: Sequence[str]) -> None:
    """Raise `ParameterError` unless the columns are named, each in one part."""
    for called, names in (("quasi", quasi), ("sensitive", sensitive), ("other", other)):
        if isinstance(names, str):
            raise ParameterError(f"{called} is a list of columns: {called}=[{names!r}]")
    if not quasi:
        raise ParameterError("name the quasi-identifiers: quasi=['age', 'sex']")
    for name in [*sensitive, *other]:
        if name in quasi:
            raise ParameterError(
                f"the column {name} is a quasi-identifier, and named as one that is published as it is: choose one"
            )


def check_conditions(conditions: Sequence[Condition], sensitive: Sequence[str]) -> None:
    """Raise `ParameterError` unless every condition is of a sensitive column."""
    for each in conditions:
        if each.column not in sensitive:
            raise ParameterError(f"a condition names {each.column}, which is not among the sensitive columns")


def problem_of(  # noqa: PLR0913, PLR0917
    frame: Frame,
    quasi: Sequence[str],
    k: int,
    conditions: Sequence[Condition],
    hierarchies: str | Path | Mapping[str, Hierarchy] | None,
    weights: Mapping[str, float] | None,
) -> Problem:
    """Read what a table is divided by. Raises `ParameterError` for columns, hierarchies or weights that do not fit."""
    columns = read_columns(frame, quasi, "quasi")
    of_name = {each.name: each for each in columns}
    counted = dict.fromkeys(each.column for each in conditions)
    sensitive = {each.name: each for each in read_columns(frame, list(counted), "sensitive")}
    trees = _trees(hierarchies, of_name)
    _check_weights(weights or {}, quasi)
    return Problem(
        columns,
        k,
        tuple(Spread.of_condition(each, sensitive[each.column]) for each in conditions),
        tuple(float((weights or {}).get(name, 1)) for name in quasi),
        tuple(trees.get(name) for name in quasi),
    )


def _check_weights(weights: Mapping[str, float], quasi: Sequence[str]) -> None:
    left = [name for name in weights if name not in quasi]
    if left:
        raise ParameterError(f"weights names {left[0]}, which is no quasi-identifier")
    if any(not (weight > 0 and np.isfinite(weight)) for weight in weights.values()):
        raise ParameterError("weights are positive numbers")


def _trees(
    hierarchies: str | Path | Mapping[str, Hierarchy] | None, columns: Mapping[str, Column]
) -> Mapping[str, Hierarchy]:
    match hierarchies:
        case None:
            return {}
        case str() | Path():
            return load_hierarchies(hierarchies, columns)
        case _:
            left = [name for name in hierarchies if name not in columns]
            if left:
                raise ParameterError(f"hierarchies names {left[0]}, which is no quasi-identifier")
            return hierarchies
