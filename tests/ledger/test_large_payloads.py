"""Large releases beside the ledger: as durable, sealed, checked and paid for once as those in its rows."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from children import child, end
from dying import ANYWHERE, IN_FILES, LOSS, ON_A_SERVER, SIZE

import discreet
from discreet.errors import LedgerError
from discreet.ledger import OwnedLedger, Reservation, Stored, open_ledger
from discreet.ledger.log import _store
from discreet.ledger.log._commitments import sha256
from discreet.ledger.postgres import _payload_parts
from discreet.ledger.postgres._url import address_of
from discreet.ledger.sqlite import _payload_files, _wal
from discreet.ledger.sqlite._payload_files import folder_of
from discreet.privacy import pure

DYING = [sys.executable, str(Path(__file__).with_name("dying.py"))]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}
KEY = bytes(range(32))
LARGE = bytes(range(250)) * 8


@pytest.fixture
def small_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_store, "LARGEST_IN_ROW", 1000)


def opened(place: str, key: bytes | None = None) -> OwnedLedger:
    return open_ledger(place, pure(3), key=key)


def stored(ledger: Any, plan: str = "q", payload: bytes = LARGE) -> Stored:
    reservation = ledger.reserve(plan, LOSS, fresh=True)
    assert isinstance(reservation, Reservation)
    return ledger.commit(reservation, payload)


def files_of(place: str) -> list[Path]:
    folder = folder_of(place)
    return sorted(folder.iterdir()) if folder.exists() else []


@pytest.mark.parametrize("key", [None, KEY], ids=["open", "sealed"])
def test_twenty_mebibytes_are_stored_sealed_and_repeated_for_free(place: str, key: bytes | None) -> None:
    payload = os.urandom(SIZE)
    with opened(place, key) as owner:
        owner.grant("ada", pure(1), token=False)
        ada = owner.open_account("ada")
        stored(ada, payload=payload)
    with opened(place, key) as owner:
        ada = owner.open_account("ada")
        spent = owner.spent
        for repeated in (ada.find("q"), ada.reserve("q", LOSS), ada.reserve("q", LOSS, idempotency_key="k")):
            assert isinstance(repeated, Stored) and repeated.payload == payload
        assert owner.spent == spent
        assert owner.find("q") is None, "it is the account's"
        assert owner.verify() == 5
        with owner._store.database.transaction(write=False) as connection:
            held = connection.execute(sa.text("SELECT COUNT(payload) FROM entries")).scalar()
        assert held == 0
        named = [entry.payload_sha256 for entry in owner.entries() if entry.kind == "release"]
    if "://" not in place:
        (file,) = files_of(place)
        content = file.read_bytes()
        assert [file.name] == named == [sha256(content)]
        assert (payload[1000:1016] in content) == (key is None)
        assert len(content) == SIZE + (0 if key is None else 12 + 16), "a nonce, the bytes, and a tag"


@pytest.mark.parametrize("key", [None, KEY], ids=["open", "sealed"])
def test_few_copies_are_held_in_memory(place: str, key: bytes | None) -> None:
    """Beside the payload that is given, or returned, at most two more."""
    payload = os.urandom(SIZE)

    def copies(use: Callable[[], object]) -> float:
        tracemalloc.start()
        try:
            use()
            return tracemalloc.get_traced_memory()[1] / SIZE
        finally:
            tracemalloc.stop()

    with opened(place, key) as owner:
        stored(owner, payload=b"so that all is imported")
        run = owner.open_run("run", pure(1), 1, sequential=False)
        run.begin()
        sealed, slack = 0 if key is None else 1, 0.3
        if "://" in place:
            slack += 1  # some parts at a time, as the driver spells them
        assert copies(lambda: stored(owner, payload=payload)) < 2 * sealed + slack
        assert copies(lambda: run.store(1, b"", payload)) < 1 + sealed + slack
        joining = 1 if "://" in place and not sealed else 0
        assert copies(lambda: owner.find("q")) < 1 + sealed + joining + slack
        assert copies(run.read) < 2 + slack
        assert copies(owner.verify) < slack


@pytest.mark.parametrize(
    ("place", "point"),
    [
        *(("sqlite", point) for point in ANYWHERE | IN_FILES),
        *(pytest.param("postgres", point, marks=pytest.mark.postgres) for point in ANYWHERE | ON_A_SERVER),
    ],
    indirect=["place"],
)
def test_killed_while_it_is_stored(place: str, tmp_path: Path, point: str) -> None:
    server = "://" in place
    with opened(place) as owner:
        head = owner.head.hash
    report = tmp_path / "report"
    done = subprocess.run([*DYING, place, point, str(report)], env=ENVIRONMENT, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-9, b"")
    words = [line.split() for line in report.read_text().splitlines()]
    assert [word for word, *_ in words] == ["reserved", "drawn"]
    with opened(place) as owner:
        assert owner.verify({"before": head, "the charge": words[0][1]}) == 2
        assert owner.spent == LOSS, "what was charged stays spent"
        assert owner.find("dying") is None, "and nothing half stored is served"
        with pytest.raises(LedgerError, match="was charged and has no release"):
            owner.reserve("dying", LOSS, idempotency_key="request")
        left = [path.name for path in files_of(place)]
        assert len(left) == (0 if server else 1)
        assert all(name.startswith(".") == (point.startswith("before the file")) for name in left)
        payload = os.urandom(SIZE)
        again = owner.reserve("dying", LOSS, idempotency_key="another")
        assert isinstance(again, Reservation), "it is drawn again only where it is paid for again"
        owner.commit(again, payload)
        assert owner.spent == pure(2 * LOSS.eps)
        repeated = owner.find("dying")
        assert repeated is not None and repeated.payload == payload
        named = {entry.payload_sha256 for entry in owner.entries()} - {None}
        if not server:
            assert {path.name for path in files_of(place)} == named | {n for n in left if not n.startswith(".")}
        owner.verify()


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def grown(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"\0")


def edited(file: Path) -> None:
    file.write_bytes(b"\xff" + file.read_bytes()[1:])


def huge(file: Path) -> None:
    os.truncate(file, 2**40)


def a_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def a_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def a_link_to_nothing(file: Path) -> None:
    file.unlink()
    file.symlink_to("nothing")


def no_folder(file: Path) -> None:
    shutil.rmtree(file.parent)


@pytest.mark.usefixtures("small_rows")
@pytest.mark.parametrize("key", [None, KEY], ids=["open", "sealed"])
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (Path.unlink, "gone"), (no_folder, "gone"), (a_link_to_nothing, "gone"),
        (cut, "changed or cut off"), (grown, "changed or cut off"), (edited, "changed or cut off"),
        (huge, "is not the large release"), (a_pipe, "is not the large release"), (a_folder, "Is a directory"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_named_and_nothing_is_drawn_or_paid_again(
    tmp_path: Path, damage: Callable[[Path], None], message: str, key: bytes | None
) -> None:
    place = str(tmp_path / "ledger")
    with opened(place, key) as owner:
        owner.grant("ada", pure(1), token=False)
        stored(owner)
        run = owner.open_run("run", pure("1/2"), 1, sequential=False)
        run.begin()
        run.store(1, LARGE, b"state")
        stored(owner.open_account("ada"))
        spent, copies = owner.spent, {file: file.read_bytes() for file in files_of(place)}
        release, step, ada = (entry.payload_sha256 for entry in owner.entries() if entry.payload_sha256)
        for digest, uses in {
            release: (owner.verify, lambda: owner.find("q"), lambda: owner.reserve("q", LOSS),
                      lambda: owner.reserve("q", LOSS, idempotency_key="k")),
            step: (owner.verify, run.read, lambda: run.answer(1)),
        }.items():  # fmt: skip
            file = folder_of(place) / digest
            damage(file)
            for use in uses:
                with pytest.raises(LedgerError, match=message) as caught:
                    use()
                assert str(file.parent if damage is no_folder else file) in str(caught.value)
                if use != owner.verify:
                    assert "stays spent, and it is not drawn again" in str(caught.value)
            assert owner.spent == spent
            small = owner.reserve("another", pure("1/100"), fresh=True)
            assert owner.commit(small, b"small").payload == b"small", "the ledger goes on"
            spent = owner.spent
            shutil.rmtree(folder_of(place), ignore_errors=True)
            folder_of(place).mkdir()
            for each, content in copies.items():
                each.write_bytes(content)
        assert [owner.find("q").payload, run.answer(1)] == [LARGE, LARGE]
        damage(folder_of(place) / ada)
        with pytest.raises(LedgerError, match=r"cannot be trusted|stays spent") as caught:
            owner.open_account("ada").find("q")
        assert "entry" not in str(caught.value), "an account is not told how many entries others have"


@pytest.mark.usefixtures("small_rows")
@pytest.mark.parametrize("name", ["../../ledger", "/etc/hostname", "a\0b", "x" * 5000, "A" * 64, ""])
def test_an_edited_digest_reads_no_other_file(tmp_path: Path, name: str) -> None:
    place = str(tmp_path / "ledger")
    with opened(place) as owner:
        stored(owner)
        with owner._store.database.transaction(write=True) as connection:
            connection.exec_driver_sql("DROP TRIGGER entries_no_update")
            connection.exec_driver_sql("UPDATE entries SET payload_sha256 = ? WHERE seq = 2", (name,))
        assert owner._store.database.load_large(name, None) is None  # type: ignore[arg-type]
        for use in (owner.verify, lambda: owner.find("q")):
            with pytest.raises(LedgerError, match="entry 2"):
                use()


@pytest.mark.usefixtures("small_rows")
def test_all_is_on_disk_in_this_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, order = str(tmp_path / "ledger"), list[str]()

    def watch(owner: Any, name: str, word: str) -> None:
        function = getattr(owner, name)

        def watched(*words: Any, **options: Any) -> Any:
            order.append(word)
            return function(*words, **options)

        monkeypatch.setattr(owner, name, watched)

    with opened(place) as owner:
        reservation = owner.reserve("q", LOSS)
        for owner_of, name, word in (
            (_payload_files, "synced", "the file is synced"),
            (Path, "rename", "it has its name"),
            (_payload_files, "synced_directory", "the names are synced"),
            (_store._rows, "append", "the entry is written"),
            (_wal.Log, "sync", "the entry is synced"),
        ):
            watch(owner_of, name, word)
        owner.commit(reservation, LARGE)
    assert order[:6] == [
        "the names are synced", "the file is synced", "it has its name", "the names are synced",
        "the entry is written", "the entry is synced",
    ]  # fmt: skip


@pytest.mark.usefixtures("small_rows")
def test_threads_and_processes_store_the_same_bytes_at_once(place: str) -> None:
    """One file, or one set of rows, is written by all of them, and each has an entry of its own."""
    with open_ledger(place, pure(100)) as owner:
        owner.verify()

    def work() -> int:
        with open_ledger(place) as ledger, ThreadPoolExecutor(4) as pool:
            payloads = list(pool.map(lambda number: stored(ledger, f"q{number % 3}").payload, range(12)))
        return int(payloads != [LARGE] * 12)

    with warnings.catch_warnings(action="ignore"):
        assert [end(pid) for pid in [child(work) for _ in range(4)]] == [0] * 4
    with open_ledger(place) as owner:
        entries = [entry for entry in owner.entries() if entry.kind == "release"]
        assert len(entries) == 48 and {entry.payload_sha256 for entry in entries} == {sha256(LARGE)}
        assert owner.verify() == 97
        assert owner.find("q1").payload == LARGE
    assert [file.name for file in files_of(place)] == ([] if "://" in place else [sha256(LARGE)])


@pytest.mark.usefixtures("small_rows")
def test_what_writers_at_work_have_under_another_name_is_left_to_them(tmp_path: Path) -> None:
    place, done = str(tmp_path / "ledger"), threading.Event()
    folder = folder_of(place)
    with open_ledger(place, pure(100)) as owner:
        stored(owner)

        def sweep() -> int:
            rounds = 0
            while not done.is_set():
                _payload_files._remove_abandoned(folder)
                rounds += 1
            return rounds

        with ThreadPoolExecutor(4) as pool:
            sweeping = pool.submit(sweep)
            work = [pool.submit(stored, owner, f"q{number}", os.urandom(5000)) for number in range(60)]
            try:
                payloads = [each.result().payload for each in work]
            finally:
                done.set()
            assert sweeping.result() > 60
        assert [owner.find(f"q{number}").payload for number in range(60)] == payloads
        abandoned = folder / f".{sha256(b'x')}.abcdefgh.new"
        abandoned.write_bytes(b"cut of")
        (folder / "notes.txt").write_text("not ours")
        stored(owner, "last")
        assert not abandoned.exists() and (folder / "notes.txt").exists()
        owner.verify()


@pytest.mark.usefixtures("small_rows")
@pytest.mark.timeout(60)
def test_nothing_under_the_name_of_an_abandoned_file_stops_a_writer(tmp_path: Path) -> None:
    """A pipe would keep it waiting, and closing the ledger by a link to it would drop the locks that SQLite has."""
    place = str(tmp_path / "ledger")
    folder = folder_of(place)
    with opened(place) as owner:
        stored(owner)
        os.mkfifo(folder / ".pipe.new")
        (folder / ".link.new").symlink_to(place)
        (folder / ".folder.new").mkdir()
        for plan in ("r", "s"):
            assert stored(owner, plan, LARGE + plan.encode()).payload == LARGE + plan.encode()
        assert (folder / ".link.new").is_symlink() and (folder / ".folder.new").is_dir()
        owner.verify()


@pytest.mark.usefixtures("small_rows")
def test_a_large_repeat_is_read_while_others_spend(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(place) as owner:
        stored(owner)
        database = owner._store.database
        load, reading, go = database.load_large, threading.Event(), threading.Event()

        def slow(*words: Any) -> bytes | None:
            reading.set()
            assert go.wait(60)
            return load(*words)

        monkeypatch.setattr(database, "load_large", slow, raising=False)
        with ThreadPoolExecutor(1) as pool:
            repeated = pool.submit(owner.reserve, "q", LOSS, idempotency_key="k")
            assert reading.wait(60)
            assert stored(owner, "another", b"small").payload == b"small"
            go.set()
            assert repeated.result().payload == LARGE


@pytest.mark.usefixtures("small_rows")
def test_a_folder_that_is_read_only_costs_the_charge_and_says_so() -> None:
    """In a child that is not root, who may write everywhere."""
    with tempfile.TemporaryDirectory() as home:
        place = str(Path(home, "ledger"))
        with opened(place) as owner:
            stored(owner)
        Path(home).chmod(0o777)
        Path(place).chmod(0o666)
        for file in files_of(place):
            file.chmod(0o644)
        folder_of(place).chmod(0o555)

        def work() -> int:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            with opened(place) as owner:
                reservation = owner.reserve("r", LOSS)
                for _ in range(2):
                    try:
                        owner.commit(reservation, LARGE + b"r")
                    except LedgerError as error:
                        if "cannot be written to" not in str(error) or "Permission denied" not in str(error):
                            return 1
                    else:
                        return 2
                return 0 if owner.find("q").payload == LARGE else 3

        with warnings.catch_warnings(action="ignore"):
            assert end(child(work)) == 0
        with opened(place) as owner:
            assert owner.spent == pure(2 * LOSS.eps)
            assert owner.find("r") is None
            assert owner.verify() == 4
        assert len(files_of(place)) == 1


@pytest.mark.usefixtures("small_rows")
@pytest.mark.parametrize("mask", [0, 0o077, 0o177])
def test_the_folder_and_its_files_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    place, before = str(tmp_path / "ledger"), os.umask(mask)
    try:
        with opened(place) as owner:
            stored(owner)
    finally:
        os.umask(before)
    (file,) = files_of(place)
    modes = [stat.S_IMODE(each.stat().st_mode) for each in (folder_of(place), file, Path(place))]
    assert modes == [0o700, 0o600, 0o600]


def test_more_than_a_ledger_in_memory_takes_is_no_damage() -> None:
    with open_ledger(None, pure(3)) as owner:
        connection = owner._store.database._store._connection.connection.driver_connection
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 100_000)
        with pytest.raises(LedgerError, match=r"larger than SQLite takes.*keep the ledger in a file"):
            stored(owner, payload=bytes(200_000))


@pytest.mark.usefixtures("small_rows")
@pytest.mark.parametrize("key", [None, KEY], ids=["open", "sealed"])
def test_a_backup_takes_the_folder_along(tmp_path: Path, key: bytes | None) -> None:
    place, copy = str(tmp_path / "ledger"), str(tmp_path / "backup" / "visits")
    with opened(place, key) as owner:
        stored(owner)
        head = owner.head.hash
    Path(copy).parent.mkdir()
    shutil.copy(place, copy)
    with opened(copy, key) as owner:
        for use in (owner.verify, lambda: owner.find("q")):
            with pytest.raises(LedgerError, match=r"visits\.payloads/[0-9a-f]{64}' is gone"):
                use()
        assert owner.remaining == pure("11/4"), "budgets are read, and spent, without it"
    shutil.copytree(folder_of(place), folder_of(copy))
    shutil.rmtree(folder_of(place))
    Path(place).unlink()
    with opened(copy, key) as owner:
        assert owner.verify({"head": head}) == 3
        assert owner.reserve("q", LOSS).payload == LARGE
        stored(owner, "r", LARGE + b"r")
        assert owner.verify() == 5
        named = {entry.payload_sha256 for entry in owner.entries()} - {None}
    assert {file.name for file in files_of(copy)} == named
    assert not Path(place).exists() and not folder_of(place).exists()


@pytest.mark.usefixtures("small_rows")
def test_no_new_ledger_is_made_where_one_was_whose_releases_are_there(tmp_path: Path) -> None:
    place = str(tmp_path / "ledger")
    with opened(place) as owner:
        stored(owner)
    Path(place).rename(tmp_path / "moved")
    with pytest.raises(LedgerError, match=r"ledger\.payloads' is there, a part of a ledger that was moved"):
        opened(place)
    (tmp_path / "moved").rename(place)
    with opened(place) as owner:
        assert owner.find("q").payload == LARGE


@pytest.mark.usefixtures("small_rows")
def test_nothing_is_left_where_a_ledger_was_that_is_closed_or_moved(tmp_path: Path) -> None:
    """A folder there would be in the way of the ledger's own when it is moved back."""
    place, moved = str(tmp_path / "ledger"), str(tmp_path / "moved")
    with opened(place) as owner:
        reservation = owner.reserve("q", LOSS)
    with pytest.raises(LedgerError, match="is closed"):
        owner.commit(reservation, LARGE)
    assert not folder_of(place).exists()
    with opened(place) as owner:
        stored(owner)
        reservation = owner.reserve("r", LOSS)
        Path(place).rename(moved)
        folder_of(place).rename(folder_of(moved))
        with pytest.raises(LedgerError, match="is gone"):
            owner.commit(reservation, LARGE + b"r")
        assert not folder_of(place).exists()
        Path(moved).rename(place)
        folder_of(moved).rename(folder_of(place))
        assert owner.commit(reservation, LARGE + b"r").payload == LARGE + b"r", "the same bytes, once it is back"
        assert owner.verify() == 6 and len(files_of(place)) == 2


