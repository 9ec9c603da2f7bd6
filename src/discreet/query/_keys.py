"""Keys of a result: expressions that rows are grouped by."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.query._bounded import GroupKey
from discreet.query._parse import refuse

__all__ = ["grouped_by_all", "keys_by_name"]


def grouped_by_all(select: exp.Select) -> exp.Select:
    """SELECT DISTINCT of keys as what it means: a GROUP BY of them all.

    >>> grouped_by_all(exp.maybe_parse("SELECT DISTINCT city AS c FROM t", into=exp.Select)).sql()
    'SELECT city AS c FROM t GROUP BY city'
    """
    if not select.args.get("distinct"):
        return select
    if select.args.get("group") is not None or any(select.find_all(exp.AggFunc)):
        raise refuse("SELECT DISTINCT beside GROUP BY or an aggregate")
    select = select.copy()
    select.set("distinct", None)
    select.set("group", exp.Group(expressions=[item.unalias().copy() for item in select.expressions]))
    return select


def keys_by_name(select: exp.Select, keys: Sequence[GroupKey]) -> exp.Select:
    """The SELECT with each expression that is grouped by as a column of its name."""
    swaps = {(type(key.expression), key.expression.sql()): key.name for key in keys}
    types = {kind for kind, _ in swaps}

    def swap(node: exp.Expr) -> exp.Expr:
        name = swaps.get((type(node), node.sql())) if type(node) in types else None
        return node if name is None else exp.column(exp.to_identifier(name, quoted=True))

    named = select.transform(swap)
    assert isinstance(named, exp.Select)
    return named
