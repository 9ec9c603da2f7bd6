"""A plan with its noise for a spend."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.query.budget._calibrate import calibrate, level_spends
from discreet.query.budget._gradients import column_slopes
from discreet.query.budget._top_k import top_rows

if TYPE_CHECKING:
    from discreet.privacy import Loss
    from discreet.query._plan import Plan

__all__ = ["with_spend"]


def with_spend(plan: Plan, spend: Loss) -> Plan:
    """The same plan for another spend, each of its levels with the noise that its share buys.

    Costs nothing and touches no data. Raises `ParameterError` for a spend that cannot buy the query.
    """
    spends = level_spends(spend, [level.bounded.count_units for level in plan.levels])
    slopes = column_slopes(plan.select, plan.levels, plan.aggregates)
    levels = [
        replace(
            level,
            noise=calibrate(
                share,
                level.bounded,
                level.norms,
                plan.unit,
                here,
                top_rows(plan.select, level.bounded, plan.aggregates) if len(plan.levels) == 1 else None,
            ),
        )
        for level, share, here in zip(plan.levels, spends, slopes, strict=True)
    ]
    return replace(plan, levels=tuple(levels), spend=spend)
