"""Where numbers end, they saturate, and one person moves the sum by no more than was charged.

Source of the attack: Casacuberta, Shoemate, Vadhan and Wagaman 2022, section 4, where sums wrap around.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.duckdb import DuckDB
from discreet.errors import ParameterError
from discreet.policy import Policy, load_policy
from discreet.query import make_plan
from discreet.sensitivity import local, statistic

pytestmark = pytest.mark.usefixtures("one_database")

INT64 = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1]
FLOATS = [-1.7976931348623157e308, -(2.0**63), -5e-324, 0.0, 5e-324, 2.0**63, 1.7976931348623157e308]
EXTREMES: dict[str, tuple[str, pa.Array]] = {
    "int64": ("int", pa.array(INT64, pa.int64())),
    "uint64": ("int", pa.array([0, 1, 2**63, 2**64 - 1], pa.uint64())),
    "float": ("float", pa.array(FLOATS, pa.float64())),
    "decimal": ("decimal", pa.array([Decimal(10) ** 37, -(Decimal(10) ** 37), Decimal(1)], pa.decimal128(38, 0))),
}
BOUNDS = {
    "narrow": (-3, 5),
    "int64": (-(2**63), 2**63 - 1),
    "beyond": (-(10**30), 10**30),
    "one side": (2**62, 2**63 - 1),
}
ARGUMENTS = ["x", "x + x", "x * x", "x - 1", "-x", "3 * x * x - x"]


def policy_of(kind: str, bounds: tuple[int, int]) -> Policy:
    columns = {"x": {"type": kind, "bounds": list(bounds)}}
    return load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})


def sums(source: Any, policy: Policy, query: str) -> tuple[int, ...]:
    engine = DuckDB(source, policy)
    (group,) = engine.run(make_plan(query, policy).levels[0].bounded, bytes(16))
    engine.close()
    return group.sums


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("extreme", EXTREMES)
def test_no_row_moves_a_sum_further_than_planned(extreme: str, bounds: str) -> None:
    """Each extreme row, added to all the others, in every expression; none fails, and none is out of the clamps."""
    kind, values = EXTREMES[extreme]
    policy = policy_of(kind, BOUNDS[bounds])
    query = f"SELECT {', '.join(f'SUM({argument}), AVG({argument})' for argument in ARGUMENTS)} FROM t"
    plan = make_plan(query, policy)
    whole = sums({"t": pa.table({"x": values})}, policy, query)
    for gone in range(len(values)):
        rest = pa.concat_arrays([values[:gone], values[gone + 1 :]])
        moved = [a - b for a, b in zip(whole, sums({"t": pa.table({"x": rest})}, policy, query), strict=True)]
        assert all(abs(move) <= norms.l1 for move, norms in zip(moved, plan.levels[0].norms, strict=True))


@pytest.mark.parametrize("bounds", ["narrow", "int64"])
def test_contributions_saturate_at_the_bounds(bounds: str) -> None:
    lower, upper = BOUNDS[bounds]
    policy = policy_of("int", (lower, upper))
    step = make_plan("SELECT SUM(x) AS s FROM t", policy).levels[0].bounded.measures[0].step
    low, high = (sums({"t": pa.table({"x": [x]})}, policy, "SELECT SUM(x) AS s FROM t")[0] * step for x in INT64[::6])
    assert lower - step <= low <= lower
    assert upper <= high <= upper + step


def test_a_sum_of_many_extremes_does_not_wrap() -> None:
    """A hundred thousand rows at the ends of 64 bits: 16 bits beyond what 64 hold, and exact."""
    rows = 100_000
    policy = policy_of("int", BOUNDS["int64"])
    step = make_plan("SELECT SUM(x) AS s FROM t", policy).levels[0].bounded.measures[0].step
    for value in (2**63 - 1, -(2**63)):
        (found,) = sums({"t": pa.table({"x": np.full(rows, value)})}, policy, "SELECT SUM(x) AS s FROM t")
        assert found == round(Fraction(value) / step) * rows
        assert abs(found * step) > 2**79


def test_integers_of_128_bits_neither_wrap_nor_fail(tmp_path) -> None:
    """What an int column cannot hold is null, and adds nothing; wrapped to 64 bits, it would."""
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.execute("CREATE TABLE t (x HUGEINT)")
        ends = [2**64 + 9, 2**127 - 1, 1 - 2**127, 7]
        connection.execute(f"INSERT INTO t VALUES {', '.join(f'({each}::HUGEINT)' for each in ends)}")
    policy = policy_of("int", (-3, 5))
    assert sums(str(tmp_path / "t.duckdb"), policy, "SELECT SUM(x) AS s FROM t") == (5,)


def test_mechanisms_have_no_last_integer(additive_case) -> None:
    quiet = additive_case.at("0.001")
    for huge in (2**63 - 1, -(2**63), 2**64, 2**127, -(2**200)):
        assert additive_case.draw(quiet, huge, 3) == [huge] * 3


def test_statistics_near_the_largest_float_stay_within_their_sensitivity() -> None:
    """Clamped to wide bounds, they neither overflow nor lose the sensitivity that is charged."""
    extremes = [*FLOATS, 2.0**1000, -(2.0**1000)]
    for name in ("sum", "mean", "variance", "median"):
        found, widest = statistic(name), 2.0**499 if name == "variance" else 2.0**999
        bounds = (-widest, widest)
        for gone in range(len(extremes)):
            rest = extremes[:gone] + extremes[gone + 1 :]
            moved = abs(Fraction(found.value(extremes, bounds)) - Fraction(found.value(rest, bounds)))
            assert moved <= Fraction(local(name, extremes, bounds=bounds)) * (1 + Fraction(1, 2**50)), name


@pytest.mark.parametrize("x", [[0.0, 0.0], [-(2.0**999), 2.0**999], []], ids=["alike", "apart", "none"])
def test_whether_a_variance_fits_floats_depends_on_the_bounds_alone(x: list[float]) -> None:
    bounds = (-(2.0**999), 2.0**999)
    for asked in (
        lambda: statistic("variance").value(x, bounds),
        lambda: statistic("variance").global_sensitivity(bounds, "add_remove"),
        lambda: local("variance", x, bounds=bounds),
    ):
        with pytest.raises(ParameterError, match="narrower"):
            asked()
