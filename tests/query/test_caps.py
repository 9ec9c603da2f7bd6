"""Caps that a query chooses: the counts that choose them, what they cost, what is said of them, and what is refused."""

from __future__ import annotations

import itertools
from collections import Counter
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.engines.duckdb import DuckDB
from discreet.errors import LedgerError, ParameterError, PolicyError, QueryError
from discreet.ledger import open_ledger
from discreet.mechanisms import Gaussian
from discreet.policy import Policy, load_policy
from discreet.privacy import Relation, budget_of
from discreet.query import Group, Plan, Release, draw, make_plan, with_chosen_cap
from discreet.query.caps._choice import SHARE, CapChoice
from discreet.release import verify_loss
from discreet.sensitivity import Norms, caps_up_to

COLUMNS: dict[str, Any] = {
    "x": {"type": "int", "bounds": [0, 9]},
    "k": {"type": "string", "keys": ["a", "b"]},
    "q": {"type": "string"},
}
SURE = dp.pure(10**6)
SPENDS = [dp.pure(1), dp.approx(1, "1e-6"), dp.rho("0.1"), dp.rho("0.1", "1e-6"), dp.mu(1), dp.mu(1, "1e-6")]


def policy(max_rows: int | str = "auto", relation: Relation = "add_remove", **table: Any) -> Policy:
    budget = {"epsilon": 10**9, "delta": "0.5"}
    people = {"unit": "u", "max_rows": 1, "columns": {"age": {"type": "int", "bounds": [0, 99]}}}
    tables = {"t": {"unit": "u", "max_rows": max_rows, "columns": COLUMNS, **table}, "people": people}
    return load_policy({"version": "1", "relation": relation, "budget": budget, "tables": tables})


def rows_of(people: dict[int, int]) -> dict[str, pa.Table]:
    """So many rows of each person, of whom every other is older."""
    u = [person for person, rows in people.items() for _ in range(rows)]
    n = range(len(u))
    rows = pa.table(
        {"u": pa.array(u, pa.int64()), "x": [i % 10 for i in n], "k": ["ab"[i % 2] for i in n], "q": ["c"] * len(u)}
    )
    ages = pa.table({"u": pa.array(people, pa.int64()), "age": [30 + 40 * (each % 2) for each in people]})
    return {"t": rows, "people": ages}


def counted(tables: dict[str, pa.Table], query: str, facts: Policy, spend: dp.Loss | None = None) -> dict[int, int]:
    """The exact counts of people by the cap that all their rows fit."""
    plan = make_plan(query, facts, spend)
    assert plan.cap is not None
    with closing(DuckDB(tables, facts)) as engine:
        groups = engine.run(plan.cap.level.bounded, bytes(16))
    return {int(group.key[0] or 0): group.sums[0] for group in groups if group.sums[0]}


def least_cap(rows: int) -> int:
    return next((cap for cap in caps_up_to(2**14, 4) if cap >= rows), 2**14)


@pytest.mark.parametrize("most", [1, 2, 3, 5, 64, 100, 2**14])
def test_caps_rise_by_a_fifth_or_by_one_to_the_largest(most: int) -> None:
    caps = caps_up_to(most, 4)
    assert caps[0] == 1 and caps[-1] == most and list(caps) == sorted(set(caps))
    assert all(b - a <= max(1, 0.25 * a) for a, b in itertools.pairwise(caps))


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.integers(0, 50), st.integers(1, 70), max_size=12))
def test_people_are_counted_once_by_how_many_rows_they_have(people: dict[int, int]) -> None:
    facts, tables = policy(), rows_of(people)
    assert counted(tables, "SELECT SUM(x) AS s FROM t", facts) == Counter(map(least_cap, people.values()))


def test_what_is_counted_is_what_the_query_reads() -> None:
    """Rows where WHERE holds, and those of a join, each once."""
    tables = rows_of({1: 4, 2: 12, 3: 40})
    x, u = tables["t"]["x"].to_pylist(), tables["t"]["u"].to_pylist()
    where = Counter(person for person, value in zip(u, x, strict=True) if value > 4)
    assert counted(tables, "SELECT COUNT(*) AS n FROM t WHERE x > 4", policy()) == Counter(
        map(least_cap, where.values())
    )
    joined = "SELECT COUNT(*) AS n FROM t JOIN people USING (u) WHERE age > 50"
    assert counted(tables, joined, policy()) == {4: 1, least_cap(40): 1}
    none = "SELECT COUNT(*) AS n FROM t WHERE x > 10 AND x < 5"
    assert counted(tables, none, policy()) == {}


