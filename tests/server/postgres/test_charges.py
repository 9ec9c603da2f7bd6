"""What would fail after a charge fails before it; what was undone charges nothing; no session holds too much."""

from __future__ import annotations

import threading
import tracemalloc
from contextlib import ExitStack
from fractions import Fraction
from typing import Any

import psycopg
import pytest
from frontends import SYNC, Wire, bind, describe, error, execute, kinds, parse, query, rows
from fronts import COUNT, POLICY, Front, fresh, terms

from discreet.errors import QueryError
from discreet.policy import load_policy
from discreet.server.desk import Desk
from discreet.server.postgres import Limits, _session
from discreet.server.postgres._portals import Portal, Portals
from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres.catalogue import Catalogue
from discreet.server.postgres.statements.parameters import Parametrized

TENTH = Fraction(1, 10)


def ask(wire: Wire, text: str) -> list[tuple[str, bytes]]:
    return wire.ask(query(text))


def new() -> str:
    return f"SELECT COUNT(*) AS n FROM visits WHERE {fresh()}"


def test_formats_are_checked_before_the_charge(front: Front, wire: Wire) -> None:
    before = front.spent()
    parts = (parse("", new()), bind("", "", [], [], [0, 1]), execute(), SYNC)
    assert error(wire.ask(*parts))["C"] == "08P01"
    assert front.spent() == before
    parts = (parse("", new()), bind("", "", [], [], [1]), execute(), SYNC)
    assert kinds(wire.ask(*parts)) == "12DCZ"
    assert front.spent() == before + TENTH


def test_columns_that_changed_since_they_were_described_are_noticed_before_the_charge(front: Front, wire: Wire) -> None:
    before = front.spent()
    begun = (parse("", new()), bind("", "", [], []), describe("P", ""))
    changed = (parse("s", "SET discreet.errors = on"), bind("s", "s", [], []), execute("s"))
    assert error(wire.ask(*begun, *changed, execute(), SYNC))["C"] == "0A000"
    assert front.spent() == before
    assert rows(ask(wire, "SHOW discreet.errors")) == [[b"off"]]


def test_columns_that_are_not_there_are_not_quoted(front: Front, wire: Wire) -> None:
    before = front.spent()
    assert error(ask(wire, f"COPY ({new()}) TO STDOUT (FORMAT csv, FORCE_QUOTE (nothing))"))["C"] == "42703"
    assert front.spent() == before
    assert kinds(ask(wire, f"COPY ({new()}) TO STDOUT (FORMAT csv, FORCE_QUOTE (n))")) == "HdcCZ"


def test_what_is_sent_together_is_undone_together(front: Front, wire: Wire) -> None:
    def shown() -> list[list[bytes | None]]:
        return rows(ask(wire, "SHOW discreet.epsilon"))

    assert error(ask(wire, "SET discreet.epsilon = 5; SELECT nothing FROM visits"))["C"] == "42703"
    assert shown() == [[b"0.1"]]
    parts = [parse("a", "SET discreet.epsilon = 5"), bind("", "a", [], []), execute()]
    parts += [parse("b", "SELECT nothing FROM visits"), bind("", "b", [], []), execute(), SYNC]
    assert error(wire.ask(*parts))["C"] == "42703"
    assert shown() == [[b"0.1"]]
    ask(wire, "SET discreet.epsilon = 5; BEGIN; SELECT nothing FROM visits")
    ask(wire, "ROLLBACK")
    assert shown() == [[b"0.1"]]
    ask(wire, "SET discreet.epsilon = 0.2; COMMIT; SELECT nothing FROM visits")
    assert shown() == [[b"0.2"]]
    ask(wire, "SET discreet.epsilon = 0.3; SELECT 1")
    assert shown() == [[b"0.3"]]
    with psycopg.connect(front.dsn()) as connection:  # what is reported is reported again
        with pytest.raises(psycopg.Error):
            connection.execute("SET application_name = 'other'; SELECT nothing FROM visits")
        connection.rollback()
        assert connection.info.parameter_status("application_name") == ""


@pytest.mark.parametrize(
    ("before", "together"),
    [
        ("SET discreet.rehearse = on", "RESET discreet.rehearse; {}; {}"),
        ("SET discreet.rehearse = on", "RESET ALL; SET discreet.epsilon = 0.1; {}; {}"),
        ("BEGIN; SET discreet.rehearse = on", "ROLLBACK; {}; {}"),
        ("BEGIN; SAVEPOINT s; SET discreet.rehearse = on", "ROLLBACK TO s; {}; {}"),
        ("BEGIN", "DECLARE a CURSOR FOR {}; DECLARE b CURSOR FOR {}; FETCH a; FETCH b"),
        ("BEGIN", "DECLARE a CURSOR FOR {}; FETCH a; {}"),
    ],
)
def test_the_settings_of_each_statement_decide_whether_it_costs(
    front: Front, wire: Wire, before: str, together: str
) -> None:
    ask(wire, before)
    spent = front.spent()
    assert error(ask(wire, together.format(new(), new())))["C"] == "0A000"
    assert front.spent() == spent


