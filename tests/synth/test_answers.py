"""What a synthetic table answers: values, what determines them, and how far off they are."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import synth
from discreet.errors import ParameterError, QueryError
from discreet.marginals import Merge
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian
from discreet.synth.answers._answer import Spread
from discreet.synth.answers._estimates import GroupedWeights, MeasuredMarginal, combine_marginals, moments

ROWS = 3_000
COLUMNS: dict[str, Any] = {
    "label": {"type": "bool", "nullable": False},
    "site": {"type": "string", "keys": ["north", "south", "west", "nowhere", "never"]},
    "visits": {"type": "int", "bounds": [0, 7], "nullable": False},
    "age": {"type": "int", "bounds": [16, 96], "nullable": False},
    "cost": {"type": "float", "bounds": [0, 320], "nullable": True},
    "day": {"type": "date", "bounds": ["2024-01-01", "2024-12-31"], "nullable": False},
}


def private_rows() -> pa.Table:
    rng = np.random.default_rng(3)
    site = rng.choice(3, ROWS, p=[0.5, 0.3, 0.2])
    label = rng.random(ROWS) < 0.2 + 0.2 * site
    age = np.clip(rng.normal(45 + 8 * label, 16, ROWS), 16, 96).astype(int)
    cost = np.where(rng.random(ROWS) < 0.4, 0, np.minimum(rng.gamma(2, 20, ROWS), 320))
    named = [None if i % 11 == 0 else COLUMNS["site"]["keys"][each] for i, each in enumerate(site)]
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 366, ROWS)]
    return pa.table(
        {
            "label": label,
            "site": pa.array(named, pa.string()),
            "visits": np.minimum(rng.poisson(2 + label), 7),
            "age": age,
            "cost": pa.array(cost, mask=rng.random(ROWS) < 0.1),
            "day": pa.array(days, pa.date32()),
        }
    )


def fitted(spend: dp.Loss, columns: list[str] | None = None, tier: Any = "best") -> synth.SyntheticTable:
    policy = {
        "version": "1",
        "budget": {"epsilon": 10**7},
        "tables": {"people": {"unit": "rows", "columns": COLUMNS}},
    }
    with closing(dp.connect({"people": private_rows()}, policy)) as session:
        return synth.fit(session, "people", spend=spend, tier=tier, columns=columns, target="label")


@pytest.fixture(scope="module")
def exact() -> synth.SyntheticTable:
    """A table whose noise is 0, but for less than 1e-11: what is measured must be the private table's own."""
    return fitted(dp.pure(1_000), tier="instant")


@pytest.fixture(scope="module")
def noisy() -> synth.SyntheticTable:
    return fitted(dp.pure(2), ["label", "site", "visits", "age"])


def private(query: str) -> list[dict[str, Any]]:
    with closing(duckdb.connect()) as connection:
        connection.register("people", private_rows())
        return connection.sql(query).to_arrow_table().to_pylist()


MEASURED = [
    "SELECT COUNT(*) AS n FROM people",
    "SELECT COUNT(*) AS n FROM table",
    "SELECT site, COUNT(*) AS n, COUNT(site) AS m FROM people GROUP BY site",
    "SELECT p.site AS place, COUNT(*) AS n FROM people p WHERE p.label GROUP BY 1",
    "SELECT label, COUNT(*) AS n FROM people WHERE site IN ('north', 'west') GROUP BY ALL",
    "SELECT label, COUNT(*) FILTER (WHERE site IS NULL) AS n FROM people GROUP BY label",
    "SELECT CASE WHEN visits >= 2 THEN 'often' ELSE 'rarely' END AS g, COUNT(*) AS n FROM people GROUP BY g",
    "SELECT visits % 2 AS odd, COUNT(*) AS n, SUM(visits) AS s FROM people GROUP BY odd",
    "SELECT COUNT_IF(cost > 0) AS n, COUNT_IF(cost = 0) AS z, COUNT(cost) AS c, COUNT(*) - 0 AS d FROM people",
    "SELECT COUNT(*) AS n FROM people WHERE cost >= 40 AND cost <= 1000",
    "SELECT COUNT(*) AS n FROM people WHERE cost BETWEEN 0 AND 0 OR 500 < cost",
    "SELECT COUNT(*) AS n FROM people WHERE NOT (cost < 160)",
    "SELECT label, SUM(CASE WHEN visits > 1 THEN 1 ELSE 0 END) AS s FROM people GROUP BY label",
    "SELECT COUNT(*) AS n FROM people WHERE upper(site) LIKE 'N%' AND label",
    "SELECT COUNT(*) AS n FROM people WHERE age < 200 AND day <= DATE '2024-12-31'",
]


