"""The front door: what is paid, what is free, and what stays spent."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines import EdgeQueries
from discreet.ledger import open_ledger
from discreet.policy import load_policy
from discreet.query import BoundedAggregate, EdgeRows, Group, Marginals, RecordRows
from discreet.session import Session

pytestmark = pytest.mark.usefixtures("one_database")

QUERY = "SELECT COUNT(*) AS n, AVG(x) AS a FROM t"
TABLE = pa.table({"who": [i // 3 for i in range(300)], "x": [i % 10 for i in range(300)], "k": ["a", "b", "c"] * 100})


def policy_of(version: str = "1", **budget: Any) -> dict[str, Any]:
    columns = {"x": {"type": "int", "bounds": [0, 9]}, "k": {"type": "string"}}
    return {
        "version": version,
        "budget": budget or {"epsilon": 3},
        "tables": {"t": {"unit": "who", "max_rows": 3, "columns": columns}},
    }


def same(one: dp.Release, other: dp.Release) -> bool:
    return (
        one.to_bytes() == other.to_bytes()
        and one.to_arrow().equals(other.to_arrow())
        and one.certificate == other.certificate
        and all(list(one.error(name)) == list(other.error(name)) for name in one.noisy)
    )


@pytest.fixture
def session() -> Iterator[Session]:
    with dp.connect({"t": TABLE}, policy_of()) as opened:
        yield opened


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "t.ledger"


def test_a_session_is_shown_with_its_budget(session: Session) -> None:
    assert repr(session) == "<Session of table t on <OwnedLedger in memory; spent pure(0) of pure(3) as last read>>"
    session.sql(QUERY, dp.pure(0.5))
    assert repr(session) == "<Session of table t on <OwnedLedger in memory; spent pure(0.5) of pure(3) as last read>>"


def test_a_closed_session_can_be_shown() -> None:
    with dp.connect({"t": TABLE}, policy_of()) as session:
        pass
    assert repr(session) == "<Session of table t; closed>"
    with open_ledger(None, dp.pure(3)) as ledger:
        session = dp.connect({"t": TABLE}, policy_of(), ledger)
    assert repr(session) == "<Session of table t on <OwnedLedger in memory; closed>>"
    session.close()


def test_a_session_of_many_tables_is_shown_in_a_line() -> None:
    content = policy_of()
    content["tables"] = dict.fromkeys([f"t{i}\n" for i in range(200)], content["tables"]["t"])
    with Session(BrokenEngine([]), load_policy(content), open_ledger(None, dp.pure(3))) as session:
        assert repr(session).startswith(r"<Session of tables t0\n, t1\n, ")
        assert repr(session).isprintable()
        assert len(repr(session)) <= 200


def test_what_is_spent_and_what_remains(session: Session) -> None:
    assert session.spent.epsilon() == 0
    release = session.sql(QUERY, dp.pure(0.5))
    assert release.loss == dp.pure(0.5)
    assert session.spent == dp.pure(0.5)
    assert session.remaining == dp.pure(2.5)


def test_a_repeat_is_free_and_identical_in_other_words_too(session: Session) -> None:
    first = session.sql(QUERY, dp.pure(0.5))
    for again in (QUERY, "select count(1) as n, avg(T.X) as a from T -- why", f"{QUERY};"):
        assert same(session.sql(again, dp.pure(0.5)), first)
    assert same(session.sql(QUERY, dp.pure("1/4") + dp.pure("1/4")), first)
    assert session.spent == dp.pure(0.5)


def test_another_spend_or_question_pays(session: Session) -> None:
    session.sql(QUERY, dp.pure(0.5))
    session.sql(QUERY, dp.pure(0.25))
    session.sql(QUERY.replace("AS a", "AS b"), dp.pure(0.5))
    assert session.spent == dp.pure(1.25)


def test_a_repeat_is_free_for_every_session_on_the_ledger(ledger: Path) -> None:
    with dp.connect({"t": TABLE}, policy_of(), ledger) as one, dp.connect({"t": TABLE}, policy_of(), ledger) as other:
        first = one.sql(QUERY, dp.pure(0.5))
        assert same(other.sql(QUERY, dp.pure(0.5)), first)
        assert other.spent == one.spent == dp.pure(0.5)
    with dp.connect({"t": TABLE}, policy_of(), str(ledger)) as later:
        assert same(later.sql(QUERY, dp.pure(0.5)), first)
        assert later.remaining == dp.pure(2.5)


def test_the_data_may_change_but_not_the_answer_under_one_label(ledger: Path, tmp_path: Path) -> None:
    """Whether an answer is free must not tell whether a row changed."""
    source = tmp_path / "t.parquet"
    pq.write_table(TABLE, source)
    with dp.connect({"t": source}, policy_of(), ledger) as session:
        first = session.sql(QUERY, dp.pure(0.5))
        pq.write_table(TABLE.slice(0, 30), source)
        assert same(session.sql(QUERY, dp.pure(0.5)), first)
    with dp.connect({"t": TABLE.slice(0, 1)}, policy_of(), ledger) as session:
        assert same(session.sql(QUERY, dp.pure(0.5)), first)
        assert session.spent == dp.pure(0.5)
    with dp.connect({"t": TABLE}, policy_of(version="2"), ledger) as session:
        assert not same(session.sql(QUERY, dp.pure(0.5)), first)
        assert session.spent == dp.pure(1)


def test_a_repeat_is_free_in_another_process(ledger: Path, tmp_path: Path) -> None:
    source = tmp_path / "t.parquet"
    pq.write_table(TABLE, source)
    code = textwrap.dedent(
        f"""
        import sys
        import discreet as dp
        with dp.connect({{"t": {str(source)!r}}}, {policy_of()!r}, {str(ledger)!r}) as session:
            sys.stdout.buffer.write(session.sql({QUERY!r}, dp.pure(0.5)).to_bytes())
        """
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert run.stderr == b""
    with dp.connect({"t": source}, policy_of(), ledger) as session:
        assert session.sql(QUERY, dp.pure(0.5)).to_bytes() == run.stdout
        assert session.spent == dp.pure(0.5)


def test_the_budget_holds_exactly(ledger: Path) -> None:
    with dp.connect({"t": TABLE}, policy_of(), ledger) as session:
        for i in range(30):
            session.sql(f"SELECT COUNT(*) AS n{i} FROM t", dp.pure(0.1))
        assert session.spent == dp.pure(3)
        assert session.remaining == dp.pure(3).__class__(Fraction(0))
        for spend in (dp.pure(0.1), dp.pure("1e-9")):
            with pytest.raises(dp.BudgetExceeded, match="left of the budget of epsilon 3; nothing was spent"):
                session.sql("SELECT COUNT(*) AS more FROM t", spend)
        assert session.sql("SELECT COUNT(*) AS n7 FROM t", dp.pure(0.1)).to_arrow().num_rows == 1, "repeats stay free"


def test_a_refusal_leaves_everything_as_it_was(ledger: Path) -> None:
    with dp.connect({"t": TABLE}, policy_of(), ledger) as session:
        session.sql(QUERY, dp.pure(2.5))
        before = ledger.read_bytes()
        with pytest.raises(dp.BudgetExceeded, match=r"asks for epsilon 0.6, and epsilon 0.5 is left"):
            session.sql("SELECT SUM(x) FROM t", dp.pure(0.6))
        with pytest.raises(dp.QueryError):
            session.sql("SELECT SUM(y) FROM t", dp.pure(0.1))
        with pytest.raises(dp.ParameterError):
            session.sql("SELECT SUM(x) FROM t", dp.rho(0.1))
        assert ledger.read_bytes() == before
        session.sql("SELECT SUM(x) FROM t", dp.pure(0.5))


def test_currencies() -> None:
    with dp.connect({"t": TABLE}, policy_of(rho=1, delta=1e-6)) as session:
        session.sql("SELECT COUNT(*) AS a FROM t", dp.rho(0.25))
        session.sql("SELECT COUNT(*) AS b FROM t", dp.pure(1))
        assert session.spent == dp.rho("3/4")
        session.sql("SELECT k, COUNT(*) FROM t GROUP BY k", dp.rho("1/4", 1e-6))
        assert session.spent == dp.rho(1, 1e-6)
    with dp.connect({"t": TABLE}, policy_of(epsilon=1, delta=1e-6)) as session:
        session.sql("SELECT COUNT(*) FROM t", dp.approx(0.5, 1e-6))
        assert session.remaining == dp.approx("1/2", 1e-6), "a delta that nothing needs is not spent"
        with pytest.raises(dp.ParameterError, match="rho"):
            session.sql("SELECT COUNT(*) FROM t", dp.rho(0.1))


def test_private_keys_without_a_delta_are_refused_before_anything_is_spent(session: Session) -> None:
    with pytest.raises(dp.ParameterError, match="needs a delta"):
        session.sql("SELECT k, COUNT(*) FROM t GROUP BY k", dp.pure(1))
    assert session.remaining == dp.pure(3)


class BrokenEngine:
    """An engine that can do what it is told to, or fail."""

    def __init__(self, answer: list[Group] | BaseException) -> None:
        self.answer, self.runs = answer, 0

    def check(self, table: str) -> None:
        pass

    def accept(self, request: BoundedAggregate) -> None:
        pass

    def run(self, request: BoundedAggregate, salt: bytes) -> list[Group]:
        self.runs += 1
        assert len(salt) == 16
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    def count_marginals(self, request: Marginals, salt: bytes) -> tuple[Any, ...]:
        raise NotImplementedError

    def read_records(self, request: RecordRows, salt: bytes) -> Any:
        raise NotImplementedError

    def query_edges(self, request: EdgeRows, search: Callable[[EdgeQueries], Any]) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        pass


@pytest.mark.parametrize("failure", [dp.DataError("broken"), MemoryError(), KeyboardInterrupt(), RuntimeError()])
def test_what_was_reserved_stays_spent_when_the_engine_fails(failure: BaseException) -> None:
    """How much memory was asked for is a size of private rows: an error does not say."""
    raised = dp.DataError if isinstance(failure, MemoryError) else type(failure)
    policy = load_policy(policy_of())
    engine = BrokenEngine(failure)
    with Session(engine, policy, open_ledger(None, dp.pure(3))) as session:
        for tries in (1, 2):
            with pytest.raises(raised):
                session.sql("SELECT COUNT(*) FROM t", dp.pure(1))
            assert session.spent == dp.pure(tries), "a dead reservation is never redrawn: the next try pays again"
        engine.answer = [Group((), 0, (7,))]
        release = session.sql("SELECT COUNT(*) FROM t", dp.pure(1))
        assert session.spent == dp.pure(3)
        assert same(session.sql("SELECT COUNT(*) FROM t", dp.pure(1)), release)
        assert engine.runs == 3


def test_every_run_has_a_salt_of_its_own() -> None:
    salts: list[bytes] = []

    class Salted(BrokenEngine):
        def run(self, request: BoundedAggregate, salt: bytes) -> list[Group]:
            salts.append(salt)
            return super().run(request, salt)

    with Session(Salted([Group((), 0, (7,))]), load_policy(policy_of()), open_ledger(None, dp.pure(3))) as session:
        for i in range(5):
            session.sql(f"SELECT COUNT(*) AS n{i} FROM t", dp.pure(0.1))
    assert len(set(salts)) == 5


def test_planning_touches_neither_ledger_nor_data(ledger: Path) -> None:
    engine = BrokenEngine(AssertionError("a plan ran"))
    with Session(
        engine, load_policy(policy_of(epsilon=1, delta=1e-6)), open_ledger(ledger, dp.approx(1, 1e-6))
    ) as session:
        before = ledger.read_bytes()
        for spend in (None, dp.pure(0.1), dp.pure(1000), dp.approx(1, 1e-6), dp.rho(5)):
            plan = session.plan(QUERY, spend, assume={"rows": 1000})
            assert plan.explain()
        assert session.plan("SELECT k, COUNT(*) FROM t GROUP BY k").loss is None
        assert engine.runs == 0
        assert ledger.read_bytes() == before


def test_threads_share_a_session_and_never_overspend(ledger: Path) -> None:
    answered: list[dp.Release] = []
    refused: list[Exception] = []
    with dp.connect({"t": TABLE}, policy_of(), ledger) as session:

        def ask(thread: int) -> None:
            for i in range(6):
                try:
                    answered.append(session.sql(f"SELECT COUNT(*) AS n{thread}_{i} FROM t", dp.pure(0.1)))
                except dp.BudgetExceeded as error:
                    refused.append(error)

        threads = [threading.Thread(target=ask, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(answered), len(refused)) == (30, 18)
        assert session.spent == dp.pure(3)


def test_threads_that_ask_the_same_may_all_pay_but_agree_in_the_end(session: Session) -> None:
    barrier = threading.Barrier(4)

    def ask() -> None:
        barrier.wait()
        session.sql(QUERY, dp.pure(0.25))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    paid = session.spent
    assert paid.fits(dp.pure(1))
    assert same(session.sql(QUERY, dp.pure(0.25)), session.sql(QUERY, dp.pure(0.25)))
    assert session.spent == paid


def test_the_certificate_says_what_ran(session: Session) -> None:
    release = session.sql(QUERY, dp.pure(0.5))
    certificate = release.certificate
    plan = session.plan(QUERY, dp.pure(0.5))
    policy = load_policy(policy_of())
    assert certificate["plan"] == plan.hash(policy)
    assert certificate["policy"] == policy.digest()
    assert (certificate["version"], certificate["unit"], certificate["relation"]) == ("1", "who", "add_remove")
    assert certificate["loss"] == {"kind": "pure", "epsilon": "1/2"}
    (level,) = certificate["levels"]
    assert len(level["measures"]) == len(plan.levels[0].bounded.measures)
    assert level["key_discovery"] is None


def test_a_release_survives_its_bytes(ledger: Path) -> None:
    with dp.connect({"t": TABLE}, policy_of(epsilon=3, delta=1e-3), ledger) as session:
        query = "SELECT k, COUNT(*) AS n, AVG(x) AS a, SUM(x) / COUNT(*) AS r FROM t GROUP BY k ORDER BY n"
        release = session.sql(query, dp.approx(2, 1e-3))
        again = dp.Release.from_bytes(release.to_bytes())
        assert same(release, again)
        assert again.loss == dp.approx(2, 1e-3)
        assert repr(again) == repr(release)
        assert again.to_pandas().equals(release.to_pandas())
        assert again.to_polars().equals(release.to_polars())
    for garbage in (b"", b"x", release.to_bytes()[:-30], release.to_bytes()[:200]):
        with pytest.raises(dp.LedgerError, match="damaged"):
            dp.Release.from_bytes(garbage)


def test_a_policy_without_a_budget_needs_a_ledger_that_has_one(ledger: Path) -> None:
    bare = {key: value for key, value in policy_of().items() if key != "budget"}
    with pytest.raises(dp.LedgerError, match="budget"):
        dp.connect({"t": TABLE}, bare, ledger)
    assert not ledger.exists()
    dp.connect({"t": TABLE}, policy_of(), ledger).close()
    with dp.connect({"t": TABLE}, bare, ledger) as session:
        assert session.remaining == dp.pure(3)


def test_a_ledger_keeps_its_budget(ledger: Path) -> None:
    dp.connect({"t": TABLE}, policy_of(), ledger).close()
    with pytest.raises(dp.LedgerError, match="has a budget of epsilon 3, not of epsilon 4"):
        dp.connect({"t": TABLE}, policy_of(epsilon=4), ledger)


def test_a_source_that_fails_makes_no_ledger(ledger: Path) -> None:
    with pytest.raises(dp.DataError):
        dp.connect({"t": pa.table({"who": [1]})}, policy_of(), ledger)
    assert not ledger.exists()


@pytest.mark.parametrize("name", ["no/such/folder/t.ledger", "", ":memory:", "nul\0.ledger"])
def test_paths_that_cannot_be_a_ledger(name: str, tmp_path: Path) -> None:
    with pytest.raises(dp.LedgerError):
        dp.connect({"t": TABLE}, policy_of(), str(tmp_path / name) if "/" in name else name)


def test_after_closing_there_are_words_and_no_answers(session: Session) -> None:
    session.close()
    session.close()
    with pytest.raises(dp.DiscreetError):
        session.sql(QUERY, dp.pure(0.1))
    with pytest.raises(dp.DiscreetError):
        _ = session.spent


def test_errors_of_a_release(session: Session) -> None:
    release = session.sql(QUERY, dp.pure(0.5))
    with pytest.raises(dp.ParameterError, match="no column m; it has n, a"):
        release.error("m")
    for level in (0, 1, -0.5, float("nan"), "0.95", None):
        with pytest.raises(dp.ParameterError, match="level"):
            release.error("n", level)  # type: ignore[arg-type]
    assert list(release.error("n", 0.5)) < list(release.error("n", 0.99))


def test_a_budget_in_mu_pays_for_gaussian_answers_and_for_epsilon() -> None:
    with dp.connect({"t": TABLE}, policy_of(mu=1, delta="1e-6")) as opened:
        release = opened.sql(QUERY, spend=dp.mu("0.6"))
        assert release.loss == dp.mu("0.6")
        opened.sql("SELECT COUNT(*) AS n FROM t", spend=dp.pure("0.1"))
        grouped = opened.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k", spend=dp.mu("0.5", "1e-6"))
        assert set(grouped.to_arrow()["k"].to_pylist()) <= {"a", "b", "c"}
        left = opened.remaining
        with pytest.raises(dp.BudgetExceeded):
            opened.sql(QUERY, spend=dp.mu("0.7"))
        with pytest.raises(dp.ParameterError, match="mu"):
            opened.sql(QUERY, spend=dp.rho("0.01"))
        assert opened.remaining == left
    assert float(left.mu_squared) == pytest.approx(1 - 0.36 - 0.25 - dp.pure("0.1").mu() ** 2)


def test_rows_can_be_counted_where_the_policy_names_no_column() -> None:
    policy = {"version": "1", "budget": {"epsilon": 1000}, "tables": {"t": {"unit": "rows", "columns": {}}}}
    for table in (pa.table({"x": [1, 2, 3]}), pa.table({"x": [1, 2, 3]}).to_pandas()):
        with dp.connect({"t": table}, policy) as session:
            answer = session.sql("SELECT COUNT(*) AS n FROM t", spend=dp.pure(1000))
            assert answer.to_arrow().to_pylist() == [{"n": 3}]
