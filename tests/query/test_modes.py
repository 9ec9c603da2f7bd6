"""MODE in SQL: of which values it is one, at which price, and what comes out."""

from __future__ import annotations

import copy
import datetime as dt
import itertools
import json
import math
import time
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import LedgerError, QueryError
from discreet.mechanisms import Exponential, PermuteAndFlip
from discreet.policy import load_policy
from discreet.privacy import BoundedRangeLoss, PureLoss
from discreet.query import Group, Plan, Release, draw, make_plan
from discreet.query.budget._modes import ModeNoise
from discreet.release import verify_loss

pytestmark = pytest.mark.usefixtures("one_database")

BIG = 2**53 + 1
COLUMNS: dict[str, Any] = {
    "k": {"type": "string", "keys": ["a", "b", "it's"]},
    "q": {"type": "string"},
    "x": {"type": "int", "bounds": [0, 12]},
    "wide": {"type": "int", "bounds": [0, 10**6]},
    "big": {"type": "int", "keys": [BIG, BIG + 2, -1]},
    "y": {"type": "float", "bounds": [0, 100]},
    "yes": {"type": "bool"},
    "day": {"type": "date", "bounds": ["2024-01-30", "2024-03-02"]},
    "at": {"type": "timestamp", "bounds": ["2024-01-30 00:00:00", "2024-03-02 00:00:00"]},
    "code": {"type": "int", "keys": [5, 2, 9]},
    "many": {"type": "int", "keys": list(range(2_000))},
}
SPENDS = {"pure": dp.pure(1), "approx": dp.approx(1, "0.01"), "rho": dp.rho("0.1"), "mu": dp.mu("0.5")}


def policy_of(relation: str = "add_remove", **table: Any) -> dict[str, Any]:
    facts = {"unit": "u", "max_rows": 10, "max_groups": 2, "columns": COLUMNS, **table}
    budget = {"epsilon": 10**12, "delta": "0.5"}
    return {"version": "1", "relation": relation, "budget": budget, "tables": {"t": facts}}


POLICY = load_policy(policy_of())


def plan_of(query: str, spend: Any = None, policy: Any = POLICY) -> Plan:
    return make_plan(query, policy, spend)


def noise_of(plan: Plan) -> ModeNoise:
    assert plan.levels[0].noise is not None
    (noise,) = plan.levels[0].noise.quantiles
    assert isinstance(noise, ModeNoise)
    return noise


JANUARY, MARCH = dt.date(2024, 1, 31), dt.date(2024, 3, 31)
VALUES = {
    "k": ("a", "b", "it's"),
    "yes": (False, True),
    "x": tuple(range(13)),
    "x // 5": (0, 1, 2),
    "x > 3": (False, True),
    "code": (5, 2, 9),
    "big": (BIG, BIG + 2, -1),
    "UPPER(k)": ("A", "B", "IT'S"),
    "CASE WHEN y > 3 THEN 'high' WHEN y > 1 THEN 'low' END": ("high", "low"),
    "MONTH(day)": (1, 2, 3),
    "LAST_DAY(day)": (JANUARY, dt.date(2024, 2, 29), MARCH),
    "LAST_DAY(at)": (JANUARY, dt.date(2024, 2, 29), MARCH),
    "DATE_TRUNC('month', at)": (
        dt.datetime.fromisoformat("2024-01-01"),
        dt.datetime.fromisoformat("2024-02-01"),
        dt.datetime.fromisoformat("2024-03-01"),
    ),
    "day": tuple(dt.date(2024, 1, 30) + dt.timedelta(days=i) for i in range(33)),
    "COALESCE(k, 'none')": ("a", "b", "it's", "none"),
}


@pytest.mark.parametrize("text", VALUES)
def test_the_values_are_the_public_groups_without_null(text: str) -> None:
    plan, groups = plan_of(f"SELECT MODE({text}) AS m FROM t"), plan_of(f"SELECT {text} AS g FROM t GROUP BY g")
    (histogram,) = plan.levels[0].bounded.histograms
    listed = groups.levels[0].bounded.keys[0].values
    assert listed is not None
    if text != "COALESCE(k, 'none')":  # whose rows have no other values
        assert set(histogram.values) == set(VALUES[text]) == {value for value in listed if value is not None}
    assert (histogram.lower, histogram.upper, histogram.step) == (0, len(histogram.values) - 1, 1)


