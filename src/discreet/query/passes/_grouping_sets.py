"""GROUPING SETS, ROLLUP and CUBE as the sets of keys that they stand for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.measures._bounded import GroupKey
from discreet.query.parse._parse import refuse
from discreet.query.parse._trees import Texts, put

__all__ = ["extract_groupings", "grouping_items", "grouping_sets", "spell_grouping_sets"]

_MOST_SETS = 64
_MOST_PARTS = 5_000
_MOST_ARGUMENTS = 60
"""Of GROUPING, whose bits are one whole number."""

_Set = tuple[exp.Expr, ...]
_SETS = (exp.GroupingSets, exp.Rollup, exp.Cube)


def spell_grouping_sets(select: exp.Select) -> exp.Select:
    """Write what GROUP BY asks for as one list of sets, in SQL's order; one set alone as a plain GROUP BY.

    Raises `QueryError` for a set that comes twice, and for more than 64 sets.

    >>> query = "SELECT COUNT(*) FROM t GROUP BY a, ROLLUP (b, c)"
    >>> spell_grouping_sets(exp.maybe_parse(query, into=exp.Select)).sql()
    'SELECT COUNT(*) FROM t GROUP BY GROUPING SETS ((a, b, c), (a, b), (a))'
    """
    select = select.copy()
    for node in list(select.find_all(exp.GroupingId)):
        node.replace(exp.Grouping(expressions=node.expressions))
    group = select.args.get("group")
    if group is None:
        return select
    elements = [_sets(item) for item in group.expressions]
    if prod(map(len, elements)) > _MOST_SETS:
        raise _too_many()
    texts = Texts(group)
    sets = [_once(itertools.chain.from_iterable(chosen), texts) for chosen in itertools.product(*elements)]
    seen: set[frozenset[str]] = set()
    parts = 0
    for keys in sets:
        named = frozenset(map(texts.text, keys))
        parts += sum(1 for key in keys for _ in key.walk())
        if parts > _MOST_PARTS:
            raise QueryError(
                f"the query is too large: the keys of its grouping sets, written out, have more than "
                f"{_MOST_PARTS:,} parts; name fewer sets with GROUPING SETS"
            )
        if named in seen:
            raise QueryError(
                f"GROUP BY makes the set {_tuple(keys).sql()} twice, which would be paid for twice; write each set once"
            )
        seen.add(named)
    if len(sets) > 1:
        listed = exp.GroupingSets(expressions=[_tuple(keys) for keys in sets])
        select.set("group", exp.Group(expressions=[listed]))
    else:
        select.set("group", exp.Group(expressions=[key.copy() for key in sets[0]]) if sets[0] else None)
    return select


def grouping_sets(select: exp.Select) -> list[list[exp.Expr]]:
    """The expressions of each set of a SELECT that `spell_grouping_sets` wrote; without GROUP BY one empty set."""
    group = select.args.get("group")
    items = [] if group is None else group.expressions
    if items and isinstance(items[0], exp.GroupingSets):
        return [keys.expressions for keys in items[0].expressions]
    return [items]


def grouping_items(group: exp.Group) -> Iterator[exp.Expr]:
    """Each expression of GROUP BY, those inside GROUPING SETS, ROLLUP and CUBE too."""
    for item in list(group.expressions):
        yield from _items(item) if isinstance(item, _SETS) else [item]


def extract_groupings(
    select: exp.Select, levels: Sequence[Sequence[GroupKey]], taken: Mapping[str, object]
) -> tuple[exp.Select, list[dict[str, int]]]:
    """Replace each GROUPING by a column; say for each level what stands in it: a bit for each argument, 1 if no key.

    `taken` are the names of other columns. Raises `QueryError` for an argument that is nowhere a key, and for GROUPING
    where no level is known yet.
    """
    select = select.copy()
    present = [{key.expression.sql() for key in keys} for keys in levels]
    known = set[str]().union(*present)
    names: dict[str, str] = {}
    values: list[dict[str, int]] = [{} for _ in levels]
    for node in list(select.find_all(exp.Grouping)):
        text = node.sql()
        if node.find_ancestor(exp.AggFunc, exp.Filter, exp.Where, exp.Group) is not None:
            raise refuse(f"{text} outside the SELECT list, HAVING and ORDER BY, or inside an aggregate")
        arguments = [argument.unnest().sql() for argument in node.expressions]
        for argument in arguments:
            if argument not in known:
                raise QueryError(f"{text} needs keys of GROUP BY, and {argument} is none: it has {_all(known)}")
        if not 0 < len(arguments) <= _MOST_ARGUMENTS:
            raise QueryError(f"GROUPING takes 1 to {_MOST_ARGUMENTS} keys of GROUP BY")
        if text not in names:
            names[text] = text
            while names[text] in taken:
                names[text] += " "
            for here, value in zip(present, values, strict=True):
                bits = "".join(str(int(argument not in here)) for argument in arguments)
                value[names[text]] = int(bits, 2)
        put(node, exp.column(exp.to_identifier(names[text], quoted=True)))
    return select, values


def _sets(item: exp.Expr) -> list[_Set]:
    match item:
        case exp.GroupingSets():
            return [keys for inner in item.expressions for keys in _sets(inner)]
        case exp.Rollup():
            parts = _parts(item)
            return [tuple(itertools.chain(*parts[:n])) for n in reversed(range(len(parts) + 1))]
        case exp.Cube():
            parts = _parts(item)
            if 2 ** len(parts) > _MOST_SETS:
                raise _too_many()
            choices = itertools.product((True, False), repeat=len(parts))
            return [tuple(itertools.chain(*itertools.compress(parts, chosen))) for chosen in choices]
        case _:
            return [_columns(item)]


def _parts(item: exp.Expr) -> list[_Set]:
    if not item.expressions:
        raise refuse("WITH ROLLUP, WITH CUBE and ROLLUP of nothing (ROLLUP (a, b) is)")
    return [_columns(part) for part in item.expressions]


def _columns(item: exp.Expr) -> _Set:
    columns = tuple(item.expressions) if isinstance(item, exp.Tuple) else (item,)
    if any(isinstance(column, (*_SETS, exp.Tuple)) for column in columns):
        raise refuse(f"{item.sql()} in GROUP BY, where a column or a list of columns is,")
    return tuple(column.unnest() for column in columns)


def _items(item: exp.Expr) -> Iterator[exp.Expr]:
    inner = [item.this] if isinstance(item, exp.Paren) else item.expressions
    for each in list(inner):
        yield from _items(each) if isinstance(each, (*_SETS, exp.Tuple, exp.Paren)) else [each]


def _once(keys: itertools.chain[exp.Expr], texts: Texts) -> _Set:
    return tuple({texts.text(key): key for key in keys}.values())


def _tuple(keys: _Set) -> exp.Tuple:
    return exp.Tuple(expressions=[key.copy() for key in keys])


def _all(known: set[str]) -> str:
    return ", ".join(sorted(known)) or "none"


def _too_many() -> QueryError:
    return QueryError(
        f"GROUP BY makes more than {_MOST_SETS} grouping sets, as CUBE of 7 does; each has a share of the spend, so "
        "name those that you need with GROUPING SETS"
    )
