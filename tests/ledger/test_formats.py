"""Ledgers of older formats go on; those of a later one, and files that are damaged, are refused and left alone."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa

from discreet.errors import LedgerError
from discreet.ledger import Reservation, open_ledger
from discreet.ledger import verify_release as checks
from discreet.ledger._owner import OwnedLedger
from discreet.ledger.log import _rows
from discreet.ledger.log import _schema as _table
from discreet.ledger.log._chain import check, walk
from discreet.ledger.log._commitments import canonical, sha256
from discreet.ledger.postgres import _postgres as postgres
from discreet.privacy import ApproxLoss, approx, pure
from discreet.release import parse_release_file

FORMAT_1 = Path(__file__).with_name("format_1.sqlite")
SPENT = ApproxLoss(Fraction(3, 5), Fraction(1, 10**9))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Three charges of which two have a release; the third is dead."""
    return Path(shutil.copy(FORMAT_1, tmp_path / "ledger"))


def change(path: Path, statement: str) -> None:
    """As somebody would who knows how the table is guarded."""
    with closing(sqlite3.connect(path)) as connection:
        guards = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for _, text in guards:
            with suppress(sqlite3.OperationalError):  # the table is gone
                connection.execute(text)
        connection.commit()


def rows(path: Path, table: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT * FROM {table} ORDER BY seq").fetchall()


def test_a_ledger_of_the_first_format_goes_on_with_its_totals(old: Path) -> None:
    before = rows(old, "entries")
    with open_ledger(old, approx(3, 1e-6)) as ledger:
        assert (ledger.spent, ledger.budget) == (SPENT, approx(3, 1e-6))
        assert ledger.history["approx"] == SPENT
        assert ledger.facts.continued.head == before[-1][9]
        assert ledger.verify() == 1
        assert isinstance(ledger.reserve("plan0", approx("1/10", 0)), Reservation), "old releases are not served"
        assert ledger.spent.eps == Fraction(7, 10)
    assert rows(old, "entries_1") == before
    with open_ledger(old, None) as ledger:
        assert ledger.verify() == 2
    with closing(sqlite3.connect(old)) as connection, pytest.raises(sqlite3.IntegrityError, match="only grows"):
        connection.execute("DELETE FROM entries_1")


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries_1 SET spent = (SELECT spent FROM entries_1 WHERE seq = 1) WHERE seq = 3",
        "UPDATE entries_1 SET plan_hash = 'other' WHERE seq = 1",
        "UPDATE entries_1 SET payload = x'00' WHERE seq = 2",
        "DELETE FROM entries_1 WHERE seq = 5",
        "DELETE FROM entries_1 WHERE seq = 2",
        "DELETE FROM entries_1",
        "DROP TABLE entries_1",
    ],
)
def test_what_is_changed_in_the_old_table_is_noticed(old: Path, statement: str) -> None:
    open_ledger(old, None).close()
    change(old, statement)
    with open_ledger(old, None) as ledger, pytest.raises(LedgerError):
        ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET spent = loss WHERE seq = 5",
        "UPDATE entries SET spent = 'x' WHERE seq = 5",
        "UPDATE entries SET loss = 'x' WHERE seq = 0",
        "DELETE FROM entries",
        "DELETE FROM entries WHERE seq = 5",
        "DELETE FROM entries WHERE seq = 0",
        "UPDATE meta SET format = 7",
        "DELETE FROM meta",
        "DROP TABLE meta",
        "PRAGMA user_version = 7",
        "DROP INDEX ix_entries_plan_hash",
    ],
)
def test_what_cannot_be_continued_is_refused_and_left_as_it_is(old: Path, statement: str) -> None:
    change(old, statement)
    before = [rows(old, "entries"), old.stat().st_size]
    with pytest.raises(LedgerError):
        open_ledger(old, None)
    assert [rows(old, "entries"), old.stat().st_size] == before
    assert [path.name for path in old.parent.iterdir()] == ["ledger"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda held: held[:60] + (99).to_bytes(4) + held[64:],  # a later format
        lambda held: held[:40],
        lambda held: b"not a ledger" * 100,
        lambda held: held[:68] + b"\0\0\0\0" + held[72:],
    ],
)
def test_a_later_format_and_other_files_are_not_changed_by_a_byte(old: Path, damage) -> None:
    old.write_bytes(damage(old.read_bytes()))
    before = old.read_bytes()
    with pytest.raises(LedgerError):
        open_ledger(old, None)
    assert old.read_bytes() == before
    assert [path.name for path in old.parent.iterdir()] == ["ledger"]


