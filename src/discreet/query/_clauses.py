"""Which clauses a SELECT may have: what no pass reads is refused, never skipped."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from discreet.query._parse import refuse

__all__ = ["check_block", "refuse_clauses"]

_CLAUSES = ("expressions", "from_", "joins", "with_", "where", "group", "having", "distinct")
_LAST = ("order", "limit")
_NAMES = {
    "with_": "WITH",
    "joins": "JOIN",
    "distinct": "DISTINCT",
    "qualify": "QUALIFY",
    "windows": "WINDOW",
    "offset": "OFFSET",
    "laterals": "LATERAL",
    "into": "SELECT INTO",
    "sample": "SAMPLE",
    "pivots": "PIVOT",
    "order": "ORDER BY",
    "limit": "LIMIT",
    "method": "NATURAL, ASOF or POSITIONAL",
}


def refuse_clauses(node: exp.Expr, known: Iterable[str], where: str) -> None:
    """Raise `QueryError` if a node has a part that is not among the known ones."""
    for name, value in node.args.items():
        if value and name not in known:
            raise refuse(f"{_NAMES.get(name, name.rstrip('_').upper())} in {where}", name)


def check_block(select: exp.Select, *, nested: bool) -> None:
    """Raise `QueryError` for a clause that no pass reads; in a sub-query, also for ORDER BY and LIMIT."""
    known = _CLAUSES if nested else (*_CLAUSES, *_LAST)
    refuse_clauses(select, known, "a sub-query" if nested else "a query")
    for name in (*_CLAUSES, *_LAST):
        if name not in ("from_", "joins", "with_"):
            _refuse_queries(select.args.get(name))
    distinct = select.args.get("distinct")
    if distinct is not None and distinct.args.get("on"):
        raise refuse("DISTINCT ON")
    group = select.args.get("group")
    if group is not None:
        known = ("all",) if not group.expressions else ("expressions",)
        if any(value for name, value in group.args.items() if name not in known):
            raise refuse("GROUP BY … WITH ROLLUP or WITH CUBE (GROUP BY ROLLUP (a, b) is)")
        if nested and any(isinstance(item, exp.Rollup | exp.Cube | exp.GroupingSets) for item in group.expressions):
            raise refuse("GROUPING SETS, ROLLUP or CUBE in a sub-query", "ROLLUP")
    if nested and any(select.find(exp.Grouping, exp.GroupingId) for select in select.expressions):
        raise refuse("GROUPING in a sub-query", "GROUPING")


def _refuse_queries(clause: object) -> None:
    for node in clause if isinstance(clause, list) else [clause]:
        if isinstance(node, exp.Expr) and node.find(exp.Query) is not None:
            raise refuse("a sub-query outside FROM", "SUBQUERY")
