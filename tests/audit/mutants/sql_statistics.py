"""Mistakes in statistics beside counts and sums: squares, distinct values, quantiles, and rows that others tie on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from discreet.audit.sql._query import query
from discreet.engines.sql import _bounding as bounding
from discreet.engines.sql import _expressions as expressions
from discreet.engines.sql import _rendering as rendering
from discreet.privacy import pure
from discreet.query import BoundedAggregate, Distinct, Product
from discreet.query import _planner as planner
from discreet.query.budget import _calibrate as calibrating
from discreet.query.budget._modes import ModeNoise
from discreet.query.budget._quantiles import QuantileNoise
from discreet.sensitivity import Norms
from mutants._databases import sql_mutant
from mutants._mutant import Mutant, patched

__all__ = ["MUTANTS"]

_norms, _cells = planner.measure_norms, bounding._Query._with_cells
_contribution = expressions.Expressions.contribution
_joined, _owners, _total = (getattr(rendering._Rendering, name) for name in ("_joined", "_owners", "_total"))
_TABLES: dict[str, dict[str, Any]] = {
    "people": {"unit": "u", "max_rows": 1, "columns": {"age": {"type": "int", "bounds": [0, 100]}}},
    "t": {"unit": "u", "max_rows": 2, "columns": {"o": {"type": "int"}, "x": {"type": "int", "bounds": [0, 10]}}},
    "items": {"unit": "o -> t.o", "max_rows": 2, "columns": {"z": {"type": "int", "bounds": [0, 10]}}},
}
_COLUMNS = {"people": ("u", "age"), "t": ("u", "o", "x"), "items": ("o", "z")}
_CROWD = [{"u": 100 + i, "x": 5, "z": 5} for i in range(6)]

_EVEN = [{"u": 100 + i, "z": 7 if i % 2 else -7} for i in range(60)]
"""Squares in the middle of what they can be, and a mean of 0: the noise of a variance is that of the squares."""


def _norms_of(kind: type, change: Callable[[Any, BoundedAggregate, Any], Norms]) -> tuple[Any, str, Any]:
    """How far a unit moves one kind of measure is worked out otherwise."""

    def norms(measure: Any, bounded: BoundedAggregate, relation: Any) -> Norms:
        return (change if isinstance(measure, kind) else _norms)(measure, bounded, relation)

    return planner, "measure_norms", norms


def _as_values(measure: Any, bounded: BoundedAggregate, relation: Any) -> Norms:
    """The squares as if they were the values."""
    return _norms(measure.left, bounded, relation)


def _one_row(measure: Any, bounded: BoundedAggregate, relation: Any) -> Norms:
    return _norms(measure, replace(bounded, max_rows=1), relation)


class _OneRow(ModeNoise):
    """A person is one row, whatever the cap says."""

    @classmethod
    def calibrate(cls, spend: Any, values: int, moves: int) -> ModeNoise:
        return ModeNoise.calibrate(spend, values, 1)


class _OneMove(QuantileNoise):
    """A person is one row, whatever the cap says."""

    @classmethod
    def calibrate(cls, spend: Any, histogram: Any, moves: int) -> QuantileNoise:
        return QuantileNoise.calibrate(spend, histogram, 1)


def _unowned(self: Any, join: Any) -> Any:
    """A join of everybody's rows with everybody's."""
    rows = _joined(self, join)
    sql, changed = re.subn(r" ON u\d+ = u\d+(?!.* ON u)", " ON TRUE", rows.sql, flags=re.DOTALL)
    assert changed == 1
    return replace(rows, sql=sql)


def _first_owner(self: Any, table: str, key: str) -> Any:
    """What several people have in common belongs to the first of them."""
    sql, way, owner = _owners(self, table, key)
    assert sql.startswith(f"SELECT DISTINCT {way}, {owner} ")
    sql = sql.replace(f"SELECT DISTINCT {way}, {owner} ", f"SELECT {way}, min({owner}) AS {owner} ", 1)
    return re.sub(rf"\bAND {owner} IS NOT NULL$", f"AND {owner} IS NOT NULL GROUP BY {way}", sql), way, owner


def _unclamped(self: Any, total: Any, value: str) -> str:
    whole = replace(total, lower=-(2**40), upper=2**40)
    return _total(self, whole, value)


def _database(rows: dict[str, Sequence[tuple[Any, ...]]]) -> dict[str, pa.Table]:
    return {
        name: pa.table({column: pa.array([row[i] for row in rows.get(name, [])], pa.int64()) for i, column in columns})
        for name, columns in ((name, list(enumerate(names))) for name, names in _COLUMNS.items())
    }


def _tables_mutant(
    name: str,
    why: str,
    *changes: tuple[Any, str, Any],
    text: str,
    pair: tuple[dict[str, Sequence[tuple[Any, ...]]], dict[str, Sequence[tuple[Any, ...]]]],
    true_epsilon: float,
    samples: int = 8_000,
) -> Mutant:
    """A mutant that is asked `text` of people, their orders and the items of these."""
    policy = {"version": "1", "tables": _TABLES}
    return Mutant(
        name,
        why,
        patched(*changes),
        lambda: query(text, policy, pure(1), complete=0, copies=250),
        tuple(_database(rows) for rows in pair),
        pure(1),
        true_epsilon,
        samples=samples,
    )


_FOUR = [(100 + i, 40) for i in range(3)]
_SHARED = [(10 + i, i, 5) for i in range(8)]
"""Eight people with an order each, whose number another has too."""

MUTANTS = (
    sql_mutant(
        "SQL: squares with the noise of values",
        "The sum of squares of a variance has noise for how far the sum of the values moves.",
        _norms_of(Product, _as_values),
        text="SELECT VAR_POP(10 * z) AS v FROM t",
        pair=([*_EVEN, {"z": 10}], _EVEN),
        true_epsilon=1 + (5000 / 100 - 1) * 171 / 1025,  # with that little noise, squares have the least share
    ),
    sql_mutant(
        "SQL: distinct values charged as one",
        "COUNT(DISTINCT x) has noise for one value, where a person may hold as many as rows.",
        _norms_of(Distinct, _one_row),
        text="SELECT COUNT(DISTINCT x) AS n FROM t",
        pair=([*_CROWD, *[{"x": x} for x in (1, 2, 3)]], _CROWD),
        true_epsilon=3,
        unit="u",
        max_rows=3,
        samples=8_000,
    ),
    sql_mutant(
        "SQL: a quantile that takes a person for a row",
        "A person's six rows move the ranks by six, and the noise is for one.",
        (calibrating, "QuantileNoise", _OneMove),
        text="SELECT MEDIAN(x) AS m FROM t",
        pair=([{"x": 10}] * 6, []),
        true_epsilon=6,
        unit="u",
        max_rows=6,
    ),
    sql_mutant(
        "SQL: a mode that takes a person for a row",
        "A person's six rows add six to the count of a value, and the noise is for one.",
        (calibrating, "ModeNoise", _OneRow),
        text="SELECT MODE(x > 5) AS m FROM t",
        pair=([{"x": 10}] * 6, []),
        true_epsilon=6,
        unit="u",
        max_rows=6,
    ),
    sql_mutant(
        "SQL: cells of all rows",
        "The rows of a quantile are counted before the cap on a person's rows.",
        (bounding._Query, "_with_cells", lambda self, final, _: _cells(self, final, "rows")),
        text="SELECT MEDIAN(x) AS m FROM t",
        pair=([{"x": 10}] * 12, []),
        true_epsilon=12 / 2,
        unit="u",
        max_rows=2,
        slow=True,
    ),
    sql_mutant(
        "SQL: UNION ALL with the noise of one side",
        "Each side brings two rows of a person, and the noise is for two rows, the most that either has.",
        (planner, "measure_norms", lambda m, bounded, *rest: _norms(m, replace(bounded, max_rows=2), *rest)),
        text="SELECT COUNT(*) AS n FROM (SELECT x FROM t UNION ALL SELECT z FROM t) AS b",
        pair=([*_CROWD, {}, {}], _CROWD),
        true_epsilon=4 / 2,
        unit="u",
        max_rows=2,
        samples=16_000,
    ),
    _tables_mutant(
        "SQL: LEFT JOIN without the owner",
        "Rows are tied by a condition that holds for everybody's: one person's orders stand beside all people.",
        (rendering._Rendering, "_joined", _unowned),
        text="SELECT COUNT(t.x) AS n FROM people AS p LEFT JOIN t ON t.u = p.u",
        pair=({"people": [*_FOUR, (1, 40)], "t": [(1, 1, 5), (1, 2, 5)]}, {"people": _FOUR}),
        true_epsilon=4 * 2 / 2,
    ),
    _tables_mutant(
        "SQL: an item of the first of its owners",
        "What several people have in common is one person's, and when that one leaves it is another's.",
        (rendering._Rendering, "_owners", _first_owner),
        text="SELECT COUNT(*) AS n FROM items",
        pair=(
            {"t": [*_SHARED, *[(1, i, 5) for i in range(8)]], "items": [(i, 5) for i in range(8)]},
            {"t": _SHARED, "items": [(i, 5) for i in range(8)]},
        ),
        true_epsilon=(8 - 2) / 2,
    ),
    _tables_mutant(
        "SQL: a person's total without a clamp",
        "The rows of a person are added up without an end, as the outer sum takes the total for one within bounds.",
        (rendering._Rendering, "_total", _unclamped),
        (expressions.Expressions, "contribution", lambda self, measure: _contribution(self, _wide(measure))),
        text="SELECT SUM(v) AS s FROM (SELECT u, SUM(x) AS v FROM t GROUP BY u) AS p",
        pair=({"t": [(2, 0, 5), *[(1, i, 10) for i in range(8)]]}, {"t": [(2, 0, 5)]}),
        true_epsilon=80 / 20,
    ),
)


def _wide(measure: Any) -> Any:
    return replace(measure, lower=-(2**30), upper=2**30)