def as_rows(answer: synth.SyntheticAnswer) -> list[dict[str, Any]]:
    return answer.to_arrow().to_pylist()


def by_keys(rows: list[dict[str, Any]], keys: list[str]) -> dict[tuple[Any, ...], dict[str, Any]]:
    return {tuple(row[key] for key in keys): row for row in rows}


@pytest.mark.parametrize("query", MEASURED)
def test_without_noise_what_is_measured_is_the_private_answer(exact: synth.SyntheticTable, query: str) -> None:
    answer = exact.sql(query)
    keys = [name for name in answer.columns if answer.kind(name) == "key"]
    truth = by_keys(private(query.replace("FROM table", "FROM people")), keys)
    shown = by_keys(as_rows(answer), keys)
    assert truth.keys() <= shown.keys()
    for name in answer.columns.keys() - set(keys):
        assert answer.kind(name) == ("derived" if name == "d" else "measured")
        for key, kind, error in zip(shown, answer.kinds(name), answer.error(name).tolist(), strict=True):
            if kind == "model":  # nobody is there, so that these were merged
                assert set(key) & {"nowhere", "never"} and np.isnan(error)
                continue
            assert error == pytest.approx(0, abs=1e-6)
            assert shown[key][name] == pytest.approx(float(truth[key][name] or 0) if key in truth else 0.0)


KINDS: dict[str, Any] = {
    "flag": {"type": "bool", "nullable": True},
    "price": {"type": "decimal", "bounds": ["-8", "8"], "nullable": False},
    "moment": {"type": "timestamp", "bounds": ["2024-01-01", "2024-01-09"], "nullable": False},
    "on": {"type": "date", "keys": ["2024-01-01", "2024-02-01"], "nullable": True},
    "code": {"type": "int", "keys": [3, 1, 7], "nullable": False},
    "table": {"type": "date", "bounds": ["2024-01-01", "2024-01-20"], "nullable": False},
}


