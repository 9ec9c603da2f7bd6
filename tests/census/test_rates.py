"""Rates and averages of publications: their intervals cover, their errors are exact, and what is none is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from countries import LEVELS, land
from scipy.stats import binom

import discreet as dp
from discreet import census
from discreet.census._totals import Totals
from discreet.census.estimates import ratio_interval
from discreet.errors import ParameterError, QueryError
from discreet.prices import with_noise

POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"rho": 40},
    "tables": {"people": {"unit": "rows", "columns": {
        "block": {"type": "string"},
        "ill": {"type": "bool", "nullable": False},
        "children": {"type": "int", "bounds": [0, 4]},
        "age": {"type": "int", "bounds": [0, 99], "nullable": False},
    }}},
}  # fmt: skip
DISTRICTS = {"district": {"left": ("n11", "n21"), "right": ("n12", "s1")}}


def people() -> pa.Table:
    draws = np.random.default_rng(3)
    blocks = draws.choice(["n11", "n12", "n21", "s11"], 6_000, p=[0.4, 0.3, 0.2, 0.1])
    children = [None if each == 5 else int(each) for each in draws.integers(0, 6, 6_000)]
    return pa.table({
        "block": blocks, "ill": draws.random(6_000) < 0.1, "children": children, "age": draws.integers(0, 100, 6_000),
    })  # fmt: skip


def spec(**changes: Any) -> census.Spec:
    fields: dict[str, Any] = {
        "table": "people",
        "geography": land(),
        "tables": {"total": (), "ill_age": ("ill", "age"), "children": ("children",)},
        "cells": {"age": [18, 65], "children": 5},
        "districts": DISTRICTS,
    }
    return census.Spec(**(fields | changes))


@pytest.fixture(scope="module")
def published() -> Iterator[census.Publication]:
    with dp.connect({"people": people()}, POLICY) as session:
        yield census.publish(session, spec(), dp.rho(1))


def truth(rows: pa.Table, areas: set[str] | None = None) -> pa.Table:
    kept = [areas is None or each in areas for each in rows["block"].to_pylist()]
    return rows.filter(pa.array(kept))


def test_a_rate_is_one_total_over_another(published: census.Publication) -> None:
    rate = published.rate("ill", areas=["n12", "s1"], per=1_000)
    ill, everybody = published.total(areas=["n12", "s1"], where="ill"), published.total(areas=["n12", "s1"])
    assert rate.value == pytest.approx(1_000 * ill.value / everybody.value)
    assert rate.estimate == pytest.approx(1_000 * ill.unbiased / everybody.unbiased)
    assert rate.variances == pytest.approx(((1_000 * ill.standard_error) ** 2, everybody.standard_error**2))
    rows = truth(people(), {"n12", "s11"})
    true = 1_000 * sum(rows["ill"].to_pylist()) / rows.num_rows
    # Eight standard errors, to first order: beyond them with a probability below 1e-14
    assert abs(rate.estimate - true) < 8 * rate.standard_error
    low, high = rate.interval()
    assert low < rate.estimate < high
    assert high - low == pytest.approx(2 * 1.96 * rate.standard_error, rel=0.05)


def test_rates_of_areas_are_those_of_each_area(published: census.Publication) -> None:
    for level in ("country", *LEVELS, "district"):
        table = published.rates("ill", level=level, among="age >= 18", per=100)
        for row in table.to_pylist():
            inside = list(DISTRICTS["district"][row[level]]) if level == "district" else [(level, row[level])]
            one = published.rate("ill", areas=inside, among="age >= 18", per=100)
            same = (one.value, one.estimate, one.standard_error, *one.interval())
            values = [row[name] for name in ("value", "estimate", "standard_error", "lower", "upper")]
            assert values == pytest.approx(same, rel=1e-9, nan_ok=True)
    assert "ill" not in published.rates("ill").column_names


def test_public_populations_have_no_noise(published: census.Publication) -> None:
    ill = published.total(areas=["n12", "s11"], where="ill")
    rate = published.rate("ill", areas=["n12", "s11"], population={"n12": 1_800, "s11": 600}, per=1)
    assert rate.estimate == pytest.approx(ill.unbiased / 2_400)
    assert rate.interval() == pytest.approx(tuple(max(end, 0) / 2_400 for end in ill.interval()))
    numbers = {"n11": 10, "n12": 20, "n21": 30, "s11": 40, "s12": 50}
    table = published.rates("ill", population=numbers, per=1).to_pylist()
    for row, total in zip(table, published.table("total").to_pylist(), strict=True):
        alone = published.total(areas=[total["block"]], where="ill")
        assert row["value"] == pytest.approx(alone.value / numbers[row["block"]])


def test_an_average_weighs_single_numbers(published: census.Publication) -> None:
    mean = published.mean("children", areas=["n11"])
    rows = truth(people(), {"n11"})["children"].to_pylist()
    known = [each for each in rows if each is not None]
    # Eight standard errors: as above
    assert abs(mean.estimate - sum(known) / len(known)) < 8 * mean.standard_error
    totals = [published.total("children", areas=["n11"], where=f"children = {i}") for i in range(5)]
    assert mean.numerator == pytest.approx(sum(i * each.unbiased for i, each in enumerate(totals)))
    assert mean.denominator == pytest.approx(sum(each.unbiased for each in totals))
    few = published.mean("children", areas=["n11"], where="children <= 1")
    assert few.estimate == pytest.approx(totals[1].unbiased / (totals[0].unbiased + totals[1].unbiased))


def test_nobody_has_no_rate(published: census.Publication) -> None:
    rate = published.rate("ill", areas=["s12"])
    assert rate.interval(1 - 1e-11) == (0, math.inf)  # how many there are is noise, beyond this level as rarely
    empty = census.Ratio(math.nan, 1.0, -0.5, (1.0, 1.0))
    assert math.isnan(empty.estimate) and math.isnan(empty.standard_error)
    assert empty.interval() == (0, math.inf)
    assert census.Ratio(math.nan, 1.0, -0.5, (1.0, 1.0), least=-math.inf).interval() == (-math.inf, math.inf)


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"where": "ill", "population": 0}, ParameterError, "above 0"),
        ({"where": "ill", "population": True}, ParameterError, "above 0"),
        ({"where": "ill", "population": float("nan")}, ParameterError, "above 0"),
        ({"where": "ill", "areas": ["n11"], "population": {"n12": 3}}, ParameterError, "no number of people for n11"),
        ({"where": "ill", "among": "ill", "population": 3}, ParameterError, "not both"),
        ({"where": "ill", "areas": ["nowhere"]}, ParameterError, "no area"),
        ({"where": "age < 20"}, QueryError, "part of a cell"),
        ({"where": "ill AND children = 1"}, QueryError, "no table measures"),
    ],
)
def test_rates_that_are_none_are_refused(
    published: census.Publication, asked: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        published.rate(**asked)


def test_averages_that_are_none_are_refused(published: census.Publication) -> None:
    with pytest.raises(QueryError, match=r"cells of one number each.*cells\.age"):
        published.mean("age")
    with pytest.raises(QueryError, match="one number each"):
        published.mean("ill")
    with pytest.raises(ParameterError, match="confidence"):
        published.rate("ill").interval(1.5)
    with pytest.raises(ParameterError, match="level"):
        published.rates("ill", level="nowhere")


@pytest.mark.parametrize("runs", [50, pytest.param(3_000, marks=pytest.mark.soak)])
def test_intervals_of_rates_cover(runs: int) -> None:
    """95 % intervals of rates and averages, over areas of all levels and runs.

    At a coverage of 0.95 each, hits are binomial, and fewer have a probability of 1e-10; areas share noise, so only as
    many independent ones as runs are counted on.
    """
    rows, hits, pairs = people(), 0, 0
    truths: dict[tuple[str, str], tuple[float, float]] = {}
    geography = land()
    for level in LEVELS:
        for name in geography.names[geography.level(level)]:
            inside = {geography.names[-1][i] for i in geography.leaves([(level, name)], name)}
            there = truth(rows, inside)
            children = [each for each in there["children"].to_pylist() if each is not None]
            if there.num_rows:
                truths[level, name] = (sum(there["ill"].to_pylist()) / there.num_rows, sum(children) / len(children))
    policy = {**POLICY, "budget": {"rho": 10**9}}
    with dp.connect({"people": rows}, policy) as session:
        exact = census.publish(session, spec(), dp.rho(10**8))  # with noise of 1e-4 steps: none
        mechanisms = census.plan(session, spec(), dp.rho("0.002")).mechanisms
    errors = census.Errors.of_mechanisms(exact.layout, mechanisms)
    for _ in range(runs):
        noisy = {each: with_noise(exact.measured[each], mechanism) for each, mechanism in mechanisms.items()}
        totals = Totals(census.Estimate(errors, noisy), exact.integers)
        ill, everybody = (totals.asked(None, None, where) for where in ("ill", None))
        children = totals.mean("children", everybody)
        for level in LEVELS:
            shares, means = (
                totals.ratios(geography.level(level), *each, 1, 0.95).to_pylist()
                for each in ((ill, everybody), children)
            )
            for one, other in zip(shares, means, strict=True):
                true = truths.get((level, one[level]))
                if true is not None:
                    hits += (one["lower"] <= true[0] <= one["upper"]) + (other["lower"] <= true[1] <= other["upper"])
                    pairs += 2
    assert hits / pairs >= binom.ppf(1e-10, runs, 0.95) / runs, hits / pairs


def test_fieller_is_exact_for_gaussian_noise() -> None:
    """How often an interval misses, over many estimates: 5 % at every denominator and correlation."""
    grid = np.random.default_rng(1).normal(size=(2, 400_000))
    for denominator in (1.0, 3.0, 10.0):
        for correlation in (-0.8, 0.0, 0.8):
            own = grid[0]
            below = correlation * grid[0] + math.sqrt(1 - correlation**2) * grid[1]
            numerator = 0.4 * denominator
            ones = np.full(own.shape, 1e6)  # so wide that no lattice shows
            low, high = ratio_interval(
                (numerator + own) * 1e3, (denominator + below) * 1e3, (ones, ones), correlation * ones, 0.95,
                heavy=False, least=-math.inf,
            )  # fmt: skip
            covered = np.mean((low <= 0.4) & (high >= 0.4))
            # Its standard error is 3.4e-4: seven of them are beyond 1e-11
            assert covered >= 0.95 - 7 * 3.5e-4, (denominator, correlation, covered)
