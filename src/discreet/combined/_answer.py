"""The rows of the rest of a query, with the error bars of the released numbers that are among their values."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.combined._trace import EXACT, ROWS
from discreet.query import Answer, ErrorShape, answer_from_stored, answer_to_stored, check_level
from discreet.release import read_table

__all__ = ["CombinedAnswer", "combine", "combined_from_stored", "combined_to_stored"]

_NO_CELL = -2
Cells = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CombinedAnswer(Answer):
    """The rows of a query over releases.

    `cells` say of the values of a column which released number each is, of all columns of all parts, which have these
    places: a value without noise is `EXACT`. `parts` are the releases' answers. Where noise decides which rows are
    shown, `picked` is one by the number of all released rows, so that the bars of all of them hold at once.
    """

    cells: Mapping[str, Cells] = field(default_factory=dict[str, Cells])
    parts: tuple[Answer, ...] = ()

    def error(self, column: str, level: float = 0.95, first: int | None = None) -> NDArray[np.float64]:
        """Half-widths aligned with the (first) rows, as the releases have them; NaN for what is computed otherwise."""
        self.shape(column)
        level = check_level(level)
        rows = self.table.num_rows if first is None else min(first, self.table.num_rows)
        halves = np.full(rows, np.nan)
        if column not in self.cells:
            return halves
        level = level if self.picked is None else 1 - (1 - level) * self.picked
        cells = self.cells[column][:rows]
        halves[cells == EXACT] = 0.0
        place = 0
        for part in self.parts:
            for name in part.table.column_names:
                here = (cells // ROWS == place) & (cells >= 0)
                if here.any():
                    halves[here] = part.error(name, level)[cells[here] % ROWS]
                place += 1
        return halves


def combine(
    table: pa.Table, noisy: Sequence[str], cells: Mapping[str, Any], parts: Sequence[Answer], *, picks: bool
) -> CombinedAnswer:
    """The answer from its values, the columns that have noise, and the cells of some of these."""
    traced = {
        name: np.asarray(column.fill_null(pa.scalar(_NO_CELL, pa.int64())), dtype=np.int64)
        for name, column in cells.items()
    }
    total = sum(part.table.num_rows for part in parts)
    return _answer(table, noisy, traced, parts, max(total, 1) if picks else None)


def _answer(
    table: pa.Table, noisy: Sequence[str], traced: Mapping[str, Cells], parts: Sequence[Answer], shared: int | None
) -> CombinedAnswer:
    ends = [(part, name) for part in parts for name in part.table.column_names]
    shapes: dict[str, ErrorShape] = {}
    for name in noisy:
        kind = table.schema.field(name).type
        if pa.types.is_string(kind) or pa.types.is_boolean(kind):
            continue
        used = (
            [] if name not in traced else [ends[place] for place in np.unique(traced[name][traced[name] >= 0] // ROWS)]
        )
        linear = bool(used) and all(part.picked is None and part.shape(each).linear for part, each in used)
        shapes[name] = ErrorShape({}, linear=linear, cap=None)
    shown = {name: column for name, column in traced.items() if name in shapes}
    picked = None if shared is None else 1 / shared
    return CombinedAnswer(table, shapes, picked=picked, cells=shown, parts=tuple(parts))


def combined_to_stored(answer: CombinedAnswer) -> tuple[dict[str, Any], list[Any]]:
    """What `combined_from_stored` restores: the values first, then their cells; the parts are in the header."""
    header = {
        "columns": answer.table.column_names,
        "noisy": list(answer.shapes),
        "cells": list(answer.cells),
        "shared": None if answer.picked is None else round(1 / answer.picked),
        "parts": [_stream(part) for part in answer.parts],
    }
    return header, [*answer.table.columns, *(pa.array(column) for column in answer.cells.values())]


def combined_from_stored(header: Mapping[str, Any], columns: Sequence[Any]) -> CombinedAnswer:
    """The inverse of `combined_to_stored`; `KeyError`, `ValueError` or `TypeError` on anything else."""
    names = header["columns"]
    table = pa.table(dict(zip(names, columns[: len(names)], strict=True)))
    cells = [np.asarray(column, dtype=np.int64) for column in columns[len(names) :]]
    parts = [_part(each) for each in header["parts"]]
    sizes = [part.table.num_rows for part in parts for _ in part.table.column_names]
    for column in cells:
        numbered = column[column >= 0]
        places = numbered // ROWS
        if (places >= len(sizes)).any() or (numbered % ROWS >= np.array([*sizes, 0])[places]).any():
            raise ValueError("a cell is of no released number")
    shared = header["shared"]
    if shared is not None and (type(shared) is not int or shared < 1):
        raise ValueError("rows are shared by no number")
    traced = dict(zip(header["cells"], cells, strict=True))
    return _answer(table, header["noisy"], traced, parts, shared)


def _stream(part: Answer) -> str:
    header, stored = answer_to_stored(part)
    fields = [pa.field(f"c{i}", column.type) for i, column in enumerate(stored)]
    schema = pa.schema(fields, metadata={"answer": json.dumps(header)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_table(pa.table(stored, schema=schema))
    return base64.b64encode(sink.getvalue().to_pybytes()).decode("ascii")


def _part(text: str) -> Answer:
    payload = base64.b64decode(text, validate=True)
    stored = read_table(payload)
    return answer_from_stored(json.loads((stored.schema.metadata or {})[b"answer"]), stored.columns)