def test_every_type_is_read_as_the_private_table_is() -> None:
    """A table and a column with odd names, and every other type; without noise, as `exact` is."""
    rng, rows, midnight = np.random.default_rng(4), 800, dt.datetime(2024, 1, 1)  # noqa: DTZ001
    on = [None, dt.date(2024, 1, 1), dt.date(2024, 2, 1)]
    private = pa.table(
        {
            "flag": pa.array([None if each == 2 else bool(each) for each in rng.integers(0, 3, rows)]),
            "price": pa.array(
                [Decimal(int(each)) / 100 for each in rng.integers(-800, 801, rows)], pa.decimal128(9, 2)
            ),
            "moment": pa.array([midnight + dt.timedelta(hours=float(h)) for h in rng.uniform(0, 192, rows)]),
            "on": pa.array([on[each] for each in rng.integers(0, 3, rows)], pa.date32()),
            "code": rng.choice([3, 1, 7], rows),
            "table": pa.array([dt.date(2024, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 20, rows)]),
        }
    )
    name = 'cells of "items"'
    policy = {"version": "1", "budget": {"epsilon": 10**7}, "tables": {name: {"unit": "rows", "columns": KINDS}}}
    with closing(dp.connect({name: private}, policy)) as session:
        table = synth.fit(session, name, spend=dp.pure(1_000), tier="instant", cells={"price": 16, "moment": 9})
    quoted = '"cells of ""items"""'
    with closing(duckdb.connect()) as connection:
        connection.register(name, private)
        for query in [
            "SELECT flag, COUNT(*) AS n, SUM(flag::INT) AS s FROM {} GROUP BY flag",
            "SELECT COUNT_IF(price >= -2) AS n, COUNT_IF(price = 0) AS z, COUNT_IF(price < 0) AS l FROM {}",
            "SELECT COUNT_IF(moment >= TIMESTAMP '2024-01-03') AS n, COUNT_IF(moment < '2024-01-05') AS m FROM {}",
            'SELECT "on", COUNT(*) AS n, COUNT("on") AS m FROM {} GROUP BY "on" ORDER BY 1',
            'SELECT COUNT(*) AS n FROM {} WHERE "on" > DATE \'2024-01-15\' OR "on" IS NULL',
            "SELECT code, COUNT(*) AS n, SUM(code) AS s FROM {} GROUP BY code HAVING code > 1 ORDER BY code DESC",
            'SELECT COUNT_IF("table" < DATE \'2024-01-07\') AS n, COUNT_IF(day("table") % 2 = 0) AS m FROM {}',
            'SELECT dayofweek("table") AS w, COUNT(*) AS n FROM {} GROUP BY w ORDER BY w LIMIT 3',
        ]:
            answer = table.sql(query.format(quoted))
            truth = connection.sql(query.format(quoted)).to_arrow_table().to_pylist()
            keys = [each for each in answer.columns if answer.kind(each) == "key"]
            shown = by_keys(as_rows(answer), keys)
            if "dayofweek" in query:  # not on the list of what is the same for the same row
                assert answer.kind("n") == "model"
                continue
            assert list(shown) == list(by_keys(truth, keys)) or "ORDER" not in query
            for name_, row in ((each, row) for each in answer.columns if each not in keys for row in truth):
                assert answer.kinds(name_) == ["measured"] * len(shown), (query, name_)
                assert shown[tuple(row[key] for key in keys)][name_] == pytest.approx(float(row[name_] or 0)), query


def test_groups_that_no_row_can_be_in_are_not_shown(exact: synth.SyntheticTable) -> None:
    assert exact.sql("SELECT site, COUNT(*) AS n FROM people WHERE 1 = 0 GROUP BY site").table.num_rows == 0
    answer = exact.sql("SELECT site, COUNT(*) AS n FROM people WHERE site < 'south' GROUP BY site")
    assert answer.table["site"].to_pylist() == ["north", "nowhere", "never"]
    nobody = exact.sql("SELECT COUNT(*) AS n FROM people WHERE site = 'elsewhere'")
    assert nobody.table["n"].to_pylist() == [0] and nobody.error("n").tolist() == [0] and nobody.kind("n") == "measured"


DERIVED = [
    "SELECT site, COUNT(*) / (SELECT COUNT(*) FROM people) AS share FROM people GROUP BY site",
    "SELECT site, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM people WHERE label GROUP BY site",
    "SELECT site, AVG(CASE WHEN label THEN 1 ELSE 0 END) AS r, COUNT_IF(label) - 9 AS d FROM people GROUP BY 1",
    "SELECT AVG(visits) AS m, ROUND(AVG(visits), 1) AS r, AVG(visits) FILTER (WHERE visits > 0) AS f FROM people",
    "SELECT label, COUNT(*) / (SELECT COUNT(*) FROM table WHERE site = 'north') AS r FROM people GROUP BY label",
    "SELECT SQRT(COUNT(*)) AS r, ABS(COUNT_IF(label) - COUNT(*)) AS d FROM people",
]


