"""Keys of a result: expressions that rows are grouped by."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.measures._bounded import GroupKey
from discreet.query.parse._parse import refuse
from discreet.query.parse._trees import Texts, transformed

__all__ = ["check_number_of_keys", "grouped_by_all", "keys_by_name", "selects_all_keys", "without_constant_keys"]

_MOST_KEYS = 100
_CONSTANTS = (exp.Literal, exp.Boolean, exp.Null)
_AFTER_NOISE = ("having", "qualify", "order", "limit", "offset")


def check_number_of_keys(keys: int) -> None:
    """Raise `QueryError` for more than 100 keys, before anything is worked out for each of them."""
    if keys > _MOST_KEYS:
        raise QueryError(f"GROUP BY and SELECT DISTINCT take at most {_MOST_KEYS} keys, got {keys:,}; group by fewer")


def grouped_by_all(select: exp.Select) -> exp.Select:
    """SELECT DISTINCT of keys as what it means: a GROUP BY of them all; nothing, beside a GROUP BY of what it selects.

    >>> grouped_by_all(exp.maybe_parse("SELECT DISTINCT city AS c FROM t", into=exp.Select)).sql()
    'SELECT city AS c FROM t GROUP BY city'
    """
    if not select.args.get("distinct"):
        return select
    grouped = select.args.get("group") is not None
    if not grouped and any(select.find_all(exp.Window)):
        raise refuse("SELECT DISTINCT beside a window, without GROUP BY")
    if grouped and not selects_all_keys(select):
        raise QueryError(
            "SELECT DISTINCT beside GROUP BY needs all keys in the SELECT list, where each row is another one anyway; "
            "write all keys, or leave DISTINCT out"
        )
    select = select.copy()
    select.set("distinct", None)
    if grouped or any(select.find_all(exp.AggFunc)):
        return select
    select.set("group", exp.Group(expressions=[item.unalias().copy() for item in select.expressions]))
    return select


def selects_all_keys(select: exp.Select) -> bool:
    """Whether a SELECT with one GROUP BY has all of its keys in its list, so that no two of its rows are alike."""
    keys = select.args["group"].expressions
    if any(isinstance(key, exp.GroupingSets | exp.Rollup | exp.Cube) for key in keys):
        return False
    selected = {item.unalias().unnest().sql() for item in select.expressions}
    return all(key.unnest().sql() in selected for key in keys)


def without_constant_keys(select: exp.Select) -> exp.Select:
    """GROUP BY without its constants, which make no groups: by constants alone, all rows are one group.

    >>> without_constant_keys(exp.maybe_parse("SELECT 1, city FROM t GROUP BY 1, city", into=exp.Select)).sql()
    'SELECT 1, city FROM t GROUP BY city'
    """
    group = select.args.get("group")
    if group is None or not any(isinstance(key.unnest(), _CONSTANTS) for key in group.expressions):
        return select
    select = select.copy()
    keys = [key for key in select.args["group"].expressions if not isinstance(key.unnest(), _CONSTANTS)]
    select.set("group", exp.Group(expressions=keys) if keys else None)
    return select


def keys_by_name(select: exp.Select, keys: Sequence[GroupKey]) -> exp.Select:
    """What a SELECT does with its groups, with each expression that is grouped by as a column of its name.

    These are the SELECT list, HAVING, QUALIFY, ORDER BY, LIMIT and OFFSET.
    """
    swaps = {(type(key.expression), key.expression.sql()): key.name for key in keys}
    kinds = {kind for kind, _ in swaps}
    named = exp.Select(expressions=[item.copy() for item in select.expressions])
    for name in _AFTER_NOISE:
        if (clause := select.args.get(name)) is not None:
            named.set(name, clause.copy())
    texts = Texts(*named.iter_expressions())

    def swap(node: exp.Expr) -> exp.Expr:
        name = swaps.get((type(node), texts.text(node))) if type(node) in kinds else None
        return node if name is None else exp.column(exp.to_identifier(name, quoted=True))

    named = transformed(named, swap)
    assert isinstance(named, exp.Select)
    return named
