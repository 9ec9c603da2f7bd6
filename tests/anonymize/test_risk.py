"""Risks against brute force and against populations that are known."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from anonymize.conftest import random_table
from discreet.anonymize import Fact, KAnonymity, Risk, risk
from discreet.anonymize.risks._report import _MODELS
from discreet.anonymize.risks._superpopulation import fit_gamma, fit_lognormal, fit_pitman
from discreet.errors import ParameterError

QUASI = ["age", "town", "trade"]


def cells(table: pa.Table, names: list[str]) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in table.to_pylist()]


def illnesses(table: pa.Table) -> list[str]:
    return sorted({str(each) for each in table["illness"].to_pylist()})


def unique_by(table: pa.Table, names: list[str]) -> int:
    return sum(count == 1 for count in Counter(cells(table, names)).values())


def test_sample_risks_are_those_of_brute_force(table: pa.Table) -> None:
    result = risk(table, QUASI)
    classes = Counter(cells(table, QUASI))
    assert result.unique == unique_by(table, QUASI) and result.classes == len(classes)
    assert result.class_sizes.tolist() == [classes[each] for each in cells(table, QUASI)]
    assert result.reidentification.prosecutor == 1 / min(classes.values())
    assert result.reidentification.journalist is None
    assert result.reidentification.marketer == pytest.approx(len(classes) / 400)
    for each in result.columns:
        others = [name for name in QUASI if name != each.column]
        assert each.alone == unique_by(table, [each.column]) / 400
        assert each.added == pytest.approx((unique_by(table, QUASI) - unique_by(table, others)) / 400)


def test_smallest_sets_are_those_of_brute_force() -> None:
    draws = np.random.default_rng(3)
    for _ in range(20):
        table = random_table(draws, int(draws.integers(2, 60)))
        names = [*QUASI, "cost"]
        smallest: dict[tuple[str, ...], int] = {}
        for size in range(1, 5):
            for chosen in combinations(names, size):
                people = unique_by(table, list(chosen))
                if people and not any(set(each) <= set(chosen) for each in smallest):
                    smallest[chosen] = people
        result = risk(table, names)
        assert {each.columns: each.people for each in result.sets} == smallest and result.sets_up_to == 4


def test_many_columns_end_where_they_are_too_many() -> None:
    draws = np.random.default_rng(4)
    table = pa.table({f"c{i}": pa.array(draws.integers(0, 2, 3_000)) for i in range(20)})
    result = risk(table, table.column_names)
    assert result.sets_up_to == 3 and "more than 3 columns were not looked at" in result.explain()


def test_a_population_is_counted() -> None:
    population = random_table(np.random.default_rng(5), 3_000)
    table = population.take(np.arange(0, 3_000, 6))
    result = risk(table, QUASI, population=population)
    everybody = Counter(cells(population, QUASI))
    matches = [1 / everybody[each] for each in cells(table, QUASI)]
    assert result.population is not None and result.population.is_exact
    assert result.population.unique == sum(each == 1 for each in matches) / 500
    assert result.reidentification.journalist == max(matches)
    assert result.reidentification.marketer == pytest.approx(sum(matches) / 500)
    assert result.to_arrow()["journalist"].to_pylist() == matches
    assert "estimate" not in result.explain()


def restaurant(draws: np.random.Generator, size: int, alpha: float, theta: float) -> np.ndarray:
    """Classes by Pitman's own formula: a person joins a class of f with weight f − α, or opens one."""
    classes = np.zeros(size, np.int64)
    opened = 1
    for i in range(1, size):
        if draws.random() * (i + theta) < theta + opened * alpha:
            classes[i], opened = opened, opened + 1
            continue
        while True:  # that of an earlier person, refused as often as α is in f
            chosen = classes[draws.integers(i)]
            if draws.random() < 1 - alpha / max(int((classes[:i] == chosen).sum()), 1):
                classes[i] = chosen
                break
    return classes


POPULATIONS = ("gamma", "lognormal", "pitman", "equal", "zipf")


def known(name: str) -> np.ndarray:
    """The class of each of many people."""
    draws = np.random.default_rng(6)
    match name:
        case "pitman":
            return restaurant(draws, 8_000, 0.6, 200.0)
        case "gamma":
            shares = draws.gamma(0.2, size=20_000)
        case "lognormal":
            shares = draws.lognormal(0, 2, 30_000)
        case "equal":
            shares = np.ones(12_000)
        case _:
            shares = np.arange(1.0, 40_001) ** -0.7
    return draws.choice(len(shares), 40_000, p=shares / shares.sum())


