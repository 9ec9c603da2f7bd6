"""Accounts are apart: tokens that ended, errors of others' answers, baskets, locks, public tables that change."""

from __future__ import annotations

import errno
import fcntl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.privacy import pure
from discreet.query import Suggest
from discreet.server.desk import Ask, Caller, Desk, Refusal, open_desk
from discreet.server.desk._single_flight import SingleFlight

QUERY = "SELECT region, AVG(cost) AS c FROM visits GROUP BY region"
ASK = Ask(QUERY, pure("0.5"))

ACTS: dict[str, Callable[[Desk, Caller], object]] = {
    "quote": lambda desk, caller: desk.quote(caller, ASK),
    "quote without a spend": lambda desk, caller: desk.quote(caller, Ask(QUERY)),
    "quote_all": lambda desk, caller: desk.quote_all(caller, [ASK]),
    "answer": lambda desk, caller: desk.answer(caller, ASK, pure(1)),
    "answer for free": lambda desk, caller: desk.answer(caller, ASK),
    "answer_all": lambda desk, caller: desk.answer_all(caller, [ASK], pure(1)),
    "suggest": lambda desk, caller: desk.suggest(caller, Suggest("visits", "person", pure(1)), pure(1)),
    "rehearse": lambda desk, caller: desk.rehearse(caller, ASK),
    "budget": lambda desk, caller: desk.budget(caller),
    "history": lambda desk, caller: desk.history(caller),
    "shelf": lambda desk, caller: desk.shelf(caller),
    "request": lambda desk, caller: desk.request(caller, pure(1), ""),
    "budget_requests": lambda desk, caller: desk.budget_requests(caller),
    "check": lambda desk, caller: desk.check(caller),
}
READS = ("budget", "history", "shelf", "budget_requests", "check")


def refused(act: Callable[[], object]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        act()
    return caught.value


@pytest.mark.sampled
@pytest.mark.parametrize("end", ["revoke", "rotate"])
@pytest.mark.parametrize("name", ACTS)
def test_a_token_that_ended_does_nothing_more(sharing: Any, name: str, end: str) -> None:
    desk = sharing.desk
    desk.answer(sharing.ben, ASK, pure(1))
    getattr(desk.owner(), end)("ada")
    assert refused(lambda: ACTS[name](desk, sharing.ada)).kind == "sign-in"


@pytest.mark.parametrize("end", ["revoke", "rotate"])
@pytest.mark.parametrize("name", READS)
def test_nor_does_an_auditors(sharing: Any, name: str, end: str) -> None:
    getattr(sharing.desk.owner(), end)("officer")
    assert refused(lambda: ACTS[name](sharing.desk, sharing.officer)).kind == "sign-in"
    with pytest.raises(Refusal), sharing.desk.auditing(sharing.officer) as _:
        pytest.fail("the token has ended")


@pytest.mark.parametrize("role", ["analyst", "auditor"])
def test_an_account_without_a_token_is_for_those_who_open_the_ledger(team: Any, role: Any) -> None:
    cap = pure(1) if role == "analyst" else None
    team.desk.owner().ledger.grant("open", cap, role=role, token=False)
    words = {str(refused(lambda token=token: team.desk.sign_in("open", token))) for token in (None, "", "x")}
    assert words == {str(refused(lambda: team.desk.sign_in("ada", "x")))}


def test_errors_of_an_earlier_answer_are_those_of_the_accounts_own(team: Any) -> None:
    desk = team.desk
    for caller in (team.ada, team.ben):
        own = desk.answer(caller, ASK, pure(1)).table
        (earlier,) = desk.quote(caller, Ask(QUERY)).answers
        assert earlier.errors["c"] == max(own.error("c"))


def test_a_basket_that_cannot_be_answered_whole_costs_nothing(team: Any) -> None:
    desk, ben = team.desk, team.ben
    count = Ask("SELECT COUNT(*) AS n FROM visits", pure("0.2"))
    unknown = Ask("SELECT SUM(cost) AS s FROM visits")
    assert refused(lambda: desk.answer_all(ben, [count, unknown], pure(1))).kind == "price"
    assert desk.budget(ben).remaining == pure(1)
    desk.answer(team.ada, Ask(QUERY, pure("9.9")), pure(10))
    desk.owner().renew("", pure("10.05"))
    desk.answer(desk.sign_in("ada", team.tokens["ada"]), Ask(QUERY, pure("0.05")), pure(1))
    desk.owner().ledger.renew("", pure("0.25"))
    pair = [count, Ask("SELECT SUM(cost) AS s FROM visits", pure("0.2"))]
    refusal = refused(lambda: desk.answer_all(ben, pair, pure(1)))
    assert refusal.kind == "budget"
    assert "0.25" not in str(refusal)
    assert desk.budget(ben).remaining == pure(1)
    assert [each.source for each in desk.answer_all(ben, [count], pure(1))] == ["paid"]


def test_a_deadlock_that_the_system_sees_among_processes_is_waited_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flights, lockf, calls = SingleFlight(tmp_path / "lock"), fcntl.lockf, list[int]()

    def fail_first(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) < 3:
            raise OSError(errno.EDEADLK, "deadlock")
        return lockf(*arguments)

    monkeypatch.setattr(fcntl, "lockf", fail_first)
    with flights.only("plan"):
        assert len(calls) == 3
        assert flights.is_taken("plan")
        assert SingleFlight(tmp_path / "lock").is_taken("other") is False
    assert not flights.is_taken("plan")
    flights.close()


def test_public_tables_that_change_are_read_again(tmp_path: Path) -> None:
    policy = {
        "version": "1",
        "budget": {"epsilon": 9},
        "tables": {
            "visits": {
                "unit": "person",
                "max_rows": 1,
                "columns": {"person": {"type": "int"}, "ward": {"type": "int", "bounds": [0, 9]}},
            },
            "wards": {"public": True, "key": "id", "columns": {"id": {"type": "int"}, "kind": {"type": "string"}}},
        },
    }
    place = tmp_path / "wards.parquet"
    pq.write_table(pa.table({"id": [0, 1], "kind": ["a", "b"]}), place)
    visits = pa.table({"person": list(range(40)), "ward": [i % 4 for i in range(40)]})
    query = "SELECT kind, COUNT(*) AS n FROM visits JOIN wards ON visits.ward = wards.id GROUP BY kind"
    with open_desk({"visits": visits, "wards": str(place)}, policy, None) as desk:
        ada = desk.sign_in("ada", desk.owner().grant("ada", pure(9)))
        first = desk.quote(ada, Ask(query, pure(1)))
        pq.write_table(pa.table({"id": [0, 1, 2, 3], "kind": ["a", "a", "c", "d"]}), place)
        again = desk.quote(ada, Ask(query, pure(1)))
        assert first.id != again.id
        answered = desk.answer(ada, Ask(query, pure(1)), pure(1))
        assert set(answered.table.to_arrow()["kind"].to_pylist()) == {"a", "c", "d"}
