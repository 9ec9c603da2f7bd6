"""Whatever row is edited, deleted, swapped or added, somebody notices."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction

import pytest

from discreet.errors import LedgerError
from discreet.ledger import open_ledger
from discreet.ledger.log._chain import Walker, check, facts_in, row_after, state_in, walk
from discreet.ledger.log._commitments import Row
from discreet.ledger.state._arithmetic import nothing, numbers, of_loss
from discreet.ledger.state._events import Event, apply
from discreet.privacy import PureLoss, approx, parts, pure

COLUMNS = [*Row._fields, "payload"]
ROWS = range(7)
SALTS = bytes(range(32))


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A create, two reservations with releases, a repeated plan, and a dead reservation at the end."""
    path = tmp_path_factory.mktemp("original") / "ledger"
    with open_ledger(path, pure(3)) as ledger:
        for plan, payload in (("a", b"one"), ("b", b"two")):
            ledger.commit(ledger.reserve(plan, pure(0.5)), payload)
        ledger.reserve("a", pure(0.5), fresh=True)
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


def noticed(path, match="cannot be trusted|cannot be opened|lacks|older copy|damaged"):
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


@pytest.mark.sampled(2)
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
    with open_ledger(path, None) as ledger, pytest.raises(LedgerError, match="entry 2 is missing or damaged"):
        ledger.find("a")


def test_a_cut_end_that_was_hidden_is_noticed_with_an_anchor(path):
    """Whoever cuts the end and sets `meta` right leaves a good ledger, unless somebody noted how it ended."""
    with open_ledger(path) as ledger:
        head = ledger.head
        assert ledger.verify({"the head": head.hash}) == 7
    alter(path, "DELETE FROM entries WHERE seq >= 5", "UPDATE meta SET last = 4")
    with open_ledger(path) as ledger:
        assert ledger.verify() == 5
        with pytest.raises(LedgerError, match="lacks the entry that the head notes"):
            ledger.verify({"the head": head.hash})


