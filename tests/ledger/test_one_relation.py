"""A ledger adds up charges for one kind of neighbours, and remembers a bounded number of free requests."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import LedgerError
from discreet.ledger import Reservation, Stored, open_ledger
from discreet.ledger import _accounts as _sql
from discreet.ledger.log import _genesis as _begin
from discreet.privacy import Loss, approx, in_currency, mu, parts, pure, rho

pytestmark = pytest.mark.usefixtures("one_database")

FORMAT_2 = Path(__file__).with_name("format_2.sqlite")
TABLE = {"t": pa.table({"k": ["a", "a", "b"]})}
QUERY = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"


def policy(relation: str | None, version: str = "1") -> dict[str, Any]:
    named = {} if relation is None else {"relation": relation}
    columns = {"k": {"type": "string", "keys": ["a", "b"]}}
    return {"version": version, "budget": {"epsilon": 1}, "tables": {"t": {"unit": "rows", "columns": columns}}} | named


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A charged ledger of format 2 that was made without a relation."""
    return Path(shutil.copy(FORMAT_2, tmp_path / "old"))


@pytest.fixture
def unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """New ledgers without a relation, as older versions made them."""
    monkeypatch.setattr(_begin, "DEFAULT", None)


def test_a_new_ledger_is_for_the_neighbours_of_a_policy_that_names_none(place: str) -> None:
    with open_ledger(place, pure(1)) as ledger:
        assert ledger.facts.relation == "add_remove"
        dp.connect(TABLE, policy(None), ledger=ledger).sql(QUERY, spend=dp.pure("1/2"))
        with pytest.raises(LedgerError, match=r"by add_remove, and the policy is for substitute: their losses do not"):
            dp.connect(TABLE, policy("substitute"), ledger=ledger)
        with pytest.raises(LedgerError, match="by add_remove, and the policy is for substitute"):
            ledger.reserve("plan", pure("1/2"), relation="substitute")
        assert ledger.spent == pure("1/2")
        assert isinstance(ledger.reserve("plan", pure("1/2"), relation="add_remove"), Reservation)
        assert ledger.verify() == 4


@pytest.mark.parametrize("relation", [None, "add_remove", "substitute"])
def test_a_ledger_that_a_policy_makes_is_for_the_neighbours_of_that_policy(tmp_path: Path, relation: Any) -> None:
    path = str(tmp_path / "ledger")
    with dp.connect(TABLE, policy(relation), ledger=path) as session:
        session.sql(QUERY, spend=dp.pure("1/2"))
    other = "add_remove" if relation == "substitute" else "substitute"
    with pytest.raises(LedgerError, match="their losses do not add up"):
        dp.connect(TABLE, policy(other), ledger=path)
    with open_ledger(path) as ledger:
        assert (ledger.facts.relation, ledger.spent) == (relation or "add_remove", pure("1/2"))


def test_both_kinds_are_not_added_up_to_the_budget(tmp_path: Path, unnamed: None) -> None:
    """Half for add_remove and half for substitute: whoever is replaced would lose 1.5 of a budget of 1."""
    path = str(tmp_path / "ledger")
    open_ledger(path, pure(1)).close()
    sessions = [dp.connect(TABLE, policy(relation), ledger=path) for relation in ("add_remove", "substitute")]
    sessions[0].sql(QUERY, spend=dp.pure("1/2"))
    with pytest.raises(LedgerError, match="by add_remove, and the policy is for substitute"):
        sessions[1].sql(QUERY, spend=dp.pure("1/2"))
    for session in sessions:
        session.close()
    with open_ledger(path) as ledger:
        assert (ledger.facts.relation, ledger.total.relation) == ("add_remove", "add_remove")
        assert (ledger.spent, ledger.verify()) == (pure("1/2"), 3)
        ledger.grant("ada", pure(1), token=False)
        assert ledger.open_account("ada").facts.relation == "add_remove"


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_a_charged_ledger_without_a_relation_serves_what_it_has_and_charges_nothing(old: Path, relation: str) -> None:
    with open_ledger(old) as ledger:
        before, length = ledger.spent, ledger.verify()
        session = dp.connect(TABLE, policy(relation), ledger=ledger)
        with pytest.raises(LedgerError, match=r"discreet ledger settle LEDGER --relation .*nothing was spent"):
            session.sql(QUERY, spend=dp.pure("1/8"))
        assert isinstance(ledger.open_account("ben").reserve("raw", pure("1/8")), Reservation), "its caller vouches"
        assert (ledger.spent.eps, ledger.verify()) == (before.eps + Fraction(1, 8), length + 1)


def test_an_answer_of_a_ledger_without_a_relation_is_served_again(old: Path) -> None:
    """The release of the golden file, by the same query and policy."""
    with open_ledger(old) as ledger:
        ledger.grant("ada", pure(6), token=False)
        made = {**policy(None), "budget": {"epsilon": 10}}
        session = dp.connect(TABLE, made, ledger=ledger.open_account("ada"))
        release = session.sql(QUERY, spend=dp.pure("1/4"))
        assert release.to_bytes() == FORMAT_2.with_suffix(".release").read_bytes()


