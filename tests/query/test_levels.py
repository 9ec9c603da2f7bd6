"""Several grouping sets: each is answered, and paid for, as the plain query of that set would be."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.audit import loss_between
from discreet.audit import query as audited
from discreet.engines.duckdb import DuckDB
from discreet.ledger import open_ledger
from discreet.policy import load_policy
from discreet.privacy import Loss, MuLoss, RhoLoss
from discreet.query import Plan, make_plan
from discreet.query._checked_query import FORMAT
from discreet.session import Session

pytestmark = pytest.mark.usefixtures("one_database")

POLICY = load_policy(
    {
        "version": "1",
        "budget": {"epsilon": 10**15, "delta": "0.99"},
        "tables": {
            "t": {
                "unit": "u",
                "max_rows": 6,
                "max_groups": 2,
                "columns": {
                    "a": {"type": "string"},
                    "b": {"type": "string", "keys": ["p", "q"]},
                    "k": {"type": "int"},
                    "i": {"type": "int", "keys": [1, 2, 5], "nullable": False},
                    "x": {"type": "int", "bounds": [0, 9]},
                    "y": {"type": "float", "bounds": [-1, 4]},
                },
            },
            "r": {
                "unit": "rows",
                "columns": {
                    "a": {"type": "string"},
                    "b": {"type": "string", "keys": ["p", "q"]},
                    "k": {"type": "int"},
                    "x": {"type": "int", "bounds": [0, 9]},
                },
            },
        },
    }
)
SETS = {
    "ROLLUP (a, b)": ["a, b", "a", ""],
    "CUBE (b, i)": ["b, i", "b", "i", ""],
    "k, ROLLUP (b, (a, i))": ["k, b, a, i", "k, b", "k"],
    "GROUPING SETS ((b, x % 3), k, ()), ROLLUP (i)": ["b, x % 3, i", "b, x % 3", "k, i", "k", "i", ""],
    "GROUPING SETS (CUBE (a), b, GROUPING SETS ((k, i)))": ["a", "", "b", "k, i"],
}
SPENDS: dict[str, Loss] = {
    "approx": dp.approx("0.7", "0.00001"),
    "rho": RhoLoss(Fraction(1, 7), Fraction(1, 10**6)),
    "mu": MuLoss(Fraction(2, 3), Fraction(1, 10**6)),
    "pure": dp.pure("0.3"),
}
MEASURED = "COUNT(*) AS n, SUM(x) AS s, AVG(y) AS v, MEDIAN(x) AS m, COUNT(DISTINCT u) AS d"


def _of(plan: Plan) -> Loss:
    assert plan.loss is not None
    return plan.loss


def _share(spend: Loss, levels: int, private: int, *, needed: bool) -> Loss:
    """By hand, what a level may spend."""
    kind, (main, *rest) = dp.privacy.budget_of(spend)
    delta = sum(rest, Fraction(0)) / private if needed else Fraction(0)
    made = {"pure": dp.privacy.ApproxLoss, "approx": dp.privacy.ApproxLoss, "rho": RhoLoss, "mu": MuLoss}[kind](
        main / levels, delta
    )
    return dp.privacy.PureLoss(main / levels) if kind in ("pure", "approx") and not delta else made


@pytest.mark.sampled(2)
@pytest.mark.parametrize("spend", SPENDS)
@pytest.mark.parametrize("written", SETS)
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_every_level_is_the_plain_plan_of_its_set_at_its_share(written: str, spend: str, relation: Any) -> None:
    policy = POLICY.model_copy(update={"relation": relation})
    plain = [f"SELECT {MEASURED} FROM t WHERE y > 0" + (f" GROUP BY {keys}" if keys else "") for keys in SETS[written]]
    private = [make_plan(text, policy).levels[0].bounded.count_units for text in plain]
    if spend == "pure" and any(private):
        with pytest.raises(dp.ParameterError, match="private keys, whose discovery needs a delta"):
            make_plan(f"SELECT {MEASURED} FROM t WHERE y > 0 GROUP BY {written}", policy, SPENDS[spend])
        return
    plan = make_plan(f"SELECT {MEASURED} FROM t WHERE y > 0 GROUP BY {written}", policy, SPENDS[spend])
    assert len(plan.levels) == len(plain)
    for level, text, needed in zip(plan.levels, plain, private, strict=True):
        share = _share(SPENDS[spend], len(plain), sum(private), needed=needed)
        (alone,) = make_plan(text, policy, share).levels
        assert (level.bounded, level.norms, level.noise) == (alone.bounded, alone.norms, alone.noise)


@pytest.mark.parametrize("name", SPENDS)
@pytest.mark.parametrize("written", ["CUBE (b, i)", "ROLLUP (b)", "ROLLUP (a, b)", "CUBE (a, b, k, i)"])
def test_the_levels_cost_the_spend_less_a_delta_that_nobody_needs(name: str, written: str) -> None:
    spend = SPENDS[name]
    private = "a" in written
    if private and name == "pure":
        return
    plan = make_plan(f"SELECT {MEASURED} FROM t GROUP BY {written}", POLICY, spend)
    whole = [level.noise.loss for level in plan.levels if level.noise is not None]
    total = whole[0]
    for loss in whole[1:]:
        total = total + loss
    kind, parts = dp.privacy.budget_of(total)
    expected = dp.privacy.budget_of(spend)
    if not private:
        expected = (expected[0].replace("approx", "pure"), expected[1][:1] + (Fraction(0),) * (len(parts) - 1))
    assert (kind, parts) == expected
    assert dp.privacy.budget_of(_of(plan)) == expected
    assert type(_of(plan)) in (dp.privacy.PureLoss, dp.privacy.ApproxLoss, RhoLoss, MuLoss)


def test_a_row_that_one_level_does_not_count_counts_in_the_others() -> None:
    """Null in a key that has none, as the policy says, and a key that is not among the public ones."""
    table = pa.table({
        "u": [1, 2, 3, 4], "a": ["w"] * 4, "b": ["p", "p", "zzz", None], "k": [7] * 4, "i": [1, None, 2, 5],
        "x": [1] * 4, "y": [1.0] * 4,
    })  # fmt: skip
    with _session(table) as session:
        found = rows_of(
            session.sql("SELECT b, i, COUNT(*) FROM t GROUP BY CUBE (b, i)", dp.approx(10**9, 1e-6)).to_arrow()
        )
    counts = {row[:2]: row[2] for row in found if row[2]}
    assert counts == {("p", 1): 1, ("p", None): 2, (None, 1): 1, (None, 2): 1, (None, 5): 1, (None, None): 4}
    assert [row[:2] for row in found] == [
        *itertools.product("pq", (1, 2, 5)),
        *((b, None) for b in "pq"),
        *((None, i) for i in (1, 2, 5)),
        (None, None),
    ]


def test_caps_hold_in_each_level_for_itself() -> None:
    """One person, 6 of 9 rows and 2 of 3 groups: the rest goes by levels."""
    table = pa.table({
        "u": [1] * 9, "a": list("uvw") * 3, "b": ["p"] * 9, "k": [7] * 9, "i": [1] * 9, "x": [1] * 9, "y": [1.0] * 9,
    })  # fmt: skip
    with _session(table) as session:
        query = "SELECT a, b, COUNT(*) AS n, GROUPING(a) AS g FROM t GROUP BY GROUPING SETS (a, b, ())"
        plan = session.plan(query, dp.approx(1, 1e-6))
        groups = [session._engine.run(level.bounded, bytes(16)) for level in plan.levels]
    assert [sum(group.sums[0] > 0 for group in each) for each in groups] == [2, 1, 1]
    assert [sum(group.sums[0] for group in each) for each in groups] == [4, 6, 6]
    assert [level.bounded.max_groups for level in plan.levels] == [2, 2, None]


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    dice = random.Random("levels")
    return pa.table({
        "a": pa.array([dice.choice(["x", "y", None]) for _ in range(900)]),
        "b": pa.array([dice.choice(["p", "q", "other", None]) for _ in range(900)]),
        "k": pa.array([dice.choice([1, 2, None]) for _ in range(900)], pa.int64()),
        "x": pa.array([dice.choice([0, 3, 9, 12, None]) for _ in range(900)], pa.int64()),
    })  # fmt: skip


@pytest.fixture(scope="module")
def session(rows: pa.Table) -> Iterator[Session]:
    empty = pa.table({name: pa.array([], pa.int64()) for name in "uabkixy"})
    with dp.connect({"r": rows, "t": empty}, POLICY) as opened:
        yield opened


@pytest.fixture(scope="module")
def plain(rows: pa.Table) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.register("r", rows)
        yield connection


def _element(dice: random.Random, depth: int = 0) -> str:
    keys = [dice.choice("abk") for _ in range(dice.randrange(1, 4))]
    parts = [key if dice.random() < 0.7 else f"({key}, {dice.choice('abk')})" for key in keys]
    kind = dice.choice(["plain", "ROLLUP", "CUBE", "GROUPING SETS", "GROUPING SETS"])
    if kind == "plain":
        return parts[0]
    if kind == "GROUPING SETS":
        parts += dice.choice([[], ["()"], [_element(dice, depth + 1)] if depth < 2 else []])
        dice.shuffle(parts)
    return f"{kind} ({', '.join(parts)})"


@pytest.mark.parametrize("seed", range(40))
def test_any_grouping_sets_are_those_of_duckdb(seed: int, session: Session, plain: duckdb.DuckDBPyConnection) -> None:
    """Or a set comes twice, which DuckDB's rows show."""
    dice = random.Random(f"grouping sets {seed}")
    by = ", ".join(_element(dice) for _ in range(dice.randrange(1, 3)))
    named = [name for name in "abk" if name in by.replace("CUBE", "").replace("ROLLUP", "")]
    spoken = ", ".join(f"GROUPING({name}) AS g{name}" for name in named)
    query = f"SELECT {', '.join(named)}, {spoken}, COUNT(*) AS n, SUM(x) AS s FROM r GROUP BY {by}"
    public = " HAVING (GROUPING(b) = 1 OR b IN ('p', 'q'))" if "b" in named else ""
    truth = plain.execute(query.replace("SUM(x)", "SUM(CASE WHEN x > 9 THEN 9 ELSE x END)") + public).fetchall()
    labels = Counter(row[:-2] for row in truth)
    if max(labels.values()) > 1:
        with pytest.raises(dp.QueryError, match="twice"):
            session.plan(query)
        return
    found = rows_of(session.sql(query, dp.approx(10**12, 1e-3)).to_arrow())
    assert Counter(found) == Counter(truth), query


