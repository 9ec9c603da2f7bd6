"""Mistakes in the engine's half of a query: which rows of a person count, and how much each adds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from discreet.engines.duckdb import _dialect as duckdb
from discreet.engines.duckdb import _engine as engine
from discreet.engines.sql import _bounding as bounding
from discreet.engines.sql import _expressions as expressions
from discreet.engines.sql import _rendering as rendering
from discreet.privacy import approx
from mutants._databases import hidden, sql_mutant

__all__ = ["MUTANTS"]

_bounded_sql, _rows_sql, _sum_sql = bounding.bounded_sql, engine.rows_sql, bounding.sum_sql
_clean, _contribution = duckdb._DuckDB.clean, expressions.Expressions.contribution
_together = rendering._Rendering._together
_few, _flagged, _rows = (getattr(bounding._Query, name) for name in ("_few", "_flagged", "rows"))
_content = bounding._Query._content.fget

_SUM, _COUNT = "SELECT SUM(x) AS s FROM t", "SELECT COUNT(*) AS n FROM t"
_COUNTS = "SELECT k, COUNT(*) AS n FROM t GROUP BY k"
_CROWD = [{"u": 100 + i, "x": 5, "k": key} for i, key in enumerate("abcabc")]
_ME = {"u": 1}


def _asked(**changes: object) -> tuple[Any, str, Any]:
    """The engine runs another request than the planner made."""
    return (
        engine,
        "bounded_sql",
        lambda to, request, *rest: _bounded_sql(to, replace(request, **changes), *rest),
    )


def _in_text(real: Callable[..., Any], *changes: tuple[str, str]) -> Callable[..., Any]:
    """What a function returns, a text or a list of texts, with other words in it, each of which must be there."""

    def changed(*args: Any, **kwargs: Any) -> Any:
        found = real(*args, **kwargs)
        texts = [found] if isinstance(found, str) else found
        for old, new in changes:
            assert any(old in text for text in texts), f"{old!r} is no longer in what {real.__name__} makes"
            texts = [text.replace(old, new) for text in texts]
        return texts[0] if isinstance(found, str) else texts

    return changed


def _even(limit: int) -> str:
    """What is less than the limit where a rank is kept."""
    return bounding._even(limit).removesuffix(f" < {limit}")


_BY_PLACE = (
    (engine, "rows_sql", lambda *args: f"SELECT row_number() OVER () AS spot, * FROM ({_rows_sql(*args)})"),
    (bounding._Query, "rows", _in_text(_rows, ("SELECT ", "SELECT spot, "))),
    (bounding._Query, "_content", property(lambda self: ["spot", *_content(self)])),
    (bounding, "_place", lambda content: "row_number() OVER (PARTITION BY u ORDER BY spot % 2, spot) - 1"),
    (bounding._Query, "_flagged", _in_text(_flagged, (_even(1), "place"))),
)

_PAIRED = [{"u": 10 + i, "x": x} for i in range(3) for x in (0, 10)]
"""Three people with two rows each, of which one counts."""

_UNDECIDED = [{"u": 10 + i, "k": k} for i in range(4) for k in "ab"]
"""Four people with a row in each of two groups, of which one counts."""

MUTANTS = (
    sql_mutant(
        "SQL: a sub-query of everybody's rows",
        "EXISTS looks for a greater value among all rows, where the person's own were planned.",
        (
            rendering._Rendering,
            "_together",
            lambda self, join, left, right: _together(self, join, replace(left, owner=None), right),
        ),
        text=f"{_COUNT} WHERE EXISTS (SELECT 1 FROM t AS b WHERE b.u = t.u AND b.x > t.x)",
        pair=([*_CROWD, {**_ME, "x": 9}], _CROWD),
        true_epsilon=6,
        unit="u",
        max_rows=1,
    ),
    sql_mutant(
        "SQL: no cap on a person's rows",
        "All rows of a person count, with noise for two of them.",
        _asked(max_rows=10**6),
        text=_COUNT,
        pair=([*_CROWD, *[_ME] * 6], _CROWD),
        true_epsilon=6 / 2,
        unit="u",
        max_rows=2,
        samples=8_000,
    ),
    sql_mutant(
        "SQL: cap on rows in each group",
        "The cap on a person's rows holds in every group, and not over all of them.",
        (
            bounding._Query,
            "_flagged",
            _in_text(_flagged, ("PARTITION BY u ", "PARTITION BY u, k0 "), (_even(2), "place")),
        ),
        text=_COUNTS,
        pair=([*_CROWD, *[{**_ME, "k": key} for key in "abc"] * 2], _CROWD),
        true_epsilon=(2 + 2 + 2) / 2,
        unit="u",
        max_rows=2,
        samples=16_000,
    ),
    sql_mutant(
        "SQL: no cap on a person's groups",
        "A person may bring three new keys to light, and the delta of discovery is for one.",
        _asked(max_groups=None),
        text="SELECT q FROM t GROUP BY q",
        pair=([{**_ME, "q": key} for key in ("mine", "my own", "mine only")], []),
        spend=approx(1, "0.2"),
        true_epsilon=hidden(1 - 0.8**3, 0.2),
        unit="u",
        max_rows=3,
        max_groups=1,
    ),
    sql_mutant(
        "SQL: no clamp to the bounds",
        "A value beyond the bounds of its column enters the sum as it is.",
        (expressions.Expressions, "contribution", lambda self, measure: _contribution(self, _wide(measure))),
        text=_SUM,
        pair=([*_CROWD, {**_ME, "x": 40}], _CROWD),
        true_epsilon=40 / 10,
        samples=8_000,
    ),
    sql_mutant(
        "SQL: a code for nulls after the clamp",
        "A missing value is written as 40, as surveys code them, behind the place where values are clamped.",
        (
            expressions.Expressions,
            "contribution",
            lambda self, part: f"coalesce({_contribution(self, part)}, 40)",
        ),
        text=_SUM,
        pair=([*_CROWD, {**_ME, "x": None}], _CROWD),
        true_epsilon=40 / 10,
        samples=8_000,
    ),
    sql_mutant(
        "SQL: the sum of nulls is null",
        "SUM over a group that has rows and no values is null in SQL, and the answer cannot be made.",
        (
            bounding,
            "sum_sql",
            lambda *args: _sum_sql(*args).removeprefix("coalesce(").removesuffix(", 0)"),
        ),
        text="SELECT k, SUM(x) AS s FROM t GROUP BY k",
        pair=([{"x": 5}, {"x": None, "k": "c"}], [{"x": 5}]),
        true_epsilon=math.inf,
        samples=1_000,
    ),
    sql_mutant(
        "SQL: a cast that fails on one row",
        "Text that is no number stops the query, where it should be null: an error tells who is there.",
        (duckdb._DuckDB, "clean", _in_text(_clean, ("TRY_CAST(", "CAST("))),
        text=_SUM,
        pair=([{"x": "5"}, {"x": "unknown"}], [{"x": "5"}]),
        stored={"x": pa.string()},
        true_epsilon=math.inf,
        samples=1_000,
    ),
    sql_mutant(
        "SQL: rows chosen by where they stand",
        "Of a person's rows those at even places of the table count: another's row in front changes all of them.",
        *_BY_PLACE,
        text=_SUM,
        pair=([{**_ME, "x": 0}, *_PAIRED], _PAIRED),
        true_epsilon=3 * 10 / 10,
        unit="u",
        max_rows=1,
        samples=8_000,
    ),
    sql_mutant(
        "SQL: groups chosen by their size",
        "Of a person's groups the largest over all people count: another's row can move everybody.",
        (bounding._Query, "_few", lambda *args: _by_size(_few(*args))),
        text=_COUNTS,
        pair=([*_UNDECIDED, {"u": 2, "k": "b"}, _ME], [*_UNDECIDED, {"u": 2, "k": "b"}]),
        true_epsilon=(5 + 4) / 2,
        unit="u",
        max_rows=2,
        max_groups=1,
        samples=8_000,
    ),
)


def _wide(measure: Any) -> Any:
    return replace(measure, lower=-(2**30), upper=2**30)


def _by_size(steps: list[str]) -> list[str]:
    """The largest groups are kept, and not those at a salted start."""
    many, ordered, few = steps
    sizes = "sizes AS MATERIALIZED (SELECT k0 AS key, count(*) AS rows_in FROM rows GROUP BY k0)"
    joined = ordered.replace("ORDER BY k0 NULLS FIRST", "ORDER BY rows_in DESC, k0")
    joined = joined.replace("JOIN many USING (u)", "JOIN many USING (u) JOIN sizes ON parts.k0 = sizes.key")
    largest = few.replace(_even(1), "place")
    assert "rows_in" in joined and "sizes.key" in joined and largest != few
    return [many, sizes, joined, largest]
