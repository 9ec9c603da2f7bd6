"""Files that are not ledgers, places that cannot hold one, and disks that give out: an error in words, no change."""

from __future__ import annotations

import gc
import os
import resource
import sqlite3
import stat
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from discreet.errors import LedgerError, ParameterError
from discreet.ledger import _accounts, open_ledger
from discreet.ledger.crypto import _signing
from discreet.ledger.sqlite import _sqlite
from discreet.ledger.sqlite._create_file import create
from discreet.ledger.sqlite._errors import in_plain_words
from discreet.privacy import approx, pure, rho


@contextmanager
def refused(match):
    with pytest.raises(LedgerError, match=match) as caught:
        yield
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def contents(directory):
    return {p.name: p.read_bytes() for p in directory.iterdir() if p.is_file()}


def test_a_ledger_outlives_its_object(tmp_path):
    path = tmp_path / "shop.ledger"
    with open_ledger(path, approx(1, 1e-6)) as ledger:
        stored = ledger.commit(ledger.reserve("plan", approx(0.25, 1e-7)), b"release")
        assert (ledger.path, ledger.currency) == (str(path), "approx")
    with open_ledger(str(path), approx(1, 1e-6)) as ledger:
        assert ledger.find("plan") == stored
        assert ledger.remaining == approx(0.75, 9e-7)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_no_file_and_no_budget(tmp_path):
    with refused("needs a budget"):
        open_ledger(tmp_path / "ledger", None)
    assert not contents(tmp_path)


@pytest.mark.parametrize("other", [pure(4), approx(3, 1e-6), rho(3)])
def test_another_budget_is_refused_in_both_words(tmp_path, other):
    open_ledger(tmp_path / "ledger", pure(3)).close()
    before = contents(tmp_path)
    with refused(
        "has a budget of epsilon 3, not of .*: state its own budget or none, (renew|convert) it.* start a new"
    ):
        open_ledger(tmp_path / "ledger", other)
    assert contents(tmp_path) == before


def sqlite_file(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    ("write", "match"),
    [
        (lambda path: path.write_bytes(b""), "not a ledger of discreet"),
        (lambda path: path.write_text("dear diary " * 100), "not a ledger"),
        (lambda path: path.write_bytes(b"SQLite format 3\0" + b"\xff" * 4000), "not a ledger|damaged"),
        (lambda path: sqlite_file(path, "CREATE TABLE mine (a)", "INSERT INTO mine VALUES (1)"), "not a ledger"),
        (lambda path: sqlite_file(path, "PRAGMA journal_mode = WAL", "CREATE TABLE mine (a)"), "not a ledger"),
    ],
)
def test_another_file_is_refused_and_left_as_it_is(tmp_path, write, match):
    path = tmp_path / "file"
    write(path)
    before = contents(tmp_path)
    for budget in (None, pure(1)):
        with refused(match):
            open_ledger(path, budget)
    assert contents(tmp_path) == before


def test_a_newer_format_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "ledger"
    open_ledger(path, pure(1)).close()
    sqlite_file(path, "PRAGMA user_version = 99", "UPDATE meta SET format = 99")
    before = contents(tmp_path)
    with refused("format 99.*upgrade discreet"):
        open_ledger(path, pure(1))
    assert contents(tmp_path) == before


def test_a_ledger_that_was_given_a_rollback_journal_gets_its_log_back(tmp_path):
    path = tmp_path / "ledger"
    open_ledger(path, pure(1)).close()
    sqlite_file(path, "PRAGMA journal_mode = DELETE")
    with open_ledger(path, None) as ledger:
        ledger.reserve("plan", pure(0.1))
    assert path.read_bytes()[18:20] == b"\2\2"


def test_a_format_that_moves_on_while_the_ledger_is_open_is_refused(tmp_path):
    path = tmp_path / "ledger"
    with open_ledger(path, pure(1)) as ledger:
        sqlite_file(path, "PRAGMA user_version = 99", "UPDATE meta SET format = 99")
        with refused("upgrade discreet"):
            ledger.reserve("plan", pure(1))


def test_a_format_that_no_version_wrote_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "ledger"
    open_ledger(path, pure(1)).close()
    sqlite_file(path, "PRAGMA user_version = 0", "UPDATE meta SET format = 0")
    before = contents(tmp_path)
    with refused("format 0, which no version wrote"):
        open_ledger(path, None)
    gc.collect()
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "name", ["a?mode=memory", "a#b", "100%", "%41", "mit leer", "ε", os.fsdecode(b"\xff\xfe"), "a;b'\""]
)
def test_any_file_name_will_do(tmp_path, name):
    path = tmp_path / name
    open_ledger(path, pure(1)).close()
    with open_ledger(path, None) as ledger:
        ledger.reserve("plan", pure(1))
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("path", ["", ":memory:", "a\0b"])
def test_a_name_that_is_no_file_name(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with refused("not a path for a ledger"):
        open_ledger(path, pure(1))
    with pytest.raises(ParameterError):
        open_ledger(3, pure(1))


def test_places_that_cannot_hold_a_ledger(tmp_path):
    (tmp_path / "file").write_text("text")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone" / "ledger")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    for place, match in {
        tmp_path: "a directory",
        tmp_path / "pipe": "a directory or a device",
        Path("/dev/null"): "a directory or a device",
        tmp_path / "missing" / "ledger": "no directory .*make it first",
        tmp_path / "file" / "ledger": "cannot be|no directory",
        tmp_path / "nowhere": "a link to a file that does not exist",
        tmp_path / "round": "loop|symbolic links",
        tmp_path / ("x" * 300): "too long",
        Path("/proc/ledger"): "the new ledger",
    }.items():
        with refused(match):
            open_ledger(place, pure(1))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "nowhere", "pipe", "round"]