def test_conditions_rule_values_out_and_filters_do_not() -> None:
    query = "SELECT MODE(k) AS m, MODE(x) FILTER (WHERE x < 3) AS n FROM t WHERE k <> 'a' AND x BETWEEN 4 AND 7"
    first, second = plan_of(query).levels[0].bounded.histograms
    assert {first.values, second.values} == {("b", "it's"), (4, 5, 6, 7)}


SAME = ["MODE(k)", "mode(k)", "MODE() WITHIN GROUP (ORDER BY k)", "mode() WITHIN GROUP (ORDER BY k DESC NULLS FIRST)"]


@pytest.mark.parametrize("text", SAME)
def test_one_question_in_many_words(text: str) -> None:
    plan = plan_of(f"SELECT {text} AS m FROM t")
    assert plan.hash(POLICY) == plan_of("SELECT MODE(k) AS m FROM t").hash(POLICY)
    assert plan_of(plan.sql).sql == plan.sql


def test_other_values_are_another_question() -> None:
    other = copy.deepcopy(policy_of())
    other["tables"]["t"]["columns"]["k"]["keys"] = ["a", "b"]
    query = "SELECT MODE(k) AS m FROM t"
    assert plan_of(query).hash(POLICY) != plan_of(query, policy=load_policy(other)).hash(load_policy(other))


REFUSED = {
    "MODE(q)": "declare keys of q in the policy, or write SELECT",
    "MODE(UPPER(q))": "declare keys, or write SELECT",
    "MODE(y)": "needs an x .* group by FLOOR",
    "MODE(y + 1)": "needs an x .* write FLOOR",
    "MODE(wide)": "declare keys of wide in the policy, or write SELECT",
    "MODE(many)": "2,000 public values, and a mode has at most 1,000; write SELECT",
    "MODE(day + INTERVAL 1 HOUR)": "declare keys, or write",
    "MODE(u)": "says whose a row is",
    "MODE(5)": "needs an x",
    "MODE(NULL)": "needs an x",
    "MODE(COUNT(*))": "write MODE.x. of one x",
    "MODE(MODE(k))": "needs an x|cannot stand",
    "MODE()": "write MODE.x. of one x",
    "MODE(*)": "write MODE.x. of one x",
    "MODE(k, x)": "write MODE.x. of one x|takes",
    "MODE(k, TRUE)": "write MODE.x. of one x",
    "MODE(DISTINCT k)": "write MODE.x. of one x",
    "MODE(k ORDER BY x)": "write MODE.x. of one x",
    "MODE() WITHIN GROUP (ORDER BY k, x)": "not supported",
    "MODE(k) WITHIN GROUP (ORDER BY x)": "not supported",
    "MODE(k) OVER ()": "a window needs one of",
    "MODE(k) + 1": "not a number",
    "ROUND(MODE(k))": "not a number",
    "COALESCE(MODE(k), 'a')": "not a number",
    "CASE WHEN MODE(k) + 1 > 2 THEN 1 END": "not a number",
    "CASE WHEN MODE(k) > 2 THEN 1 END": "different kinds",
    "MODE(day) + 1": "not a number",
    "UPPER(MODE(k))": "not a number",
    "HISTOGRAM(k) AS h, COUNT(*)": "write SELECT x, COUNT",
    "HISTOGRAM_NUMERIC(x, 5)": "write SELECT x, COUNT",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match=REFUSED[text]):
        plan_of(f"SELECT {text} AS m FROM t")


def test_a_long_expression_of_many_values_is_refused() -> None:
    long = "c"
    for _ in range(30):
        long = f"REPLACE({long}, 'a', 'b')"
    facts = {"unit": "rows", "columns": {"c": {"type": "string", "keys": [f"v{i}" for i in range(400)]}}}
    policy = load_policy({"version": "1", "tables": {"t": facts}})
    with pytest.raises(QueryError, match=r"with 400 public values.*, a shorter expression"):
        plan_of(f"SELECT MODE({long}) AS m FROM t", policy=policy)
    assert (
        len(plan_of("SELECT MODE(UPPER(c)) AS m FROM t", policy=policy).levels[0].bounded.histograms[0].values) == 400
    )


