"""The desk's log: everything that happened is in it, nothing that was asked, and no line can be changed unnoticed."""

from __future__ import annotations

import asyncio
import base64
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from discreet.errors import DiscreetError, LedgerError
from discreet.privacy import pure
from discreet.server.desk import Ask, AuditLog, Refusal
from discreet.server.desk._audit_log import RefusalLog
from discreet.server.desk._state import State
from discreet.server.http._app import create_app
from discreet.server.http._options import ApiOptions

ADDRESS = "203.0.113.77"
MARK = "zqx"
"""In every literal, name and reason that is sent; it may be nowhere in the log."""


def odd_questions() -> list[str]:
    """Questions that are planned, refused by the planner, or no SQL at all, each with a literal of its own."""
    shapes = (
        "SELECT COUNT(*) AS n FROM visits WHERE region = '{}'",
        "SELECT COUNT(*) AS {} FROM visits",
        "SELECT region, COUNT(*) AS n FROM visits WHERE region <> '{}' GROUP BY region",
        "SELECT SUM(cost) AS s FROM visits WHERE region LIKE '{}%'",
        "SELECT * FROM visits WHERE region = '{}'",
        "SELECT {} FROM visits",
        "SELECT COUNT(*) FROM {}",
        "DROP TABLE {}",
        "COPY visits FROM '/etc/{}'",
        "SELECT COUNT(*) AS n FROM visits; SELECT '{}'",
        "{}",
        "SELECT '{}",
        "SELECT COUNT(*) AS n FROM visits -- {}",
        "SELECT COUNT(*) AS n /* {} */ FROM visits",
        "SELECT COUNT(*) AS n FROM visits WHERE person = 7357{}",
        "SELECT CAST('{}' AS INTEGER) AS n FROM visits",
        "SELECT COUNT(*) AS n FROM visits WHERE {}(region) = 1",
        "SELECT region AS {}, AVG(cost) AS a FROM visits GROUP BY region",
        "SELECT COUNT(*) AS n FROM read_csv('{}')",
        "SELECT COUNT(*) AS n FROM visits WHERE region = 'south' OR '{}' = '{}'",
    )
    return [shape.replace("{}", f"{MARK}{number}") for number in range(10) for shape in shapes]


def lines_of(log: AuditLog) -> list[Any]:
    lines: list[Any] = []
    while more := log.entries(after=lines[-1].seq if lines else -1, count=1_000):
        lines += more
    return lines


