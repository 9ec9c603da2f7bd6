"""Frames of every kind in and out: Arrow, pandas, polars and whatever narwhals reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa

from discreet.anonymize.tables._columns import Column, column_from_arrow
from discreet.errors import ParameterError

__all__ = ["Frame", "read_columns", "read_frame", "with_population"]


@dataclass(frozen=True, repr=False, eq=False)
class Frame:
    """A table that was given, as Arrow, and how to give one back as it came.

    Attributes
    ----------
    table
        As Arrow.
    restore
        Makes of an Arrow table a frame of the kind that was given.
    """

    table: pa.Table
    restore: Callable[[pa.Table], Any]


def read_frame(data: object) -> Frame:
    """Read a frame. Raises `ParameterError` for what is none, and for two columns of one name."""
    if isinstance(data, Frame):
        return data
    if isinstance(data, pa.Table):
        frame = Frame(data, lambda table: table)
    else:
        try:
            native = nw.from_native(data, eager_only=True)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]
        except TypeError:
            raise ParameterError(f"give a table: Arrow, pandas or polars, not {type(data).__name__}") from None
        backend = nw.get_native_namespace(native)
        frame = Frame(native.to_arrow(), lambda table: nw.from_arrow(table, backend=backend).to_native())
    names = frame.table.column_names
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ParameterError(f"the table has two columns {twice[0]}: rename one")
    if not frame.table.num_rows:
        raise ParameterError("the table has no rows")
    return frame


def read_columns(frame: Frame, names: Sequence[str], called: str) -> tuple[Column, ...]:
    """Read some columns. Raises `ParameterError` for one that is not there, named twice, or cannot be read."""
    there = frame.table.column_names
    for name in names:
        if name not in there:
            raise ParameterError(
                f"the table has no column {name}, which is named in {called}; it has {', '.join(there)}"
            )
    if len(set(names)) < len(names):
        raise ParameterError(f"{called} names a column twice")
    return tuple(column_from_arrow(name, frame.table.column(name)) for name in names)


def with_population(frame: Frame, population: Frame, quasi: Sequence[str]) -> Frame:
    """The quasi-identifiers of the table's people, and those of the population's after them.

    Raises `ParameterError` for columns that one of them has not, or that are of types which do not go together.
    """
    for name in quasi:
        for each, called in ((frame, "table"), (population, "population")):
            if name not in each.table.column_names:
                raise ParameterError(
                    f"the {called} has no column {name}, which is named in quasi: add it, or leave it out"
                )
    parts = [each.table.select(list(quasi)) for each in (frame, population)]
    try:
        both = pa.concat_tables(parts, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise ParameterError("the population's columns are of other types than the table's: write them alike") from None
    return Frame(both, frame.restore)
