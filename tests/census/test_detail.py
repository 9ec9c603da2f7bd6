"""Groups that overlap: no person moves what is measured by more than is planned, and noise alone chooses detail."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import census
from discreet.census.details import group_norms
from discreet.census.details._chance import choice_bias, least_threshold, mean_beyond, probability_at_least, reaches
from discreet.errors import DiscreetError, LedgerError, ParameterError, QueryError
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian
from discreet.policy import load_policy
from discreet.prices import Additive
from discreet.query import Marginals
from discreet.release import verify_loss

pytestmark = pytest.mark.usefixtures("one_database")

CODES = [f"g{i}" for i in range(9)]
SEX = {"type": "string", "keys": ["F", "M"], "nullable": False}
AGE = {"type": "int", "bounds": [0, 99], "nullable": False}


def policy_of(
    most_rows: int = 20, relation: str = "add_remove", budget: dict[str, Any] | None = None
) -> dict[str, Any]:
    people = {"unit": "person", "max_rows": 1, "columns": {"county": {"type": "string"}, "sex": SEX, "age": AGE}}
    groups = {"unit": "person -> people.person", "max_rows": most_rows, "columns": {
        "origin": {"type": "string", "keys": CODES}}}  # fmt: skip
    tables = {"people": people, "origins": groups}
    return {"version": "1", "budget": budget or {"rho": 99}, "relation": relation, "tables": tables}


def spec_of(areas: Any = None, most: int = 8, **changed: Any) -> census.DetailSpec:
    areas = areas or {"state": ["N", "N", "S"], "county": ["n1", "n2", "s1"]}
    return census.DetailSpec.of_dict({
        "table": "origins",
        "groups": {"column": "origin", "most": most},
        "geography": {"areas": areas, "levels": list(areas), "root": "country"},
        "detail": {
            "coarse": {"from": 400, "columns": ["sex"]},
            "fine": {"from": 1000, "columns": ["sex", "age"], "cells": {"age": [18, 65]}},
            "finest": {"from": 3000, "columns": ["age", "sex"], "cells": {"age": [5, 18, 30, 65]}},
        },
        **changed,
    })  # fmt: skip


def people_of(rows: list[tuple[int, str, str, int, list[str]]]) -> dict[str, pa.Table]:
    """Tables of persons with a county, a sex, an age and their groups."""
    people, counties, sexes, ages, groups = zip(*rows, strict=True)
    origins = [(person, code) for person, each in zip(people, groups, strict=True) for code in each]
    return {
        "people": pa.table({"person": people, "county": counties, "sex": sexes, "age": ages}),
        "origins": pa.table({"person": [p for p, _ in origins], "origin": [code for _, code in origins]}),
    }


def exact(
    tables: dict[str, pa.Table],
    policy: dict[str, Any],
    spec: census.DetailSpec,
    spend: dp.Loss | None = None,
    *,
    mixed: bool = False,
) -> tuple[census.PreparedDetail, dict[str, Any], dict[Any, Any]]:
    """What is counted, before noise: totals, and the cells where every way to show a group is asked for in turn.

    With `mixed`, also the L1 norm and the square of the L2 norm in each area where each group has some other way.
    """
    spend = dp.rho(9) if spend is None else spend
    with dp.connect(tables, policy) as session:
        prepared = session.prepare(census.PublishDetail(spec, spend))
        assert isinstance(prepared, census.PreparedDetail)

        class Context:
            @staticmethod
            def count_marginals(request: Marginals, salt: bytes) -> Any:
                return session._engine.count_marginals(request, salt)  # pyright: ignore[reportPrivateUsage]

        totals = prepared.counted_totals(Context(), bytes(16))  # type: ignore[arg-type]
        cells: dict[Any, Any] = {}
        for way in range(len(prepared.layout.sizes)):
            chosen = {level: np.full(each.shape, way) for level, each in totals.items()}
            counted = prepared.counted_cells(chosen, totals, Context(), bytes(16))  # type: ignore[arg-type]
            for level, by_way in counted.items():
                cells[level, way] = by_way[way].reshape(*totals[level].shape, -1)
        if mixed:
            dice = np.random.default_rng(0)
            chosen = {level: dice.integers(0, len(prepared.layout.sizes), each.shape) for level, each in totals.items()}
            for level, by_way in prepared.counted_cells(chosen, totals, Context(), bytes(16)).items():  # type: ignore[arg-type]
                moved = cells[level, "mixed"] = np.zeros((2, totals[level].shape[1]), np.int64)
                for way, counted_so in enumerate(by_way):
                    areas = np.nonzero(chosen[level] == way)[1]
                    np.add.at(moved[0], areas, counted_so.sum(axis=1))
                    np.add.at(moved[1], areas, (counted_so**2).sum(axis=1))
    return prepared, totals, cells


# How far one person moves what is measured.


def test_no_person_moves_a_stage_by_more_than_is_planned_with_up_to_eight_groups() -> None:
    """Each person alone in a county is a database beside the empty one: all sets of groups out of nine, and repeats."""
    sets = [list(each) for size in range(10) for each in itertools.combinations(CODES, size)]
    repeats = [[*each, *each[:3], *each[:2]] for each in sets if each] + [["unknown", *each] for each in sets[::7]]
    rows = [(i, f"c{i:04}", "FM"[i % 2], i % 100, each) for i, each in enumerate([*sets, *repeats])]
    spec = spec_of({"county": [f"c{i:04}" for i in range(len(rows))]}, detail={
        "by_sex": {"from": 400, "columns": ["sex"]}, "fine": {"from": 900, "columns": ["sex", "age"], "cells": {
            "age": [18]}}})  # fmt: skip
    prepared, totals, cells = exact(people_of(rows), policy_of(99), spec, mixed=True)
    planned = prepared.prices.norms
    assert (planned.l1, planned.l2_squared) == (8, 8) == (group_norms(8, 1, "add_remove").l1, 8)
    for moved in (totals["county"][:, :, None], cells["county", 0], cells["county", 1], cells["county", 2]):
        by_person = np.moveaxis(moved, 1, 0).reshape(len(rows), -1)
        assert by_person.sum(axis=1).max() == 8, "the planned norm is attained"
        assert (by_person**2).sum(axis=1).max() == 8
        assert by_person.max() == 1
    assert cells["county", "mixed"].max(axis=1).tolist() == [8, 8], "whatever was chosen for each group"
    for i, each in enumerate([*sets, *repeats]):
        assert totals["county"][:, i].sum() == min(8, len(set(each) & set(CODES)))


def test_no_small_database_has_a_neighbour_farther_away_than_planned() -> None:
    """Databases of one person beside another, with up to three rows in three groups: all measured at two levels."""
    options = [list(each) for size in range(3) for each in itertools.combinations_with_replacement(CODES[:3], size)]
    options += [CODES[:3], ["g0", "g0", "g1"]]
    spec = spec_of({"county": ["a", "b"]}, most=2, detail={"by_sex": {"from": 400, "columns": ["sex"]}})
    pairs = [(groups, place, sex) for groups in options for place, sex in (("a", "F"), ("b", "M"))]
    vectors: list[list[Any]] = []
    for groups, place, sex in pairs:
        rows = [(99, "a", "F", 3, ["g0", "g1"]), (1, place, sex, 40, groups)]
        _, totals, cells = exact(people_of(rows), policy_of(9), spec, dp.rho(30))
        vectors.append([totals["country"], totals["county"], *cells.values()])
    without = vectors[0]
    assert not pairs[0][0]
    for relation, neighbours in (
        ("add_remove", [(one, without) for one in vectors]),
        ("substitute", list(itertools.combinations(vectors, 2))),
    ):
        question = census.PublishDetail(spec, dp.rho(30))
        norms = census.plan_detail_question(question, load_policy(policy_of(9, relation))).prepared.prices.norms
        moved = [a - b for one, other in neighbours for a, b in zip(one, other, strict=True)]
        assert max(int(abs(each).sum()) for each in moved) == norms.l1, "as planned, and attained"
        assert max(int((each**2).sum()) for each in moved) == norms.l2_squared


def test_columns_of_groups_count_a_group_once_in_a_row() -> None:
    names = [f"origin{i}" for i in range(3)]
    choices = [None, "a", "b", "other"]
    rows = list(itertools.product(choices, repeat=3))
    policy = {"version": "1", "budget": {"rho": 99}, "tables": {"people": {"unit": "person", "max_rows": 2, "columns": {
        "county": {"type": "string"}, "sex": SEX,
        **{name: {"type": "string", "keys": ["a", "b", "c"]} for name in names}}}}}  # fmt: skip
    spec = census.DetailSpec.of_dict({
        "table": "people", "groups": {"columns": names, "most": 3},
        "geography": {"areas": {"county": [f"c{i:04}" for i in range(len(rows))]}, "levels": ["county"]},
        "detail": {"by_sex": {"from": 900, "columns": ["sex"]}},
    })  # fmt: skip
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    people = {
        "person": list(range(len(rows))),
        "county": [f"c{i:04}" for i in range(len(rows))],
        "sex": ["F"] * len(rows),
    }
    table = pa.table({key: [*value, *value] for key, value in {**people, **columns}.items()})
    prepared, totals, cells = exact({"people": table}, policy, spec, dp.rho(30))
    assert prepared.prices.norms == group_norms(3, 2, "add_remove")
    for i, row in enumerate(rows):
        expected = [2 * (code in row) for code in ("a", "b", "c")]
        assert totals["county"][:, i].tolist() == expected
        assert cells["county", 1][:, i, 0].tolist() == expected
    assert (totals["county"] ** 2).sum(axis=0).max() == 2 * 2**2, "two codes, and two rows of each person"


def test_counts_are_those_of_the_people_who_are_in_each_group() -> None:
    dice = np.random.default_rng(1)
    rows = [
        (i, ["n1", "n2", "s1", "nowhere"][dice.integers(4)], "FM"[dice.integers(2)], int(dice.integers(100)),
         [CODES[j] for j in dice.integers(0, 9, dice.integers(0, 5))])
        for i in range(300)
    ]  # fmt: skip
    prepared, totals, cells = exact(people_of(rows), policy_of(), spec_of())
    states = {"n1": "N", "n2": "N", "s1": "S"}
    for g, code in enumerate(CODES):
        inside = [row for row in rows if code in row[4] and row[1] in states]
        assert totals["country"][g].tolist() == [len(inside)]
        assert totals["state"][g].tolist() == [sum(states[r[1]] == s for r in inside) for s in ("N", "S")]
        for a, county in enumerate(states):
            there = [row for row in inside if row[1] == county]
            assert cells["county", 1][g, a].tolist() == [sum(r[2] == s for r in there) for s in "FM"]
            for way, ends in ((2, [0, 18, 65, 100]), (3, [0, 5, 18, 30, 65, 100])):
                table = [[sum(r[2] == s and lo <= r[3] < hi for r in there) for lo, hi in itertools.pairwise(ends)]
                         for s in "FM"]  # fmt: skip
                wanted = np.array(table) if way == 2 else np.array(table).T
                assert cells["county", way][g, a].tolist() == wanted.ravel().tolist()
    assert prepared.layout.sizes == (1, 2, 6, 10)


# Which detail is chosen.


@pytest.mark.parametrize(
    "mechanism", [DiscreteLaplace(7), DiscreteGaussian("2.5"), DiscreteGaussian(40), Gaussian("3.25")]
)
def test_the_chance_is_the_sum_of_the_noise_that_reaches_the_threshold(mechanism: Additive) -> None:
    weights = _probabilities(mechanism)
    reach = len(weights) // 2
    for least in (-30, -1, 0, 1, 2, 5, 17, 60):
        exactly = float(weights[max(0, reach + least) :].sum())
        assert probability_at_least(mechanism, least) == pytest.approx(exactly, abs=1e-12)
        mean = float((weights * np.arange(-reach, reach + 1))[max(0, reach + least) :].sum())
        assert mean_beyond(mechanism, least) == pytest.approx(mean, abs=1e-9)


def test_sums_and_integrals_of_noise_agree_where_one_takes_over() -> None:
    for least in (1, 900, 2500):
        below, above = (probability_at_least(DiscreteGaussian(sigma), least) for sigma in (1000, "1000.0001"))
        assert above == pytest.approx(below, abs=1e-6)
    summed = _probabilities(DiscreteGaussian(1500), 60_000)
    assert probability_at_least(DiscreteGaussian(1500), 2000) == pytest.approx(float(summed[62_000:].sum()), abs=1e-12)


def _probabilities(mechanism: Additive, reach: int = 3_000) -> Any:
    from scipy.special import ndtr

    places = np.arange(-reach, reach + 1, dtype=float)
    if isinstance(mechanism, DiscreteLaplace):
        weights = np.exp(-abs(places) / float(mechanism.scale))
    elif isinstance(mechanism, DiscreteGaussian):
        weights = np.exp(-(places**2) / (2 * float(mechanism.sigma) ** 2))
    else:
        sigma = float(mechanism.sigma)
        weights = np.maximum(ndtr((places + 0.5) / sigma) - ndtr((places - 0.5) / sigma), 0)
    return weights / weights.sum()


@pytest.mark.parametrize("spend", [dp.pure(9), dp.rho(1), dp.approx(4, "1e-9")], ids=str)
def test_groups_a_fifth_above_a_threshold_get_their_detail_in_99_of_100_runs(spend: dp.Loss) -> None:
    """By the distribution of the noise that the release draws, for every level and threshold that a plan accepts."""
    facts = load_policy(policy_of())

    def planned(threshold: int) -> census.DetailPlan:
        spec = spec_of(detail={"by_sex": {"from": threshold, "columns": ["sex"]}})
        return census.plan_detail_question(census.PublishDetail(spec, spend), facts)

    with pytest.raises(ParameterError, match="take a threshold of"):
        planned(20)
    accepted = 0
    for threshold in (100, 200, 400, 800, 1600):
        try:
            plan = planned(threshold)
        except ParameterError:
            continue
        accepted += 1
        for level, stages in plan.prepared.mechanisms.items():
            chance = float(_probabilities(stages["totals"], 20_000)[20_000 - threshold // 5 :].sum())
            assert chance >= 0.99
            assert plan.chance("by_sex", level) == pytest.approx(chance, abs=1e-9)
            assert reaches(stages["totals"], threshold + threshold // 5, threshold) == pytest.approx(chance, abs=1e-9)
    assert accepted > 1


def test_a_plan_names_the_least_threshold_that_it_can_promise() -> None:
    spec = spec_of(detail={"by_sex": {"from": 10, "columns": ["sex"]}})
    with pytest.raises(ParameterError, match=r"detail\.by_sex\.from: at the level country") as refused:
        census.plan_detail_question(census.PublishDetail(spec, dp.rho(1)), load_policy(policy_of()))
    least = int(str(refused.value).partition("threshold of ")[2].partition(" or")[0].replace(",", ""))
    again = spec_of(detail={"by_sex": {"from": least, "columns": ["sex"]}})
    census.plan_detail_question(census.PublishDetail(again, dp.rho(1)), load_policy(policy_of()))
    below = spec_of(detail={"by_sex": {"from": least - 1, "columns": ["sex"]}})
    with pytest.raises(ParameterError):
        census.plan_detail_question(census.PublishDetail(below, dp.rho(1)), load_policy(policy_of()))
    sure = spec_of(detail={"by_sex": {"from": 10, "columns": ["sex"]}}, chance=0.5)
    census.plan_detail_question(census.PublishDetail(sure, dp.rho(1)), load_policy(policy_of()))
    noise = DiscreteGaussian(50)
    assert reaches(noise, int(1.2 * least_threshold(noise, spec.margin, spec.chance)) + 1, 0) >= 0.99


def crowd() -> dict[str, pa.Table]:
    """Groups of 4,000, 1,500, 700 and 100 people and of nobody, who overlap."""
    sizes = {"g0": 4000, "g1": 1500, "g2": 700, "g3": 100}
    rows = [
        (i, ["n1", "n2", "s1"][i % 3], "FM"[i % 2], i % 100, [code for code, size in sizes.items() if i < size])
        for i in range(4000)
    ]
    return people_of(rows)


def published(spend: dp.Loss | None = None, **changed: Any) -> census.DetailTables:
    pure = spend is not None and "pure" in repr(spend)
    with dp.connect(crowd(), policy_of(budget={"epsilon" if pure else "rho": 99})) as session:
        return census.detail(session, spec_of(**changed), dp.rho(1) if spend is None else spend)


def test_every_choice_is_that_of_the_noisy_total_and_nothing_else() -> None:
    made = published(dp.pure(8), chance=0.5)
    ways, starts = made.layout.spec.ways, made.layout.spec.thresholds
    for level, counts in made.measured.items():
        rows = made.chosen(level).to_pylist()
        assert len(rows) == counts.totals.size, "groups without people are answered too"
        for row, noisy in zip(rows, counts.totals.ravel().tolist(), strict=True):
            assert row["noisy_total"] == noisy
            assert row["detail"] == ways[sum(noisy >= start for start in starts)]
        by_pair = {(row[level], row["group"]): row["detail"] for row in rows}
        cells = made.table(level).to_pylist()
        assert {(row[level], row["group"], row["detail"]) for row in cells} == {
            (*pair, d) for pair, d in by_pair.items()
        }
    for total in range(4_200):  # a total and its way, one by one
        (way,) = made.layout.chosen(np.array([total])).tolist()
        assert way == sum(total >= start for start in starts)


def test_tables_add_up_and_both_stages_are_combined_by_least_squares() -> None:
    made = published()
    for level in made.measured:
        totals = {(row[level], row["group"]): row for row in made.totals(level).to_pylist()}
        first, each = made.measured[level].variances
        cells: dict[Any, list[dict[str, Any]]] = {}
        for row in made.table(level).to_pylist():
            cells.setdefault((row[level], row["group"]), []).append(row)
        assert cells.keys() == totals.keys()
        for key, rows in cells.items():
            total, count = totals[key], len(rows)
            assert count == made.layout.sizes[made.layout.spec.ways.index(total["detail"])]
            assert sum(row["value"] for row in rows) == total["value"]
            assert min(row["value"] for row in rows) >= 0
            assert sum(row["unbiased"] for row in rows) == total["unbiased"]
            matrix = np.vstack([np.ones((1, count)), np.eye(count)])
            precision = np.diag([1 / first, *([1 / each] * count)])
            covariance = np.linalg.inv(matrix.T @ precision @ matrix)
            seen = np.array([total["first"], *(row["unbiased"] for row in rows)])
            dense = covariance @ matrix.T @ precision @ seen
            assert np.allclose([row["combined"] for row in rows], dense, atol=1e-9)
            assert total["combined"] == pytest.approx(dense.sum())
            assert total["combined_error"] == pytest.approx(covariance.sum() ** 0.5)
            assert rows[0]["combined_error"] == pytest.approx(covariance[0, 0] ** 0.5)
            assert total["standard_error"] == pytest.approx((count * each) ** 0.5)
            assert abs(total["value"] - max(total["combined"], 0)) <= 0.5 + 1e-9
    country = made.total("g0")
    assert country.detail == "finest"
    assert abs(country.unbiased - 4000) < 8 * country.standard_error
    assert country.combined_error < country.standard_error
    assert country.value == made.totals("country").to_pylist()[0]["value"]
    assert made.total("g8", "n1").detail == "total"
    low, high = made.total("g8", "n1").interval(1 - 1e-11)  # nobody is there
    assert low < 0 < high


def test_the_bias_of_the_choice_is_in_combined_totals_alone_and_within_the_stated_one() -> None:
    """Over all noise of the first stage, one by one: the mean of its weighted noise is what is stated."""
    made = published()
    counts = made.measured["county"]
    starts, sizes = made.layout.spec.thresholds, made.layout.sizes
    first, each = counts.variances
    weights = [size * each / (size * each + first) for size in sizes]
    noise = counts.noise["totals"]
    chances, places = _probabilities(noise), np.arange(-3_000, 3_001)
    most = made.total("g0", "n1").bias
    seen = 0.0
    for count in (0, 300, 380, 400, 420, 990, 1000, 1010, 2990, 3000, 3005, 9000):
        chosen = np.searchsorted(starts, count + places, side="right")
        exactly = float((chances * np.array(weights)[chosen] * places).sum())
        assert made.choice_bias(count, "county") == pytest.approx(exactly, abs=1e-9)
        assert choice_bias(noise, count, starts, weights) == pytest.approx(exactly, abs=1e-9)
        assert abs(exactly) <= most
        seen = max(seen, abs(exactly))
    assert seen > 0.02 * most, "there is a bias where a threshold is near"


def test_fresh_noise_is_unbiased_given_what_was_chosen() -> None:
    """Noise of the second stage of 400 groups by areas, given the first: its mean is within 6.2 of its deviations.

    A false alarm has a probability below 1e-9.
    """
    codes = [f"x{i}" for i in range(400)]
    spec = spec_of({"county": ["n1"]}, groups={"column": "origin", "most": 1, "codes": codes}, chance=0,
                   detail={"by_sex": {"from": 5, "columns": ["sex"]}})  # fmt: skip
    tables = people_of([(i, "n1", "FM"[i % 2], 1, [codes[i % 400]]) for i in range(2000)])
    with dp.connect(tables, policy_of()) as session:
        made = census.detail(session, spec, dp.rho("0.5"))
    chosen = {row["detail"] for row in made.chosen("county").to_pylist()}
    assert chosen == {"total", "by_sex"}
    table = made.totals("county").to_pylist()
    for name in chosen:
        rows = [row for row in table if row["detail"] == name]
        off, error = np.mean([row["unbiased"] for row in rows]) - 5, rows[0]["standard_error"] / len(rows) ** 0.5
        assert abs(off) < 6.2 * error
    above = [row for row in table if row["detail"] == "by_sex"]
    assert np.mean([row["first"] for row in above]) > 5.5, "the totals that chose are bent by it"


# What a release is.


def test_a_release_is_saved_verified_and_served_again(tmp_path: Path) -> None:
    with dp.connect(crowd(), policy_of()) as session:
        made = census.detail(session, spec_of(precision={"cv": 0.5}), dp.rho(1))
        before = session.remaining
        again = census.detail(session, spec_of(precision={"cv": 0.5}), dp.rho(1))
        assert again.to_bytes() == made.to_bytes()
        assert session.remaining == before
    made.save(tmp_path / "made.json")
    loaded = census.load_detail(tmp_path / "made.json")
    assert loaded.totals("county").equals(made.totals("county"))
    assert loaded.table("county").equals(made.table("county"))
    assert {"imprecise", ""} == set(made.totals("county").column("flag").to_pylist())
    certificate = json.loads(made.to_json())["certificate"]
    verify_loss(certificate)
    for change in (
        {"groups_per_row": 9},
        {"rows_per_unit": 2},
        {"relation": "substitute"},
        {"measured": certificate["measured"][:-1]},
        {"measured": [*certificate["measured"], certificate["measured"][0]]},
    ):
        with pytest.raises(LedgerError):
            verify_loss({**certificate, **change})
    assert "finest" in repr(made)
    assert made.to_vega_lite("county")["title"]


def test_a_stored_release_with_other_totals_is_refused() -> None:
    made = published()
    content = json.loads(made.to_json())
    content["counts"][0][0], content["counts"][1][0] = content["counts"][1][0], content["counts"][0][0]
    with pytest.raises(LedgerError):
        census.DetailTables.from_bytes(json.dumps(content).encode())


def test_counting_in_several_passes_counts_the_same_people(monkeypatch: pytest.MonkeyPatch) -> None:
    """People above the cap too: a secret salt draws which of their groups count, once for all passes."""
    rows = [(i, "n1", "FM"[i % 2], i % 100, CODES) for i in range(200)]
    _, totals, cells = exact(people_of(rows), policy_of(), spec_of(most=3))
    assert totals["country"].sum() == 600
    monkeypatch.setattr("discreet.census.details._question._AT_ONCE", 200)
    _, again, passes = exact(people_of(rows), policy_of(), spec_of(most=3))
    assert all((totals[level] == again[level]).all() for level in totals)
    assert all((cells[key] == passes[key]).all() for key in cells)
    for (level, _), each in cells.items():
        assert (each.sum(axis=-1) == totals[level]).all(), "both stages count the same people"


def test_refusals_name_the_cause_before_any_charge() -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"most": 30}, "groups.most: the policy has at most 20 rows"),
        ({"detail": {}}, "detail: is missing"),
        ({"detail": {"total": {"from": 5, "columns": ["sex"]}}}, "detail.total"),
        ({"detail": {"a": {"from": 500, "columns": ["sex"]}, "b": {"from": 500, "columns": ["age"]}}}, "detail.b.from"),
        ({"detail": {"a": {"from": 500, "columns": ["height"]}}}, "height"),
        ({"detail": {"a": {"from": 500, "columns": ["person"]}}}, "person"),
        ({"detail": {"a": {"from": 500, "columns": ["county"]}}}, "names areas"),
        ({"detail": {"a": {"from": 0, "columns": ["sex"]}}}, "from 1"),
        ({"shares": {"county": {"totals": 1}}}, "shares.county: both"),
        ({"shares": {"village": 1}}, "shares.village"),
        ({"shares": {"county": {"first": 1}}}, "shares.county.first"),
        ({"people": "origins"}, "no path"),
        ({"groups": {"column": "origin", "columns": ["a"], "most": 1}}, "groups: say column"),
        ({"groups": {"column": "origin"}}, "groups.most: is missing"),
        ({"groups": {"column": "origin", "most": 0}}, "groups.most"),
        ({"groups": {"column": "origin", "most": 2, "codes": [1]}}, "groups.codes"),
        ({"margin": 0}, "margin"),
        ({"chance": 1}, "chance"),
        ({"surprise": 1}, "surprise: unknown key"),
    ]
    with dp.connect(crowd(), policy_of()) as session:
        before = session.remaining
        for change, words in wrong:
            with pytest.raises(DiscreetError) as refused:
                census.detail(session, spec_of(**change), dp.rho(1))
            assert words in str(refused.value), (change, str(refused.value))
        assert session.remaining == before


def test_a_file_is_refused_with_the_line(tmp_path: Path) -> None:
    (tmp_path / "areas.csv").write_text("county\nn1\n", encoding="utf-8")
    text = """table = "origins"
