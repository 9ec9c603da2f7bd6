"""A query as a mechanism over databases: what it shows, and that a redraw shows what a run does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import betaincinv

import discreet as dp
from discreet.audit.catalog._queries import sql_entries
from discreet.audit.sql._pair import loss_between
from discreet.audit.sql._query import Query, query
from discreet.engines.duckdb import DuckDB
from discreet.engines.duckdb import _engine as duckdb_engine
from discreet.errors import DataError, ParameterError
from discreet.ledger.state._events import Facts
from discreet.query import Group, _checked_query
from discreet.query import draw as real_draw
from discreet.query.measures._bounded import complete
from discreet.session import Session

pytestmark = pytest.mark.usefixtures("one_database")

COLUMNS = {
    "x": {"type": "int", "bounds": [0, 10]},
    "k": {"type": "string", "keys": ["a", "b", "c"]},
    "q": {"type": "string"},
}
ROWS = {"version": "1", "tables": {"t": {"unit": "rows", "columns": COLUMNS}}}
PEOPLE = {"version": "1", "tables": {"t": {"unit": "u", "max_rows": 3, "columns": COLUMNS}}}
SALT = bytes(range(16))
NEVER = 1e-9
"""The rate of false alarms of each statistical test."""

Tables = dict[str, pa.Table]
Outputs = Sequence[dict[str, Any]]


def tables(*rows: tuple[Any, ...]) -> Tables:
    schema = pa.schema([("u", pa.int64()), ("x", pa.int64()), ("k", pa.string()), ("q", pa.string())])
    columns = {name: [row[j] for row in rows] for j, name in enumerate(schema.names)}
    return {"t": pa.table(columns, schema=schema)}


FOUR = tables((1, 3, "a", "v"), (2, 5, "a", "v"), (3, 7, "b", "w"), (4, None, "b", "w"))


def value_at(outputs: Outputs, *path: Any) -> list[float]:
    """A released number in each output, infinity where it is absent or null."""
    found = (output.get("values", {}).get(path) for output in outputs)
    return [math.inf if value is None else float(value) for value in found]


def farthest_apart(one: Sequence[float], other: Sequence[float]) -> float:
    """The largest difference of two empirical distribution functions."""
    points = np.unique(np.concatenate([one, other]))
    below = [np.searchsorted(np.sort(sample), points, side="right") / len(sample) for sample in (one, other)]
    return float(np.max(np.abs(below[0] - below[1])))


def allowed(sizes: Sequence[int], tests: int = 1) -> float:
    """How far apart samples of one law are: Dvoretzky, Kiefer and Wolfowitz 1956 with Massart's constant, each half."""
    return sum(math.sqrt(math.log(2 * len(sizes) * tests / NEVER) / (2 * size)) for size in sizes)


