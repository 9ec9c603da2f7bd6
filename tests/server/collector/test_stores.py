"""Stores by themselves: damage, forgetting, and reports that a protocol stumbles over."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from collectors import SCHEME, saying

from discreet import local
from discreet.errors import DataError
from discreet.server.collector import Batch, Outcome, Store, _intake, _store, read_store
from discreet.server.collector import _store as _database


def batch(number: int, times: int = 1, digest: int = 0) -> Batch:
    return Batch(number.to_bytes(16, "big"), digest.to_bytes(16, "big"), saying(number, times), rejected=0)


def test_a_store_outlives_its_process(tmp_path: Path) -> None:
    with Store(SCHEME, tmp_path / "deep" / "store") as store:
        assert store.write([batch(1, 2), batch(2), batch(1, 2), batch(2, digest=9)]) == [
            Outcome.COUNTED, Outcome.COUNTED, Outcome.REPEATED, Outcome.REFUSED
        ]  # fmt: skip
    with Store(SCHEME, tmp_path / "deep" / "store") as store:
        assert store.write([batch(1, 2)]) == [Outcome.REPEATED]
        assert store.write([]) == []
        store.fold(now=True)
        store.probe()
        assert store.server().counts[:4].tolist() == [0, 2, 1, 0]
    store.close()


def test_old_keys_are_forgotten(tmp_path: Path) -> None:
    with Store(SCHEME, tmp_path, remember=3) as store:
        for number in range(6):
            store.write([batch(number)])
        assert store.write([batch(number) for number in (3, 4, 5)]) == [Outcome.REPEATED] * 3
        assert store.write([batch(2)]) == [Outcome.COUNTED]
    with closing(sqlite3.connect(tmp_path / "collected.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM seen").fetchone() == (3,)


def test_counting_at_once_or_later_is_the_same(tmp_path: Path) -> None:
    with Store(SCHEME, tmp_path / "one") as one, Store(SCHEME, tmp_path / "two") as two:
        for number in range(20):
            one.write([batch(number, number)])
            one.fold(now=True)
            two.write([batch(number, number)])
        assert bytes(one.server()) == bytes(two.server()) == bytes(read_store(tmp_path / "two"))


@pytest.mark.parametrize("at_once", [1, 1000, 1 << 22])
def test_small_batches_are_added_up_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    """Counts can be many: they are copied for so many bytes of reports, and not for each batch."""
    monkeypatch.setattr("discreet.server.collector._store._AT_ONCE", at_once)
    copies: list[int] = []
    as_bytes = local.Server.__bytes__
    with Store(SCHEME, tmp_path) as store:
        for number in range(40):
            store.write([Batch(bytes([number]) * 16, bytes(16), saying(number, number % 3), rejected=number % 2)])
        monkeypatch.setattr(local.Server, "__bytes__", lambda self: copies.append(1) or as_bytes(self))
        server = store.server()
        assert len(copies) <= {1: 27, 1000: 8}.get(at_once, 1)
    assert (server.reports, server.rejected) == (39, 20)
    assert server.counts[:40].tolist() == [number % 3 for number in range(40)]


def test_a_torn_log_is_cut(tmp_path: Path) -> None:
    """Wherever the log ends or is damaged, what is left is the first so many writes, each with its keys."""
    home, found = tmp_path / "store", set()
    with Store(SCHEME, home) as store:
        for number in range(1, 13):
            store.write([batch(number, number), batch(1000 + number, 1)])
        log = (home / "collected.sqlite-wal").read_bytes()
        for cut in range(0, len(log), 10_753):
            for torn in (log[:cut], log[:cut] + bytes(len(log) - cut), log[:cut] + log[cut + 1 :]):
                copy = tmp_path / "copy"
                shutil.rmtree(copy, ignore_errors=True)
                copy.mkdir()
                shutil.copy(home / "collected.sqlite", copy)
                (copy / "collected.sqlite-wal").write_bytes(torn)
                with Store(SCHEME, copy) as other:
                    counts = other.server().counts
                    left = int(np.count_nonzero(counts[1:100]))
                    assert counts[1 : left + 1].tolist() == list(range(1, left + 1))
                    assert counts[1001 : 1001 + left].tolist() == [1] * left
                    assert counts.sum() == left * (left + 1) // 2 + left
                    seen = other.write([batch(number, number) for number in range(1, 13)])
                    assert seen == [Outcome.REPEATED] * left + [Outcome.COUNTED] * (12 - left)
                    found.add(left)
    assert len(found) > 3


def damaged(home: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(home / "collected.sqlite")) as connection, connection:
        connection.execute(statement, values)


def with_pending(home: Path) -> None:
    """A store whose process died before it added up."""
    with Store(SCHEME, home) as store:
        store.write([batch(1, 100)])
        store._pending = 0


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("UPDATE pending SET reports = ?", b"nothing"),
        ("UPDATE pending SET reports = ?", bytes(saying(1, 100))[:-1] + b"x"),
        ("UPDATE pending SET reports = ?", bytes(local.Reports(b"another1", saying(1, 100).rows))),
        ("UPDATE counts SET state = ?", b"nothing"),
        ("PRAGMA user_version = 7", None),
    ],
    ids=["pending", "crc", "scheme", "counts", "version"],
)
def test_a_damaged_store_is_refused(tmp_path: Path, statement: str, value: bytes | None) -> None:
    with_pending(tmp_path)
    assert read_store(tmp_path).reports == 100
    with_pending(tmp_path)
    damaged(tmp_path, statement, *([] if value is None else [value]))
    with pytest.raises(DataError):
        read_store(tmp_path)


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="discreet collect serve"):
        read_store(tmp_path)
    (tmp_path / "collected.sqlite").write_bytes(b"something else, and long enough to be looked at" * 100)
    for attempt in (lambda: read_store(tmp_path), lambda: Store(SCHEME, tmp_path)):
        with pytest.raises(DataError, match="cannot be used"):
            attempt()
    (tmp_path / "collected.sqlite").write_bytes(b"")
    Store(SCHEME, tmp_path).close()  # as after a crash between two steps of making it
    other = local.KaryRandomizedResponse(domain=3, epsilon=1)
    for attempt in (lambda: read_store(tmp_path, other), lambda: Store(other, tmp_path)):
        with pytest.raises(DataError, match="another directory"):
            attempt()


@pytest.mark.parametrize("home", ["/proc/store", "/dev/null", "/dev/null/store"])
def test_a_place_that_cannot_be_written_is_refused(home: str) -> None:
    with pytest.raises(DataError, match="cannot be used"):
        Store(SCHEME, Path(home))


def test_a_disk_where_commits_are_less_sure_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without shared memory SQLite keeps no log, but a journal, whose removal a power cut may undo."""

    def elsewhere(home: Path, mode: str) -> sqlite3.Connection:
        return sqlite3.connect(f"{(home / 'collected.sqlite').as_uri()}?mode={mode}&vfs=unix-dotfile", uri=True)

    monkeypatch.setattr("discreet.server.collector._store.connected", elsewhere)
    with pytest.raises(DataError, match="a local one"):
        Store(SCHEME, tmp_path)


