"""What cannot be written is refused before noise is drawn: full disks, places that are read-only, servers that fail.

A server's disk is not filled here: that takes a file system of its own. What it would say, as any error at COMMIT, is
tested instead.
"""

from __future__ import annotations

import os
import resource
import tempfile
import warnings
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import LedgerError
from discreet.ledger import open_ledger
from discreet.noise import _source
from discreet.privacy import pure

pytestmark = pytest.mark.usefixtures("one_database")

POLICY = {
    "version": "1",
    "budget": {"epsilon": 3},
    "tables": {"t": {"unit": "rows", "columns": {"k": {"type": "string", "keys": ["a", "b"]}}}},
}
TABLE = pa.table({"k": ["a", "a", "b"]})


def nothing_is_drawn(monkeypatch: pytest.MonkeyPatch, session: dp.Session) -> None:
    def forbidden(*_: object) -> None:
        raise AssertionError("a release that could not be charged reached the data or the noise")

    with monkeypatch.context() as patch:
        patch.setattr(_source.SecureBits, "_key", forbidden)
        patch.setattr(type(session._engine), "run", forbidden)
        with pytest.raises(LedgerError):
            session.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k", spend=dp.pure(1), idempotency_key="request")


def goes_on(session: dp.Session, place: str) -> None:
    """Once the trouble is over, a request is paid once."""
    session.sql("SELECT COUNT(*) AS n FROM t", spend=dp.pure(1), idempotency_key="later")
    with open_ledger(place, None) as ledger:
        assert [entry.kind for entry in ledger.entries()] == ["create", "reserve", "release"]
        ledger.verify()


@pytest.mark.parametrize("room", [0, 100, 5_000])
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    place = str(tmp_path / "ledger")
    with dp.connect({"t": TABLE}, POLICY, ledger=place) as session:
        log = Path(f"{place}-wal")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, ((log.stat().st_size if log.exists() else 0) + room, hard))
        try:
            nothing_is_drawn(monkeypatch, session)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        goes_on(session, place)


def test_places_that_are_read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a child that is not root, who may write everywhere."""
    open_ledger(None, pure(1)).close()
    with tempfile.TemporaryDirectory() as home:
        place = Path(home, "ledger")
        open_ledger(place, pure(3)).close()
        before = place.read_bytes()
        session = dp.connect({"t": TABLE}, POLICY)
        for number, (file, folder) in enumerate([(0o444, 0o777), (0o666, 0o555), (0o444, 0o555)]):
            place.chmod(file)
            Path(home).chmod(folder)
            with warnings.catch_warnings(action="ignore"):  # the child uses no thread of its parent
                pid = os.fork()
            if not pid:
                status = 1
                try:
                    if os.getuid() == 0:
                        os.setgroups([])
                        os.setgid(65534)
                        os.setuid(65534)
                    status = 2
                    with suppress(LedgerError):  # opening it may be refused already
                        session._ledger = open_ledger(place, None)
                        nothing_is_drawn(monkeypatch, session)
                    status = 0
                finally:
                    os._exit(status)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, number
            Path(home).chmod(0o700)
            assert place.read_bytes() == before
        session.close()


@pytest.mark.postgres
@pytest.mark.parametrize("when", ["insert", "commit", "terminated"])
def test_a_server_that_fails(place_on_server: str, admin, monkeypatch: pytest.MonkeyPatch, when: str) -> None:
    """Errors at any moment of the charge: at the row, at COMMIT, by the end of the connection at COMMIT."""
    place, name = place_on_server, place_on_server.rpartition("=")[2]
    body = {
        "insert": "RAISE EXCEPTION 'full' USING ERRCODE = '53100'",
        "commit": "RAISE EXCEPTION 'full' USING ERRCODE = '53100'",
        "terminated": "PERFORM pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid())",
    }[when]
    moment = "BEFORE INSERT ON" if when == "insert" else "AFTER INSERT ON"
    deferred = "" if when == "insert" else "DEFERRABLE INITIALLY DEFERRED"
    with dp.connect({"t": TABLE}, POLICY, ledger=place) as session:
        admin.execute(
            f"CREATE FUNCTION {name}.fails() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body}; RETURN NEW; END $$; "
            f"CREATE {'CONSTRAINT' if deferred else ''} TRIGGER fails {moment} {name}.entries {deferred} "
            f"FOR EACH ROW EXECUTE FUNCTION {name}.fails()"
        )
        nothing_is_drawn(monkeypatch, session)
        admin.execute(f"DROP TRIGGER fails ON {name}.entries; DROP FUNCTION {name}.fails()")
        goes_on(session, place)