@pytest.mark.parametrize(("relation", "other"), [("add_remove", "substitute"), ("substitute", "add_remove")])
def test_an_owner_says_once_for_which_neighbours_the_charges_were(old: Path, relation: Any, other: Any) -> None:
    with open_ledger(old) as ledger:
        before = ledger.spent
        ledger.settle(relation)
        assert (ledger.facts.relation, ledger.spent) == (relation, before)
        dp.connect(TABLE, policy(relation), ledger=ledger).sql(QUERY, spend=dp.pure("1/8"))
        with pytest.raises(LedgerError, match="their losses do not add up"):
            dp.connect(TABLE, policy(other), ledger=ledger)
        for again in (relation, other):
            with pytest.raises(LedgerError, match="never changes"):
                ledger.settle(again)
        ledger.verify()
    with open_ledger(old) as ledger:
        assert ledger.facts.relation == relation
        assert ledger.verify() == 23


def test_charges_for_either_count_as_for_two_people(old: Path) -> None:
    with open_ledger(old) as ledger:
        accounts, history = ledger.accounts, ledger.history
        ledger.settle("substitute", mixed=True)
        assert ledger.spent == pure("97/20"), "twice 97/40"
        for name, each in ledger.accounts.items():
            assert parts(each.spent) == tuple(2 * number for number in parts(accounts[name].spent))
            assert (each.cap, each.relation) == (accounts[name].cap, "substitute")
        for name, factor in (("pure", 2), ("approx", 2), ("rho", 4), ("mu", 4)):
            assert parts(ledger.history[name])[0] == factor * parts(history[name])[0]
        dp.connect(TABLE, policy("substitute"), ledger=ledger).sql(QUERY, spend=dp.pure("1/8"))
        assert ledger.spent == pure("199/40")
        ledger.grant("new", pure(1))
        with pytest.raises(LedgerError, match="never changes"):
            ledger.settle("substitute", mixed=True)
        ledger.verify()


@pytest.mark.usefixtures("unnamed")
@pytest.mark.parametrize("loss", [pure("1/2"), approx("1/2", "1e-9"), rho("1/8"), mu("1/8")])
def test_settled_totals_are_at_least_those_for_groups_of_two(loss: Loss) -> None:
    """Windows apart, in every currency: the total of each is that of what was charged in it, for two."""
    with open_ledger(None, 10 * loss) as ledger:
        ledger.grant("ada", 4 * loss, token=False)
        ada = ledger.open_account("ada")
        ada.reserve("one", loss)
        ledger.renew()
        ledger.renew("ada")
        ada.reserve("two", loss)
        ledger.reserve("three", loss)
        ledger.settle("substitute", mixed=True)
        for state, times in ((ledger.total, 2), (ada.state(), 1)):
            for total, count in ((state.before, 1), (state.spent, times)):
                assert (count * loss).under("substitute").fits(total)
                once = parts(in_currency(count * loss, ledger.currency))[0]
                assert parts(total)[0] == {"pure": 2, "approx": 2, "rho": 4, "mu": 4}[ledger.currency] * once
        ledger.verify()


@pytest.mark.usefixtures("unnamed")
def test_what_has_no_number_for_two_people_is_not_settled_so() -> None:
    with open_ledger(None, rho(1, "1e-6")) as ledger:
        ledger.reserve("plan", rho("1/8", "1e-9"))
        with pytest.raises(LedgerError, match="has no value for two people"):
            ledger.settle("substitute", mixed=True)
        assert ledger.verify() == 2
        ledger.settle("substitute")


def test_what_cannot_be_settled(old: Path) -> None:
    with open_ledger(None, pure(1)) as ledger, pytest.raises(LedgerError, match="never changes"):
        ledger.settle("substitute")
    with open_ledger(old) as ledger:
        with pytest.raises(LedgerError, match="does not bound the loss where a person is added"):
            ledger.settle("add_remove", mixed=True)
        with pytest.raises(LedgerError, match="a relation is one of"):
            ledger.settle("sibling")  # type: ignore[arg-type]
        assert ledger.facts.relation is None
        assert ledger.verify() == 20


def test_a_free_request_is_remembered_up_to_a_number_of_keys(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sql, "MOST_REPEATS", 3)
    with open_ledger(place, pure(9)) as ledger:
        for name in ("ada", "ben"):
            ledger.grant(name, pure(4), token=False)
        ada, ben = ledger.open_account("ada"), ledger.open_account("ben")
        first = ada.commit(ada.reserve("plan", pure(1)), b"answer")
        for number in range(3):
            assert ada.reserve("plan", pure(1), idempotency_key=f"key-{number}") == first
        length = ledger.verify()
        for number in range(3, 20):
            with pytest.raises(LedgerError, match=r"under at most 3 idempotency keys.* repeat it without a key"):
                ada.reserve("plan", pure(1), idempotency_key=f"key-{number}")
            assert ada.reserve("plan", pure(1)) == first, "without a key it is free for ever"
            assert ada.reserve("plan", pure(1), idempotency_key=f"key-{number % 3}") == first, "as it was answered"
        assert ledger.verify() == length
        with pytest.raises(LedgerError, match="used for another request"):
            ada.reserve("plan-of-new-data", pure(1), idempotency_key="key-2")
        assert isinstance(ada.reserve("plan-of-new-data", pure(1), idempotency_key="key-7"), Reservation), (
            "a key that was refused was never answered"
        )
        ben.commit(ben.reserve("plan", pure(1)), b"another's")
        assert isinstance(ben.reserve("plan", pure(1), idempotency_key="key-7"), Stored), "each account has its own"
        ada.commit(ada.reserve("plan-2", pure(1)), b"answer")
        assert isinstance(ada.reserve("plan-2", pure(1), idempotency_key="key-8"), Stored), "and each answer"
        ledger.verify()