def test_grouping_tells_a_null_key_from_a_key_that_is_not_there(session: Session) -> None:
    items = "a, GROUPING(a) AS g, GROUPING(k, a) AS h, COUNT(*) AS n"
    query = f"SELECT {items} FROM r GROUP BY ROLLUP (a), GROUPING SETS (k, ())"
    release = session.sql(query, dp.approx(10**12, 1e-3))
    table = release.to_arrow()
    assert release.noisy == ("n",)
    assert table.schema.field("g").type == pa.int64()
    nulls = {row[1:3] for row in rows_of(table) if row[0] is None}
    assert nulls == {(0, 0), (0, 2), (1, 1), (1, 3)}


def test_having_order_and_limit_are_over_all_levels(session: Session) -> None:
    query = (
        "SELECT b, k, COUNT(*) AS n FROM r GROUP BY CUBE (b, k) HAVING n > 100 OR GROUPING(b, k) = 1 "
        "ORDER BY GROUPING(b) + GROUPING(k) DESC, n DESC LIMIT 4"
    )
    table = session.sql(query, dp.approx(10**12, 1e-3)).to_arrow()
    found = rows_of(table)
    assert found[0] == (None, None, 900)
    assert [row[:2].count(None) for row in found] == [2, 1, 1, 1] or found[1][0] is None
    assert [row[2] for row in found[1:]] == sorted((row[2] for row in found[1:]), reverse=True)
    limited = rows_of(session.sql("SELECT b, COUNT(*) FROM r GROUP BY ROLLUP (b) LIMIT 2", dp.pure(10**9)).to_arrow())
    assert [row[0] for row in limited] == ["p", "q"]


