"""What is answered to whom: batches are counted once, and everything else is refused with a reason."""

from __future__ import annotations

import json
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from collectors import BINARY, SCHEME, Collector, everything, key, request_for, saying

from discreet import local
from discreet.errors import DataError, ParameterError
from discreet.server.collector import Limits, Store, read_store, serve


def test_a_batch_is_counted_once(start: Callable[..., Collector]) -> None:
    collector, name, body = start(), key(), bytes(saying(3, 10))
    first, second = collector.post(body, name), collector.post(body, name)
    assert first[:2] == (200, {"reports": 10, "rejected": 0, "repeated": False})
    assert second[:2] == (200, {"reports": 10, "rejected": 0, "repeated": True})
    assert collector.reports == 10  # read while it runs
    assert collector.post(body)[1]["repeated"] is False  # the same reports of somebody else
    status, told, _ = collector.post(bytes(saying(4)), name)
    assert (status, "draw a new one" in told["error"]) == (422, True)
    assert collector.post(body, f'"{name}"')[1]["repeated"] is True
    collector.stop()
    assert collector.counts[3] == 20
    assert collector.counts.sum() == 20
    again = start(collector.home)
    assert again.post(body, name)[1]["repeated"] is True


def test_both_forms(collector: Collector) -> None:
    before = collector.counts[7]
    text = saying(7, 4).to_json().encode()
    assert collector.post(text, kind="application/json; charset=utf-8")[1]["reports"] == 4
    assert collector.counts[7] - before == 4


def test_rows_that_are_no_reports_are_dropped_and_counted(collector: Collector) -> None:
    before = read_store(collector.home)
    rows = np.concatenate((saying(5, 3).rows, np.full((2, 2), 255, dtype=np.uint8)))
    told = collector.post(bytes(local.Reports(SCHEME.fingerprint, rows)))[1]
    assert told == {"reports": 3, "rejected": 2, "repeated": False}
    wide = local.Reports(SCHEME.fingerprint, np.zeros((4, 9), dtype=np.uint8))
    assert collector.post(bytes(wide))[1] == {"reports": 0, "rejected": 4, "repeated": False}
    after = read_store(collector.home)
    assert (after.reports - before.reports, after.rejected - before.rejected) == (3, 6)


def test_an_empty_batch_is_a_batch(collector: Collector) -> None:
    assert collector.post(bytes(saying(5, 0)))[:2] == (200, {"reports": 0, "rejected": 0, "repeated": False})


def test_it_says_what_it_collects(collector: Collector) -> None:
    assert local.from_json(collector.get("/scheme")[1]) == SCHEME
    assert collector.get("/healthz") == (200, '{"status": "ok"}')


@pytest.mark.parametrize(
    ("body", "headers", "status", "reason"),
    [
        (b"", {}, 400, "must begin with 'dr'"),
        (b"dr\x01" + bytes(30), {}, 400, "checksum"),
        (b"{}", {"kind": "application/json"}, 400, "JSON"),
        (
            b'{"version": 1, "scheme": "0011223344556677", "reports": {"AAA=": 1}}',
            {"kind": "application/json"},
            400,
            "",
        ),
        (bytes(local.Reports(b"otherone", saying(1).rows)), {}, 409, "GET /scheme"),
        (bytes(saying(1)), {"kind": "text/plain"}, 415, "Content-Type"),
        (bytes(saying(1)), {"Content_Encoding": "gzip"}, 415, "Content-Encoding"),
        (bytes(saying(1)), {"name": "short"}, 400, "16 to 200"),
        (bytes(saying(1)), {"name": "x" * 201}, 400, "16 to 200"),
        (bytes(saying(1)), {"name": "a key with some blanks"}, 400, "16 to 200"),
        (bytes(1 << 17), {}, 413, "at most 65536 bytes"),
    ],
    ids=["empty", "zeros", "json", "mapping", "scheme", "kind", "gzip", "short", "long", "blanks", "big"],
)
def test_refusals_have_a_reason(
    strict: Collector, body: bytes, headers: dict[str, Any], status: int, reason: str
) -> None:
    found, told, _ = strict.post(body, **headers)
    assert found == status
    assert reason in told["error"]
    assert strict.reports == 0


