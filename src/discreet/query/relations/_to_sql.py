"""Relations as SQL: the canonical text of what FROM means."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from sqlglot import exp

from discreet.query.relations._nodes import (
    Computed,
    Filtered,
    Grouped,
    Joined,
    Own,
    Relation,
    Scan,
    SemiJoined,
    Stacked,
    Total,
)

__all__ = ["with_source"]


def with_source(select: exp.Select, relation: Relation, used: AbstractSet[str]) -> exp.Select:
    """The SELECT with a FROM that reads the relation; `used` are the columns that anything names.

    >>> scan = Scan("visits", {"x": "x", "y": "y"})
    >>> with_source(exp.select('"x"'), scan, {"x"}).sql()
    'SELECT "x" FROM "visits"'
    """
    written = select.copy()
    if isinstance(relation, Filtered) and not select.args.get("where"):
        written.set("where", exp.Where(this=relation.condition.copy()))
        relation = relation.input
    first, joins = _from(relation, used)
    written.set("from_", exp.From(this=first))
    written.set("joins", joins or None)
    return written


def _from(relation: Relation, used: AbstractSet[str]) -> tuple[exp.Expr, list[exp.Join]]:
    if isinstance(relation, Joined):
        first, joins = _from(relation.left, used)
        side = "LEFT" if relation.outer else None
        joined = exp.Join(this=_operand(relation.right, used), on=relation.written.copy(), side=side)
        return first, [*joins, joined]
    if isinstance(relation, SemiJoined):
        first, joins = _from(relation.left, used)
        kind = "ANTI" if relation.missing else "SEMI"
        return first, [*joins, exp.Join(this=_operand(relation.right, used), on=relation.written.copy(), kind=kind)]
    return _operand(relation, used), []


def _operand(relation: Relation, used: AbstractSet[str]) -> exp.Expr:
    if isinstance(relation, Scan):
        table = exp.Table(this=exp.to_identifier(relation.table, quoted=True))
        renamed = {name: column for name, column in relation.columns.items() if name in used}
        if all(name == column for name, column in renamed.items()):
            return table
        items = [_named(exp.column(exp.to_identifier(column, quoted=True)), name) for name, column in renamed.items()]
        return exp.Subquery(this=exp.Select(expressions=items, from_=exp.From(this=table)))
    return exp.Subquery(this=_block(relation, used))


def _block(relation: Relation, used: AbstractSet[str]) -> exp.Query:
    match relation:
        case Stacked():
            parts = [
                with_source(exp.Select(expressions=[_named(node, name) for name, node in columns.items()]), part, used)
                for part, columns in relation.parts
            ]
            return exp.union(*parts, distinct=False)
        case Computed():
            added = [_named(node, name) for name, (node, _) in relation.columns.items()]
            return with_source(exp.Select(expressions=[exp.Star(), *added]), relation.input, used)
        case Grouped():
            items = [_named(node, name) for name, (node, _) in relation.keys.items()]
            items += [_named(_total(total), name) for name, total in relation.totals.items()]
            keys = [node.copy() for node, _ in relation.keys.values()]
            if relation.person is not None and relation.owner is not None:
                keys.insert(0, exp.column(exp.to_identifier(relation.person, quoted=True)))
                items.append(_named(keys[0], relation.owner))
            items = list({item.alias: item for item in items}.values())
            select = exp.Select(expressions=items, group=exp.Group(expressions=keys) if keys else None)
            return with_source(select, relation.input, used)
        case _:
            return with_source(exp.Select(expressions=[exp.Star()]), relation, used)


def _named(node: exp.Expr, name: str) -> exp.Expr:
    return exp.alias_(node.copy(), exp.to_identifier(name, quoted=True))


def _total(total: Total | Own) -> exp.Expr:
    if isinstance(total, Own):
        return exp.column(exp.to_identifier(total.column, quoted=True))
    argument = exp.Star() if total.argument is None else total.argument.copy()
    match total.kind:
        case "COUNT":
            return exp.Count(this=argument)
        case "COUNT DISTINCT":
            return exp.Count(this=exp.Distinct(expressions=[argument]))
        case "SUM":
            return exp.Sum(this=argument)
        case "AVG":
            return exp.Avg(this=argument)
        case "MIN":
            return exp.Min(this=argument)
        case "MAX":
            return exp.Max(this=argument)
