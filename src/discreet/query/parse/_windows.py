"""WINDOW w AS (…): each window is written where OVER names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeVar

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.parse._trees import size_of

__all__ = ["is_windowed", "without_named_windows"]

_Q = TypeVar("_Q", bound=exp.Query)


_MOST_PARTS = 5_000
_CLAUSES = ("expressions", "where", "group", "having", "qualify", "order")


def is_windowed(select: exp.Select) -> bool:
    """Whether a SELECT itself has a window, not a sub-query that it reads.

    >>> is_windowed(exp.maybe_parse("SELECT RANK() OVER (ORDER BY x) FROM t", into=exp.Select))
    True
    """
    return any(clause.find(exp.Window) for clause in _clauses(select))


def without_named_windows(tree: _Q) -> _Q:
    """The tree itself, with what WINDOW defines in each SELECT in place of its name.

    Raises `QueryError` for a name that has no definition, or several, or that nothing uses, for a window that takes
    over another and changes what it has, and where what is written out has more than 5,000 parts.

    >>> query = "SELECT RANK() OVER w FROM t WINDOW w AS (PARTITION BY g ORDER BY x)"
    >>> without_named_windows(exp.maybe_parse(query, into=exp.Select)).sql()
    'SELECT RANK() OVER (PARTITION BY g ORDER BY x) FROM t'
    """
    parts = 0
    for select in [node for node in tree.walk() if isinstance(node, exp.Select)]:
        definitions: dict[str, exp.Window] = {}
        used: set[str] = set()
        for each in select.args.get("windows") or ():
            if each.name.casefold() in definitions:
                raise QueryError(f"two windows are called {each.name}; give each a name of its own")
            _take_over(each, definitions, used)
            definitions[each.name.casefold()] = each
        for window in [node for clause in _clauses(select) for node in clause.find_all(exp.Window)]:
            if window.args.get("alias") is not None and window.find_ancestor(exp.Select) is select:
                parts += size_of(_take_over(window, definitions, used), _MOST_PARTS)
                if parts > _MOST_PARTS:
                    raise QueryError(
                        f"the query is too large: its windows, written out, have more than {_MOST_PARTS:,} parts"
                    )
        if unused := definitions.keys() - used:
            raise QueryError(f"WINDOW {definitions[min(unused)].name} is never used; leave it out, or write OVER (…)")
        select.set("windows", None)
    return tree


def _clauses(select: exp.Select) -> Iterator[exp.Expr]:
    for name in _CLAUSES:
        clause = select.args.get(name)
        yield from clause if isinstance(clause, list) else [] if clause is None else [clause]


def _take_over(window: exp.Window, definitions: Mapping[str, exp.Window], used: set[str]) -> exp.Window:
    """The window itself, with what the window that it names has."""
    named = window.args.get("alias")
    if named is None:
        return window
    base = definitions.get(named.name.casefold())
    if base is None:
        known = f"it has {', '.join(each.name for each in definitions.values())}" if definitions else "it has none"
        raise QueryError(f"no window is called {named.name}; write WINDOW {named.name} AS (…) after HAVING: {known}")
    alone = not any(window.args.get(part) for part in ("partition_by", "order", "spec"))
    if window.args.get("partition_by") or (window.args.get("order") and base.args.get("order")):
        raise QueryError(f"OVER ({named.name} …) keeps the parts of {named.name}; write the window out in full")
    if base.args.get("spec") and not alone:
        raise QueryError(f"OVER ({named.name} …) cannot change the frame of {named.name}; write the window out in full")
    for part in ("partition_by", "order", "spec"):
        value = base.args.get(part)
        if value is not None and not window.args.get(part):
            window.set(part, [each.copy() for each in value] if isinstance(value, list) else value.copy())
    window.set("alias", None)
    used.add(named.name.casefold())
    return window
