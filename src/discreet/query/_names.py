"""Pass: every name becomes what it stands for in the relations that the query reads."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query._scope import Scope
from discreet.query._trees import put

__all__ = ["resolve_names", "resolved"]

_MOST_PARTS = 5_000


def resolve_names(select: exp.Select, scope: Scope) -> exp.Select:
    """The SELECT without FROM, its names replaced by what they stand for in the scope, without regard to case.

    A name that is an alias of the SELECT list stays, unquoted: the next pass expands it. Where a column has the same
    name, the alias is meant if it is all there is to an item of ORDER BY. Anything else raises `QueryError`. An item of
    the SELECT list that is a name keeps it as its alias where it stands for something of another name.

    >>> from discreet.query._scope import Source
    >>> visits = Source("v", "the policy", {"Cost": exp.column(exp.to_identifier("Cost", quoted=True))})
    >>> query = exp.maybe_parse("SELECT SUM(v.cost) AS s FROM visits AS v", into=exp.Select)
    >>> resolve_names(query, Scope((visits,))).sql()
    'SELECT SUM("Cost") AS s'
    """
    body = select.copy()
    for clause in ("from_", "joins", "with_"):
        body.set(clause, None)
    body.set("expressions", [_with_its_name(item, scope) for item in body.expressions])
    _resolve(body, scope, {e.alias.casefold() for e in body.expressions if e.alias})
    body.set("expressions", [each for item in body.expressions for each in _spread(item, scope)])
    return body


def resolved(node: exp.Expr, scope: Scope) -> exp.Expr:
    """An expression with its names replaced by what they stand for."""
    holder = exp.Paren(this=node.copy())
    _resolve(holder, scope, set())
    return holder.this


def _with_its_name(item: exp.Expr, scope: Scope) -> exp.Expr:
    if not isinstance(item, exp.Column) or isinstance(item.this, exp.Star):
        return item
    node = scope.find(item)
    if node is None or (isinstance(node, exp.Column) and node.name.casefold() == item.name.casefold()):
        return item
    return exp.alias_(item.copy(), exp.to_identifier(item.name, quoted=True))


def _spread(item: exp.Expr, scope: Scope) -> list[exp.Expr]:
    """All columns that a star stands for."""
    star = item.this if isinstance(item, exp.Column) else item
    if not isinstance(star, exp.Star):
        return [item]
    if any(star.args.values()):
        raise QueryError(f"{item.sql()}: name the columns that you want instead")
    return [exp.alias_(node.copy(), exp.to_identifier(name, quoted=True)) for name, node in scope.expand(item)]


def _resolve(tree: exp.Expr, scope: Scope, aliases: set[str]) -> None:
    size = 0
    for column in list(tree.find_all(exp.Column)):
        if isinstance(column.this, exp.Star):
            continue
        known = scope.find(column)
        if column.name.casefold() in aliases and not column.table and _may_be_alias(column, known):
            put(column, exp.column(exp.Identifier(this=column.name, quoted=False)))
            continue
        if known is None:
            raise scope.missing(column)
        size += sum(1 for _ in known.walk())
        if size > _MOST_PARTS:
            raise QueryError(f"the query is too large: its sub-queries add up to more than {_MOST_PARTS:,} parts")
        put(column, known.copy())


def _may_be_alias(column: exp.Column, known: exp.Expr | None) -> bool:
    """Whether a name that is an alias means it: never in the SELECT list and in WHERE, where SQL has none yet."""
    if known is not None:
        return isinstance(column.parent, exp.Ordered)
    node: exp.Expr = column
    while node.parent is not None and not isinstance(node.parent, exp.Select):
        node = node.parent
    return node.arg_key not in ("expressions", "where")
