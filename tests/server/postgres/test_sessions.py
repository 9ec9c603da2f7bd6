"""Sessions message by message: portals, cursors, transactions, settings, what costs and what does not."""

from __future__ import annotations

import threading
import time
from contextlib import ExitStack
from fractions import Fraction
from typing import Any

import frontends
import psycopg
import pytest
from frontends import (
    FLUSH,
    SYNC,
    Wire,
    bind,
    close,
    describe,
    error,
    execute,
    fields,
    kinds,
    parse,
    query,
    rows,
    tag,
)
from fronts import COUNT, Front, fresh

from discreet.server.desk import Desk, Refusal

TENTH = Fraction(1, 10)


def ask(wire: Wire, text: str) -> list[tuple[str, bytes]]:
    return wire.ask(query(text))


def test_a_greeting(front: Front) -> None:
    with Wire(front.host, front.port) as wire:
        seen = wire.sign_in(front.tokens["ada"], user="ada", application_name="it")
    reported = dict(body[:-1].decode().split("\0") for kind, body in seen if kind == "S")
    assert reported["server_version"] == "18.4" and reported["application_name"] == "it"
    assert (reported["client_encoding"], reported["DateStyle"], reported["TimeZone"]) == ("UTF8", "ISO, MDY", "UTC")
    assert reported["session_authorization"] == "ada" and reported["default_transaction_read_only"] == "on"
    assert seen[-1] == ("Z", b"I")


def test_a_simple_query(wire: Wire) -> None:
    seen = ask(wire, COUNT)
    assert kinds(seen) == "TDDDCZ" and tag(seen) == ["SELECT 3"]
    assert [row[0] for row in rows(seen)] == [b"Cork", b"Galway", b"Limerick"]
    assert kinds(ask(wire, "")) == kinds(ask(wire, "-- nothing\n ;")) == "IZ"
    assert kinds(ask(wire, "SET discreet.level = 0.9; SELECT 1; SHOW discreet.level")) == "CTDCTDCZ"


def test_describing_never_charges(front: Front, wire: Wire) -> None:
    before = front.spent()
    text = f"SELECT city, COUNT(*) AS n, AVG(cost) AS c FROM visits WHERE {fresh()} AND cost < $1 GROUP BY city"
    seen = wire.ask(
        parse("s", text), describe("S", "s"), bind("p", "s", [], [b"50"], [1]), describe("P", "p"), describe("P", "p"),
        query("SET discreet.errors = on"), SYNC,
    )  # fmt: skip
    assert kinds(seen) == "1tT2TTCZ"
    assert front.spent() == before
    assert seen[1][1] == b"\0\1" + (701).to_bytes(4, "big")


def test_a_portal_is_paid_once_and_read_in_parts(front: Front, wire: Wire) -> None:
    before = front.spent()
    text = f"SELECT city, COUNT(*) AS n FROM visits WHERE {fresh()} GROUP BY city"
    seen = wire.ask(
        parse("", text), bind("", "", [], []), describe("P", ""), execute("", 1), execute("", 1), execute("", 5),
        execute("", 5), SYNC,
    )  # fmt: skip
    assert kinds(seen) == "12TDsDsDCCZ" and tag(seen) == ["SELECT 1", "SELECT 0"]
    assert len({bytes(row[0] or b"") for row in rows(seen)}) == 3
    assert front.spent() == before + TENTH
    assert error(wire.ask(execute("", 1), SYNC))["C"] == "34000"


def test_a_portal_lives_as_long_as_its_transaction(wire: Wire) -> None:
    seen = wire.ask(query("BEGIN"))
    seen = wire.ask(parse("", COUNT), bind("kept_open", "", [], []), execute("kept_open", 1), SYNC)
    assert kinds(seen) == "12DsZ"
    assert kinds(wire.ask(execute("kept_open", 1), SYNC)) == "DsZ"
    assert kinds(wire.ask(close("P", "kept_open"), close("P", "never"), SYNC)) == "33Z"
    assert error(wire.ask(execute("kept_open", 1), SYNC))["C"] == "34000"
    assert tag(ask(wire, "COMMIT")) == ["ROLLBACK"]