def test_an_old_copy_put_back_is_noticed_with_the_certificate_of_a_later_release(path, tmp_path):
    old = shutil.copy(path, tmp_path / "old")
    with open_ledger(path) as ledger:
        position = ledger.reserve("d", pure("0.25")).id
    with open_ledger(old) as ledger:
        assert ledger.verify() == 7
        with pytest.raises(LedgerError, match="an older copy was put back"):
            ledger.verify({"the certificate": position})


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
        "INSERT INTO meta VALUES (3, 6)",
        "UPDATE meta SET format = 5",
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
    told_rows = [(values[:-1], values[-1]) for values in rows(path)]
    last = Row(*told_rows[-1][0])
    facts = facts_in(check(told_rows[0][0], "the ledger"), "the ledger")
    scene = state_in(facts, last, "the ledger")
    dead, done = last.hash, told_rows[1][0][COLUMNS.index("hash")]
    assert len(list(walk(told_rows, "the ledger"))) == 7

    def whole(**changes):
        return replace(scene, total=replace(scene.total, **changes))

    history = {"history": {name: numbers(each) for name, each in of_loss(pure("0.01")).items()}}
    at = datetime.fromisoformat(last.at)
    spent = apply(facts, scene, Event("reserve", "", history, at))
    true = ("release", {"loss": ["1/4"]}, scene, {"reservation": dead, "plan_hash": "c", "payload": b"x"})
    also = ("reserve", history, spent, {"plan_hash": "c", "idempotency_key": "k"})
    answer = next(row.hash for row in walk(told_rows, "the ledger") if (row.kind, row.account) == ("release", ""))
    plan = next(row.plan_hash for row in walk(told_rows, "the ledger") if row.hash == answer)
    asked = {"plan_hash": plan, "idempotency_key": "k"}
    again = ("repeat", {"answer": answer}, scene, asked)
    converting = {"currency": "approx", "cap": [str(parts(scene.total.cap)[0]), "1/1000"], "delta": "1/1000"}
    changed = ("convert", converting, apply(facts, scene, Event("convert", "", converting, at)), {})
    false = [
        ("create", {"currency": "pure"}, scene, {}),
        ("reserve", history, scene, {"plan_hash": "c"}),
        ("reserve", history, spent, {}),
        ("reserve", history, spent, {"plan_hash": "c", "reservation": dead}),
        ("reserve", history, spent, {"plan_hash": "c", "payload": b"x"}),
        ("reserve", {"history": {}}, scene, {"plan_hash": "c"}),
        ("reserve", {"history": {"pure": ["-1/4"]}}, whole(common=pure(1)), {"plan_hash": "c"}),
        ("reserve", {"history": {"pure": ["1e999999999"]}}, scene, {"plan_hash": "c"}),
        ("reserve", {"history": {"pure": ["9"]}}, whole(common=pure("10.75")), {"plan_hash": "c"}),
        ("reserve", {}, scene, {"plan_hash": "c"}),
        ("release", {"loss": ["1/4"]}, scene, {"reservation": done, "plan_hash": "a", "payload": b"redrawn"}),
        ("release", {"loss": ["1/4"]}, scene, {"reservation": dead, "plan_hash": "other", "payload": b"x"}),
        ("release", {"loss": ["1/4"]}, scene, {"reservation": dead, "plan_hash": "c"}),
        ("release", {"loss": ["1/2"]}, scene, {"reservation": dead, "plan_hash": "c", "payload": b"x"}),
        ("release", {"loss": ["1/4"]}, whole(common=pure(1)), true[-1]),
        ("release", {"loss": ["1/4"]}, scene, {"reservation": "ab" * 32, "plan_hash": "c", "payload": b"x"}),
        ("release", {"loss": ["1/4"]}, scene, {"plan_hash": "c", "payload": b"x"}),
        ("repeat", {"answer": answer}, scene, {"plan_hash": plan}),
        ("repeat", {"answer": answer}, scene, asked | {"plan_hash": "c"}),
        ("repeat", {"answer": answer}, scene, asked | {"reservation": dead}),
        ("repeat", {"answer": answer}, spent, asked),
        ("repeat", {"answer": dead}, scene, asked),
        ("repeat", {"answer": None}, scene, asked),
        ("repeat", {}, scene, asked),
        ("refund", {"loss": ["1/4"]}, whole(common=pure(1)), {"reservation": dead, "plan_hash": "c"}),
        ("renew", {}, whole(common=PureLoss(Fraction(0))), {}),
        ("renew", {"cap": ["0"]}, scene, {}),
        ("freeze", {}, scene, {}),
        ("thaw", {}, whole(frozen=True), {}),
        ("transfer", {"from": "ada", "loss": ["1"]}, whole(cap=pure(4)), {}),
        ("transfer", {"to": "ada", "loss": ["1"]}, whole(cap=pure(2)), {}),
        ("grant", {"role": "analyst", "cap": ["1"]}, scene, {}),
        ("settle", {"relation": "add_remove"}, scene, {}),
        ("settle", {"relation": "substitute", "mixed": True}, whole(common=pure("3.5")), {}),
        ("reserve", {**history, "relation": "substitute"}, spent, {"plan_hash": "c"}),
        ("convert", converting, scene, {}),
        ("convert", {**converting, "currency": "mu"}, scene, {}),
        ("convert", {**converting, "cap": ["9", "1/1000"]}, scene, {}),
        ("convert", {**converting, "delta": "1e-3"}, scene, {}),
        ("convert", converting, whole(cap=approx(3, "1/1000"), common=approx("1/4", 0), before=nothing("approx")), {}),
    ]
    for kind, event, after, rest in (true, also, again, changed, *false):
        row = row_after(facts, last, Event(kind, "", event, at), after, salt_key=SALTS, **rest)
        story = walk([*told_rows, (row, rest.get("payload"))], "the ledger")
        if (kind, event, after, rest) in (true, also, again, changed):
            assert len(list(story)) == 8
        else:
            with pytest.raises(LedgerError, match="entry 7 is bad"):
                list(story)
    row = row_after(facts, last, Event("freeze", "", {}, at - timedelta(seconds=1)), whole(frozen=True), salt_key=SALTS)
    with pytest.raises(LedgerError, match="older than the entry before"):
        list(walk([*told_rows, (row, None)], "the ledger"))