def test_many_modes_of_many_values_are_refused_in_a_moment() -> None:
    facts = {"unit": "rows", "columns": {"c": {"type": "string", "keys": [f"v{i}" for i in range(1_000)]}}}
    policy = load_policy({"version": "1", "tables": {"t": facts}})
    modes = ", ".join(f"MODE(c) FILTER (WHERE c > 'v{i}') AS m{i}" for i in range(190))
    started = time.perf_counter()
    with pytest.raises(QueryError, match="or several queries"):
        plan_of(f"SELECT {modes} FROM t", policy=policy)
    assert time.perf_counter() - started < 5  # 1 s where nothing else runs


def test_a_query_without_values_left_and_a_mode_in_a_sub_query_are_refused() -> None:
    with pytest.raises(QueryError, match="rule out every public value"):
        plan_of("SELECT MODE(k) AS m FROM t WHERE k = 'c'")
    with pytest.raises(QueryError, match="or SELECT x, COUNT"):
        plan_of("SELECT COUNT(*) FROM (SELECT u, MODE(k) AS m FROM t GROUP BY u)")
    with pytest.raises(QueryError, match=r"24,000 quantiles and modes in 6,000 rows.*at most 20,000"):
        plan_of("SELECT many, MODE(k), MODE(yes), MODE(x > 2), MODE(x) FROM t GROUP BY many, code")


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("currency", SPENDS)
def test_the_spend_pays_for_all_rows_of_a_unit(currency: str, relation: str) -> None:
    """What all rows of a unit lose together is at most the spend, and next to all of it, in its own currency."""
    plan = plan_of("SELECT k, MODE(x) AS m FROM t GROUP BY k", SPENDS[currency], load_policy(policy_of(relation)))
    noise, paid = noise_of(plan), plan.loss
    assert paid is not None
    assert noise.moves == (10 if relation == "add_remove" else 20)
    lost = noise.loss(noise.moves)
    if currency in ("rho", "mu"):
        assert isinstance(noise.mechanism, Exponential)
        assert isinstance(lost, BoundedRangeLoss)
    else:
        assert isinstance(noise.mechanism, PermuteAndFlip)
        assert lost == PureLoss(Fraction(1))
    if currency == "rho":
        assert 0.999 * paid.rho() <= lost.rho() <= paid.rho()
    elif currency == "mu":
        assert lost.epsilon(1e-3) <= paid.epsilon(1e-3)


def law_of(noise: ModeNoise, counts: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """The law of a draw: the exponential mechanism's, or, from its definition, permute-and-flip's."""
    rate = float(noise.mechanism.epsilon)
    stops = np.exp(-rate * (max(counts) - np.array(counts)))
    if isinstance(noise.mechanism, Exponential):
        return stops / stops.sum()
    picked = np.zeros(len(counts))
    orders = list(itertools.permutations(range(len(counts))))
    for order in orders:
        reached = 1 / len(orders)
        for i in order:
            picked[i] += reached * stops[i]
            reached *= 1 - stops[i]
    return picked


@pytest.mark.parametrize("kind", [PermuteAndFlip, Exponential])
@pytest.mark.parametrize("epsilon", ["0.5", "3"])
def test_a_unit_in_two_groups_loses_no_more_than_in_one(epsilon: str, kind: Any) -> None:
    """All joint laws of two groups of three values, where a unit adds, or removes and adds, any two rows anywhere."""
    noise = ModeNoise(kind(Fraction(epsilon) / 2, 1, monotone=True), 2, 3)
    bases = list(itertools.product(range(3), repeat=3))
    cells = [(group, value) for group in range(2) for value in range(3)]
    logs = {counts: np.log(law_of(noise, counts)) for counts in itertools.product(range(5), repeat=3)}
    ratio, widest = 0.0, 0.0
    for one, other in itertools.product(bases, repeat=2):
        for rows in itertools.combinations_with_replacement(cells, 2):
            for sign in (1, -1):
                more = [list(one), list(other)]
                for i, (group, value) in enumerate(rows):
                    more[group][value] += sign if i else 1
                if min(map(min, more)) < 0:
                    continue
                moved = [logs[tuple(new)] - logs[old] for new, old in zip(more, (one, other), strict=True)]
                joint = moved[0][:, None] + moved[1][None, :]
                ratio, widest = max(ratio, float(np.abs(joint).max())), max(widest, float(np.ptp(joint)))
    stated = noise.loss(2).epsilon()
    assert ratio <= stated * (1 + 1e-12)
    if kind is Exponential:
        assert 0.999 * stated <= widest <= stated * (1 + 1e-12)


def test_the_stated_loss_of_two_values_is_attained() -> None:
    noise = ModeNoise(PermuteAndFlip(Fraction(1, 3), 1, monotone=True), 3, 2)
    ratio = np.log(law_of(noise, (0, 0))) - np.log(law_of(noise, (3, 0)))
    assert math.isclose(ratio.max(), float(noise.loss(3).epsilon()), rel_tol=1e-12)


@pytest.mark.parametrize("spend", [dp.pure(2), dp.rho("0.5")])
def test_the_draw_of_a_group_has_the_stated_law(spend: Any) -> None:
    """3,000 draws through `draw`; a false alarm of the deviation bound is rarer than 1e-9."""
    columns = {"v": {"type": "string", "keys": ["p", "q", "r"]}}
    policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})
    plan = plan_of("SELECT MODE(v) AS m FROM t", spend, policy)
    assert plan.levels[0].noise is not None
    group = Group((), 0, (), ((np.array([0, 2]), np.array([2, 3])),))
    drawn = [draw([group], plan.levels[0].bounded, plan.levels[0].noise)[0].quantiles[0][0] for _ in range(3_000)]
    allowed = math.sqrt(math.log(2 * 3 / 1e-9) / (2 * 3_000))
    for i, exact in enumerate(law_of(noise_of(plan), (2, 0, 3))):
        assert abs(np.mean(np.array(drawn) == i) - exact) <= allowed


