"""PIVOT, as what it stands for: ``SUM(x) FILTER (WHERE k = 'a') AS a`` for each of the values of k."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import Column, Policy
from discreet.query.measures._bounded import order_of
from discreet.query.parse._parse import refuse, refuse_clauses
from discreet.query.passes._names import match_name

__all__ = ["without_pivots"]

_MOST_COLUMNS = 500
_Q = TypeVar("_Q", bound=exp.Query)
_Tables = Mapping[str, exp.Expr]


def without_pivots(query: _Q, policy: Policy, *, grouped: bool = False) -> _Q:
    r"""The query itself, with the SELECT that it stands for in place of each PIVOT.

    That is one SELECT with FILTER, whose columns share a spend; or if `grouped` one over another, which groups by the
    values too, so that each of its sums has the noise of all. Values that are not listed are the public keys of the
    column, or both truth values. Without GROUP BY, all columns that it does not name are groups, as DuckDB has it.

    Raises `QueryError` where these or those are not known, and for UNPIVOT.

    >>> from discreet.policy import load_policy
    >>> columns = {"k": {"type": "string", "keys": ["a", "b"]}, "x": {"type": "int", "bounds": [0, 9]}}
    >>> policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})
    >>> query = exp.maybe_parse("SELECT * FROM t PIVOT (SUM(x) FOR k IN ('a'))", into=exp.Select, dialect="duckdb")
    >>> without_pivots(query, policy).sql()
    'SELECT * FROM (SELECT SUM(x) FILTER(WHERE k = \'a\') AS "a" FROM t)'
    """
    for pivot in reversed(list(query.find_all(exp.Pivot))):  # those inside others first
        if pivot.args.get("unpivot"):
            raise refuse("UNPIVOT", "UNPIVOT")
        source = pivot.this if pivot.this is not None else pivot.parent
        assert source is not None
        if pivot.this is None and len(source.args["pivots"]) > 1:
            raise refuse("more than one PIVOT of a table", "PIVOTS")
        spelled = _Pivot.read(pivot, source, _Source(policy, _named(pivot)))
        select = spelled.grouped() if grouped else spelled.filtered()
        if pivot.this is not None:
            pivot.replace(select)
            continue
        alias = pivot.args.get("alias")
        source.replace(exp.Subquery(this=select, alias=None if alias is None else alias.copy()))
    return query


@dataclass(frozen=True, slots=True)
class _Source:
    """What is known of the columns that a PIVOT reads: of the policy's tables, and what WITH names around it."""

    policy: Policy
    named: _Tables

    def columns(self, node: exp.Expr) -> dict[str, Column | None] | None:
        """The columns of a table or a sub-query, with what the policy says of each; None where they are not known."""
        if isinstance(node, exp.Table):
            if (query := self.named.get(node.name.casefold())) is not None:
                return self.columns(query)
            declared = self.policy.tables[match_name(node.name, self.policy.tables, "the policy", "table")]
            return dict(declared.columns)
        if isinstance(node, exp.Subquery):
            return self.columns(node.this)
        source = node.args.get("from_")
        if not isinstance(node, exp.Select) or source is None:
            return None
        below = None if node.args.get("joins") else self.columns(source.this)
        columns: dict[str, Column | None] = {}
        for item in node.expressions:
            inner = item.unalias()
            if isinstance(inner, exp.Star):
                if below is None:
                    return None
                columns |= below
            elif not item.alias_or_name or isinstance(inner.this, exp.Star):
                return None
            else:
                plain = {name.casefold(): column for name, column in (below or {}).items()}
                columns[item.alias_or_name] = plain.get(inner.name.casefold()) if type(inner) is exp.Column else None
        return columns