@pytest.mark.parametrize("name", POPULATIONS)
def test_estimates_are_near_populations_that_are_known(name: str) -> None:
    draws = np.random.default_rng(7)
    everybody = known(name)
    size = len(everybody)
    population = pa.table({"cell": everybody})
    for fraction, near in ((0.05, 0.25), (0.3, 0.06)):
        table = population.take(draws.choice(size, int(size * fraction), replace=False))
        exact, estimate = risk(table, ["cell"], population), risk(table, ["cell"], size)
        assert exact.population is not None and estimate.population is not None
        share = estimate.population
        assert share.unique == pytest.approx(exact.population.unique, abs=near)
        assert share.low <= share.unique <= share.high <= share.ceiling
        if fraction == 0.3:
            assert estimate.reidentification.marketer == pytest.approx(exact.reidentification.marketer, rel=0.1)
            assert share.method == {"equal": "gamma", "zipf": "lognormal"}.get(name, name)
            assert _MODELS[share.method] in estimate.explain() and "is an estimate" in estimate.explain()


def test_no_model_tells_where_nobody_was_met_twice() -> None:
    estimate = risk(pa.table({"cell": range(50)}), ["cell"], 10_000).population
    assert estimate is not None and estimate.low == 0 and estimate.high == estimate.ceiling == 1


@pytest.mark.parametrize("fit", [fit_pitman, fit_gamma, fit_lognormal])
def test_models_of_a_sample_are_distributions(fit: Any) -> None:
    sizes = np.bincount(np.random.default_rng(3).geometric(0.02, 600))
    sizes = sizes[sizes > 0]
    model, rows = fit(sizes), int(sizes.sum())
    assert model.seen_sizes(rows).sum() == pytest.approx(1, abs=1e-3)
    assert model.stays_alone(rows, rows) == pytest.approx(1)
    for count in (1, 2, 7, 60, 61):
        assert model.match(count, rows, rows) == pytest.approx(1 / count)
        assert 1 / count > model.match(count, rows, 2 * rows) > model.match(count, rows, 20 * rows) > 0


def test_the_population_that_is_the_table_is_the_table(table: pa.Table) -> None:
    for population in (table, table.num_rows):
        result = risk(table, QUASI, population)
        assert result.population is not None
        assert result.population.unique == pytest.approx(result.unique / 400)
        assert result.reidentification.journalist == result.reidentification.prosecutor
        assert result.reidentification.marketer == pytest.approx(result.classes / 400)


def left(table: pa.Table, facts: list[Fact]) -> list[int]:
    """How many values each person may have, row by row."""
    rows = table.to_pylist()
    listed: list[int] = []
    for row in rows:
        values = {other["illness"] for other in rows if all(other[name] == row[name] for name in QUASI)}
        for fact in facts:
            if all(row[name] == cell for name, cell in fact.where.items()) and row["illness"] not in fact.excluded:
                values -= set(fact.excluded)
        listed.append(len(values))
    return listed


def test_what_is_learnt_is_that_of_brute_force() -> None:
    draws = np.random.default_rng(8)
    for _ in range(20):
        table = random_table(draws, 80)
        values = illnesses(table)
        facts = [
            Fact("illness", values[:1], {"town": table["town"][0].as_py()}),
            Fact("illness", values[-1:], {"age": table["age"][3].as_py()}),
            Fact("illness", values[1:2]),
        ]
        for number in range(4):
            each = risk(table, QUASI, sensitive=["illness"], facts=facts[:number]).disclosures["illness"]
            assert each.values.tolist() == left(table, facts[:number])
            assert each.narrowed == dict(sorted(Counter(each.values.tolist()).items()))
            assert (each.posterior > 0).all() and (each.posterior <= 1).all() and (each.prior > 0).all()
            assert bool((each.posterior[each.values == 1] == 1).all())
            against = [
                any(
                    row["illness"] in fact.excluded and all(row[a] == b for a, b in fact.where.items())
                    for fact in facts[:number]
                )
                for row in table.to_pylist()
            ]
            assert each.contradicted == sum(against)


