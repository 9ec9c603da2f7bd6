"""What a release says of how it was made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.policy import Policy
from discreet.privacy import to_json
from discreet.query._bias_parts import bias_to_json
from discreet.query._level_parts import level_to_json
from discreet.query._plan import Plan
from discreet.query.measures._bounded import Group
from discreet.query.results._answer import QUANTILE, Answer
from discreet.query.results._serialize import answer_to_stored, bars_digest, values_digest

__all__ = ["certificate_of"]


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
        "columns": {name: _read_off(plan, name) for name in plan.noisy},
        "rank_errors": {name: repr(rows) for name in plan.noisy if (rows := plan.rank_error(name)) is not None},
        "bias": bias_to_json(plan.bias, biases) if plan.bias else None,
        "bias_levels": [level_to_json(level) for each in plan.bias for level in each.plan.levels],
        "answer": values_digest(answer.table),
        "error_bars": bars_digest(*answer_to_stored(answer)),
    }


def _read_off(plan: Plan, column: str) -> dict[str, Any]:
    """The measures of each level that a column of the result is computed from, and whether a quantile is among it."""
    found = plan.measures_of(column)
    return {"measures": [i for i in found if i != QUANTILE], "quantile": QUANTILE in found}
