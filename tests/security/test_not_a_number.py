"""NaN and infinity neither pass nor are told of: parameters refuse them, and data with them are refused or clamped."""

from __future__ import annotations

import math
from inspect import signature

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.policy import load_policy
from discreet.query import make_plan

pytestmark = pytest.mark.usefixtures("one_database")

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize("scale", [NAN, INF, -INF], ids=str)
def test_no_mechanism_is_built_from_them(case, scale: float) -> None:
    with pytest.raises(dp.ParameterError):
        case.at(scale)


@pytest.mark.parametrize("level", [NAN, INF, -INF], ids=str)
def test_no_level_is_one_of_them(case, level: float) -> None:
    mechanism = case.at(2)
    if hasattr(mechanism, "error"):
        parameters = signature(mechanism.error).parameters.values()
        needed = dict.fromkeys((each.name for each in parameters if each.default is each.empty), 5)
        with pytest.raises(dp.ParameterError):
            mechanism.error(**needed, level=level)


@pytest.mark.parametrize("sensitivity", [NAN, INF, -INF], ids=str)
def test_no_sensitivity_is_one_of_them(additive_case, sensitivity: float) -> None:
    mechanism = additive_case.at(2)
    with pytest.raises(dp.ParameterError):
        mechanism.loss(sensitivity)
    for spend in (dp.pure(1), dp.approx(1, "0.1"), dp.rho(1), dp.mu(1)):
        with pytest.raises(dp.ParameterError):
            type(mechanism).calibrate(spend, sensitivity)


@pytest.mark.parametrize(
    "spend", [dp.pure, dp.rho, dp.mu, lambda x: dp.approx(x, 0.1), lambda x: dp.approx(1, x)], ids=range(5)
)
def test_no_spend_is_one_of_them(spend) -> None:
    for bad in (NAN, INF, -INF):
        with pytest.raises(dp.ParameterError):
            spend(bad)


def test_no_release_has_them(case) -> None:
    """Refused by mechanisms of numbers and of choices; clamped by those that take whole data sets."""
    mechanism = case.at(2)
    for data in case.spoilt:
        if case.refuses:
            with pytest.raises(dp.ParameterError):
                mechanism.release(data)
        else:
            for released in case.draw(mechanism, data, 5):
                assert released is None or math.isfinite(released)
                assert released is None or released % float(case.step(mechanism)) == 0


ODD = [NAN, INF, -INF, None, 0.25, 1e308, -1e308, 5e-324, -0.0]
COLUMNS = {"x": {"type": "float", "bounds": [-1, 3]}, "d": {"type": "decimal", "bounds": [0, 1]}}
QUERY = "SELECT SUM(x) AS s, AVG(x) AS a, SUM(x * d) AS p, SUM(x / d) AS q, COUNT(x) AS n, COUNT(d) AS m FROM t"


def test_each_of_them_in_a_row_moves_sums_within_their_sensitivity() -> None:
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": COLUMNS}}})
    plan = make_plan(QUERY.replace("SUM(x / d) AS q, ", ""), policy)

    def sums(rows: list[tuple[float | None, float | None]]) -> tuple[int, ...]:
        x, d = zip(*rows, strict=True)
        engine = DuckDB({"t": pa.table({"x": pa.array(x, pa.float64()), "d": pa.array(d, pa.float64())})}, policy)
        (group,) = engine.run(plan.levels[0].bounded, bytes(16))
        engine.close()
        return group.sums

    rest = [(0.5, 0.5), (NAN, INF), (None, -INF)]
    base = sums(rest)
    for x in ODD:
        for d in (NAN, INF, None, 0.5):
            moved = [a - b for a, b in zip(sums([(x, d), *rest]), base, strict=True)]
            assert all(abs(move) <= norms.l1 for move, norms in zip(moved, plan.levels[0].norms, strict=True)), (x, d)


@pytest.mark.parametrize("spend", [dp.pure(1), dp.pure(10**9)], ids=["noisy", "exact"])
def test_no_answer_in_sql_is_one_of_them(spend: dp.Loss) -> None:
    """Of a table of nothing else, as of one without them: numbers or NULL, and errors that are finite as well."""
    policy = {"version": "1", "budget": {"epsilon": 10**12}, "tables": {"t": {"unit": "rows", "columns": COLUMNS}}}
    query = QUERY.replace("SUM(x / d) AS q, ", "SUM(x) / COUNT(d) AS q, ")
    for values in ([NAN] * 5, [INF, -INF], ODD, [1.0], [None]):
        table = pa.table({"x": pa.array(values, pa.float64()), "d": pa.array(values[::-1], pa.float64())})
        with dp.connect({"t": table}, policy) as session:
            release = session.sql(query, spend)
        for row in release.to_arrow().to_pylist():
            assert all(value is None or math.isfinite(value) for value in row.values())


def test_a_division_by_what_may_be_zero_is_refused_for_every_table() -> None:
    policy = {"version": "1", "budget": {"epsilon": 10}, "tables": {"t": {"unit": "rows", "columns": COLUMNS}}}
    messages = set()
    for values in ([0.0, NAN], [1.0, 2.0]):
        with dp.connect({"t": pa.table({"x": values, "d": values})}, policy) as session:
            with pytest.raises(dp.QueryError) as refused:
                session.sql(QUERY, dp.pure(1))
            messages.add(str(refused.value))
            assert session.spent.epsilon() == 0
    assert len(messages) == 1
