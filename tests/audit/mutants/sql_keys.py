"""Mistakes in the groups of a query: which keys are shown, and in what order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from discreet.engines.duckdb import _engine as engine
from discreet.engines.sql import _bounding as bounding
from discreet.mechanisms import DiscreteLaplace, PartitionSelection, ThresholdedCounts
from discreet.privacy import approx
from discreet.query import BoundedAggregate, Group, TopKeys
from discreet.query import _sql as front
from discreet.query.budget import _calibrate as calibrating
from discreet.query.budget import _noise as drawing
from mutants._databases import hidden, kept, of_bits, sql_mutant
from mutants._laws import epsilon_between

__all__ = ["MUTANTS"]

_bounded_sql, _term = bounding.bounded_sql, bounding._Query._term
_complete, _draw, _calibrate = drawing.complete, front.draw, PartitionSelection.calibrate
_least = ThresholdedCounts.least

_COUNTS, _KEYS = "SELECT k, COUNT(*) AS n FROM t GROUP BY k", "SELECT q FROM t GROUP BY q"
_MINE = [{"q": key} for key in ("mine", "my own", "mine only")]
_AB = [{"k": "a"}, {"k": "b"}]
_DELTA, _SMALL = 0.2, 0.05


def _present(groups: Iterable[Group], request: BoundedAggregate) -> list[Group]:
    """Only the public keys that some row has."""
    found = {group.key for group in groups}
    return [group for group in _complete(groups, request) if group.key in found]


def _rest_as_zeros(groups: list[Group], bounded: BoundedAggregate, noise: Any) -> list[Group]:
    return _complete(_draw(groups, bounded, noise), bounded)


def _complete_and_more(groups: list[Group], request: BoundedAggregate) -> list[Group]:
    whole = _complete(groups, request)
    return whole + sorted((each for each in groups if each.key not in {g.key for g in whole}), key=lambda g: g.key)


def _for_a_quarter_of_the_noise(noise: Any, keys: int, delta: Any) -> ThresholdedCounts:
    return ThresholdedCounts(noise, _least(_quartered(noise), keys, delta).threshold, keys)


def _quartered(noise: DiscreteLaplace) -> DiscreteLaplace:
    return DiscreteLaplace(noise.scale / 4)


def _largest(top: TopKeys, groups: list[Group]) -> list[Group]:
    ranked = sorted(groups, key=lambda group: -group.sums[top.count])
    return ranked[: top.mechanism.k]


def _until_found(groups: list[Group], bounded: BoundedAggregate, noise: Any) -> list[Group]:
    found = _draw(groups, bounded, noise)
    while groups and not found:
        found = _draw(groups, bounded, noise)
    return found


def _by_rows(self: Any, sums: list[str], source: str, sign: str = "") -> str:
    """How many units a group holds is read off its rows."""
    return _term(self, ["sum(size)", *sums[1:]], source, sign)


def _unsplit_epsilon() -> float:
    """Three keys, each with ε of its own; δ is split. One unit more in each."""
    delta = 1 - (1 - _SMALL) ** (1 / 3)
    return epsilon_between(*(of_bits([kept(units, 1, delta)] * 3) for units in (4, 3)), _SMALL)


def _quartered_epsilon() -> float:
    """A substituted unit leaves one key and enters another, each with ε 1 and all of δ."""
    few, many = kept(2, 1, _SMALL), kept(3, 1, _SMALL)
    return epsilon_between(of_bits([many, few]), of_bits([few, many]), _SMALL)


MUTANTS = (
    sql_mutant(
        "SQL: absent public keys left out",
        "A public key that no row has is not in the answer: the last row of a key takes it along.",
        (drawing, "complete", _present),
        text=_COUNTS,
        pair=([*_AB, {"k": "c"}], _AB),
        true_epsilon=math.inf,
        samples=1_000,
        copies=1,
    ),
    sql_mutant(
        "SQL: absent public keys without noise",
        "A public key that no row has is counted as 0, and nothing is added to that.",
        (drawing, "complete", _present),
        (front, "draw", _rest_as_zeros),
        text=_COUNTS,
        pair=([*_AB, {"k": "c"}], _AB),
        true_epsilon=math.inf,
        copies=1,
    ),
    sql_mutant(
        "SQL: keys that are not listed",
        "The answer has a row for every key of the data, also for those that the policy does not list.",
        (
            engine,
            "bounded_sql",
            lambda dialect, request, *rest: _bounded_sql(
                dialect, replace(request, keys=tuple(replace(key, values=None) for key in request.keys)), *rest
            ),
        ),
        (drawing, "complete", _complete_and_more),
        text=_COUNTS,
        pair=([*_AB, {"k": "z"}], _AB),
        true_epsilon=math.inf,
        samples=1_000,
        copies=1,
    ),
    sql_mutant(
        "SQL: small groups suppressed by their exact count",
        "Groups of fewer than two rows are left out, by the count before noise.",
        (drawing, "complete", lambda groups, request: [g for g in _complete(groups, request) if g.sums[0] >= 2]),
        text=_COUNTS,
        pair=([*_AB, *_AB, {"k": "c"}, {"k": "c"}], [*_AB, *_AB, {"k": "c"}]),
        true_epsilon=math.inf,
        samples=1_000,
        copies=1,
    ),
    sql_mutant(
        "SQL: rows in the order of the data",
        "The largest group comes first, by the count before noise.",
        (drawing, "complete", lambda groups, request: sorted(_complete(groups, request), key=lambda g: -g.sums[0])),
        text=_COUNTS,
        pair=([*_AB, {"k": "b"}], _AB),
        true_epsilon=math.inf,
        samples=1_000,
        copies=1,
    ),
    sql_mutant(
        "SQL: private keys shown as found",
        "Every key of the data is shown, with noise on its count: a key of one person names that person.",
        (front, "draw", lambda groups, bounded, noise: _draw(groups, bounded, replace(noise, selection=None))),
        text="SELECT q, COUNT(*) AS n FROM t GROUP BY q",
        pair=(_MINE[:1], []),
        spend=approx(1, "0.05"),
        true_epsilon=math.inf,
        samples=1_000,
    ),
    sql_mutant(
        "SQL: threshold for another noise",
        "A key is shown from the threshold on that a quarter of the noise of its count would have.",
        (ThresholdedCounts, "least", staticmethod(_for_a_quarter_of_the_noise)),
        text="SELECT q, COUNT(*) AS n FROM t GROUP BY q",
        pair=(_MINE[:1], []),
        spend=approx(1, "0.05"),
        true_epsilon=math.inf,
        samples=4_000,
    ),
    sql_mutant(
        "SQL: discovery of nothing is drawn again",
        "Where no key is shown the draw is repeated until one is.",
        (front, "draw", _until_found),
        text=_KEYS,
        pair=(_MINE[:1], []),
        spend=approx(1, "0.05"),
        true_epsilon=math.inf,
        samples=1_000,
        copies=1,
    ),
    sql_mutant(
        "SQL: keys discovered by rows",
        "A key is shown by how many rows have it, and not by how many people: three rows of one person do.",
        (bounding._Query, "_term", _by_rows),
        text=_KEYS,
        pair=([{"q": "mine"}] * 3, []),
        spend=approx(1, "0.3"),
        true_epsilon=hidden(kept(3, 1 / 3, 1 - 0.7 ** (1 / 3)), 0.3),
        unit="u",
        max_rows=3,
    ),
    sql_mutant(
        "SQL: delta of discovery not split",
        "Each of the keys that a person can touch may be shown with the whole delta.",
        (PartitionSelection, "key_delta", property(lambda self: self.delta)),
        text=_KEYS,
        pair=(_MINE, []),
        spend=approx(1, "0.2"),
        true_epsilon=hidden(1 - (1 - _DELTA) ** 3, _DELTA),
        unit="u",
        max_rows=3,
    ),
    sql_mutant(
        "SQL: epsilon of discovery not split",
        "Each of the keys that a person can touch gets the whole epsilon.",
        (PartitionSelection, "key_epsilon", property(lambda self: self.epsilon)),
        text=_KEYS,
        pair=tuple([{"u": i, **row} for i in range(n) for row in _MINE] for n in (4, 3)),
        spend=approx(1, "0.05"),
        true_epsilon=_unsplit_epsilon,
        unit="u",
        max_rows=3,
        samples=20_000,
    ),
    sql_mutant(
        "SQL: discovery forgets that a substitute has two sides",
        "A unit that is replaced leaves a key and enters another, and the noise is for one of them.",
        (
            calibrating,
            "PartitionSelection",
            SimpleNamespace(calibrate=lambda spend, keys: _calibrate(spend, keys=keys // 2)),
        ),
        text=_KEYS,
        pair=tuple([*[{"q": "one"}] * one, *[{"q": "two"}] * two] for one, two in ((3, 2), (2, 3))),
        spend=approx(1, "0.05"),
        relation="substitute",
        true_epsilon=_quartered_epsilon,
        samples=20_000,
    ),
    sql_mutant(
        "SQL: the first key by its exact count",
        "The counts have noise, and which keys they are of is told exactly.",
        (TopKeys, "choose", _largest),
        text="SELECT k, COUNT(DISTINCT u) AS n FROM t GROUP BY k ORDER BY n DESC LIMIT 1",
        pair=tuple([*[{"u": i, "k": "ab"[i % 2]} for i in range(4)], *more] for more in ([{"u": 9, "k": "b"}], [])),
        true_epsilon=math.inf,
        unit="u",
        max_rows=3,
        samples=400,
    ),
)