@pytest.mark.parametrize("count", [3, pytest.param(8, marks=pytest.mark.soak)])
def test_processes_bring_one_ledger_forward_at_once(old: Path, count: int) -> None:
    code = (
        "import sys; from discreet.ledger import open_ledger; from discreet.privacy import approx\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "with open_ledger(sys.argv[1]) as ledger: ledger.reserve(sys.argv[2], approx('1/10', 0))"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(old), f"plan{index}"], stdin=-1, stdout=-1, stderr=-1, text=True
        )
        for index in range(count)
    ]
    assert {process.stdout.readline() for process in processes} == {"ready\n"}
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[1] for process in processes] == [""] * count
    with open_ledger(old, None) as ledger:
        assert ledger.spent.eps == Fraction(3, 5) + Fraction(count, 10)
        assert ledger.verify() == 1 + count


FORMAT_2 = Path(__file__).with_name("format_2.sqlite")
PARTS = Path(__file__).with_name("format_2_parts.sqlite")
ADA, EVE = "64787f2464577f31224be7bc8d85573afa3c9a194826ef44", "08dd96ece150c68a52b7395bb3344045944c5ae1a2666187"
OLD_COLUMNS = (
    "seq, kind, account, idempotency_key, reservation, plan_hash, body, payload_sha256, at, previous, hash, payload"
)


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """Twenty entries of format 2: two analysts and an auditor, charges, releases, a free repeat, a transfer."""
    return Path(shutil.copy(FORMAT_2, tmp_path / "second"))


