"""The parts of a condition that all have to hold, with those that every branch of an OR has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sqlglot import exp

__all__ = ["conjunction", "conjuncts", "factored", "key_of_condition"]


def conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    """The parts of an AND, without parentheses around them, in order.

    >>> [part.sql() for part in conjuncts(exp.maybe_parse("(a AND (b OR c)) AND d"))]
    ['a', 'b OR c', 'd']
    """
    return _parts(condition, exp.And)


def factored(condition: exp.Expr, key: Callable[[exp.Expr], str]) -> list[exp.Expr]:
    """The parts of an AND, and of an OR in it those that all of its branches share, taken out.

    Parts with one `key` mean the same. ``(x AND a) OR (x AND b)`` is ``x AND (a OR b)`` in the logic of three values as
    in that of two, since both are distributive lattices, and ``x OR (x AND b)`` is x.

    >>> condition = exp.maybe_parse("n > 1 AND ((x = y AND a) OR (x = y AND b))")
    >>> [part.sql() for part in factored(condition, lambda part: part.sql())]
    ['n > 1', 'x = y', 'a OR b']
    """
    return [each for part in conjuncts(condition) for each in _shared_parts(part, key)]


def conjunction(parts: Sequence[exp.Expr]) -> exp.Expr | None:
    """The AND of copies of some conditions; None of none.

    >>> conjunction([exp.column("a"), exp.maybe_parse("b OR c")]).sql()
    'a AND (b OR c)'
    """
    return exp.and_(*parts, copy=True) if parts else None


def key_of_condition(condition: exp.Expr) -> str:
    """A text that is the same for an equality whichever side stands first.

    >>> key_of_condition(exp.maybe_parse("b = a")), key_of_condition(exp.maybe_parse("a > b"))
    ('a = b', 'a > b')
    """
    inner = condition.unnest()
    if isinstance(inner, exp.EQ):
        return " = ".join(sorted((inner.left.unnest().sql(), inner.right.unnest().sql())))
    return inner.sql()


def _parts(condition: exp.Expr, operator: type[exp.Expr]) -> Iterator[exp.Expr]:
    left = [condition]
    while left:
        inner = left.pop().unnest()
        if isinstance(inner, operator):
            left += [inner.args["expression"], inner.this]
        else:
            yield inner


def _shared_parts(part: exp.Expr, key: Callable[[exp.Expr], str]) -> list[exp.Expr]:
    branches = list(_parts(part, exp.Or))
    if len(branches) == 1:
        return [part]
    keyed = [{key(each): each for each in conjuncts(branch)} for branch in branches]
    shared = set(keyed[0]).intersection(*keyed[1:])
    if not shared:
        return [part]
    common = [each for text, each in keyed[0].items() if text in shared]
    rests = [[each for text, each in branch.items() if text not in shared] for branch in keyed]
    if not all(rests):
        return common
    return [*common, exp.or_(*(exp.and_(*rest, copy=True) for rest in rests), copy=False)]