@pytest.mark.parametrize("query", DERIVED)
def test_without_noise_what_is_derived_is_the_private_answer(exact: synth.SyntheticTable, query: str) -> None:
    answer = exact.sql(query)
    keys = [name for name in answer.columns if answer.kind(name) == "key"]
    truth = by_keys(private(query.replace("FROM table", "FROM people")), keys)
    shown = by_keys(as_rows(answer), keys)
    for name in answer.columns.keys() - set(keys):
        assert answer.kind(name) == "derived"
        for key in truth:
            assert shown[key][name] == pytest.approx(float(truth[key][name]))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT MEDIAN(age) AS n FROM people",
        "SELECT AVG(age) AS n FROM people",  # a cell of age holds several ages
        "SELECT COUNT(*) AS n FROM people WHERE cost > 41",  # cuts a cell
        "SELECT COUNT(*) AS n FROM people WHERE cost = 40",
        "SELECT COUNT(*) AS n FROM people WHERE age = 40",
        "SELECT COUNT(*) AS n FROM people WHERE cost > 40 AND cost < 41",
        "SELECT COUNT(*) AS n FROM people WHERE cost + 1 > 40",
        "SELECT COUNT(*) AS n FROM people WHERE cost > CAST(40 AS FLOAT)",
        "SELECT COUNT(DISTINCT site) AS n FROM people",
        "SELECT MAX(visits) AS n FROM people",
        "SELECT COUNT(*) AS n FROM people a JOIN people b ON a.site = b.site AND a.age = b.age",
        "SELECT COUNT(*) AS n FROM (SELECT * FROM people LIMIT 10)",
        "WITH x AS (SELECT site FROM people) SELECT COUNT(*) AS n FROM x",
        "SELECT COUNT(*) AS n FROM people WHERE random() < 2",
        "SELECT COUNT(*) AS n FROM people WHERE current_date > DATE '2020-01-01'",
        "SELECT COUNT(*) AS n FROM people USING SAMPLE 10",
        "SELECT DISTINCT COUNT(*) AS n FROM people",
        "SELECT COUNT(*) OVER () AS n FROM people",
        "SELECT visits * COUNT(*) AS n FROM people GROUP BY visits",
        "SELECT CASE WHEN COUNT(*) > 5 THEN 1 ELSE 0 END AS n FROM people",
    ],
)
def test_what_nothing_measured_determines_is_the_models(exact: synth.SyntheticTable, query: str) -> None:
    try:
        answer = exact.sql(query)
    except QueryError:
        assert "SAMPLE" in query
        return
    assert answer.kind("n") == "model"
    assert np.isnan(answer.error("n")).all()
    assert "how far off is not known" in repr(answer)
    assert set(answer.kinds("n")) <= {"model"}


def test_columns_that_are_not_measured_together_are_the_models() -> None:
    table = fitted(dp.pure(20), ["label", "site", "visits"], tier="instant")
    assert {each.clique for each in table.measured if len(each.clique) > 1} == {(0, 1), (0, 2), (1, 2)}
    answer = table.sql("SELECT label, site, visits, COUNT(*) AS n FROM people GROUP BY ALL")
    assert answer.kind("n") == "model" and answer.kind("site") == "model"
    assert table.sql("SELECT label, visits, COUNT(*) AS n FROM people GROUP BY ALL").kind("n") == "measured"


def test_of_values_that_were_merged_the_model_answers_row_by_row(exact: synth.SyntheticTable) -> None:
    places = dict(zip(["north", "south", "west", "nowhere", "never", None], exact.merges[1].into, strict=True))
    assert places["nowhere"] == places["never"]  # nobody has either
    answer = exact.sql("SELECT site, label, COUNT(*) AS n FROM people GROUP BY ALL")
    kinds = {row["site"]: kind for row, kind in zip(as_rows(answer), answer.kinds("n"), strict=True)}
    assert kinds == {each: "model" if each in ("nowhere", "never") else "measured" for each in places}
    assert answer.kind("n") == "measured"
    errors = {row["site"]: error for row, error in zip(as_rows(answer), answer.error("n"), strict=True)}
    assert np.isnan(errors["never"]) and errors["north"] == pytest.approx(0)
    together = exact.sql("SELECT COUNT(*) AS n FROM people WHERE site IN ('never', 'nowhere') AND label")
    assert together.kind("n") == "measured"


MECHANISMS = [DiscreteLaplace(20), DiscreteLaplace(2), DiscreteGaussian(sigma=15), Gaussian(sigma=15)]
SIZES, MERGES = [4, 2, 3], [Merge((0, 1, 1, 2), (1.0,) * 4), Merge((0, 1), (1.0,) * 2), Merge((0, 1, 2), (1.0,) * 3)]


