"""Persons and households in one specification: joins, rules, ratios, caps, and what is refused before any charge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from countries import land

import discreet as dp
from discreet import census
from discreet.errors import DiscreetError, LedgerError
from discreet.release import recompute_loss, verify_loss

POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"rho": 40},
    "tables": {
        "people": {
            "unit": "household", "max_rows": 6,
            "columns": {
                "age": {"type": "int", "bounds": [0, 99], "nullable": False},
                "relation": {"type": "string", "keys": ["head", "spouse", "child"], "nullable": False},
            },
        },
        "households": {
            "unit": "id", "max_rows": 1,
            "columns": {
                "block": {"type": "string"},
                "kind": {"type": "string", "keys": ["family", "single"], "nullable": False},
                "size": {"type": "int", "bounds": [1, 8], "nullable": False},
            },
        },
    },
}  # fmt: skip
ROWS = """
SELECT h.block, p.age, p.relation, h.kind, CASE WHEN p.age < 18 THEN 'minor' ELSE 'adult' END AS stage
FROM people p JOIN households h ON p.household = h.id
"""
RULES = ("people[relation = 'head'] = households", "people[age < 18] <= 6 households")
MANY = 900


def sources(draws: np.random.Generator) -> dict[str, pa.Table]:
    size = draws.integers(1, 7, MANY)
    who = np.repeat(np.arange(MANY), size)
    is_head = np.r_[True, who[1:] != who[:-1]]
    ages = np.where(is_head, draws.integers(20, 90, len(who)), draws.integers(0, 90, len(who)))
    return {
        "people": pa.table({
            "household": who, "age": ages,
            "relation": np.where(is_head, "head", draws.choice(["spouse", "child"], len(who))),
        }),
        "households": pa.table({
            "id": np.arange(MANY), "block": draws.choice(["n11", "n12", "n21", "s11"], MANY), "size": size,
            "kind": np.where(size > 1, "family", "single"),
        }),
    }  # fmt: skip


def homes(**changes: Any) -> census.Spec:
    fields: dict[str, Any] = {"tables": {"every": (), "kind_size": ("kind", "size")}, "column": "block"}
    return census.Spec("households", land(), **(fields | changes))


def spec(**changes: Any) -> census.Spec:
    fields: dict[str, Any] = {
        "table": ROWS, "geography": land(), "name": "people", "column": "block", "cells": {"age": [18, 65]},
        "tables": {"total": (), "age_relation": ("age", "relation"), "kind_stage": ("kind", "stage")},
        "zeros": ("age < 18 AND relation = 'head'",), "universes": {"households": homes()}, "rules": RULES, "share": 3,
    }  # fmt: skip
    return census.Spec(**(fields | changes))


@pytest.fixture
def session() -> Iterator[dp.Session]:
    with dp.connect(sources(np.random.default_rng(0)), POLICY) as opened:
        yield opened


def levels(published: census.Publication) -> list[tuple[Any, Any, Any]]:
    """Of each level heads and households, and children and households, area by area."""
    homes_of, rows = published.universes["households"], list[tuple[Any, Any, Any]]()
    for level, name in enumerate(published.layout.spec.geography.levels):
        ours = published.table("age_relation", level=name).to_pandas()
        heads = ours[ours.relation == "head"].groupby(name, sort=False).value.sum().to_numpy()
        minors = ours[ours.age == "0 to 17"].groupby(name, sort=False).value.sum().to_numpy()
        rows.append((heads, minors, homes_of.integers[level].sum(axis=1)))
    return rows


@pytest.mark.parametrize("spend", ["0.001", "0.02", "2"])
def test_rules_hold_in_every_area(session: dp.Session, spend: str) -> None:
    published = census.publish(session, spec(), dp.rho(spend))
    for heads, minors, every in levels(published):
        assert (heads == every).all()
        assert (minors <= 6 * every).all()
    leaves = published.leaves
    assert leaves.min() >= 0
    assert (leaves[:, ~published.layout.allowed.ravel()] == 0).all()
    microdata = published.microdata().to_pandas()
    homes_of = published.universes["households"].microdata()
    assert (microdata.relation == "head").sum() == homes_of.num_rows
    assert len(microdata) == published.total().value


def test_numbers_are_near_the_truth_where_noise_is_small(session: dp.Session) -> None:
    published, truth = census.publish(session, spec(), dp.rho(30)), sources(np.random.default_rng(0))
    sizes = truth["households"]["size"].to_numpy()
    assert abs(published.total().value - sizes.sum()) < 12
    assert abs(published.universes["households"].total(where="size >= 3").value - (sizes >= 3).sum()) < 12
    joined = published.total("kind_stage", where="kind = 'single'")
    low, high = joined.interval(1 - 1e-9)
    assert low <= (sizes == 1).sum() <= high


def test_the_charge_is_that_of_all_universes_together(session: dp.Session) -> None:
    published = census.publish(session, spec(), dp.rho(1))
    assert session.remaining == dp.rho(39)
    assert published.loss == dp.rho(1)
    assert published.universes["households"].loss == dp.rho("0.25")
    stated = published.certificate["universes"]["households"]
    assert (published.certificate["rows_per_unit"], stated["rows_per_unit"]) == (6, 1)
    verify_loss(published.certificate)
    cost = recompute_loss(published.certificate)
    assert cost.fits(dp.rho(1))
    assert not cost.fits(dp.rho("0.99"))
    again = census.publish(session, spec(), dp.rho(1))
    assert again.to_bytes() == published.to_bytes()
    assert session.remaining == dp.rho(39)


@pytest.mark.parametrize("part", ["rows", "noise", "missing"])
def test_a_certificate_that_charges_too_little_for_a_universe_is_refused(session: dp.Session, part: str) -> None:
    certificate = dict(census.publish(session, spec(), dp.rho(1)).certificate)
    stated = dict(certificate["universes"]["households"])
    if part == "rows":
        stated["rows_per_unit"] = 3
    elif part == "noise":
        stated["measured"] = [{**each, "sigma": "1"} for each in stated["measured"]]
    else:
        stated["measured"] = []
    with pytest.raises(LedgerError):
        verify_loss({**certificate, "universes": {"households": stated}})


def test_it_is_read_back(session: dp.Session, tmp_path: Path) -> None:
    published = census.publish(session, spec(), dp.rho(1))
    assert census.Publication.from_bytes(published.to_bytes()).to_bytes() == published.to_bytes()
    published.save(f"{tmp_path}/country/")
    loaded = census.load(tmp_path / "country")
    assert (
        loaded.universes["households"].table("kind_size").equals(published.universes["households"].table("kind_size"))
    )
    assert (tmp_path / "country" / "households.kind_size.block.parquet").exists()


def test_people_for_each_household(session: dp.Session) -> None:
    published, truth = census.publish(session, spec(), dp.rho(30)), sources(np.random.default_rng(0))
    sizes = truth["households"]["size"].to_numpy()
    ratio = published.rate(per=1, universe="households")
    low, high = ratio.interval(1 - 1e-9)
    assert low <= sizes.mean() <= high
    assert high - low < 0.2
    by_state = published.rates(level="state", per=1, universe="households").to_pydict()
    blocks: list[str] = truth["households"]["block"].to_pylist()  # pyright: ignore[reportAssignmentType]
    for name, low, high in zip(by_state["state"], by_state["lower"], by_state["upper"], strict=True):
        inside = np.array([block.startswith(name.lower()) for block in blocks])
        assert low - 0.3 <= sizes[inside].mean() <= high + 0.3


def test_what_the_cap_left_out_is_estimated_from_sizes() -> None:
    """The stated bias of capped households holds the measured one; both intervals at 1 − 1e-9."""
    capped = {**POLICY["tables"]["people"], "max_rows": 4}
    truth = sources(np.random.default_rng(0))
    with dp.connect(truth, {**POLICY, "tables": {**POLICY["tables"], "people": capped}}) as opened:
        published = census.publish(opened, spec(rules=()), dp.rho(4))
    sizes = truth["households"]["size"].to_numpy()
    low, high = published.total().interval(1 - 1e-9)
    assert low <= np.minimum(sizes, 4).sum() <= high < sizes.sum()
    low, high = published.beyond_cap("size", universe="households").interval(1 - 1e-9)
    assert low <= np.maximum(sizes - 4, 0).sum() <= high
    assert high - low < 400


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rules": ("people[relation = 'head'] = homes",)}, "rule 1: there is no universe homes"),
        ({"rules": ("people[weight > 3] = households",)}, "rule 1: .*weight"),
        ({"rules": ("people[age < 20] = households",)}, "rule 1: .*part of a cell"),
        ({"rules": ("people = 2 people",)}, "leave nobody"),
        ({"universes": {"households": homes(shares={"state": 1})}}, "same level"),
        ({"universes": {"households": homes(held={"state": {"N": 30, "S": 10}})},
          "held": {"state": {"N": 20, "S": 100}}}, "in N there cannot be 20 people, 30 households"),
        ({"universes": {"households": homes(held={"county": {"n1": 3, "n2": 1, "s1": 0}})},
          "held": {"state": {"N": 20, "S": 100}}}, "same level"),
        ({"universes": {"households": homes(tables={"a": ("colour",)})}}, "universes.households.tables.a: .*colour"),
        ({"table": "SELECT block, age FROM people"}, "table: .*block"),
        ({"table": ROWS + "LIMIT 3"}, "LIMIT"),
        ({"tables": {"a": ("household",)}, "table": ROWS.replace("p.age,", "p.age, p.household,"), "rules": ()},
         "says whose a row is"),
    ],
)  # fmt: skip
def test_bad_specifications_are_refused_before_any_charge(
    session: dp.Session, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(DiscreetError, match=words):
        census.publish(session, spec(**changes), dp.rho(1))
    assert session.remaining == dp.rho(40)


def test_the_least_spend_for_an_accuracy_counts_other_universes(session: dp.Session) -> None:
    shared, spend = census.spec_for(session, spec(), accuracy={"block": 20}, most=dp.rho(4))
    planned = census.plan(session, shared, spend)
    assert 19 <= max(planned.error(name, level="block") for name in ("total", "age_relation", "kind_stage")) <= 20
    assert planned.universes["households"].loss == spend
    assert "people[relation = 'head'] = households" in planned.explain()


def test_held_totals_of_two_universes_are_met(session: dp.Session) -> None:
    held = {"households": {"N": 700, "S": 200}, "people": {"N": 2100, "S": 650}}
    tied = spec(universes={"households": homes(held={"state": held["households"]})}, held={"state": held["people"]})
    published = census.publish(session, tied, dp.rho("0.01"))
    assert published.integers[1].sum(axis=1).tolist() == [2100, 650]
    assert published.universes["households"].integers[1].sum(axis=1).tolist() == [700, 200]
    for heads, minors, every in levels(published):
        assert (heads == every).all()
        assert (minors <= 6 * every).all()


def test_a_file_has_universes_and_names_the_lines_of_errors(session: dp.Session, tmp_path: Path) -> None:
    text = f"""
table = '''{ROWS}'''
name = "people"
rules = ["people[relation = 'head'] = households"]
[geography]
areas = "areas.csv"
levels = ["state", "county", "block"]
column = "block"
[cells]
age = [18, 65]
[tables]
age_relation = ["age", "relation"]
[universes.households]
table = "households"
tables = {{ size = ["size"] }}
share = 2
"""
    (tmp_path / "areas.csv").write_text("state,county,block\nN,n1,n11\nN,n1,n12\nN,n2,n21\nS,s1,s11\n")
    path = tmp_path / "country.toml"
    path.write_text(text)
    read = census.Spec.load(path)
    assert census.Spec.from_json(read.to_json()).to_json() == read.to_json()
    assert set(census.publish(session, read, dp.rho(1)).universes) == {"households"}
    path.write_text(text.replace('size = ["size"]', 'size = ["colour"]'))
    with pytest.raises(DiscreetError, match=r"country.toml, line 1\d: universes.households.tables.size: .*colour"):
        census.publish(session, census.Spec.load(path), dp.rho(1))
    path.write_text(text.replace("share = 2", "shares = 2\ncolour = 1"))
    with pytest.raises(DiscreetError, match=r"line 20: universes.households.colour: unknown key"):
        census.Spec.load(path)
