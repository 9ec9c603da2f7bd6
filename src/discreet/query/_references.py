"""Pass: ordinals and aliases become the expressions they stand for."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query._grouping_sets import grouping_items

__all__ = ["expand_references"]


def expand_references(select: exp.Select) -> exp.Select:
    """Expand ``GROUP BY 1``, ``ORDER BY n``, ``GROUP BY ALL``, ``ORDER BY ALL`` and aliases in HAVING.

    >>> query = "SELECT city AS c, COUNT(*) AS n FROM t GROUP BY 1 HAVING n > 5 ORDER BY n"
    >>> expand_references(exp.maybe_parse(query, into=exp.Select)).sql()
    'SELECT city AS c, COUNT(*) AS n FROM t GROUP BY city HAVING COUNT(*) > 5 ORDER BY COUNT(*)'
    """
    select = select.copy()
    items = [e.this if isinstance(e, exp.Alias) else e for e in select.expressions]
    aliases: dict[str, exp.Expr] = {}
    for item, whole in zip(items, select.expressions, strict=True):
        if whole.alias and whole.alias.casefold() in aliases:
            raise QueryError(f"two columns of the result are called {whole.alias}")
        if whole.alias:
            aliases[whole.alias.casefold()] = item
    group, having, order = (select.args.get(key) for key in ("group", "having", "order"))
    if group is not None and group.args.get("all"):
        keys = [item.copy() for item in items if item.find(exp.Column) and not item.find(exp.AggFunc)]
        group = exp.Group(expressions=keys) if keys else None
        select.set("group", group)
    if group is not None:
        for node in grouping_items(group):
            node.replace(_expand(node, items, aliases).copy())
    if order is not None:
        order.set("expressions", [each for ordered in order.expressions for each in _all(ordered, items)])
        for ordered in order.expressions:
            ordered.set("this", _expand(ordered.this, items, aliases).copy())
    if having is not None:
        having.set("this", _expand_aliases(having.this, aliases))
    return select


def _all(ordered: exp.Expr, items: list[exp.Expr]) -> list[exp.Expr]:
    if not isinstance(ordered.this, exp.Var) or ordered.this.name.upper() != "ALL":
        return [ordered]
    every: list[exp.Expr] = []
    for item in items:
        each = ordered.copy()
        each.set("this", item.copy())
        every.append(each)
    return every


def _expand(node: exp.Expr, items: list[exp.Expr], aliases: dict[str, exp.Expr]) -> exp.Expr:
    if isinstance(node, exp.Literal) and not node.is_string:
        positions = {str(i): item for i, item in enumerate(items, start=1)}
        if node.name not in positions:
            raise QueryError(f"{node.sql()} is not a column of the result; it has {len(items)}")
        return positions[node.name]
    return _expand_aliases(node, aliases)


def _expand_aliases(tree: exp.Expr, aliases: dict[str, exp.Expr]) -> exp.Expr:
    def swap(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and not node.this.args.get("quoted"):
            return aliases[node.name.casefold()].copy() if node.name.casefold() in aliases else node
        return node

    return tree.transform(swap)