class TestOutput:
    def test_a_run_shows_rows_values_and_types(self) -> None:
        output = query("SELECT k, COUNT(*) AS n FROM t GROUP BY k", ROWS, dp.pure(1000))(FOUR)
        assert output["rows"] == {("a",): 0, ("b",): 1, ("c",): 2}
        assert output["values"] == {("n", "a"): 2, ("n", "b"): 2, ("n", "c"): 0}
        assert output["columns"].startswith("k string (key), n int64 (noisy, linear True, cap None), DiscreteLaplace(")

    def test_the_order_of_rows_is_part_of_it(self) -> None:
        text = "SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY k DESC"
        assert query(text, ROWS, dp.pure(1))(FOUR)["rows"] == {("c",): 0, ("b",): 1, ("a",): 2}

    def test_missing_rows_and_nulls_differ(self) -> None:
        text = "SELECT k, SUM(x) / COUNT(*) AS r FROM t GROUP BY k HAVING COUNT(*) < 1"
        output = query(text, ROWS, dp.pure(1000))(FOUR)
        assert (output["rows"], output["values"]) == ({("c",): 0}, {("r", "c"): None})

    def test_rows_without_their_keys_are_told_apart_by_occurrence(self) -> None:
        output = query("SELECT COUNT(*) AS n FROM t GROUP BY k", ROWS, dp.pure(1000))(FOUR)
        assert output["rows"] == {(): 0, (1,): 1, (2,): 2}
        assert output["values"] == {("n",): 2, ("n", 1): 2, ("n", 2): 0}

    def test_ratios_show_the_slopes_of_their_error(self) -> None:
        output = query("SELECT AVG(x) AS a FROM t", ROWS, dp.pure(1000))(FOUR)
        assert output["values"] == {("a",): 5.0}
        assert output["slopes"][("a", 0)] == pytest.approx(1 / 3)  # three rows with a value

    @pytest.mark.parametrize(
        ("text", "spend", "refused"),
        [
            ("SELECT x FROM t", dp.pure(1), "QueryError"),
            ("SELECT q, COUNT(*) FROM t GROUP BY q", dp.pure(1), "ParameterError"),
            ("SELECT COUNT(*) FROM t", dp.pure(9), "BudgetExceeded"),
            ("SELECT COUNT(*) FROM t", dp.rho(1), "ParameterError"),
        ],
    )
    def test_refusals_are_outputs_of_runs_and_redraws_alike(self, text: str, spend: dp.Loss, refused: str) -> None:
        limited = query(text, {**ROWS, "budget": {"epsilon": 5}}, spend)
        run = limited(FOUR)
        assert run["refused"] == refused
        assert run["says"]
        assert limited.draw(FOUR, 6) == [run] * 6

    def test_a_source_that_lacks_a_column_is_a_refusal(self) -> None:
        count = query("SELECT COUNT(*) FROM t", ROWS, dp.pure(1))
        run = count({"t": pa.table({"x": [1]})})
        assert run["refused"] == "DataError"
        assert count.draw({"t": pa.table({"x": [1]})}, 6) == [run] * 6

    def test_what_a_traceback_shows_is_shown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(*_: object) -> list[Group]:
            try:
                raise ValueError("the value 17")
            except ValueError as error:
                raise DataError("no") from error

        monkeypatch.setattr(DuckDB, "run", fails)
        output = query("SELECT COUNT(*) FROM t", ROWS, dp.pure(1))(FOUR)
        assert output == {
            "refused": "DataError",
            "says": "no",
            "behind": {"refused": "ValueError", "says": "the value 17"},
        }

    @pytest.mark.parametrize(
        "wrong",
        [{"complete": -1}, {"complete": 1.0}, {"copies": 0}, {"copies": True}, {"salt": b"short"}, {"salt": "x" * 16}],
    )
    def test_arguments_out_of_range(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            query("SELECT COUNT(*) FROM t", ROWS, dp.pure(1), **wrong)

    def test_other_wrong_arguments(self) -> None:
        with pytest.raises(ParameterError, match="spend"):
            query("SELECT COUNT(*) FROM t", ROWS, 1)  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="size"):
            query("SELECT COUNT(*) FROM t", ROWS, dp.pure(1)).draw(FOUR, -1)


class Remembered:
    """An engine that computed its sums before, and a ledger that remembers nothing: for many runs of one session."""

    def __init__(self, groups: list[Group]) -> None:
        self.run = lambda *_: groups
        self.accept = self.check = self.close = self.reserve = self.commit = lambda *_, **__: None
        self.count_marginals = self.read_records = self.query_edges = self.accept
        self.facts, self.currency = Facts("approx"), "approx"
        self.certify = lambda statement, _: statement


def runs(asked: Query, database: Tables, size: int) -> Outputs:
    """Outputs of `Session.sql` itself, with its engine and its ledger stubbed."""
    (groups,) = asked.aggregate(database)[1]
    stub: Any = Remembered(groups)
    session = Session(stub, asked.policy, stub)
    tables = [session.sql(asked.text, asked.spend).to_arrow() for _ in range(size)]
    return [{"values": {("n", *key): value for key, value in by_key(table)}} for table in tables]


