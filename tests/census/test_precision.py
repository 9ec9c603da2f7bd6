"""What is imprecise is marked, withheld or coarsened by noisy values alone, and totals stay recoverable."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from countries import LEVELS, land

import discreet as dp
from discreet import census
from discreet.errors import ParameterError
from discreet.mechanisms import DiscreteGaussian

POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"rho": 40},
    "tables": {"people": {"unit": "rows", "columns": {
        "block": {"type": "string"},
        "age": {"type": "int", "bounds": [0, 99], "nullable": False},
        "sex": {"type": "string", "keys": ["F", "M", "X"], "nullable": False},
    }}},
}  # fmt: skip
DISTRICTS = {"district": {"left": ("n11", "n21"), "right": ("n12", "s1")}}
NUMBERS = ("value", "unbiased", "standard_error", "lower", "upper")


def people() -> pa.Table:
    draws = np.random.default_rng(3)
    return pa.table({
        "block": draws.choice(["n11", "n12", "n21", "s11"], 3_000, p=[0.6, 0.3, 0.08, 0.02]),
        "age": draws.integers(0, 100, 3_000), "sex": draws.choice(["F", "M", "X"], 3_000, p=[0.5, 0.48, 0.02]),
    })  # fmt: skip


def spec(action: str, **precision: float) -> census.Spec:
    return census.Spec(
        "people", land(), {"total": (), "age_sex": ("age", "sex"), "sex": ("sex",)}, cells={"age": [18, 65]},
        districts=DISTRICTS, precision=precision, imprecise=action,
    )  # fmt: skip


def as_if(made: census.Publication, action: str, **precision: float) -> census.Publication:
    """The same noisy numbers under another rule."""
    layout = census.Layout(spec(action, **precision), made.layout.columns)
    return census.Publication(layout, made.mechanisms, made.measured, made.leaves, made.loss, made.certificate)


@pytest.fixture(scope="module")
def published() -> Iterator[census.Publication]:
    with dp.connect({"people": people()}, POLICY) as session:
        yield census.publish(session, spec("withhold", cv=0.3), dp.rho("0.1"))


@pytest.mark.parametrize("place", ["country", *LEVELS, "district"])
@pytest.mark.parametrize("rule", [{"cv": 0.3}, {"half_width": 14.0}, {"standard_error": 6.0}, {"cv": 1e-9}])
def test_withheld_numbers_add_up_to_what_is_left(
    published: census.Publication, place: str, rule: dict[str, float]
) -> None:
    marked = as_if(published, "mark", **rule).table("age_sex", place).to_pylist()
    rows = as_if(published, "withhold", **rule).table("age_sex", place).to_pylist()
    shown = [row for row in rows if row["flag"] != "withheld together"]
    assert len(shown) == len(marked)
    for row, mark in zip(shown, marked, strict=True):
        if mark["flag"]:
            assert mark["flag"] == "imprecise" and row["flag"] == "withheld"
            assert all(row[name] is None for name in NUMBERS)
        else:
            assert row == mark
    for area in {row[place] for row in rows}:
        withheld = [row for row in marked if row[place] == area and row["flag"]]
        together = [row for row in rows if row[place] == area and row["flag"] == "withheld together"]
        assert len(together) == bool(withheld)
        for row in together:
            assert row["age"] == row["sex"] == "(withheld)"
            assert row["value"] == sum(each["value"] for each in withheld)
            assert row["unbiased"] == pytest.approx(sum(each["unbiased"] for each in withheld))
            assert row["standard_error"] ** 2 >= max(each["standard_error"] for each in withheld) ** 2 / len(withheld)
        if len(withheld) == 9:  # all of them: the total, whose error is known
            one = published.total(
                "age_sex", areas=list(DISTRICTS["district"][area]) if place == "district" else [(place, area)]
            )
            assert together[0]["standard_error"] == pytest.approx(one.standard_error)
            assert together[0]["value"] == one.value
    order = [row[place] for row in rows]
    assert order == sorted(order, key=order.index), "rows of an area stand together"


@pytest.mark.parametrize("place", ["country", *LEVELS, "district"])
def test_coarser_tables_add_up_to_the_same(published: census.Publication, place: str) -> None:
    rule = {"cv": 0.3}
    marked = as_if(published, "mark", **rule)
    fine = marked.table("age_sex", place).to_pylist()
    rows = as_if(published, "coarsen", **rule).table("age_sex", place).to_pylist()
    for area in {row[place] for row in rows}:
        own, before = ([row for row in table if row[place] == area] for table in (rows, fine))
        assert sum(row["value"] for row in own) == sum(row["value"] for row in before)
        assert sum(row["unbiased"] for row in own) == pytest.approx(sum(row["unbiased"] for row in before))
        if not any(row["flag"] for row in before):
            assert own == before
        elif len(own) == 3:
            assert {row["sex"] for row in own} == {"(all)"} and {row["flag"] for row in own} == {"coarsened"}
            assert all(row["standard_error"] <= 0.3 * row["unbiased"] for row in own)
        else:
            assert [(row["age"], row["sex"]) for row in own] == [("(all)", "(all)")]


def test_totals_are_marked_alone(published: census.Publication) -> None:
    for action in ("withhold", "coarsen"):
        rows = as_if(published, action, cv=1e-9).table("total", "block").to_pylist()
        assert {row["flag"] for row in rows} == {"imprecise"} and all(row["value"] is not None for row in rows)


def test_it_is_saved_shown_and_drawn(published: census.Publication, tmp_path: Any) -> None:
    published.save(f"{tmp_path}/country/")
    again = census.load(tmp_path / "country")
    assert again.table("age_sex").equals(published.table("age_sex"))
    assert "withheld together" in published.table("age_sex")["flag"].to_pylist()
    assert "(withheld)" in str(published.shown_table("age_sex"))
    assert published.to_vega_lite("values", "age_sex", "block")


def test_unknown_actions_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"precision\.action: it is one of mark, withhold, coarsen, not 'hide'"):
        spec("hide", cv=0.3)
    read = {
        "geography": {"areas": {"state": ["N", "S"]}, "levels": ["state"]},
        "table": "people",
        "tables": {"total": []},
    }
    assert census.Spec.of_dict({**read, "precision": {"cv": 0.3, "action": "coarsen"}}).imprecise == "coarsen"
    assert "imprecise" not in census.Spec.of_dict({**read, "precision": {"cv": 0.3}}).to_json()


@pytest.mark.parametrize("truth", [0, 12, 20, 40])
def test_the_bias_of_shown_numbers_is_as_stated(truth: int) -> None:
    """By enumeration of the noise: a number is shown if its standard error is a quarter of it at most."""
    sigma = 4
    noise = np.arange(-60, 61)
    law = np.exp(-(noise**2) / (2 * sigma**2))
    law /= law.sum()
    assert DiscreteGaussian(sigma).std == pytest.approx(math.sqrt((law * noise**2).sum()))
    shown = sigma <= 0.25 * (truth + noise)
    bias = (law * noise)[shown].sum() / law[shown].sum() / sigma
    assert bias == pytest.approx(census.selection_bias(0.25, truth / sigma), abs=0.15)
