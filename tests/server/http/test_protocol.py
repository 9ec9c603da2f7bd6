"""What an application is given and what of it reaches the wire, over connections that go on, end and break."""

from __future__ import annotations

import asyncio
import json
import logging
import pickle
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from asgi_servers import AsgiServer, echo, everything, get, respond, statuses, stream, wait_until

from discreet.errors import ParameterError
from discreet.server.connections import ConnectionLimits
from discreet.server.http._protocol import StrictHttp

Serve = Callable[..., AsgiServer]


def body_of(answer: bytes) -> Any:
    return json.loads(answer.partition(b"\r\n\r\n")[2])


def test_the_scope_is_as_asgi_has_it(serve: Serve) -> None:
    server = serve(echo, root_path="/desk")
    sent = get("http://there/a%20b/%C3%A9?x=%31&y", "X-Odd: \xe9\t1", "X-ODD:2 ", "Connection: close", body=b"abc")
    seen = body_of(server.exchange(sent.replace(b"GET", b"POST")))
    assert seen["path"] == repr("/desk/a b/é")
    assert seen["raw_path"] == repr(b"/desk/a%20b/%C3%A9")
    assert seen["query_string"] == repr(b"x=%31&y")
    assert (seen["method"], seen["http_version"], seen["scheme"]) == ("'POST'", "'1.1'", "'http'")
    assert "(b'x-odd', b'\\xe9\\t1'), (b'x-odd', b'2')" in seen["headers"]
    assert seen["client"].startswith("('127.0.0.1', ")
    assert seen["server"] == f"('127.0.0.1', {server.port})"
    assert seen["message"] == repr({"type": "http.request", "body": b"abc", "more_body": False})


def test_answers_have_a_length_a_date_and_name_no_server(serve: Serve) -> None:
    async def chatty(_scope: Any, _receive: Any, send: Any) -> None:
        ours = [(b"Server", b"x"), (b"transfer-encoding", b"chunked"), (b"connection", b"close"), (b"set-cookie", b"a")]
        await respond(send, b"hi", 201, *ours, (b"set-cookie", b"b"))

    head, _, body = serve(chatty).exchange(get()).partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"HTTP/1.1 201 Created"
    assert lines[1].startswith(b"Date: ")
    assert lines[2:] == [b"Content-Length: 2", b"Set-Cookie: a", b"Set-Cookie: b", b"Connection: close"]
    assert body == b"hi"


def test_what_has_no_length_goes_in_chunks(serve: Serve) -> None:
    server = serve(stream)
    answers = server.exchange(get() + get("/", "Connection: close"))
    assert statuses(answers) == [200, 200]
    assert answers.count(b"Transfer-Encoding: chunked\r\n") == 2
    assert answers.endswith(b"\r\n\r\n4\r\none,\r\n4\r\ntwo,\r\n5\r\nthree\r\n0\r\n\r\n")
    old = server.exchange(get(version="1.0"))
    assert b"Transfer-Encoding" not in old
    assert old.endswith(b"\r\n\r\none,two,three")


def test_a_single_part_needs_no_chunks(serve: Serve) -> None:
    async def bare(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send({"type": "http.response.body", "body": b"abc"})

    answer = serve(bare).exchange(get("/", "Connection: close"))
    assert b"Content-Length: 3\r\n" in answer


@pytest.mark.parametrize("status", [204, 205, 304])
def test_what_has_no_body_has_none(serve: Serve, status: int) -> None:
    async def empty(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b"none of this"})

    answer = serve(empty).exchange(get("/", "Connection: close"))
    assert answer.endswith(b"\r\n\r\n")
    assert b"ength" not in answer


def test_head_has_the_length_and_no_body(serve: Serve) -> None:
    server = serve(echo)
    answers = server.exchange(get(method="HEAD") + get("/", "Connection: close"))
    assert answers.count(b"Content-Length: ") == 2
    assert answers.count(b'{"') == 1
    assert serve(stream).exchange(get("/", "Connection: close", method="HEAD")).endswith(b"\r\n\r\n")