[groups]
column = "origin"
most = 8
[geography]
areas = "areas.csv"
levels = ["county"]
[detail.by_sex]
columns = ["sex"]
from = 500
"""
    path = tmp_path / "spec.toml"
    path.write_text(text, encoding="utf-8")
    assert census.DetailSpec.load(path).thresholds == (500,)
    for old, new, line in (
        ("most = 8", "most = 0", 4),
        ("from = 500", "from = -1", 10),
        ('"sex"]', '"sex", "sex"]', 9),
    ):
        path.write_text(text.replace(old, new), encoding="utf-8")
        with pytest.raises(ParameterError, match=f"line {line}:"):
            census.DetailSpec.load(path)


def test_keys_must_be_public() -> None:
    policy = policy_of()
    del policy["tables"]["origins"]["columns"]["origin"]["keys"]
    with pytest.raises(QueryError, match="list the groups"):
        census.plan_detail_question(census.PublishDetail(spec_of(), dp.rho(1)), load_policy(policy))
    listed = spec_of(groups={"column": "origin", "most": 8, "codes": CODES})
    planned = census.plan_detail_question(census.PublishDetail(listed, dp.rho(1)), load_policy(policy))
    assert "Protected: a person is a value of person, in at most 8 groups" in planned.explain()
    assert planned.to_dict()["details"][0]["chance"] >= 0.99
    assert planned.to_vega_lite()["title"]
    assert "coarse" in repr(planned)