def test_statements_have_names(wire: Wire) -> None:
    assert kinds(wire.ask(parse("s", "SELECT 1"), bind("", "s", [], [], [1]), execute(), SYNC)) == "12DCZ"
    assert rows(wire.ask(bind("", "s", [], [], [1]), execute(), SYNC)) == [[b"\0\0\0\1"]]
    assert error(wire.ask(parse("s", "SELECT 2"), SYNC))["C"] == "42P05"
    assert kinds(wire.ask(close("S", "s"), parse("s", "SELECT 2"), bind("", "s", [], []), execute(), SYNC)) == "312DCZ"
    assert tag(ask(wire, "DEALLOCATE s")) == ["DEALLOCATE"]
    assert error(wire.ask(bind("", "s", [], []), SYNC))["C"] == "26000"
    assert error(wire.ask(describe("S", "s"), SYNC))["C"] == "26000"
    assert kinds(wire.ask(parse("", ""), bind("", "", [], []), describe("P", ""), execute(), SYNC)) == "12nIZ"


@pytest.mark.parametrize(
    ("parts", "sqlstate"),
    [
        ([parse("", "SELECT 1; SELECT 2")], "42601"),
        ([parse("", "SELEC")], "42601"),
        ([parse("", "SELECT $1"), bind("", "", [], [])], "08P01"),
        ([parse("", "SELECT 1"), bind("", "", [], [b"1"])], "08P01"),
        ([parse("", "SELECT 1"), bind("", "", [], [], [0, 1]), execute()], "08P01"),
        ([parse("", "SELECT 1"), bind("", "", [], [], [0, 1]), describe("P", "")], "08P01"),
        ([parse("", "SELECT COUNT(*) FROM visits WHERE stay < $1", [23]), bind("", "", [0], [b"x"])], "22P02"),
        ([parse("", "SELECT COUNT(*) FROM visits WHERE stay < $1", [23]), bind("", "", [1], [b"x"])], "22P03"),
        ([parse("", "SELECT COUNT(*) FROM visits WHERE city = $1", [25]), bind("", "", [0], [b"\xff"])], "22P02"),
        ([parse("", "SELECT COUNT(*) FROM visits WHERE city = $1", [1182]), bind("", "", [0], [b"{}"])], "0A000"),
        ([parse("", "SELECT * FROM visits"), describe("S", "")], "42501"),
        ([describe("P", "none")], "34000"),
        ([execute("none")], "34000"),
    ],
)
def test_an_error_skips_to_the_next_sync(wire: Wire, parts: list[bytes], sqlstate: str) -> None:
    seen = wire.ask(*parts, parse("", "SELECT 7"), bind("", "", [], []), execute(), SYNC)
    assert error(seen)["C"] == sqlstate
    assert kinds(seen).endswith("EZ") and rows(seen) == []
    assert rows(ask(wire, "SELECT 3")) == [[b"3"]]


def test_flush_sends_what_waits(wire: Wire) -> None:
    wire.send(parse("", "SELECT 1"), describe("S", ""), FLUSH)
    assert kinds(wire.until("T")) == "1tT"
    assert kinds(wire.ask(SYNC)) == "Z"


def test_what_a_portal_describes_it_answers(front: Front, wire: Wire) -> None:
    """A setting that changes the columns meanwhile is an error, as it is in PostgreSQL."""
    wire.send(query("BEGIN"))
    wire.until()
    wire.ask(parse("", COUNT), bind("p", "", [], []), describe("P", "p"), SYNC)
    ask(wire, "SET discreet.errors = on")
    assert error(wire.ask(execute("p"), SYNC))["C"] == "0A000"
    ask(wire, "ROLLBACK")


