"""A SELECT that computes from its groups and aggregates what no release does, as one over another.

``SELECT k, COUNT(*) / (SELECT COUNT(*) FROM t) FROM t GROUP BY k`` is what ``SELECT k, n / (SELECT COUNT(*) FROM t)``
makes of ``SELECT k, COUNT(*) AS n FROM t GROUP BY k``: the inner one is a release, and so is the sub-query.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, cast

from sqlglot import exp

__all__ = ["free_name", "taken_apart"]

_LONGEST_NAME = 60

_QUERIES = (exp.Select, exp.SetOperation)
_CLAUSES = ("having", "qualify", "order")


def taken_apart(select: exp.Select, columns: Container[str] = ()) -> exp.Select | None:
    """The SELECT over its groups and aggregates; None where it computes nothing from these, or that is not sure.

    GROUP BY means one of the `columns` of what is read, in small letters, before an item of the same name.

    >>> query = "SELECT k, COUNT(*) / (SELECT COUNT(*) FROM u) AS share FROM t GROUP BY k HAVING SUM(x) > 3"
    >>> print(taken_apart(exp.maybe_parse(query, into=exp.Select)).sql())  # doctest: +NORMALIZE_WHITESPACE
    SELECT k AS "k", "count(*)" / (SELECT COUNT(*) FROM u) AS share
    FROM (SELECT k AS "k", COUNT(*) AS "count(*)", SUM(x) AS "sum(x)" FROM t GROUP BY k) AS "t" WHERE "sum(x)" > 3
    """
    clauses = [*select.expressions, *(select.args[name] for name in _CLAUSES if select.args.get(name))]
    keys = _keys(select, columns)
    if keys is None or not any(map(_is_computed(keys), clauses)):
        return None
    names = [key.name if isinstance(key, exp.Column) else f"key {i}" for i, key in enumerate(keys)]
    if len({name.casefold() for name in names}) < len(names):
        return None
    groups = _Groups(keys, names)
    outer = select.copy()
    taken = {item.alias for item in outer.expressions if isinstance(item, exp.Alias)}
    for item in outer.expressions:
        if not isinstance(item, exp.Alias):
            item.replace(exp.alias_(item.copy(), free_name(item, taken), quoted=True))
    aliases = {item.alias.casefold() for item in outer.expressions if item.alias}
    for clause in [*outer.expressions, *(outer.args[name] for name in _CLAUSES if outer.args.get(name))]:
        if not groups.replace(clause, set() if clause.arg_key == "expressions" else aliases):
            return None
    if not groups.items():
        return None
    inner = exp.Select(expressions=groups.items(), from_=select.args["from_"].copy())
    for name in ("joins", "where"):
        part = select.args.get(name)
        inner.set(name, [each.copy() for each in part] if isinstance(part, list) else part and part.copy())
        outer.set(name, None)
    if keys:
        inner.set("group", exp.Group(expressions=[key.copy() for key in keys]))
    outer.set("group", None)
    alias = exp.TableAlias(this=exp.to_identifier(_alias(select), quoted=True))
    outer.set("from_", exp.From(this=exp.Subquery(this=inner, alias=alias)))
    if (having := outer.args.pop("having", None)) is not None:
        outer.set("where", exp.Where(this=having.this))
    return outer


def free_name(item: exp.Expr, taken: set[str]) -> str:
    """The name of a column that has none, as the planner would give it; it is taken then."""
    if isinstance(item, exp.Column):
        return item.name
    base = item.unnest().key
    names = itertools.chain([base], (f"{base}_{i}" for i in itertools.count(2)))
    name = next(name for name in names if name not in taken)
    taken.add(name)
    return name


def _keys(select: exp.Select, columns: Container[str]) -> Sequence[exp.Expr] | None:
    """What a SELECT groups by, with ordinals and aliases written out; None for what is not sure."""
    group, source = select.args.get("group"), select.args.get("from_")
    if source is None:
        return None
    if group is None:
        return []
    if any(value for name, value in group.args.items() if name != "expressions"):
        return None
    items = {item.alias.casefold(): item.this for item in select.expressions if isinstance(item, exp.Alias)}
    keys: list[exp.Expr] = []
    for node in group.expressions:
        inner = node.unnest()
        if isinstance(inner, exp.Rollup | exp.Cube | exp.GroupingSets | exp.Tuple):
            return None
        if isinstance(inner, exp.Literal):
            if not inner.name.isdigit() or not 1 <= int(inner.name) <= len(select.expressions):
                return None
            inner = select.expressions[int(inner.name) - 1].unalias()
        elif (
            isinstance(inner, exp.Column)
            and not inner.table
            and inner.name.casefold() not in columns
            and not isinstance(items.get(inner.name.casefold(), inner), exp.Column)
        ):
            inner = items[inner.name.casefold()]
        if inner.find(exp.AggFunc, exp.Query) is not None:
            return None
        keys.append(inner)
    return keys


class _Groups:
    """The columns of the inner SELECT: its keys, and its aggregates as they are met."""

    def __init__(self, keys: Sequence[exp.Expr], names: Sequence[str]) -> None:
        self._alike = _Alike()
        self._columns = {self._alike.number(key): name for key, name in zip(keys, names, strict=True)}
        self._nodes = {name: key for key, name in zip(keys, names, strict=True)}

    def items(self) -> list[exp.Expr]:
        """The items of the inner SELECT."""
        return [exp.alias_(node.copy(), name, quoted=True) for name, node in self._nodes.items()]

    def replace(self, tree: exp.Expr, aliases: set[str]) -> bool:
        """Put columns in the place of keys and aggregates; False where something else is read, but some aliases."""
        numbers = self._alike.numbers(tree)
        below = [tree]
        while below:
            for child in list(below.pop().iter_expressions()):
                number = numbers[id(child.unnest())]
                name = self._columns.get(number)
                if name is None and _is_aggregate(child):
                    text = child.sql(dialect="duckdb").lower()
                    long = len(text) > _LONGEST_NAME or text in self._nodes
                    name = self._columns[number] = f"value {len(self._nodes)}" if long else text
                    self._nodes[name] = child.copy()
                if name is not None:
                    child.replace(exp.column(name, quoted=not isinstance(child, exp.Column)))
                elif isinstance(child, exp.Star):
                    return False
                elif isinstance(child, exp.Column):
                    if child.table or child.name.casefold() not in aliases:
                        return False
                elif not isinstance(child, _QUERIES):
                    below.append(child)
        return True


class _Alike:
    """Numbers for nodes, the same for those that are the same, whatever the case of the names in them.

    No query is the same as another.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], int] = {}

    def number(self, node: exp.Expr) -> int:
        """The number of a node without the parentheses around it."""
        inner = node.unnest()
        return self.numbers(inner)[id(inner)]

    def numbers(self, tree: exp.Expr) -> dict[int, int]:
        """The number of each node of a tree, outside its queries, by the node's `id`."""
        by_id: dict[int, int] = {}
        nodes = list(tree.bfs(prune=lambda node: isinstance(node, _QUERIES)))
        for node in reversed(nodes):  # what is below a node is numbered before it
            alike = (len(self._numbers),) if isinstance(node, _QUERIES) else _alike(node, by_id)
            by_id[id(node)] = self._numbers.setdefault(alike, len(self._numbers))
        return by_id


