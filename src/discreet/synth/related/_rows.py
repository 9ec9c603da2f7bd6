"""The rows of people in several tables: cells and places in them, and the Arrow tables that they become."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.marginals import Numbers
from discreet.synth.related._parts import Role
from discreet.synth.related._shapes import Shape

__all__ = ["Rows", "Values", "persons_of", "tables_of"]

Cells = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Values:
    """Values of a column: the public cell of each row, and the place from 0 to 1 in it."""

    cells: Cells
    places: Numbers

    def at(self, rows: Cells) -> Values:
        """Those of some rows, with repeats."""
        return Values(self.cells[rows], self.places[rows])


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a table: which row of its parent each belongs to, or which person, in order, and what is drawn."""

    above: Cells
    drawn: Mapping[Role, Values]


def persons_of(shapes: Sequence[Shape], rows: Mapping[str, Rows]) -> dict[str, Cells]:
    """Whose each row of each table is."""
    persons: dict[str, Cells] = {}
    for shape in shapes:
        above = rows[shape.table].above
        persons[shape.table] = above if shape.parent is None else persons[shape.parent][above]
    return persons


def tables_of(shapes: Sequence[Shape], rows: Mapping[str, Rows]) -> dict[str, pa.Table]:
    """The tables with the types of the policy; people, and rows that others belong to, have the numbers from 1."""
    persons = persons_of(shapes, rows)
    return {shape.table: _table(shape, rows[shape.table], persons[shape.table]) for shape in shapes}


def _table(shape: Shape, rows: Rows, persons: Cells) -> pa.Table:
    size = rows.above.size
    arrays: dict[str, pa.Array[Any]] = {}
    for name, kind in shape.surrogates.items():
        numbers = persons if name == shape.person else rows.above if name == shape.link else np.arange(size)
        values = pa.array(numbers + 1, pa.int64())
        arrays[name] = values.cast(pa.string()) if kind == "string" else values
    own = [rows.drawn[Role("own", column.name)] for column in shape.columns]
    for column, each in zip(shape.columns, own, strict=True):
        arrays[column.name] = column.values(each.cells, each.places)
    public = {i: each.cells for i, each in enumerate(own)}
    for follower in shape.rules.followers:
        arrays[follower.name] = follower.at(shape.columns, public)
    return pa.Table.from_arrays([arrays[name] for name in shape.names], names=list(shape.names))
