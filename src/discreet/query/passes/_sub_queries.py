"""Conditions with a sub-query: EXISTS, IN (SELECT …) and comparisons with ANY and ALL, and their negations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

__all__ = ["Existence", "existence"]

_OPPOSITES: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.LTE: exp.GT,
    exp.GT: exp.LTE,
    exp.GTE: exp.LT,
}
_TURNED: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
}


@dataclass(frozen=True, slots=True)
class Existence:
    """A condition that holds if a sub-query has a row, or with `missing` if it has none.

    Attributes
    ----------
    query
        The sub-query.
    missing
        Whether there must be no such row. Then also a row of which the comparison is null counts as one:
        ``x NOT IN (…)`` is not true where x or a value is null.
    operands, compares
        What is compared with the columns of the sub-query, one by one, and how: the operand is on the left. EXISTS
        has no operands.
    word
        The condition as it is written, for messages.
    """

    query: exp.Query
    missing: bool
    operands: tuple[exp.Expr, ...]
    compares: type[exp.Expr]
    word: str


def existence(condition: exp.Expr) -> Existence | None:
    """What a condition asks of a sub-query; None if it is no such condition.

    A condition with ALL is the negation of its opposite with ANY, in the logic of three values as in that of two.

    >>> condition = exp.maybe_parse("x <= ALL (SELECT y FROM s)")
    >>> test = existence(condition)
    >>> test.missing, test.compares.__name__, test.query.sql()
    (True, 'GT', 'SELECT y FROM s')
    """
    node, missing = condition.unnest(), False
    while isinstance(node, exp.Not):
        node, missing = node.this.unnest(), not missing
    word = f"{'NOT ' if missing else ''}{node.sql()}"
    if isinstance(node, exp.Exists):
        query = _query(node.this)
        return None if query is None else Existence(query, missing, (), exp.EQ, word)
    if isinstance(node, exp.In):
        query = _query(node.args.get("query"))
        return None if query is None else Existence(query, missing, _operands(node.this), exp.EQ, word)
    compares = type(node)
    if compares not in _OPPOSITES:
        return None
    operand, quantified = node.this, node.args["expression"]
    if isinstance(operand.unnest(), exp.Any | exp.All):
        operand, quantified, compares = quantified, operand, _TURNED[compares]
    quantified = quantified.unnest()
    if not isinstance(quantified, exp.Any | exp.All):
        return None
    query = _query(quantified.this)
    if query is None:
        return None
    if isinstance(quantified, exp.All):
        compares, missing = _OPPOSITES[compares], not missing
    return Existence(query, missing, _operands(operand), compares, word)


def _query(node: object) -> exp.Query | None:
    while isinstance(node, exp.Subquery | exp.Paren) and not any(v for k, v in node.args.items() if k != "this"):
        node = node.this
    return node if isinstance(node, exp.Query) and not isinstance(node, exp.Subquery) else None


def _operands(node: exp.Expr) -> tuple[exp.Expr, ...]:
    inner = node.unnest()
    return tuple(inner.expressions) if isinstance(inner, exp.Tuple) else (inner,)