def test_another_document_is_told_by_all_of_its_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two documents of one fingerprint can be made in 2**32 tries."""
    Store(SCHEME, tmp_path).close()
    monkeypatch.setattr(local.Scheme, "fingerprint", property(lambda _: b"the same"))
    for use in (Store, lambda scheme, home: read_store(home, scheme)):
        with pytest.raises(DataError, match="another directory"):
            use(local.KaryRandomizedResponse(domain=50_000, epsilon=7), tmp_path)


def test_a_report_that_a_protocol_stumbles_over_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = local.KaryRandomizedResponse
    tally = kind.tally

    def stumbling(self: Any, fields: Any, counts: Any) -> None:
        tally(self, fields, counts)
        if (fields.numbers[0] == 13).any():
            raise RuntimeError("an unlucky number")

    monkeypatch.setattr(kind, "tally", stumbling)
    with Store(SCHEME, tmp_path) as store:
        store.write([batch(12, 50), batch(13, 2), batch(14, 50)])
        store.fold(now=True)
        server = store.server()
    assert (server.reports, server.rejected) == (100, 2)
    assert server.counts[12:15].tolist() == [50, 0, 50]


def test_a_report_that_stumbles_on_its_way_in_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumbling(_: Any, fields: Any) -> Any:
        if (fields.numbers[0] == 13).any():
            raise RuntimeError("an unlucky number")
        return fields.numbers[0] != 14

    monkeypatch.setattr(local.KaryRandomizedResponse, "genuine", stumbling)
    rows = local.Reports.together([saying(value, 9) for value in (12, 13, 14, 15)]).rows
    kept = _intake._genuine(SCHEME, local.Reports(SCHEME.fingerprint, rows))
    assert kept.rows.tolist() == local.Reports.together([saying(12, 9), saying(15, 9)]).rows.tolist()


def test_many_small_batches_are_added_in_one_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.server.collector import _store as _database

    calls, with_batch = [], _database._with
    monkeypatch.setattr(_database, "_with", lambda server, each: calls.append(len(each)) or with_batch(server, each))
    with Store(SCHEME, tmp_path) as store:
        for number in range(60):
            store.write([batch(number, 3)])
        odd = local.Reports(SCHEME.fingerprint, np.zeros((5, SCHEME.layout.width + 1), dtype=np.uint8))
        store.write([Batch(b"o" * 16, b"d" * 16, odd, rejected=2)])
        none = local.Reports(SCHEME.fingerprint, np.zeros((0, 0), dtype=np.uint8))
        store.write([Batch(b"n" * 16, b"d" * 16, none, rejected=4)])
        store.write([batch(61, 1)])
        server = store.server()
        assert calls == [180, 5, 1]
        assert (server.reports, server.rejected) == (181, 11)
        monkeypatch.setattr(_database, "_AT_ONCE", 1000)
        assert store.server() == server
        assert len(calls) > 8


def test_a_store_is_read_as_its_reader_wants(tmp_path: Path) -> None:
    kept, asked = (local.SquareWave((0, 9), 1, bins=8, smooth=smooth) for smooth in (True, False))
    with Store(kept, tmp_path) as store:
        store.write([Batch(bytes(16), bytes(16), kept.simulate([3.0] * 50), rejected=1)])
    assert read_store(tmp_path).scheme == kept
    assert read_store(tmp_path, asked).scheme == asked
    assert (read_store(tmp_path, asked).reports, bytes(read_store(tmp_path, asked))) == (
        50,
        bytes(read_store(tmp_path)),
    )
    with pytest.raises(DataError, match="use the store's own document"):
        read_store(tmp_path, local.SquareWave((0, 9), 1, bins=9))
    with Store(asked, tmp_path) as store:
        assert store.server().reports == 50


def test_a_store_that_may_only_be_read_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with Store(SCHEME, tmp_path) as store:
        store.write([batch(1, 7)])
        monkeypatch.setattr("discreet.server.collector._store.locked", refused)
        assert read_store(tmp_path).reports == 7
    files = sorted(tmp_path.iterdir())
    assert read_store(tmp_path).reports == 7
    assert sorted(tmp_path.iterdir()) == files


def test_what_cannot_be_added_up_is_tried_again_when_there_is_twice_as_much(tmp_path: Path) -> None:
    with_pending(tmp_path)
    damaged(tmp_path, "UPDATE pending SET reports = ?", b"nothing")
    store = Store(SCHEME, tmp_path)
    with pytest.raises(DataError):
        store.fold(now=True)
    store.fold()
    assert store.write([batch(1)]) == [Outcome.REPEATED]
    with pytest.raises(DataError):
        store.close()


def test_directories_that_were_made_outlast_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where an entry was made the directory is synced; others may be of somebody else, and not to be opened."""
    synced: list[Path] = []
    refused = tmp_path.parent
    fsync = os.fsync

    def told(file: int) -> None:
        found = Path(f"/proc/self/fd/{file}").readlink()
        if found == refused:
            raise PermissionError
        synced.append(found)
        fsync(file)

    monkeypatch.setattr(os, "fsync", told)
    home = tmp_path / "one" / "two" / "store"
    Store(SCHEME, home).close()
    assert set(synced) == {home, home.parent, home.parent.parent, tmp_path}
    synced.clear()
    Store(SCHEME, tmp_path).close()
    assert synced == [tmp_path]


