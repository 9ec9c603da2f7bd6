"""A query over releases: one charge, one entry, error bars of the numbers that it shows, and nothing left to fail."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from combined.conftest import shop_policy, shop_tables
from discreet.combined import CombinedPlan, CombinedRelease, PreparedCombined, Statement, _plan, _run
from discreet.combined._answer import CombinedAnswer
from discreet.combined._trace import EXACT, ROWS
from discreet.errors import LedgerError
from discreet.ledger import open_ledger
from discreet.privacy import budget_of
from discreet.release import parse_release_file, recompute_loss, verify_loss
from discreet.session import Session

BY_K = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"
UNION = f"{BY_K} UNION ALL SELECT 'all', COUNT(*) FROM t"
QUERIES = (
    UNION,
    f"{UNION} ORDER BY n DESC LIMIT 2",
    f"SELECT * FROM ({BY_K}) r JOIN (SELECT k, AVG(x) AS m FROM t GROUP BY k) s USING (k) WHERE n > m",
    f"SELECT r.k, n, label, size FROM labels l LEFT JOIN ({BY_K}) r ON r.k = l.k",
    f"WITH r(kind, many) AS ({BY_K}) SELECT x.kind, x.many, y.many AS other, x.many - y.many AS d FROM r x, r y",
    f"SELECT k, n FROM ({BY_K}) UNION ALL SELECT k, size FROM labels UNION ALL SELECT 'sum', SUM(n) FROM ({BY_K})",
    f"SELECT SUM(n) FILTER (WHERE k = 'a') AS a, MAX(n) FILTER (WHERE k < 'c') AS most FROM ({BY_K})",
    f"SELECT (SELECT COUNT(*) FROM t) AS n, (SELECT n FROM ({BY_K}) WHERE k = 'b') AS b",
    f"SELECT l.k, (SELECT n FROM ({BY_K}) r WHERE r.k = l.k) AS n FROM labels l",
    "SELECT m AS n, n AS m FROM (SELECT k, COUNT(*) AS n, SUM(x) AS m FROM t GROUP BY k LIMIT 3) WHERE n IS NOT NULL",
    "PIVOT (SELECT k, x > 4 AS high, x FROM t) ON k USING SUM(x) AS s, COUNT(*) AS n",
    f"SELECT (n) AS n, k FROM ((({BY_K} UNION ALL SELECT 'x', 1))) AS deep WHERE k <> 'c'",
    f"SELECT a.n FROM ({BY_K}) a SEMI JOIN labels USING (k)",
    "SELECT LOWER(k) AS l, COUNT(*) AS n, SUM(x) AS s, COUNT(*) + 1 AS m FROM t GROUP BY k HAVING k > '' ORDER BY l",
    "SELECT MIN(d) FILTER (WHERE k = 'a') AS first FROM (SELECT k, MIN(d) AS d FROM t GROUP BY k)",
)


def answer_of(release: dp.Release) -> CombinedAnswer:
    assert isinstance(release, CombinedRelease)
    assert isinstance(release.answer, CombinedAnswer)
    return release.answer


@pytest.mark.parametrize("query", QUERIES)
def test_a_value_with_a_bar_is_the_released_number_that_the_bar_is_of(query: str, session: Session) -> None:
    release = session.sql(query, dp.pure(1))
    answer, shown = answer_of(release), 0
    ends = [(part, name) for part in answer.parts for name in part.table.column_names]
    level = 0.95 if answer.picked is None else 1 - 0.05 * answer.picked
    for name, cells in answer.cells.items():
        values, halves = answer.table.column(name).to_pylist(), release.error(name)
        for value, cell, half in zip(values, cells.tolist(), halves.tolist(), strict=True):
            if cell == EXACT:
                assert half == 0
            elif cell >= 0:
                part, column = ends[cell // ROWS]
                assert part.table.column(column)[cell % ROWS].as_py() == value
                assert half == part.error(column, level)[cell % ROWS] or np.isnan(half)
                shown += 1
            else:
                assert np.isnan(half)
    assert shown


@pytest.mark.parametrize("query", QUERIES)
def test_it_is_charged_once_stored_and_verified(query: str, session: Session) -> None:
    spend = dp.pure("0.75")
    before = session.spent.epsilon(0)
    release = session.sql(query, spend)
    charged = session.spent
    assert charged.epsilon(0) == before + 0.75
    assert session.sql(query, spend).to_bytes() == release.to_bytes()
    assert session.spent == charged
    assert verify_loss(release.certificate) is None
    assert recompute_loss(release.certificate).fits(release.loss)
    again = CombinedRelease.from_bytes(release.to_bytes())
    assert again.to_arrow(errors=True).equals(release.to_arrow(errors=True))
    assert repr(again) == repr(release)
    for payload in (release.to_bytes(), release.to_json().encode()):
        assert parse_release_file(payload).digests.items() <= release.certificate.items()
    if release.answer.numbers:
        release.to_vega_lite()
    assert sum((each.loss for each in again.parts[1:]), again.parts[0].loss).fits(release.loss)


def test_parts_share_the_spend_evenly_and_the_same_release_is_one(session: Session) -> None:
    plan = session.plan(f"{BY_K} UNION ALL SELECT 'all', COUNT(*) FROM t UNION ALL {BY_K}", dp.pure(1))
    assert isinstance(plan, CombinedPlan)
    assert [part.loss for part in plan.parts] == [dp.pure("1/2")] * 2
    assert plan.loss == dp.pure(1)
    assert plan.error("n") == max(part.error(name) or 0 for part, name in zip(plan.parts, ("n", "count"), strict=True))


def test_private_keys_alone_take_delta(session: Session) -> None:
    plan = session.plan(
        "SELECT q, COUNT(*) FROM t GROUP BY q UNION ALL SELECT 'n', COUNT(*) FROM t", dp.approx(1, "1e-6")
    )
    assert isinstance(plan, CombinedPlan)
    assert [part.loss for part in plan.parts] == [dp.approx("1/2", "1e-6"), dp.pure("1/2")]
    with pytest.raises(dp.ParameterError, match="delta"):
        session.plan("SELECT q, COUNT(*) FROM t GROUP BY q UNION ALL SELECT 'n', COUNT(*) FROM t", dp.pure(1))


def test_what_can_be_one_release_is_one(session: Session) -> None:
    for query in (
        BY_K,
        f"SELECT k, n / 2 AS h FROM ({BY_K}) WHERE n > 3 ORDER BY h",
        "SELECT AVG(n) FROM (SELECT id, COUNT(*) AS n FROM t GROUP BY id)",
    ):
        assert not isinstance(session.plan(query), CombinedPlan)


def test_bars_are_wider_where_noise_picks_the_rows(session: Session) -> None:
    plain, picked = (session.sql(f"{UNION}{more}", dp.pure(1)) for more in ("", " ORDER BY n DESC LIMIT 4"))
    assert not plain.approximate("n")
    assert picked.approximate("n")
    assert (picked.error("n") > plain.error("n")[:4].min()).all()
    by_key = session.sql(f"SELECT * FROM ({UNION}) WHERE k < 'c'", dp.pure(1))
    assert not by_key.approximate("n")


def test_the_rest_that_fails_leaves_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    with dp.connect(shop_tables(), shop_policy()) as session:
        assert isinstance(session.prepare(Statement(UNION, dp.pure(1))), PreparedCombined)
        monkeypatch.setattr(_plan, "run_rest", lambda *_: None)
        release = session.sql(UNION, dp.pure(1))
    assert isinstance(release, CombinedRelease)
    assert not release.complete
    assert release.to_arrow().num_rows == 0
    assert [part.to_arrow().num_rows for part in release.parts] == [3, 1]
    assert "could not be computed" in repr(release)
    assert CombinedRelease.from_bytes(release.to_bytes()).parts[0].error("n")[0] > 0
    assert verify_loss(release.certificate) is None


def test_what_has_no_value_is_null(session: Session) -> None:
    values = (
        "9223372036854775807 + n", "n * 9223372036854775807", "-9223372036854775807 - n", "n // 0", "n % 0", "n / 0",
        "SQRT(-1 - ABS(n))", "LN(n - n)", "CAST(k AS INT)", "CAST(k AS DATE)", "1e308 * 1e308 * n",
        "POWER(10, n * 1000)", "DATE '9999-12-31' + INTERVAL 400 DAY", "DATE '0001-01-01' - INTERVAL 400 DAY",
        "CAST(DATE '9999-12-31' + INTERVAL 400 DAY AS DATE)", "DATE_TRUNC('year', DATE '9999-12-31' + INTERVAL 9 DAY)",
    )  # fmt: skip
    for value in values:
        release = session.sql(f"SELECT {value} AS v FROM ({UNION})", dp.pure(1))
        assert isinstance(release, CombinedRelease)
        assert release.complete, value
        assert release.to_arrow()["v"].null_count == 4, value


def test_time_and_rows_have_a_limit(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = {"part_0": pa.table({"c0": range(2_000)})}
    assert _run.run_rest("SELECT a.c0 FROM part_0 a, part_0 b", tables) is None
    assert _run.run_rest("SELECT c0 FROM part_9", tables) is None
    monkeypatch.setattr(_run, "_SECONDS", 0.2)
    assert _run.run_rest("SELECT COUNT(*) FROM part_0 a, part_0 b, part_0 c WHERE a.c0 + b.c0 > c.c0", tables) is None
    many = f"SELECT a.n FROM {', '.join(f'({UNION}) {chr(97 + i)}' for i in range(11))}"
    with pytest.raises(dp.QueryError, match="1,000,000 rows"):
        session.plan(many)


def test_the_rest_reaches_nothing_else() -> None:
    """Whatever passed the planner by mistake: no file, no setting, no Python object can be read, and none changed."""
    outside = pa.table({"secret": [1]})
    for query in (
        "SELECT * FROM outside",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM glob('/*')",
        "COPY part_0 TO '/tmp/out.csv'",
        "ATTACH '/tmp/x.duckdb'",
        "SET threads = 2",
        "INSTALL httpfs",
    ):
        assert _run.run_rest(query, {"part_0": pa.table({"c0": [1]})}) is None, query
    assert outside.num_rows == 1


def test_public_rows_are_read_before_the_charge_and_stated() -> None:
    query = f"SELECT label, n FROM labels JOIN ({BY_K}) USING (k)"
    tables = shop_tables()
    with dp.connect(tables, shop_policy()) as session:
        release = session.sql(query, dp.pure(1))
    assert release.to_arrow()["label"].to_pylist() == ["first", "second"]
    (stated,) = release.certificate["public_tables"]
    assert (stated["table"], stated["columns"]) == ("labels", ["k", "label"])
    tables["labels"] = pa.table({**{n: tables["labels"][n] for n in ("k", "weight", "size")}, "label": ["y" * 300] * 3})
    with dp.connect(tables, shop_policy()) as session:
        before = session.spent
        with pytest.raises(dp.QueryError, match="250 characters"):
            session.sql(query, dp.pure(1))
        assert session.spent == before


def test_another_table_of_the_same_columns_is_another_question(session: Session) -> None:
    first, second = (
        session.sql(f"SELECT label, n FROM {table} x JOIN ({BY_K}) USING (k)", dp.pure(1))
        for table in ("labels", "others")
    )
    assert first.to_arrow()["label"].to_pylist() == ["first", "second"]
    assert second.to_arrow()["label"].to_pylist() == ["other", "another"]
    assert first.certificate["plan"] != second.certificate["plan"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (f"SELECT weight FROM labels JOIN ({BY_K}) USING (k)", "without it"),
        (f"SELECT n FROM ({BY_K}) JOIN t USING (k)", "person"),
        (f"SELECT n FROM ({BY_K}) WHERE n > (SELECT x FROM t)", "no column x"),
        (f"SELECT * EXCLUDE (k) FROM ({UNION})", "columns"),
        (f"SELECT n + k AS a FROM ({UNION})", "cannot be run"),
        (f"SELECT k FROM ({UNION}) WHERE k = 3", "cannot be run"),
        (f"SELECT INTERVAL 1 DAY AS i FROM ({UNION})", "no release has"),
        (" UNION ALL ".join(f"SELECT COUNT(*) FROM t WHERE x > {i}" for i in range(17)), "16 releases"),
    ],
)
def test_a_refusal_costs_nothing(query: str, words: str, session: Session) -> None:
    spent = session.spent
    for ask in (session.plan, lambda text: session.sql(text, dp.pure(1))):
        with pytest.raises(dp.QueryError, match=words):
            ask(query)
    assert session.spent == spent


def test_a_plan_says_what_it_does(session: Session) -> None:
    joined = f"SELECT r.k, n FROM ({BY_K}) r JOIN labels l ON l.k = r.k UNION ALL SELECT 'all', COUNT(*) FROM t"
    query = f"SELECT k, n, n + 1 AS more FROM ({joined})"
    bare, plan = session.plan(query), session.plan(query, dp.pure(1), assume={"rows": 300})
    assert isinstance(plan, CombinedPlan)
    assert plan.noisy == ("n", "more")
    assert plan.barless("more")
    assert plan.error("more") is None
    assert plan.error("n") is not None
    assert "no spend yet" in str(bare)
    assert "no error bar" in str(plan)
    text = plan.explain()
    for words in (
        "2 releases, which share the spend evenly",
        "Release 2:",
        "Public tables read beside them: labels",
        "Cost: epsilon 1",
    ):
        assert words in text
    with pytest.raises(dp.ParameterError, match=r"plan\.parts"):
        plan.spend_for({"n": 3})
    with pytest.raises(dp.ParameterError, match="has no column"):
        plan.error("nobody")
    with pytest.raises(dp.ParameterError, match="rows"):
        session.plan(query, dp.pure(1), assume=session.sql(BY_K, dp.pure(1)))
    with pytest.raises(dp.QueryError):
        session.plan(query, dp.pure(1), bias=True)


def _changed(certificate: Any, *path: Any) -> Any:
    copy = json.loads(json.dumps(dict(certificate)))
    *above, last = path[:-1]
    inner = copy
    for name in above:
        inner = inner[name]
    inner[last] = path[-1]
    return copy


def test_a_changed_certificate_is_refused(session: Session) -> None:
    certificate = session.sql(UNION, dp.pure(1)).certificate
    scale = certificate["parts"][1]["levels"][0]["measures"][0]["scale"]
    for change in (
        ("parts", 1, "levels", 0, "measures", 0, "scale", f"{int(scale) - 1}"),
        ("parts", []),
        ("parts", [certificate["parts"][0], 7]),
        ("parts", 0, "kind", "suggestion"),
        ("parts", 0, "relation", "substitute"),
        ("relation", "substitute"),
        ("parts", 0, "loss", {"type": "pure", "epsilon": "1/4"}),
        ("loss", certificate["parts"][0]["loss"]),
    ):
        with pytest.raises(LedgerError):
            verify_loss(_changed(certificate, *change))
    assert verify_loss(_changed(certificate, "statement", "SELECT 1")) is None


def test_damaged_bytes_are_refused(session: Session) -> None:
    stored = session.sql(UNION, dp.pure(1)).to_bytes()
    with pytest.raises(LedgerError):
        CombinedRelease.from_bytes(stored[:-20])
    schema = pa.ipc.open_stream(stored).read_all()
    header = json.loads((schema.schema.metadata or {})[b"discreet"])
    for change in (
        {"parts": []},
        {"parts": ["!"] * 2},
        {"parts": header["parts"][::-1] * 2},
        {"shared": 0},
        {"shared": "x"},
        {"cells": ["n", "m"]},
        {"noisy": ["nobody"]},
    ):
        metadata = {"discreet": json.dumps(header | change)}
        sink = pa.BufferOutputStream()
        table = schema.replace_schema_metadata(metadata)
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        with pytest.raises(LedgerError):
            CombinedRelease.from_bytes(sink.getvalue().to_pybytes())
    columns = [*schema.columns[:-1], pa.array([7 * ROWS] * schema.num_rows)]
    table = pa.table(columns, schema=schema.schema)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(LedgerError):
        CombinedRelease.from_bytes(sink.getvalue().to_pybytes())


def test_a_pivot_has_the_noise_of_a_group_by(session: Session) -> None:
    query = "PIVOT (SELECT k, x FROM t) ON k USING SUM(x)"
    pivot, grouped = (
        session.plan(query, dp.pure(1)),
        session.plan("SELECT k, SUM(x) AS s FROM t GROUP BY k", dp.pure(1)),
    )
    assert pivot.error("a") == grouped.error("s")
    private = session.plan("PIVOT (SELECT k, q, x FROM t) ON k USING SUM(x)", dp.approx(1, "1e-6"))
    assert not isinstance(private, CombinedPlan)
    ratio = session.plan("SELECT a / b AS r FROM (SELECT k FROM t) PIVOT (COUNT(*) FOR k IN ('a', 'b'))", dp.pure(1))
    assert not isinstance(ratio, CombinedPlan)


def test_a_text_of_a_key_leaves_numbers_their_bars(session: Session) -> None:
    plain = session.plan(BY_K, dp.pure(1))
    plan = session.plan("SELECT LOWER(k) AS l, COUNT(*) AS n, COUNT(*) > 3 AS b FROM t GROUP BY k", dp.pure(1))
    assert isinstance(plan, CombinedPlan)
    assert plan.loss == plain.loss
    assert plan.error("n") == plain.error("n")
    assert not plan.picks


@pytest.mark.parametrize(
    "query",
    [
        "SELECT LOWER(q) FROM t GROUP BY k",
        "SELECT LOWER(k), * FROM t GROUP BY k",
        "SELECT LOWER(k), id, COUNT(*) FROM t GROUP BY k",
        "SELECT LOWER(k), COUNT(*) FROM t GROUP BY k ORDER BY x",
        "SELECT LOWER(k), COUNT(*) FROM t GROUP BY k ORDER BY 9",
        "SELECT LOWER(k), READ_TEXT(k), COUNT(*) FROM t GROUP BY k",
        "SELECT LOWER(k) || RANDOM(), COUNT(*) FROM t GROUP BY k",
        "SELECT CASE WHEN k = 'zz' THEN 'x' ELSE 1 END, COUNT(*) FROM t GROUP BY k",
        "SELECT LOWER(k), COUNT(*) FROM t GROUP BY ROLLUP (k)",
        "SELECT LOWER(k), x FROM t",
    ],
)
def test_a_select_that_cannot_be_taken_apart_is_refused_as_it_is(query: str, session: Session) -> None:
    with pytest.raises(dp.QueryError) as caught:
        session.plan(query)
    assert "released rows" not in str(caught.value)


def test_a_text_among_numbers_is_refused_before_it_is_spent_for(session: Session) -> None:
    with pytest.raises(dp.QueryError, match="write values of one kind"):
        session.plan(f"SELECT CASE WHEN k = 'zz' THEN 'x' ELSE 1 END AS c FROM ({UNION})")


def test_a_rest_that_fails_in_the_midst_of_its_rows_leaves_the_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """In row 70,000 of a stream of batches, or stopped by the clock: no error, but nothing computed."""
    numbers = {"n": pa.table({"i": pa.array(range(400))})}
    late = "SELECT a.i, (SELECT c.i FROM n AS c WHERE a.i * 400 + b.i >= 70000 AND c.i < 2) AS z FROM n AS a, n AS b"
    assert _run.run_rest(late, numbers) is None
    monkeypatch.setattr(_run, "_SECONDS", 0.2)
    slow = "SELECT a.i FROM n AS a, n AS b, n AS c, n AS d WHERE (a.i * b.i + c.i * d.i) % 1000 = 7"
    assert _run.run_rest(slow, numbers) is None


@pytest.mark.parametrize("spend", [dp.pure(1), 2 * dp.approx("0.5", "5e-7"), dp.rho("0.1"), dp.mu(1)], ids=repr)
def test_each_release_chooses_a_cap_of_its_own(spend: dp.Loss) -> None:
    policy = shop_policy()
    policy["tables"]["t"]["max_rows"] = "auto"
    del policy["budget"]
    name = budget_of(spend)[0]
    budget = {"rho": dp.rho(100), "mu": dp.mu(100)}.get(name, dp.approx(100, "0.1"))
    with open_ledger(None, budget) as ledger, dp.connect(shop_tables(), policy, ledger) as session:
        plan = session.plan(UNION, spend)
        release = session.sql(UNION, spend)
        spent = session.spent
        assert session.sql(UNION, spend).to_bytes() == release.to_bytes()
        assert session.spent == spent
    assert release.loss == plan.loss
    assert release.loss.fits(spend)
    verify_loss(dict(release.certificate))
    assert [part["cap"]["chosen"] >= 1 for part in release.certificate["parts"]] == [True, True]