def test_who_has_more_rows_than_any_cap_is_counted_with_the_largest() -> None:
    assert counted(rows_of({1: 20_000}), "SELECT COUNT(*) AS n FROM t", policy()) == {2**14: 1}


@pytest.mark.parametrize(("relation", "norms"), [("add_remove", Norms(1, 1, 1)), ("substitute", Norms(2, 2, 1))])
@settings(max_examples=10, deadline=None)
@given(
    others=st.dictionaries(st.integers(1, 9), st.integers(1, 30), max_size=5),
    mine=st.tuples(st.integers(0, 40), st.integers(1, 40)),
)
def test_one_person_moves_the_counts_no_further_than_planned(
    relation: Relation, norms: Norms, others: dict[int, int], mine: tuple[int, int]
) -> None:
    facts, query = policy(relation=relation), "SELECT COUNT(*) AS n FROM t WHERE x < 8"
    plan = make_plan(query, facts)
    assert plan.cap is not None and plan.cap.level.norms == (norms,)
    before = mine[0] if relation == "substitute" else 0
    one, other = (counted(rows_of({**others, 0: rows} if rows else others), query, facts) for rows in (before, mine[1]))
    moved = [abs(one.get(cap, 0) - other.get(cap, 0)) for cap in {*one, *other}]
    assert sum(moved) <= norms.l1 and max(moved, default=0) <= norms.linf


def choice(plan: Plan, people: dict[int, int]) -> CapChoice:
    assert plan.cap is not None
    groups = [Group((cap,), 0, (people.get(cap, 0),)) for cap in plan.cap.caps]
    return plan.cap.choose(groups, plan.levels)


def test_with_ample_spend_nobody_is_cut() -> None:
    plan = make_plan("SELECT COUNT(*) AS n FROM t", policy(), SURE)
    assert choice(plan, {1: 5, 8: 1, 1024: 1}).chosen == 1024
    assert choice(plan, {}).chosen == 1


def test_few_people_are_cut_and_many_are_not() -> None:
    """The handicap of a step is 15 people at ε = 1, of which the counts have 0.15."""
    plan = make_plan("SELECT COUNT(*) AS n FROM t", policy(), dp.pure(1))
    assert choice(plan, {1: 100, 2: 14}).chosen == 1
    assert choice(plan, {1: 100, 2: 16}).chosen == 2
    assert choice(plan, {1: 100, 4: 44}).chosen == 1
    assert choice(plan, {1: 100, 4: 46}).chosen == 4


def test_where_all_columns_are_ratios_rows_that_are_cut_weigh_less() -> None:
    """Of an average, whose sum has noise of 5 values at the bound, a step is worth more than fifty people."""
    ratios = ["AVG(x)", "SUM(x) / COUNT(*)", "MEDIAN(x)", "ROUND(STDDEV(x), 3)", "CORR(x, 9 - x)"]
    plans = [make_plan(f"SELECT {each} AS v FROM t", policy(), dp.pure(1)) for each in ratios]
    assert all(plan.cap is not None and plan.cap.ratios for plan in plans)
    for each in ("COUNT(*)", "SUM(x)", "AVG(x) AS a, COUNT(*)", "COUNT(DISTINCT x)", "SQRT(COUNT(*))"):
        plan = make_plan(f"SELECT {each} AS v FROM t", policy(), dp.pure(1))
        assert plan.cap is not None and not plan.cap.ratios
    people = {1: 100, 2: 20}
    assert choice(plans[0], people).chosen == 1
    assert choice(make_plan("SELECT SUM(x) AS s FROM t", policy(), dp.pure(1)), people).chosen == 2


def test_where_the_answer_has_much_noise_a_step_is_worth_more_people() -> None:
    groups = ", ".join(f"'{i}'" for i in range(100))
    columns = {**COLUMNS, "k": {"type": "string", "keys": [str(i) for i in range(100)]}}
    plan = make_plan("SELECT k, COUNT(*) AS n FROM t GROUP BY k", policy(columns=columns), dp.pure(1))
    assert choice(plan, {1: 100, 2: 100}).chosen == 1
    assert choice(plan, {1: 100, 2: 130}).chosen == 2
    few = make_plan(
        f"SELECT k, COUNT(*) AS n FROM t WHERE k NOT IN ({groups[:-5]}) GROUP BY k", policy(columns=columns), dp.pure(1)
    )
    assert choice(few, {1: 100, 2: 20}).chosen == 2


