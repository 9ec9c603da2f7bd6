"""The desk: nothing is charged that was not asked for at a price, and an answer is paid once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import pytest

from discreet.errors import DiscreetError
from discreet.ledger import OwnedLedger, check_signature
from discreet.privacy import Loss, pure
from discreet.query import Suggest, together
from discreet.release import parse_release_file
from discreet.server.desk import Ask, Refusal, Ticket

QUERY = "SELECT region, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY region"
ASK = Ask(QUERY, pure("0.5"))


def refused(act: Any, kind: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        act()
    assert caught.value.kind == kind
    return caught.value


def test_nothing_is_charged_without_a_price(team: Any) -> None:
    desk, ada = team.desk, team.ada
    quote = desk.quote(ada, ASK)
    assert (quote.price, quote.loss, quote.answers) == (pure("0.5"), pure("0.5"), ())
    assert [(column.name, column.noisy) for column in quote.columns] == [("region", False), ("n", True), ("c", True)]
    assert quote.columns[1].error is not None

    assert refused(lambda: desk.answer(ada, ASK), "price").price == pure("0.5")
    assert refused(lambda: desk.answer(ada, ASK, pure("0.4")), "price").price == pure("0.5")
    refused(lambda: desk.answer(ada, Ask(QUERY)), "price")
    assert desk.budget(ada).remaining == pure(10)


def test_an_answer_is_paid_once_and_free_again(team: Any) -> None:
    desk, ada = team.desk, team.ada
    first = desk.answer(ada, ASK, pure(1))
    assert (first.source, first.price) == ("paid", pure("0.5"))
    assert desk.budget(ada).spent == pure("0.5")
    assert check_signature(first.release.certificate) == desk.public_key

    again = desk.answer(ada, ASK)
    assert (again.source, again.price, again.payload) == ("repeat", None, first.payload)
    at_any_spend = desk.answer(ada, Ask(QUERY))
    assert at_any_spend.payload == first.payload
    assert desk.answer_by_id(ada, first.id).payload == first.payload
    assert desk.quote(ada, ASK).price is None
    assert desk.budget(ada).spent == pure("0.5")

    dearer = desk.quote(ada, Ask(QUERY, pure(1)))
    assert dearer.price == pure(1)
    (earlier,) = dearer.answers
    assert (earlier.id, earlier.loss, earlier.shared) == (first.id, pure("0.5"), False)
    assert earlier.errors["n"] == max(first.table.error("n"))


def test_accounts_share_nothing_without_a_shelf(team: Any) -> None:
    desk, ada, ben = team.desk, team.ada, team.ben
    first = desk.answer(ada, ASK, pure(1))
    assert desk.quote(ben, ASK).price == pure("0.5")
    assert desk.quote(ben, ASK).answers == ()
    refused(lambda: desk.answer(ben, ASK), "price")
    refused(lambda: desk.answer(ben, Ask(QUERY)), "price")
    refused(lambda: desk.answer_by_id(ben, first.id), "unknown")
    refused(lambda: desk.shelf(ben), "role")
    other = desk.answer(ben, ASK, pure(1))
    assert other.payload != first.payload


def test_a_shelf_serves_all_what_one_paid_for(sharing: Any) -> None:
    desk, ada, ben = sharing.desk, sharing.ada, sharing.ben
    first = desk.answer(ada, ASK, pure(1))
    assert desk.quote(ben, ASK).price is None
    for each in (desk.answer(ben, ASK), desk.answer(ben, Ask(QUERY)), desk.answer_by_id(ben, first.id)):
        assert (each.source, each.price, each.payload) == ("shelf", None, first.payload)
    (earlier,) = desk.quote(ben, Ask(QUERY, pure("0.1"))).answers
    assert earlier.shared
    assert [each.question for each in desk.shelf(ben)] == [first.release.certificate["query"]]
    assert desk.budget(ben).remaining == pure(1)
    assert desk.history(ben) == []


def test_answers_of_little_worth_hide_no_better_one(sharing: Any) -> None:
    desk, query = sharing.desk, "SELECT COUNT(*) AS n FROM visits"
    good = desk.answer(sharing.ada, Ask(query, pure(2)), pure(2))
    for place in range(1, 7):
        desk.answer(sharing.ben, Ask(query, pure(Fraction(place, 1000))), pure(1))
    for caller in (sharing.ada, sharing.ben):
        answers = desk.quote(caller, Ask(query)).answers
        assert [each.loss for each in answers] == [pure(2), *(pure(Fraction(place, 1000)) for place in (6, 5, 4, 3))]
        assert desk.answer(caller, Ask(query)).id == good.id


def test_of_many_who_ask_the_same_at_once_one_pays(sharing: Any) -> None:
    desk, callers = sharing.desk, (sharing.ada, sharing.ben)
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda i: desk.answer(callers[i % 2], ASK, pure(1)), range(32)))
    assert [each.source for each in answers].count("paid") == 1
    assert len({each.payload for each in answers}) == 1
    assert pure("0.5") == desk.budget(sharing.officer).spent


def test_a_key_is_paid_once_and_belongs_to_one_request(team: Any) -> None:
    desk, ada = team.desk, team.ada
    first = desk.answer(ada, ASK, pure(1), key="one")
    assert desk.answer(ada, ASK, pure(1), key="one").payload == first.payload
    refused(lambda: desk.answer(ada, Ask(QUERY, pure("0.25")), pure(1), key="one"), "key")
    assert desk.budget(ada).spent == pure("0.5")


def test_targets_say_what_the_spend_is(team: Any) -> None:
    query = "SELECT COUNT(*) AS n FROM visits"
    quote = team.desk.quote(team.ada, Ask.for_errors(query, {"n": 20}))
    assert quote.columns[0].error is not None
    assert quote.columns[0].error <= 20
    assert quote.price == quote.loss
    answered = team.desk.answer(team.ada, Ask.for_errors(query, {"n": 20}), quote.price)
    assert max(answered.table.error("n")) <= 20
    assert team.desk.answer(team.ada, Ask(query, quote.loss)).source == "repeat"
    refused(lambda: team.desk.quote(team.ada, Ask.for_errors(query, {"m": 20})), "parameter")


def test_a_rehearsal_is_free_and_marked(team: Any) -> None:
    desk, ada = team.desk, team.ada
    rehearsed = desk.rehearse(ada, ASK)
    assert (rehearsed.source, rehearsed.price) == ("rehearsal", None)
    assert rehearsed.table.to_arrow().column_names == ["region", "n", "c"]
    assert rehearsed.release.certificate["rehearsal"]
    with pytest.raises(DiscreetError):
        check_signature(rehearsed.release.certificate)
    assert desk.budget(ada).remaining == pure(10)
    refused(lambda: desk.answer(ada, ASK), "price")


def test_a_basket_has_one_price_and_charges_nothing_unless_all_fit(team: Any) -> None:
    desk, ben = team.desk, team.ben
    asks = [ASK, Ask("SELECT COUNT(*) AS n FROM visits", pure("0.25")), ASK]
    basket = desk.quote_all(ben, asks)
    assert basket.price == pure("0.75")
    refused(lambda: desk.answer_all(ben, asks), "price")
    refused(lambda: desk.answer_all(ben, asks, pure("0.7")), "price")
    refused(lambda: desk.answer_all(ben, [*asks, Ask("SELECT * FROM visits", pure(1))], pure(9)), "query")
    large = [Ask("SELECT COUNT(*) AS n FROM visits", pure(1)), Ask(QUERY, pure("0.1"))]
    assert refused(lambda: desk.answer_all(ben, large, pure(9)), "budget").price == pure("1.1")
    assert desk.budget(ben).remaining == pure(1)

    answers = desk.answer_all(ben, asks, pure("0.75"), key="basket")
    assert [each.source for each in answers] == ["paid", "paid", "repeat"]
    assert desk.budget(ben).remaining == pure("0.25")
    assert [each.payload for each in desk.answer_all(ben, asks, key="basket")] == [each.payload for each in answers]
    refused(lambda: desk.quote_all(ben, []), "parameter")
    refused(lambda: desk.quote_all(ben, [ASK] * 101), "parameter")


def test_public_keys_are_free_without_a_spend(team: Any) -> None:
    ask = Ask("SELECT DISTINCT region FROM visits")
    assert team.desk.quote(team.ada, ask).price is None
    answered = team.desk.answer(team.ada, ask)
    assert answered.table.to_arrow()["region"].to_pylist() == ["north", "south"]
    assert team.desk.budget(team.ada).remaining == pure(10)


def test_suggestions_are_bought_like_answers(team: Any) -> None:
    question = Suggest("visits", "person", pure(1))
    refused(lambda: team.desk.suggest(team.ada, question), "price")
    bought = team.desk.suggest(team.ada, question, pure(1))
    assert bought.source == "paid"
    assert team.desk.suggest(team.ada, question).payload == bought.payload
    assert parse_release_file(bought.payload).kind == "suggestion"


def test_refusals_have_kinds_and_name_nothing_of_the_owners(team: Any, tmp_path: Any) -> None:
    desk, ada, ben = team.desk, team.ada, team.ben
    for query, kind in (
        ("SELECT * FROM visits", "query"),
        ("DROP TABLE visits", "query"),
        ("SELECT n FROM t", "query"),
    ):
        assert str(tmp_path) not in str(refused(lambda query=query: desk.answer(ada, Ask(query, pure(1))), kind))
    refused(lambda: desk.answer(ben, Ask(QUERY, pure(2)), pure(9)), "budget")
    wrong = [
        refused(lambda name=name, token=token: desk.sign_in(name, token), "sign-in")
        for name, token in (("ada", "x"), ("nobody", team.tokens["ada"]), ("ada", None), ("a b", "x"), ("", ""))
    ]
    assert len({str(each) for each in wrong}) == 1
    refused(lambda: desk.answer(team.officer, ASK, pure(1)), "role")
    with desk.auditing(team.officer) as auditor:
        assert auditor.check({})["entries"] > 0
    for caller in (ada, team.officer):
        with pytest.raises(Refusal), desk.deciding(caller) as _:
            pytest.fail("only the owner decides")
    desk.owner().freeze("ada")
    refused(lambda: desk.answer(ada, ASK, pure(1)), "frozen")
    desk.owner().thaw("ada")
    first = desk.answer(ada, ASK, pure(1))
    desk.owner().freeze("")
    assert desk.answer(ada, ASK).payload == first.payload
    refused(lambda: desk.answer(ben, ASK, pure(1)), "frozen")
    desk.owner().rotate("ada")
    refused(lambda: desk.answer(ada, ASK), "sign-in")


def test_a_ticket_cancels_before_anything_is_charged(team: Any) -> None:
    ticket = Ticket()
    ticket.cancel()
    refused(lambda: team.desk.answer(team.ada, ASK, pure(1), ticket=ticket), "cancelled")
    assert team.desk.budget(team.ada).remaining == pure(10)


def test_the_owner_grants_what_an_analyst_asks_for(team: Any) -> None:
    desk, ben = team.desk, team.ben
    first = desk.request(ben, pure(2), "the spring survey")
    second = desk.request(ben, pure(3), "")
    assert [each.number for each in desk.budget_requests(ben)] == [second.number, first.number]
    assert desk.budget_requests(team.ada) == []
    assert len(desk.budget_requests(team.officer)) == 2
    desk.owner().approve(first.number)
    desk.owner().decline(second.number)
    assert desk.budget(ben).cap == pure(3)
    assert [each.state for each in desk.budget_requests(ben)] == ["declined", "granted"]
    refused(lambda: desk.owner().approve(first.number), "unknown")
    refused(lambda: desk.request(ben, pure(1), "two\nlines"), "parameter")
    refused(lambda: desk.request(team.officer, pure(1), ""), "role")
    for _ in range(20):
        desk.request(ben, pure(1), "more")
    refused(lambda: desk.request(ben, pure(1), "more"), "rate")


@pytest.mark.parametrize("is_done", [False, True])
def test_a_grant_whose_process_died_is_granted_once(
    team: Any, monkeypatch: pytest.MonkeyPatch, *, is_done: bool
) -> None:
    class Killed(BaseException):
        pass

    desk, extend = team.desk, OwnedLedger.extend

    def die(ledger: OwnedLedger, name: str, loss: Loss) -> None:
        if is_done:
            extend(ledger, name, loss)
        raise Killed

    before = desk.budget(team.ada).cap
    request = desk.request(team.ada, pure(1), "more")
    monkeypatch.setattr(OwnedLedger, "extend", die)
    with pytest.raises(Killed):
        desk.owner().approve(request.number)
    monkeypatch.undo()
    assert [each.state for each in desk.budget_requests(team.ada)] == ["open"]
    refused(lambda: desk.owner().decline(request.number), "unknown")
    assert desk.owner().approve(request.number).state == "granted"
    assert desk.budget(team.ada).cap == together([before, pure(1)])
    refused(lambda: desk.owner().approve(request.number), "unknown")


def test_owners_sign_in_once_by_a_code(team: Any) -> None:
    desk = team.desk
    code = desk.owner_sign_ins.new_code()
    token = desk.owner_sign_ins.exchange(code)
    owner = desk.admit_owner(token)
    assert (owner.role, owner.name) == ("owner", "owner")
    refused(lambda: desk.owner_sign_ins.exchange(code), "sign-in")
    refused(lambda: desk.owner_sign_ins.exchange(token), "sign-in")
    refused(lambda: desk.admit_owner(code), "sign-in")
    with desk.deciding(owner) as decisions:
        assert decisions.grant("cyd", pure(1))


def test_threads_ask_and_decide_at_once(team: Any) -> None:
    desk, failures = team.desk, list[BaseException]()

    def ask(place: int) -> None:
        try:
            desk.answer(team.ada, Ask(QUERY, pure(f"0.0{1 + place}")), pure(1), key=f"k{place}")
            desk.owner().freeze("ben")
            desk.owner().thaw("ben")
        except BaseException as error:  # noqa: BLE001 - told below
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(place,)) for place in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failures == []
    assert desk.budget(team.ada).spent == pure("0.36")
    with desk.auditing(team.officer) as auditor:
        assert auditor.check({})["log"] > 0