@pytest.mark.parametrize(
    "spend", [dp.approx(1, "0.00001"), RhoLoss(Fraction(1, 3), Fraction(1, 10**5))], ids=["approx", "rho"]
)
def test_errors_are_those_of_the_plain_plans(spend: Loss, rows: pa.Table) -> None:
    """A level's noise is its own: the others' do not widen it, nor does it theirs."""
    items = "COUNT(*) AS n, SUM(x) AS s, COUNT(*) - 2 * SUM(x) AS w, AVG(x) AS v, MEDIAN(x) AS m"
    text = f"SELECT {items}, GROUPING(a, b) AS g FROM r GROUP BY CUBE (a, b)"
    tables = {"r": POLICY.tables["r"]}
    policy = POLICY.model_copy(update={"tables": tables, "budget": None})
    with Session(DuckDB({"r": rows}, policy), policy, open_ledger(None, spend)) as session:
        plan, release = session.plan(text, spend), session.sql(text, spend)
        g = np.asarray(release.to_arrow().column("g"))
        again = dp.Release.from_bytes(release.to_bytes())
        widest: dict[str, float] = {}
        for bits, keys, level in zip(range(4), ["a, b", "a", "b", ""], plan.levels, strict=True):
            share = _share(spend, 4, 2, needed=level.bounded.count_units)
            alone = session.plan(f"SELECT {items} FROM r" + (f" GROUP BY {keys}" if keys else ""), share)
            assert level.noise == alone.levels[0].noise
            for name in ("n", "s", "w"):
                half = alone.error(name)
                assert half is not None and half > 0
                assert release.error(name)[g == bits] == pytest.approx(half)
                widest[name] = max(widest.get(name, 0.0), half)
        for name in ("n", "s", "w"):
            assert plan.error(name) == pytest.approx(widest[name])
            assert not release.approximate(name)
        assert np.isnan(release.error("m")).all()
        assert (release.error("v") > 0).all() and release.approximate("v")
        for name in release.noisy:
            np.testing.assert_array_equal(again.error(name), release.error(name))


