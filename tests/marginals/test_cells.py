"""Cells of columns: what falls into a cell comes back from it, on every kind of column."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError, QueryError
from discreet.marginals import ColumnCells, column_cells, merge
from discreet.policy import Column


@st.composite
def columns(draw: st.DrawFn) -> tuple[Column, Any]:
    kind = draw(st.sampled_from(["bool", "int", "float", "decimal", "string", "date", "timestamp"]))
    nullable = draw(st.booleans())
    if kind == "bool":
        return Column(type="bool", nullable=nullable), None
    if kind == "string":
        return Column(type="string", keys=tuple("abcdefg"[: draw(st.integers(1, 7))]), nullable=nullable), None
    choice = draw(st.none() | st.integers(1, 40))
    if kind in ("date", "timestamp"):
        first = dt.date(2020, 1, 1) + dt.timedelta(draw(st.integers(-4000, 4000)))
        last = first + dt.timedelta(draw(st.integers(40, 3000)))
        return Column(type=kind, bounds=(first, last), nullable=nullable), choice
    lower = draw(st.integers(-1000, 1000))
    return Column(type=kind, bounds=(lower, lower + draw(st.integers(50, 5000))), nullable=nullable), choice


@given(columns(), st.integers(0, 2**32 - 1))
def test_a_value_made_from_a_cell_falls_into_it(column: tuple[Column, Any], seed: int) -> None:
    declared, choice = column
    cells = column_cells("t", "x", declared, choice)
    wanted = np.repeat(np.arange(cells.size), 5)
    values = cells.values(wanted, np.random.default_rng(seed).random(wanted.size))
    assert [cells.cell(value) for value in values.to_pylist()] == wanted.tolist()
    assert values.null_count == (5 if declared.nullable else 0)
    assert ColumnCells.from_json(cells.to_json()) == cells


@given(columns(), st.integers(0, 2**32 - 1))
def test_merged_cells_hold_whole_cells_and_null_alone(column: tuple[Column, Any], seed: int) -> None:
    declared, choice = column
    cells, rng = column_cells("t", "x", declared, choice), np.random.default_rng(seed)
    counts = rng.exponential(30, cells.size) * rng.integers(0, 2, cells.size) + rng.normal(0, 5, cells.size)
    merged = merge(cells, counts, 5.0, max(float(counts.sum()), 1.0))
    into = np.array(merged.into)
    assert set(into.tolist()) == set(range(merged.size))
    shares = np.array(merged.shares)
    assert (shares >= 0).all()
    np.testing.assert_allclose(np.bincount(into, shares), 1)
    if declared.nullable:
        assert (into == into[-1]).sum() == 1
    if cells.is_ordered:
        assert (np.diff(into) >= 0).all()
        assert all((into == into[spike]).sum() == 1 for spike in cells.spikes)
    places = rng.random(200)
    chosen = rng.integers(0, merged.size, 200)
    public, within = merged.spread(chosen, places)
    assert (into[public] == chosen).all()
    assert ((within >= 0) & (within < 1)).all()


def test_places_in_a_merged_cell_reach_its_cells_by_their_shares() -> None:
    cells = column_cells("t", "x", Column(type="string", keys=tuple("abcd"), nullable=False))
    merged = merge(cells, np.array([100.0, 1.0, 3.0, 0.0]), 5.0, 104.0)
    assert merged.into == (0, 1, 1, 1)
    public, _ = merged.spread(np.ones(4000, np.int64), (np.arange(4000) + 0.5) / 4000)
    np.testing.assert_allclose(np.bincount(public, minlength=4) / 4000, [0, 0.25, 0.75, 0], atol=1e-3)


@pytest.mark.parametrize(
    ("column", "choice", "words"),
    [
        (Column(type="int"), None, "t.x has no bounds: write its bounds or its keys into the policy"),
        (Column(type="date"), None, "t.x has no bounds"),
        (Column(type="bool"), 4, "t.x has public keys, each a cell of its own"),
        (Column(type="int", bounds=(0, 9)), 0, "a number of cells is from 1 to 10,000, not 0"),
        (Column(type="int", bounds=(0, 9)), True, "a number of cells is from 1 to 10,000, not True"),
        (Column(type="int", bounds=(0, 9)), [5, 3], "must rise, and lie between the bounds"),
        (Column(type="int", bounds=(0, 9)), [5, 12], "must rise, and lie between the bounds"),
        (Column(type="int", bounds=(0, 9)), ["five"], "are numbers or dates"),
        (Column(type="int", bounds=(0, 9)), [3.2, 3.7], "would hold no value"),
    ],
)
def test_what_has_no_cells_is_refused(column: Column, choice: Any, words: str) -> None:
    with pytest.raises((QueryError, ParameterError), match=words):
        column_cells("t", "x", column, choice)


def test_zero_is_a_cell_of_its_own_and_cells_have_words() -> None:
    cells = column_cells("t", "x", Column(type="int", bounds=(-5, 100), nullable=True), 8)
    assert [cells.text(i) for i in (0, 1, 2, cells.size - 1)] == ["-5 to -1", "0", "1 to 8", "null"]
    assert cells.spikes == (1,)
    assert column_cells("t", "x", Column(type="string")).keys == ()
    narrow = column_cells("t", "x", Column(type="int", bounds=(-1, 49)))
    assert narrow.points[:, 1].min() == 1
    assert narrow.spikes == (1,)
    assert column_cells("t", "x", Column(type="int", bounds=(0, 9))).spikes == ()