def table_of(rows: int, seed: int = 0) -> pa.Table:
    dice = np.random.default_rng(seed)
    first = pa.array([dt.date(2024, 1, 28) + dt.timedelta(days=int(i)) for i in np.abs(dice.normal(9, 3, rows))])
    return pa.table(
        {
            "u": dice.permutation(rows),
            "k": [None if i > 7 else ["a", "b", "a", "elsewhere"][i % 4] for i in dice.integers(0, 9, rows)],
            "q": np.array(["p", "r"])[dice.integers(0, 2, rows)],
            "x": dice.integers(-40, 60, rows),
            "wide": dice.integers(0, 9, rows),
            "big": np.where(dice.random(rows) < 0.6, BIG, BIG + 2),
            "y": dice.random(rows) * 5,
            "yes": pa.array([None, True, True, False][i] for i in dice.integers(0, 4, rows)),
            "day": first,
            "at": first.cast(pa.timestamp("us")),
            "code": np.array([5, 2, 9, 7, 7, 7])[dice.integers(0, 6, rows) * (dice.random(rows) < 0.8)],
            "many": dice.integers(0, 9, rows),
        }
    )


def most_frequent(values: list[Any]) -> Any:
    (value, first), *others = Counter(value for value in values if value is not None).most_common(2)
    assert all(first > count for _, count in others), "the truth is a tie"
    return value


def test_next_to_no_noise_gives_the_most_frequent_value() -> None:
    table = table_of(4_001)
    query = (
        "SELECT q, MODE(k) AS k, MODE(x) AS x, MODE(big) AS big, MODE(yes) AS yes, MODE(day) AS day, "
        "MODE(code) AS code, MODE(k) FILTER (WHERE y > 4 AND k <> 'a') AS other, "
        "MODE(DATE_TRUNC('month', at)) AS month, COUNT(*) AS n FROM t GROUP BY q"
    )
    with dp.connect({"t": table}, policy_of()) as session:
        release = session.sql(query, dp.approx(10**6, "0.01"))
    rows = table.to_pylist()
    for row in release.to_arrow().to_pylist():
        mine = [each for each in rows if each["q"] == row["q"]]
        assert row["k"] == most_frequent([each["k"] for each in mine if each["k"] != "elsewhere"])
        assert row["x"] == most_frequent([min(max(each["x"], 0), 12) for each in mine])
        assert row["big"] == most_frequent([each["big"] for each in mine]) == BIG
        assert row["yes"] is most_frequent([each["yes"] for each in mine])
        clamped = [min(max(each["day"], dt.date(2024, 1, 30)), dt.date(2024, 3, 2)) for each in mine]
        assert row["day"] == most_frequent(clamped)
        assert row["code"] == most_frequent([each["code"] for each in mine if each["code"] != 7])
        assert row["other"] == "b"
        assert row["month"] == dt.datetime.fromisoformat("2024-02-01")
        assert row["n"] == len(mine)


