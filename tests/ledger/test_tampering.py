"""Whatever row is edited, deleted, swapped or added, somebody notices."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from contextlib import closing
from fractions import Fraction

import pytest

from discreet.errors import LedgerError
from discreet.ledger import open_ledger
from discreet.ledger._chain import Row, row_after, walk
from discreet.privacy import Pure, pure

COLUMNS = [*Row._fields, "payload"]
ROWS = range(7)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A create, two reservations with releases, a repeated plan, and a dead reservation at the end."""
    path = tmp_path_factory.mktemp("original") / "ledger"
    with open_ledger(path, pure(3)) as ledger:
        for plan, payload in (("a", b"one"), ("b", b"two")):
            ledger.commit(ledger.reserve(plan, pure(0.5)), payload)
        ledger.reserve("a", pure(0.5))
        ledger.reserve("c", pure(0.25))
        assert ledger.verify() == len(ROWS)
    return path


@pytest.fixture
def path(original, tmp_path):
    return shutil.copy(original, tmp_path / "ledger")


def alter(path, *statements):
    with closing(sqlite3.connect(path)) as connection:
        for verb in ("update", "delete"):
            connection.execute(f"DROP TRIGGER IF EXISTS entries_no_{verb}")
        for statement in statements:
            connection.execute(*([statement] if isinstance(statement, str) else statement))
        connection.commit()


def rows(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(f"SELECT {', '.join(COLUMNS)} FROM entries ORDER BY seq").fetchall()


def noticed(path, match="cannot be trusted|cannot be opened|lacks|gone back|damaged"):
    with pytest.raises(LedgerError, match=match) as caught, open_ledger(path, None) as ledger:
        ledger.verify()
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


def other_values(column, value):
    yield None
    if column == "seq":
        yield from (value + 100, -value - 1)
    elif column == "payload":
        yield from (b"forged", "forged", 12, None if value is None else value + b"\0", b"")
    else:
        yield from ("forged", "00" * 32, b"\xff\xfe")
        if value:
            yield from (value[:-1], value.swapcase(), value.replace("1/2", "1/4"), value.encode())


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("seq", ROWS)
def test_an_edited_value_is_noticed(original, tmp_path, seq, column):
    value = rows(original)[seq][COLUMNS.index(column)]
    for number, other in enumerate(other_values(column, value)):
        if other == value:
            continue
        path = shutil.copy(original, tmp_path / f"{number}")
        try:
            alter(path, (f"UPDATE entries SET {column} = ? WHERE seq = ?", (other, seq)))
        except sqlite3.IntegrityError:
            continue  # the table itself refuses
        if dict(zip(COLUMNS, rows(path)[seq if column != "seq" else 0], strict=True))[column] != value:
            noticed(path)


@pytest.mark.parametrize("seq", ROWS)
def test_a_deleted_row_is_noticed(path, seq):
    alter(path, f"DELETE FROM entries WHERE seq = {seq}")
    message = noticed(path)
    assert seq in {0, 6} or f"entry {seq} is bad: it is missing" in message


@pytest.mark.parametrize(("one", "other"), [*itertools.combinations(ROWS, 2)])
def test_two_swapped_rows_are_noticed(path, one, other):
    alter(
        path,
        f"UPDATE entries SET seq = -1 WHERE seq = {one}",
        f"UPDATE entries SET seq = {one} WHERE seq = {other}",
        f"UPDATE entries SET seq = {other} WHERE seq = -1",
    )
    noticed(path)


def test_swapped_payloads_are_noticed(path):
    two, four = rows(path)[2][-1], rows(path)[4][-1]
    alter(
        path,
        ("UPDATE entries SET payload = ? WHERE seq = 2", (four,)),
        ("UPDATE entries SET payload = ? WHERE seq = 4", (two,)),
    )
    assert "entry 2" in noticed(path)
    with open_ledger(path, None) as ledger, pytest.raises(LedgerError, match="entry 2 is damaged"):
        ledger.find("a")


@pytest.mark.parametrize("count", [1, 3, 6])
def test_a_cut_end_is_noticed(path, count):
    alter(path, f"DELETE FROM entries WHERE seq >= {7 - count}")
    noticed(path, "newest entries were removed")


@pytest.mark.parametrize("seq", [-1, 7, 50])
def test_an_added_row_is_noticed(path, seq):
    values = [seq, *rows(path)[5][1:]]
    values[COLUMNS.index("hash")] = "ab" * 32
    alter(path, (f"INSERT INTO entries ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(values))})", values))
    noticed(path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE meta SET last = 5",
        "UPDATE meta SET last = NULL",
        "UPDATE meta SET last = 'six'",
        "DELETE FROM meta",
        "INSERT INTO meta VALUES (1, 6)",
        "UPDATE meta SET format = 2",
        "UPDATE meta SET format = 'one'",
        "DROP TABLE meta",
        "DROP TABLE entries",
        "PRAGMA user_version = 0",
    ],
)
def test_a_changed_description_is_noticed(path, statement):
    try:
        alter(path, statement)
    except sqlite3.IntegrityError:
        return
    noticed(path, "ledger")