@pytest.mark.parametrize("spend", SPENDS, ids=repr)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT COUNT(*) AS n, AVG(x) AS a FROM t",
        "SELECT k, SUM(x) AS s FROM t GROUP BY k",
        "SELECT k, COUNT(*) AS n FROM t GROUP BY ROLLUP (k)",
        "SELECT MEDIAN(x) AS m, COUNT(DISTINCT x) AS d FROM t",
        "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n DESC LIMIT 1",
    ],
)
def test_under_every_cap_the_query_costs_what_was_planned(query: str, spend: dp.Loss) -> None:
    """What a certificate states adds up to no more than the charge, which is the same for every cap."""
    plan = make_plan(query, policy(), spend)
    assert plan.cap is not None and plan.loss is not None and plan.loss.fits(spend)
    for cap in (*plan.cap.caps[:6], 100, plan.cap.caps[plan.cap.affordable - 1]):
        chosen = replace(plan.cap, chosen=cap, people=(0,) * len(plan.cap.caps))
        capped = with_chosen_cap(plan, chosen)
        assert capped.loss == plan.loss
        assert all(level.bounded.max_rows == cap for level in capped.levels)


@pytest.mark.parametrize("spend", SPENDS, ids=repr)
def test_an_answer_is_paid_verified_and_free_when_asked_again(spend: dp.Loss) -> None:
    name, _ = budget_of(spend)
    budget = {
        "pure": dp.approx(50, "0.1"),
        "approx": dp.approx(50, "0.1"),
        "rho": dp.rho(50, "0.1"),
        "mu": dp.mu(50, "0.1"),
    }
    query = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"
    with (
        open_ledger(None, budget[name]) as ledger,
        dp.connect(
            rows_of(dict.fromkeys(range(300), 5)), policy().model_copy(update={"budget": None}), ledger
        ) as session,
    ):
        plan = session.plan(query, spend)
        release = session.sql(query, spend)
        spent = session.spent
        assert session.sql(query, spend).to_bytes() == release.to_bytes()
        assert session.spent == spent
    assert release.loss == plan.loss
    verify_loss(dict(release.certificate))
    assert release.certificate["cap"]["chosen"] in caps_up_to(2**14, 4)
    assert release.certificate["levels"][0]["rows_per_unit"] == release.certificate["cap"]["chosen"]


@pytest.mark.parametrize(
    "spend",
    [2 * dp.approx(2, "5e-7"), dp.approx(2, "1e-6") + dp.pure(2), dp.approx(4, "1e-6")],
    ids=["twice", "sum", "plain"],
)
def test_a_spend_of_several_parts_is_charged_with_its_delta(spend: dp.Loss) -> None:
    """Under a cap of 1 the noise of this query takes no δ, and under larger ones it does."""
    columns = {"k": {"type": "int", "bounds": [0, 99]}}
    query = "SELECT k, COUNT(DISTINCT u) AS n FROM t GROUP BY k"
    plan = make_plan(query, policy(columns=columns), spend)
    assert plan.cap is not None and plan.loss == dp.approx(4, "1e-6")
    capped = with_chosen_cap(plan, replace(plan.cap, chosen=64, people=(0,) * len(plan.cap.caps)))
    assert isinstance(capped.levels[0].noise and capped.levels[0].noise.mechanisms[0], Gaussian)
    assert capped.loss == plan.loss


def test_where_no_noise_fits_the_cap_the_next_smaller_one_takes_its_place() -> None:
    """Gaussian noise takes half of the δ, so that the caps under which keys can be discovered are no interval."""
    query = "SELECT q, COUNT(DISTINCT u) AS n, SUM(x) AS s FROM t GROUP BY q"
    plan = make_plan(query, policy(), dp.approx("0.003", "1e-12"))
    assert plan.cap is not None
    cap = plan.cap
    taken = {each: with_chosen_cap(plan, replace(cap, chosen=each)).cap for each in cap.caps[: cap.affordable]}
    under = {each: chosen.chosen for each, chosen in taken.items() if chosen is not None and chosen.chosen}
    assert all(chosen <= each for each, chosen in under.items()) and under[1] == 1
    assert any(chosen < each for each, chosen in under.items())