def test_groups_without_rows_answer_with_any_value() -> None:
    """60 draws of three values miss one of them with a probability below 1e-10."""
    table = table_of(50)
    with dp.connect({"t": table}, policy_of()) as session:
        seen = {
            session.sql(f"SELECT MODE(k) AS m FROM t WHERE y > {1000 + i}", dp.pure(1)).to_arrow()["m"][0].as_py()
            for i in range(60)
        }
    assert seen == {"a", "b", "it's"}


def test_a_tie_is_decided_by_chance() -> None:
    """40 draws of two values with equal counts are all the same with a probability below 1e-11."""
    table = pa.table({"u": range(40), "x": [3, 9] * 20})
    with dp.connect({"t": table}, policy_of(columns={"x": COLUMNS["x"]})) as session:
        spends = [dp.pure(10**4 + i) for i in range(40)]
        seen = {session.sql("SELECT MODE(x) AS m FROM t", spend).to_arrow()["m"][0].as_py() for spend in spends}
    assert seen == {3, 9}


def test_a_mode_can_be_compared_sorted_by_and_computed_with() -> None:
    table = table_of(3_000)
    refused = "SELECT q, MODE(k) + 1 AS nothing FROM t GROUP BY q"
    query = (
        "SELECT q, MODE(x) + 1 AS next, MODE(day) - MIN(day) AS days, "
        "CASE WHEN MODE(k) IN ('a') THEN 1 ELSE 0 END AS c FROM t GROUP BY q "
        "HAVING MODE(k) LIKE 'a%' AND NOT MODE(yes) = FALSE ORDER BY MODE(yes), MODE(k), q DESC"
    )
    with dp.connect({"t": table}, policy_of()) as session:
        with pytest.raises(QueryError, match="not a number"):
            session.plan(refused)
        release = session.sql(query, dp.approx(10**6, "0.01"))
    rows = release.to_arrow().to_pylist()
    assert [row["q"] for row in rows] == ["r", "p"]
    assert all(row["next"] in (1.0, 13.0) and row["c"] == 1.0 and 0 <= row["days"] <= 32 for row in rows)
    for name in release.noisy:
        assert np.isnan(release.error(name)).all()


def test_what_a_release_says_of_a_mode() -> None:
    query = "SELECT yes, MODE(k) AS m, MODE(yes) AS v, MODE(x) AS x, COUNT(*) AS n FROM t GROUP BY yes"
    with dp.connect({"t": table_of(500)}, policy_of()) as session:
        plan, release = session.plan(query, dp.pure(3)), session.sql(query, dp.pure(3))
        alone = session.sql("SELECT MODE(k) AS m FROM t", dp.pure(3))
    assert release.noisy == ("m", "v", "x", "n")
    assert release.answer.numbers == ("x", "n")
    assert [plan.error(name) is None for name in plan.noisy] == [True, True, True, False]
    assert [plan.rank_error(name) for name in plan.noisy] == [None] * 4
    assert [release.rank_error(name) for name in ("m", "v", "x")] == [None] * 3
    told = plan.explain()
    assert plan.levels[0].noise is not None
    modes = [each for each in plan.levels[0].noise.quantiles if isinstance(each, ModeNoise)]
    rows = max(each.count_error() for each in modes)
    assert f"at most {modes[0].count_error():,.4g} rows rarer than the most frequent value" in told
    assert 'MODE("k"): one of 3 public values' in told
    assert "permute-and-flip" in str(plan)
    assert f"{modes[0].count_error():,.4g} rows rarer at most" in str(plan)
    (footnote,) = [line for line in release.footnotes() if "picked with noise" in line]
    assert footnote == (
        f"m, v, x: picked with noise from public values; a more frequent one has at most {rows:,.4g} rows more (95 %)"
    )
    assert "nan" not in repr(release) and "nan" not in release._repr_html_()
    assert {cell for row in release.cells() for cell in row[2:3]} <= {"True", "False"}
    both = release.to_arrow(errors=True)
    assert both.column("m_low").null_count == both.column("x_high").null_count == release.shown_rows
    assert both.schema.field("m_low").type == pa.string()
    assert release.to_dict()["errors"]["m"] == [None] * 3
    assert json.dumps(release.to_dict())
    assert release.to_vega_lite()["title"]["text"] == "Most frequent x, number of rows by yes"
    with pytest.raises(dp.ParameterError, match="nothing to draw"):
        alone.to_vega_lite()
    stored = Release.from_bytes(release.to_bytes())
    assert stored.to_arrow() == release.to_arrow()
    assert np.isnan(stored.error("m")).all()
    with pytest.raises(dp.ParameterError, match="quantile or a mode"):
        plan.spend_for(error={"m": 1})


