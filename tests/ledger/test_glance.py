"""A glance at a long ledger says what reading all of it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import pytest

from discreet.errors import LedgerError
from discreet.ledger import open_ledger
from discreet.ledger._owner import OwnedLedger
from discreet.privacy import pure


@pytest.fixture(scope="module")
def ledger() -> Iterator[OwnedLedger]:
    """Two accounts, one of which comes late and spends once, and a new window in the middle."""
    with open_ledger(None, pure(100)) as opened:
        opened.grant("ada", pure(50), token=False)
        ada = opened.open_account("ada")
        for number in range(40):
            reserved = ada.reserve(f"plan-{number}", pure("0.5"))
            ada.commit(reserved, b"release")
            if number == 20:
                opened.renew()
        opened.grant("ben", pure(1), token=False)
        opened.open_account("ben").reserve("plan", pure("0.25"))
        opened.grant("eve", None, role="auditor", token=False)
        yield opened


def test_kinds_are_counted(ledger: OwnedLedger) -> None:
    assert ledger.kinds() == Counter(each.kind for each in ledger.entries())
    ada = ledger.open_account("ada")
    assert ada.kinds() == {"grant": 1, "reserve": 40, "release": 40}


def test_the_newest_come_first(ledger: OwnedLedger) -> None:
    everything = [*ledger.entries()][::-1]
    for count in (0, 1, 7, 1_000):
        assert ledger.latest(count) == everything[:count]
    ada = ledger.open_account("ada")
    assert [each.hash for each in ada.latest(3)] == [each.hash for each in everything if each.account == "ada"][:3]
    assert {(each.seq, each.previous) for each in ada.latest(3)} == {(None, None)}


@pytest.mark.parametrize("count", [1, 2, 3, 10, 84, 1_000])
def test_moments_lie_on_the_way(ledger: OwnedLedger, count: int) -> None:
    whole = ledger.moments(count)
    assert len(whole) <= max(count, 2) + 1
    assert [at for at, _ in whole] == sorted(at for at, _ in whole)
    assert whole[-1][1] == ledger.total
    totals = [state.lifetime for _, state in whole]
    known = {Fraction(step, 2) for step in range(41)} | {Fraction(81, 4)}
    assert [total.eps for total in totals] == sorted(total.eps for total in totals)  # pyright: ignore[reportAttributeAccessIssue]
    assert {total.eps for total in totals} <= known  # pyright: ignore[reportAttributeAccessIssue]
    for name, account in ledger.accounts.items():
        assert ledger.moments(count, name)[-1][1] == account
    mine, seen = ledger.open_account("ada").moments(count), ledger.moments(count, "ada")
    assert mine[:-1] == seen[:-1]  # the last is now
    assert mine[-1][1] == seen[-1][1]


def test_all_moments_of_a_short_ledger_are_read(ledger: OwnedLedger) -> None:
    length = ledger.head.seq + 1
    assert len(ledger.moments(length)) == length + 1
    assert [state.windows for _, state in ledger.moments(length)] == [1] * 44 + [2] * (length + 1 - 44)
    assert [len(ledger.moments(length, name)) for name in ("ada", "ben", "eve", "nobody")] == [82, 3, 2, 0]


def test_what_was_changed_is_not_shown() -> None:
    with open_ledger(None, pure(100)) as opened:
        opened.freeze()
        opened.thaw()
        with opened._store.database.transaction(write=True) as connection:
            connection.exec_driver_sql("DROP TRIGGER entries_no_update")
            connection.exec_driver_sql("UPDATE entries SET at = at || 'Z' WHERE seq = 1")
        for read in (lambda: opened.latest(3), lambda: opened.moments(3)):
            with pytest.raises(LedgerError, match="entry 1 is bad"):
                read()