def test_no_address_no_literal_and_no_secret_is_in_it(team: Any, tmp_path: Path) -> None:
    questions = odd_questions()
    assert len(questions) == 200
    transport = httpx2.ASGITransport(
        create_app({"shop": team.desk}, ApiOptions(account_burst=1e4, address_burst=1e4)), client=(ADDRESS, 41_234)
    )
    secrets = [*team.tokens.values()]

    async def ask_all() -> None:
        async with httpx2.AsyncClient(transport=transport, base_url="http://desk") as client:
            code = team.desk.owner_sign_ins.new_code()
            token = (await client.post("/v1/owner/sign-in", json={"code": code})).json()["token"]
            secrets.extend([code, token, token.removeprefix("discreet-owner-")])
            owner = {"Authorization": f"Bearer {token}"}
            ada = "ada", team.tokens["ada"]
            statuses: set[int] = set()
            for number, query in enumerate(questions):
                body: dict[str, Any] = {"query": query, "spend": {"epsilon": "0.01"}, "max_price": {"epsilon": 1}}
                key = {"Idempotency-Key": f"{MARK}-{number}"}
                if (number + number // 20) % 2:
                    answer = await client.post("/v1/answers", json=body, auth=ada, headers=key)
                else:
                    del body["max_price"]
                    answer = await client.post("/v1/plans", json=body, auth=ada)
                statuses.add(answer.status_code)
            assert statuses == {200, 422}
            # secrets where names belong, and names that nobody has
            for name, password in ((ada[1], "x"), (f"{MARK}-nobody", ada[1]), ("ada", MARK), (token, token)):
                assert (await client.get("/v1/budget", auth=(name, password))).status_code == 401
            assert (await client.post("/v1/owner/sign-in", json={"code": MARK})).status_code == 401
            for bad in (f"Bearer {ada[1]}", f"Bearer discreet-owner-{MARK}", f"Basic {MARK}"):
                assert (await client.get("/v1/budget", headers={"Authorization": bad})).status_code == 401
            await client.post("/v1/requests", json={"spend": {"epsilon": 1}, "reason": f"for {MARK}"}, auth=ada)
            answer = await client.post("/v1/accounts", json={"name": "cy", "cap": {"epsilon": 1}}, headers=owner)
            secrets.append(answer.json()["token"])
            for _ in range(2):
                answer = await client.post("/v1/accounts/cy/token", headers=owner)
                secrets.append(answer.json()["token"])
            secrets.append((await client.post("/v1/metrics/token", headers=owner)).json()["token"])

    asyncio.run(ask_all())
    lines = lines_of(team.desk.log)
    assert len(lines) > 150
    assert [line.data.get("reason") for line in lines].count("code") == 1
    text = "\n".join(f"{line.account} {line.act} {line.data}" for line in lines)
    for word in (MARK, ADDRESS, "41234", "127.0.0.1", "SELECT", "visits", "region", *secrets):
        assert word not in text, word
    with sqlite3.connect(tmp_path / "a.desk") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    stored = (tmp_path / "a.desk").read_bytes()
    for secret in secrets:  # nor anywhere else in the file
        assert secret.encode() not in stored
        assert base64.b64encode(secret.encode()) not in stored
    assert ADDRESS.encode() not in stored
    assert team.desk.log.verify() == len(lines)


def test_everything_that_happens_is_in_it(team: Any) -> None:
    desk, owner = team.desk, team.desk.owner()

    def more() -> list[tuple[str, str]]:
        nonlocal seen
        lines = lines_of(desk.log)[seen:]
        seen += len(lines)
        return [(line.act, line.account) for line in lines]

    seen = 0
    begun = more()
    assert {("grant", "ada"), ("grant", "ben"), ("grant", "officer")} <= set(begun)
    assert {("sign-in", "ada"), ("sign-in", "ben"), ("sign-in", "officer")} <= set(begun)

    token = desk.owner_sign_ins.exchange(desk.owner_sign_ins.new_code())
    desk.admit_owner(token)
    desk.admit_owner(token)
    assert more() == [("sign-in", "")]  # its token comes with each request, and is one sign-in
    desk.sign_in("ada", team.tokens["ada"])
    desk.sign_in("ada", team.tokens["ada"], with_each_request=True)
    desk.sign_in("ada", team.tokens["ada"], with_each_request=True)
    assert more() == [("sign-in", "ada")] * 2
    desk.admit("ada", "scram")
    desk.admit("officer", "oidc", "a token")
    desk.admit("officer", "oidc", "a token")
    assert more() == [("sign-in", "ada"), ("sign-in", "officer")]

    ask = Ask("SELECT COUNT(*) AS n FROM visits", pure("0.5"))
    desk.quote(team.ada, ask)
    desk.quote_all(team.ada, [ask, ask])
    assert more() == [("plan", "ada"), ("plan", "ada")]
    request = desk.request(team.ada, pure(1), "more")
    other = desk.request(team.ada, pure(2), "still more")
    owner.approve(request.number)
    owner.decline(other.number)
    assert more() == [("request", "ada"), ("request", "ada"), ("grant", "ada"), ("decline", "ada")]

    owner.grant("cy", pure(1))
    owner.amend("cy", cap=pure(2))
    owner.freeze("cy")
    owner.thaw("cy")
    owner.freeze("")
    owner.thaw("")
    owner.renew("cy")
    owner.transfer("cy", "ada", pure("0.5"))
    owner.rotate("cy")
    owner.revoke("cy")
    assert more() == [
        ("grant", "cy"),
        ("grant", "cy"),
        ("freeze", "cy"),
        ("thaw", "cy"),
        ("freeze", ""),
        ("thaw", ""),
        ("renew", "cy"),
        ("transfer", "cy"),
        ("rotate", "cy"),
        ("revoke", "cy"),
    ]

    refused = {
        "sign-in": lambda: desk.sign_in("ada", "wrong"),
        "query": lambda: desk.quote(team.ada, Ask("SELECT * FROM visits", pure(1))),
        "price": lambda: desk.answer(team.ada, Ask("SELECT COUNT(*) AS n FROM visits", pure(1))),
        "budget": lambda: desk.answer(team.ben, Ask("SELECT COUNT(*) AS n FROM visits", pure(5)), pure(5)),
        "role": lambda: desk.request(team.officer, pure(1), "me too"),
        "unknown": lambda: desk.answer_by_id(team.ada, "0" * 64),
        "parameter": lambda: desk.rehearse(team.ada, Ask("SELECT COUNT(*) AS n FROM visits")),
    }
    for kind, act in refused.items():
        with pytest.raises(Refusal) as refusal:
            act()
        assert refusal.value.kind == kind
        (line,) = lines_of(desk.log)[seen:]
        seen += 1
        assert (line.act, line.data["kind"]) == ("refusal", kind)
    for name in ("deciding", "auditing"):
        with pytest.raises(DiscreetError), getattr(desk, name)(team.ada):
            pass
        assert more() == [("refusal", "ada")]
    assert desk.log.verify() == seen


def test_sign_ins_that_fail_do_not_fill_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    log = AuditLog(State(None))
    refused = RefusalLog(log)
    for _ in range(1_500):
        refused.append("", "sign-in", kind="sign-in")
    lines = lines_of(log)
    assert 1_000 <= len(lines) < 1_100 and not any("left_out" in line.data for line in lines)
    real = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: real() + 10)
    refused.append("ada", "sign-in", kind="sign-in")
    refused.append("ada", "sign-in", kind="sign-in")
    *_, first, second = lines_of(log)
    assert first.data == {"asked": "sign-in", "kind": "sign-in", "left_out": 1_500 - len(lines)}
    assert "left_out" not in second.data


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    path = tmp_path / "a.desk"
    log = AuditLog(State(path))
    for number in range(6):
        log.append("plan", "ada", plan=f"{number}")
    log.state.close()
    return path