def test_a_cursor_is_paid_at_its_first_fetch(front: Front, wire: Wire) -> None:
    before = front.spent()
    text = f"SELECT city, COUNT(*) AS n FROM visits WHERE {fresh()} GROUP BY city"
    assert error(ask(wire, f"DECLARE c CURSOR FOR {text}"))["C"] == "25P01"
    ask(wire, "BEGIN")
    assert tag(ask(wire, f'DECLARE "C" NO SCROLL CURSOR FOR {text}')) == ["DECLARE CURSOR"]
    assert kinds(wire.ask(describe("P", "C"), SYNC)) == "TZ" and front.spent() == before
    first = ask(wire, 'FETCH 2 FROM "C"')
    assert kinds(first) == "TDDCZ" and tag(first) == ["FETCH 2"] and front.spent() == before + TENTH
    assert tag(ask(wire, 'MOVE 1 IN "C"')) == ["MOVE 1"]
    assert tag(ask(wire, 'FETCH ALL FROM "C"')) == ["FETCH 0"]
    assert tag(ask(wire, 'CLOSE "C"')) == ["CLOSE CURSOR"]
    assert error(ask(wire, 'FETCH "C"'))["C"] == "34000"
    ask(wire, "ROLLBACK")
    assert tag(ask(wire, f"DECLARE h CURSOR WITH HOLD FOR {text}")) == ["DECLARE CURSOR"]
    assert tag(ask(wire, "FETCH FORWARD 1 FROM h")) == ["FETCH 1"] and front.spent() == before + TENTH
    assert tag(ask(wire, "CLOSE ALL")) == ["CLOSE CURSOR ALL"]


def test_a_transaction_that_failed_takes_nothing_but_its_end(wire: Wire) -> None:
    assert ask(wire, "BEGIN")[-1] == ("Z", b"T")
    assert ask(wire, "SELECT nothing FROM visits")[-1] == ("Z", b"E")
    for text in ("SELECT 1", "SET discreet.level = 0.5", "SHOW all", "SAVEPOINT s", "BEGIN"):
        assert error(ask(wire, text))["C"] == "25P02"
    assert error(wire.ask(parse("", "SELECT 1"), SYNC))["C"] == "25P02"
    seen = ask(wire, "COMMIT")
    assert tag(seen) == ["ROLLBACK"] and seen[-1] == ("Z", b"I")


def test_savepoints(wire: Wire) -> None:
    assert error(ask(wire, "SAVEPOINT s"))["C"] == "25P01"
    ask(wire, "BEGIN")
    ask(wire, "SET discreet.level = 0.8")
    assert tag(ask(wire, "SAVEPOINT s")) == ["SAVEPOINT"]
    ask(wire, "SET discreet.level = 0.5")
    assert ask(wire, "SELECT nothing")[-1] == ("Z", b"E")
    assert ask(wire, "ROLLBACK TO s")[-1] == ("Z", b"T")
    assert rows(ask(wire, "SHOW discreet.level")) == [[b"0.8"]]
    assert tag(ask(wire, "RELEASE s")) == ["RELEASE"]
    assert error(ask(wire, "ROLLBACK TO s"))["C"] == "3B001"
    assert tag(ask(wire, "ROLLBACK")) == ["ROLLBACK"]
    assert rows(ask(wire, "SHOW discreet.level")) == [[b"0.95"]]


def test_settings_of_a_transaction(wire: Wire) -> None:
    ask(wire, "BEGIN; SET LOCAL discreet.level = 0.5; SET discreet.errors = on")
    assert rows(ask(wire, "SHOW discreet.level")) == [[b"0.5"]]
    ask(wire, "COMMIT")
    assert rows(ask(wire, "SHOW discreet.level; SHOW discreet.errors")) == [[b"0.95"], [b"on"]]
    seen = ask(wire, "SET application_name = 'x'")
    assert ("S", b"application_name\0x\0") in seen
    assert ("S", b"application_name\0\0") in ask(wire, "DISCARD ALL")
    assert fields(ask(wire, "SET LOCAL discreet.level = 0.5")[0][1])["C"] == "25P01"
    assert error(ask(wire, "SET LOCAL discreet.level = 7"))["C"] == "22023"


