"""Servers that lie, redirect, flood and go away; addresses and tokens that are none."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from discreet.client import AsyncRemoteSession, RemoteSession, _steps
from discreet.errors import BudgetExceeded, DataError, DiscreetError, LedgerError, MissingExtra, ParameterError
from discreet.privacy import pure

TOKEN = "a-token-that-nobody-may-see"
QUERY = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
Serve = Callable[[Any], str]


def answering(*replies: Any) -> tuple[Any, list[dict[str, Any]]]:
    """An application that gives these replies in turn, the last again and again, and what it was asked."""
    asked: list[dict[str, Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        headers = {name.decode(): value.decode("latin-1") for name, value in scope["headers"]}
        asked.append({"path": scope["path"], "query": scope["query_string"], "headers": headers, "body": body})
        reply = replies[min(len(asked), len(replies)) - 1]
        if reply is None:  # the connection is lost
            raise RuntimeError
        status, more, content = reply
        if content is None:
            await send({"type": "http.response.start", "status": status, "headers": more})
            await send({"type": "http.response.body", "body": b"cut", "more_body": True})
            raise RuntimeError
        await send({"type": "http.response.start", "status": status, "headers": more})
        for part in content if isinstance(content, list) else [content]:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body"})

    return application, asked


def problem(kind: str, status: int, detail: str = "no", *headers: tuple[bytes, bytes]) -> Any:
    content = json.dumps({"kind": kind, "detail": detail, "status": status}).encode()
    return status, [(b"content-type", b"application/problem+json"), *headers], content


CUT = (200, [(b"content-length", b"100")], None)
BUDGET = json.dumps({name: {"kind": "pure", "epsilon": "1"} for name in ("cap", "spent", "remaining")}).encode()
JSON = [(b"content-type", b"application/json")]


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_steps, "_PAUSE", 0.001)


def session_at(url: str, **more: Any) -> RemoteSession:
    return RemoteSession(url, account="ada", token=TOKEN, **more)


@pytest.fixture
def stored(team: Any) -> bytes:
    with team.connect() as session:
        return session.sql(QUERY, pure(0.875)).to_bytes()


def test_after_a_lost_connection_it_is_sent_again_under_the_same_key(serve: Serve, stored: bytes) -> None:
    application, asked = answering(CUT, CUT, CUT, (200, [], stored))
    with session_at(serve(application)) as session:
        assert session.sql(QUERY, pure(0.875)).to_bytes() == stored
        assert len({each["headers"]["idempotency-key"] for each in asked}) == 1
        assert len({each["body"] for each in asked}) == 1
        assert (len(asked), json.loads(asked[0]["body"])["max_price"]) == (4, {"kind": "pure", "epsilon": "7/8"})
        session.sql(QUERY, pure(0.875))
        assert asked[4]["headers"]["idempotency-key"] != asked[0]["headers"]["idempotency-key"]
        session.sql(QUERY, pure(0.875), idempotency_key="mine")
        assert asked[5]["headers"]["idempotency-key"] == "mine"


def test_it_gives_up(serve: Serve) -> None:
    application, asked = answering(CUT)
    with session_at(serve(application)) as session, pytest.raises(DataError, match="asked 4 times"):
        session.sql(QUERY, pure(1))
    assert len(asked) == 4
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    with session_at(f"http://127.0.0.1:{port}") as session, pytest.raises(DataError, match="ConnectError") as raised:
        session.plan(QUERY)
    assert TOKEN not in str(raised.value)


def test_a_silent_server_is_not_waited_for(serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with session_at(url, timeout=0.1) as session, pytest.raises(DataError, match="ReadTimeout"):
            session.plan(QUERY)


def test_a_busy_server_is_asked_again(serve: Serve) -> None:
    busy = problem("rate", 429, "too many", (b"retry-after", b"0"))
    application, asked = answering(busy, problem("request", 503, "full", (b"retry-after", b"0")), (200, JSON, BUDGET))
    with session_at(serve(application)) as session:
        assert session.remaining == pure(1)
    assert len(asked) == 3
    application, asked = answering(problem("rate", 429, "too many", (b"retry-after", b"3600")))
    with session_at(serve(application)) as session, pytest.raises(DataError, match="too many"):
        _ = session.remaining
    assert len(asked) == 1


def test_an_answer_that_comes_later_is_waited_for(serve: Serve, stored: bytes) -> None:
    later = (202, [(b"location", b"/v1/answers/abc")], b"{}")
    application, asked = answering(later, (202, [], b"{}"), CUT, (200, [], stored))
    with session_at(serve(application), source="visits") as session:
        assert session.sql(QUERY, pure(0.875)).to_bytes() == stored
    assert [each["path"] for each in asked] == ["/v1/answers", *["/v1/answers/abc"] * 3]
    assert all(each["query"] == b"source=visits" for each in asked[1:])
    application, _ = answering(later, problem("budget", 402, "it did not fit"))
    with session_at(serve(application)) as session, pytest.raises(BudgetExceeded, match="it did not fit"):
        session.sql(QUERY, pure(1))


def test_no_answer_is_waited_for_without_end(serve: Serve) -> None:
    later = (202, [(b"location", b"/v1/answers/abc")], b"{}")
    application, asked = answering(*[later] * 99)
    with (
        session_at(serve(application), timeout=0.2) as session,
        pytest.raises(DataError, match="is free once it is answered"),
    ):
        session.sql(QUERY, pure(1))
    assert 1 < len(asked) < 99

    async def trickle(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": JSON})
        for _ in range(40):
            await send({"type": "http.response.body", "body": b" ", "more_body": True})
            await asyncio.sleep(0.05)
        await send({"type": "http.response.body", "body": BUDGET})

    with session_at(serve(trickle), timeout=0.2) as session, pytest.raises(DataError, match="ReadTimeout"):
        _ = session.remaining


@pytest.mark.parametrize(
    "location",
    [
        b"",
        b"http://evil.example/v1/answers/a",
        b"//evil/v1/answers/a",
        b"/v1/answers/../x",
        b"/v1/answers/" + b"a" * 500,
    ],
)
def test_a_location_elsewhere_is_not_asked(serve: Serve, location: bytes) -> None:
    application, asked = answering((202, [(b"location", location)], b"{}"))
    with session_at(serve(application)) as session, pytest.raises(LedgerError, match="does not say where"):
        session.sql(QUERY, pure(1))
    assert len(asked) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_are_not_followed(serve: Serve, status: int) -> None:
    other, asked = answering((200, JSON, BUDGET))
    application, _ = answering((status, [(b"location", serve(other).encode() + b"/v1/budget")], b""))
    with session_at(serve(application)) as session, pytest.raises(DataError, match="redirects"):
        _ = session.budget
    assert asked == []


@pytest.mark.parametrize(
    "content",
    [
        b"", b"null", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"cap": 1, "spent": 2, "remaining": 3}',
        b'{"cap": {"kind": "pure", "epsilon": "-1"}, "spent": {}, "remaining": {}}',
        b'{"cap": {"kind": "pure", "epsilon": "1e999999999"}, "spent": {}, "remaining": {}}',
        json.dumps({name: {"kind": "times", "term": {"kind": "times"}} for name in ("cap", "spent", "remaining")}),
    ],
    ids=range(10),
)  # fmt: skip
def test_what_is_no_answer_is_a_ledger_error(serve: Serve, content: Any) -> None:
    raw = content if isinstance(content, bytes) else content.encode()
    application, _ = answering((200, JSON, raw))
    with session_at(serve(application)) as session:
        for ask in (
            lambda: session.budget,
            lambda: session.plan(QUERY),
            session.history,
            lambda: session.public_key,
            lambda: session.sql(QUERY, pure(1)),
            lambda: session.rehearse(QUERY, pure(1)),
            lambda: session.suggest("visits", "age", pure(1)),
        ):
            with pytest.raises(LedgerError):
                ask()


@pytest.mark.sampled
@pytest.mark.parametrize("status", [100 + 300, 401, 404, 418, 500, 502, 599])
@pytest.mark.parametrize("content", [b"", b"<html>proxy</html>", b'{"kind": 5}', b'{"kind": "query"}', b"[", b"{}"])
def test_refusals_without_a_reason_are_errors_of_discreet(serve: Serve, status: int, content: bytes) -> None:
    for media_type in (b"text/html", b"application/problem+json; charset=utf-8"):
        application, _ = answering((status, [(b"content-type", media_type)], content))
        with session_at(serve(application)) as session, pytest.raises(DiscreetError):
            session.plan(QUERY)


def test_words_of_a_server_do_not_steer_a_terminal(serve: Serve) -> None:
    application, _ = answering(problem("query", 422, "\x1b[2J" + "x" * 100_000))
    with session_at(serve(application)) as session, pytest.raises(DiscreetError) as raised:
        session.plan(QUERY)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) <= 2_000


@pytest.mark.parametrize("sized", [True, False])
def test_an_endless_answer_is_cut(serve: Serve, monkeypatch: pytest.MonkeyPatch, sized: bool) -> None:
    monkeypatch.setattr(_steps, "_MOST_JSON", 1_000_000)
    headers = [*JSON, *([(b"content-length", b"300000000")] if sized else [])]
    application, _ = answering((200, headers, [b" " * 100_000] * 3_000))
    with session_at(serve(application)) as session, pytest.raises(DataError, match="more than 1,000,000 bytes"):
        session.plan(QUERY)


def test_a_compressed_answer_is_refused(serve: Serve) -> None:
    application, asked = answering((200, [*JSON, (b"content-encoding", b"gzip")], b"\x1f\x8b"))
    with session_at(serve(application)) as session, pytest.raises(DataError, match="compressed"):
        session.plan(QUERY)
    assert asked[0]["headers"]["accept-encoding"] == "identity"


def test_a_release_that_was_changed_is_refused(serve: Serve, stored: bytes, team: Any) -> None:
    from discreet.query import Release

    with team.connect() as session:
        rehearsal = session.rehearse(QUERY, pure(0.875)).to_bytes()
        suggestion = session.suggest("visits", "age", pure(0.5)).to_bytes()
    genuine = Release.from_bytes(stored)
    forged = genuine.certificate | {"loss": {"kind": "pure", "epsilon": "1/100"}}
    cheaper = Release(genuine.answer, pure(0.01), genuine.certificate)
    for payload in (
        stored.replace(b"north", b"nurth"),
        stored[:-10],
        Release(genuine.answer, genuine.loss, forged).to_bytes(),
        cheaper.to_bytes(),
        rehearsal,
        suggestion,
        b"ARROW1" + bytes(100),
    ):
        application, _ = answering((200, [], payload))
        with session_at(serve(application)) as session, pytest.raises(LedgerError):
            session.sql(QUERY, pure(0.875))


def test_a_rehearsal_must_say_that_it_is_one(serve: Serve, stored: bytes) -> None:
    for headers in ([], [(b"discreet-source", b"rehearsal")]):
        application, _ = answering((200, headers, stored))
        with session_at(serve(application)) as session, pytest.raises(LedgerError, match="not marked"):
            session.rehearse(QUERY, pure(1))


def test_the_first_key_is_trusted_and_no_other(serve: Serve, team: Any, tmp_path: Any) -> None:
    import discreet as dp

    conftest = sys.modules[type(team).__module__]
    with dp.connect({"visits": conftest.VISITS}, conftest.POLICY, tmp_path / "other.ledger") as other:
        foreign = other.sql(QUERY, pure(0.875)).to_bytes()
    with team.connect() as session:
        genuine = session.sql(QUERY, pure(0.875)).to_bytes()
    key = json.dumps({"public_key": "0" * 64}).encode()
    application, _ = answering((200, [], genuine), (200, [], foreign), (200, [], genuine))
    with session_at(serve(application)) as session:
        session.sql(QUERY, pure(0.875))
        assert session.public_key == team.desk.public_key
        with pytest.raises(LedgerError, match="expected"):
            session.sql(QUERY, pure(0.875))
        session.sql(QUERY, pure(0.875))
    application, _ = answering((200, JSON, key))
    with session_at(serve(application), key=team.desk.public_key) as session:
        assert session.public_key == team.desk.public_key


@pytest.mark.parametrize(
    "url",
    [
        "http://desk.example", "http://10.0.0.1:80", "http://0.0.0.0", "http://127.0.0.1.evil.example", "ftp://localhost",
        "https://", "localhost:80", "https://ada:secret@desk.example", "https://secret@desk.example", "https://h/?token=secret",
        "https://h/#x", "https://[::1", "https://h:99999", "", "http://localhost@evil.example", "file:///etc/passwd",
    ],
)  # fmt: skip
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(ParameterError) as raised:
        session_at(url)
    assert "secret" not in str(raised.value)
    assert TOKEN not in str(raised.value)


@pytest.mark.parametrize("url", ["http://localhost:1", "http://127.9.9.9", "http://[::1]:5/", "https://desk.example/a"])
def test_addresses_that_are_taken(url: str) -> None:
    with session_at(url) as session:
        assert url.rstrip("/") in repr(session)
        assert TOKEN not in repr(session)
    assert "closed" in repr(session)
    with pytest.raises(ParameterError, match="closed"):
        session.plan(QUERY)


@pytest.mark.parametrize(
    ("account", "token"),
    [("ada", None), ("ada", ""), ("a:b", TOKEN), ("a\nb", TOKEN), (None, None), (None, "a b"), (None, "a\r\nX: y"),
     ("ada", "x" * 5_000), ("x" * 5_000, "y"), (None, "é"), ("ada", 5)],
)  # fmt: skip
def test_accounts_and_tokens_that_are_refused(account: Any, token: Any) -> None:
    with pytest.raises(ParameterError) as raised:
        RemoteSession("https://desk.example", account=account, token=token)
    assert token is None or len(str(token)) < 3 or str(token) not in str(raised.value)


def test_a_token_is_in_its_header_alone(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    application, asked = answering((200, JSON, BUDGET), problem("query", 422))
    with caplog.at_level(0), session_at(serve(application)) as session:
        _ = session.budget
        with pytest.raises(DiscreetError) as raised:
            session.plan(QUERY)
    with RemoteSession(serve(application), token=TOKEN) as bearer, pytest.raises(DiscreetError):
        bearer.plan(QUERY)
    assert asked[0]["headers"]["authorization"].startswith("Basic ")
    assert asked[2]["headers"]["authorization"] == f"Bearer {TOKEN}"
    shown = [caplog.text, repr(raised.value), repr(session), repr(session._client), repr(session._calls)]
    assert not any(TOKEN in each for each in shown)
    assert TOKEN.encode() not in b"".join(each["body"] + each["query"] + each["path"].encode() for each in asked)


def test_asyncio_meets_the_same_hostility(serve: Serve, stored: bytes) -> None:
    async def ask(*replies: Any) -> Any:
        application, _ = answering(*replies)
        async with AsyncRemoteSession(serve(application), account="ada", token=TOKEN) as session:
            return await session.sql(QUERY, pure(0.875))

    later = (202, [(b"location", b"/v1/answers/abc")], b"{}")
    assert asyncio.run(ask(CUT, later, (200, [], stored))).to_bytes() == stored
    with pytest.raises(LedgerError):
        asyncio.run(ask((200, [], stored[:-9])))
    with pytest.raises(DataError, match="asked 4 times"):
        asyncio.run(ask(CUT))
    with pytest.raises(DataError, match="redirects"):
        asyncio.run(ask((307, [(b"location", b"/")], b"")))
    gc.collect()


def test_threads_may_share_a_session(serve: Serve) -> None:
    application, asked = answering((200, JSON, BUDGET))
    with session_at(serve(application)) as session:
        threads = [threading.Thread(target=lambda: session.budget) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(asked) == 16


def test_without_httpx2_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    for session in (RemoteSession, AsyncRemoteSession):
        with pytest.raises(MissingExtra, match=r"pip install 'discreet\[client\]'"):
            session("https://desk.example", account="ada", token=TOKEN)