def marginals(*mechanisms: Any) -> list[MeasuredMarginal]:
    """Of three columns, the cells of the first merged where it stands with others."""
    cliques = [((0,), 4), ((1,), 2), ((0, 1), 6), ((0, 1, 2), 18), ((1, 2), 6)]
    rng = np.random.default_rng(2)
    return [
        MeasuredMarginal(clique, rng.integers(-20, 900, size).astype(float), mechanism)
        for (clique, size), mechanism in zip(cliques, mechanisms, strict=False)
    ]


def by_cell(measured: list[MeasuredMarginal], values: Any) -> list[np.ndarray]:
    """The derivative of some values by every cell of every marginal, each taken by itself."""
    step, here, slopes = 1e-3, values(measured), list[np.ndarray]()
    for i, marginal in enumerate(measured):
        rows: list[np.ndarray] = []
        for cell in range(marginal.counts.size):
            moved = [*measured]
            moved[i] = replace(marginal, counts=marginal.counts + step * (np.arange(marginal.counts.size) == cell))
            rows.append((values(moved) - here) / step)
        slopes.append(np.array(rows))
    return slopes


def weights_of(columns: tuple[int, ...], weights: Any, groups: Any, *, is_total: bool = False) -> GroupedWeights:
    weights = np.array(weights, float)
    return GroupedWeights(columns, weights, np.array(groups), np.ones(weights.size, bool), is_total)


FUNCTIONS = [
    weights_of((0,), [1, 1, 1, 1], [0, 1, 1, 2]),  # three groups of the first column
    weights_of((0, 1), [1, 0] * 4, [0, 0, 1, 1, 1, 1, 2, 2]),  # those of them with the second column at 0
    weights_of((), [1], [0], is_total=True),
    weights_of((1,), [0, 2.5], [0, 0], is_total=True),
]


@pytest.mark.parametrize("mechanisms", [MECHANISMS[:1] * 5, MECHANISMS[2:3] * 5, [*MECHANISMS, MECHANISMS[0]]])
@pytest.mark.parametrize("slopes", [[1, 0, 0, 0], [1, -2, 0, 0], [0, 1, 3, 0], [1, 1, -2, 0.5], [0, 0, 1, 1]])
def test_the_spread_is_that_of_all_cells_noise(mechanisms: list[Any], slopes: list[float]) -> None:
    """Standard deviation and kurtosis are those of Σ coefficient · noise over all cells of all marginals."""
    measured = marginals(*mechanisms)

    def values(some: list[MeasuredMarginal]) -> np.ndarray:
        functions = [combine_marginals(each, 3, some, SIZES, MERGES) for each in FUNCTIONS]
        return sum((slope * each.values for slope, each in zip(slopes, functions, strict=True)), np.zeros(3))

    coefficients = by_cell(measured, values)
    functions = {i: combine_marginals(each, 3, measured, SIZES, MERGES) for i, each in enumerate(FUNCTIONS)}
    used = {i: np.full(3, float(slope)) for i, slope in enumerate(slopes) if slope}
    noise = moments(used, functions, measured, 3)
    terms = [each * marginal.mechanism.std for each, marginal in zip(coefficients, measured, strict=True)]
    variance = sum((each**2).sum(axis=0) for each in terms)
    assert noise.std == pytest.approx(np.sqrt(variance), rel=1e-6)
    fourth = sum(
        (each**4).sum(axis=0)
        for each, marginal in zip(terms, measured, strict=True)
        if isinstance(marginal.mechanism, DiscreteLaplace)
    )
    exact = 3 * fourth / variance**2
    if sum(slope != 0 for slope in slopes[2:]) < 2:
        assert noise.kurtosis == pytest.approx(exact, rel=1e-5, abs=1e-9)
    else:  # of two totals it is an upper bound
        assert (noise.kurtosis >= exact - 1e-9).all()


