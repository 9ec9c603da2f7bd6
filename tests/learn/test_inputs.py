"""What a model reads of a frame: the same levels and cells whatever holds the rows, and refusals in words."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import ParameterError
from discreet.learn._inputs import Input, Inputs

FIVE, NEXT = datetime.fromisoformat("2024-01-01T05:00:00"), datetime.fromisoformat("2024-01-02T00:00:00")
INPUTS = Inputs((
    Input("day", (date(2024, 1, 1), date(2024, 1, 2), None), type="date"),
    Input("at", (FIVE, NEXT, None), type="timestamp"),
    Input("ward", (1, 2, None), type="int"),
    Input("dear", (False, True, None), type="bool"),
    Input("site", ("a", "NA", None), type="string"),
    Input("age", None, Fraction(0), Fraction(9)),
))  # fmt: skip
ROWS = pa.table({
    "day": [date(2024, 1, 1), date(2024, 1, 2), None],
    "at": [FIVE, NEXT, None],
    "ward": [1, 2, None],
    "dear": [True, False, None],
    "site": ["a", "NA", None],
    "age": [1, None, 9],
})  # fmt: skip


def frames() -> dict[str, Any]:
    import pandas as pd
    import polars as pl

    plain, polar = ROWS.to_pandas(), pl.DataFrame(ROWS.to_pydict())
    return {
        "arrow": ROWS,
        "turned": ROWS.select(ROWS.column_names[::-1]),
        "pandas": plain,  # whole numbers beside nulls are floats there
        "arrow types": ROWS.to_pandas(types_mapper=pd.ArrowDtype),
        "days as times": plain.assign(day=pd.to_datetime(plain["day"])),
        "categories": plain.assign(site=plain["site"].astype("category"), ward=plain["ward"].astype("category")),
        "polars": polar,
        "polars, as floats": polar.with_columns(pl.col("ward").cast(pl.Float64), pl.col("dear").cast(pl.Int8)),
        "polars, categorical": polar.with_columns(pl.col("site").cast(pl.Categorical)),
        "list": [list(row.values()) for row in ROWS.to_pylist()],
        "objects": plain.to_numpy(),
    }


@pytest.mark.parametrize("name", frames())
def test_a_row_is_the_same_in_any_frame(name: str) -> None:
    numbers, cells = INPUTS.of_frame(frames()[name])
    assert numbers.tolist() == [[114], [-1], [1024]]
    assert cells.tolist() == [[0, 0, 0, 1, 0], [1, 1, 1, 0, 1], [2, 2, 2, 2, 2]]


def test_a_matrix_of_numbers_has_categories_too() -> None:
    inputs = Inputs(INPUTS.features[2:4])
    _, cells = inputs.of_frame(np.array([[1.0, 1.0], [2.0, 0.0], [np.nan, np.nan], [1.5, 0.5]]))
    assert cells.tolist() == [[0, 1], [1, 0], [2, 2], [-1, -1]]


@pytest.mark.parametrize(
    "rows",
    [
        pa.Table.from_arrays([ROWS.column(0)] * 7, [*ROWS.column_names, "age"]),
        ROWS.set_column(4, "site", pa.array([[1], [2], [3]])),
        [[1, 2], [3]],
        [[1] * 5 + ["x"]],
    ],
)
def test_other_rows_are_refused(rows: Any) -> None:
    with pytest.raises(ParameterError):
        INPUTS.of_frame(rows)


@pytest.mark.parametrize("bounds", [["0", f"1/{10**700}"], [f"-{10**700}", "0"], [str(10**20), str(10**20 + 1)]])
def test_bounds_without_floats_between_them_are_refused(bounds: list[str]) -> None:
    with pytest.raises(ParameterError, match="floats"):
        Input.from_json({"name": "x", "bounds": bounds})
