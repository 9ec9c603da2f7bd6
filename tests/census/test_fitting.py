"""Published integers keep what is measured, also where no table has all columns, or one that says little."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import discreet as dp
from discreet import census
from discreet.census._fitting import fitted, nearest

SIZES = (5, 2, 6)
TABLES = {"ab": ("a", "b"), "bc": ("b", "c"), "ac": ("a", "c")}
BLOCKS, PEOPLE = 20, 4_000


def people() -> tuple[pa.Table, np.ndarray]:
    """People who crowd in few cells, and how many each block and cell has."""
    draws = np.random.default_rng(1)
    cell = draws.choice(60, PEOPLE, p=draws.dirichlet(np.full(60, 0.3)))
    block = draws.integers(0, BLOCKS, PEOPLE)
    counts = np.zeros((BLOCKS, 60), np.int64)
    np.add.at(counts, (block, cell), 1)
    columns = dict(zip("abc", np.unravel_index(cell, SIZES), strict=True))
    return pa.table({"block": [f"b{i:02}" for i in block], **columns}), counts.reshape(BLOCKS, *SIZES)


def published(rho: dp.Loss, tables: dict[str, tuple[str, ...]], shares: dict[str, Any]) -> census.Publication:
    table, _ = people()
    columns = {
        name: {"type": "int", "keys": list(range(size)), "nullable": False}
        for name, size in zip("abc", SIZES, strict=True)
    }
    policy: dict[str, Any] = {"version": "1", "budget": {"rho": 10**7}, "tables": {
        "people": {"unit": "rows", "columns": {"block": {"type": "string"}, **columns}},
    }}  # fmt: skip
    areas = {"county": [f"c{i // 5}" for i in range(BLOCKS)], "block": [f"b{i:02}" for i in range(BLOCKS)]}
    land = census.Geography.of_areas(areas, levels=["county", "block"])
    spec = census.Spec("people", land, tables, shares=dict.fromkeys(("all", "county", "block"), shares))
    with dp.connect({"people": table}, policy) as session:
        return census.publish(session, spec, rho)


def off(made: census.Publication, level: str, name: str) -> float:
    """The root mean square error of the published integers of a table at a level."""
    _, counts = people()
    by_level = {
        "all": counts.sum(axis=0, keepdims=True),
        "county": counts.reshape(4, 5, *SIZES).sum(axis=1),
        "block": counts,
    }
    axes = tuple(1 + i for i, column in enumerate("abc") if column not in name)
    true = by_level[level].sum(axis=axes).ravel()
    return float(np.sqrt(np.mean((made.table(name, level)["value"].to_numpy() - true) ** 2)))


@pytest.mark.parametrize("level", ["all", "county", "block"])
def test_without_noise_tables_are_those_that_were_counted(level: str) -> None:
    """Nothing measures all columns together: each cell of two is within rounding of what was counted."""
    made = published(dp.rho(10**6), TABLES, dict.fromkeys(TABLES, 1))
    for name in TABLES:
        assert off(made, level, name) < 1


@pytest.mark.parametrize("share", [None, "0.02"])
def test_noise_is_about_all_that_is_wrong(share: str | None) -> None:
    """Integers are no further off than twice the standard error of the unbiased numbers.

    Noise alone has a mean square over 20 areas and 10 cells of 4 times its expectation with a probability below 1e-40.
    """
    tables = TABLES if share is None else {**TABLES, "abc": ("a", "b", "c")}
    shares: dict[str, Any] = dict.fromkeys(TABLES, 1) | ({} if share is None else {"abc": share})
    made = published(dp.rho(1), tables, shares)
    for name in TABLES:
        error = made.table(name, "block")["standard_error"][0].as_py()
        assert off(made, "block", name) < 2 * error


def test_a_table_of_all_columns_that_is_known_as_well_stays_as_it_is() -> None:
    from discreet.census._fitting import Fitting

    made = published(dp.rho(1), {**TABLES, "abc": ("a", "b", "c")}, dict.fromkeys((*TABLES, "abc"), 1))
    cells = made.estimate.cells(2, made.layout.detail).reshape(BLOCKS, -1)
    assert Fitting(made.estimate).cells(2, cells, np.ones_like(cells)) is cells


@given(arrays(np.int64, (3, 2, 3, 2), elements=st.integers(0, 50)))
def test_sums_that_are_consistent_are_met(counts: np.ndarray) -> None:
    flat = counts.reshape(3, -1).astype(np.float64)
    tables = [(0, 1), (1, 2), (0, 2)]
    cells = fitted(flat, np.ones_like(flat), counts.shape[1:], tables).reshape(counts.shape)
    assert (cells >= 0).all()
    assert np.allclose(cells.sum(axis=(1, 2, 3)), counts.sum(axis=(1, 2, 3)))
    for axis in (3, 1, 2):
        assert np.abs(cells.sum(axis=axis) - counts.sum(axis=axis)).max() < 1.5
    zeros = fitted(flat, flat, counts.shape[1:], tables).reshape(counts.shape)
    assert (zeros[counts == 0] == 0).all() and np.allclose(zeros, counts)


@given(arrays(np.float64, (2, 7), elements=st.floats(-50, 50)), st.integers(0, 100))
def test_the_nearest_cells_from_0_have_the_total(cells: np.ndarray, total: int) -> None:
    near = nearest(cells, np.array([total, 0.0]))
    assert (near >= 0).all() and np.allclose(near.sum(axis=1), [total, 0])
    shift = (cells - near)[0]
    positive = near[0] > 1e-9
    if positive.any():  # of the cells above 0 all move alike, and no other would be above 0 if it moved so
        assert np.ptp(shift[positive]) < 1e-6 and (cells[0][~positive] - shift[positive][0] < 1e-6).all()