def test_a_client_that_waits_goes_on_when_the_application_reads(serve: Serve) -> None:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        body = (await receive())["body"] if scope["path"] == "/read" else b"unread"
        await respond(send, body)

    server = serve(application)
    for path, status in (("/read", b"100 Continue"), ("/", b"200 OK")):
        with server.raw() as line:
            line.sendall(get(path, "Expect: 100-continue", "Content-Length: 3", method="POST"))
            first = line.recv(1 << 16)
            assert first.startswith(b"HTTP/1.1 " + status)
            if path == "/read":
                line.sendall(b"abc" + get("/", "Connection: close"))
                assert everything(line).count(b"200 OK") == 2
            else:
                assert b"Connection: close" in first
                assert everything(line) == b""


def test_a_body_that_is_too_long_never_reaches_the_application(serve: Serve) -> None:
    called: list[str] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        called.append(scope["path"])
        await respond(send, (await receive())["body"])

    server = serve(application, body=100)
    answer = server.exchange(get("/long", method="POST", body=b"x" * 101))
    assert statuses(answer) == [413]
    assert body_of(answer)["detail"] == "a body has at most 100 bytes"
    assert statuses(server.exchange(get("/", "Connection: close", method="POST", body=b"x" * 100))) == [200]
    assert called == ["/"]


def test_more_bodies_than_can_be_held_are_told_to_come_again(serve: Serve) -> None:
    server = serve(echo, body=1_000, held=1_500)
    with server.raw() as line:
        line.sendall(get(method="POST", body=b"x" * 1_000)[:-1])
        wait_until(lambda: statuses(server.exchange(get("/", "Connection: close", body=b"y" * 600))) == [503])
        line.sendall(b"x")
        wait_until(lambda: statuses(server.exchange(get("/", "Connection: close", body=b"y" * 600))) == [200])


@pytest.mark.parametrize("streams", [True, False])
def test_a_client_that_goes_is_noticed(serve: Serve, streams: bool) -> None:
    seen: list[Any] = []

    async def application(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        if streams:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            try:
                while True:
                    await send({"type": "http.response.body", "body": b"x", "more_body": True})
                    await asyncio.sleep(0.01)
            except OSError as error:
                seen.append(error)
                raise
        seen.append(await receive())
        await asyncio.sleep(0.1)
        await respond(send, b"half closed connections still read")

    server = serve(application)
    if streams:
        with server.raw() as line:
            line.sendall(get())
            assert line.recv(1)
        wait_until(lambda: seen)
        assert isinstance(seen[0], OSError)
    else:
        answer = server.exchange(get(), end=True)
        assert seen == [{"type": "http.disconnect"}]
        assert answer.endswith(b"half closed connections still read")
    wait_until(lambda: not server.open and not server.server.server_state.tasks)


def test_after_an_answer_the_client_is_as_good_as_gone(serve: Serve) -> None:
    seen: list[Any] = []

    async def application(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await respond(send, b"")
        seen.append(await receive())
        with pytest.raises(RuntimeError, match="complete already"):
            await send({"type": "http.response.body"})
        seen.append("end")

    server = serve(application)
    with server.raw() as line:
        line.sendall(get())
        assert line.recv(1)
        wait_until(lambda: seen == [{"type": "http.disconnect"}, "end"])


def test_work_after_an_answer_does_not_delay_the_next(serve: Serve) -> None:
    release = asyncio.Event()

    async def application(scope: Any, _receive: Any, send: Any) -> None:
        await respond(send, b"")
        await (release.wait() if scope["path"] == "/slow" else asyncio.sleep(0))
        release.set()

    assert statuses(serve(application).exchange(get("/slow") + get("/", "Connection: close"))) == [200, 200]


def wrong_head(**message: Any) -> Any:
    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [], **message})
        await send({"type": "http.response.body", "body": b"secret"})

    return application


async def raises(_scope: Any, _receive: Any, _send: Any) -> None:
    raise KeyError("secret")


async def returns_at_once(_scope: Any, _receive: Any, _send: Any) -> None:
    return


