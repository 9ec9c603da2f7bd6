"""Pass: ordinals and aliases become the expressions they stand for."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.parse._trees import put, size_of, transformed
from discreet.query.passes._grouping_sets import grouping_items

__all__ = ["expand_references"]

_MOST_PARTS = 5_000
_MOST_DIGITS = 10


def expand_references(select: exp.Select) -> exp.Select:
    """Expand ``GROUP BY 1``, ``ORDER BY n``, ``GROUP BY ALL``, ``ORDER BY ALL`` and aliases in HAVING.

    >>> query = "SELECT city AS c, COUNT(*) AS n FROM t GROUP BY 1 HAVING n > 5 ORDER BY n"
    >>> expand_references(exp.maybe_parse(query, into=exp.Select)).sql()
    'SELECT city AS c, COUNT(*) AS n FROM t GROUP BY city HAVING COUNT(*) > 5 ORDER BY COUNT(*)'
    """
    select = select.copy()
    items = [e.this if isinstance(e, exp.Alias) else e for e in select.expressions]
    aliases: dict[str, exp.Expr] = {}
    for item, projection in zip(items, select.expressions, strict=True):
        if projection.alias and projection.alias.casefold() in aliases:
            raise QueryError(f"two columns of the result are called {projection.alias}")
        if projection.alias:
            aliases[projection.alias.casefold()] = item
    group, having, order = (select.args.get(key) for key in ("group", "having", "order"))
    if group is not None and group.args.get("all"):
        keys = [item.copy() for item in items if item.find(exp.Column) and not item.find(exp.AggFunc)]
        group = exp.Group(expressions=keys) if keys else None
        select.set("group", group)
    written = _Written()
    if group is not None:
        for node in grouping_items(group):
            put(node, _expand(node, items, aliases, written))
    if order is not None:
        order.set("expressions", [each for ordered in order.expressions for each in _all(ordered, items, written)])
        for ordered in order.expressions:
            ordered.set("this", _expand(ordered.this, items, aliases, written))
    if having is not None:
        having.set("this", _expand_aliases(having.this, aliases, written))
    return select


@dataclass(slots=True)
class _Written:
    """How many parts have been written in place of references."""

    parts: int = 0

    def copy(self, tree: exp.Expr) -> exp.Expr:
        """A copy of what a reference stands for. Raises `QueryError` for more parts than a query may have."""
        self.parts += size_of(tree, _MOST_PARTS)
        if self.parts > _MOST_PARTS:
            raise QueryError(
                f"the query is too large: what its ordinals and aliases stand for adds up to more than "
                f"{_MOST_PARTS:,} parts"
            )
        return tree.copy()


def _all(ordered: exp.Expr, items: list[exp.Expr], written: _Written) -> list[exp.Expr]:
    if not isinstance(ordered.this, exp.Var) or ordered.this.name.upper() != "ALL":
        return [ordered]
    every: list[exp.Expr] = []
    for item in items:
        each = ordered.copy()
        each.set("this", written.copy(item))
        every.append(each)
    return every


def _expand(node: exp.Expr, items: list[exp.Expr], aliases: dict[str, exp.Expr], written: _Written) -> exp.Expr:
    if isinstance(node, exp.Literal) and not node.is_string:
        digits = len(node.name) < _MOST_DIGITS and node.name.isdecimal() and node.name.isascii()
        position = int(node.name) if digits and node.name[0] != "0" else 0
        if not 0 < position <= len(items):
            raise QueryError(f"{node.sql()} is not a column of the result; it has {len(items)}")
        return written.copy(items[position - 1])
    return _expand_aliases(node, aliases, written)


def _expand_aliases(tree: exp.Expr, aliases: dict[str, exp.Expr], written: _Written) -> exp.Expr:
    def swap(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and not node.this.args.get("quoted"):
            return written.copy(aliases[node.name.casefold()]) if node.name.casefold() in aliases else node
        return node

    return transformed(tree.copy(), swap)
