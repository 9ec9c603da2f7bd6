"""Nothing that an account sees depends on other accounts, but a refusal where the shared budget allows no more."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.cli.ledger._json import as_json
from discreet.cli.ledger._meaning import meanings
from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import Reservation, check_opening, open_ledger
from discreet.ledger._owner import OwnedLedger
from discreet.ledger.log._commitments import canonical
from discreet.ledger.sqlite import _sqlite
from discreet.ledger.state._account import Account
from discreet.ledger.state._arithmetic import add, added, nothing, numbers, of_loss
from discreet.privacy import Loss, pure

pytestmark = pytest.mark.usefixtures("one_database")

FORMAT_2 = Path(__file__).with_name("format_2.sqlite")
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
CHARGES = [pure(text) for text in ("1/10", "1/5", "3/10", "2/5")]
"""What others are known to choose from, as from a price list."""
POLICY = {
    "version": "1",
    "budget": {"epsilon": 3},
    "tables": {"t": {"unit": "rows", "columns": {"k": {"type": "string", "keys": ["a", "b"]}}}},
}
TABLE = pa.table({"k": ["a", "a", "b"]})


def release_bodies(
    whole: Account, own: Account, mine: list[Loss], most: int
) -> Iterator[tuple[tuple[Loss, ...], str, str]]:
    """The bodies that the analyst's release may have, for each multiset of others' charges: of formats 2 and 3."""
    from discreet.ledger.state._account import account_to_json

    for count in range(most + 1):
        for others in itertools.combinations_with_replacement(CHARGES, count):
            total, history = nothing("pure"), of_loss(nothing("pure"))
            for each in (*mine, *others):
                total, history = add(total, each), added(history, of_loss(each))
            shared = {
                "whole": account_to_json(whole, "pure") | {"common": numbers(total)},
                "history": {"": {name: numbers(loss) for name, loss in history.items()}},
            }
            event = {"event": {"loss": numbers(mine[-1])}, "account": account_to_json(own, "pure")}
            yield others, canonical(event | shared), canonical(shared)


def guess(
    ledger: OwnedLedger,
    hashes: list[str],
    states: list[Account],
    mine: list[Loss],
    times: list[str],
    plans: list[str],
    payloads: list[str],
    most: int = 6,
    salt: bytes = b"",
) -> list[tuple[Loss, ...]]:
    """The multisets of others' charges that fit the hashes of an analyst's newest reservation and release.

    Of everything that others do not choose she is given more than she sees: the whole's cap and times, the hash of
    the entry before her own, and numbers of entries up to 40. `salt` is what she does not have.
    """
    reserved, released = hashes
    fitting = []
    for others, body, totals in release_bodies(ledger.total, states[-1], mine, most):
        for seq in range(40):
            row: dict[str, Any] = {
                "seq": seq, "kind": "release", "account": "ada", "idempotency_key": None, "reservation": reserved,
                "plan_hash": plans[-1], "payload_sha256": payloads[-1], "at": times[-1],
            }  # fmt: skip
            state = json.loads(body)
            own = row | {"body": canonical({name: state[name] for name in ("event", "account")} | {"at": times[-1]})}
            place = {"seq": own.pop("seq"), "at": own.pop("at"), "totals": totals, "previous": reserved}
            unsalted = [
                bytes.fromhex(reserved) + canonical(row | {"body": body}).encode(),
                b"".join(
                    hashlib.sha256(half + canonical(part).encode()).digest()
                    for half, part in ((salt[:16], own), (salt[16:], place))
                ),
            ]
            if any(hashlib.sha256(text).hexdigest() == released for text in unsalted):
                fitting.append(others)
    return fitting


def test_the_hashes_of_format_2_told_the_charges_of_others(tmp_path: Path) -> None:
    """The attack works where there is no salt: the hashes that the older version handed out give all away."""
    with open_ledger(shutil.copy(FORMAT_2, tmp_path / "ledger"), None) as ledger:
        mine = [each for each in ledger.entries() if each.account == "ada"]
        reserved, released = (each for each in mine if each.plan_hash == "plan-b")
        state = ledger.open_account("ada", ADA).moments(len(mine))
        at = released.at.isoformat(timespec="microseconds")
        then = [state for moment, state in state if moment == released.at]
        found = guess(
            ledger, [str(reserved.hash), str(released.hash)], then, [pure("1/2"), pure("1/4")], [at], ["plan-b"],
            [str(released.payload_sha256)],
        )  # fmt: skip
    assert found == [tuple(pure(text) for text in ("1/10", "1/10", "1/5", "1/5", "3/10", "2/5"))]


ADA = "64787f2464577f31224be7bc8d85573afa3c9a194826ef44"


def test_hashes_tell_nothing_of_the_charges_of_others(place: str) -> None:
    with open_ledger(place, pure(10)) as ledger:
        ada, ben = (ledger.open_account(name, ledger.grant(name, pure(5))) for name in ("ada", "ben"))
        for number, loss in enumerate((CHARGES[0], CHARGES[2])):
            ben.reserve(f"ben-{number}", loss)
        reserved = ada.reserve("plan", pure("1/2"))
        assert isinstance(reserved, Reservation)
        stored = ada.commit(reserved, b"release")
        released = ada.latest(1)[0]
        assert (released.hash, released.reservation) == (stored.head, reserved.id)
        at = released.at.isoformat(timespec="microseconds")
        known = [[reserved.id, str(stored.head)], [ada.state()], [pure("1/2")], [at], ["plan"]]
        assert guess(ledger, *known, [str(released.payload_sha256)], most=3) == []
        rows = rows_of(ledger)
        salt = bytes.fromhex(rows[-1].salt)
        assert guess(ledger, *known, [str(released.payload_sha256)], most=3, salt=salt) == [(CHARGES[0], CHARGES[2])]
        for other in (rows[-2], rows[0]):  # what she may be shown of another opening does not help
            opened = bytes.fromhex(other.salt)[:16]
            assert guess(ledger, *known, [str(released.payload_sha256)], most=2, salt=opened + opened) == []
        salts = {row.salt for row in rows}
        assert len(salts) == ledger.verify() == 7
        assert {len(str(salt)) for salt in salts} == {64}


def rows_of(ledger: OwnedLedger) -> list[Any]:
    from discreet.ledger.log import _rows
    from discreet.ledger.log._chain import check

    return [check(values, "") for values, _ in _rows.pages(ledger._store.database, 99, payloads=False)]


def test_an_account_of_an_older_ledger_is_given_no_hash_without_a_salt(tmp_path: Path) -> None:
    with open_ledger(shutil.copy(FORMAT_2, tmp_path / "ledger"), None) as ledger:
        ada = ledger.open_account("ada", ADA)
        old = [*ada.entries()]
        assert {(each.hash, each.reservation, each.previous) for each in old} == {(None, None, None)}
        assert ada.find("plan-a").head is None
        assert ada.reserve("plan-a", pure("1/2")).head is None
        assert ada.reserve("plan-a", pure("1/2"), idempotency_key="later").payload == b"the first of ada"
        assert isinstance(ada.reserve("plan-new", pure("1/8")), Reservation)
        assert [each.hash is None for each in ada.entries()] == [True] * len(old) + [False] * 2
        assert all(each.hash for each in ledger.entries()), "the owner sees them"
        with pytest.raises(LedgerError, match="older format"):
            ledger.opening(next(each.hash for each in ledger.entries()))
        ledger.verify()


def busy(ledger: OwnedLedger, others: int) -> None:
    """What others do: charges, releases, free repeats and requests, of several accounts."""
    done = sum(ledger.kinds().values())
    for number in range(done, done + others):
        ben = ledger.open_account(f"ben{number % 3}")
        ben.commit(ben.reserve(f"plan-{number}", CHARGES[number % 4], idempotency_key=f"k{number}"), b"another's")
        ben.reserve(f"plan-{number}", CHARGES[number % 4], idempotency_key=f"again-{number}")


def seen_by_ada(path: str, others: int, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All that an analyst's handle gives, with the hashes, which are random, numbered in the order of their coming."""
    times = [NOON]
    monkeypatch.setattr(_sqlite, "clock", lambda connection: times[-1])
    seen: list[Any] = []
    with open_ledger(path, pure(30), every="month") as ledger:
        for name in ("ada", "ben0", "ben1", "ben2"):
            ledger.grant(name, pure(10), every="day", token=False)
        ada = ledger.open_account("ada")
        session = dp.connect({"t": TABLE}, POLICY, ledger=ada)
        for step, hours in enumerate((1, 24, -20, 1, -30)):
            times.append(times[-1] + timedelta(hours=30))
            busy(ledger, others)  # while the clock is ahead
            times.append(times[-1] + timedelta(hours=hours - 30))
            release = session.sql(f"SELECT COUNT(*) AS n FROM t WHERE k < '{step}'", dp.pure("1/8"), idempotency_key="r"
                                  f"{step}")  # fmt: skip
            known = dict(release.certificate)
            seen.append({name: known[name] for name in ("position", "ledger", "account", "at", "plan")})
            times.append(times[-1] + timedelta(hours=2))
            busy(ledger, others)
            times.append(times[-1] - timedelta(hours=1))
            reserved = ada.reserve(f"dead-{step}", pure("1/8"), fresh=True)
            seen += [repr(reserved), ada.state(), ada.spent, ada.remaining, ada.budget, ada.kinds(), repr(ada.facts)]
            for act in (
                lambda step=step: ada.reserve("other", pure(1), idempotency_key=f"r{step}"),
                lambda: ada.reserve("too-much", pure(11)),
                lambda: ada.reserve("part", pure(1), part="north"),
                lambda: ada.reserve("neighbours", pure(1), relation="substitute"),
            ):
                with pytest.raises((LedgerError, BudgetExceeded)) as caught:
                    act()
                seen.append(repr(caught.value))
            for count in (1, 2, 5, 100):
                seen.append([ada.latest(count), ada.moments(count)])
            seen += [[*ada.entries()], repr(ada.find(f"dead-{step}"))]
            state, now = ada.state(), ada.moments(1)[-1][0]
            seen.append(
                as_json("l", ada.facts, [state], {}, Fraction(1, 10**6), None, ada.latest(9), meanings(
                    state, now, Fraction(1, 10**6)), now)
            )  # fmt: skip
        ledger.verify()
    return seen


