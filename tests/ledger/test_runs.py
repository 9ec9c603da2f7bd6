"""Runs: charged whole and once, counted on disk before each step, stored with sealed states, and never redrawn."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sqlalchemy as sa
from children import child, end
from run_storm import LOSS, PLAN, STEPS, digest

import discreet
from discreet.errors import BudgetExceeded, LedgerError, ParameterError
from discreet.ledger import OwnedLedger, Run, RunState, open_ledger
from discreet.ledger.log import _store
from discreet.ledger.sqlite import _payload_files
from discreet.ledger.sqlite._payload_files import folder_of
from discreet.privacy import PureLoss, pure, rho

STORM = [sys.executable, str(Path(__file__).with_name("run_storm.py"))]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(discreet.__file__).parents[1])}
SOAK = pytest.mark.soak
KEY = bytes(range(32))


def opened(place: str, key: bytes | None = None) -> OwnedLedger:
    return open_ledger(place, pure(3), key=key)


def test_a_run_is_charged_once_and_goes_on_anywhere(place: str) -> None:
    with opened(place) as owner:
        owner.grant("ada", pure(2), token=False)
        run = owner.open_account("ada").open_run("p", pure(1), 5, sequential=False)
        assert (run.read(), run.answer(1)) == (RunState(0, 0, None), None)
        assert list(run.begin()) == [1]
        run.store(1, b"one", b"after one")
    with opened(place) as owner:
        run = owner.open_account("ada").open_run("p", pure(1), 5, sequential=False)
        assert (run.read(), run.answer(1)) == (RunState(1, 1, b"after one"), b"one")
        assert list(run.begin(2)) == [2, 3]
        run.store(3, b"three")
        assert run.read() == RunState(3, 3, None), "the newest stored step has no state"
        assert run.answer(2) is None
        run.store(2, b"", b"")
        assert (run.answer(2), run.read()) == (b"", RunState(3, 2, b""))
        assert owner.spent == pure(1)
        assert owner.verify() == 8
        kinds = [(entry.kind, entry.steps) for entry in owner.entries()]
        assert kinds == [
            ("create", None), ("grant", None), ("run", (1, 5)), ("begin", (1, 1)), ("step", (1, 1)), ("begin", (2, 3)),
            ("step", (3, 3)), ("step", (2, 2)),
        ]  # fmt: skip
        assert {entry.reservation for entry in owner.entries() if entry.steps} == {run.id}
        assert owner.kinds() == {"create": 1, "grant": 1, "run": 1, "begin": 2, "step": 3}
        assert owner.open_account("ada").kinds() == {"grant": 1, "run": 1, "begin": 2, "step": 3}


def test_no_step_beyond_the_last_and_none_twice(place: str) -> None:
    with opened(place) as owner:
        run, other = (owner.open_run("p", pure(1), 3, sequential=False) for _ in range(2))
        run.begin(2)
        with pytest.raises(LedgerError, match="1 of its 3 steps left, not 2"):
            other.begin(2)
        with pytest.raises(LedgerError, match="not open here"):
            other.store(1, b"mine")
        with pytest.raises(LedgerError, match="not open here"):
            run.store(3, b"not begun")
        run.store(1, b"one", b"s")
        for again in (b"one", b"another"):
            with pytest.raises(LedgerError, match="not open here"):
                run.store(1, again, b"s")
        assert list(other.begin()) == [3]
        for handle in (run, other):
            with pytest.raises(LedgerError, match="0 of its 3 steps left"):
                handle.begin()
        assert run.answer(1) == b"one"
        owner.verify()


def test_a_run_is_reopened_as_it_was_charged(place: str) -> None:
    with opened(place) as owner:
        owner.open_run("p", pure(1), 3, sequential=False)
        for loss, steps in ((pure(2), 3), (pure(1), 4)):
            with pytest.raises(LedgerError, match="another loss, number or kind"):
                owner.open_run("p", loss, steps)
        owner.open_run("q", pure(2), 1, sequential=False)
        with pytest.raises(BudgetExceeded):
            owner.open_run("r", pure("1/10"), 1, sequential=False)
        owner.open_run("p", pure(1), 3, sequential=False).begin()
        assert owner.spent == pure(3)


def test_a_run_that_is_to_go_on_is_never_charged_anew(place: str) -> None:
    """Whoever has the id of a run opens that one or none: not another of the plan, and no new one."""
    with opened(place) as owner:
        run = owner.open_run("p", pure(1), 3)
        assert owner.open_run("p", pure(1), 3, charged=run.id).id == run.id
        for plan, charged in (("p", "0" * 64), ("q", run.id)):
            with pytest.raises(LedgerError, match="nothing is spent"):
                owner.open_run(plan, pure(1), 3, charged=charged)
        assert owner.spent == pure(1)
        owner.verify()


@pytest.mark.parametrize("steps", [0, -1, 1.0, True, "3", 10**9 + 1, None])
def test_wrong_numbers_of_steps_are_refused(steps: Any) -> None:
    with open_ledger(None, pure(3)) as owner:
        with pytest.raises(ParameterError, match="steps"):
            owner.open_run("p", pure(1), steps, sequential=False)
        run = owner.open_run("p", pure(1), 10**9)
        with pytest.raises(ParameterError, match="steps"):
            run.begin(steps if steps != "3" else 100_001)
        assert run.read().begun == 0


@pytest.mark.parametrize("value", ["text", None, 3, bytearray(b"x")])
def test_only_bytes_are_stored(value: Any) -> None:
    with open_ledger(None, pure(3)) as owner:
        run = owner.open_run("p", pure(1), 1, sequential=False)
        run.begin()
        with pytest.raises(ParameterError, match="bytes"):
            run.store(1, value)


def test_freezing_stops_steps_and_thawing_lets_them_go_on(place: str) -> None:
    with opened(place) as owner:
        owner.grant("ada", pure(2), token=False)
        run = owner.open_account("ada").open_run("p", pure(1), 5, sequential=False)
        (step,) = run.begin()
        for name in ("ada", ""):
            owner.freeze(name)
            with pytest.raises(LedgerError, match="frozen"):
                run.begin()
            owner.thaw(name)
        run.store(step, b"begun before")
        assert list(run.begin()) == [2]
        owner.grant("ada", pure(2), until=datetime(2126, 1, 1, tzinfo=UTC), token=True)
        with pytest.raises(LedgerError, match="another token"):
            run.begin()
        owner.verify()


def test_accounts_do_not_see_the_runs_of_others(place: str) -> None:
    with opened(place) as owner:
        for name in ("ada", "bob"):
            owner.grant(name, pure(1), token=False)
        ada, bob = (owner.open_account(name).open_run("p", pure(1), 2, sequential=False) for name in ("ada", "bob"))
        assert ada.id != bob.id
        ada.begin()
        ada.store(1, b"ada's", b"secret")
        assert (bob.read(), bob.answer(1)) == (RunState(0, 0, None), None)
        assert all(entry.account == "bob" for entry in owner.open_account("bob").entries())


@pytest.mark.parametrize("key", [None, KEY])
def test_equal_states_have_different_digests_and_sealed_ones_are_unreadable(place: str, key: bytes | None) -> None:
    with opened(place, key) as owner:
        run = owner.open_run("p", pure(1), 2, sequential=False)
        for step in run.begin(2):
            run.store(step, b"the same answer", b"the same secret state")
        digests = [entry.payload_sha256 for entry in owner.entries() if entry.kind == "step"]
        assert len({*digests}) == 2
        store = owner._store
        with store.database.transaction(write=False) as connection:
            payloads = [each for each in connection.execute(sa.text("SELECT payload FROM entries")).scalars() if each]
        assert any(b"secret state" in bytes(each) for each in payloads) == (key is None)
    if key is not None:
        with open_ledger(place) as locked:
            assert locked.verify() == 5
            with pytest.raises(LedgerError, match="encrypted"):
                locked.open_run("p", pure(1), 2, sequential=False)


def test_the_same_bytes_may_be_tried_again_and_no_others(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(place) as owner:
        run = owner.open_run("p", pure(1), 1, sequential=False)
        run.begin()

        def fails(*_: object, **__: object) -> None:
            raise LedgerError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(_store._rows, "append", fails)
            with pytest.raises(LedgerError, match="full"):
                run.store(1, b"one", b"s")
        for answer, state in ((b"two", b"s"), (b"one", b"t"), (b"one", None)):
            with pytest.raises(LedgerError, match="not open here"):
                run.store(1, answer, state)
        run.store(1, b"one", b"s")
        assert (run.answer(1), run.read()) == (b"one", RunState(1, 1, b"s"))


def test_a_child_cannot_store_what_its_parent_began(tmp_path: Path) -> None:
    with opened(str(tmp_path / "ledger")) as owner:
        run = owner.open_run("p", pure(1), 3, sequential=False)
        run.begin()

        def try_it() -> int:
            with suppress(LedgerError):
                run.store(1, b"the child's")
                return 1
            (step,) = run.begin()
            run.store(step, b"the child's own")
            return 0

        assert end(child(try_it)) == 0
        run.store(1, b"the parent's")
        assert (run.answer(1), run.answer(2), run.read().begun) == (b"the parent's", b"the child's own", 2)
        owner.verify()


class TestLargePayloads:
    @pytest.fixture(autouse=True)
    def _small_rows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_store, "LARGEST_IN_ROW", 1000)

    @pytest.mark.parametrize("key", [None, KEY])
    def test_they_are_stored_outside_the_rows_and_read_again(self, place: str, key: bytes | None) -> None:
        large = os.urandom(2_500_000)
        with opened(place, key) as owner:
            run = owner.open_run("p", pure(1), 2, sequential=False)
            run.begin(2)
            run.store(1, large, b"state")
            run.store(2, b"small", large)
            owner.commit(owner.reserve("q", pure("1/2")), large)
        with opened(place, key) as owner:
            run = owner.open_run("p", pure(1), 2, sequential=False)
            assert (run.answer(1), run.answer(2), run.read().state) == (large, b"small", large)
            stored = owner.find("q")
            assert stored is not None and stored.payload == large
            assert owner.verify() == 7
            with owner._store.database.transaction(write=False) as connection:
                sizes = connection.execute(sa.text("SELECT coalesce(max(length(payload)), 0) FROM entries")).scalar()
            assert sizes == 0

    def test_a_missing_or_changed_file_is_found(self, tmp_path: Path) -> None:
        place = str(tmp_path / "ledger")
        with opened(place) as owner:
            owner.commit(owner.reserve("q", pure("1/2")), bytes(5000))
            (file,) = folder_of(place).iterdir()
            assert file.stat().st_mode & 0o777 == 0o600 and folder_of(place).stat().st_mode & 0o777 == 0o700
            file.write_bytes(bytes(4999) + b"1")
            for fails in (owner.verify, lambda: owner.find("q")):
                with pytest.raises(LedgerError, match="entry 2"):
                    fails()
            file.unlink()
            for fails in (owner.verify, lambda: owner.find("q")):
                with pytest.raises(LedgerError, match="entry 2"):
                    fails()

    def test_what_is_lost_is_not_written_beside_the_ledger(self, tmp_path: Path) -> None:
        place = str(tmp_path / "ledger")
        with opened(place) as owner:
            run = owner.open_run("p", pure(1), 3)
            run.begin(after=run.read())
            owner.open_run("p", pure(1), 3).begin(after=run.read())
            with pytest.raises(LedgerError, match="is lost"):
                run.store(1, bytes(5000))
            assert not folder_of(place).exists()

    def test_eight_threads_read_large_payloads_of_a_server_at_once(self, place_on_server: str) -> None:
        large = os.urandom(50_000)
        with opened(place_on_server) as owner:
            owner.commit(owner.reserve("q", pure("1/2")), large)
            with ThreadPoolExecutor(16) as pool:
                stored = list(pool.map(lambda _: owner.reserve("q", pure("1/2")), range(64)))
            assert {each.payload for each in stored} == {large}

    def test_a_failed_sync_takes_nothing_from_an_entry_that_has_the_same_bytes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = str(tmp_path / "ledger")
        with opened(place) as owner:
            owner.commit(owner.reserve("q", pure("1/2")), bytes(5000))

            def fails(_: object) -> None:
                raise OSError(5, "Input/output error")

            for name in ("synced", "synced_directory"):
                reservation = owner.reserve("another", pure("1/4"), fresh=True)
                with monkeypatch.context() as patch:
                    patch.setattr(_payload_files, name, fails)
                    with pytest.raises(LedgerError, match="same bytes"):
                        owner.commit(reservation, bytes(5000))
                assert owner.find("q").payload == bytes(5000)
                owner.commit(reservation, bytes(5000))
            assert [path.name[0] != "." for path in folder_of(place).iterdir()] == [True]
            owner.verify()

    def test_missing_or_changed_parts_on_a_server_are_found(self, place_on_server: str) -> None:
        with opened(place_on_server) as owner:
            owner.commit(owner.reserve("q", pure("1/2")), os.urandom(3_000_000))
            database = owner._store.database
            for change in (
                "UPDATE payload_parts SET bytes = 'x' WHERE part = 1",
                "DELETE FROM payload_parts WHERE part = 1",
            ):
                with database.transaction(write=True) as connection, suppress(LedgerError):
                    connection.exec_driver_sql("ALTER TABLE payload_parts DISABLE TRIGGER ALL")
                    connection.exec_driver_sql(change)
                with pytest.raises(LedgerError, match="entry 2"):
                    owner.verify()
                with pytest.raises(LedgerError, match="entry 2"):
                    owner.find("q")

    def test_a_payload_is_on_disk_before_its_entry(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        place, seen = str(tmp_path / "ledger"), []
        append = _store._rows.append

        def watched(connection: sa.Connection, row: Any, payload: bytes | None = None) -> None:
            if row.kind == "release":
                seen.append((payload, (folder_of(place) / row.payload_sha256).stat().st_size))
            append(connection, row, payload)

        monkeypatch.setattr(_store._rows, "append", watched)
        with opened(place) as owner:
            owner.commit(owner.reserve("q", pure("1/2")), bytes(5000))
        assert seen == [(None, 5000)]

    def test_no_room_for_a_payload_is_said_and_the_same_bytes_may_be_tried_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        place = str(tmp_path / "ledger")
        with opened(place) as owner:
            reservation = owner.reserve("q", pure("1/2"))

            def fails(_: int) -> None:
                raise OSError(28, "No space left on device")

            with monkeypatch.context() as patch:
                patch.setattr(os, "fsync", fails)
                with pytest.raises(LedgerError, match=r"No space left.*same bytes"):
                    owner.commit(reservation, bytes(5000))
            with pytest.raises(LedgerError, match="not open here"):
                owner.commit(reservation, bytes(5001))
            assert owner.commit(reservation, bytes(5000)).payload == bytes(5000)
            owner.verify()


def test_what_a_ledger_counts_is_fixed_and_held_to(tmp_path: Path) -> None:
    policy = {"version": "1", "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int"}}}}}
    place = tmp_path / "edges.ledger"
    with open_ledger(place, pure(3), counts="edges") as owner:
        assert owner.facts.counts == "edges"
        for counts in ("people", "events"):
            with pytest.raises(LedgerError, match=f"losses of edges, and this release is about {counts}"):
                owner.reserve("p", pure(1), counts=counts)
            with pytest.raises(LedgerError, match=f"losses of edges, and this release is about {counts}"):
                owner.open_run("p", pure(1), 2, counts=counts)
        owner.reserve("p", pure(1), counts="edges")
        assert owner.spent == pure(1)
    with open_ledger(place) as owner:
        assert owner.facts.counts == "edges" and owner.verify() == 2
        with pytest.raises(LedgerError, match="a policy is about people"):
            discreet.connect({"t": pa.table({"x": [1]})}, policy, owner)
    with pytest.raises(ParameterError, match="counts"):
        open_ledger(None, pure(3), counts="cats")  # type: ignore[arg-type]
    with open_ledger(None, pure(3)) as owner:
        assert owner.facts.counts == "people"


def test_the_steps_of_a_sequential_run_go_on_from_one_another(place: str) -> None:
    with opened(place) as owner:
        run, other = (owner.open_run("p", pure(1), 6) for _ in range(2))
        for wrong in (run.begin, owner.open_run("q", pure(1), 6, sequential=False).begin):
            with pytest.raises(ParameterError, match=r"sequential|independent"):
                wrong(**({} if wrong == run.begin else {"after": run.read()}))
        first = run.read()
        (step,) = run.begin(after=first)
        with pytest.raises(LedgerError, match="moved on"):
            other.begin(after=first)
        pending = other.read()
        assert pending == RunState(1, 0, None)
        run.store(step, b"one", b"after one")
        with pytest.raises(LedgerError, match="moved on"):
            other.begin(after=pending)
        (step,) = run.begin(after=run.read())
        assert list(other.begin(2, after=other.read())) == [3, 4]
        with pytest.raises(LedgerError, match=r"step 2 is lost.*to nobody"):
            run.store(step, b"two", b"from a state that was gone on from")
        other.store(3, b"three", b"after three")
        other.store(4, b"four", b"after four")
        assert run.read() == RunState(4, 4, b"after four")
        assert [run.answer(each) for each in range(1, 6)] == [b"one", None, b"three", b"four", None]
        owner.verify()


def test_steps_of_one_begin_are_stored_in_rising_order(place: str) -> None:
    """Else a state that was gone on from would be gone on from again."""
    with opened(place) as owner:
        run = owner.open_run("p", pure(1), 6)
        run.begin(3, after=run.read())
        run.store(2, b"two", b"S2")
        with pytest.raises(LedgerError, match=r"step 1 is lost.*to nobody"):
            run.store(1, b"one", b"S1")
        run.store(3, b"three", b"S3")
        assert run.read() == RunState(3, 3, b"S3")
        owner.verify()


@pytest.mark.parametrize("step", [True, 0, 7, -1, 1.0, "1", np.int64(1), None])
def test_a_step_is_a_whole_number_of_the_run(step: Any) -> None:
    with open_ledger(None, pure(3)) as owner:
        run = owner.open_run("p", pure(1), 6, sequential=False)
        run.begin()
        for ask in (lambda: run.store(step, b"x"), lambda: run.answer(step)):
            with pytest.raises(ParameterError, match="from 1 to 6"):
                ask()
        run.store(1, b"x")
        owner.verify()
        for after in (5, RunState(1, 1, None)):
            with pytest.raises(ParameterError, match="independent"):
                run.begin(after=after)  # type: ignore[arg-type]


def test_a_run_whose_charge_was_not_committed_leaves_the_ledger_as_it_was(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(place) as owner:
        transaction = owner._store.database.transaction

        @contextmanager
        def fails(*, write: bool) -> Iterator[sa.Connection]:
            with transaction(write=write) as connection:
                yield connection
                raise LedgerError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(owner._store.database, "transaction", fails)
            with pytest.raises(LedgerError, match="full"):
                owner.open_run("p", pure(1), 6)
        assert owner.remaining == pure(3)
        owner.open_run("p", pure(1), 6)
        assert owner.remaining == pure(2) and owner.verify() == 2


def test_what_was_refused_before_a_step_was_begun_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_ledger(None, pure(3)) as owner:
        run = owner.open_run("p", pure(1), 1)
        with pytest.raises(LedgerError, match="not open here"):
            run.store(1, b"junk")
        run.begin(after=run.read())

        def fails(*_: object, **__: object) -> None:
            raise LedgerError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(_store._rows, "append", fails)
            with pytest.raises(LedgerError, match="full"):
                run.store(1, b"real")
        run.store(1, b"real")
        assert run.answer(1) == b"real"


@dataclass
class Model:
    """What a run is: steps that were begun by a handle, which are open, and what was stored."""

    steps: int
    sequential: bool
    begun: int = 0
    owners: dict[int, int] = field(default_factory=dict)
    stored: dict[int, tuple[bytes, bytes | None]] = field(default_factory=dict)
    last: int = 0

    @property
    def state(self) -> RunState:
        return RunState(self.begun, self.last, self.stored[self.last][1] if self.last else None)


@pytest.mark.parametrize("seed", [*range(10), *(pytest.param(seed, marks=SOAK) for seed in range(10, 200))])
def test_random_lives_agree_with_the_model(seed: int, tmp_path: Path) -> None:
    chance, place = random.Random(seed), str(tmp_path / "ledger")
    with open_ledger(place, rho(3)) as owner:
        owner.grant("ada", rho(3), token=False)
    model, frozen = Model(chance.randint(1, 40), chance.random() < 0.6), False
    owner = open_ledger(place)
    handles: list[Run] = []
    read = [RunState(0, 0, None)]
    try:
        for _ in range(150):
            match chance.choice(["open", "begin", "begin", "store", "store", "read", "freeze", "restart"]):
                case "open":
                    if frozen and not handles:
                        continue
                    account = owner.open_account("ada")
                    handles.append(account.open_run("p", rho(1), model.steps, sequential=model.sequential))
                case "begin" if handles:
                    handle, count = chance.randrange(len(handles)), chance.choice([1, 1, 2, 5])
                    after = chance.choice([model.state, model.state, chance.choice(read)]) if model.sequential else None
                    here = (model.begun, model.last)
                    going_on = after is None or (after.begun, after.stored) == here
                    if model.begun + count <= model.steps and going_on and not frozen:
                        steps = handles[handle].begin(count, after=after)
                        assert list(steps) == list(range(model.begun + 1, model.begun + count + 1))
                        if model.sequential:
                            model.owners.clear()
                        model.owners |= dict.fromkeys(steps, handle)
                        model.begun += count
                    else:
                        with pytest.raises(LedgerError):
                            handles[handle].begin(count, after=after)
                case "store" if handles:
                    handle, step = chance.randrange(len(handles)), chance.randint(1, model.steps)
                    answer, state = chance.randbytes(5), chance.choice([None, chance.randbytes(5)])
                    rising = not model.sequential or step > model.last
                    if model.owners.get(step) == handle and step not in model.stored and rising:
                        handles[handle].store(step, answer, state)
                        model.stored[step], model.last = (answer, state), step
                    else:
                        with pytest.raises(LedgerError):
                            handles[handle].store(step, answer, state)
                case "read" if handles:
                    run, step = chance.choice(handles), chance.randint(1, model.steps)
                    assert run.answer(step) == model.stored.get(step, (None,))[0]
                    read.append(run.read())
                    assert read[-1] == model.state
                case "freeze":
                    (owner.thaw if frozen else owner.freeze)("ada")
                    frozen = not frozen
                case "restart":  # every handle of the old process is gone
                    owner.close()
                    owner = open_ledger(place)
                    handles.clear()
                    model.owners.clear()
                case _:
                    pass
        charged = any(entry.kind == "run" for entry in owner.entries())
        assert owner.spent == rho(1) if charged else owner.spent.rho() == 0
        owner.verify()
    finally:
        owner.close()


@pytest.mark.parametrize("sequential", [True, False])
@pytest.mark.sampled
@pytest.mark.parametrize("kills", [10, pytest.param(1000, marks=SOAK)])
@pytest.mark.parametrize("row", [2**24, 40])
def test_killed_at_any_moment_each_step_happens_once(
    place: str, tmp_path: Path, kills: int, row: int, sequential: bool
) -> None:
    reports = tmp_path / "reports"
    reports.mkdir()
    with opened(place) as owner:
        owner.grant("ada", pure(2), token=False)
    words = [*STORM, place, str(reports), str(kills), "2026", str(int(sequential)), str(row)]
    done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, timeout=3000, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    written: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for report in reports.iterdir():
        for line in report.read_text().splitlines():
            word, step, *rest = line.split()
            written[word][int(step)].add(rest[0] if rest else report.name)
    with opened(place) as owner:
        run = owner.open_account("ada").open_run(PLAN, LOSS, STEPS, sequential=sequential)
        assert owner.spent == LOSS, "the run was charged once"
        assert written["began"] and max(written["began"]) <= run.read().begun
        for step, children in written["began"].items():
            assert len(children) == 1, f"step {step} was begun by {children}"
        for step, draws in written["drawn"].items():
            assert len(draws) == 1, f"step {step} was drawn twice"
        for step in written["lost"]:
            assert run.answer(step) is None, f"step {step} was given up, and is stored"
        for step, digests in (*written["stored"].items(), *written["answered"].items()):
            answer = run.answer(step)
            assert answer is not None and digests == {digest(answer)} == written["drawn"][step]
        entries = list(owner.entries())
        stored = [entry.steps[0] for entry in entries if entry.kind == "step" and entry.steps]
        assert len(stored) == len({*stored}) >= len(written["stored"]) > 0
        if not sequential:
            assert run.read().begun - len(stored) <= 3 * kills + 3, "only children that were killed lose steps"
        assert owner.verify() == len(entries)
    if "://" not in place:
        assert folder_of(place).exists() == (row == 40)


ALTERED = {
    "a step is taken out": "DELETE FROM entries WHERE kind = 'step' AND seq = 3",
    "a begin is taken out": "DELETE FROM entries WHERE kind = 'begin' AND seq = 4",
    "a counter is turned back": """UPDATE entries SET body = replace(body, '"last":3', '"last":2') WHERE seq = 4""",
    "an answer is changed": "UPDATE entries SET payload = x'00' WHERE seq = 3",
    "a step is given to another run": "UPDATE entries SET plan_hash = hash WHERE seq = 3",
    "a step is stored under another name": "UPDATE entries SET reservation = 'x' WHERE seq = 3",
    "a run is no longer sequential": """UPDATE entries SET body = replace(body, 'true', 'false') WHERE seq = 1""",
    "a run has more steps": """UPDATE entries SET body = replace(body, '"steps":5', '"steps":9') WHERE seq = 1""",
}


@pytest.mark.parametrize("change", ALTERED)
def test_what_was_changed_by_hand_is_found(change: str, tmp_path: Path) -> None:
    place = str(tmp_path / "ledger")
    with opened(place) as owner:
        run = owner.open_run("p", pure(1), 5)
        run.begin(after=run.read())
        run.store(1, b"one")
        run.begin(2, after=run.read())
        run.store(2, b"two")
    with closing(sqlite3.connect(place)) as connection:
        for verb in ("update", "delete"):
            connection.execute(f"DROP TRIGGER entries_no_{verb}")
        connection.execute(ALTERED[change])
        connection.commit()
    with pytest.raises(LedgerError, match="cannot be trusted"), opened(place) as owner:
        owner.verify()


def test_a_step_is_stored_once_by_the_database_itself(place: str) -> None:
    with opened(place) as owner:
        run = owner.open_run("p", pure(1), 2, sequential=False)
        run.begin(2)
        run.store(1, b"one")
        database = owner._store.database
        with pytest.raises(LedgerError), database.transaction(write=True) as connection:
            connection.exec_driver_sql(
                "INSERT INTO entries (seq, kind, account, reservation, body, at, previous, hash) "
                f"VALUES (99, 'step', '', '{run.id}.1', '', '', '', 'x')"
            )


def test_a_certificate_of_a_run_names_its_charge() -> None:
    from discreet.ledger import check_signature

    with open_ledger(None, pure(3)) as owner:
        run = owner.open_run("p", pure(1), 2, sequential=False)
        certificate = run.certify({"kind": "example"})
        assert certificate["position"] == run.id
        assert check_signature(certificate) == owner.facts.public_key


def test_charges_of_runs_and_of_releases_add_up() -> None:
    with open_ledger(None, pure(3)) as owner:
        owner.open_run("p", pure(1), 2, sequential=False).begin()
        owner.commit(owner.reserve("p", pure("1/2")), b"x")
        assert owner.spent == PureLoss(Fraction(3, 2))
        assert owner.find("p") is not None