def old_rows(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT {OLD_COLUMNS} FROM entries WHERE seq < 20 ORDER BY seq").fetchall()


def goes_on(ledger: OwnedLedger) -> None:
    """Whatever a ledger of format 2 held counts and is served, and new entries follow in the same chain."""
    assert ledger.verify() == 20
    assert (ledger.spent, ledger.budget) == (pure("97/40"), pure(10))
    ada, ben = ledger.open_account("ada", ADA), ledger.open_account("ben")
    assert (ada.spent, ada.budget, ben.spent, ben.budget) == (pure("9/8"), pure(6), pure("13/10"), pure(4))
    assert ledger.open_audit("eve", EVE).verify() == 20
    for key in ("charged", "free", None):
        assert ada.reserve("plan-a", pure("1/2"), idempotency_key=key).payload == b"the first of ada"
    with pytest.raises(LedgerError, match="was charged and has no release"):
        ada.reserve("plan-c", pure("1/8"), idempotency_key="dead")
    with pytest.raises(LedgerError, match="used for another request"):
        ada.reserve("plan-b", pure("1/4"), idempotency_key="free")
    assert ada.find("plan-b").payload == b"the second of ada"
    stored = ada.commit(ada.reserve("plan-new", pure("1/4")), b"new")
    ben.reserve("plan-new", pure("1/5"))
    ledger.freeze("ben")
    assert ledger.verify({"the new release": stored.head}) == 24
    assert ledger.spent == pure(Fraction(97, 40) + Fraction(9, 20))


def test_a_ledger_of_the_second_format_goes_on_in_its_own_chain(second: Path) -> None:
    before = old_rows(second)
    with open_ledger(second, pure(10)) as ledger:
        goes_on(ledger)
        assert ledger.verify({"a noted head": before[-1][-2]}) == 24
    assert old_rows(second) == before
    with closing(sqlite3.connect(second)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (4,)
        salted = connection.execute("SELECT salt IS NULL, totals IS NULL FROM entries ORDER BY seq").fetchall()
        assert salted == [(1, 1)] * 20 + [(0, 0)] * 4
        with pytest.raises(sqlite3.IntegrityError, match="only grows"):
            connection.execute("DELETE FROM entries")
    with open_ledger(second) as ledger:
        assert ledger.verify() == 24


@pytest.mark.postgres
def test_a_ledger_of_the_second_format_goes_on_in_a_server(place_on_server: str) -> None:
    """The tables as the older version made them, with the rows that it wrote."""
    open_ledger(place_on_server, pure(10)).close()
    database = postgres.Database(place_on_server)
    with database.transaction(write=True) as connection:
        for statement in (
            "DROP TRIGGER entries_no_change ON entries",
            "DELETE FROM entries",
            "DELETE FROM secrets",
            "DROP INDEX entries_of_repeats",
            "DROP INDEX entries_of_runs",
            "ALTER TABLE entries DROP COLUMN totals, DROP COLUMN salt",
            "UPDATE meta SET format = 2, last = 19",
        ):
            connection.exec_driver_sql(statement)
        names = OLD_COLUMNS.split(", ")
        table = sa.table("entries", *map(sa.column, names))
        connection.execute(sa.insert(table), [dict(zip(names, row, strict=True)) for row in old_rows(FORMAT_2)])
        with closing(sqlite3.connect(FORMAT_2)) as held:
            kept = held.execute("SELECT name, value FROM secrets").fetchall()
        for name, value in kept:
            connection.execute(sa.insert(_table.secrets).values(name=name, value=value))
        postgres.append_only(connection)
    database.close()
    with open_ledger(place_on_server) as ledger:
        goes_on(ledger)
    with open_ledger(place_on_server) as ledger:
        assert ledger.verify() == 24


def test_a_ledger_that_has_no_index_of_rare_kinds_goes_on(tmp_path: Path) -> None:
    """As the first ledgers of format 2 have none."""
    path = Path(shutil.copy(FORMAT_2, tmp_path / "ledger"))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP INDEX IF EXISTS entries_of_rare_kinds")
        connection.commit()
    with open_ledger(path) as ledger:
        assert ledger.verify() == 20 and ledger.kinds()["create"] == 1


def test_an_encrypted_ledger_of_the_second_format_with_parts_and_windows_goes_on(tmp_path: Path) -> None:
    path = Path(shutil.copy(PARTS, tmp_path / "ledger"))
    with open_ledger(path) as ledger:
        assert ledger.verify() == 9
        with pytest.raises(LedgerError, match="encrypted: open it with its key"):
            ledger.reserve("plan", pure("1/8"))
        ledger.freeze("ada")  # without the key: no release is written
        ledger.thaw("ada")
    with open_ledger(path, key=bytes(range(32))) as ledger:
        assert (ledger.facts.relation, ledger.facts.parts) == ("add_remove", ("north", "south"))
        ada = ledger.open_account("ada")
        assert ada.find("plan-n").payload == b"north"
        ada.commit(ada.reserve("plan", pure("1/8"), part="north"), b"new")
        assert ledger.total.lifetime.eps >= Fraction(9, 8)
        assert ledger.verify() == 13


def test_a_ledger_that_went_on_from_the_first_format_in_the_second_goes_on(tmp_path: Path) -> None:
    path = Path(shutil.copy(FORMAT_2.with_name("format_1_2.sqlite"), tmp_path / "ledger"))
    with open_ledger(path) as ledger:
        assert ledger.verify() == 3
        assert ledger.spent.eps == Fraction(7, 10)
        assert ledger.find("plan-d").payload == b"after"
        ledger.reserve("plan-e", approx("1/10", 0))
        assert ledger.verify() == 4
    change(path, "UPDATE entries_1 SET payload = x'00' WHERE seq = 2")
    with open_ledger(path) as ledger, pytest.raises(LedgerError):
        ledger.verify()


def test_a_certificate_of_before_still_verifies(second: Path) -> None:
    release = FORMAT_2.with_suffix(".release")
    with open_ledger(second) as ledger:
        done = [*checks(parse_release_file(release.read_bytes()), ledger.facts.public_key, ledger)]
        assert {each.result for each in done} == {"good"}
        assert {each.name for each in done} >= {"signature", "signer", "answer", "loss", "ledger", "charge"}
        assert ledger.verify({"it": parse_release_file(release.read_bytes()).certificate["position"]}) == 20


@pytest.mark.sampled(2)
@pytest.mark.parametrize("column", OLD_COLUMNS.split(", "))
@pytest.mark.parametrize("seq", [0, 7, 8, 9, 14, 17, 19])
def test_what_is_changed_in_an_entry_without_a_salt_is_noticed(second: Path, seq: int, column: str) -> None:
    with open_ledger(second) as ledger:
        ledger.reserve("plan-new", pure("1/4"))
    held = old_rows(second)[seq][OLD_COLUMNS.split(", ").index(column)]
    other = -5 if column == "seq" else b"forged" if column == "payload" else "forged"
    assert held != other
    try:
        change(second, f"UPDATE entries SET {column} = {other if column == 'seq' else repr(other).lstrip('b')} "
               f"WHERE seq = {seq}")  # fmt: skip
    except sqlite3.IntegrityError:
        return  # the table itself refuses
    with pytest.raises(LedgerError), open_ledger(second) as ledger:
        ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET salt = NULL WHERE seq = 21",
        "UPDATE entries SET salt = NULL, totals = NULL WHERE seq = 21",
        "UPDATE entries SET totals = NULL WHERE seq = 21",
        "UPDATE entries SET salt = upper(salt) WHERE seq = 21",
        "UPDATE entries SET salt = salt || '00' WHERE seq = 21",
        "UPDATE entries SET salt = substr(salt, 33) || substr(salt, 1, 32) WHERE seq = 21",
        "UPDATE entries SET salt = '' WHERE seq = 21",
        "UPDATE entries SET totals = totals || ' ' WHERE seq = 21",
        "UPDATE entries SET totals = '{}' WHERE seq = 3",
        "UPDATE entries SET salt = (SELECT salt FROM entries WHERE seq = 21) WHERE seq = 3",
        "DELETE FROM entries WHERE seq = 20",
        "DELETE FROM entries WHERE seq = 5",
    ],
)
def test_salts_and_totals_are_protected_by_the_chain(second: Path, statement: str) -> None:
    with open_ledger(second) as ledger:
        for number in range(3):
            ledger.reserve(f"plan-{number}", pure("1/4"))
    change(second, statement)
    with pytest.raises(LedgerError), open_ledger(second) as ledger:
        ledger.verify()


