"""Mistakes in the noise of a query: what it is scaled to, what it leaves out, what it hangs on."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from discreet.mechanisms import DiscreteLaplace
from discreet.query import BoundedAggregate, Group, Noise
from discreet.query import _plan as pricing
from discreet.query import _planner as planner
from discreet.query import _sql as front
from discreet.query.budget import _noise as drawing
from discreet.sensitivity import Norms, bounded_sum
from mutants._databases import sql_mutant

__all__ = ["MUTANTS"]

_calibrate, _draw, _released = pricing.calibrate, front.draw, DiscreteLaplace._released

_SUM, _AVG = "SELECT SUM(x) AS s FROM t", "SELECT AVG(x) AS a FROM t"
_CROWD = [{"u": 100 + i, "x": 5} for i in range(6)]
_UNIT = 2**27
"""How many steps of the grid of y make 1: 10, its larger bound, has 30 bits and a part of one."""


def _each_with_all(spend: Any, bounded: BoundedAggregate, norms: tuple[Norms, ...], unit: Any, *_: object) -> Noise:
    """Every measure as if it were the only one."""
    alone = [
        _calibrate(spend, replace(bounded, measures=(measure,)), (moves,), unit)
        for measure, moves in zip(bounded.measures, norms, strict=True)
    ]
    return replace(alone[0], mechanisms=tuple(each.mechanisms[0] for each in alone))


def _of(**changes: object) -> tuple[Any, str, Any]:
    """How far a unit moves a measure is worked out for another number of rows, or another relation."""

    def norms(measure: Any, bounded: BoundedAggregate, relation: Any) -> Norms:
        asked = {"rows": bounded.max_rows, "relation": relation, "grouped": bool(bounded.keys)}
        return bounded_sum(measure.lower, measure.upper, **{**asked, **changes})

    return planner, "measure_norms", norms


def _noisy(change: Callable[[DiscreteLaplace, int, int], int]) -> tuple[Any, str, Any]:
    """What `change` makes of (mechanism, exact value, noisy value) is released."""

    def released(self: DiscreteLaplace, values: list[int]) -> list[int]:
        return [change(self, *each) for each in zip(values, _released(self, values), strict=True)]

    return DiscreteLaplace, "_released", released


def _one_draw(self: DiscreteLaplace, values: list[int]) -> list[int]:
    (noise,) = _released(self, [0])
    return [value + noise for value in values]


def _in_digits_of(exact: int, noisy: int) -> int:
    unit = 10 ** (len(str(abs(exact))) - 1)
    return unit * round(noisy / unit)


def _over_exact_count(groups: list[Group], bounded: BoundedAggregate, noise: Noise) -> list[Group]:
    exact = {group.key: group.sums[1] for group in drawing.complete(groups, bounded)}
    return [replace(g, sums=(g.sums[0], exact[g.key])) for g in _draw(groups, bounded, noise)]


MUTANTS = (
    sql_mutant(
        "SQL: AVG spends twice",
        "The sum and the count of an average have noise for the whole epsilon each.",
        (pricing, "calibrate", _each_with_all),
        text=_AVG,
        pair=([*_CROWD, {"x": 10}], _CROWD),
        true_epsilon=1 + 1,
        samples=30_000,
    ),
    sql_mutant(
        "SQL: AVG over the exact count",
        "The sum of an average has noise, and the count that it is divided by has none.",
        (front, "draw", _over_exact_count),
        text=_AVG,
        pair=([*_CROWD, {"x": 10}], _CROWD),
        true_epsilon=math.inf,
        samples=1_000,
    ),
    sql_mutant(
        "SQL: noise for one row of a person",
        "The noise of a sum is scaled to what one row can add, where three rows of a person count.",
        _of(rows=1),
        text=_SUM,
        pair=([*_CROWD, *[{"x": 10}] * 3], _CROWD),
        true_epsilon=3 * 10 / 10,
        unit="u",
        max_rows=3,
        samples=8_000,
    ),
    sql_mutant(
        "SQL: noise for one group of a person",
        "The noise of counts by key is scaled to how far one of them moves, where a person is in three.",
        _of(rows=1),
        text="SELECT k, COUNT(*) AS n FROM t GROUP BY k",
        pair=([*_CROWD, *[{"k": key} for key in "abc"]], _CROWD),
        true_epsilon=1 + 1 + 1,
        unit="u",
        max_rows=3,
        samples=12_000,
    ),
    sql_mutant(
        "SQL: a substitute as one that is added",
        "The policy protects against a change of value, and the noise is for a row that comes or goes.",
        _of(relation="add_remove"),
        text="SELECT SUM(z) AS s FROM t",
        pair=([*_CROWD, {"z": 10}], [*_CROWD, {"z": -10}]),
        relation="substitute",
        true_epsilon=(10 + 10) / 10,
        samples=10_000,
    ),
    sql_mutant(
        "SQL: a substitute moves one group",
        "A row that changes its key leaves one group and enters another, and the noise is for one of them.",
        _of(relation="add_remove"),
        text="SELECT k, COUNT(*) AS n FROM t GROUP BY k",
        pair=([*_CROWD, {"k": "a"}], [*_CROWD, {"k": "b"}]),
        relation="substitute",
        true_epsilon=1 + 1,
        samples=14_000,
        slow=True,
    ),
    sql_mutant(
        "SQL: noise in proportion to the sum",
        "The scale of the noise is the exact sum itself, for a relative error: the scale tells the sum.",
        _noisy(lambda _, exact, __: _released(DiscreteLaplace(max(abs(exact), 1)), [exact])[0]),
        text=_SUM,
        pair=([{"x": 2}, {"x": 10}], [{"x": 2}]),
        true_epsilon=math.inf,
    ),
    sql_mutant(
        "SQL: noise in whole units on a finer sum",
        "The noise is a multiple of 1, and the sum has fractions: they are released as they are.",
        _noisy(lambda _, exact, noisy: exact + _UNIT * round((noisy - exact) / _UNIT)),
        text="SELECT SUM(y) AS s FROM t",
        pair=([{"y": 3.0}, {"y": 0.25}], [{"y": 3.0}]),
        true_epsilon=math.inf,
    ),
    sql_mutant(
        "SQL: rounded to the digits of the exact sum",
        "The noisy sum is rounded to the first digit that the exact one has: the step tells the sum.",
        _noisy(lambda _, exact, noisy: _in_digits_of(exact, noisy)),
        text=_SUM,
        pair=([{"x": 2}, {"x": 10}], [{"x": 2}]),
        true_epsilon=math.inf,
    ),
    sql_mutant(
        "SQL: one draw of noise for all groups",
        "All groups have the same noise: their differences are exact.",
        (DiscreteLaplace, "_released", _one_draw),
        text="SELECT k, COUNT(*) AS n FROM t GROUP BY k",
        pair=([{"k": "a"}, {"k": "b"}, {"k": "c"}], [{"k": "a"}, {"k": "b"}]),
        true_epsilon=math.inf,
        copies=1,
    ),
)