def test_rollback_says_that_spending_is_not_undone(front: Front, wire: Wire) -> None:
    before = front.spent()
    ask(wire, f"BEGIN; SELECT COUNT(*) FROM visits WHERE {fresh()}")
    seen = ask(wire, "ROLLBACK")
    assert kinds(seen) == "NCZ" and "spending is not undone" in fields(seen[0][1])["M"]
    assert front.spent() == before + TENTH
    ask(wire, "BEGIN; SELECT 1")
    assert kinds(ask(wire, "ROLLBACK")) == "CZ"
    assert fields(ask(wire, "ROLLBACK")[0][1])["C"] == "25P01"
    assert kinds(ask(wire, "BEGIN")) == "CZ" and fields(ask(wire, "BEGIN")[0][1])["C"] == "25001"


def test_several_statements_of_which_more_than_one_costs(front: Front, wire: Wire) -> None:
    before = front.spent()
    first, second = (f"SELECT COUNT(*) FROM visits WHERE {fresh()}" for _ in range(2))
    for text in (f"{first}; {second}", f"SET discreet.epsilon = 1; COPY ({first}) TO STDOUT; {second}"):
        seen = ask(wire, text)
        assert error(seen)["C"] == "0A000" and kinds(seen) == "EZ"
    assert front.spent() == before
    assert kinds(ask(wire, f"SELECT 1; {first}; SELECT 2")) == "TDCTDCTDCZ"
    assert kinds(ask(wire, f"{first}; {second}")) == "TDCTDCZ"
    assert front.spent() == before + 2 * TENTH


def test_what_is_prepared_is_bounded(wire: Wire) -> None:
    long = f"SELECT COUNT(*) FROM visits WHERE city <> $1 AND city <> '{'x' * 60_000}'"
    states = [error(wire.ask(parse(f"s{i}", long), SYNC)).get("C") for i in range(40)]
    assert states[:30] == [None] * 30 and set(states[36:]) == {"54000"}
    assert error(wire.ask(bind("", "s0", [], [b"x" * 10_000]), SYNC))["C"] == "54000"
    assert error(wire.ask(parse("", "SELECT $1"), bind("", "", [], [b"'" * 40_000]), SYNC))["C"] == "54000"


def test_a_simple_query_has_a_hundred_statements_at_most(wire: Wire) -> None:
    assert len(rows(ask(wire, "SELECT 1;" * 100))) == 100
    assert error(ask(wire, "SELECT 1;" * 101))["C"] == "54000"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1", "SELECT 'a', 2.5, NULL, true AS t", "SELECT version()", "SELECT pg_catalog.current_schema()",
        "SELECT current_user, current_database()", "SELECT pg_advisory_unlock_all()", "SHOW ALL",
        "SHOW server_version", "SELECT DISTINCT city FROM visits", f"{COUNT} LIMIT 0", "SELECT * FROM discreet.budget",
        "SELECT * FROM visits LIMIT 0", "SELECT city FROM public.visits v WHERE city = 'a' LIMIT 0",
        'SELECT "question" AS q, loss FROM discreet.history ORDER BY answered DESC LIMIT 3',
        'SELECT "discreet"."history"."loss" AS "l" FROM "discreet"."history"', f"EXPLAIN {COUNT}", "EXPLAIN SELECT 1",
        "SELECT number, question FROM discreet.shelf LIMIT 1",
    ],
)  # fmt: skip
def test_what_is_free(front: Front, text: str) -> None:
    with psycopg.connect(front.dsn("poor", options="-c discreet.epsilon=0.1"), autocommit=True) as connection:
        before = front.spent("poor")
        for binary in (False, True):
            described = connection.execute(text, binary=binary)
            assert described.description
            described.fetchall()
        assert front.spent("poor") == before