def test_the_weights_are_those_of_least_variance() -> None:
    measured = marginals(*MECHANISMS, MECHANISMS[0])
    combined = combine_marginals(FUNCTIONS[0], 3, measured, SIZES, MERGES)
    assert sorted(combined.shares) == [0, 2, 3]
    alone = [combine_marginals(FUNCTIONS[0], 3, [measured[i]], SIZES, MERGES) for i in (0, 2, 3)]
    spreads = [
        moments({0: np.ones(3)}, {0: each}, [measured[i]], 3).std for each, i in zip(alone, (0, 2, 3), strict=True)
    ]
    best = moments({0: np.ones(3)}, {0: combined}, measured, 3).std
    assert best == pytest.approx(1 / np.sqrt(sum(1 / each**2 for each in spreads)))
    split = weights_of((0,), [1, 1, 1, 1], [0, 1, 2, 3])  # merging mixes the groups of the two in the middle
    shares = combine_marginals(split, 4, measured, SIZES, MERGES).shares
    assert shares[2].tolist()[1:3] == [0, 0] and shares[0].tolist()[1:3] == [1, 1] and shares[2][0] > 0
    unknown = replace(split, known=np.array([True, True, True, False]))
    assert np.isnan(combine_marginals(unknown, 4, measured, SIZES, MERGES).values).tolist() == [False] * 3 + [True]


