"""Pass: every table and column gets the name that the policy spells."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import Policy

__all__ = ["resolve_names", "table_name"]


def table_name(select: exp.Select, policy: Policy) -> str:
    """The policy's name of the table that a query reads; raises `QueryError` if the policy has none."""
    return _match(select.args["from_"].this.name, policy.tables, "table")


def resolve_names(select: exp.Select, policy: Policy) -> exp.Select:
    """Resolve names against the policy, without regard to case, and drop table qualifiers.

    A name that is an alias of the SELECT list stays, unquoted: the next pass expands it. Where a column has the same
    name, the alias is meant if it is all there is to an item of ORDER BY. Anything else raises `QueryError`.

    >>> from discreet.policy import load_policy
    >>> policy = load_policy({"version": "1", "tables": {"Visits": {"unit": "rows", "columns": {
    ...     "Cost": {"type": "int", "bounds": [0, 9]}}}}})
    >>> resolve_names(exp.maybe_parse("SELECT SUM(v.cost) AS s FROM visits AS v", into=exp.Select), policy).sql()
    'SELECT SUM("Cost") AS s FROM "Visits"'
    """
    select = select.copy()
    source = select.args["from_"].this
    table = table_name(select, policy)
    qualifiers = {source.alias_or_name.casefold()}
    columns = policy.tables[table].columns
    aliases = {e.alias.casefold() for e in select.expressions if e.alias}
    for column in list(select.find_all(exp.Column)):
        if column.args.get("db") or (column.table and column.table.casefold() not in qualifiers):
            raise QueryError(f"{column.sql()} names a table that the query does not read; it reads {table}")
        if isinstance(column.this, exp.Star):
            continue
        known = {name.casefold(): name for name in columns}.get(column.name.casefold())
        if column.name.casefold() in aliases and not column.table and _may_be_alias(column, known):
            column.replace(exp.column(exp.Identifier(this=column.name, quoted=False)))
            continue
        name = known or _person(column, policy, table) or _match(column.name, columns, "column")
        column.replace(exp.column(exp.to_identifier(name, quoted=True)))
    source.replace(exp.Table(this=exp.to_identifier(table, quoted=True)))
    return select


def _may_be_alias(column: exp.Column, known: str | None) -> bool:
    """Whether a name that is an alias means it: never in the SELECT list and in WHERE, where SQL has none yet."""
    if known is not None:
        return isinstance(column.parent, exp.Ordered)
    node: exp.Expr = column
    while node.parent is not None and not isinstance(node.parent, exp.Select):
        node = node.parent
    return node.arg_key not in ("expressions", "where")


def _person(column: exp.Column, policy: Policy, table: str) -> str | None:
    """The unit's column, which COUNT(DISTINCT …) alone may name without its being among the columns."""
    unit = policy.unit(table).name
    above = column.parent
    while isinstance(above, exp.Paren):
        above = above.parent
    counted = isinstance(above, exp.Distinct) and isinstance(above.parent, exp.Count)
    return unit if unit is not None and counted and column.name.casefold() == unit.casefold() else None


def _match(name: str, known: Iterable[str], what: str) -> str:
    names = list(known)
    folded = {n.casefold(): n for n in names}
    if name.casefold() in folded:
        return folded[name.casefold()]
    close = get_close_matches(name.casefold(), list(folded), n=1)
    hint = f"; did you mean {folded[close[0]]}?" if close else "."
    raise QueryError(f"the policy has no {what} {name}{hint} It has: {', '.join(names) or 'none'}")