@pytest.mark.parametrize("currency", SPENDS)
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_a_certificate_of_less_noise_is_not_followed(currency: str, relation: str) -> None:
    with dp.connect({"t": table_of(60)}, policy_of(relation)) as session:
        spend = SPENDS[currency] if currency in ("pure", "approx") else dp.pure(1)
        release = session.sql("SELECT k, MODE(x) AS m, COUNT(*) AS n FROM t GROUP BY k", spend)
    told = json.loads(json.dumps(dict(release.certificate)))
    assert verify_loss(told) is None
    (mode,) = told["levels"][0]["quantiles"]
    assert (mode["mechanism"], mode["values"]) == ("PermuteAndFlip", 13)
    changes = {
        "row_epsilon": str(Fraction(mode["row_epsilon"]) * 2),
        "row_moves": 1,
        "mechanism": "ReportNoisyMax",
        "values": 0,
        "count_error": {},
        "more": 1,
    }
    for name, value in changes.items():
        other = copy.deepcopy(told)
        other["levels"][0]["quantiles"][0][name] = value
        if name == "count_error":
            del other["levels"][0]["quantiles"][0][name]
        with pytest.raises(LedgerError):
            verify_loss(other)
    other = copy.deepcopy(told)
    other["levels"][0]["quantiles"] = [None]
    with pytest.raises(LedgerError):
        verify_loss(other)


def test_a_case_of_a_quantile_alone_has_no_error_and_fails_nothing() -> None:
    with dp.connect({"t": table_of(60)}, policy_of()) as session:
        release = session.sql("SELECT CASE WHEN MEDIAN(x) > 3 THEN 1 ELSE 0 END AS c FROM t", dp.pure(1))
    assert np.isnan(release.error("c")).all()
    assert "rank" in release.note() or release.cells()


def test_the_bias_of_a_mode_is_that_of_its_columns() -> None:
    with dp.connect({"t": table_of(300)}, policy_of()) as session:
        release = session.sql("SELECT MODE(x) AS m, MODE(k) AS k FROM t", dp.pure(10**6), bias=True)
    assert {each.what for each in release.bias("m")} >= {"rows with x above 12", "rows with x below 0"}


def test_windows_over_modes_and_dates_have_noise_and_no_error_bar() -> None:
    query = (
        "SELECT yes, FIRST_VALUE(MODE(k)) OVER (ORDER BY yes) AS f, LAG(MAX(day)) OVER (ORDER BY yes) AS d, "
        "FIRST_VALUE(yes) OVER (ORDER BY MODE(k)) AS v, MAX(MODE(x)) OVER () AS x, "
        "LAG(yes) OVER (ORDER BY yes) AS free FROM t GROUP BY yes"
    )
    with dp.connect({"t": table_of(300)}, policy_of()) as session:
        plan, release = session.plan(query, dp.pure(10)), session.sql(query, dp.pure(10))
    assert plan.noisy == release.noisy == ("f", "d", "v", "x")
    for name in release.noisy:
        assert np.isnan(release.error(name)).all()
        assert plan.error(name) is plan.rank_error(name) is None
    assert plan.explain().count("no error bar: a window over rows with noise") == 4
    assert Release.from_bytes(release.to_bytes()).to_arrow() == release.to_arrow()
    assert release.to_arrow(errors=True).column("f_low").null_count == 3