def test_a_planned_average_is_that_of_the_widest_level(session: Session) -> None:
    plan = replace(session.plan("SELECT AVG(x) AS v FROM r GROUP BY ROLLUP (b)", dp.pure(1)), rows=1000)
    halves = [
        replace(session.plan(f"SELECT AVG(x) AS v FROM r {by}", dp.pure("0.5")), rows=1000).error("v")
        for by in ("GROUP BY b", "")
    ]
    assert halves[0] is not None and halves[1] is not None and halves[0] > halves[1]
    assert plan.error("v") == pytest.approx(halves[0])


def test_one_reservation_before_anything_is_read_and_one_salt_for_all_levels(rows: pa.Table) -> None:
    seen: list[str | bytes] = []

    class Watched(DuckDB):
        def run(self, request: Any, salt: bytes) -> Any:
            seen.append(salt)
            return super().run(request, salt)

    policy = POLICY.model_copy(update={"tables": {"r": POLICY.tables["r"]}})
    ledger = open_ledger(None, dp.approx(10, "0.1"))
    reserve = ledger.reserve

    def reserved(*arguments: Any, **request: Any) -> Any:
        seen.append("reserve")
        return reserve(*arguments, **request)

    ledger.reserve = reserved  # type: ignore[method-assign]
    query, spend = "SELECT a, b, COUNT(*) AS n FROM r GROUP BY CUBE (a, b)", dp.approx(1, "0.001")
    with Session(Watched({"r": rows}, policy), policy, ledger) as session:
        first = session.sql(query, spend)
        second = session.sql("SELECT a, b, COUNT(1) n FROM r GROUP BY GROUPING SETS ((a, b), (a), b, ())", spend)
        assert session.spent == first.loss == spend
    assert seen[0] == seen.pop() == "reserve", "the second question is asked of the ledger alone"
    assert len(seen) == 5 and len(set(seen[1:])) == 1 and len(seen[1]) == 16
    assert second.to_arrow() == first.to_arrow()
    certificate = first.certificate
    assert [each["keys"] for each in certificate["levels"]] == [["a", "b"], ["a"], ["b"], []]
    assert [len(each["measures"]) for each in certificate["levels"]] == [1, 1, 1, 1]
    assert sum(each["key_discovery"] is not None for each in certificate["levels"]) == 2


