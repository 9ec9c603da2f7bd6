"""Questions planned once: a plan is the same for all accounts, and planning takes most of a repeat's time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from discreet.combined import Statement, plan_under
from discreet.policy import Policy
from discreet.privacy import Loss, pure
from discreet.query import Plan, PreparedSQL, Release, in_dialect, with_spend
from discreet.release import BaseRelease, Prepared, ReleaseContext
from discreet.server.desk._answer_index import question_of_plan
from discreet.server.desk._ask import Ask, QuotedColumn
from discreet.server.desk._empty_tables import columns_over_empty_tables
from discreet.server.desk._recently_used import RecentlyUsed
from discreet.session import Session

__all__ = ["Drawn", "Planned", "Planner", "Ready"]

_MOST_PLANS = 300


@dataclass(frozen=True)
class Planned:
    """A question that was checked, with what it asks at any spend, and, with a spend, all that is left to charge."""

    ask: Ask
    plan: Plan
    question: str
    prepared: Prepared[Release] | None

    @property
    def price(self) -> Loss | None:
        """What a new answer is charged; None without a spend, and for what is public anyway."""
        return None if self.prepared is None or self.is_public else self.prepared.loss

    @property
    def is_public(self) -> bool:
        """Whether the answer lists what the policy says, and costs nothing."""
        return all(level.bounded.is_public for level in self.plan.all_levels)

    @cached_property
    def columns(self) -> tuple[QuotedColumn, ...]:
        """The columns of the answer, with their half-widths where they are known before the data are."""
        plan, noisy = self.plan, set(self.plan.noisy)
        return tuple(
            QuotedColumn(
                column.name,
                column.type,
                column.name in noisy,
                None if plan.loss is None or column.name not in noisy else plan.error(column.name, self.ask.level),
                column.name in noisy and plan.approximate(column.name),
            )
            for column in plan.schema
        )


class Planner:
    """Plans under one policy, of which the most recently used stay."""

    def __init__(self, session: Session, policy: Policy) -> None:
        self._session, self._policy = session, policy
        self._digest = policy.digest()
        self._plans, self._bares = RecentlyUsed[Planned](_MOST_PLANS), RecentlyUsed[Plan](_MOST_PLANS)
        self._schemas = RecentlyUsed[pa.Schema](_MOST_PLANS)

    def plan(self, ask: Ask) -> Planned:
        """A question's plan. Raises what `Session.prepare` raises, and `ParameterError` for targets out of reach."""
        planned = self._plans.peek(ask) or self._plan(ask)
        return planned if _reads_public(planned.plan) else self._plans.get(ask, lambda: planned)

    def _plan(self, ask: Ask) -> Planned:
        assume = None if ask.rows is None else {"rows": ask.rows}
        spend = ask.spend
        if spend is None:
            bare = plan_under(self._bare(ask), assume)
            if ask.error:
                spend = bare.spend_for(dict(ask.error), ask.level, ask.currency, ask.delta)
            elif all(level.bounded.is_public for level in bare.all_levels):
                spend = pure(1)
            else:
                return Planned(ask, bare, self._question(bare), None)
        prepared = self._prepared(ask, spend)
        plan = plan_under(prepared.plan, assume)  # pyright: ignore[reportAttributeAccessIssue]
        return Planned(replace(ask, spend=spend, error=()), plan, self._question(plan), prepared)

    def _bare(self, ask: Ask) -> Plan:
        """The plan of a query whatever its spend: what takes longest is done once."""

        def make() -> Plan:
            text = in_dialect(ask.query, ask.dialect, self._policy)
            return self._session.plan(text, bias=ask.bias)

        key = (ask.query, ask.dialect, ask.bias)
        bare = self._bares.peek(key) or make()
        return bare if _reads_public(bare) else self._bares.get(key, lambda: bare)

    def _prepared(self, ask: Ask, spend: Loss) -> Prepared[Release]:
        """What `Session.prepare` makes of a query and a spend, from the plan without one where that is the same."""
        if not ask.bias and "pivot" not in ask.query.casefold():
            bare = self._bare(ask)
            if type(bare) is Plan:
                plan = with_spend(bare, spend)
                assert plan.loss is not None
                return PreparedSQL(plan, plan.loss, plan.hash(self._policy))
        text = in_dialect(ask.query, ask.dialect, self._policy)
        return self._session.prepare(Statement(text, spend, ask.bias))

    def columns_alone(self, ask: Ask) -> pa.Schema:
        """The columns of a query that need not be one that is answered. Raises `QueryError`."""
        key = (ask.query, ask.dialect)
        text = in_dialect(ask.query, ask.dialect, self._policy)
        return self._schemas.get(key, lambda: columns_over_empty_tables(str(text), self._policy))

    def _question(self, plan: Plan) -> str:
        return question_of_plan(plan, self._digest, self._policy.version)


def _reads_public(plan: Plan) -> bool:
    """Whether the plan has groups or rows of public tables, which may change: it is made anew each time."""
    read = any(key.public is not None for level in plan.all_levels for key in level.bounded.keys)
    return read or bool(getattr(plan, "tables", ()))


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a session stores: the bytes, and the release itself if it was drawn now."""

    payload: bytes
    release: BaseRelease | None

    def to_bytes(self) -> bytes:
        return self.payload


@dataclass(frozen=True, slots=True)
class Ready:
    """A prepared question as a question of its own: stored bytes are served as they are, unread."""

    prepared: Prepared[Any]

    def prepare(self, terms: object) -> Ready:  # noqa: ARG002 - as a question is prepared
        return self

    @property
    def loss(self) -> Loss:
        return self.prepared.loss

    @property
    def hash(self) -> str:
        return self.prepared.hash

    @property
    def fresh(self) -> bool:
        return self.prepared.fresh

    @property
    def counts(self) -> str:
        return self.prepared.counts

    def answer(self, context: ReleaseContext) -> Drawn:
        release = self.prepared.answer(context)
        return Drawn(release.to_bytes(), release)

    def read(self, payload: bytes) -> Drawn:
        return Drawn(payload, None)
