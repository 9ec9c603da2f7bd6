"""An analyst with nothing but an account: what they cannot see, spend, change or learn."""

from __future__ import annotations

import hmac
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BudgetExceeded, LedgerError
from discreet.ledger import Reservation, open_ledger
from discreet.ledger._owner import OwnedLedger
from discreet.privacy import pure

pytestmark = pytest.mark.usefixtures("one_database")

POLICY = {
    "version": "1",
    "budget": {"epsilon": 3},
    "tables": {"t": {"unit": "rows", "columns": {"k": {"type": "string", "keys": ["a", "b"]}}}},
}
TABLE = pa.table({"k": ["a", "a", "b"]})
QUERY = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"
SECRET = b"a release of another's"
KEY = bytes(range(32))


def both(ledger: OwnedLedger, *, cap: str = "2"):
    return [ledger.open_account(name, ledger.grant(name, pure(cap))) for name in ("mallory", "ada")]


def test_another_analyst_s_releases_are_out_of_reach(place: str) -> None:
    with open_ledger(place, pure(3)) as ledger:
        mallory, ada = both(ledger)
        reserved = ada.reserve("plan", pure(1), idempotency_key="request")
        ada.commit(reserved, SECRET)
        assert mallory.find("plan") is None
        for key in ("request", None):
            mine = mallory.reserve("plan", pure("1/4"), idempotency_key=key, fresh=True)
            assert isinstance(mine, Reservation), "the same plan and key of another are none of theirs"
            mallory.commit(mine, b"their own")
        assert mallory.find("plan").payload == b"their own"
        assert ada.find("plan").payload == SECRET
        told = repr([*mallory.entries()]) + repr(mallory.state())
        assert "'ada'" not in told
        assert reserved.id not in told
        for name in ("grant", "transfer", "freeze", "thaw", "renew", "accounts", "history", "open_account", "verify"):
            assert not hasattr(mallory, name)
        ledger.verify()


def test_another_payload_is_refused_to_a_thread_that_was_overtaken(tmp_path: Path) -> None:
    with open_ledger(str(tmp_path / "ledger"), pure(3)) as owner:
        reservation = owner.reserve("q", pure(1))
        claims = owner._claims

        class Overtaken(dict[str, Any]):
            """Another thread stores its release as soon as this one has looked."""

            def get(self, name: str, default: Any = None) -> Any:
                found = super().get(name, default)
                claims._open = dict(self)
                owner.commit(reservation, b"first")
                return found

        claims._open = Overtaken(claims._open)
        with pytest.raises(LedgerError, match="not open here"):
            claims.seal(reservation.id, b"second")
        assert owner.find("q").payload == b"first"


def test_another_s_reservation_cannot_be_committed(place: str) -> None:
    with open_ledger(place, pure(3)) as ledger:
        mallory, ada = both(ledger)
        reserved = ada.reserve("plan", pure(1))
        forged = Reservation(reserved.ledger, reserved.id, "mallory", "plan", reserved.loss, reserved.at)
        mallory._claims.add(reserved.id)  # as if their own object had made it
        for attempt in (reserved, forged):
            with pytest.raises(LedgerError):
                mallory.commit(attempt, b"forged")
        ada.commit(reserved, SECRET)
        ledger.verify()


def test_sessions_of_two_accounts_share_nothing(place: str) -> None:
    with open_ledger(place, pure(3)) as ledger:
        mallory, ada = both(ledger)
        theirs = dp.connect({"t": TABLE}, POLICY, ledger=ada).sql(QUERY, spend=dp.pure(1), idempotency_key="request")
        session = dp.connect({"t": TABLE}, POLICY, ledger=mallory)
        mine = session.sql(QUERY, spend=dp.pure(1), idempotency_key="request")
        assert mine.certificate["position"] != theirs.certificate["position"]
        assert mine.certificate["account"] == "mallory"
        assert (mallory.spent, ada.spent, ledger.spent) == (pure(1), pure(1), pure(2))
        assert session.sql(QUERY, spend=dp.pure(1)).to_bytes() == mine.to_bytes()


def test_a_refusal_tells_nothing_of_what_others_have_spent(tmp_path: Path) -> None:
    """Whatever the others have done with the budget, in whatever order, a refusal is the same text."""
    told = set()
    for case, others in enumerate([["1"], ["3/4", "1/4"], ["2"], ["1/3", "1/7", "1/2"]]):
        with open_ledger(tmp_path / str(case), pure(3)) as ledger:
            mallory, ada = both(ledger, cap="5/2")
            for number, loss in enumerate(others):
                ada.reserve(f"plan{number}", pure(loss))
            with pytest.raises(BudgetExceeded) as caught:
                mallory.reserve("plan", pure("5/2"))
            told.add(str(caught.value))
            assert mallory.remaining == pure("5/2")
    assert len(told) == 1


