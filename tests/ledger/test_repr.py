"""What `repr` shows of a ledger: where it is and what was spent, from memory, without a secret, whatever its state."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import pytest

import discreet as dp
from discreet.errors import BudgetExceeded
from discreet.ledger import Account, OwnedLedger, open_ledger
from discreet.ledger.postgres._url import address_of
from discreet.postgres_url import connection_parts


def status(ledger: object) -> str:
    """What is shown after the place."""
    return repr(ledger).rpartition("; ")[2].removesuffix(">")


def test_a_ledger_in_a_file(tmp_path) -> None:
    path = str(tmp_path / "t.ledger")
    with open_ledger(path, dp.approx(3, 1e-6)) as ledger:
        assert repr(ledger) == f"<OwnedLedger {path!r}; spent approx(0, 0) of approx(3, 1e-06) as last read>"


def test_each_sees_its_own_account_as_last_read(place: str) -> None:
    with open_ledger(place, dp.pure(10)) as ledger:
        ada = ledger.open_account("ada", ledger.grant("ada", dp.pure(1)))
        ledger.grant("ivy", role="auditor", token=False)
        audit = ledger.open_audit("ivy")
        assert repr(ada).startswith("<AccountLedger ")
        assert repr(audit).startswith("<LedgerAudit ")
        assert status(ada) == "account 'ada' spent pure(0) of pure(1) as last read"
        ada.reserve("plan-1", dp.pure(0.25))
        ledger.reserve("plan-2", dp.pure(0.5))
        assert status(ada) == "account 'ada' spent pure(0.25) of pure(1) as last read"
        assert status(ledger) == status(audit) == "spent pure(0.75) of pure(10) as last read"
        ada.open_run("run", dp.pure(0.25), steps=3)
        assert status(ada) == "account 'ada' spent pure(0.5) of pure(1) as last read"
        ledger.renew(cap=dp.pure(20))
        assert status(ledger) == "spent pure(0) of pure(20) as last read"


def test_a_charge_that_does_not_fit_is_not_shown(place: str) -> None:
    with open_ledger(place, dp.pure(1)) as ledger:
        with pytest.raises(BudgetExceeded):
            ledger.reserve("plan", dp.pure(2))
        assert status(ledger) == "spent pure(0) of pure(1) as last read"


def test_what_another_has_spent_is_shown_once_it_is_read(place: str) -> None:
    with open_ledger(place, dp.pure(3)) as ledger, open_ledger(place) as other:
        other.reserve("plan", dp.pure(1))
        assert status(ledger) == "spent pure(0) of pure(3) as last read"
        assert ledger.spent == dp.pure(1)
        assert status(ledger) == "spent pure(1) of pure(3) as last read"


def test_a_ledger_that_was_spent_from_before_is_shown_at_once(place: str) -> None:
    with open_ledger(place, dp.pure(3)) as ledger:
        ledger.reserve("plan", dp.pure(1))
    with open_ledger(place) as ledger:
        assert status(ledger) == "spent pure(1) of pure(3) as last read"


def test_what_is_closed_can_be_shown(place: str) -> None:
    with open_ledger(place, dp.pure(3)) as ledger:
        ada = ledger.open_account("ada", ledger.grant("ada", dp.pure(1)))
        audit = open_ledger(place)
    audit.close()
    assert [status(each) for each in (ledger, ada, audit)] == ["closed", "account 'ada' closed", "closed"]


def test_a_ledger_that_is_busy_or_gone_can_be_shown(tmp_path) -> None:
    path = tmp_path / "t.ledger"
    with open_ledger(path, dp.pure(3)) as ledger, open_ledger(None, dp.pure(3)) as memory:
        with memory._store.database.transaction(write=True), ledger._store.database.transaction(write=True):
            shown: list[str] = []
            thread = threading.Thread(target=lambda: shown.extend(map(status, (ledger, memory))), daemon=True)
            thread.start()
            thread.join(5)
            assert shown == ["spent pure(0) of pure(3) as last read"] * 2
        path.unlink()
        assert status(ledger) == "spent pure(0) of pure(3) as last read"


def test_a_number_of_any_length_is_cut(place: str) -> None:
    with open_ledger(place, dp.pure(3)) as ledger:
        ledger.reserve("plan", dp.pure(f"{10**300 + 1}/{10**300 * 3}"))
        assert len(status(ledger)) <= 120


@pytest.mark.postgres
def test_no_password_is_shown(place_on_server: str) -> None:
    password = (connection_parts(place_on_server, "a test") or {}).get("password")
    with open_ledger(place_on_server, dp.pure(3)) as ledger:
        ada = ledger.open_account("ada", token := ledger.grant("ada", dp.pure(1)))
        for each in (ledger, ada, ledger.total, ledger.accounts):
            assert "postgresql://" not in repr(each)
            assert token not in repr(each)
            assert not password or password not in repr(each)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ann:secret@db:5432/shop?ledger=visits",
        "postgresql://ann:%73ecret@db/shop",
        "postgresql://db/shop?user=ann&password=secret",
        "postgresql://ann:pass@secret@db/shop",  # libpq takes secret@db for the host
        "postgresql://ann:pass@secret@db:5432/shop",
        "postgresql://ann:secret/x@db/shop",  # and here secret for the port of ann
        "postgresql://ann:1/secret@db/shop",
        "postgresql://ann:a@secret/x@db/shop",
        "postgresql://ann:a@secret:5432/x@db/shop",
        "postgresql://secret:1234/56@db/shop",
    ],
)
def test_no_password_of_a_url_is_shown(url: str) -> None:
    address = address_of(url)
    ledger = open_ledger(None, dp.pure(3))
    ledger._store.where = address.where
    for text in (address.where, repr(address), repr(ledger)):
        assert "secret" not in text
    ledger.close()


def test_an_account_is_shown_without_the_hash_of_its_token() -> None:
    account = Account("ada", "analyst", dp.pure(1.5), dp.pure(1), dp.pure(2), datetime(2026, 1, 1, tzinfo=UTC))
    text = "Account(name='ada', role='analyst', cap=pure(1.5), common=pure(1), before=pure(2), since=datetime.datetime"
    assert repr(account).startswith(text)
    assert repr(account).endswith("tzinfo=datetime.timezone.utc))")
    with open_ledger(None, dp.pure(3)) as ledger:
        ledger.grant("ada", dp.pure(1))
        assert ledger.accounts["ada"].token_sha256
        assert "token" not in repr(ledger.accounts)


def test_nothing_that_was_stored_is_shown() -> None:
    with open_ledger(None, dp.pure(3)) as ledger:
        assert isinstance(ledger, OwnedLedger)
        reserved = ledger.reserve("plan-1", dp.pure(1))
        stored = ledger.commit(reserved, b"a release")
        run = ledger.open_run("plan-2", dp.pure(1), steps=2)
        (step,) = run.begin(after=run.read())
        run.store(step, b"an answer", b"a state")
        for each in (ledger, reserved, stored, run):
            assert not any(text in repr(each) for text in ("a release", "an answer", "a state"))