@dataclass(frozen=True, slots=True)
class _Pivot:
    """A PIVOT: where it reads, its groups, its aggregates with their names, and for each key its values with theirs."""

    source: exp.Expr
    groups: Sequence[exp.Expr]
    aggregates: Sequence[tuple[exp.Expr, str]]
    keys: Sequence[tuple[exp.Expr, Sequence[tuple[exp.Expr, str]]]]

    @classmethod
    def read(cls, pivot: exp.Pivot, source: exp.Expr, known: _Source) -> _Pivot:
        refuse_clauses(
            pivot,
            (
                *("this", "expressions", "using", "fields", "group", "alias", "columns", "with_", "unpivot"),
                *("identify_pivot_strings", "prefixed_pivot_columns", "pivot_column_naming"),
            ),
            "PIVOT",
        )
        standard = pivot.this is None
        aggregates = pivot.expressions if standard else pivot.args.get("using") or [exp.Count(this=exp.Star())]
        on = pivot.args.get("fields") if standard else pivot.expressions
        columns = known.columns(source)
        keys = [_key(each, columns or {}) for each in on or ()]
        several = len(aggregates) > 1
        named = [
            (each.unalias(), each.alias or (each.sql(dialect="duckdb").lower() if several else ""))
            for each in aggregates
        ]
        group = pivot.args.get("group")
        if group is not None:
            refuse_clauses(group, ("expressions",), "GROUP BY of PIVOT")
            groups: Sequence[exp.Expr] = group.expressions
            if not all(isinstance(each, exp.Column) for each in groups):
                raise QueryError("GROUP BY of PIVOT takes columns: write what is computed in a sub-query")
        elif columns is None:
            raise QueryError(
                "PIVOT without GROUP BY groups by all other columns, which are not known here; write GROUP BY"
            )
        else:
            parts = [*(node for node, _ in named), *(node for node, _ in keys)]
            used = {column.name.casefold() for node in parts for column in node.find_all(exp.Column)}
            groups = [exp.column(name, quoted=True) for name in columns if name.casefold() not in used]
        return cls(source, groups, named, keys)

    def filtered(self) -> exp.Select:
        """One SELECT, with a FILTER for each value."""
        items = [each.copy() for each in self.groups]
        for title, aggregate, when in self._columns([key for key, _ in self.keys]):
            items.append(_filtered(self.aggregates[aggregate][0], when, title))
        return self._select(items, self._source(), self.groups)

    def grouped(self) -> exp.Select:
        """A SELECT by groups and values, and around it one that gives each group a row."""
        nodes = [*self.groups, *(key for key, _ in self.keys), *(aggregate for aggregate, _ in self.aggregates)]
        columns = [exp.column(name, quoted=True) for name in self._names()]
        first, last = len(self.groups), len(self.groups) + len(self.keys)
        groups, keys, sums = columns[:first], columns[first:last], columns[last:]
        inner = [exp.alias_(node.copy(), column.name, quoted=True) for node, column in zip(nodes, columns, strict=True)]
        below = self._select(inner, self._source(), nodes[:last])
        listed = [exp.In(this=key.copy(), expressions=[each.copy() for each, _ in values]) for key, values in self.keys]
        below.set("where", exp.Where(this=exp.and_(*listed)))
        items: list[exp.Expr] = [
            exp.alias_(column.copy(), each.name, quoted=True) for each, column in zip(self.groups, groups, strict=True)
        ]
        for title, aggregate, when in self._columns(keys):
            items.append(_filtered(exp.Max(this=sums[aggregate].copy()), when, title))
        alias = exp.TableAlias(this=exp.to_identifier("pivoted", quoted=True))
        return self._select(items, exp.Subquery(this=below, alias=alias), groups)

    def _names(self) -> Sequence[str]:
        """The names of groups, keys and aggregates in a SELECT by all of them."""
        names = [each.name for each in self.groups]
        names += [key.name or key.sql(dialect="duckdb").lower() for key, _ in self.keys]
        names += [name or aggregate.sql(dialect="duckdb").lower() for aggregate, name in self.aggregates]
        alike = len({name.casefold() for name in names}) < len(names)
        return [f"{name} {i}" for i, name in enumerate(names)] if alike else names

    def _columns(self, keys: Sequence[exp.Expr]) -> Iterator[tuple[str, int, exp.Expr]]:
        """The name of each column that is no group, the place of its aggregate, and which rows it is of."""
        count = math.prod(len(values) for _, values in self.keys) * len(self.aggregates)
        if count + len(self.groups) > _MOST_COLUMNS:
            raise QueryError(f"the PIVOT has more than {_MOST_COLUMNS} columns; write IN (…) with fewer values")
        for values in itertools.product(*(values for _, values in self.keys)):
            same = [
                exp.EQ(this=key.copy(), expression=value.copy()) for key, (value, _) in zip(keys, values, strict=True)
            ]
            for place, (_, name) in enumerate(self.aggregates):
                yield "_".join([*(called for _, called in values), *([name] if name else [])]), place, exp.and_(*same)

    def _source(self) -> exp.Expr:
        source = self.source.copy()
        source.set("pivots", None)
        return source

    @staticmethod
    def _select(items: Sequence[exp.Expr], source: exp.Expr, groups: Sequence[exp.Expr]) -> exp.Select:
        select = exp.Select(expressions=list(items), from_=exp.From(this=source))
        if groups:
            select.set("group", exp.Group(expressions=[each.copy() for each in groups]))
        return select


def _filtered(aggregate: exp.Expr, when: exp.Expr, title: str) -> exp.Expr:
    return exp.alias_(exp.Filter(this=aggregate.copy(), expression=exp.Where(this=when)), title, quoted=True)


def _key(node: exp.Expr, columns: Mapping[str, Column | None]) -> tuple[exp.Expr, Sequence[tuple[exp.Expr, str]]]:
    """What is compared, and its values with their names."""
    if isinstance(node, exp.In):
        values = [
            (each.this, each.args["alias"].name) if isinstance(each, exp.PivotAlias) else (each, each.name)
            for each in node.expressions
        ]
        if not values or not all(isinstance(value, exp.Literal | exp.Boolean | exp.Cast) for value, _ in values):
            raise QueryError(f"{node.sql(dialect='duckdb')} in PIVOT needs constants: write IN ('a', 'b')")
        return node.this, [(value, name or value.sql(dialect="duckdb").lower()) for value, name in values]
    declared = next((column for name, column in columns.items() if name.casefold() == node.name.casefold()), None)
    if type(node) is exp.Column and declared is not None:
        if declared.keys is not None:
            return node, [(_literal(key), str(key)) for key in sorted(declared.keys, key=order_of)]
        if declared.type == "bool":
            return node, [(exp.Boolean(this=each), str(each).lower()) for each in (False, True)]
    written = node.sql(dialect="duckdb")
    raise QueryError(
        f"PIVOT needs the values of {written}, which are not public: write {written} IN ('a', 'b'), or declare keys of "
        "the column in the policy"
    )


def _literal(key: object) -> exp.Expr:
    if isinstance(key, bool):
        return exp.Boolean(this=key)
    if isinstance(key, int):
        return exp.Literal.number(key)
    text = exp.Literal.string(str(key))
    return text if isinstance(key, str) else exp.cast(text, type(key).__name__.replace("datetime", "timestamp"))


def _named(node: exp.Expr) -> _Tables:
    """What WITH names around a node, the nearest first."""
    named: dict[str, exp.Expr] = {}
    for clause in _clauses(node):
        for each in clause.expressions:
            if not each.args["alias"].args.get("columns"):
                named.setdefault(each.alias.casefold(), each.this)
    return named


def _clauses(node: exp.Expr | None) -> Iterator[exp.Expr]:
    while node is not None:
        if (clause := node.args.get("with_")) is not None:
            yield clause
        node = node.parent