@pytest.mark.parametrize(
    ("text", "sqlstate"),
    [
        ("SELECT nothing FROM visits", "42703"), ("SELECT SUM(nothing) FROM visits", "42703"),
        ("SELECT COUNT(*) FROM nothing", "42P01"), ("SELECT COUNT(*) FROM discreet.nothing", "42P01"),
        ("SELECT nothing FROM discreet.budget", "42703"), ("SELECT COUNT(*) FROM discreet.history", "0A000"),
        ("SELECT * FROM visits", "42501"), ("SELECT city FROM visits", "42501"), ("TABLE visits", "42501"),
        ("SELECT COUNT(* FROM visits", "42601"), ("SELEC", "42601"), ("SELECT pg_sleep(1) FROM visits", "0A000"),
        ("DELETE FROM visits", "25006"), ("COPY visits TO STDOUT", "42501"), ("COPY visits FROM STDIN", "25006"),
        ("WITH x AS (DELETE FROM visits RETURNING *) SELECT COUNT(*) FROM x", "25006"), ("SELECT 1 FROM", "42601"),
        ("SELECT COUNT(*) FROM read_csv('/etc/passwd')", "0A000"), ("SELECT $1", "42P02"), ("SET nothing = 1", "42704"),
    ],
)  # fmt: skip
def test_refusals_have_the_states_of_postgresql(front: Front, wire: Wire, text: str, sqlstate: str) -> None:
    before = front.spent()
    assert error(ask(wire, text))["C"] == sqlstate
    assert front.spent() == before


def test_without_a_spend_only_answers_come_that_are_there(front: Front) -> None:
    question = f"SELECT COUNT(*) AS n FROM visits WHERE {fresh()}"
    with psycopg.connect(front.dsn("bob"), autocommit=True) as connection:
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded) as refused:
            connection.execute(question)
        assert "SET discreet.epsilon" in str(refused.value)
        connection.execute("SET discreet.epsilon = 0.1; SET discreet.max_price = 0.01")
        with pytest.raises(
            psycopg.errors.ConfigurationLimitExceeded, match=r"costs epsilon 0\.1, more than the epsilon 0\.01"
        ):
            connection.execute(question)
        connection.execute("RESET discreet.max_price")
        paid = connection.execute(question).fetchall()
        connection.execute("RESET ALL")
        assert connection.execute(question).fetchall() == paid


def test_a_budget_that_is_spent(front: Front) -> None:
    with psycopg.connect(front.dsn("poor", options="-c discreet.epsilon=0.1"), autocommit=True) as connection:
        connection.execute(f"SELECT COUNT(*) FROM visits WHERE {fresh()}")
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded) as refused:
            connection.execute(f"SELECT COUNT(*) FROM visits WHERE {fresh()}")
        assert "discreet.budget" in str(refused.value)
        assert connection.execute("SELECT remaining FROM discreet.budget").fetchone() == ("epsilon 0.05",)


def test_a_rehearsal_is_free_and_says_so(front: Front) -> None:
    heard: list[str] = []
    with psycopg.connect(
        front.dsn(options="-c discreet.rehearse=on -c discreet.epsilon=1"), autocommit=True
    ) as connection:
        connection.add_notice_handler(lambda notice: heard.append(notice.message_primary or ""))
        before = front.spent()
        assert (
            len(connection.execute(f"SELECT city, COUNT(*) FROM visits WHERE {fresh()} GROUP BY city").fetchall()) == 3
        )
        assert front.spent() == before and "a rehearsal" in heard[0]


def test_notices_are_sent_to_who_wants_them(front: Front) -> None:
    heard: list[str] = []
    with psycopg.connect(front.dsn(options="-c discreet.epsilon=0.1"), autocommit=True) as connection:
        connection.add_notice_handler(lambda notice: heard.append(notice.message_primary or ""))
        connection.execute(COUNT)
        connection.execute("SET client_min_messages = warning")
        connection.execute(COUNT)
    assert len(heard) == 1


