"""How a server starts: what is wrong with its settings it says at once, and no signal is lost on the way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.errors import ParameterError
from discreet.server.team import Settings, serve

sys.path.insert(0, str(Path(__file__).parent / "postgres"))

from fronts import certificate

POLICY = """
version = "1"
budget = { epsilon = 1 }
[tables.visits]
unit = "person"
max_rows = 1
[tables.visits.columns]
person = { type = "int" }
"""
SOURCE = """
policy = "visits.toml"
data = "visits.parquet"
ledger = "visits.ledger"
"""
HTTP = '\n[http]\nlisten = "127.0.0.1:0"\n'
WIRE = '\n[postgres]\nlisten = "127.0.0.1:0"\n'
ONE = f"[sources.visits]{SOURCE}{HTTP}"
WRONG = {
    "a slash": (f'[sources."a/b"]{SOURCE}', "name of a source"),
    "two dots": (f'[sources.".."]{SOURCE}', "name of a source"),
    "an escape": (f'[sources."\\u001b[31m"]{SOURCE}', "name of a source"),
    "no name": (f'[sources.""]{SOURCE}', "name of a source"),
    "NUL": (f'state = "a\\u0000b"\n{ONE}', "NUL"),
    "deep": (f"a = {'[' * 3_000}{']' * 3_000}", "nested too deeply"),
    "words": (f'{ONE}[accounts.ada]\nepsilon = "lots"', "epsilon must be a finite number"),
    "below zero": (f"{ONE}[accounts.ada]\nepsilon = -1", "greater than 0"),
    "zero": (f"{ONE}[accounts.ada]\nrho = 0", "greater than 0"),
    "infinite": (f'{ONE}[accounts.ada]\nmu = "inf"', "finite"),
    "two currencies": (f'{ONE}[accounts.ada]\nepsilon = "1"\nrho = "1"', "one currency"),
    "delta alone": (f'{ONE}[accounts.ada]\ndelta = "1e-9"', "one currency"),
    "delta": (f'{ONE}[accounts.ada]\nepsilon = "1"\ndelta = 2', "delta"),
}
MISPLACED = {
    "the ledger": (f'state = "visits.ledger"\n{ONE}', "another one than the ledger"),
    "one ledger": (f"{ONE}[sources.other]{SOURCE}", "several sources have one ledger"),
    "a ledger on a server": (ONE.replace('"visits.ledger"', '"postgresql://host/ledger"'), "no place"),
}
BEGINS = """
import os, signal, sys
from types import SimpleNamespace
import discreet.server.team._serve as team

def fork():
    if not forked:
        os.kill(os.getpid(), signal.SIGTERM)  # it arrives while the first worker begins
    child = os.fork()
    forked.append(child)
    return child

forked = []
team._work = lambda *given, **more: signal.pause()
team.os = SimpleNamespace(**{name: getattr(os, name) for name in dir(os)} | {"fork": fork})
team._fork(SimpleNamespace(workers=3), None, None, print)
print(len(forked))
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    pq.write_table(pa.table({"person": [1, 2, 3]}), tmp_path / "visits.parquet")
    (tmp_path / "visits.toml").write_text(POLICY)
    return tmp_path


def load(home: Path, text: str) -> Settings:
    (home / "serve.toml").write_text(text)
    return Settings.load(home / "serve.toml")


@pytest.mark.parametrize("name", WRONG)
def test_wrong_settings_are_refused_when_they_are_loaded(name: str, home: Path) -> None:
    text, message = WRONG[name]
    with pytest.raises(ParameterError, match=message):
        load(home, text)


@pytest.mark.parametrize("name", MISPLACED)
def test_the_file_of_a_desk_has_a_place_of_its_own(name: str, home: Path) -> None:
    text, message = MISPLACED[name]
    with pytest.raises(ParameterError, match=message):
        load(home, text).check()


@pytest.mark.parametrize("account", ["epsilon = 0.1", 'epsilon = "1/10"\ndelta = 1e-9', 'rho = "0.01"', "mu = 1", ""])
def test_what_an_account_spends_is_taken(account: str, home: Path) -> None:
    assert load(home, f"{ONE}[accounts.ada]\n{account}").check().accounts.keys() == {"ada"}


def test_a_certificate_is_read_before_anything_is_told(home: Path) -> None:
    told: list[str] = []
    with pytest.raises(ParameterError, match="no certificate"):
        serve(load(home, f'{ONE}{WIRE}certificate = "a"\nprivate_key = "b"'), on_status=told.append)
    assert told == []


def test_a_signal_to_read_certificates_again_ends_no_server(home: Path) -> None:
    """Where the wire alone has one, and the file of the desk is by default beside its ledger."""
    paths = [path.name for path in certificate(home)]
    load(home, "{}{}certificate = {!r}\nprivate_key = {!r}".format(ONE, WIRE, *paths))
    command = [sys.executable, "-m", "discreet.cli", "serve", "--config", "serve.toml"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=home) as server:
        assert server.stderr is not None
        try:
            assert any("the owner signs in once" in line for line in server.stderr)
            server.send_signal(signal.SIGHUP)
            assert server.stderr.readline() == "the TLS certificate was read again\n"
        finally:
            server.terminate()
            server.stderr.read()
    assert server.returncode == 0
    assert (home / "visits.ledger.desk").exists()


def test_no_worker_begins_after_a_signal_to_stop() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BEGINS], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as server:
        try:
            assert server.communicate(timeout=20)[0].split()[-1] == "1"
        finally:
            if server.returncode is None:
                os.killpg(server.pid, signal.SIGKILL)
