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

from discreet.errors import ParameterError
from discreet.privacy import pure
from discreet.server.desk import open_desk
from discreet.server.team import Settings, serve

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
claim = "preferred_username"
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


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('client_secret = "hush"', "Extra inputs"),  # it belongs in a file
        ('algorithms = ["none"]', "algorithms"),
        ("algorithms = []", "algorithms"),
        ('client_secret_file = "nowhere"', "cannot be read"),
        ('client_secret_file = "empty"', "is empty"),
        ('public_url = "http://dp.example"', "public_url"),
        ('scopes = ["email"]', "openid"),
        ('accounts = { "x" = "not a name" }', "no name of an account"),
    ],
)
def test_settings_that_are_not_good(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "empty").write_text("\n")
    source = '[sources.v]\npolicy = "p"\ndata = "d"\nledger = "l"\n'
    oidc = '[oidc]\nissuer = "https://id.example"\nclient_id = "x"\nclaim = "sub"\n'
    (tmp_path / "serve.toml").write_text(f"{source}{oidc}{line}\n")
    with pytest.raises(ParameterError, match=words):
        serve(Settings.load(tmp_path / "serve.toml"))