def test_a_link_to_a_ledger_is_the_ledger(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    open_ledger(real, pure(1)).close()
    link.symlink_to(real)
    with open_ledger(link, None) as ledger:
        ledger.reserve("plan", pure(1))
        assert ledger.path == str(real)
    with open_ledger(real, None) as ledger:
        assert ledger.spent == pure(1)


def test_a_second_name_is_refused_and_a_draft_of_a_dead_maker_is_cleared_away(tmp_path):
    path = tmp_path / "ledger"
    open_ledger(path, pure(1)).close()
    os.link(path, tmp_path / ".discreet-abc.new")
    open_ledger(path, None).close()
    assert list(tmp_path.iterdir()) == [path]
    os.link(path, tmp_path / "copy")
    with refused("second name"):
        open_ledger(path, None)


def test_making_never_overwrites(tmp_path):
    path = tmp_path / "ledger"
    path.write_text("precious")
    create(str(path), lambda _: None)
    assert contents(tmp_path) == {"ledger": b"precious"}


def test_a_failure_while_making_leaves_nothing(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "link", fail)
    with refused("no space left on device"):
        open_ledger(tmp_path / "ledger", pure(1))
    assert not contents(tmp_path)


def test_a_file_that_is_deleted_or_replaced_underneath(tmp_path):
    path = tmp_path / "ledger"
    with open_ledger(path, pure(1)) as ledger:
        reservation = ledger.reserve("plan", pure(0.1))
        path.rename(tmp_path / "moved")
        for use in (lambda: ledger.reserve("plan", pure(0.1)), lambda: ledger.spent, ledger.verify):
            with refused("is gone"):
                use()
        assert not path.exists()
        with refused("a part of a ledger that was moved or deleted"):
            open_ledger(path, pure(1))
        assert not path.exists()
        open_ledger(tmp_path / "new", pure(1)).close()
        (tmp_path / "new").rename(path)
        with refused("moved or replaced"):
            ledger.reserve("plan", pure(0.1))
        path.unlink()
        (tmp_path / "moved").rename(path)
        ledger.commit(reservation, b"release")


def test_a_disk_that_is_full_for_one_release_takes_it_later(tmp_path):
    path = tmp_path / "ledger"
    with open_ledger(path, pure(1)) as ledger:
        reservation = ledger.reserve("plan", pure(0.1))
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
        try:
            with refused("the disk"):
                ledger.commit(reservation, b"x" * 200_000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert ledger.verify() == 2
        assert ledger.find("plan") is None
        with refused("another release was tried"):
            ledger.commit(reservation, b"a second draw")
        assert ledger.find("plan") is None
        assert ledger.commit(reservation, b"x" * 200_000) == ledger.find("plan")


def test_a_disk_that_is_full_refuses_to_reserve_and_to_make(tmp_path):
    path = tmp_path / "ledger"
    with open_ledger(path, pure(1)) as ledger:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (512, hard))
        try:
            with refused("the disk"):
                ledger.reserve("plan", pure(0.1))
            with refused("the disk"):
                open_ledger(tmp_path / "new", pure(1))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert ledger.verify() == 1
    assert [p.name for p in tmp_path.iterdir()] == ["ledger"]


def test_the_words_for_a_full_disk():
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("PRAGMA max_page_count = 2")
        connection.execute("CREATE TABLE t (a)")
        with refused("the disk is full; free some space"), in_plain_words("the ledger"):
            connection.execute("INSERT INTO t VALUES (?)", ("x" * 100_000,))


def test_a_read_only_ledger_can_be_read_and_not_charged(tmp_path, monkeypatch):
    """Root may write everywhere, so SQLite is told to open read-only."""
    path = tmp_path / "ledger"
    open_ledger(path, pure(1)).close()
    uri = _sqlite.uri
    monkeypatch.setattr(_sqlite, "uri", lambda place, _: uri(place, "mode=ro"))
    with open_ledger(path, None) as ledger:
        assert ledger.verify() == 1
        with refused("read-only; give this user write permission"):
            ledger.reserve("plan", pure(0.1))
        assert ledger.verify() == 1


def test_importing_the_package_does_not_import_sqlalchemy():
    import subprocess
    import sys

    import discreet

    code = "import sys, discreet.ledger; sys.exit('sqlalchemy' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


def test_without_a_version_a_ledger_is_read_and_not_charged(tmp_path, monkeypatch):
    open_ledger(tmp_path / "ledger", pure(3)).close()

    def unknown():
        raise LedgerError("the version of discreet is not known")

    monkeypatch.setattr(_signing, "code_version", unknown)
    monkeypatch.setattr(_accounts, "code_version", unknown)
    with open_ledger(tmp_path / "ledger") as ledger:
        assert ledger.verify() == 1
        with refused("the version of discreet is not known"):
            ledger.reserve("plan", pure(1))
        assert ledger.head.seq == 0