@pytest.mark.parametrize("place", range(6))
def test_a_line_that_was_changed_or_removed_is_noticed(filled: Path, place: int) -> None:
    changes = [
        "at = '2020-01-01T00:00:00.000+00:00'",
        "account = 'ben'",
        "act = 'grant'",
        "data = '{}'",
        "hash = replace(hash, substr(hash, 1, 1), 'x')",
        "seq = seq + 100",
    ]
    for change in changes:
        connection = sqlite3.connect(filled, isolation_level=None)
        connection.execute("BEGIN")
        connection.execute(f"UPDATE audit SET {change} WHERE seq = ?", (place,))
        connection.execute("COMMIT")
        state = State(filled)
        with pytest.raises(LedgerError):
            AuditLog(state).verify()
        state.close()
        connection.execute("DELETE FROM audit")
        connection.close()
        state = State(filled)
        for number in range(6):
            AuditLog(state).append("plan", "ada", plan=f"{number}")
        assert AuditLog(state).verify() == 6
        state.close()


def test_lines_that_were_removed_or_moved_are_noticed(filled: Path) -> None:
    state = State(filled)
    log = AuditLog(state)
    noted = log.entries()[-1]
    for removed in range(5):
        with state.transaction() as connection:
            (row,) = connection.execute("SELECT * FROM audit WHERE seq = ?", (removed,)).fetchall()
            connection.execute("DELETE FROM audit WHERE seq = ?", (removed,))
        with pytest.raises(LedgerError, match=f"line {removed}"):
            log.verify()
        with state.transaction() as connection:
            connection.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?)", row)
        assert log.verify() == 6
    with state.transaction() as connection:
        connection.execute("UPDATE audit SET seq = 100 WHERE seq = 2")
        connection.execute("UPDATE audit SET seq = 2 WHERE seq = 3")
        connection.execute("UPDATE audit SET seq = 3 WHERE seq = 100")
    with pytest.raises(LedgerError, match="line 2"):
        log.verify()
    with state.transaction() as connection:
        connection.execute("UPDATE audit SET seq = 100 WHERE seq = 2")
        connection.execute("UPDATE audit SET seq = 2 WHERE seq = 3")
        connection.execute("UPDATE audit SET seq = 3 WHERE seq = 100")
    head = log.head()
    assert head is not None
    assert (head.seq, head.hash) == (noted.seq, noted.hash)
    assert log.verify({"the head": head.hash, "a line": log.entries()[2].hash}) == 6
    with state.transaction() as connection:
        connection.execute("DELETE FROM audit WHERE seq > 4")
    assert log.verify() == 5  # the end is missed by whoever noted its hash
    with pytest.raises(LedgerError, match="no line of the head"):
        log.verify({"the head": head.hash})
    with state.transaction() as connection:
        connection.execute("INSERT INTO audit VALUES (-1, '', '', '', '', '')")
    with pytest.raises(LedgerError, match="line 0"):
        log.verify()
    state.close()


def test_nobody_waits_for_a_walk_of_the_log(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is read in pages, between which others use the file."""
    monkeypatch.setattr("discreet.server.desk._audit_log._PAGE", 2)
    state = State(filled)
    log, transaction, pages = AuditLog(state), State.transaction, list[int]()

    def count_pages(own: State, *, write: bool = True) -> Any:
        pages.append(1)
        return transaction(own, write=write)

    with monkeypatch.context() as patch:
        patch.setattr(State, "transaction", count_pages)
        assert log.verify() == 6
    assert len(pages) == 1 + 3
    state.close()


WRITERS = """
import os, sys
from pathlib import Path
from discreet.server.desk import AuditLog
from discreet.server.desk._state import State
begin = os.pipe()
children = []
for place in range(4):
    child = os.fork()
    if not child:
        os.close(begin[1])
        log = AuditLog(State(Path(sys.argv[1])))
        os.read(begin[0], 1)  # ends for all at once
        for number in range(100):
            log.append("plan", f"w{place}", number=number)
        os._exit(0)
    children.append(child)
os.close(begin[1])
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""


def test_four_processes_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.desk"
    State(path).close()
    subprocess.run([sys.executable, "-c", WRITERS, str(path)], check=True, timeout=60)
    state = State(path)
    log = AuditLog(state)
    assert log.verify() == 400
    lines = lines_of(log)
    for place in range(4):
        assert [line.data["number"] for line in lines if line.account == f"w{place}"] == list(range(100))
    state.close()