def without_hashes(seen: list[Any]) -> str:
    import re

    text, names = repr(seen), dict[str, str]()
    return re.sub("[0-9a-f]{64}", lambda match: names.setdefault(match[0], f"#{len(names)}"), text)


def test_all_that_an_account_sees_is_the_same_whatever_others_do(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a clock that jumps ahead and back too: times and windows of an account are its own."""
    views = {
        without_hashes(seen_by_ada(str(tmp_path / str(others)), others, monkeypatch)) for others in (0, 1, 7)
    }  # fmt: skip
    assert len(views) == 1


def test_moments_tell_nothing_of_how_many_entries_others_made(place: str) -> None:
    """Also where they are all before, all after, or in between."""
    with open_ledger(place, pure(30)) as ledger:
        for name in ("ada", "ben0", "ben1", "ben2"):
            ledger.grant(name, pure(10), token=False)
        ada, views = ledger.open_account("ada"), []
        for number in range(9):
            ada.reserve(f"plan-{number}", pure("1/8"))
        for others in (0, 5, 11):
            busy(ledger, others)
            views.append([[(at, state.spent) for at, state in ada.moments(count)][:-1] for count in range(1, 14)])
        assert views[0] == views[1] == views[2]
        assert [len(view) for view in views[0][:5]] == [2, 2, 3, 4, 5], views


def test_an_entry_that_was_tampered_with_is_not_counted_for_an_account(tmp_path: Path) -> None:
    texts = set()
    for others in (0, 3):
        path = tmp_path / str(others)
        with open_ledger(path, pure(30)) as ledger:
            for name in ("ada", "ben0", "ben1", "ben2"):
                ledger.grant(name, pure(10), token=False)
            busy(ledger, others)
            ada = ledger.open_account("ada")
            ada.commit(ada.reserve("plan", pure(1)), b"release")
            with ledger._store.database.transaction(write=True) as connection:
                connection.exec_driver_sql("DROP TRIGGER entries_no_update")
                connection.exec_driver_sql("UPDATE entries SET kind = 'freeze' WHERE kind = 'release'")
            for read, given in (
                (lambda ada=ada: [*ada.entries()], ()),
                (ada.latest, (9,)),
                (ada.moments, (9,)),
                (ada.state, ()),
            ):
                with pytest.raises(LedgerError, match="cannot be trusted") as caught:
                    read(*given)
                texts.add(str(caught.value).replace(str(path), "PATH"))
            with pytest.raises(LedgerError, match=r"entry \d+ is bad"):
                ledger.verify()
    assert len(texts) == 1


def test_what_was_spent_before_an_older_ledger_was_continued_is_its_owner_s_to_see(tmp_path: Path) -> None:
    old = shutil.copy(FORMAT_2.with_name("format_1.sqlite"), tmp_path / "ledger")
    with open_ledger(old, None) as ledger:
        ledger.grant("ada", dp.approx(1, 0), token=False)
        assert ledger.facts.continued is not None
        assert ledger.open_account("ada").facts.continued is None


def test_an_owner_opens_what_a_certificate_holds_and_tells_nothing_of_others(place: str) -> None:
    with open_ledger(place, pure(30)) as ledger:
        for name in ("ada", "ben0", "ben1", "ben2"):
            ledger.grant(name, pure(10), token=False)
        busy(ledger, 3)
        ada = ledger.open_account("ada")
        reserved = ada.reserve("plan", pure("1/8"))
        stored = ada.commit(reserved, b"release")
        opening = json.loads(json.dumps(ledger.opening(reserved.id)))
        entry = check_opening(opening, reserved.id)
        assert (entry["kind"], entry["account"], entry["plan_hash"]) == ("reserve", "ada", "plan")
        assert json.loads(entry["body"])["event"]["history"]["pure"] == ["1/8"]
        assert check_opening(ledger.opening(stored.head), stored.head)["reservation"] == reserved.id
        row = next(row for row in rows_of(ledger) if row.hash == reserved.id)
        for hidden in ("whole", row.previous, str(row.salt)[32:], '"seq"'):
            assert hidden not in json.dumps(opening)
        for wrong in (
            {**opening, "salt": "00" * 16},
            {**opening, "place": row.previous},
            {**opening, "entry": {**opening["entry"], "plan_hash": "another"}},
            {**opening, "entry": {**opening["entry"], "body": opening["entry"]["body"].replace("1/8", "1/9")}},
            {**opening, "salt": "x"},
            {**opening, "more": 1},
            {},
            None,
        ):
            with pytest.raises(LedgerError, match=r"an opening is|is not of this position"):
                check_opening(wrong, reserved.id)
        with pytest.raises(LedgerError, match="not of this position"):
            check_opening(opening, str(stored.head))
        with pytest.raises(LedgerError, match="no entry of this hash"):
            ledger.opening("ab" * 32)
        assert not hasattr(ada, "opening")
        assert ledger.verify({"the certificate": reserved.id}) == 16


def test_a_ledger_that_lost_the_secret_of_its_salts_writes_nothing(tmp_path: Path) -> None:
    with (
        open_ledger(tmp_path / "ledger", pure(3)) as ledger,
        ledger._store.database.transaction(write=True) as connection,
    ):
        connection.exec_driver_sql("DELETE FROM secrets WHERE name = 'salt key'")
    with open_ledger(tmp_path / "ledger") as ledger:
        with pytest.raises(LedgerError, match="lost the secret that salts"):
            ledger.reserve("plan", pure(1))
        assert ledger.verify() == 1