def test_well_formed_entries_that_tell_a_false_story_are_noticed(path):
    """Rows with right hashes, chained on at the end: only the rules of the story can refuse them."""
    told = [(values[:-1], values[-1]) for values in rows(path)]
    last = Row(*told[-1][0])
    dead, done = last.hash, told[1][0][COLUMNS.index("hash")]
    none = Pure(Fraction(0))
    assert len(list(walk(told, "the ledger"))) == 7
    true = ("release", dead, "c", pure("0.25"), pure("1.75"), b"x")
    false = [
        ("create", None, None, pure(3), none, None),
        ("reserve", None, "c", pure("0.01"), pure("1.75"), None),
        ("reserve", None, "c", pure(9), pure("10.75"), None),
        ("reserve", dead, "c", pure("0.25"), pure(2), None),
        ("release", done, "a", pure("0.5"), pure("1.75"), b"redrawn"),
        ("release", dead, "other plan", pure("0.25"), pure("1.75"), b"x"),
        ("release", dead, "c", pure("0.5"), pure("1.75"), b"x"),
        ("release", dead, "c", pure("0.25"), pure("1.5"), b"x"),
        ("release", "ab" * 32, "c", pure("0.25"), pure("1.75"), b"x"),
        ("release", None, "c", pure("0.25"), pure("1.75"), b"x"),
        ("refund", dead, "c", pure("0.25"), pure("1.5"), None),
    ]
    for story in (true, *false):
        kind, reservation, plan, loss, spent, payload = story
        row = row_after(
            last, kind, reservation=reservation, plan_hash=plan, loss=loss, spent=spent, payload=payload
        )  # fmt: skip
        whole = walk([*told, (row, payload)], "the ledger")
        if story is true:
            assert len(list(whole)) == 8
        else:
            with pytest.raises(LedgerError, match="entry 7 is bad"):
                list(whole)


def test_the_file_refuses_updates_and_deletes_by_accident(path):
    with closing(sqlite3.connect(path)) as connection:
        for statement in ("UPDATE entries SET spent = '0'", "DELETE FROM entries"):
            with pytest.raises(sqlite3.IntegrityError, match="only grows"):
                connection.execute(statement)


def test_an_open_ledger_notices_that_it_went_back_in_time(path):
    with open_ledger(path, None) as ledger:
        reservation = ledger.reserve("d", pure(0.25))
        alter(path, "DELETE FROM entries WHERE seq >= 7", "UPDATE meta SET last = 6")
        for use in (lambda: ledger.reserve("e", pure(0.25)), lambda: ledger.commit(reservation, b""), ledger.verify):
            with pytest.raises(LedgerError, match="gone back in time"):
                use()


def test_an_older_copy_put_in_the_place_of_an_open_ledger_is_refused(path, tmp_path):
    old = tmp_path / "backup"
    shutil.copy(path, old)
    with open_ledger(path, None) as ledger:
        reservation = ledger.reserve("d", pure(0.25))
        old.rename(path)
        for use in (lambda: ledger.reserve("e", pure(0.25)), lambda: ledger.commit(reservation, b""), ledger.verify):
            with pytest.raises(LedgerError, match="moved or replaced"):
                use()


def test_every_flipped_byte_of_the_file_is_noticed_or_harmless(original, tmp_path):
    """No traceback from below, and never a ledger that reads well and says something else."""
    whole = original.read_bytes()
    with open_ledger(original, None) as ledger:
        truth = [*ledger.entries()], [ledger.find(plan) for plan in "ab"], ledger.spent
    path = tmp_path / "flipped"
    for place in range(0, len(whole), 211):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            with open_ledger(path, None) as ledger:
                ledger.verify()
                said = [*ledger.entries()], [ledger.find(plan) for plan in "ab"], ledger.spent
        except LedgerError:
            continue
        assert said[0] == truth[0]
        assert said[2] == truth[2]
        assert all(found in (right, None) for found, right in zip(said[1], truth[1], strict=True))