def _alike(node: exp.Expr, numbers: Mapping[int, int]) -> tuple[Any, ...]:
    """What a node has in common with those that are the same."""
    if isinstance(node, exp.Identifier):
        return exp.Identifier, node.name.casefold()
    exact = isinstance(node, exp.Literal)

    def part(value: object) -> object:
        match value:
            case exp.Expr():
                return numbers[id(value)], None
            case list():
                return tuple(map(part, cast("list[object]", value)))
            case str():
                return value if exact else value.lower()
            case _:
                return value

    parts = (
        (name, part(value)) for name, value in sorted(node.args.items()) if value is not None and value is not False
    )
    return type(node), *parts


def _is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is an aggregate over rows, with its FILTER or WITHIN GROUP, and no window's function."""
    if not isinstance(node, exp.AggFunc | exp.Filter | exp.WithinGroup) or node.find(exp.Query) is not None:
        return False
    return not (isinstance(node.parent, exp.Window | exp.Filter) and node.arg_key == "this")


def _is_computed(keys: Sequence[exp.Expr]) -> Callable[[exp.Expr], bool]:
    """Whether an item or clause is more than one of these keys or an aggregate."""
    alike = _Alike()
    numbers = set(map(alike.number, keys))

    def more(clause: exp.Expr) -> bool:
        inner = clause.unalias().unnest()
        return not (alike.number(inner) in numbers or _is_aggregate(inner))

    return more


def _alias(select: exp.Select) -> str:
    source = select.args["from_"].this
    return source.alias_or_name or "groups"
