"""A query over releases, split: the largest sub-queries that are releases, and the rest, which reads what they release.

The rest reads no private table. So all of it is post-processing, whatever it computes. Proof: ``proofs/combined.md``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from sqlglot import exp

from discreet.combined._apart import taken_apart
from discreet.errors import QueryError
from discreet.policy import Policy
from discreet.query import Plan, ReadPublic, match_name, plan_select, refuse, refuse_clauses

__all__ = ["NUMBER", "NoRelease", "PublicTable", "Split", "part_name", "public_name", "split"]

NUMBER = " row"
"""The column of a part's table that numbers its rows."""

_MOST_PARTS = 16
_MOST_TRIED = 10_000
_MOST_NODES = 5_000
"""Of sub-queries that are tried as releases, all together, and of what is written out in place of names of WITH."""


class NoRelease(QueryError):
    """No sub-query of a query is a release."""


@dataclass(frozen=True, slots=True)
class PublicTable:
    """A public table that the rest reads: the policy's name of it, and its columns, of which some may be unread."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Split:
    """The releases that a query combines, the public tables beside them, and the SELECT over both."""

    parts: tuple[Plan, ...]
    tables: tuple[PublicTable, ...]
    rest: exp.Query


@dataclass(frozen=True, slots=True)
class _Named:
    """A common table expression, and those that it can name itself."""

    name: str
    query: exp.Expr
    columns: tuple[exp.Expr, ...]
    known: Mapping[str, _Named]


_Known = Mapping[str, _Named]
_E = TypeVar("_E", bound=exp.Expr)


def split(query: exp.Query, policy: Policy, read: ReadPublic | None) -> Split:
    """Split a parsed query into releases and the rest. Costs nothing.

    Raises `QueryError` for what is neither a release nor reads releases and public tables alone.

    >>> from discreet.policy import load_policy
    >>> columns = {"k": {"type": "string", "keys": ["a", "b"]}}
    >>> policy = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": columns}}})
    >>> query = exp.maybe_parse("SELECT AVG(n) FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) AS g", into=exp.Select)
    >>> split(query, policy, None).rest.sql()
    'SELECT AVG(n) FROM (SELECT c0 AS "k", c1 AS "n" FROM part_0) AS g'
    """
    splitter = _Splitter(policy, read)
    try:
        rest = splitter.rewritten(query, {})
    except QueryError as error:
        if splitter.parts or isinstance(query, exp.SetOperation):
            raise
        raise NoRelease(str(error)) from None
    if not splitter.parts:
        error = QueryError if isinstance(query, exp.SetOperation) else NoRelease
        raise error("the query reads public tables alone, which need no privacy: read them directly")
    return Split(tuple(splitter.parts), tuple(splitter.tables.values()), rest)


def part_name(place: int) -> str:
    """What the rest calls the rows of a part."""
    return f"part_{place}"


def public_name(place: int) -> str:
    """What the rest calls a public table."""
    return f"public_{place}"


@dataclass(frozen=True, slots=True)
class _Reach:
    """The tables of the policy that a query reads in the end, and the common table expressions on the way to them."""

    tables: frozenset[str]
    named: tuple[_Named, ...]


@dataclass(slots=True)
class _Splitter:
    policy: Policy
    read: ReadPublic | None
    parts: list[Plan] = field(default_factory=list[Plan])
    tables: dict[str, PublicTable] = field(default_factory=dict[str, PublicTable])
    _places: dict[str, int] = field(default_factory=dict[str, int])
    _tried: int = 0
    _nodes: int = 0
    _named: dict[int, tuple[exp.Expr, _Known]] = field(default_factory=dict[int, tuple[exp.Expr, _Known]])
    _reached: dict[int, _Reach] = field(default_factory=dict[int, _Reach])
    _written: dict[int, exp.Query] = field(default_factory=dict[int, exp.Query])
    _used: set[int] = field(default_factory=set[int])

    def rewritten(self, node: exp.Query, known: _Known) -> exp.Query:
        """The query over parts and public tables that stands for one over the policy's tables."""
        if isinstance(node, exp.Subquery):
            refuse_clauses(node, ("this", "alias"), "a sub-query")
            return self.rewritten(node.this, known)
        inside = self._inside(node, known)
        if isinstance(node, exp.SetOperation):
            new = self._of_set(node, inside)
        elif isinstance(node, exp.Select):
            new = self._of_select(node, known, inside)
        else:
            raise refuse(type(node).__name__.upper(), type(node).__name__.upper())
        for name, each in inside.items():
            if known.get(name) is not each and id(each) not in self._used:
                raise QueryError(f"WITH {each.name} is never read; write the query without it")
        return new

    def _of_set(self, node: exp.SetOperation, inside: _Known) -> exp.Query:
        known = ("this", "expression", "with_", "distinct", "order", "limit", "offset")
        refuse_clauses(node, known, type(node).__name__.upper())
        new = type(node)(
            this=_operand(self.rewritten(node.this, inside)),
            expression=_operand(self.rewritten(node.expression, inside)),
            distinct=node.args.get("distinct"),
        )
        for name in ("order", "limit", "offset"):
            if (clause := node.args.get(name)) is not None:
                new.set(name, self._over(clause, inside))
        return new

    def _of_select(self, node: exp.Select, known: _Known, inside: _Known) -> exp.Query:
        reach = self._reach(node, known)
        if any(not self.policy.tables[table].public for table in reach.tables):
            plan = self._planned(_closed(node, reach, known))
            if not isinstance(plan, QueryError):
                self._used |= {id(each) for each in reach.named}
                return _selected(part_name(self._place(plan)), plan.schema.names)
            if (apart := self._apart(node, inside)) is not None:
                return apart
            if any(self._is_private(table) for table in _own_tables(node) if table.name.casefold() not in inside):
                raise plan
        return self._over(_without_with(node.copy()), inside)

    def _apart(self, node: exp.Select, inside: _Known) -> exp.Query | None:
        """What stands for a SELECT that is taken apart; None if that is no query over releases."""
        apart = taken_apart(node, self._columns(node, inside))
        if apart is None:
            return None
        before = list(self.parts), dict(self.tables), dict(self._places), dict(self._written), set(self._used)
        try:
            return self._over(_without_with(apart), inside)
        except QueryError:
            self.parts, self.tables, self._places, self._written, self._used = before
            return None

    def _columns(self, node: exp.Select, inside: _Known) -> set[str]:
        """The names, in small letters, of all columns that a SELECT could read, and of more."""
        named = list(_all_named(inside))
        names = {name for table in self.policy.tables.values() for name in table.columns}
        names |= {column.name for each in named for column in each.columns}
        for tree in [node.args.get("from_"), *(node.args.get("joins") or ()), *(each.query for each in named)]:
            if isinstance(tree, exp.Expr):
                names |= {alias.alias for alias in tree.find_all(exp.Alias)}
                tables = tree.find_all(exp.TableAlias)
                names |= {column.name for alias in tables for column in alias.args.get("columns") or ()}
        return {name.casefold() for name in names}

    def _planned(self, select: exp.Select) -> Plan | QueryError:
        """The plan of a sub-query that is a release, or why it is none."""
        self._tried += sum(1 for _ in select.walk())
        if self._tried > _MOST_TRIED:
            raise QueryError("the query has too many sub-queries to look for releases among them; write fewer")
        try:
            return plan_select(select, self.policy, self.read)
        except QueryError as error:
            return error

    def _place(self, plan: Plan) -> int:
        """The place of a release among the parts: that of one which differs in the names of its columns alone."""
        digest = replace(plan, sql=_without_names(plan.sql)).hash(self.policy)
        if digest not in self._places:
            if len(self.parts) == _MOST_PARTS:
                raise QueryError(f"the query combines more than {_MOST_PARTS} releases; write fewer at once")
            self._places[digest] = len(self.parts)
            self.parts.append(plan)
        return self._places[digest]

    def _over(self, tree: _E, known: _Known) -> _E:
        """A copy of a tree with what stands for them in place of its sub-queries and tables."""
        tree = tree.copy()
        below: list[exp.Expr] = [tree]
        while below:
            for child in list(below.pop().iter_expressions()):
                if isinstance(child, exp.Select | exp.SetOperation):
                    child.replace(self.rewritten(child, known))
                elif isinstance(child, exp.Table):
                    child.replace(self._table(child, known))
                else:
                    below.append(child)
        return tree

    def _table(self, node: exp.Table, known: _Known) -> exp.Expr:
        _check_table(node)
        if (named := known.get(node.name.casefold())) is not None:
            name, inner = named.name, self._of_named(named).copy()
        else:
            name = self._policy_name(node)
            if not self.policy.tables[name].public:
                raise QueryError(
                    f"{name} is a table about people, and is read here beside releases: its rows would be shown, or "
                    "counted without a charge; write a query with statistics of it, as a sub-query"
                )
            table = self.tables.setdefault(name, PublicTable(name, tuple(self.policy.tables[name].columns)))
            inner = _selected(public_name(list(self.tables).index(name)), table.columns)
        self._nodes += sum(1 for _ in inner.walk())
        if self._nodes > _MOST_NODES:
            raise QueryError(f"the query is too large: its sub-queries, written out, have over {_MOST_NODES:,} parts")
        given = node.args.get("alias")
        alias = exp.TableAlias() if given is None else given.copy()
        if alias.this is None:
            alias.set("this", exp.to_identifier(name, quoted=True))
        joins = [self._over(join, known) for join in node.args.get("joins") or ()]
        return exp.Subquery(this=inner, alias=alias, joins=joins or None)

    def _of_named(self, named: _Named) -> exp.Query:
        """What stands for a common table expression, worked out once."""
        self._used.add(id(named))
        if id(named) not in self._written:
            if not isinstance(named.query, exp.Query):
                raise refuse("a common table expression that is not a query", "TABLE")
            inner = self.rewritten(named.query, named.known)
            if named.columns:
                alias = exp.TableAlias(this=exp.to_identifier(named.name, quoted=True), columns=list(named.columns))
                inner = exp.Select(expressions=[exp.Star()], from_=exp.From(this=exp.Subquery(this=inner, alias=alias)))
            self._written[id(named)] = inner
        return self._written[id(named)]

    def _policy_name(self, node: exp.Table) -> str:
        return match_name(node.name, self.policy.tables, "the policy", "table")

    def _is_private(self, node: exp.Table) -> bool:
        return not self.policy.tables[self._policy_name(node)].public

    def _inside(self, node: exp.Expr, known: _Known) -> _Known:
        """The common table expressions that a query can name, those around it with its own."""
        clause = node.args.get("with_")
        if clause is None:
            return known
        if id(clause) not in self._named:
            if clause.args.get("recursive"):
                raise refuse("WITH RECURSIVE", "RECURSIVE")
            inside = dict(known)
            for each in clause.expressions:
                refuse_clauses(each, ("this", "alias", "materialized"), "a common table expression")
                columns = tuple(each.args["alias"].args.get("columns") or ())
                inside[each.alias.casefold()] = _Named(each.alias, each.this, columns, dict(inside))
            self._named[id(clause)] = clause, inside
        return self._named[id(clause)][1]

    def _reach(self, node: exp.Expr, known: _Known) -> _Reach:
        tables, named = set[str](), dict[int, _Named]()
        below = [(node, self._inside(node, known))]
        while below:
            tree, here = below.pop()
            for name, value in tree.args.items():
                for child in value if isinstance(value, list) else [value]:  # pyright: ignore[reportUnknownVariableType]
                    if not isinstance(child, exp.Expr) or name == "with_":
                        continue
                    below.append((child, self._inside(child, here)))
            if isinstance(tree, exp.Table):
                _check_table(tree)
                if (each := here.get(tree.name.casefold())) is None:
                    tables.add(self._policy_name(tree))
                    continue
                if id(each) not in self._reached:
                    self._reached[id(each)] = self._reach(each.query, each.known)
                inner = self._reached[id(each)]
                tables |= inner.tables
                named |= {id(one): one for one in (*inner.named, each)}
        return _Reach(frozenset(tables), tuple(named.values()))