def draws(mechanism: Any, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if isinstance(mechanism, DiscreteLaplace):
        q = 1 - np.exp(-1 / float(mechanism.scale))
        return (rng.geometric(q, shape) - rng.geometric(q, shape)).astype(float)
    return np.rint(rng.normal(0, float(mechanism.sigma), shape))


@pytest.mark.parametrize("count", [1, 4])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_intervals_of_what_is_measured_cover(mechanism: Any, count: int) -> None:
    """Of a cell, of sums of cells and of means of marginals: seeded draws of the noise are within the half-width.

    Sums of Laplace noise are answered by their kurtosis, and are allowed 1 % for it.
    """
    rng, runs = np.random.default_rng(5), 50_000
    measured = marginals(*[mechanism] * count)
    for function in FUNCTIONS[: 1 if count == 1 else 4]:
        combined = combine_marginals(function, 3, measured, SIZES, MERGES)
        spread = Spread(moments({0: np.ones(3)}, {0: combined}, measured, 3), measured, np.zeros(3))
        coefficients = by_cell(
            measured, lambda some, function=function: combine_marginals(function, 3, some, SIZES, MERGES).values
        )
        off = sum(draws(mechanism, (runs, len(each)), rng) @ each for each in coefficients)
        for level in (0.8, 0.95, 0.99):
            coverage = (np.abs(off) <= spread.half_widths(level) + 1e-6).mean(axis=0)
            slack = 6 * np.sqrt(level * (1 - level) / runs) + 0.01 * isinstance(mechanism, DiscreteLaplace)
            assert (coverage > level - slack).all()
            assert (coverage < level + slack + 0.02).all() or mechanism.std < 5


def test_a_share_whose_total_may_be_zero_is_not_known(noisy: synth.SyntheticTable) -> None:
    answer = noisy.sql("SELECT site, AVG(CASE WHEN label THEN 1 ELSE 0 END) AS r FROM people GROUP BY site")
    places = [row["site"] for row in as_rows(answer)]
    never = answer.error("r", 1 - 1e-11)[places.index("never")]  # a level that noise passes as rarely
    assert np.isinf(never) or np.isnan(never)
    assert 0 < answer.error("r", 0.999)[places.index("north")] < 0.5


def test_rows_picked_by_noisy_values_have_wider_intervals(noisy: synth.SyntheticTable) -> None:
    every = noisy.sql("SELECT visits, COUNT(*) AS n FROM people GROUP BY visits ORDER BY n DESC")
    values = every.table["n"].to_pylist()
    assert values == sorted(values, reverse=True) and every.picked is None
    first = noisy.sql("SELECT visits, COUNT(*) AS n FROM people GROUP BY visits ORDER BY n DESC LIMIT 2")
    assert first.table["n"].to_pylist() == values[:2] and first.picked == 2 / 8
    assert (first.error("n") > every.error("n")[:2]).all()
    assert first.error("n")[0] == pytest.approx(every.error("n", 1 - 0.05 / 4)[0])
    having = noisy.sql("SELECT visits FROM people GROUP BY visits HAVING COUNT(*) > 200 ORDER BY visits")
    assert (
        having.table["visits"].to_pylist() == sorted(row["visits"] for row in as_rows(every) if row["n"] > 200)
        or having.kind("visits") == "model"
    )
    alone = noisy.sql("SELECT visits, COUNT(*) AS n FROM people GROUP BY visits HAVING n > 200 ORDER BY 1 OFFSET 1")
    assert alone.picked is not None
    keys = noisy.sql("SELECT visits, COUNT(*) AS n FROM people GROUP BY visits ORDER BY visits LIMIT 3")
    assert keys.table["visits"].to_pylist() == [0, 1, 2] and keys.picked is None


def test_the_models_own_value_stands_beside(noisy: synth.SyntheticTable) -> None:
    answer = noisy.sql("SELECT site, COUNT(*) AS n, COUNT(*) AS n_low FROM people GROUP BY site")
    table = answer.to_arrow(errors=True)
    assert table.column_names == [
        "site", "n", "n_low_2", "n_high", "n_model", "n_low", "n_low_low", "n_low_high", "n_low_model",
    ]  # fmt: skip
    low, value, high = (np.array(table[name]) for name in ("n_low_2", "n", "n_high"))
    assert ((low + high) / 2) == pytest.approx(value)
    assert min(table["n_model"].to_pylist()) >= 0
    assert sum(table["n_model"].to_pylist()) == pytest.approx(noisy.total, abs=1)
    assert answer.to_pandas(errors=True).columns.tolist() == table.column_names
    assert pa.table(answer).equals(answer.table)
    assert answer.to_polars().columns == ["site", "n", "n_low"]
    assert "n (measured)" in repr(answer) and "<table>" in answer._repr_html_()


def test_counts_of_a_larger_table_are_scaled(noisy: synth.SyntheticTable) -> None:
    large = replace(noisy, total=1_000_000.0)
    answer = large.sql(
        "SELECT label, COUNT(*) AS n, MEDIAN(age) AS m, SUM(age) AS s, AVG(age) AS a FROM people GROUP BY 1"
    )
    assert answer.kind("s") == answer.kind("m") == "model"
    assert float(sum(answer.model["n"].to_pylist())) == pytest.approx(1_000_000)
    row = answer.model.to_pylist()[0]
    assert float(row["s"]) == pytest.approx(row["a"] * float(row["n"]))
    share = large.sql("SELECT COUNT(*) / (SELECT COUNT(*) FROM people) AS s FROM people WHERE age = 40").table["s"][0]
    assert 0 < share.as_py() < 0.1
    for query in [
        "SELECT COUNT(DISTINCT age) FROM people",
        "SELECT COUNT(*) FROM people a JOIN people b USING (site)",
        "SELECT COUNT(*) FROM (SELECT * FROM people)",
        "SELECT COUNT(*) OVER () FROM people",
    ]:
        with pytest.raises(QueryError, match=r"sample\(\)"):
            large.sql(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'", "SELECT * FROM others",
        "FROM pg_tables", "SELECT (SELECT content FROM read_text('/etc/passwd')) AS n FROM people", "SET threads = 1",
        "SELECT * FROM people, read_text('/etc/passwd')", "SELECT * FROM glob('/*')", "DELETE FROM people",
        "CREATE TABLE x AS SELECT 1", "COPY people TO '/tmp/x.csv'", "ATTACH '/tmp/x.db'", "SELECT 1; SELECT 2",
        "PRAGMA database_list", "INSTALL httpfs", "SELECT nothing FROM people", "SELECT COUNT( FROM people", "",
        "SELECT getenv('HOME')", "SELECT * FROM main.people", "SELECT * FROM duckdb_settings()",
    ],
)  # fmt: skip
def test_what_is_no_select_over_the_table_is_refused(noisy: synth.SyntheticTable, query: str) -> None:
    with pytest.raises(QueryError):
        noisy.sql(query)


def test_columns_and_levels_are_checked(noisy: synth.SyntheticTable) -> None:
    answer = noisy.sql("SELECT site, COUNT(*) AS n FROM people GROUP BY site")
    with pytest.raises(ParameterError, match="is a key"):
        answer.error("site")
    with pytest.raises(ParameterError, match="no column m"):
        answer.kind("m")
    with pytest.raises(ParameterError, match="level"):
        answer.error("n", 1)