def test_reports_that_were_added_up_are_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the database and from its log; while somebody reads the log it is left, and nobody waits."""
    monkeypatch.setattr(_database, "BUSY_SECONDS", 3600)  # whoever waits, hangs
    monkeypatch.setattr(_store, "BUSY_SECONDS", 3600)

    def found() -> bool:
        return any(mark in path.read_bytes() for path in tmp_path.iterdir())

    scheme = local.OptimizedUnary(epsilon=1, domain=4_000)
    reports = scheme.simulate([7] * 20)
    mark = reports.rows[3].tobytes()[100:200]
    with Store(scheme, tmp_path) as store:
        store.write([Batch(bytes(16), bytes(16), reports, rejected=0)])
        assert found()
        with closing(sqlite3.connect(tmp_path / "collected.sqlite", isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM seen").fetchone()
            store.fold(now=True)
            assert found()
        store.write([Batch(bytes([1]) * 16, bytes(16), scheme.simulate([7]), rejected=0)])
        store.fold(now=True)
        assert not found()
        assert store._connection.execute("PRAGMA secure_delete").fetchone() == (1,)
        assert store._connection.execute("PRAGMA busy_timeout").fetchone() == (3_600_000,)
        assert store.server().reports == 21


def test_files_are_for_their_owner(tmp_path: Path) -> None:
    with Store(SCHEME, tmp_path / "store"):
        modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "store").iterdir()}
    assert set(modes.values()) == {0o600}
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o700


def test_commits_go_to_the_disk(tmp_path: Path) -> None:
    with Store(SCHEME, tmp_path) as store:
        settings = [
            store._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
        ]
    assert settings == ["wal", 2]