def _closed(node: exp.Select, reach: _Reach, known: _Known) -> exp.Select:
    """A SELECT with the common table expressions around it that it reads."""
    around = {id(each) for each in _all_named(known)}
    needed = [each for each in reach.named if id(each) in around]
    if not needed:
        return node
    if len({each.name.casefold() for each in needed}) < len(needed):
        raise QueryError("two common table expressions have one name; give each a name of its own")
    own = node.args.get("with_")
    closed = node.copy()
    expressions = [
        exp.CTE(
            this=each.query.copy(),
            alias=exp.TableAlias(
                this=exp.to_identifier(each.name, quoted=True), columns=[one.copy() for one in each.columns] or None
            ),
        )
        for each in needed
    ]
    expressions += [] if own is None else [each.copy() for each in own.expressions]
    closed.set("with_", exp.With(expressions=expressions))
    return closed


def _without_with(select: exp.Select) -> exp.Select:
    select.set("with_", None)
    return select


def _all_named(known: _Known) -> Iterator[_Named]:
    seen, left = set[int](), list(known.values())
    while left:
        each = left.pop()
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            left += each.known.values()


def _without_names(sql: str) -> str:
    """A canonical query with numbers in place of its columns' names, which nothing else in it names."""
    select = exp.maybe_parse(sql, into=exp.Select)
    for i, item in enumerate(select.expressions):
        item.set("alias", exp.to_identifier(str(i), quoted=True))
    return select.sql()