def test_answers_are_the_same_again(noisy: synth.SyntheticTable) -> None:
    query = "SELECT site, COUNT(*) AS n, MEDIAN(age) AS m FROM people GROUP BY site"
    again = synth.SyntheticTable.from_bytes(noisy.to_bytes())
    assert noisy.sql(query).table.equals(again.sql(query).table)
    assert noisy.sql(query).error("n").tolist() == again.sql(query).error("n").tolist()


def test_refits_differ_as_the_noise_does(noisy: synth.SyntheticTable) -> None:
    tables = noisy.tables(6)
    assert all(each.schema == noisy.sample(1).schema for each in tables)
    assert [each.equals(other) for each, other in zip(tables, noisy.tables(6), strict=True)] == [True] * 6
    assert not any(one.equals(other) for one, other in combinations(tables, 2))
    assert [each.num_rows for each in noisy.tables(2, rows=50)] == [50, 50]
    half = synth.combine([np.mean(np.array(each["label"])) for each in noisy.tables(60)]).error()
    alone = noisy.sql("SELECT AVG(CASE WHEN label THEN 1 ELSE 0 END) AS r FROM people").error("r")[0]
    assert alone / 4 < half < alone * 4  # chi-squared of 59 degrees: false alarm below 1e-20
    for m in (1, 0, 1_001, 2.0, True):
        with pytest.raises(ParameterError, match="m is"):
            noisy.tables(m)  # type: ignore[arg-type]


def test_refits_of_a_table_without_noise_are_alike(exact: synth.SyntheticTable) -> None:
    shares = [np.mean(np.array(each["label"])) for each in exact.tables(2)]
    assert shares[0] == pytest.approx(shares[1], abs=0.005)  # as near as the estimate comes


def test_estimates_are_combined_by_their_spread() -> None:
    rng = np.random.default_rng(1)
    estimates = rng.normal(3, 2, 20).tolist()
    one = synth.combine(estimates)
    assert one.estimate == pytest.approx(np.mean(estimates))
    assert one.variance == pytest.approx(np.var(estimates, ddof=1) * 21 / 20) and one.degrees == 19
    both = synth.combine(estimates, [4.0] * 20)
    assert both.variance == pytest.approx(one.variance + 4)
    assert both.degrees == pytest.approx(19 * (1 + 4 / one.variance) ** 2)
    assert synth.combine([1.0, 1.0], [4.0, 4.0]).error() == pytest.approx(1.959964 * 2)
    for wrong in ([1.0], [1.0, float("nan")], [[1.0, 2.0], [3.0, 4.0]]):
        with pytest.raises(ParameterError, match="estimates"):
            synth.combine(wrong)  # type: ignore[arg-type]
    for wrong in ([1.0], [1.0, -1.0], [1.0, float("inf")]):
        with pytest.raises(ParameterError, match="variances"):
            synth.combine([1.0, 2.0], wrong)


def lines() -> Iterator[str]:
    yield from MEASURED
    yield from DERIVED


def test_every_query_has_an_answer_with_noise(noisy: synth.SyntheticTable) -> None:
    for query in lines():
        if "cost" not in query and "day" not in query:
            answer = noisy.sql(query)
            for name in (each for each in answer.columns if answer.kind(each) in ("measured", "derived")):
                known = np.array([kind != "model" for kind in answer.kinds(name)])
                assert not np.isnan(answer.error(name)[known]).any() or answer.table[name].null_count


@pytest.mark.soak
@pytest.mark.timeout(4 * 3600)
def test_intervals_cover_over_a_thousand_fits() -> None:
    """Measured 93 to 97 %, derived 93 % or more, logistic coefficients from 20 refits 90 % or more.

    Coverage was 95.4, 95.1 and 93.9 %, its standard errors over 1,000 fits are 0.12, 0.23 and 0.43 %: each limit is
    eight of them off or more, so that a failure by chance has a probability below 1e-9.
    """
    bench = Path(__file__).parents[2] / "bench" / "synth_coverage.py"
    subprocess.run([sys.executable, bench, "--fits", "1000"], check=True)
