"""What a plan says of the first keys that a query asks for: whether they are chosen first, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.query.measures._bounded import public_groups
from discreet.rational import decimal_text

if TYPE_CHECKING:
    from discreet.query._plan import Plan
    from discreet.query.budget._noise import Level

__all__ = ["top_lines"]


def top_lines(plan: Plan, level: Level) -> list[str]:
    """How a query for the first keys is bought, in a line or none."""
    if level.noise is None:
        return []
    if level.noise.ranked is not None:
        return [f"choice of keys: none, noisy counts of all keys are ranked; {level.noise.ranked}"]
    if level.noise.top_keys is None:
        return []
    top, keys = level.noise.top_keys, public_groups(level.bounded.keys)
    by = next(a.sql for a in plan.aggregates if a.kind == "COUNT" and a.count == top.count)
    scale = top.mechanism.sensitivity * (1 if top.mechanism.monotone else 2) / top.mechanism.epsilon
    many = "1 key is" if top.mechanism.k == 1 else f"{top.mechanism.k:,} keys are"
    how = f"top-k with Gumbel noise of scale {decimal_text(scale)}, for half the share of that count"
    why = f"cheaper than noise on all keys, with L1 sensitivity {level.norms[top.count].l1:,}"
    return [f"choice of keys: {many} chosen out of {keys:,} by {by}, {how}; {why}"]