def _own_tables(node: exp.Select) -> Iterator[exp.Table]:
    """The tables that a SELECT names itself, not those of its sub-queries."""
    below: list[exp.Expr] = [node]
    while below:
        for child in below.pop().iter_expressions():
            if isinstance(child, exp.Table):
                yield child
            if not isinstance(child, exp.Select | exp.SetOperation | exp.With):
                below.append(child)


def _check_table(node: exp.Table) -> None:
    if not isinstance(node.this, exp.Identifier):
        raise refuse("a FROM that is not a table's name or a sub-query", "TABLE")
    if node.args.get("db") or node.args.get("catalog"):
        raise refuse("a table name with a schema", "TABLE")
    refuse_clauses(node, ("this", "alias", "joins"), "a table")


def _operand(query: exp.Query) -> exp.Query:
    """A query as it stands beside UNION: in parentheses where it has clauses of its own."""
    alone = isinstance(query, exp.Select) and not any(query.args.get(name) for name in ("order", "limit", "offset"))
    return query if alone else exp.Subquery(this=query)


def _selected(table: str, names: Iterable[str]) -> exp.Select:
    items = [exp.alias_(exp.column(f"c{i}"), exp.to_identifier(name, quoted=True)) for i, name in enumerate(names)]
    return exp.Select(expressions=items, from_=exp.From(this=exp.to_table(table)))