def test_no_entry_without_a_salt_follows_one_that_has_one(second: Path) -> None:
    """As somebody would write who wants hashes that can be guessed again."""
    with open_ledger(second) as ledger:
        ledger.freeze("ben")
        rows_of = [(values, payload) for values, payload in _rows.pages(ledger._store.database, 99, payloads=True)]
    last = check(rows_of[-1][0], "")
    body = canonical({"event": {}, **json.loads(last.totals), "account": json.loads(last.body)["account"]})
    forged = last._replace(seq=21, body=body, totals=None, salt=None, previous=last.hash)
    columns = {
        name: value for name, value in forged._asdict().items() if name not in ("totals", "salt", "previous", "hash")
    }
    forged = forged._replace(hash=sha256(bytes.fromhex(last.hash) + canonical(columns).encode()))
    assert check(forged, "") == forged
    assert len(list(walk(rows_of, ""))) == 21
    with pytest.raises(LedgerError, match="entry 21 is bad: it has no salt"):
        list(walk([*rows_of, (forged, None)], ""))


@pytest.mark.parametrize(
    "statement", ["DELETE FROM entries WHERE seq = 19", "UPDATE meta SET last = 20", "DELETE FROM meta"]
)
def test_a_ledger_of_the_second_format_that_cannot_go_on_is_left_as_it_is(second: Path, statement: str) -> None:
    change(second, statement)
    before = [rows(second, "entries"), second.stat().st_size]
    with pytest.raises(LedgerError):
        open_ledger(second)
    assert [rows(second, "entries"), second.stat().st_size] == before


@pytest.mark.soak
def test_four_processes_bring_a_ledger_of_the_second_format_forward_at_once(second: Path) -> None:
    code = (
        "import sys; from discreet.ledger import open_ledger; from discreet.privacy import pure\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        "with open_ledger(sys.argv[1]) as ledger: ledger.reserve(sys.argv[2], pure('1/10'))"
    )
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(second), f"p{index}"], stdin=-1, stdout=-1, stderr=-1, text=True
        )
        for index in range(4)
    ]
    assert {process.stdout.readline() for process in processes} == {"ready\n"}
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    assert [process.communicate()[1] for process in processes] == [""] * 4
    with open_ledger(second) as ledger:
        assert (ledger.spent, ledger.verify()) == (pure(Fraction(97, 40) + Fraction(2, 5)), 24)