def stops(walker, values, payload):
    """Half a million times: without what `pytest.raises` keeps of each."""
    try:
        walker.step(values, payload)
    except LedgerError as error:
        return "cannot be trusted" in str(error)
    return False


@pytest.mark.soak
def test_every_single_row_of_a_thousand(tmp_path):
    """Whichever row of 1,000 is edited, deleted or swapped with another, the walk stops there."""
    path = tmp_path / "ledger"
    with open_ledger(path, pure(1000)) as ledger:
        ledger.grant("ada", pure(500), token=False)
        ada = ledger.open_account("ada")
        for number in range(499):
            who = ada if number % 3 else ledger
            who.commit(who.reserve(f"plan{number}", pure("1/2"), fresh=True), f"release {number}".encode())
        assert ledger.verify() == 1000
    whole = [(values[:-1], values[-1]) for values in rows(path)]
    walker = Walker("the ledger")
    for seq, (values, payload) in enumerate(whole):
        edited = [
            ((*values[:at], other, *values[at + 1 :]), payload)
            for at in range(len(values))
            for other in other_values(COLUMNS[at], values[at])
            if other != values[at]
        ]
        edited += [(values, other) for other in other_values("payload", payload) if other != payload]
        later = whole[seq + 1 :]  # the next one if this was deleted, any of them if they were swapped
        assert all(stops(walker, *other) for other in (*edited, *later))
        assert walker.step(values, payload).seq == seq
    alter(path, "DELETE FROM entries WHERE seq = 999")
    noticed(path, "newest entries were removed")


def test_the_file_refuses_updates_and_deletes_by_accident(path):
    with closing(sqlite3.connect(path)) as connection:
        for statement in ("UPDATE entries SET body = '{}'", "DELETE FROM entries"):
            with pytest.raises(sqlite3.IntegrityError, match="only grows"):
                connection.execute(statement)


def test_an_open_ledger_notices_that_it_went_back_in_time(path):
    with open_ledger(path, None) as ledger:
        reservation = ledger.reserve("d", pure(0.25))
        alter(path, "DELETE FROM entries WHERE seq >= 7", "UPDATE meta SET last = 6")
        for use in (lambda: ledger.reserve("e", pure(0.25)), lambda: ledger.commit(reservation, b""), ledger.verify):
            with pytest.raises(LedgerError, match="replaced by an older copy"):
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


@pytest.mark.parametrize("step", [3 * 211, pytest.param(211, marks=pytest.mark.soak)])
def test_every_flipped_byte_of_the_file_is_noticed_or_harmless(original, tmp_path, step):
    """No traceback from below, and never a ledger that reads well and says something else."""
    whole = original.read_bytes()
    with open_ledger(original, None) as ledger:
        truth = [*ledger.entries()], [ledger.find(plan) for plan in "ab"], ledger.spent
    path = tmp_path / "flipped"
    for place in range(0, len(whole), step):
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


def test_an_open_ledger_notices_that_its_entries_went_back_in_time(path, tmp_path):
    old = tmp_path / "backup"
    shutil.copy(path, old)
    with open_ledger(path, None) as ledger:
        reservation = ledger.reserve("d", pure("0.25"))
        with closing(sqlite3.connect(old)) as backup, closing(sqlite3.connect(path)) as target:
            backup.backup(target)
        for use in (lambda: ledger.reserve("e", pure("0.25")), lambda: ledger.commit(reservation, b""), ledger.verify):
            with pytest.raises(LedgerError, match="replaced by an older copy"):
                use()
