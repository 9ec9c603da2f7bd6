"""Pictures of histograms and marginals, and of their plans: plain JSON that Vega-Lite takes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet import census
from discreet.errors import ParameterError, QueryError

COLUMNS = {
    "income": {"type": "int", "bounds": [1, 256], "nullable": False},
    "sex": {"type": "string", "keys": ["f", "m"], "nullable": False},
}
POLICY = {
    "version": "1",
    "budget": {"epsilon": 9},
    "tables": {"people": {"unit": "rows", "columns": COLUMNS}},
}
PEOPLE = pa.table({"income": [1 + i % 256 for i in range(2_000)], "sex": ["f", "m"] * 1_000})


def drawn(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return spec["data"]["values"]


def test_a_histogram_is_drawn_in_ranges_of_equal_width() -> None:
    with dp.connect({"people": PEOPLE}, POLICY) as session:
        made = census.histogram(session, "income", cells=256, spend=dp.pure(1))
        aware = census.histogram(session, "income", cells=256, spend=dp.pure("0.1"), data_aware=True)
    for each in (made, aware):
        rows = drawn(each.to_vega_lite())
        assert len(rows) == 37  # of 7 cells, and the rest
        assert sum(row["value"] for row in rows) == each.range().value
        assert rows[0]["unbiased"] == each.range(1, 7).unbiased
        low, high = each.range(1, 7).interval()
        assert (rows[0]["low"], rows[0]["high"]) == pytest.approx((low, high))
    made.plot()
    with pytest.raises(ParameterError):
        made.plot(level=2)


def test_a_plan_is_drawn_beside_the_least_that_is_possible() -> None:
    with dp.connect({"people": PEOPLE}, POLICY) as session:
        plan = census.plan_histogram(session, "income", cells=256, spend=dp.pure(1))
    rows = drawn(plan.to_vega_lite())
    assert {row["group"] for row in rows} == {
        "standard error", "mean of all queries", "least of any linear strategy",
    }  # fmt: skip
    shown = [row["error"] for row in rows if row["group"] == "standard error"]
    assert shown == [error for _, error in plan.standard_errors]
    assert plan.bound < plan.error
    plan.plot()
    assert "income in 256 cells" in plan.explain()
    assert "standard error" in repr(plan)


def test_marginals_are_drawn_by_their_errors_and_by_their_cells() -> None:
    asked: dict[str, Any] = {"spend": dp.pure(1), "ways": 2, "cells": {"income": 4}}
    with dp.connect({"people": PEOPLE}, POLICY) as session:
        plan = census.plan_marginals(session, "people", **asked)
        made = census.marginals(session, "people", **asked)
    by_error = drawn(made.to_vega_lite())
    assert by_error == drawn(plan.to_vega_lite())
    assert {row["place"] for row in by_error} == {"total", "income", "sex", "income × sex"}
    table = made.table("sex", "income").to_pylist()
    rows = drawn(made.to_vega_lite("sex", "income"))
    for number in ("value", "unbiased"):
        assert [row[number] for row in rows] == [row[number] for row in table]
    assert [row["high"] for row in rows] == pytest.approx([row["upper"] for row in table])
    made.plot("sex")
    plan.plot()
    with pytest.raises(QueryError):
        made.to_vega_lite("age")
