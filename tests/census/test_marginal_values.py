"""Published values of marginals: never negative, adding up within groups, a function of what was published alone."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet import census
from discreet.census.marginal_tables import _values
from discreet.census.marginal_tables._measurement import widest
from discreet.census.marginal_tables._values import column_groups
from discreet.marginals.residuals import Lattice

pytestmark = pytest.mark.usefixtures("one_database")

SIZES = {"a": 4, "b": 3, "c": 2, "d": 10, "e": 20}
POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"rho": 1000},
    "tables": {"t": {"unit": "rows", "columns": {
        name: {"type": "int", "bounds": [1, size], "nullable": False} for name, size in SIZES.items()
    }}},
}  # fmt: skip


def rows(count: int) -> pa.Table:
    rng = np.random.default_rng(5)
    return pa.table({name: np.minimum(rng.geometric(0.4, count), size) for name, size in SIZES.items()})


def published(spend: dp.Loss, budget: dict[str, Any], count: int = 400, **asked: Any) -> census.MarginalTables:
    asked = {"ways": 2, **asked}
    with dp.connect({"t": rows(count)}, {**POLICY, "budget": budget}) as session:
        return census.marginals(session, "t", spend, **asked)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=6).flatmap(
        lambda sizes: st.tuples(
            st.just(tuple(sizes)),
            st.sets(st.sets(st.integers(0, len(sizes) - 1), max_size=3).map(frozenset), min_size=1, max_size=8),
        )
    ),
    st.integers(1, 200),
)
def test_every_marginal_is_within_a_group_of_few_cells(given_lattice, most) -> None:
    sizes, sets = given_lattice
    lattice = Lattice(sizes, tuple(sorted(tuple(sorted(each)) for each in sets)))
    groups = column_groups(lattice, most)
    assert len(set(groups)) == len(groups)
    for each in lattice.marginals:
        assert any(set(lattice.core(each)) <= set(group) for group in groups)
    for group in groups:
        assert math.prod(sizes[column] for column in group) <= most or group in widest(lattice)
        assert any(set(each) <= set(group) for each in widest(lattice))


@pytest.mark.parametrize(
    ("spend", "budget"),
    [
        (dp.rho("0.02"), {"rho": 9}),
        pytest.param(dp.rho(2), {"rho": 9}, marks=pytest.mark.soak),
        (dp.pure("0.5"), {"epsilon": 9}),
    ],
    ids=str,
)
def test_values_are_never_negative_and_add_up_within_a_group(spend, budget) -> None:
    tables = published(spend, budget)
    assert tables.groups == (("a", "b", "c", "d"), ("a", "b", "c", "e"), ("d", "e"))
    for names, table in tables.tables():
        values = table["value"].to_numpy()
        assert (values >= 0).all()
        group = next(each for each in tables.groups if set(names) <= set(each))
        for narrow in itertools.combinations(names, max(len(names) - 1, 0)):
            if names and group == next(each for each in tables.groups if set(narrow) <= set(each)):
                axis = names.index(*(set(names) - set(narrow)))
                sums = values.reshape([SIZES[name] for name in names]).sum(axis=axis).ravel()
                assert sums == pytest.approx(tables.table(*narrow)["value"].to_numpy(), abs=1e-6)
    turned = tables.table("b", "a")["value"].to_numpy().reshape(3, 4)
    assert np.array_equal(turned.T.ravel(), tables.table("a", "b")["value"].to_numpy())
    some = tables.total({"a": ["1", "2"], "b": "3"})
    assert some.value == pytest.approx(turned[2, :2].sum())
    assert some.lower < some.unbiased < some.upper


def test_values_follow_from_what_is_stored_and_may_be_left_out() -> None:
    tables = published(dp.rho(1), {"rho": 9})
    again = census.MarginalTables.from_bytes(tables.to_bytes())
    for names, table in tables.tables():
        assert table.equals(again.table(*names))
        bare = tables.table(*names, fit=False)
        assert table.drop_columns(["value"]).equals(bare)
    assert "value" not in bare.column_names


def test_of_an_empty_table_values_are_near_zero() -> None:
    tables = published(dp.rho(1), {"rho": 9}, count=0)
    for names, table in tables.tables():
        values = table["value"].to_numpy()
        assert np.isfinite(values).all()
        assert (values >= 0).all()
        assert values.sum() < 100, names


def test_groups_with_too_many_cells_to_fit_have_the_nearest_numbers_from_zero(monkeypatch) -> None:
    monkeypatch.setattr(_values, "_MOST_FITTED", 100)
    tables = published(dp.rho(1), {"rho": 9})
    wide = tables.table("d", "e")
    values, unbiased = wide["value"].to_numpy(), wide["unbiased"].to_numpy()
    assert (values >= 0).all()
    assert values.sum() == pytest.approx(max(unbiased.sum(), 0))
    shown = values > 0
    assert np.ptp((unbiased - values)[shown]) < 1e-6
    assert (unbiased[~shown] <= (unbiased - values)[shown].max() + 1e-6).all()


def test_fits_are_dropped_where_they_would_fill_memory(monkeypatch) -> None:
    tables = published(dp.rho(1), {"rho": 9})
    first = tables.table("a", "b")["value"]
    monkeypatch.setattr(_values, "_MOST_REMEMBERED", 300)
    tables.table("d", "e")
    assert list(tables._values._fitted) == [(3, 4)]
    assert tables.table("a", "b")["value"].equals(first)
