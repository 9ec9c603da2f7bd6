"""A hostile analyst learns nothing beside the releases: each query is refused, or answered within its sensitivity.

Whether it is refused, and in which words, is the same on all databases, however their rows are poisoned.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "query"))
sys.path.insert(0, str(Path(__file__).parent))

from hostile_databases import NEIGHBOURS, clinic_policy, databases
from hostile_queries import CONTAINED, FORBIDDEN
from suite.moves import beyond

import discreet as dp
import discreet.session
from discreet.combined import plan_statement
from discreet.engines.duckdb import DuckDB
from discreet.ledger import open_ledger
from discreet.policy import Policy
from discreet.query import RULES, BoundedAggregate, Group, Plan, public_reader
from discreet.session import Session

pytestmark = pytest.mark.usefixtures("one_database")

SPEND = dp.approx(1, 1e-6)
SALT = b"sixteen bytes of"


class Watched(DuckDB):
    """The engine, which remembers what it told; the caps keep the same rows of a person in all databases."""

    def __init__(self, source: object, policy: Policy) -> None:
        super().__init__(source, policy)
        self.told: list[list[Group]] = []

    @property
    def asked(self) -> int:
        return len(self.told)

    def run(self, request: BoundedAggregate, salt: bytes) -> list[Group]:
        assert len(salt) == len(SALT)
        self.told.append([])
        self.told[-1] = super().run(request, SALT)
        return self.told[-1]


@pytest.fixture(scope="module")
def sessions() -> Iterator[dict[str, Session]]:
    """One for each database. What is planned is planned once for all: all databases have one public table."""
    policy = clinic_policy()
    budget = policy.budget
    assert budget is not None
    opened = {
        name: Session(Watched(tables, policy), policy, open_ledger(None, budget.loss()))
        for name, tables in databases().items()
    }

    @lru_cache(maxsize=4)
    def planned(query: str, spend: dp.Loss | None) -> Plan:
        return plan_statement(query, policy, spend, public_reader(_engine(opened["typed"])))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discreet.session, "plan_statement", lambda query, _, spend, __, bias: planned(query, spend))
        yield opened
    for session in opened.values():
        session.close()


def _engine(session: Session) -> Watched:
    engine = session._engine
    assert isinstance(engine, Watched)
    return engine


def _outcome(session: Session, query: str) -> tuple[object, ...]:
    """What an analyst sees beside what is noisy: the shape of an answer, or the error.

    Where no key is private, and neither HAVING nor LIMIT chooses among noisy numbers, that is the number of rows too.
    """
    try:
        table = session.sql(query, SPEND).to_arrow()
        discovered = any(level.bounded.count_units for level in session.plan(query).levels)
        chosen = discovered or "HAVING" in query or "LIMIT" in query
    except Exception as error:  # noqa: BLE001 - any exception is an outcome
        return type(error), str(error)
    return (None if chosen else table.num_rows, *((field.name, field.type) for field in table.schema))


def _is_refusal(outcome: tuple[object, ...]) -> bool:
    return bool(outcome) and outcome[0] is dp.QueryError


def _short(query: str) -> str:
    return ascii(query[:90])[1:-1]


def test_there_are_as_many_as_it_takes() -> None:
    assert len(set(FORBIDDEN)) == len(FORBIDDEN) >= 80
    assert len(set(CONTAINED)) == len(CONTAINED) >= 80
    assert not set(FORBIDDEN) & set(CONTAINED)


@pytest.mark.parametrize("query", FORBIDDEN, ids=_short)
def test_it_is_refused_before_anything_is_spent_or_read(query: str, sessions: dict[str, Session]) -> None:
    messages: list[str] = []
    for session in (sessions["typed"], sessions["text poison"]):
        spent, asked = session.spent, _engine(session).asked
        with pytest.raises(dp.QueryError) as caught:
            session.sql(query, SPEND)
        assert (session.spent, _engine(session).asked) == (spent, asked)
        assert caught.value.__cause__ is None
        messages.append(str(caught.value))
    assert len(set(messages)) == 1


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("query", CONTAINED, ids=_short)
def test_it_is_refused_or_answered_within_its_sensitivity(query: str, sessions: dict[str, Session]) -> None:
    before = {name: (session.spent, _engine(session).asked) for name, session in sessions.items()}
    outcomes = {name: _outcome(session, query) for name, session in sessions.items()}
    assert len(set(outcomes.values())) == 1, outcomes
    if _is_refusal(outcomes["typed"]):
        assert {name: (s.spent, _engine(s).asked) for name, s in sessions.items()} == before
        return
    assert not isinstance(outcomes["typed"][0], type), outcomes["typed"]
    plan = sessions["typed"].plan(query)
    sums = {name: _engine(session).told[before[name][1] :] for name, session in sessions.items()}
    if not any(sums.values()):  # it says what another says, whose answer is in the ledger
        sums = {
            name: [_engine(session).run(each.bounded, SALT) for each in plan.levels]
            for name, session in sessions.items()
        }
    assert {len(told) for told in sums.values()} == {len(plan.levels)}
    for one, other in NEIGHBOURS:
        assert beyond(plan, sums[one], sums[other]) is None, (one, other)


@pytest.mark.parametrize("dialect", RULES)
def test_what_is_refused_is_refused_in_every_dialect(dialect: str) -> None:
    policy = clinic_policy()
    for query in FORBIDDEN:
        with pytest.raises(dp.QueryError) as caught:
            plan_statement(dp.transpile(query, dialect, policy), policy)
        assert len(str(caught.value)) <= 2_100
        assert caught.value.__cause__ is None


@pytest.mark.parametrize("dialect", RULES)
def test_no_text_does_anything_but_a_refusal_or_a_plan_in_any_dialect(dialect: str) -> None:
    policy, planned = clinic_policy(), 0
    for query in CONTAINED:
        try:
            text = dp.transpile(query, dialect, policy)
            plan = plan_statement(text, policy)
        except dp.QueryError:
            continue
        planned += 1
        assert plan_statement(text, policy).sql == plan.sql
    assert planned > 20


@pytest.mark.parametrize("query", ["SELECT COUNT(*) FROM patients", "SELECT name FROM patients"])
def test_what_the_watched_engine_counts_is_what_runs(query: str, sessions: dict[str, Session]) -> None:
    session = sessions["typed"]
    asked, spent = _engine(session).asked, session.spent
    outcome = (
        _outcome(session, query + " -- once more") if "name" in query else _outcome(session, f"{query} WHERE 7 = 7")
    )
    assert (_engine(session).asked > asked) == (session.spent != spent) == (not _is_refusal(outcome))
