"""`discreet serve` with ``[oidc]``: what one worker signs in and out, all of them do."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from provider import FakeProvider, callback

from discreet.privacy import pure
from discreet.server.desk import open_desk

POLICY = """
version = "1"
budget = { epsilon = 1 }
[tables.visits]
unit = "person"
max_rows = 1
[tables.visits.columns]
person = { type = "int" }
"""
SETTINGS = """
state = "desk.state"
workers = 2
[sources.visits]
policy = "visits.toml"
data = "visits.parquet"
ledger = "visits.ledger"
[http]
listen = ":0"
[oidc]
issuer = "{issuer}"
client_id = "discreet"
client_secret_file = "secret"
public_url = "https://desk.example"
[oidc.accounts]
"ada.lovelace" = "ada"
"""
REQUESTS = 12


@pytest.fixture
def served(fake: FakeProvider, tmp_path: Path) -> Iterator[str]:
    """The URL of a server with two workers, and an account `ada`."""
    pq.write_table(pa.table({"person": [1, 2, 3]}), tmp_path / "visits.parquet")
    (tmp_path / "visits.toml").write_text(POLICY)
    (tmp_path / "secret").write_text("hush\n")
    (tmp_path / "serve.toml").write_text(SETTINGS.format(issuer=fake.issuer))
    with open_desk(*(str(tmp_path / f"visits.{end}") for end in ("parquet", "toml", "ledger"))) as desk:
        desk.owner().grant("ada", pure(1))
    command = [sys.executable, "-m", "discreet.cli", "serve", "--config", "serve.toml"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as server:
        assert server.stderr is not None
        line = server.stderr.readline()
        match = re.search(r"http://\S+", line)
        assert match is not None, line + server.stderr.read()
        yield match[0]
        server.terminate()
        server.stderr.read()
    assert server.returncode == 0


def test_workers_share_flows_and_sessions(served: str, fake: FakeProvider) -> None:
    fake.secret, fake.user = "hush", {"preferred_username": "ada.lovelace"}

    def send(method: str, path: str, **headers: str) -> HTTPResponse:
        connection = HTTPConnection(urlsplit(served).netloc, timeout=30)  # of its own, to any worker
        connection.request(method, f"/v1{path}", headers=headers)
        with closing(connection):
            return connection.getresponse()

    def ask(method: str, path: str, **headers: str) -> int:
        return send(method, path, **headers).status

    started = send("GET", "/sign-in")
    flow = started.headers["set-cookie"].partition(";")[0]
    done = send("GET", callback(fake.sign_in(started.headers["location"])), Cookie=flow)
    assert done.status == 200
    session = done.headers["set-cookie"].partition(";")[0]
    assert {ask("GET", "/budget", Cookie=session) for _ in range(REQUESTS)} == {200}
    bearer = f"Bearer {fake.token()}"
    assert {ask("GET", "/budget", Authorization=bearer) for _ in range(REQUESTS)} == {200}
    same_site = {"Discreet-Request": "1", "Origin": "https://desk.example"}
    assert ask("POST", "/sign-out", Cookie=session) == 403
    assert ask("POST", "/sign-out", Cookie=session, **same_site) == 204
    assert {ask("GET", "/budget", Cookie=session) for _ in range(REQUESTS)} == {401}
