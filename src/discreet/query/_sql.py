"""A plan of SQL with a spend, answered level by level, with a certificate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from discreet import noise
from discreet.errors import ParameterError
from discreet.policy import Policy
from discreet.privacy import Loss, to_json
from discreet.query._certificate_levels import level_to_json
from discreet.query._checked_query import bias_to_json
from discreet.query._plan import Plan, with_chosen_cap
from discreet.query._public_keys import public_keys_to_json
from discreet.query._release import Release
from discreet.query._verify import recompute_query_loss, verify_query_loss
from discreet.query.budget._noise import Level, draw
from discreet.query.measures._bounded import Group
from discreet.query.results._answer import QUANTILE, Answer
from discreet.query.results._serialize import answer_to_stored, bars_digest, release_digests, values_digest
from discreet.release import ReleaseContext, ReleaseKind, register

__all__ = ["PreparedSQL", "certificate_of", "draw_levels", "noisy_groups"]


@dataclass(frozen=True, slots=True)
class PreparedSQL:
    """A plan with a spend."""

    plan: Plan
    loss: Loss
    hash: str
    fresh: bool = False
    counts: Literal["people"] = "people"

    def answer(self, context: ReleaseContext) -> Release:
        """The answer from noisy groups of each level and each estimate of bias; see `discreet.release.Prepared`."""
        plan, groups = draw_levels(self.plan, context)
        answer, biases = plan.finish(groups[: len(plan.levels)]), groups[len(plan.levels) :]
        statement = certificate_of(plan, self.hash, context.policy, answer, biases)
        return Release(answer, self.loss, context.certify(statement))

    def read(self, payload: bytes) -> Release:
        """Restore a stored release. Raises `LedgerError` if the bytes are none."""
        return Release.from_bytes(payload)


def draw_levels(plan: Plan, context: ReleaseContext) -> tuple[Plan, list[list[Group]]]:
    """The plan under the cap that it chooses, if it does, and the noisy groups of its levels and estimates of bias."""
    if plan.cap is not None:
        (people,) = noisy_groups([plan.cap.level], context)
        charged, plan = plan.loss, with_chosen_cap(plan, plan.cap.choose(people, plan.levels))
        if plan.loss != charged:
            raise ParameterError("under the cap that was chosen the query costs something else than was charged")
    return plan, noisy_groups([*plan.levels, *(level for each in plan.bias for level in each.plan.levels)], context)


def noisy_groups(levels: Sequence[Level], context: ReleaseContext) -> list[list[Group]]:
    """The groups of each level after its noise, a step of progress each."""
    salt, noisy = noise.secret(16), list[list[Group]]()
    for level in levels:
        context.step(len(noisy), len(levels))
        assert level.noise is not None
        exact = [] if level.bounded.is_public else context.aggregate(level.bounded, salt)
        noisy.append(draw(exact, level.bounded, level.noise))
    return noisy


def certificate_of(
    plan: Plan, plan_hash: str, policy: Policy, answer: Answer, biases: Sequence[Sequence[Group]] = ()
) -> dict[str, Any]:
    """What a plan with a spend runs, in plain JSON without floats: all that its loss follows from, and its answer.

    `answer` and `biases`, the noisy groups of the plans of its bias, are what was released; all else is known before.
    Costs nothing beside them: `answer` and `error_bars` are SHA-256 of what anybody sees who has the release.
    """
    assert plan.loss is not None
    return {
        "kind": "query",
        "query": plan.sql,
        "plan": plan_hash,
        "shape": plan.shape,
        "policy": policy.digest(),
        "version": policy.version,
        "unit": plan.unit.name or "rows",
        "relation": plan.unit.relation,
        "loss": to_json(plan.loss),
        "levels": [level_to_json(level) for level in plan.levels],
        **public_keys_to_json(plan.levels),
        "columns": {name: _read_off(plan, name) for name in plan.noisy},
        "rank_errors": {name: repr(rows) for name in plan.noisy if (rows := plan.rank_error(name)) is not None},
        "bias": [*bias_to_json(plan.bias, biases), *_cut(plan)] or None,
        "bias_levels": [level_to_json(level) for each in plan.bias for level in each.plan.levels],
        **({} if plan.cap is None else {"cap": plan.cap.to_json()}),
        "answer": values_digest(answer.table),
        "error_bars": bars_digest(*answer_to_stored(answer)),
    }


def _cut(plan: Plan) -> list[dict[str, Any]]:
    """What a chosen cap cuts off, as an estimate of bias is stated."""
    if plan.cap is None:
        return []
    return [
        {"columns": list(plan.noisy), "what": what, "estimate": repr(value), "error": repr(half), "at_least": at_least}
        for what, value, half, at_least in plan.cap.cut()
    ]


def _read_off(plan: Plan, column: str) -> dict[str, Any]:
    """The measures of each level that a column of the result is computed from, and whether a quantile is among it."""
    positions = plan.measures_of(column)
    return {"measures": [i for i in positions if i != QUANTILE], "quantile": QUANTILE in positions}


QUERY = register(ReleaseKind("query", Release.from_bytes, release_digests, recompute_query_loss, verify_query_loss))
