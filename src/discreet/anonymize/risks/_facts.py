"""What somebody knows already: values that some people do not have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.anonymize.tables import Column, Frame
from discreet.errors import ParameterError

__all__ = ["Fact", "codes_of", "excluded"]


@dataclass(frozen=True)
class Fact:
    """People with these cells are known not to have some values of a sensitive column.

    It narrows what is possible for the people of whom it is true. Those who have such a value are left as they are: of
    them nobody knows the contrary. Among people who look alike it is no knowledge of the others' values.

    Attributes
    ----------
    column
        A sensitive column.
    excluded
        Values that these people do not have.
    where
        For each of some columns the cell of these people, as the table has it; everybody, if it is empty.

    >>> Fact("illness", ["flu"], {"town": "Bern"})
    Fact(column='illness', excluded=['flu'], where={'town': 'Bern'})
    """

    column: str
    excluded: Sequence[Any]
    where: Mapping[str, Any]

    def __init__(self, column: str, excluded: Sequence[Any], where: Mapping[str, Any] | None = None) -> None:
        object.__setattr__(self, "column", column)
        object.__setattr__(self, "excluded", excluded)
        object.__setattr__(self, "where", {} if where is None else where)


def excluded(frame: Frame, column: Column, facts: Sequence[Fact]) -> NDArray[np.int64]:
    """For each row and each fact on a column whether it applies: a column each, for facts in their order.

    Raises `ParameterError` for a value that the column has nowhere, and cells of columns that the table has not.
    """
    applies = np.zeros((len(column.codes), len(facts)), np.int64)
    for place, fact in enumerate(facts):
        there = np.ones(len(column.codes), np.bool_)
        for name, cell in fact.where.items():
            if name not in frame.table.column_names:
                raise ParameterError(
                    f"a fact names the column {name}, which the table has not; it has "
                    f"{', '.join(frame.table.column_names)}"
                )
            there &= _equal(frame, name, cell)
        if not there.any():
            raise ParameterError(f"a fact on {column.name} is of nobody: no row has {dict(fact.where)!r}")
        there &= ~np.isin(column.codes, codes_of(column, fact))
        applies[:, place] = there
    return applies


def _equal(frame: Frame, name: str, cell: Any) -> NDArray[np.bool_]:
    values: Any = frame.table.column(name)
    if cell is None:
        return np.asarray(pc.is_null(values))
    try:
        same: Any = pc.equal(values, pa.scalar(cell))
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise ParameterError(
            f"a fact's cell {cell!r} is of another type than the column {name}, {values.type}: write it as that has it"
        ) from None
    return np.asarray(same.fill_null(pa.scalar(False)))  # noqa: FBT003 - an argument of Arrow's own


def codes_of(column: Column, fact: Fact) -> NDArray[np.int64]:
    """The places of a fact's values in a column's list. Raises `ParameterError` for one that is not there."""
    if isinstance(fact.excluded, str):
        raise ParameterError(f"a fact on {column.name} excludes a list of values: [{fact.excluded!r}]")
    place = {value: code for code, value in enumerate(column.values)}
    for value in fact.excluded:
        if isinstance(value, list | dict) or value not in place:
            raise ParameterError(
                f"a fact excludes {value!r}, which the column {column.name} has nowhere; look at its values for the "
                "right spelling"
            )
    return np.array([place[value] for value in fact.excluded], np.int64)
