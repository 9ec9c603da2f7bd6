"""What a release says of how it was made."""

from __future__ import annotations

from typing import Any

from discreet.policy import Policy
from discreet.privacy import to_json
from discreet.query._noise import noise_to_json
from discreet.query._plan import Plan
from discreet.query._quantile_noise import quantile_to_json
from discreet.query._top_keys import top_keys_to_json

__all__ = ["certificate_of"]


def certificate_of(plan: Plan, plan_hash: str, policy: Policy) -> dict[str, Any]:
    """What a plan with a spend runs, in plain JSON: the noise and cost of each part, the unit, the policy."""
    assert plan.loss is not None
    noises = [level.noise for level in plan.levels if level.noise is not None]
    selections = [str(noise.selection) for noise in noises if noise.selection is not None]
    chosen = [noise.top_keys for noise in noises if noise.top_keys is not None]
    return {
        "query": plan.sql,
        "plan": plan_hash,
        "shape": plan.shape,
        "policy": policy.digest(),
        "version": policy.version,
        "unit": plan.unit.name or "rows",
        "relation": plan.unit.relation,
        "loss": to_json(plan.loss),
        "levels": [[key.name for key in level.bounded.keys] for level in plan.levels],
        "mechanisms": [noise_to_json(mechanism) for noise in noises for mechanism in noise.mechanisms],
        "quantiles": [quantile_to_json(each) for noise in noises for each in noise.quantiles],
        "rank_errors": {name: rows for name in plan.noisy if (rows := plan.rank_error(name)) is not None},
        "key_discovery": "; ".join(selections) or None,
        "top_keys": top_keys_to_json(*chosen) if chosen else None,
    }