@pytest.mark.parametrize(
    "application",
    [
        raises,
        returns_at_once,
        wrong_head(type="http.response.body"),
        wrong_head(status=100),
        wrong_head(status="200"),
        wrong_head(headers=[(b"bad name", b"x")]),
        wrong_head(headers=[(b"x", b"secret\r\nset-cookie: y")]),
        wrong_head(headers=[(b"content-length", b"1"), (b"content-length", b"6")]),
        wrong_head(headers=[(b"content-length", b"-6")]),
        wrong_head(headers=[(b"content-length", b"5")]),
    ],
    ids=range(10),
)
def test_a_bug_is_a_500_and_the_log_has_its_kind_alone(
    serve: Serve, caplog: pytest.LogCaptureFixture, application: Any
) -> None:
    server = serve(application)
    with caplog.at_level(logging.DEBUG):
        for _ in range(2):
            answer = server.exchange(get("/secret?secret"))
    assert statuses(answer) == [500]
    assert body_of(answer)["kind"] == "request"
    logged = [record for record in caplog.records if record.name == "discreet.server"]
    assert len(logged) == 1
    assert logged[0].getMessage().startswith("internal error: ")
    assert "secret" not in caplog.text.replace("test_protocol.py", "")
    assert "127.0.0.1" not in "".join(r.getMessage() for r in caplog.records if "running on" not in r.getMessage())


@pytest.mark.parametrize("length", [None, 10, 3])
def test_a_client_sees_that_an_answer_ends_early(serve: Serve, length: int | None) -> None:
    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        headers = [] if length is None else [(b"content-length", b"%d" % length)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"one", "more_body": True})
        await asyncio.sleep(0.05)
        await (send({"type": "http.response.body", "body": b"more"}) if length == 3 else asyncio.sleep(0))

    received = serve(application).exchange(get())  # to the end, though the client asked for no close
    assert b"one" in received
    assert b"Connection: close" not in received
    assert b"\r\n0\r\n" not in received
    assert b"more" not in received


def test_no_other_protocol_is_spoken(serve: Serve) -> None:
    server = serve(echo)
    upgrade = get("/", "Connection: Upgrade, close", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
    assert statuses(server.exchange(upgrade)) == [200]
    assert statuses(server.exchange(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")) == [400]
    assert statuses(server.exchange(get("*", method="OPTIONS"))) == [400]


def test_two_authorizations_are_refused(serve: Serve) -> None:
    answer = serve(echo).exchange(get("/", "Authorization: Basic YTpi", "authorization: Bearer x"))
    assert statuses(answer) == [400]
    assert b"YTpi" not in answer


def test_told_to_stop_it_ends_what_has_begun(serve: Serve) -> None:
    entered = []

    async def application(_scope: Any, receive: Any, send: Any) -> None:
        entered.append((await receive())["body"])
        await asyncio.sleep(0.3)
        await respond(send, b"complete")

    server = serve(application)
    with server.raw() as idle, server.raw() as busy:
        busy.sendall(get(method="POST", body=b"abc") + get("/never"))
        wait_until(lambda: entered and server.open == 2)
        server.server.should_exit = True
        assert idle.recv(1) == b""
        answer = everything(busy)
    server.stop()
    assert answer.endswith(b"complete")
    assert b"Connection: close" in answer
    assert (entered, server.server.server_state.total_requests, server.open) == ([b"abc"], 1, 0)


def test_what_does_not_end_is_cancelled(serve: Serve) -> None:
    cancelled = []

    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    server = serve(application, timeout_graceful_shutdown=1)
    with server.raw() as line:
        line.sendall(get())
        assert line.recv(1)
        began = time.monotonic()
        server.stop()
        assert time.monotonic() - began < 5
        assert not everything(line).endswith(b"0\r\n\r\n")
    assert cancelled == [True]


def test_an_answer_may_take_longer_than_a_head(serve: Serve) -> None:
    async def application(_scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(2):
            await asyncio.sleep(1.1)
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await send({"type": "http.response.body"})

    answer = serve(application, seconds=1).exchange(get("/", "Connection: close", method="POST", body=b"abc"))
    assert answer.endswith(b"1\r\nx\r\n1\r\nx\r\n0\r\n\r\n")


def test_who_does_not_read_a_stream_is_cut(serve: Serve) -> None:
    seen = []

    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while True:
                await send({"type": "http.response.body", "body": b"x" * 10_000, "more_body": True})
        except OSError as error:
            seen.append(error)
            raise

    server = serve(application, seconds=1)
    with server.raw() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.sendall(get())
        wait_until(lambda: seen and not server.open)


def test_it_can_be_sent_to_another_process() -> None:
    http = StrictHttp(ConnectionLimits(body=5))
    assert pickle.loads(pickle.dumps(http)) == http


@pytest.mark.parametrize("wrong", [{"body": 0}, {"seconds": True}, {"held": 5}, {"connections": 1.5}])
def test_limits_are_whole_numbers(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        ConnectionLimits(**wrong)
