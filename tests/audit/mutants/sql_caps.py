"""Mistakes in how a query chooses its cap on one person's rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from discreet.mechanisms import DiscreteLaplace
from discreet.query import BoundedAggregate, Group, Noise, Plan
from discreet.query import _sql as front
from discreet.query.budget import _noise as drawing
from discreet.query.caps import _choice as choosing
from mutants._databases import sql_mutant

__all__ = ["MUTANTS"]

_draw, _with_chosen_cap = front.draw, front.with_chosen_cap
_COUNT = "SELECT COUNT(*) AS n FROM t"
_TOO_FEW = int(choosing._HANDICAP * DiscreteLaplace(scale=1 / choosing.SHARE).std / math.sqrt(2))
"""So many people with two rows are cut to one, and one person more is not."""


def _of_people(people: int, rows: int) -> list[dict[str, Any]]:
    return [{"u": 100 + i} for i in range(people) for _ in range(rows)]


def _exact_people(groups: Sequence[Group], bounded: BoundedAggregate, noise: Noise) -> list[Group]:
    if [key.name for key in bounded.keys] == ["rows"]:
        return drawing.complete(groups, bounded)
    return _draw(groups, bounded, noise)


def _noise_of_one_row(plan: Plan, cap: choosing.CapChoice) -> Plan:
    capped = _with_chosen_cap(plan, cap)
    levels = [replace(one, noise=other.noise) for one, other in zip(capped.levels, plan.levels, strict=True)]
    return replace(capped, levels=tuple(levels))


MUTANTS = (
    sql_mutant(
        "SQL: a cap by exact counts",
        "The cap is chosen by how many people there are with more rows, without noise.",
        (front, "draw", _exact_people),
        text=_COUNT,
        pair=([*_of_people(_TOO_FEW, 2), {"x": 1}, {"x": 1}], _of_people(_TOO_FEW, 2)),
        true_epsilon=math.inf,
        unit="u",
        max_rows="auto",
        samples=500,
    ),
    sql_mutant(
        "SQL: noise for a cap of 1",
        "The noise is what it is under a cap of 1, whichever cap is chosen.",
        (front, "with_chosen_cap", _noise_of_one_row),
        text=_COUNT,
        pair=([*_of_people(60, 4), *[{"x": 1}] * 4], _of_people(60, 4)),
        true_epsilon=0.2 + 0.8 * 4,
        unit="u",
        max_rows="auto",
        samples=4_000,
    ),
)