@pytest.mark.parametrize("attempt", ["", "wrong", "another's", "a hash", "é", "\ud800", "0" * 48, None])
def test_tokens_that_open_nothing(place: str, attempt: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_ledger(place, pure(3)) as ledger:
        ledger.grant("ada", pure(1))
        if attempt == "another's":
            attempt = ledger.grant("mallory", pure(1))
        elif attempt == "a hash":  # an auditor reads it
            attempt = ledger.accounts["ada"].token_sha256
        compared = []
        compare = hmac.compare_digest
        monkeypatch.setattr(hmac, "compare_digest", lambda a, b: compared.append(len(a)) or compare(a, b))
        texts = set()
        for name in ("ada", "nobody", "", "a\0b", "\ud800", "x" * 5000):
            with pytest.raises(LedgerError) as caught:
                ledger.open_account(name, attempt)
            texts.add(str(caught.value).replace(repr(name), "NAME"))
        assert len(texts) == 1, "whether there is such an account is not told"
        assert compared, "compared in constant time"


def test_accounts_cannot_race_past_their_caps_nor_the_whole(place: str) -> None:
    with open_ledger(place, pure(2)) as ledger:
        mallory, ada = both(ledger, cap="3/2")
        barrier = threading.Barrier(8)

        def spend(account, index):
            barrier.wait()
            for number in range(6):
                try:
                    account.reserve(f"plan{index}.{number}", pure("1/8"))
                except BudgetExceeded:
                    continue

        threads = [threading.Thread(target=spend, args=((mallory, ada)[index % 2], index)) for index in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert ledger.spent == pure(2)
        assert max(mallory.spent.eps, ada.spent.eps) <= pure("3/2").eps
        ledger.verify()


def test_with_a_key_the_file_tells_no_payload_and_no_signing_key(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    with open_ledger(path, pure(3), key=KEY) as ledger:
        private = ledger._store.private_key()
        mallory, ada = both(ledger)
        ada.commit(ada.reserve("plan", pure(1)), SECRET)
        mallory.commit(mallory.reserve("plan", pure(1)), SECRET)
        held = b"".join(each.read_bytes() for each in tmp_path.iterdir() if each.name.endswith("wal") or each == path)
        assert SECRET not in held
        assert private not in held
        assert KEY not in held
        rows = [entry.payload_sha256 for entry in ledger.entries() if entry.kind == "release"]
        assert rows[0] != rows[1], "two releases of the same bytes do not look the same"
    held = path.read_bytes()
    assert SECRET not in held
    assert private not in held
    with open_ledger(path) as ledger:
        assert ledger.verify() == 7
        with pytest.raises(LedgerError, match=r"encrypted: open it with its key .*--key-file"):
            ledger.reserve("plan", pure("1/8"))
        with pytest.raises(LedgerError, match=r"encrypted: open it with its key .*--key-file"):
            ledger._store.private_key()
    for wrong in (bytes(32), KEY[::-1]):
        with pytest.raises(LedgerError, match="another key, or none"):
            open_ledger(path, key=wrong)
    for none in (b"", b"short", "x" * 32):
        with pytest.raises(dp.ParameterError, match="32 bytes"):
            open_ledger(path, key=none)  # type: ignore[arg-type]


@pytest.mark.parametrize("other", ["mallory", "ada"])
def test_sealed_releases_do_not_open_elsewhere(other: str) -> None:
    """Put in the place of another release, of another account or of the same one."""
    with open_ledger(None, pure(3), key=KEY) as ledger:
        mallory, ada = both(ledger)
        reserved = ada.reserve("plan", pure("1/4"))
        ada.commit(reserved, SECRET)
        account = {"mallory": mallory, "ada": ada}[other]
        elsewhere = account.reserve("another-plan", pure("1/4"))
        seal = ledger._store.seal
        sealed = seal.closed("ada", reserved.id, SECRET)
        assert seal.opened("ada", reserved.id, sealed) == SECRET
        with pytest.raises(LedgerError, match="does not open"):
            seal.opened(other, elsewhere.id, sealed)
        for at in (0, 12, len(sealed) - 1):
            changed = bytearray(sealed)
            changed[at] ^= 1
            with pytest.raises(LedgerError, match="does not open"):
                seal.opened("ada", reserved.id, bytes(changed))
        for short in (b"", sealed[:5], sealed[:12], sealed[:20]):
            with pytest.raises(LedgerError, match="does not open"):
                seal.opened("ada", reserved.id, short)