def test_an_audit_asks_grouping_sets_as_it_does_others() -> None:
    policy = POLICY.model_copy(update={"tables": {"r": POLICY.tables["r"]}, "budget": None})
    crowd = {"a": ["x"] * 5, "b": ["p"] * 5, "k": [1] * 5, "x": [9] * 5}
    pair = [{"r": pa.table({name: values[n:] for name, values in crowd.items()})} for n in (0, 1)]
    rollup = audited("SELECT b, SUM(x) AS s FROM r GROUP BY ROLLUP (b)", policy, dp.pure(1), complete=1)
    assert loss_between(rollup, *pair) == dp.pure("1/2") + dp.pure("1/2")
    outputs = rollup.draw(pair[0], 6)
    assert all(set(output["rows"]) == {("p",), ("q",), (None,)} for output in outputs)
    assert len({str(output["values"]) for output in outputs}) > 1
    several = replace(rollup, copies=3).draw(pair[0], 6)
    assert all(output["rows"].keys() == outputs[0]["rows"].keys() for output in several)


PINNED = {
    "SELECT COUNT(*) FROM clinic": (None, "31db91a0c9441172651c273ece4148cf3bb44137d7ee42fb017a865f332b6ccc"),
    "SELECT plan, COUNT(*) AS n, SUM(cost) AS s FROM clinic GROUP BY plan HAVING n > 5 ORDER BY s DESC LIMIT 2": (
        dp.pure(1),
        "60db4d24e13060ee567b959dca339f138c5c614b58de75d5c100f39d3b8e1138",
    ),
    "SELECT city, AVG(dose) FROM clinic WHERE age BETWEEN 18 AND 65 GROUP BY city": (
        dp.approx(1, "0.000001"),
        "00a217b405c7632269779acb43273e37546e18a3cb961c57852a0351119266ce",
    ),
    "SELECT insured, MEDIAN(cost) AS m FROM clinic GROUP BY 1": (
        dp.rho("0.5", "0.000001"),
        "284fba691a13e16b67c8839991efdd3b46953e83cd39ff76587ed009e1ee9dbc",
    ),
    "SELECT DISTINCT city FROM clinic": (
        dp.approx("0.5", "0.000001"),
        "894029a3d15582df3c4f99fd83906ece5ba4d52410170974765e962b87efabff",
    ),
}


@pytest.mark.parametrize("query", PINNED)
def test_the_number_of_the_format_alone_makes_a_hash_another(
    query: str, clinic_policy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain query's plan was never hashed otherwise; since format 2 its spend is shared otherwise."""
    spend, digest = PINNED[query]
    policy = clinic_policy()
    plan = make_plan(query, policy, spend)
    assert FORMAT == 2
    assert plan.hash(policy) != digest
    monkeypatch.setattr("discreet.query._checked_query.FORMAT", 1)
    assert plan.hash(policy) == digest


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _session(table: pa.Table) -> Session:
    policy = POLICY.model_copy(update={"tables": {"t": POLICY.tables["t"]}})
    return dp.connect({"t": table}, policy)
