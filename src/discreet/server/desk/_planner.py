"""Questions planned once: a plan is the same for all accounts, and planning takes most of a repeat's time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from discreet.combined import Statement, plan_under
from discreet.policy import Policy
from discreet.privacy import Loss, pure
from discreet.query import Plan, Release, in_dialect
from discreet.release import Prepared
from discreet.server.desk._answer_index import question_of_plan
from discreet.server.desk._ask import Ask, QuotedColumn
from discreet.server.desk._recently_used import RecentlyUsed
from discreet.session import Session

__all__ = ["Planned", "Planner"]

_MOST_PLANS = 1_000


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
        self._plans = RecentlyUsed[Planned](_MOST_PLANS)

    def plan(self, ask: Ask) -> Planned:
        """A question's plan. Raises what `Session.prepare` raises, and `ParameterError` for targets out of reach."""
        return self._plans.get(ask, lambda: self._plan(ask))

    def _plan(self, ask: Ask) -> Planned:
        text = in_dialect(ask.query, ask.dialect, self._policy)
        assume = None if ask.rows is None else {"rows": ask.rows}
        spend, bare = ask.spend, None
        if spend is None:
            bare = self._session.plan(text, None, assume, bias=ask.bias)
            if ask.error:
                spend = bare.spend_for(dict(ask.error), ask.level, ask.currency, ask.delta)
            elif all(level.bounded.is_public for level in bare.all_levels):
                spend = pure(1)
        if spend is None:
            assert bare is not None
            return Planned(ask, bare, self._question(bare), None)
        prepared = self._session.prepare(Statement(text, spend, ask.bias))
        plan = plan_under(prepared.plan, assume)  # pyright: ignore[reportAttributeAccessIssue]
        return Planned(replace(ask, spend=spend, error=()), plan, self._question(plan), prepared)

    def _question(self, plan: Plan) -> str:
        return question_of_plan(plan, self._digest, self._policy.version)
