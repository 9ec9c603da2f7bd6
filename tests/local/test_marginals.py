"""Marginals: exact ε, tables without bias, their standard errors, and what they refuse."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from local_laws import assert_exact, estimate_of, law, odds_of
from scipy import stats

from discreet.errors import DataError, ParameterError
from discreet.local import (
    HadamardResponse,
    KaryRandomizedResponse,
    Marginals,
    MarginalsEstimate,
    ProjectiveGeometry,
    Reports,
    from_json,
)
from discreet.local.frequencies import _projective
from discreet.local.frequencies._hadamard import walsh, walsh_of_floats
from discreet.local.multidimensional._cell_oracle import CellOracle
from discreet.local.multidimensional._marginal_tables import CountedTable
from discreet.noise import fresh_draws
from discreet.privacy import pure

ORACLES = pytest.mark.parametrize("oracle", ["kary_randomized_response", "hadamard_response", "projective_geometry"])
SIZES = {"a": 3, "b": 2, "c": 4}
PEOPLE = [{"a": 0, "b": 0, "c": 0}, {"a": 1, "b": 1, "c": 3}, {"a": 2, "b": 1, "c": 2}, {"a": 2, "b": 0, "c": 3}]
SHARES = [0.4, 0.3, 0.2, 0.1]


def truth(*names: str) -> np.ndarray:
    table = np.zeros([SIZES[name] for name in names])
    for person, share in zip(PEOPLE, SHARES, strict=True):
        table[tuple(person[name] for name in names)] += share
    return table


def laws(scheme: Marginals, table: int) -> dict[bytes, float]:
    """The probability of each report of a table, given that it is drawn, from a population of these people."""
    total: dict[bytes, float] = {}
    for person, share in zip(PEOPLE, SHARES, strict=True):
        for report, weight in law(scheme, person).items():
            if report[0] == table:
                total[report] = total.get(report, 0.0) + share * float(weight) * len(scheme.tables)
    return total


def expected(scheme: Marginals, people: int) -> MarginalsEstimate:
    """The estimate that the mean of all reports makes, were there so many people in each table."""
    found = []
    for number in range(len(scheme.tables)):
        shares: float | np.ndarray = 0.0
        for report, weight in laws(scheme, number).items():
            shares = shares + weight * estimate_of(scheme, report).counted[number].cells
        like = estimate_of(scheme, report).counted[number]
        found.append(CountedTable(like.places, like.oracle, people, np.asarray(shares)))
    return MarginalsEstimate(scheme.names, scheme.domains, scheme.ways, people * len(found), tuple(found))


@pytest.mark.parametrize("epsilon", ["1e-6", "0.5", "1", "2", "5", "20"])
@ORACLES
@pytest.mark.parametrize("ways", [1, 2, 3])
def test_the_exact_epsilon_is_the_claim(epsilon, oracle, ways) -> None:
    scheme = Marginals(SIZES, epsilon, ways=ways, oracle=oracle)
    assert_exact(odds_of(scheme, PEOPLE), Fraction(epsilon))
    assert scheme.loss == pure(epsilon)


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
@ORACLES
@pytest.mark.parametrize("ways", [1, 2, 3])
def test_every_marginal_is_unbiased_exactly(epsilon, oracle, ways) -> None:
    found = expected(Marginals(SIZES, epsilon, ways=ways, oracle=oracle), people=7)
    for order in range(1, ways + 1):
        for names in itertools.permutations(SIZES, order):
            assert found.marginal(*names).table == pytest.approx(truth(*names), abs=1e-9)


@pytest.mark.sampled
@pytest.mark.parametrize(("ways", "epsilon"), [(2, "0.5"), (3, "4")])
@ORACLES
def test_standard_errors_are_those_of_the_law(epsilon, oracle, ways) -> None:
    """The variance of what one report adds, over all reports of a person drawn from the population."""
    scheme = Marginals(SIZES, epsilon, ways=ways, oracle=oracle)
    people = expected(scheme, people=5)
    for number, table in enumerate(scheme.tables):
        alone = MarginalsEstimate(scheme.names, scheme.domains, ways, 5, (people.counted[number],))
        for order in range(1, ways + 1):
            for names in itertools.combinations(table, order):
                square = sum(
                    weight * estimate_of(scheme, report).marginal(*names).table ** 2
                    for report, weight in laws(scheme, number).items()
                )
                assert alone.marginal(*names).stderr ** 2 == pytest.approx((square - truth(*names) ** 2) / 5, rel=1e-9)


@ORACLES
def test_smaller_tables_are_means_of_all_that_contain_them(oracle) -> None:
    """Weighted means of independent estimates: their standard errors and their people add up so."""
    scheme = Marginals(SIZES, 1, oracle=oracle)
    found = scheme.server().add(scheme.simulate(PEOPLE * 2000)).estimate()
    holding = [number for number, table in enumerate(scheme.tables) if "a" in table]
    parts = [
        MarginalsEstimate(scheme.names, scheme.domains, 2, 1, (found.counted[number],)).marginal("a")
        for number in holding
    ]
    whole = found.marginal("a")
    assert whole.reports == sum(part.reports for part in parts)
    assert max(part.reports for part in parts) < whole.effective <= whole.reports
    share = (whole.table - parts[1].table) / (parts[0].table - parts[1].table)
    assert share == pytest.approx(share[0])
    weights = (share[0], 1 - share[0])
    assert whole.stderr**2 == pytest.approx(
        sum(weight**2 * part.stderr**2 for weight, part in zip(weights, parts, strict=True))
    )
    assert (whole.stderr < parts[0].stderr).all()
    assert (whole.stderr < parts[1].stderr).all()


def test_weights_do_not_depend_on_what_people_hold() -> None:
    scheme = Marginals({"a": 3, "b": 9, "c": 2}, 1)
    shares = []
    for held in ({"a": 0, "b": 0, "c": 0}, {"a": 2, "b": 8, "c": 1}):
        counted = []
        for places, size in (((0, 1), 27), ((0, 2), 6), ((1, 2), 18)):
            like = next(each for each in _counted(scheme, held) if each.places == places)
            assert like.oracle.scheme.domain.size == size
            counted.append(CountedTable(places, like.oracle, 100, like.cells))
        whole = MarginalsEstimate(scheme.names, scheme.domains, 2, 300, tuple(counted))
        shares.append(whole.marginal("a").effective)
    assert shares[0] == shares[1]


def _counted(scheme: Marginals, held: dict[str, int]) -> tuple[CountedTable, ...]:
    return scheme.server().add(scheme.simulate([held] * 300)).estimate().counted


@ORACLES
def test_intervals_hold_the_truth(oracle) -> None:
    """Of 100 intervals at 0.95 of one cell more than 24 miss with probability below 1e-10."""
    scheme = Marginals(SIZES, 2, oracle=oracle)
    rng = np.random.default_rng(5)
    missed = {("a", "b"): 0, ("c",): 0, ("c", "a"): 0}
    for _ in range(100):
        found = scheme.server().add(scheme.simulate(drawn(rng, 1500))).estimate()
        for names in missed:
            low, high = found.marginal(*names).interval()
            assert ((low >= 0) & (low <= high) & (high <= 1)).all()
            missed[names] += not low.flat[0] <= truth(*names).flat[0] <= high.flat[0]
    assert max(missed.values()) <= 24


def drawn(rng: np.random.Generator, people: int) -> dict[str, np.ndarray]:
    which = rng.choice(len(PEOPLE), people, p=SHARES)
    return {name: np.array([person[name] for person in PEOPLE])[which] for name in SIZES}


def test_intervals_hold_a_cell_that_hardly_anybody_has() -> None:
    """At ε = 20 a report is as its cell: none among a few says that the share is small, and not that it is 0."""
    scheme = Marginals({"a": 4, "b": 2}, 20)
    found = scheme.server().add(scheme.simulate([{"a": 0, "b": 0}] * 300)).estimate().marginal("a", "b")
    low, high = found.interval()
    assert found.stderr[3, 1] == pytest.approx((math.exp(-20) / 300) ** 0.5, rel=1e-6)
    assert 0.01 < high[3, 1] < 0.02
    assert low[3, 1] < 1e-9


@pytest.mark.parametrize("epsilon", [8, 10])
@ORACLES
def test_intervals_hold_cells_that_nobody_has(epsilon, oracle) -> None:
    """Where a lie is so rare that most of these cells are in no report, and one in a report tells nearly nothing.

    Counts of lies are about those of Poisson with mean 0.07 to 1: an interval at 0.95 excludes 0 with 0.15 at most, so
    one cell's in 200 rounds more than 75 times with probability below 1e-13.
    """
    scheme = Marginals({"a": 4, "b": 5}, epsilon, oracle=oracle)
    people, missed = scheme.prepare([{"a": 0, "b": 0}, {"a": 0, "b": 1}] * 400), 0
    for _ in range(200):
        reports = Reports(scheme.fingerprint, scheme.perturb(people, fresh_draws()))
        found = scheme.server().add(reports).estimate().marginal("a", "b")
        missed += bool(found.interval()[0][3, 4] > 0)
        assert (found.stderr > 0).all()
    assert missed <= 75


def test_mean_squared_errors_are_those_of_theory() -> None:
    """Over rounds, each with people drawn anew.

    Cells of a table depend on each other; were they all one number, the sum of 150 mean squares would be chi-squared.
    """
    scheme = Marginals(SIZES, 1)
    rng = np.random.default_rng(8)
    for names in (("a", "c"), ("b",)):
        errors = []
        for _ in range(150):
            found = scheme.server().add(scheme.simulate(drawn(rng, 1000))).estimate()
            table = found.marginal(*names)
            errors.append((((table.table - truth(*names)) / table.stderr) ** 2).mean())
        assert stats.chi2.ppf(1e-10, 150) < sum(errors) < stats.chi2.isf(1e-10, 150)


def test_the_oracle_is_the_best_for_each_table() -> None:
    scheme = Marginals({"a": 3, "b": 3, "c": 4}, 1)  # 3e + 2 = 10.15: 9, 12 and 12 cells
    kinds = [type(table.oracle.scheme) for table in _counted(scheme, {"a": 0, "b": 0, "c": 0})]
    assert kinds == [KaryRandomizedResponse, HadamardResponse, HadamardResponse]
    scheme = Marginals({"a": 9, "b": 9}, "1.01")
    assert isinstance(_counted(scheme, {"a": 0, "b": 0})[0].oracle.scheme, ProjectiveGeometry)


@pytest.mark.sampled
@pytest.mark.parametrize("epsilon", ["0.5", "1", "5"])
@pytest.mark.parametrize("kind", [KaryRandomizedResponse, HadamardResponse, ProjectiveGeometry])
@pytest.mark.parametrize("size", [2, 8, 17])
def test_an_oracle_has_the_moments_of_its_law(kind, size, epsilon) -> None:
    oracle = CellOracle(kind(size, epsilon))
    shares = np.arange(1, size + 1) / (size * (size + 1) / 2)
    cells, added = np.zeros(oracle.scheme.cells), {}
    for value in range(size):
        for report, weight in law(oracle.scheme, value).items():
            rows = np.frombuffer(report, dtype=np.uint8).reshape(1, -1)
            server = oracle.scheme.server().add(Reports(oracle.scheme.fingerprint, rows))
            cells += shares[value] * float(weight) * server.counts
            added[report] = server.counts, server.estimate().frequencies
    assert oracle.cell_probabilities(shares) == pytest.approx(cells)
    every = np.array([cells @ counts for counts, _ in added.values()])
    found = np.array([frequencies for _, frequencies in added.values()])
    wanted = (every[:, None, None] * found[:, :, None] * found[:, None, :]).sum(axis=0)
    for first, second in (np.diag_indices(size), np.triu_indices(size, 1), np.tril_indices(size, -1)):
        assert oracle.products(cells, first, second) == pytest.approx(wanted[first, second], rel=1e-9, abs=1e-9)
    for groups, count in ((np.arange(size) % 2, 2), (np.arange(size)[::-1].copy(), size)):
        sums = np.array([found[:, groups == group].sum(axis=1) for group in range(count)])
        mean, square, even = oracle.sums(cells, groups, count)
        assert mean == pytest.approx(sums @ every, abs=1e-9)
        assert square == pytest.approx(sums**2 @ every, rel=1e-9)
        assert even > 0


def test_records_of_names_become_tables() -> None:
    scheme = Marginals({"os": ["linux", "mac"], "age": 4, "paid": ["no", "yes"]}, 50)
    held = {"os": ["mac"] * 90, "age": [3] * 60 + [1] * 30, "paid": ["no"] * 90}
    found = scheme.server().add(scheme.simulate(held)).estimate()
    table = found.marginal("age", "os")
    assert table.table.shape == (4, 2)
    assert table.table[3, 1] + table.table[1, 1] == pytest.approx(1, abs=1e-9)
    assert found.marginal("os").table == pytest.approx([0, 1], abs=1e-9)
    assert found.marginal("os").consistent().sum() == pytest.approx(1)
    assert table.consistent().shape == (4, 2)
    shown = found.to_arrow().to_pylist()
    assert {"os=mac", "os=mac, age=3", "age=3, paid=no"} <= {row["value"] for row in shown}
    assert len(shown) == 2 + 4 + 2 + 8 + 4 + 8
    for wrong in ((), ("os", "os"), ("os", "age", "paid"), ("x",), ("os", 3)):
        with pytest.raises(ParameterError):
            found.marginal(*wrong)


def test_a_table_that_nobody_reported_is_missing_and_the_others_are_there() -> None:
    scheme = Marginals(SIZES, 1)
    found = estimate_of(scheme, bytes([0, 0]))
    assert found.marginal("a", "b").reports == found.marginal("a").reports == 1
    with pytest.raises(DataError, match="nobody has reported"):
        found.marginal("c")
    assert len(found.to_arrow()) == 3 + 2 + 6


def test_another_attribute_costs_nothing_under_memory() -> None:
    scheme = Marginals(SIZES, 1, longitudinal="memoize")
    for person in range(40):
        client = scheme.client(bytes([person]) * 16)
        row = client.encode(PEOPLE[0]).rows
        table = scheme.tables[row[0, 0]]
        [other] = set(SIZES) - set(table)
        assert client.encode({**PEOPLE[0], other: 1}).rows.tolist() == row.tolist()


@pytest.mark.parametrize("oracle", [None, "hadamard_response"])
@pytest.mark.parametrize("longitudinal", ["once", "memoize"])
def test_a_scheme_survives_json(oracle, longitudinal) -> None:
    scheme = Marginals({"os": ["a", "ü"], "n": 4}, "1/3", ways=1, oracle=oracle, longitudinal=longitudinal)
    found = from_json(scheme.to_json())
    assert found == scheme
    assert found.fingerprint == scheme.fingerprint


BAD = {
    "no mapping": ([2, 3], {}),
    "none": ({}, {}),
    "one value": ({"a": 1, "b": 2}, {}),
    "no ways": ({"a": 2, "b": 2}, {"ways": 0}),
    "more ways": ({"a": 2, "b": 2}, {"ways": 3}),
    "one attribute": ({"a": 2}, {}),
    "too many tables": ({str(i): 2 for i in range(92)}, {}),
    "a large table": ({"a": 4097, "b": 4097}, {}),
    "cells of thousands of digits": ({str(i): 2**24 for i in range(700)}, {"ways": 700}),
    "many counts": ({str(i): 3000 for i in range(6)}, {}),
    "many distinct tables": ({str(i): 100 + i for i in range(90)}, {}),
    "unknown oracle": ({"a": 2, "b": 2}, {"oracle": "warner"}),
    "a wide oracle": ({"a": 2, "b": 2}, {"oracle": "optimized_unary"}),
}


@pytest.mark.parametrize(("attributes", "more"), BAD.values(), ids=list(BAD))
def test_what_cannot_be_collected_is_refused(attributes, more) -> None:
    with pytest.raises(ParameterError):
        Marginals(attributes, 1, **more)


def test_what_follows_from_many_tables_is_worked_out_once(monkeypatch) -> None:
    """465 tables, of more than 256 sizes: a search for the space of each takes a second, and counting far less."""
    scheme = Marginals({str(i): 5 + i for i in range(31)}, 2, oracle="projective_geometry")
    searched: list[int] = []
    monkeypatch.setattr(_projective, "_candidates", lambda size, _: searched.append(size))
    record = {str(i): [0, 4] * 200 for i in range(31)}
    server = scheme.server().add(scheme.simulate(record))
    assert (server.reports, server.estimate().marginal("0").table.shape) == (400, (5,))
    assert searched == []


def test_documents_that_are_none_are_refused() -> None:
    document = json.loads(Marginals(SIZES, 1).to_json())
    for change in (
        {"attributes": SIZES},
        {"attributes": document["attributes"] * 2},
        {"attributes": [{"name": "a", "domain": 2, "more": 1}]},
        {"ways": "2"},
        {"oracle": 1},
        {"oracle": "subset_selection"},
        {"epsilon": 0},
        {"parts": []},
    ):
        with pytest.raises(ParameterError):
            from_json(json.dumps({**document, **change}))


@pytest.mark.parametrize("bits", range(18))
def test_the_transform_of_floats_is_that_of_whole_numbers(bits) -> None:
    rows = np.random.default_rng(bits).integers(-50, 50, (3, 2**bits))
    assert (walsh_of_floats(rows.astype(np.float64)) == walsh(rows)).all()