def test_a_cursor_costs_once(front: Front, wire: Wire) -> None:
    before = front.spent()
    ask(wire, "BEGIN")
    assert "E" not in kinds(ask(wire, f"DECLARE a CURSOR FOR {new()}; FETCH 1 FROM a; FETCH ALL FROM a"))
    assert "E" not in kinds(ask(wire, f"FETCH 1 FROM a; {new()}"))
    assert front.spent() == before + 2 * TENTH


def test_values_that_are_too_long_are_not_put_together() -> None:
    parametrized = Parametrized("SELECT " + ", ".join(["$1"] * 3_000))
    tracemalloc.start()
    try:
        with pytest.raises(SqlError, match="at most"):
            parametrized.filled(["'" + "x" * 200_000 + "'"])
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_portals_hold_no_more_than_so_much() -> None:
    portals = Portals()
    portals.open("a", Portal(None, rows=[bytes(1 << 20)] * 16))
    portals.check_size()
    portals.open("b", Portal(None, rows=[b"x"]))
    with pytest.raises(SqlError, match="too many rows"):
        portals.check_size()


def test_answers_of_the_catalogue_are_bounded() -> None:
    catalogue = Catalogue("visits", load_policy(POLICY), "ada")
    try:
        with pytest.raises(QueryError, match="8 MiB"):
            catalogue.answer(f"SELECT '{'x' * 8_000}' AS x FROM generate_series(1, 20000)")
    finally:
        catalogue.close()


def test_turns_are_by_account_whatever_the_database_is_called(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    held, at_once, most, answer = threading.Event(), 0, 0, Desk.answer
    lock = threading.Lock()

    def slow(desk: Desk, caller: Any, *arguments: Any, **more: Any) -> Any:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        held.wait(0.5)
        with lock:
            at_once -= 1
        return answer(desk, caller, *arguments, **more)

    monkeypatch.setattr(Desk, "answer", slow)
    with ExitStack() as stack:
        stack.callback(held.set)
        for number in range(12):
            wire = stack.enter_context(Wire(front.host, front.port))
            options = "-c discreet.epsilon=0.1"
            wire.sign_in(front.tokens["ada"], user="ada", database=f"any{number}", options=options)
            wire.send(query(COUNT))
        held.wait(0.3)
    assert most == 8


def test_no_account_has_all_sessions() -> None:
    running = Front(terms(insecure=True), limits=Limits(connections=8)).start()
    try:
        with psycopg.connect(running.dsn()), psycopg.connect(running.dsn()):
            with pytest.raises(psycopg.OperationalError, match="too many sessions"):
                psycopg.connect(running.dsn())
            with psycopg.connect(running.dsn("bob")):
                pass
        with psycopg.connect(running.dsn()):
            pass
    finally:
        running.stop()


def test_sign_ins_wait_behind_no_question(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    held = threading.Event()

    def slow(*_: Any, **__: Any) -> Any:
        held.wait(60)
        raise QueryError("slow")

    with ExitStack() as stack:
        stack.callback(held.set)
        monkeypatch.setattr(Desk, "quote", slow)
        for number in range(40):
            wire = stack.enter_context(Wire(front.host, front.port))
            wire.sign_in(front.tokens[("ada", "bob")[number % 2]], user=("ada", "bob")[number % 2], database="visits")
            wire.send(query(f"EXPLAIN {COUNT}"))
        other = stack.enter_context(Wire(front.host, front.port))
        other.socket.settimeout(20)
        other.sign_in(front.tokens["poor"], user="poor", database="visits")
        assert rows(other.ask(query("SELECT 1"))) == [[b"1"]]
        assert not held.is_set()


def test_a_long_text_is_read_in_a_thread(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is read on the event loop, all others would wait."""
    threads: list[str] = []

    def split(text: str) -> list[str]:
        threads.append(threading.current_thread().name.split("_")[0])
        return [text]

    monkeypatch.setattr(_session, "split", split)
    for count in (1, 9_000):
        ask(wire, f"SELECT COUNT(*) FROM visits WHERE cost IN ({', '.join(['1'] * count)})")
    assert [each.startswith("postgres") for each in threads] == [False, True]
