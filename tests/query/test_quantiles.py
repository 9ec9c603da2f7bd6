"""Quantiles in SQL: what is asked in which words, on which grid, at which price, and what comes out."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import QueryError
from discreet.mechanisms import Quantiles
from discreet.policy import load_policy
from discreet.query import Group, Plan, Release, draw, make_plan
from discreet.query.budget._quantiles import QuantileNoise

pytestmark = pytest.mark.usefixtures("one_database")

COLUMNS: dict[str, Any] = {
    "k": {"type": "string", "keys": ["a", "b", "c"]},
    "q": {"type": "string"},
    "x": {"type": "int", "bounds": [0, 120]},
    "wide": {"type": "int", "bounds": [-(10**7), 10**7]},
    "huge": {"type": "int", "bounds": [2**62, 2**62 + 10**6]},
    "y": {"type": "float", "bounds": [0, 1000]},
    "z": {"type": "decimal", "bounds": ["-0.37", "2.5"]},
    "day": {"type": "date"},
}
SPENDS = {"pure": dp.pure(1), "approx": dp.approx(1, "0.01"), "rho": dp.rho("0.1"), "mu": dp.mu("0.5")}


def policy_of(relation: str = "add_remove", **table: Any) -> dict[str, Any]:
    about = {"unit": "u", "max_rows": 10, "max_groups": 2, "columns": COLUMNS, **table}
    budget = {"epsilon": 10**12, "delta": "0.5"}
    return {"version": "1", "relation": relation, "budget": budget, "tables": {"t": about}}


POLICY = load_policy(policy_of())


def plan_of(query: str, spend: Any = None, policy: Any = POLICY) -> Plan:
    return make_plan(query, policy, spend)


def table_of(rows: int, seed: int = 0) -> pa.Table:
    dice = np.random.default_rng(seed)
    return pa.table(
        {
            "u": dice.permutation(rows),
            "k": np.array(["a", "b", "c"])[dice.integers(0, 3, rows)],
            "q": np.array(["p", "r"])[dice.integers(0, 2, rows)],
            "x": dice.integers(-5, 130, rows),
            "wide": dice.integers(-(10**6), 10**6, rows),
            "huge": 2**62 + dice.integers(0, 10**6, rows),
            "y": np.where(dice.random(rows) < 0.1, np.nan, dice.lognormal(4, 1, rows)),
            "z": dice.normal(1, 1, rows),
            "day": pa.array([None] * rows, pa.date32()),
        }
    )


GRIDS = [
    ("x", Fraction(1), 0, 120),
    ("y", Fraction(1, 50), 0, 50_000),
    ("wide", Fraction(500), -20_000, 40_000),
    ("z", Fraction(1, 20_000), -7_400, 57_400),
    ("2 * x + 1", Fraction(1), 1, 240),
    ("x / 7", Fraction(1, 2000), 0, 34_285),
]


@pytest.mark.parametrize(("argument", "step", "first", "last"), GRIDS)
def test_the_grid_is_public_and_fine(argument: str, step: Fraction, first: int, last: int) -> None:
    (histogram,) = plan_of(f"SELECT MEDIAN({argument}) AS m FROM t").levels[0].bounded.histograms
    assert (histogram.step, histogram.center, histogram.upper) == (step, first, last)


@pytest.mark.parametrize("width", [1, 3, 65_535, 65_536, 10**6, 10**12, 10**18, 2**62])
@pytest.mark.parametrize("base", [0, -1, 10**6, -(10**18)])
@pytest.mark.parametrize("kind", ["int", "float"])
def test_every_grid_is_small_and_within_the_bounds(kind: str, base: int, width: int) -> None:
    column = {"type": kind, "bounds": [base, base + width]}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": {"v": column}}}})
    query = "SELECT MEDIAN(v) AS m FROM t"
    if width < 10**4 and abs(base) > 10**15:
        with pytest.raises(QueryError, match="too close together"):
            plan_of(query, policy=policy)
        return
    (histogram,) = plan_of(query, policy=policy).levels[0].bounded.histograms
    low, high = histogram.bounds
    assert base <= low < high <= base + width
    assert 1 <= histogram.upper < 2**16
    assert histogram.step == 1 or histogram.step <= max(Fraction(width, 2**14), Fraction(abs(base) + width, 2**47))


SAME = ["QUANTILE_CONT(x, 0.5)", "QUANTILE_DISC(x, 1/2)", "APPROX_QUANTILE(x, 0.50)", "QUANTILE(x, 0.5)"]
SAME += ["PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)", "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY x DESC)"]


@pytest.mark.parametrize("text", SAME)
def test_one_question_in_many_words(text: str) -> None:
    plain = plan_of("SELECT MEDIAN(x) AS m FROM t")
    plan = plan_of(f"SELECT {text} AS m FROM t")
    assert plan.hash(POLICY) == plain.hash(POLICY)
    assert plan_of(plan.sql).sql == plan.sql


def test_quantiles_of_one_argument_share_a_budget() -> None:
    query = "SELECT MIN(y), MEDIAN(y) AS m, QUANTILE_CONT(y, [0.25, 0.75]) AS q, MEDIAN(x), AVG(x), COUNT(*) FROM t"
    plan = plan_of(query, dp.pure(1))
    assert plan.levels[0].noise is not None
    assert [h.probabilities for h in plan.levels[0].bounded.histograms] == [
        (Fraction(1, 100), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)),
        (Fraction(1, 2),),
    ]
    shares = 2 + len(plan.levels[0].bounded.measures)
    four, one = plan.levels[0].noise.quantiles
    assert (four.mechanism.epsilon, four.mechanism.levels) == (Fraction(1, shares * 3 * 10), 3)
    assert one.mechanism.epsilon == Fraction(1, shares * 10)
    assert plan.noisy == ("min", "m", "q_25", "q_75", "median", "avg", "count")


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("currency", SPENDS)
@pytest.mark.parametrize(
    "asked", ["MEDIAN(y)", "QUANTILE_CONT(y, [0.1, 0.3, 0.9])", "QUANTILE_CONT(x, [0.1, 0.3, 0.9])"]
)
def test_the_spend_pays_for_all_rows_of_a_unit(asked: str, currency: str, relation: str) -> None:
    """What all rows of a unit lose together is at most the spend, and next to all of it, in its own currency."""
    plan = plan_of(f"SELECT k, {asked} AS m FROM t GROUP BY k", SPENDS[currency], load_policy(policy_of(relation)))
    assert plan.levels[0].noise is not None
    (noise,) = plan.levels[0].noise.quantiles
    assert noise.moves == (10 if relation == "add_remove" else 20)
    lost, paid = noise.loss(noise.moves), plan.loss
    if currency == "rho":
        assert 0.999 * paid.rho() <= lost.rho() <= paid.rho()
    elif currency == "mu":
        assert lost.epsilon(1e-3) <= paid.epsilon(1e-3)
    else:
        assert lost.epsilon() == 1


def grid_law(noise: QuantileNoise, cells: dict[int, int], size: int) -> np.ndarray[Any, Any]:
    """The law that the proof note states for one quantile, cell by cell."""
    p = noise.asked[0]
    rate = float(noise.mechanism.epsilon / (2 * max(p, 1 - p)))
    ends = np.cumsum([0, *(cells.get(i, 0) for i in range(size))])
    target = float(p) * ends[-1]
    weights = np.exp([-rate * max(0, ends[i] - target, target - ends[i + 1]) for i in range(size)])
    return weights / weights.sum()


@pytest.mark.parametrize("p", ["1/2", *(pytest.param(each, marks=pytest.mark.soak) for each in ("1/4", "9/10"))])
@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_a_unit_in_two_groups_loses_no_more_than_in_one(p: str, epsilon: str) -> None:
    """All joint laws of two groups of up to 3 rows on 3 cells, where a unit has any 2 rows in any groups and cells."""
    noise = QuantileNoise(Quantiles(p, (0, 2), Fraction(epsilon) / 2, step=1), 2)
    bases = [dict(zip(range(3), c, strict=True)) for c in itertools.product(range(3), repeat=3) if sum(c) <= 3]
    places = list(itertools.combinations_with_replacement(itertools.product(range(2), range(3)), 2))
    widest = 0.0
    logs: dict[tuple[int, ...], np.ndarray[Any, Any]] = {}

    def log_law(base: dict[int, int]) -> np.ndarray[Any, Any]:
        key = tuple(base.get(i, 0) for i in range(3))
        return logs.setdefault(key, np.log(grid_law(noise, base, 3)))

    for one, other in itertools.product(bases, repeat=2):
        for rows in places:
            more = [dict(one), dict(other)]
            for group, cell in rows:
                more[group][cell] = more[group].get(cell, 0) + 1
            moved = [log_law(new) - log_law(old) for new, old in zip(more, (one, other), strict=True)]
            joint = moved[0][:, None] + moved[1][None, :]
            widest = max(widest, float(np.ptp(joint)))
            assert np.abs(joint).max() <= float(epsilon) * (1 + 1e-12)
    assert widest <= float(epsilon) * (1 + 1e-12)
    if p != "9/10":  # whose rank takes more rows to reach from both sides
        assert widest >= 0.999 * float(epsilon)


def test_the_draw_of_a_group_has_the_stated_law() -> None:
    """3,000 draws through `draw` on four cells; a false alarm of the deviation bound is rarer than 1e-9."""
    policy = load_policy(
        {"version": "1", "tables": {"t": {"unit": "rows", "columns": {"v": {"type": "int", "bounds": [5, 8]}}}}}
    )
    plan = plan_of("SELECT QUANTILE_CONT(v, 0.25) AS m FROM t", dp.pure(1), policy)
    assert plan.levels[0].noise is not None
    cells = {0: 2, 2: 5, 3: 1}
    group = Group((), 0, (), ((np.array(list(cells)), np.array(list(cells.values()))),))
    drawn = [draw([group], plan.levels[0].bounded, plan.levels[0].noise)[0].quantiles[0][0] for _ in range(3_000)]
    allowed = math.sqrt(math.log(2 * 4 / 1e-9) / (2 * 3_000))
    for i, exact in enumerate(grid_law(plan.levels[0].noise.quantiles[0], cells, 4)):
        assert abs(np.mean(np.array(drawn) == 5.0 + i) - exact) <= allowed


@pytest.mark.parametrize("unit", [{"unit": "rows", "max_rows": None, "max_groups": None}, {}])
@pytest.mark.parametrize("argument", ["x", "y", "wide", "z", "x + y / 2"])
def test_next_to_no_noise_gives_the_quantiles_of_the_clamped_values(argument: str, unit: dict[str, Any]) -> None:
    table, shares = table_of(30_001), [0.05, 0.25, 0.5, 0.9]
    policy = policy_of(**{name: value for name, value in unit.items() if value is not None})
    if unit:
        del policy["tables"]["t"]["max_rows"], policy["tables"]["t"]["max_groups"]
    x, y = (np.array(table.column(name)) for name in "xy")
    values = {
        "x": np.clip(x, 0, 120).astype(float),
        "y": np.clip(y, 0, 1000),
        "wide": np.array(table.column("wide")).astype(float),
        "z": np.clip(np.array(table.column("z")), -0.37, 2.5),
        "x + y / 2": np.clip(x, 0, 120) + np.clip(y, 0, 1000) / 2,
    }[argument]
    keys = np.array(table.column("k"))
    query = f"SELECT k, QUANTILE_CONT({argument}, {shares}) AS m, COUNT(*) AS n FROM t GROUP BY k"
    with dp.connect({"t": table}, policy) as session:
        plan = session.plan(query, dp.pure(10**6))
        answers = session.sql(query, dp.pure(10**6)).to_arrow().to_pylist()
    step = float(plan.levels[0].bounded.histograms[0].step)
    for row in answers:
        mine = values[(keys == row["k"]) & ~np.isnan(values)]
        for share in shares:
            target = share * mine.size
            got = row[f"m_{100 * share:g}"]
            assert np.sum(mine < got - step) <= target + 1
            assert np.sum(mine <= got + step) >= target - 1
        assert row["n"] == np.sum(keys == row["k"])


def test_null_arguments_do_not_count_and_an_empty_group_answers_from_its_bounds() -> None:
    table = pa.table({"u": range(40), "k": ["a"] * 40, "x": [7] * 5 + [None] * 35})
    policy = policy_of(columns={name: COLUMNS[name] for name in ("k", "x")})
    with dp.connect({"t": table}, policy) as session:
        rows = session.sql("SELECT k, MEDIAN(x) AS m FROM t GROUP BY k", dp.pure(10**5)).to_arrow().to_pylist()
        assert [row["k"] for row in rows] == ["a", "b", "c"]
        assert rows[0]["m"] == 7
        assert all(0 <= row["m"] <= 120 and row["m"] == int(row["m"]) for row in rows)
        nobody = session.sql("SELECT MEDIAN(x) AS m FROM t WHERE x > 90", dp.pure(10**5)).to_arrow().to_pylist()
    assert 0 <= nobody[0]["m"] <= 120


def test_private_keys_get_quantiles_once_they_are_discovered() -> None:
    query = "SELECT q, k, MEDIAN(x) AS m, SUM(x) AS s FROM t GROUP BY q, k HAVING m > 0 ORDER BY q, k LIMIT 5"
    table = table_of(3_000)
    with dp.connect({"t": table}, policy_of()) as session:
        rows = session.sql(query, dp.approx(10**5, "0.01")).to_arrow().to_pylist()
    assert [(row["q"], row["k"]) for row in rows] == [("p", "a"), ("p", "b"), ("p", "c"), ("r", "a"), ("r", "b")]
    frame = {name: np.array(table.column(name)) for name in "qkx"}
    for row in rows:
        mine = np.clip(frame["x"][(frame["q"] == row["q"]) & (frame["k"] == row["k"])], 0, 120)
        assert row["s"] == mine.sum()
        assert abs(row["m"] - np.median(mine)) <= 1


def test_errors_are_in_ranks_and_told_in_words_and_in_the_certificate() -> None:
    query = "SELECT k, MEDIAN(y) AS m, MEDIAN(y) / COUNT(*) AS r, MAX(x) AS top, COUNT(*) AS n FROM t GROUP BY k"
    table = table_of(500)
    with dp.connect({"t": table}, policy_of()) as session:
        release = session.sql(query, dp.pure(3))
        plan = session.plan(query, dp.pure(3))
    assert [plan.error(name) is None for name in plan.noisy] == [True, True, True, False]
    assert np.isnan(release.error("m")).all() and np.isnan(release.error("r")).all()
    assert (release.error("n") > 0).all()
    assert "nan" not in repr(release) and "nan" not in release._repr_html_()
    assert release.approximate("m")
    told = plan.explain()
    rank = plan.levels[0].noise.quantiles[0].rank_error(None) if plan.levels[0].noise else None
    assert rank is not None and f"m: rank within ± {rank:,.4g} rows" in told
    assert 'MAX("x") is the 99 % quantile' in told
    assert "to the nearest 0.02 in [0, 1000]" in told
    stated = release.certificate["levels"][0]["quantiles"]
    assert [each["probabilities"] for each in stated] == [["1/2"], ["99/100"]]
    assert stated[0]["rank_error"] == {"rows": repr(rank), "level": "0.95"}
    assert stated[0]["row_moves"] == 10
    stored = Release.from_bytes(release.to_bytes())
    assert stored.to_arrow() == release.to_arrow()
    assert np.isnan(stored.error("m")).all()
    both = "SELECT QUANTILE_CONT(y, [0.1, 0.5]) AS m FROM t"
    assert "plan with assume" in plan_of(both, dp.pure(1)).explain()


REFUSED = [
    ("MEDIAN(day)", "add bounds = .* or write GREATEST"),
    ("MEDIAN(k)", "needs a number"),
    ("MEDIAN(x > 3)", "needs a number"),
    ("MEDIAN(1)", "only one value"),
    ("MEDIAN(*)", "not supported"),
    ("MEDIAN(DISTINCT x)", "not supported"),
    ("MEDIAN(MEDIAN(x))", "cannot stand here"),
    ("MEDIAN(1 / x)", "may be zero"),
    ("MEDIAN(x) OVER ()", "not supported"),
    ("MEDIAN(x ORDER BY y)", "not supported"),
    ("QUANTILE_CONT(x)", "not supported"),
    ("QUANTILE_CONT(x, 2)", "from 0 to 1"),
    ("QUANTILE_CONT(x, -0.1)", "from 0 to 1"),
    ("QUANTILE_CONT(x, y)", "from 0 to 1"),
    ("QUANTILE_CONT(x, '0.5')", "from 0 to 1"),
    ("QUANTILE_CONT(x, NULL)", "from 0 to 1"),
    ("QUANTILE_CONT(x, 1/0)", "from 0 to 1"),
    ("QUANTILE_CONT(x, 1e-400)", "from 0 to 1"),
    ("QUANTILE_CONT(x, COUNT(*))", "from 0 to 1"),
    ("QUANTILE_CONT(x, [])", "list one p or more"),
    ("QUANTILE_CONT(x, [0.5, [0.5]])", "from 0 to 1"),
    ("QUANTILE_CONT(x, [0.5, 0.5])", "two columns"),
    ("1 + QUANTILE_CONT(x, [0.5])", "one quantile at a time"),
    ("PERCENTILE_CONT(0.5)", "not supported"),
    ("PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x, y)", "not supported"),
    ("MAD(x)", "not supported"),
    ("ARG_MIN(x, y)", "not supported"),
]


@pytest.mark.parametrize(("text", "says"), REFUSED)
def test_what_is_no_quantile_is_refused(text: str, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        plan_of(f"SELECT {text} AS m FROM t")


def test_a_draw_from_a_wide_grid_of_whole_numbers_is_cheap_and_exact_at_the_ends() -> None:
    table = pa.table({"u": range(9), "x": [-(10**9)] * 4 + [10**9] * 5})
    policy = policy_of(columns={"x": COLUMNS["x"]})
    with dp.connect({"t": table}, policy) as session:
        row = session.sql("SELECT MEDIAN(x) AS m, QUANTILE_CONT(x, 0.2) AS l FROM t", dp.pure(10**5)).to_arrow()
    assert row.to_pylist() == [{"m": 120.0, "l": 0.0}]