def test_a_certificate_that_leaves_the_choice_out_is_refused() -> None:
    with dp.connect(rows_of({1: 3}), policy()) as session:
        stated = dict(session.sql("SELECT COUNT(*) AS n FROM t", dp.pure(1)).certificate)
    assert verify_loss(stated) is None
    odd = {**stated, "cap": {**stated["cap"], "more": 1}}
    level = stated["cap"]["level"]
    for changed in (
        {"chosen": 16_384},
        {"chosen": "x"},
        {"caps": [1, 2]},
        {"level": {**level, "groups": 3}},
        {"level": {**level, "rows_per_unit": 2}},
    ):
        with pytest.raises(LedgerError):
            verify_loss({**stated, "cap": {**stated["cap"], **changed}})
    with pytest.raises(LedgerError, match="more"):
        verify_loss(odd)
    noisy = stated["cap"]["level"]["measures"][0]
    louder = {
        **stated,
        "cap": {**stated["cap"], "level": {**stated["cap"]["level"], "measures": [{**noisy, "scale": "1"}]}},
    }
    with pytest.raises(LedgerError, match="the choice of the cap"):
        verify_loss(louder)


def test_an_answer_says_how_many_rows_count_and_what_was_cut() -> None:
    people = {**dict.fromkeys(range(1000), 2), **dict.fromkeys(range(1000, 1040), 7)}
    with dp.connect(rows_of(people), policy()) as session:
        release = session.sql("SELECT COUNT(*) AS n FROM t", dp.pure(1000))
        again = Release.from_bytes(release.to_bytes())
    chosen = release.certificate["cap"]["chosen"]
    assert chosen == 7
    who, rows = release.bias("n")
    assert who.what == "people with 8 to 27 rows, of which 7 count" and who.at_least and rows.at_least
    assert abs(who.estimate) <= 3 * who.error and "rows beyond the cap" in rows.what
    assert again.bias("n") == release.bias("n")
    assert any("at most 7 rows count" in line for line in release.footnotes())


def test_estimates_of_what_is_cut_are_unbiased_and_within_their_bars() -> None:
    """40 people with 5 rows each are cut to 2: of 400 draws of 95 % bars no more than 41 may miss (at 1e-6)."""
    plan = make_plan("SELECT COUNT(*) AS n FROM t", policy(), dp.pure(1))
    assert plan.cap is not None and plan.cap.level.noise is not None
    people = [Group((cap,), 0, ({2: 500, 5: 40}.get(cap, 0),)) for cap in plan.cap.caps]
    missed = [0, 0]
    for _ in range(400):
        noisy = draw(people, plan.cap.level.bounded, plan.cap.level.noise)
        cut = replace(plan.cap, chosen=2, people=tuple(group.sums[0] for group in noisy)).cut()
        for i, (truth, (_, value, half, _)) in enumerate(zip((40, 40 * 3), cut, strict=True)):
            missed[i] += abs(value - truth) > half
    assert max(missed) <= 41


def test_errors_are_known_once_a_cap_is_assumed() -> None:
    query, spend = "SELECT COUNT(*) AS n FROM t", dp.pure(1)
    with dp.connect(rows_of({1: 3}), policy()) as session:
        plan, supposed = session.plan(query, spend), session.plan(query, spend, assume={"max_rows": 8})
        assert plan.error("n") is None
        assert "depends on the cap" in plan.explain() and "depends on the cap" in str(plan)
        assert "one of 1, 2, 3, 4, …, 16,384" in plan.explain()
        assert supposed.error("n") == session_error(8, 1 - SHARE)
        assert supposed.hash(policy()) == plan.hash(policy())
        with pytest.raises(ParameterError, match="max_rows"):
            plan.spend_for({"n": 100})
        assert supposed.spend_for({"n": 100}).fits(dp.pure(1))
        after = session.plan(query, spend, assume=session.sql(query, spend))
        assert after.error("n") is not None


def session_error(cap: int, share: Any) -> float | None:
    return make_plan("SELECT COUNT(*) AS n FROM t", policy(cap), dp.pure(share)).error("n")


@pytest.mark.parametrize("assume", [{"max_rows": 0}, {"max_rows": True}, {"max_row": 3}, {"max_rows": 2.0}, 3])
def test_what_is_no_assumption_is_refused(assume: Any) -> None:
    with dp.connect(rows_of({1: 3}), policy()) as session, pytest.raises(ParameterError, match="assume"):
        session.plan("SELECT COUNT(*) AS n FROM t", dp.pure(1), assume=assume)


