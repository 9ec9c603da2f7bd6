"""The questions of a session, asked of a real server: by waiting, and from asyncio."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest

from discreet.client import AsyncRemoteSession, RemoteSession
from discreet.errors import (
    AccountStopped,
    BudgetExceeded,
    KeyReused,
    LedgerError,
    ParameterError,
    QueryError,
    SignInRefused,
)
from discreet.ledger import fingerprint
from discreet.privacy import pure
from discreet.query import Release, Suggestion

QUERY = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"
FIRST = "SELECT region, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY region"


def test_a_question_is_planned_bought_and_free_again(team: Any) -> None:
    with team.connect("dan") as session:
        plan = session.plan(FIRST, pure(0.5))
        assert (plan.loss, plan.price, plan.answers) == (pure(0.5), pure(0.5), ())
        assert [(each.name, each.noisy) for each in plan.columns] == [("region", False), ("n", True), ("s", True)]
        assert [each.error for each in plan.columns[:2]] == [None, 12.0]  # two columns share the spend
        assert "region" in plan.explain()
        with pytest.raises(BudgetExceeded, match="say what it may cost"):
            session.sql(FIRST)
        first = session.sql(FIRST, pure(0.5))
        assert isinstance(first, Release)
        assert first.loss == pure(0.5)
        assert (first.error("n") > 0).all()
        assert abs(first.to_arrow()["n"][0].as_py() - 1_000) < 200
        for again in (session.sql(FIRST, pure(0.5)), session.sql(FIRST)):
            assert again.to_bytes() == first.to_bytes()
        assert (session.spent.epsilon(), session.remaining.epsilon()) == (0.5, 4.5)
        assert session.plan(FIRST, pure(0.5)).price is None
        (earlier,) = session.plan(FIRST, pure(0.75)).answers
        assert (earlier.loss, set(earlier.errors)) == (pure(0.5), {"n", "s"})
        newest = session.history(1)[0]
        assert (newest.loss, newest.answered, newest.id) == (pure(0.5), True, earlier.id)
        assert newest.question is not None and 'FROM "visits"' in newest.question
    with team.connect("ben") as other:  # the shelf
        assert other.sql(FIRST).to_bytes() == first.to_bytes()
        assert earlier.id in {each.id for each in other.shelf()}
        assert other.spent.epsilon() == 0


def test_a_price_is_never_exceeded(team: Any) -> None:
    query = "SELECT SUM(cost) AS s FROM visits"
    with team.connect() as session:
        spent = session.spent
        with pytest.raises(BudgetExceeded, match="more than"):
            session.sql(query, pure(0.5), max_price=pure(0.25))
        assert session.spent == spent
        assert session.sql(query, pure(0.25), max_price=pure(1)).loss == pure(0.25)


def test_targets_for_errors(team: Any) -> None:
    with team.connect() as session:
        plan = session.plan("SELECT COUNT(*) AS n FROM visits", error={"n": 20}, level=0.9)
        assert plan.loss is not None
        assert plan.loss.epsilon() < 0.3


def test_a_rehearsal_is_free_and_marked(team: Any) -> None:
    with team.connect() as session:
        spent = session.spent
        release = session.rehearse(QUERY, pure(3))
        assert "made-up" in release.certificate["rehearsal"]
        assert session.spent == spent


def test_a_suggestion_is_bought_once(team: Any) -> None:
    with team.connect() as session:
        spent = session.spent.epsilon()
        first = session.suggest("visits", "age", pure(2))
        assert isinstance(first, Suggestion)
        assert 'type = "int"' in first.to_toml()
        assert session.suggest("visits", "age", pure(2)) == first
        assert session.spent.epsilon() == pytest.approx(spent + 2)


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda session: session.sql("SELECT * FROM visits", pure(0.1)), QueryError),
        (lambda session: session.plan("SELECT nothing FROM visits"), QueryError),
        (lambda session: session.sql(QUERY, pure(5)), BudgetExceeded),
        (lambda session: session.plan(QUERY, dialect="klingon"), ParameterError),
        (lambda session: session.plan(QUERY, pure(1), error={"n": 3}), ParameterError),
        (lambda session: session.plan(QUERY, level=2), ParameterError),
        (lambda session: session.plan(5), ParameterError),
        (lambda session: session.sql(QUERY, pure(0.1), idempotency_key="a b"), ParameterError),
        (lambda session: session.history(0), ParameterError),
        (lambda session: session.plan("x" * 3_000_000), ParameterError),
    ],
    ids=range(10),
)
def test_errors_are_those_of_a_local_session(team: Any, ask: Any, error: type[Exception]) -> None:
    with team.connect("ben") as session:
        with pytest.raises(error) as raised:
            ask(session)
        assert type(raised.value) is error
        assert team.tokens["ben"] not in str(raised.value)
        assert session.spent.epsilon() == 0


def test_keys_and_stopped_accounts(team: Any) -> None:
    with team.connect("cyd") as session:
        session.sql("SELECT COUNT(*) AS n FROM visits", pure(0.125), idempotency_key="one")
        session.sql("SELECT COUNT(*) AS n FROM visits", pure(0.125), idempotency_key="one")
        assert session.spent == pure(0.125)
        with pytest.raises(KeyReused):
            session.sql("SELECT COUNT(*) AS m FROM visits", pure(0.25), idempotency_key="one")
        team.desk.owner().freeze("cyd")
        with pytest.raises(AccountStopped):
            session.sql("SELECT COUNT(*) AS k FROM visits", pure(0.25))
    for account, token in (("ada", team.tokens["ben"]), ("nobody", "x")):
        with RemoteSession(team.url, account=account, token=token) as nobody, pytest.raises(SignInRefused):
            nobody.plan(QUERY)


def test_keys_are_pinned(team: Any) -> None:
    with team.connect() as session:
        key = session.public_key
        assert key == team.desk.public_key
        assert session.fingerprint == fingerprint(key)
    for given in (key, key.upper(), fingerprint(key)):
        with team.connect(key=given) as session:
            session.sql(QUERY, pure(0.5))
            assert session.public_key == key
    for given in ("0" * 64, "0000-0000-0000-0000-0000"):
        with team.connect(key=given) as session:
            with pytest.raises(LedgerError, match="expect"):
                session.sql(QUERY, pure(0.5))
            if len(given) < 64:
                with pytest.raises(LedgerError, match="expected"):
                    _ = session.public_key
    with pytest.raises(ParameterError, match="fingerprint"):
        team.connect(key="my key")


def test_the_same_from_asyncio(team: Any) -> None:
    async def ask() -> None:
        async with team.connect_async() as session:
            plan = await session.plan(QUERY, pure(0.625))
            assert plan.price == pure(0.625)
            releases = await asyncio.gather(*(session.sql(QUERY, pure(0.625)) for _ in range(8)))
            assert len({release.to_bytes() for release in releases}) == 1
            with pytest.raises(QueryError):
                await session.sql("SELECT * FROM visits", pure(0.1))
            assert (await session.budget()).cap == pure(20)
            assert (await session.history(1))[0].loss == pure(0.625)
            assert len(await session.shelf()) > 0
            assert (await session.rehearse(QUERY, pure(1))).loss == pure(1)
            assert await session.public_key() == team.desk.public_key
            assert await session.fingerprint() == fingerprint(team.desk.public_key)
            spent, remaining = await session.spent(), await session.remaining()
            assert spent.epsilon() + remaining.epsilon() == pytest.approx(20)
        with pytest.raises(ParameterError, match="closed"):
            await session.plan(QUERY)

    asyncio.run(ask())


def test_a_session_that_waits_and_one_that_does_not_have_the_same_methods() -> None:
    def public(each: type) -> dict[str, Any]:
        return {name: value for name, value in vars(each).items() if not name.startswith("_")}

    waiting, other = public(RemoteSession), public(AsyncRemoteSession)
    assert set(waiting) == set(other)
    for name, method in waiting.items():
        if not isinstance(method, property):
            assert inspect.signature(method) == inspect.signature(other[name]), name
    assert inspect.signature(RemoteSession) == inspect.signature(AsyncRemoteSession)