@pytest.mark.usefixtures("small_rows")
def test_what_is_stored_is_logged_with_its_question_wherever_it_lies(tmp_path: Path) -> None:
    with opened(str(tmp_path / "ledger")) as owner:
        stored(owner)
        (charge,) = owner.log(5)
        assert charge.answered and charge.question is None, "it is no release of discreet"
        assert not charge.damaged


@pytest.mark.usefixtures("small_rows")
@pytest.mark.parametrize("damage", [Path.unlink, edited, a_folder, no_folder])
def test_what_was_charged_is_logged_where_a_release_is_damaged(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    place = str(tmp_path / "ledger")
    with opened(place, KEY) as owner:
        owner.grant("ada", pure(1), token=False)
        ada = owner.open_account("ada")
        stored(ada, "small", b"small")
        stored(ada, "large")
        damage(files_of(place)[0])
        for log in (owner.log(5), ada.log(5)):
            assert [(each.charge.plan_hash, each.answered, each.damaged) for each in log] == [
                ("large", True, True), ("small", True, False),
            ]  # fmt: skip


def alter(owner: OwnedLedger, change: str) -> None:
    """Change parts, as nobody may by accident."""
    with owner._store.database.transaction(write=True) as connection:
        connection.exec_driver_sql("ALTER TABLE payload_parts DISABLE TRIGGER ALL")
        connection.exec_driver_sql(change)


@pytest.mark.postgres
@pytest.mark.usefixtures("small_rows")
class TestOnAServer:
    def test_a_role_that_may_write_the_tables_stores_large_releases(self, place_on_server: str, admin: Any) -> None:
        schema, role = address_of(place_on_server).ledger, f"writer{os.getpid()}"
        with opened(place_on_server):
            admin.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
            admin.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
            admin.execute(f"GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA {schema} TO {role}")
        with opened(place_on_server.replace("postgres:@", f"{role}:secret@")) as owner:
            stored(owner)
            assert owner.find("q").payload == LARGE
            assert owner.verify() == 3

    def test_a_ledger_that_was_made_without_the_table_gets_it(self, place_on_server: str, admin: Any) -> None:
        with opened(place_on_server) as owner:
            admin.execute(f"DROP TABLE {address_of(place_on_server).ledger}.{_payload_parts.TABLE.name}")
            assert owner.verify() == 1
            stored(owner)
            assert owner.find("q").payload == LARGE
            assert owner.verify() == 3

    def test_parts_are_only_added(self, place_on_server: str) -> None:
        with opened(place_on_server) as owner:
            stored(owner)
            for change in (
                "UPDATE payload_parts SET part = part + 1",
                "DELETE FROM payload_parts",
                "TRUNCATE payload_parts",
            ):
                with pytest.raises(LedgerError), owner._store.database.transaction(write=True) as connection:
                    connection.exec_driver_sql(change)
            owner.verify()

    @pytest.mark.parametrize("mebibytes", [15, 16, 17, 32])
    def test_payloads_of_any_number_of_parts(self, place_on_server: str, mebibytes: int) -> None:
        with opened(place_on_server) as owner:
            for size in (mebibytes * 2**20 - 1, mebibytes * 2**20, mebibytes * 2**20 + 1):
                payload = os.urandom(size)
                stored(owner, f"q{size}", payload)
                assert owner.find(f"q{size}").payload == payload
            owner.verify()

    def test_a_missing_or_changed_part_is_named(self, place_on_server: str) -> None:
        with opened(place_on_server) as owner:
            stored(owner, payload=os.urandom(3 * 2**20))
            spent = owner.spent
            for change, message in (
                ("UPDATE payload_parts SET bytes = 'x' WHERE part = 1", "changed or cut off"),
                ("DELETE FROM payload_parts WHERE part = 2", "changed or cut off"),
                ("DELETE FROM payload_parts", "is gone"),
            ):
                alter(owner, change)
                for use in (owner.verify, lambda: owner.find("q"), lambda: owner.reserve("q", LOSS)):
                    with pytest.raises(LedgerError, match=f"entry 2.*payload_parts.*{message}"):
                        use()
            assert owner.spent == spent

    @pytest.mark.parametrize(
        "change",
        [
            "UPDATE payload_parts SET bytes = 'x' WHERE part = 1",
            "INSERT INTO payload_parts SELECT sha256, 3, 'x' FROM payload_parts WHERE part = 0",
        ],
    )
    def test_the_same_bytes_are_not_taken_for_stored_where_a_part_is_damaged(
        self, place_on_server: str, change: str
    ) -> None:
        payload = os.urandom(3 * 2**20)
        with opened(place_on_server) as owner:
            stored(owner, payload=payload)
            reservation = owner.reserve("r", LOSS)
            alter(owner, change)
            for _ in range(2):
                with pytest.raises(LedgerError, match=r"payload_parts.*was changed; restore these rows"):
                    owner.commit(reservation, payload)
            assert owner.find("r") is None
            alter(owner, "DELETE FROM payload_parts WHERE part IN (1, 3)")
            assert owner.commit(reservation, payload).payload == payload, "missing parts are completed"
            assert owner.find("q").payload == owner.find("r").payload == payload
            assert owner.verify() == 5