def test_a_cap_is_assumed_only_where_one_is_chosen() -> None:
    with dp.connect(rows_of({1: 3}), policy(3)) as session, pytest.raises(ParameterError, match="numbers"):
        session.plan("SELECT COUNT(*) AS n FROM t", dp.pure(1), assume={"max_rows": 3})


def test_a_query_of_tables_with_numbers_is_what_it_was() -> None:
    """The policy leaves one table's cap to its queries; others cost and answer as before."""
    plan, bare = (make_plan("SELECT COUNT(*) AS n FROM people", policy(cap), dp.pure(1)) for cap in ("auto", 3))
    assert plan.cap is None
    assert plan.levels == bare.levels and plan.loss == bare.loss


def test_sub_queries_with_a_row_for_each_person_need_no_cap() -> None:
    each = "SELECT SUM(LEAST(n, 20)) AS s FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u)"
    assert make_plan(each, policy(), dp.pure(1)).cap is None


def test_groups_of_one_person_are_capped_with_the_rows() -> None:
    plan = make_plan("SELECT k, COUNT(*) AS n FROM t GROUP BY k", policy(max_groups=2), dp.pure(1))
    assert plan.cap is not None
    assert [level.bounded.max_groups for cap in (1, 2, 3) for level in plan.cap.at(cap, plan.unit)] == [None, None, 2]


def test_private_keys_are_discovered_under_a_cap_that_the_spend_affords() -> None:
    query, spend = "SELECT q, COUNT(*) AS n FROM t GROUP BY q", dp.approx("0.01", "1e-9")
    plan = make_plan(query, policy(), spend)
    assert plan.cap is not None and 1 < plan.cap.affordable < len(plan.cap.caps)
    last = plan.cap.caps[plan.cap.affordable - 1]
    assert f"…, {last:,}, chosen" in plan.explain()
    with dp.connect(rows_of(dict.fromkeys(range(2_000), 3)), policy()) as session:
        assert session.sql(query, dp.approx(5, "1e-6")).to_arrow().column("q").to_pylist() == ["c"]


def test_joins_that_multiply_rows_choose_among_caps_that_fit() -> None:
    """Pairs of rows of one person are many more than rows."""
    query = "SELECT COUNT(*) AS n FROM t AS a JOIN t AS b ON a.u = b.u AND a.k = b.k"
    plan = make_plan(query, policy(), dp.pure(1))
    assert plan.cap is not None and plan.cap.caps[-1] in {2**power for power in (6, 8, 10, 12)}


def test_bias_is_for_caps_that_are_numbers() -> None:
    with dp.connect(rows_of({1: 3}), policy()) as session, pytest.raises(QueryError, match="write a number"):
        session.plan("SELECT SUM(x) AS s FROM t", dp.pure(1), bias=True)


def test_what_is_no_query_in_sql_needs_a_number() -> None:
    with dp.connect(rows_of({1: 3}), policy()) as session:
        with pytest.raises(QueryError, match="write a number"):
            session.records("SELECT x FROM t")
        with pytest.raises(QueryError, match="write a number"):
            session.suggest("t", "x", dp.pure(1))
        assert session.spent.epsilon(0) == 0


@pytest.mark.parametrize("cap", ["all", "AUTO", "", 0, -1, 1.5, True, 10**7])
def test_other_words_and_numbers_are_no_caps(cap: Any) -> None:
    with pytest.raises(PolicyError, match="max_rows"):
        policy(cap)


@pytest.mark.parametrize("unit", ["rows"])
def test_where_every_row_is_a_person_there_is_no_cap_to_choose(unit: str) -> None:
    with pytest.raises(PolicyError, match="max_rows"):
        policy(unit=unit)


def test_the_cap_does_not_hang_on_who_has_many_more_rows_than_all_others() -> None:
    """Of 30 answers, at ε = 1, all choose a cap near what a thousand people have, and none what one person has."""
    people = {**dict.fromkeys(range(1000), 4), 2000: 5000}
    plan = make_plan("SELECT COUNT(*) AS n FROM t", policy(), dp.pure(1))
    assert plan.cap is not None and plan.cap.level.noise is not None
    exact = [Group((cap,), 0, (Counter(map(least_cap, people.values()))[cap],)) for cap in plan.cap.caps]
    chosen = [
        plan.cap.choose(draw(exact, plan.cap.level.bounded, plan.cap.level.noise), plan.levels).chosen
        for _ in range(30)
    ]
    assert np.median([each or 0 for each in chosen]) <= 6
    assert min(each or 0 for each in chosen) >= 4