class Slow:
    """A desk that answers when it is let, unless the question is cancelled meanwhile."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self.asked = desk, threading.Event()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._desk, name)

    def answer(self, caller: Any, question: Any, max_price: Any = None, *, ticket: Any, **more: Any) -> Any:
        self.asked.set()
        until = time.monotonic() + 30
        while time.monotonic() < until and not ticket._cancelled:
            time.sleep(0.005)
        raise Refusal("cancelled", "the query was cancelled; what was reserved for it stays spent")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch, front: Front) -> Slow:
    desk = Slow(front.desk)
    monkeypatch.setattr(front.front, "_desks", {"visits": desk})
    return desk


@pytest.mark.parametrize("minor", [0, 2])
def test_a_question_is_cancelled_by_another_connection(front: Front, slow: Slow, minor: int) -> None:
    with Wire(front.host, front.port) as wire:
        seen = wire.sign_in(front.tokens["ada"], minor, user="ada")
        secret = next(body for kind, body in seen if kind == "K")
        process, key = int.from_bytes(secret[:4], "big"), secret[4:]
        wire.send(query(COUNT))
        assert slow.asked.wait(10)
        for other_process, other_key in ((process, bytes(len(key))), (process + 1, key), (process, key + b"x")):
            with Wire(front.host, front.port) as other:
                other.send(frontends.cancel(other_process, other_key))
                assert other.until("E") == [("", b"")]
        wire.socket.settimeout(0.2)
        with pytest.raises(TimeoutError):
            wire.message()
        wire.socket.settimeout(30)
        with Wire(front.host, front.port) as other:
            other.send(frontends.cancel(process, key))
            assert other.until("E") == [("", b"")]
        refused = error(seen := wire.until())
        assert refused["C"] == "57014" and "stays spent" in refused["M"] and kinds(seen) == "EZ"
        assert rows(ask(wire, "SELECT 1")) == [[b"1"]]


def test_a_statement_has_a_timeout(front: Front, slow: Slow) -> None:
    with Wire(front.host, front.port) as wire:
        wire.sign_in(front.tokens["ada"], user="ada", statement_timeout="50ms")
        refused = error(ask(wire, COUNT))
        assert refused["C"] == "57014" and "timeout" in refused["M"] and "stays spent" in refused["M"]
        assert error(ask(wire, "EXPLAIN SELECT COUNT(*) FROM nothing"))["C"] == "42P01"


def test_what_fails_within_is_not_told(monkeypatch: pytest.MonkeyPatch, front: Front) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("/secret/path of a row")

    with Wire(front.host, front.port) as wire:
        wire.sign_in(front.tokens["ada"], user="ada")
        monkeypatch.setattr(front.desk, "budget", broken)
        refused = error(ask(wire, "SELECT * FROM discreet.budget"))
        assert refused["C"] == "XX000" and "secret" not in str(refused)
        assert front.status.pop() == "internal error: ZeroDivisionError; the server goes on, and reports this kind once"
        assert rows(ask(wire, "SELECT 1")) == [[b"1"]]


def test_one_account_does_not_take_all_threads(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    held, answer = threading.Event(), Desk.answer

    def slow(desk: Desk, caller: Any, *arguments: Any, **more: Any) -> Any:
        if caller.name == "ada":
            held.wait(60)
        return answer(desk, caller, *arguments, **more)

    monkeypatch.setattr(Desk, "answer", slow)
    settings = {"user": "", "database": "visits", "options": "-c discreet.epsilon=0.1"}
    with ExitStack() as stack:
        stack.callback(held.set)
        for _ in range(40):
            wire = stack.enter_context(Wire(front.host, front.port))
            wire.sign_in(front.tokens["ada"], **{**settings, "user": "ada"})
            wire.send(query(COUNT))
        other = stack.enter_context(Wire(front.host, front.port))
        other.sign_in(front.tokens["bob"], **{**settings, "user": "bob"})
        assert len(rows(other.ask(query(COUNT)))) == 3
        assert not held.is_set()
