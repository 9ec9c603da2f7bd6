"""A sum is a sum: the order of the rows moves nothing, where sums of floats move by a thousand.

Source: Casacuberta, Shoemate, Vadhan and Wagaman 2022, section 5.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.mechanisms import ProposeTestRelease, SmoothSensitivity
from discreet.policy import load_policy
from discreet.privacy import approx
from discreet.query import make_plan
from discreet.sensitivity import Slope, at_distance, distance, smooth, statistic

pytestmark = pytest.mark.usefixtures("one_database")

BIG = 2.0**53
ORDERS = {
    "big first": [BIG, *[1.0] * 1000],
    "big last": [*[1.0] * 1000, BIG],
    "big within": [*[1.0] * 500, BIG, *[1.0] * 500],
}
BOUNDS = (-BIG, BIG)


def test_sums_of_floats_move_by_a_thousand() -> None:
    sums = {float(np.cumsum(order)[-1]) for order in ORDERS.values()}
    assert sums == {BIG, BIG + 500, BIG + 1000}


@pytest.mark.parametrize("name", ["sum", "mean", "variance", "median", "min", "max", "count_distinct"])
def test_statistics_and_their_sensitivities_do_not_see_the_order(name: str) -> None:
    found = statistic(name)
    for asked in (
        lambda x: found.value(x, BOUNDS),
        lambda x: [at_distance(found, x, k, bounds=BOUNDS) for k in range(3)],
        lambda x: smooth(found, x, 0.1, bounds=BOUNDS),
        lambda x: distance(found, x, 1.0, bounds=BOUNDS),
    ):
        answers = [asked(order) for order in ORDERS.values()]
        assert answers == [answers[0]] * 3
    if name == "sum":
        assert found.value(ORDERS["big first"], BOUNDS) == BIG + 1000


def test_a_slope_does_not_see_the_order() -> None:
    points = [(0.1, 1e16), (0.2, 1.0), (0.7, -1e16), (0.9, 3.0)]
    orders = [tuple(map(list, zip(*order, strict=True))) for order in itertools.permutations(points)]
    bounds = ((0, 1), (-1e17, 1e17))
    assert len({Slope((-1e17, 1e17)).value(order, bounds) for order in orders}) == 1


def test_frameworks_do_not_see_the_order() -> None:
    spend = approx(1, 1e-6)
    for mechanism in (
        ProposeTestRelease("sum", bound=1, bounds=BOUNDS, spend=spend),
        SmoothSensitivity("mean", bounds=BOUNDS, spend=spend),
    ):
        assert len({mechanism._before_noise(order) for order in ORDERS.values()}) == 1


@pytest.mark.parametrize("bounds", [(0, BIG), (0, 4 * BIG), (-BIG, BIG)])
@pytest.mark.parametrize("kind", ["int", "float", "decimal"])
def test_sums_in_sql_do_not_see_the_order(kind: str, bounds: tuple[float, float]) -> None:
    """Whatever the grid, rows are put on it one by one: the integer before noise is the same for every order."""
    columns = {"x": {"type": kind, "bounds": [int(each) for each in bounds]}, "k": {"type": "int", "keys": [0, 1]}}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})
    for query in ("SELECT SUM(x) AS s, AVG(x) AS a FROM t", "SELECT k, SUM(x) AS s FROM t GROUP BY k"):
        bounded = make_plan(query, policy).levels[0].bounded
        found = set()
        for order in ORDERS.values():
            table = pa.table({"x": order, "k": [int(x == BIG) for x in order]})
            if kind == "int":
                table = table.cast(pa.schema({"x": pa.int64(), "k": pa.int64()}))
            engine = DuckDB({"t": table}, policy)
            found.add(tuple(sorted((group.key, group.sums) for group in engine.run(bounded, bytes(16)))))
            engine.close()
        assert len(found) == 1


def test_the_grid_decides_what_a_small_row_adds() -> None:
    """Bounds so wide that a row of 1 is less than half a step: it adds nothing, in every order, and alone as well."""
    columns = {"x": {"type": "float", "bounds": [0, 2**53]}}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})
    bounded = make_plan("SELECT SUM(x) AS s FROM t", policy).levels[0].bounded
    assert bounded.measures[0].step == Fraction(2**23)
    for order in ([1.0] * 1000, [1.0]):
        engine = DuckDB({"t": pa.table({"x": order})}, policy)
        assert engine.run(bounded, bytes(16))[0].sums == (0,)
        engine.close()