def by_key(table: pa.Table) -> list[tuple[tuple[Any, ...], Any]]:
    keys = [table.column(column).to_pylist() for column in table.column_names if column != "n"]
    return list(zip(zip(*keys, strict=True) if keys else [()], table.column("n").to_pylist(), strict=True))


class TestRedraw:
    @pytest.mark.parametrize("copies", [64, pytest.param(1, marks=pytest.mark.soak)])
    @pytest.mark.parametrize(
        ("text", "spend", "paths"),
        [
            ("SELECT COUNT(*) AS n FROM t", dp.pure(1), [("n",)]),
            ("SELECT COUNT(*) AS n FROM t", dp.rho(1), [("n",)]),
            ("SELECT k, AVG(x) AS n FROM t GROUP BY k", dp.pure(2), [("n", "a"), ("n", "c")]),
            ("SELECT q, COUNT(*) AS n FROM t GROUP BY q", dp.approx(2, "0.2"), [("n", "v"), ("n", "w")]),
            ("SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n LIMIT 2", dp.pure(1), [("n", "a"), ("n", "b")]),
        ],
    )
    def test_a_redraw_has_the_law_of_a_session(
        self, text: str, spend: dp.Loss, paths: list[tuple[Any, ...]], copies: int
    ) -> None:
        asked = query(text, ROWS, spend, salt=SALT, complete=0)
        real = runs(asked, FOUR, 150)
        redrawn = replace(asked, copies=copies).draw(FOUR, 1000)
        for path in paths:
            apart = farthest_apart(value_at(redrawn, *path), value_at(real, *path))
            assert apart <= allowed([1000, 150], tests=2 * len(paths))

    @pytest.mark.parametrize("copies", [1, 50])
    def test_a_redraw_has_the_law_of_its_mechanism(self, copies: int) -> None:
        """A count of 4 at ε = 1: P(noise ≤ x) = 1 − q^(x+1) / (1 + q) for x ≥ 0, with q = 1/e."""
        size, q = 4_000, math.exp(-1)
        asked = query("SELECT COUNT(*) AS n FROM t", ROWS, dp.pure(1), copies=copies)
        drawn = np.array(value_at(asked.draw(FOUR, size), "n"))
        for noise in range(-8, 9):
            exact = 1 - q ** (noise + 1) / (1 + q) if noise >= 0 else q**-noise / (1 + q)
            assert abs(np.mean(drawn <= 4 + noise) - exact) <= allowed([size])

    @pytest.mark.parametrize("part", [0, *(pytest.param(i, marks=pytest.mark.soak) for i in (1, 2, 3))])
    @pytest.mark.parametrize("copies", [1, 5])
    def test_at_next_to_no_noise_complete_and_redrawn_outputs_are_the_same(
        self, copies: int, part: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Whole outputs: at scale 0.001 or sigma 0.001 noise is other than 0 once in e^1000.

        Of every entry but those of private keys, and of a quantile or a mode by key, which is random in a group without
        rows.
        """
        monkeypatch.setattr("discreet.noise.secret", lambda size: (SALT * size)[:size])
        huge = {
            "PureLoss": dp.pure(10**15), "RhoLoss": dp.rho(10**24), "MuLoss": dp.mu(10**15),
            "ApproxLoss": dp.approx(10**9, "0.05"),
        }  # fmt: skip
        entries = [entry for entry in sql_entries() if "private" not in entry.name]
        entries = [
            entry for entry in entries if not entry.name.startswith(("MEDIAN by public keys", "MODE by public keys"))
        ]
        for entry in entries[part + 4 * (copies > 1) :: 8]:
            spend = huge[type(entry.spend).__name__]
            asked = query(entry.text, entry.policy, spend, salt=SALT, complete=1, copies=copies)
            run, *redrawn = map(repr, asked.draw(entry.pair[0], 7))
            assert "refused" not in run
            assert redrawn == [run] * 6, entry.name

    def test_complete_runs_come_first_and_sizes_are_kept(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made: list[object] = []
        connect = dp.connect
        monkeypatch.setattr("discreet.connection.connect", lambda *source: made.append(source) or connect(*source))
        asked = query("SELECT COUNT(*) AS n FROM t", ROWS, dp.pure(1), complete=2, copies=4)
        assert [len(asked.draw(FOUR, size)) for size in (0, 1, 2, 9)] == [0, 1, 2, 9]
        assert len(made) == 0 + 1 + 2 + 2

    @pytest.mark.parametrize("broken", ["drops rows", "turns the rows round", "sums over rows"])
    def test_a_finish_that_mixes_rows_is_finished_alone(self, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
        real = _checked_query.answer

        def mixes(*parts: Any) -> Any:
            made = real(*parts)
            rows = list(range(made.table.num_rows))
            kept = rows[:2] if broken == "drops rows" else rows[::-1]
            table = made.table.take(pa.array(kept))
            if broken == "sums over rows":
                table = table.set_column(1, "n", pa.array([sum(table.column("n").to_pylist())] * len(rows)))
            slopes = {i: slope[kept] for i, slope in made.shapes["n"].slopes.items()}
            return replace(made, table=table, shapes={"n": replace(made.shapes["n"], slopes=slopes)})

        monkeypatch.setattr(_checked_query, "answer", mixes)
        asked = query("SELECT k, COUNT(*) AS n FROM t GROUP BY k", ROWS, dp.pure(1000), complete=1)
        run, *redrawn = asked.draw(FOUR, 12)
        assert run["rows"] != {("a",): 0, ("b",): 1, ("c",): 2}
        assert [(o["rows"], o["values"]) for o in redrawn] == [(run["rows"], run["values"])] * 11


class TestBroken:
    """What is broken below a session, by a patch, is seen in the outputs."""

    @pytest.fixture(params=[8, pytest.param(1, marks=pytest.mark.soak)])
    def copies(self, request: pytest.FixtureRequest) -> int:
        return request.param

    def test_a_refusal_that_depends_on_data(self, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
        real = DuckDB.run

        def run(engine: DuckDB, request: Any, salt: bytes) -> list[Group]:
            groups = real(engine, request, salt)
            if any(total > 9 for group in groups for total in group.sums):
                raise DataError(f"overflow at {groups[0].sums[0]}")
            return groups

        monkeypatch.setattr(DuckDB, "run", run)
        asked = query("SELECT SUM(x) AS s FROM t", ROWS, dp.pure(1), copies=copies)
        one, other = (tables(*[(i, 5, "a", "v") for i in range(rows)]) for rows in (2, 1))
        assert asked.draw(one, 10) == [{"refused": "DataError", "says": "overflow at 10"}] * 10
        assert all("refused" not in output for output in asked.draw(other, 10))

    def test_a_refusal_that_depends_on_the_noise(self, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """P(noise = 0) is tanh(1/2) at ε = 1; by Hoeffding, false-alarm rate 1e-9."""
        real = _checked_query.answer

        def answer(select: Any, levels: Any, aggregates: Any, groups: Sequence[Sequence[Group]]) -> Any:
            if any(group.sums == (4,) for here in groups for group in here):
                raise ZeroDivisionError("nothing is left")
            return real(select, levels, aggregates, groups)

        monkeypatch.setattr(_checked_query, "answer", answer)
        size = 4000
        outputs = query("SELECT COUNT(*) AS n FROM t", ROWS, dp.pure(1), copies=copies).draw(FOUR, size)
        refused = [output for output in outputs if output.get("refused") == "ZeroDivisionError"]
        assert all(output["values"]["n",] != 4 for output in outputs if "refused" not in output)
        assert abs(len(refused) / size - math.tanh(0.5)) <= math.sqrt(math.log(2 / NEVER) / (2 * size))

    def test_a_draw_that_raises(self, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(*_: object) -> list[Group]:
            raise OverflowError("too large")

        monkeypatch.setattr("discreet.query._sql.draw", fails)
        outputs = query("SELECT COUNT(*) AS n FROM t", ROWS, dp.pure(1), copies=copies).draw(FOUR, 20)
        assert outputs == [{"refused": "OverflowError", "says": "too large"}] * 20

    def test_absent_public_keys_without_noise(self, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """The one row of a key shows: without it the count is 0 for sure, and with it seldom."""

        def draw(groups: Sequence[Group], bounded: Any, noise: Any) -> list[Group]:
            there = {group.key for group in groups}
            noisy = real_draw(groups, bounded, noise)
            exact = complete(groups, bounded)
            return [after if after.key in there else before for before, after in zip(exact, noisy, strict=True)]

        one, other = FOUR, {"t": FOUR["t"].slice(0, 2)}  # nobody is left in b
        asked = query("SELECT k, COUNT(*) AS n FROM t GROUP BY k", ROWS, dp.pure(1), copies=copies)

        def zeros(database: Tables) -> float:
            return float(np.mean(np.array(value_at(asked.draw(database, 2000), "n", "b")) == 0))

        slack = allowed([2000])
        assert abs(zeros(other) - math.tanh(0.5)) <= slack
        monkeypatch.setattr("discreet.query._sql.draw", draw)
        assert zeros(other) == 1
        assert zeros(one) <= math.tanh(0.5) + slack < 1

    def test_keys_discovered_by_rows(self, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Three rows of one person in a key of hers: shown with δ = 0.01, and far more often if rows are counted."""
        real = DuckDB.run

        def run(engine: DuckDB, request: Any, salt: bytes) -> list[Group]:
            return [replace(group, units=group.sums[0]) for group in real(engine, request, salt)]

        policy = {"version": "1", "tables": {"t": {"unit": "u", "max_rows": 3, "max_groups": 1, "columns": COLUMNS}}}
        asked = query("SELECT q, COUNT(*) AS n FROM t GROUP BY q", policy, dp.approx(4, "0.01"), copies=copies)
        database = tables(*[(1, 5, "a", "mine")] * 3, (2, 5, "a", "theirs"))

        def shown() -> float:
            return float(np.mean([("mine",) in output["rows"] for output in asked.draw(database, 2000)]))

        slack = allowed([2000])
        assert shown() <= 0.01 + slack
        monkeypatch.setattr(DuckDB, "run", run)
        assert shown() >= 0.3 - slack  # π(3) at ε = 2 is 0.01 (1 + e² + e⁴), less what e^-ε takes back

    def test_persons_without_a_cap(self, copies: int, monkeypatch: pytest.MonkeyPatch) -> None:
        """Eight rows of one person at a cap of 3: an event is e^ε times likelier than the claim lets it be."""
        real = duckdb_engine.bounded_sql
        crowd = [(100 + i, 5, "a", "v") for i in range(2)]
        one, other = tables(*crowd, *[(1, 5, "a", "v")] * 8), tables(*crowd)
        asked = query("SELECT COUNT(*) AS n FROM t", PEOPLE, dp.pure(3), copies=copies)

        def likelier() -> float:
            """At least how much likelier a count of 8 or more is with the person (Clopper and Pearson 1934)."""
            size = 2500
            with_her, without = (sum(n >= 8 for n in value_at(asked.draw(each, size), "n")) for each in (one, other))
            least = betaincinv(with_her, size - with_her + 1, NEVER / 2)
            return float(least / betaincinv(without + 1, size - without, 1 - NEVER / 2))

        assert likelier() <= math.exp(3)
        assert loss_between(asked, one, other) == dp.pure(3)

        def uncapped(dialect: Any, request: Any, *rest: Any) -> str:
            return real(dialect, replace(request, max_rows=10**6), *rest)

        monkeypatch.setattr(duckdb_engine, "bounded_sql", uncapped)
        assert loss_between(asked, one, other) == dp.pure(8)
        assert likelier() > math.exp(3)