def test_a_batch_without_a_key_is_refused_and_told_why(collector: Collector) -> None:
    body = bytes(saying(1))
    head = f"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Type: {BINARY}\r\nContent-Length: {len(body)}\r\n\r\n"
    with collector.raw() as line:
        line.sendall(head.encode() + body)
        assert b"two senders" in everything(line)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/reports/",
        "//reports",
        "/reports/../scheme",
        "/%72eports",
        "/../../etc/passwd",
        "/scheme?x=1",
        "/scheme#x",
        "/schemehttp://x",
        "/schhttp://xeme",
        "http://x/schemehttps://y",
    ],
)
def test_there_are_three_paths(collector: Collector, path: str) -> None:
    assert collector.get(path)[0] == 404


def test_methods(collector: Collector) -> None:
    for line, status in (
        ("GET /reports HTTP/1.1", b"405"),
        ("POST /scheme HTTP/1.1", b"405"),
        ("DELETE /healthz HTTP/1.1", b"405"),
        ("HEAD /scheme HTTP/1.1", b"200"),
        ("GET http://here/scheme HTTP/1.1", b"200"),
    ):
        answer = collector.said_to(f"{line}\r\nHost: here\r\nConnection: close\r\n\r\n".encode())
        assert answer.split(b" ")[1] == status
    assert collector.said_to(b"HEAD /scheme HTTP/1.0\r\n\r\n").endswith(b"\r\n\r\n")


def test_nothing_about_a_sender_is_kept(start: Callable[..., Collector]) -> None:
    collector = start()
    marks = {
        "User_Agent": "Phone/of-Ada",
        "X_Forwarded_For": "203.0.113.77",
        "Cookie": "who=ada",
        "Referer": "ada.example",
    }
    name = "a-key-that-says-ada-lovelace"
    with socket.create_connection(("127.0.0.1", collector.port), source_address=("127.0.0.9", 0)) as line:
        more = [f"{label.replace('_', '-')}: {value}" for label, value in marks.items()]
        line.sendall(request_for(bytes(saying(9)), *more, "Connection: close").replace(b"POST", b"POST", 1))
        assert b"200 OK" in everything(line)
    assert collector.post(bytes(saying(9)), name, **marks)[0] == 200
    assert collector.post(b"no batch", **marks)[0] == 400
    files = [path.read_bytes() for path in collector.home.iterdir()]
    said = collector.stop()
    kept = b"".join([*files, *(path.read_bytes() for path in collector.home.iterdir()), said.encode()]).lower()
    for secret in (*marks.values(), name, "127.0.0.9", "ada"):
        assert secret.lower().encode() not in kept
    assert said == ""
    with closing(sqlite3.connect(collector.home / "collected.sqlite")) as connection:
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        columns = {t: [c[1] for c in connection.execute(f"PRAGMA table_info({t})")] for (t,) in tables}
        assert columns == {
            "counts": ["scheme", "state"],
            "pending": ["seq", "reports", "rejected"],
            "seen": ["seq", "key", "digest"],
        }


def test_one_collector_has_a_store(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.server.collector._store._PATIENCE", 0.1)
    with pytest.raises(DataError, match="another process uses the store"):
        Store(SCHEME, collector.home)


def test_an_address_that_is_taken(collector: Collector, tmp_path: Any) -> None:
    with pytest.raises(ParameterError, match="cannot listen at 127"):
        serve(SCHEME, tmp_path / "store", port=collector.port)
    with pytest.raises(ParameterError, match="cannot listen at"):
        serve(SCHEME, tmp_path / "store", host="no such host.invalid", port=0)


@pytest.mark.parametrize("wrong", [{"body": 0}, {"seconds": True}, {"remember": 1.5}, {"body": 10, "held": 5}])
def test_limits_are_whole_numbers(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Limits(**wrong)


def test_answers_are_json(collector: Collector) -> None:
    assert json.loads(collector.get("/nowhere")[1])["error"].startswith("there are /reports")
