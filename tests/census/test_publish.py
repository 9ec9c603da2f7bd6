"""Publications: charged once, verified, loaded, added up; and what is refused before any charge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from countries import AREAS, LEVELS, land

import discreet as dp
from discreet import census
from discreet.census.estimates import half_widths
from discreet.errors import DataError, DiscreetError, LedgerError, ParameterError, QueryError
from discreet.release import parse_release_file, recompute_loss, verify_loss

POLICY: dict[str, Any] = {
    "version": "1",
    "budget": {"rho": 4},
    "tables": {
        "people": {
            "unit": "rows",
            "columns": {
                "block": {"type": "string"},
                "age": {"type": "int", "bounds": [0, 99], "nullable": False},
                "sex": {"type": "string", "keys": ["F", "M", "X"], "nullable": False},
            },
        }
    },
}
DISTRICTS = {"district": {"left": ("n11", "n21"), "right": ("n12", "s1")}}


def people() -> pa.Table:
    draws = np.random.default_rng(0)
    blocks = draws.choice(["n11", "n12", "n21", "s11"], 4_000)
    return pa.table({
        "block": blocks, "age": draws.integers(0, 100, 4_000), "sex": draws.choice(["F", "M"], 4_000)
    })  # fmt: skip


def spec(**changes: Any) -> census.Spec:
    fields: dict[str, Any] = {
        "table": "people",
        "geography": land(),
        "tables": {"total": (), "age_sex": ("age", "sex"), "sex": ("sex",)},
        "cells": {"age": [18, 65]},
        "districts": DISTRICTS,
        "zeros": ("age < 18 AND sex = 'X'",),
    }
    return census.Spec(**(fields | changes))


@pytest.fixture
def session() -> Iterator[dp.Session]:
    with dp.connect({"people": people()}, POLICY) as opened:
        yield opened


@pytest.fixture(scope="module")
def published() -> census.Publication:
    with dp.connect({"people": people()}, POLICY) as opened:
        return census.publish(opened, spec(), dp.rho(2))


def test_it_is_charged_once_and_served_again(session: dp.Session) -> None:
    first = census.publish(session, spec(), dp.rho(1))
    assert session.remaining == dp.rho(3)
    assert census.publish(session, spec(), dp.rho(1)).to_bytes() == first.to_bytes()
    assert session.remaining == dp.rho(3)
    census.publish(session, spec(shares={"block": 1}), dp.rho(1))
    assert session.remaining == dp.rho(2)


def test_its_loss_follows_from_its_certificate(published: census.Publication) -> None:
    assert recompute_loss(published.certificate).fits(dp.rho(2))
    verify_loss(published.certificate)
    less = dict(published.certificate)
    less["loss"] = dp.privacy.to_json(dp.rho(1))
    with pytest.raises(LedgerError, match="costs more than it says"):
        verify_loss(less)
    for broken in ({"currency": "euro"}, {"measured": []}, {"measured": [{"level": "country"}]}, {"rows_per_unit": 0}):
        with pytest.raises(LedgerError):
            recompute_loss({**published.certificate, **broken})


def test_numbers_add_up_over_levels_and_tables(published: census.Publication) -> None:
    for name in ("total", "age_sex", "sex"):
        sums = {pc.sum(published.table(name, level)["value"]).as_py() for level in ("country", *LEVELS)}
        assert sums == {published.total().value}
    by_state = published.table("sex", "state").to_pylist()
    counties = {"N": ["n1", "n2"], "S": ["s1"]}
    by_county = published.table("sex", "county").to_pylist()
    for row in by_state:
        inside = [r["value"] for r in by_county if r["county"] in counties[row["state"]] and r["sex"] == row["sex"]]
        assert sum(inside) == row["value"]
    assert all(row["value"] >= 0 for row in published.table("age_sex").to_pylist())


def test_the_total_is_of_the_root_whatever_it_is_called(session: dp.Session) -> None:
    lands = land()
    named = census.Geography(lands.levels, (("Utopia",), *lands.names[1:]), lands.tree)
    tables = census.publish(session, spec(geography=named, column="block"), dp.rho(1))
    assert tables.total().value == tables.total(areas=["Utopia"]).value == tables.total(areas=["N", "S"]).value


def test_districts_are_sums_of_areas(published: census.Publication) -> None:
    rows = published.table("total", "district").to_pylist()
    assert [row["district"] for row in rows] == ["left", "right"]
    for row, areas in zip(rows, DISTRICTS["district"].values(), strict=True):
        total = published.total(areas=areas)
        assert (row["value"], row["unbiased"]) == (total.value, pytest.approx(total.unbiased))
        assert row["standard_error"] == pytest.approx(total.standard_error)


def test_structural_zeros_stay_zero(published: census.Publication) -> None:
    cells = [
        row["value"] for row in published.table("age_sex").to_pylist() if (row["age"], row["sex"]) == ("0 to 17", "X")
    ]
    assert cells == [0] * 5


def test_estimates_are_right_and_errors_as_planned(session: dp.Session) -> None:
    plan = census.plan(session, spec(), dp.rho(1))
    assert session.remaining == dp.rho(4)
    first = census.publish(session, spec(), dp.rho(1))
    half = plan.total_error("age_sex", ["n12", "s1"], "age < 18")
    total = first.total(areas=["n12", "s1"], where="age < 18")
    low, high = total.interval()
    assert (high - low) / 2 == pytest.approx(half)
    table = people()
    inside = pc.and_(pc.is_in(table["block"], pa.array(["n12", "s11", "s12"])), pc.less(table["age"], 18))
    assert abs(pc.sum(inside).as_py() - total.unbiased) < 8 * total.standard_error


def test_microdata_tabulate_to_the_publication(published: census.Publication) -> None:
    rows = published.microdata()
    counted = rows.group_by(["block", "sex"]).aggregate([([], "count_all")]).to_pylist()
    expected = {(row["block"], row["sex"]): row["value"] for row in published.table("sex").to_pylist() if row["value"]}
    assert {(row["block"], row["sex"]): row["count_all"] for row in counted} == expected


def test_noisy_counts_are_published(published: census.Publication) -> None:
    noisy = published.measurements()
    assert noisy.num_rows == sum(counts.size for counts in published.measured.values())
    assert set(noisy.column("level").to_pylist()) == {"country", *LEVELS}


def test_a_folder_holds_everything(published: census.Publication, tmp_path: Path) -> None:
    folder = tmp_path / "country"
    published.save(f"{folder}/")
    assert pq.read_table(folder / "sex.county.parquet").equals(published.table("sex", "county"))
    assert census.load(folder).to_bytes() == published.to_bytes()
    assert parse_release_file((folder / "publication.json").read_bytes()).kind == "census"
    with pytest.raises(ParameterError, match="already"):
        published.save(f"{folder}/")
    with pytest.raises(DataError):
        census.load(tmp_path / "nothing")


def test_totals_that_are_held_are_met(session: dp.Session) -> None:
    held = spec(held={"state": {"N": 3_100, "S": 900}}, zeros=())
    made = census.publish(session, held, dp.rho(1))
    rows = made.table("total", "state").to_pylist()
    assert [(row["value"], row["flag"]) for row in rows] == [(3_100, "held"), (900, "held")]
    assert [row["unbiased"] for row in rows] == [pytest.approx(3_100), pytest.approx(900)]
    assert made.total().value == 4_000 and made.total().standard_error == 0
    assert made.certificate["spec"]["held"] == {"state": 2}


def test_districts_may_be_measured(session: dp.Session) -> None:
    alone = census.plan(session, spec(shares={"block": 1}), dp.rho(1))
    also = census.plan(session, spec(shares={"block": 1, "district": 1}), dp.rho(2))
    areas = DISTRICTS["district"]["left"]
    assert also.total_error("total", areas) < alone.total_error("total", areas)
    assert (
        census.publish(session, spec(shares={"block": 1, "district": 1}), dp.rho(2)).table("sex", "district").num_rows
        == 6
    )


def test_precision_marks_by_noisy_values(session: dp.Session) -> None:
    marked = census.publish(session, spec(precision={"cv": 0.05}), dp.rho(1)).table("age_sex", "block")
    for row in marked.to_pylist():
        is_imprecise = row["standard_error"] > 0.05 * max(row["unbiased"], 0)
        assert row["flag"] == ("imprecise" if is_imprecise else "")


def test_automatic_shares_beat_even_ones(session: dp.Session) -> None:
    from discreet.census.estimates._shares import weighted_error

    even, best = (census.plan(session, spec(shares=shares), dp.rho(1)).errors for shares in ({}, "auto"))
    assert weighted_error(best) < 0.97 * weighted_error(even)


def test_an_accuracy_has_a_least_spend(session: dp.Session) -> None:
    shared, spend = census.spec_for(session, spec(), {"county": 30, "state": {"total": 12}}, dp.rho(2))
    errors = census.plan(session, shared, spend).errors
    assert errors.half_width("age_sex", "county", None, 0.95) <= 30
    assert errors.half_width("total", "state", None, 0.95) <= 12
    slightly_less = dp.rho(Fraction(9, 10) * dp.privacy.parts(spend)[0])
    less = census.plan(session, shared, slightly_less).errors
    assert less.half_width("age_sex", "county", None, 0.95) > 30 or less.half_width("total", "state", None, 0.95) > 12
    with pytest.raises(ParameterError, match="not enough"):
        census.spec_for(session, spec(), {"county": 1}, dp.rho("0.001"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tables": {}}, "name at least one"),
        ({"tables": {"a": ("agee",)}}, "did you mean age"),
        ({"tables": {"a": ("age",), "b": ("AGE",)}}, "leave one of them out"),
        ({"tables": {"a": ("block",)}}, "names the area"),
        ({"table": "peopl"}, "did you mean people"),
        ({"column": "blok"}, "did you mean block"),
        ({"shares": {"village": 1}}, "no such level"),
        ({"shares": {"block": -1}}, "from 0"),
        ({"shares": {"block": 0}}, "above 0"),
        ({"shares": "best"}, "auto"),
        ({"shares": {"block": {"tot": 1}}}, "no table of that name"),
        ({"shares": {"block": 1, "district": 1}, "districts": {"district": {"a": ("n1",), "b": ("n11",)}}}, "overlaps"),
        ({"districts": {"district": {"a": ("n1", "n11")}}}, "none may lie in another"),
        ({"districts": {"state": {"a": ("n1",)}}}, "has that name already"),
        ({"zeros": ("age <",)}, "cannot be read"),
        ({"zeros": ("age < 30",)}, "part of a cell"),
        ({"zeros": ("age >= 0",)}, "no cell"),
        ({"held": {"state": {"N": 1}}}, "no total of S"),
        ({"held": {"state": {"N": 1, "S": -1}}}, "from 0"),
        ({"held": {"state": {"N": 1, "S": 1}, "country": {"country": 9}}}, "one level"),
        ({"precision": {"error": 1}}, "standard_error"),
        ({"cells": {"sex": 3}}, "public keys"),
    ],
)
def test_what_cannot_be_published_is_refused_before_any_charge(
    session: dp.Session, changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(DiscreetError, match=words):
        census.publish(session, spec(**changes), dp.rho(1))
    assert session.remaining == dp.rho(4)


@pytest.mark.parametrize(
    ("areas", "words"),
    [
        (
            {**AREAS, "county": ["n1", "n1", "n2", "s1", "n1"]},
            "do not nest: the county n1 lies in the state N and in S",
        ),
        ({**AREAS, "block": ["a", "a", "b", "c", "d"]}, "listed twice"),
        ({**AREAS, "state": ["N", None, "N", "S", "S"]}, "gaps"),
        ({"block": ["a"]}, "no column state"),
        (7, "a list of areas is"),
    ],
)
def test_areas_that_are_none_are_refused(areas: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        census.Geography.of_areas(areas, LEVELS)


def test_questions_that_no_table_answers_are_refused(published: census.Publication) -> None:
    for ask, words in (
        (lambda: published.table("nothing"), "no table nothing"),
        (lambda: published.table("sex", "village"), "no level"),
        (lambda: published.total(areas=["nowhere"]), "no area"),
        (lambda: published.total(areas=["n1", "n11"]), "none may lie in another"),
        (lambda: published.total(where="height > 3"), "no column height"),
        (lambda: published.total(where="age < 30"), "part of a cell"),
        (lambda: published.total().interval(1), "strictly between"),
        (lambda: published.plot("pie"), "a picture is of"),
    ):
        with pytest.raises(DiscreetError, match=words):
            ask()


def test_a_table_measured_above_is_not_published_below(session: dp.Session) -> None:
    shares = {"state": {"age_sex": 1}, "block": {"total": 1}}
    made = census.publish(session, spec(shares=shares, zeros=()), dp.rho(1))
    assert made.table("total").num_rows == 5
    with pytest.raises(QueryError, match="give one a share there"):
        made.table("age_sex", "block")


@pytest.mark.parametrize("place", range(60))
def test_spoilt_files_are_house_errors(published: census.Publication, place: int) -> None:
    draws = np.random.default_rng(place)
    content: dict[str, Any] = json.loads(published.to_bytes())
    names = ["spec", "cells", "noise", "measured", "leaves"]
    name = names[place % len(names)]
    choices: list[Any] = [None, [], {}, "x", 7, -1, [None], {"shape": [1, 1], "width": "<i8", "data": "AAAA"}]
    chosen = choices[draws.integers(len(choices))]
    if isinstance(content[name], dict) and draws.random() < 0.7:
        key = sorted(content[name])[draws.integers(len(content[name]))]
        content[name][key] = chosen
    else:
        content[name] = chosen
    try:
        census.Publication.from_bytes(json.dumps(content).encode())
    except LedgerError:
        return
    assert isinstance(content[name], dict)


def test_intervals_reach_their_confidence_on_a_lattice() -> None:
    """Of whole noise the half-width is the whole number that reaches the confidence, or wider."""
    from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace

    laws = [(False, DiscreteGaussian(scale)) for scale in (0.4, 0.7, 1.3, 3, 8.5)]
    laws += [(True, DiscreteLaplace(scale)) for scale in (0.3, 1, 4, 11)]
    for heavy, mechanism in laws:
        for confidence in (0.5, 0.9, 0.95, 0.99):
            half = float(half_widths(np.array([mechanism.std**2]), confidence, heavy=heavy)[0])
            assert int(half + 1e-9) >= mechanism.error(confidence - 0.01), (mechanism, confidence)


def test_intervals_of_wide_noise_on_a_lattice_are_not_too_wide() -> None:
    """By the exact law of one discrete Gaussian noise: at 95 % from 0.945, and up to 0.955 where a whole number is."""
    for sigma in np.arange(10.05, 60, 0.17):
        places = np.arange(-int(9 * sigma), int(9 * sigma) + 1)
        law = np.exp(-(places**2) / (2 * sigma**2))
        reached = np.cumsum(np.concatenate([law[places == 0], 2 * law[places > 0]])) / law.sum()
        half = float(half_widths(np.array([sigma**2]), 0.95, heavy=False)[0])
        least = float(reached[reached >= 0.945].min())
        assert 0.945 <= reached[int(half + 1e-9)] <= max(0.955, least), sigma
        assert half / sigma == pytest.approx(1.96, abs=0.1 if sigma < 12 else 0.01)


def test_shares_add_up_exactly() -> None:
    with dp.connect({"people": people()}, POLICY) as opened:
        prepared = opened.prepare(census.Publish(spec(shares={"country": "0.1", "block": "1/3"}), dp.rho(1)))
    assert isinstance(prepared, census.PreparedPublication)
    assert sum(prepared.shares.values()) == 1
    assert replace(prepared.layout.spec).tables == prepared.layout.spec.tables
    assert all(a <= b for a, b in pairwise(sorted(prepared.shares.values())))


@pytest.mark.parametrize("imprecise", ["mark", "withhold", "coarsen"])
def test_tables_are_the_same_whatever_areas_are_made_together(
    session: dp.Session, imprecise: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.census import _publication

    made = census.publish(session, spec(precision={"cv": 0.05}, imprecise=imprecise), dp.rho(1))
    asked = [(name, level) for name in made.layout.tables for level in LEVELS]
    at_once, noisy = [made.table(*each) for each in asked], made.measurements()
    monkeypatch.setattr(_publication, "_AT_ONCE", 1)
    assert len(list(made._pieces("sex", "block"))) == 5
    for each, table in zip(asked, at_once, strict=True):
        rows = zip(made.table(*each).to_pylist(), table.to_pylist(), strict=True)
        assert all(row == pytest.approx(other, rel=1e-12, abs=1e-9) for row, other in rows)
    assert made.measurements().to_pylist() == noisy.to_pylist()
