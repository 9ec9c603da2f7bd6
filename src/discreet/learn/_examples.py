"""Private rows as a learner sees them: levels of numbers, cells of categories, and what is to be predicted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.learn._inputs import MISSING, Inputs, Places, input_of_feature
from discreet.query import Feature, RecordPlan

__all__ = ["Examples", "examples_of_records", "inputs_of_plan", "rows_asked"]


@dataclass(frozen=True, repr=False)
class Examples:
    """Rows of people, encoded by public facts; all of it is private, how many there are too.

    Attributes
    ----------
    inputs
        What the columns are.
    numbers
        Levels, a column for each of `inputs.numbers`; `MISSING` where a number is null.
    cells
        Cells, a column for each of `inputs.categories`.
    target
        Cells of the classes, or levels of the number that is predicted; zeros if nothing is.
    places
        Which of the rows that an engine read these are.
    """

    inputs: Inputs
    numbers: Places
    cells: Places
    target: NDArray[np.int32]
    places: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def __repr__(self) -> str:
        return "<examples>"

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.numbers)


def inputs_of_plan(plan: RecordPlan, label: Feature | None) -> Inputs:
    """What a model of these records reads and predicts. A class is no null."""
    features = tuple(input_of_feature(each) for each in plan.features if each != label)
    if label is None:
        return Inputs(features)
    target = input_of_feature(label)
    if target.values is not None:
        known = tuple(value for value in target.values if value is not None)
        target = type(target)(target.name, known, type=target.type)
    return Inputs(features, target)


def rows_asked(plan: RecordPlan, label: Feature | None) -> dict[str, str | None]:
    """Which rows are asked for and which column is predicted, in plain JSON."""
    return {"query": plan.sql, "label": None if label is None else label.name}


def examples_of_records(plan: RecordPlan, label: Feature | None, inputs: Inputs, rows: pa.Table) -> Examples:
    """The rows that an engine read, encoded. A row whose label is null does not count."""
    numbers = [_levels(each, rows) for each in plan.features if each.is_number and each != label]
    cells = [_column(each, rows).astype(np.int32) for each in plan.features if not each.is_number and each != label]
    target = np.zeros(rows.num_rows, np.int32)
    if label is not None:
        target = _levels(label, rows) if label.is_number else _column(label, rows).astype(np.int32)
        if not label.is_number:  # null is the last of a category's values, and no class
            target = np.where(target < len(inputs.classes), target, MISSING).astype(np.int32)
    there = target != MISSING
    levels = np.stack(numbers, axis=1) if numbers else np.zeros((rows.num_rows, 0), np.int32)
    places = np.stack(cells, axis=1) if cells else np.zeros((rows.num_rows, 0), np.int32)
    return Examples(inputs, levels[there], places[there], target[there], np.flatnonzero(there))


def _column(feature: Feature, rows: pa.Table) -> NDArray[Any]:
    return rows.column(feature.column).to_numpy()


def _levels(feature: Feature, rows: pa.Table) -> Places:
    column = rows.column(feature.column)
    missing = column.is_null().to_numpy()
    steps = np.asarray(column.cast(pa.int64()).to_numpy(), np.float64)
    return input_of_feature(feature).levels(np.where(missing, np.nan, steps * float(feature.step)))