def test_l_ends_homogeneity_and_facts_bring_it_back(table: pa.Table) -> None:
    plain = KAnonymity(k=2, quasi=QUASI, sensitive=["illness"], method="fast").fit_transform(table).table
    diverse = KAnonymity(k=2, quasi=QUASI, sensitive=["illness"], l=2).fit_transform(table).table
    without, with_l = (risk(each, QUASI, sensitive=["illness"]).disclosures["illness"] for each in (plain, diverse))
    assert without.learnt > 0 == with_l.learnt
    value = illnesses(table)[0]
    facts = [Fact("illness", [value])]
    assert risk(diverse, QUASI, sensitive=["illness"], facts=facts).disclosures["illness"].learnt > 0


def test_skewness_is_posterior_over_prior() -> None:
    table = pa.table({"age": [1] * 4 + [2] * 12, "illness": ["hiv", "hiv", "flu", "flu"] + ["flu"] * 11 + ["hiv"]})
    each = risk(table, ["age"], sensitive=["illness"]).disclosures["illness"]
    assert each.skewness == pytest.approx((2 / 4) / (3 / 16)) and each.skewed == ("hiv", 0)
    assert each.guessed == 13 / 16 == each.baseline
    assert each.posterior[0] == 0.5 and each.prior[0] == 3 / 16


def test_a_class_alone_tells_nothing_above_the_baseline() -> None:
    table = random_table(np.random.default_rng(9), 300).append_column("one", pa.array(["*"] * 300))
    each = risk(table, ["one"], sensitive=["illness", "cost"]).disclosures["illness"]
    assert each.guessed == each.baseline and math.isclose(each.skewness, 1) and each.learnt == 0


def test_it_is_told_in_words_tables_and_json(table: pa.Table) -> None:
    result: Risk = risk(table.to_pandas(), QUASI, 8_000, ["illness"], [Fact("illness", ["i0"])])
    words = result.explain()
    for each in ("prosecutor", "journalist", "marketer", "at most", "without the classes", "facts are false"):
        assert each in words
    assert "anonymous" not in words and " safe" not in words
    assert json.loads(json.dumps(result.to_json()))["sensitive"]["illness"]["learnt"] >= 0
    for part in ("people", "columns", "sets", "sensitive"):
        assert result.to_arrow(part).num_columns >= 2  # pyright: ignore[reportArgumentType]
        assert result.rich_table(part).row_count <= 50  # pyright: ignore[reportArgumentType]
    assert result.to_arrow().num_rows == 400


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"quasi": []}, "name the quasi-identifiers"),
        ({"quasi": "age"}, "in a list"),
        ({"quasi": ["agee"]}, "no column agee"),
        ({"sensitive": "illness"}, "in a list"),
        ({"sensitive": ["illness"], "facts": [("illness", ["i0"])]}, r"a list of Fact\("),
        ({"sensitive": ["illness"], "facts": [Fact("illness", [["i0"]])]}, "right spelling"),
        ({"sensitive": ["age"]}, "quasi-identifier and as sensitive"),
        ({"population": 3}, "holds the table's people too"),
        ({"population": pa.table({"age": [1]})}, "no column town"),
        ({"population": random_table(np.random.default_rng(1), 5)}, "fewer people than the table"),
        ({"facts": [Fact("illness", ["i0"])]}, "name it there"),
        ({"sensitive": ["illness"], "facts": [Fact("illness", ["flue"])]}, "right spelling"),
        ({"sensitive": ["illness"], "facts": [Fact("illness", "i0")]}, "a list of values"),
        ({"sensitive": ["illness"], "facts": [Fact("illness", ["i0"], {"x": 1})]}, "names the column x"),
        ({"sensitive": ["illness"], "facts": [Fact("illness", ["i0"], {"age": 999})]}, "of nobody"),
        ({"sensitive": ["illness"], "facts": [Fact("illness", ["i0"], {"age": "old"})]}, "another type"),
    ],
)
def test_what_cannot_be_done_is_said(table: pa.Table, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        risk(table, **({"quasi": QUASI} | arguments))  # pyright: ignore[reportArgumentType]


def test_an_unknown_part_is_refused(table: pa.Table) -> None:
    with pytest.raises(ParameterError, match="people, columns, sets, sensitive"):
        risk(table, QUASI).to_arrow("rows")  # pyright: ignore[reportArgumentType]
