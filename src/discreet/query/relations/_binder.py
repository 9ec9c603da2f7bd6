"""From FROM to relations: tables, joins, sub-queries and common table expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.errors import QueryError
from discreet.policy import ColumnType, Policy
from discreet.query.expressions._types import check_predicate, nullable
from discreet.query.parse._parse import check_block, check_understood, refuse, refuse_clauses
from discreet.query.parse._trees import put
from discreet.query.passes._canonicalize import canonicalize
from discreet.query.passes._conjuncts import conjunction, conjuncts, factored, key_of_condition
from discreet.query.passes._names import Scope, Source, expand_references, match_name, resolve_names, resolved
from discreet.query.passes._sub_queries import Existence, existence
from discreet.query.relations._columns import Columns, stored_field
from discreet.query.relations._group_by import group_rows, is_grouped
from discreet.query.relations._join_order import Condition, Listed, compares_columns, is_unconditional, join_steps
from discreet.query.relations._joins import beside_one, is_linked, join
from discreet.query.relations._nodes import Computed, Filtered, Owned
from discreet.query.relations._scalar_joins import scalar_join
from discreet.query.relations._semi_joins import Tied, semi_join
from discreet.query.relations._unions import stack

__all__ = ["Binder", "source_of"]

_MOST_TABLES = 20
_MOST_PARTS = 5_000

Tables = Mapping[str, "_Named"]


@dataclass(frozen=True, slots=True)
class _Named:
    """A common table expression, and those that it can name itself."""

    name: str
    query: exp.Expr
    columns: tuple[str, ...]
    known: Tables


@dataclass(slots=True)
class Binder:
    """Binds one query against a policy; collects its columns on the way."""

    policy: Policy
    columns: Columns = field(default_factory=Columns)
    _tables: int = 0
    _read: set[int] = field(default_factory=set)

    def read(
        self, select: exp.Select, known: Tables | None = None, outer: Scope | None = None
    ) -> tuple[Owned, Scope, exp.Select]:
        """What a SELECT reads, the names that it can use, and the SELECT without the parts of WHERE that join tables.

        Conditions and values that are sub-queries are joined too. Parts of WHERE that name columns of the query around
        it, whose scope is `outer`, are left as they are. Raises `QueryError` for what is not supported.
        """
        inside = self._named(select, known or {})
        select, tests = _without_tests(select)
        source = select.args.get("from_")
        if source is None:
            raise QueryError("the query has no FROM; say which table it reads")
        items: list[exp.Join] = [*source.this.args.get("joins", []), *select.args.get("joins", [])]
        if any(map(is_unconditional, items)) or self._needs_where(select, source.this, items, inside):
            owned, scope, select = self._listed(select, source.this, items, inside, outer)
        else:
            owned, first = self._source(source.this, inside)
            scope = Scope((first,))
            for item in items:
                owned, scope = self._joined(owned, scope, item, inside)
        for test in tests:
            owned = self._tested(owned, scope, test, inside)
        owned, scope, select = self._with_values(owned, scope, select, inside)
        for name, each in inside.items():
            if (known is None or known.get(name) is not each) and id(each) not in self._read:
                raise QueryError(f"WITH {each.name} is never read; leave it out")
        return owned, scope, select

    def _named(self, select: exp.Expr, known: Tables) -> Tables:
        clause = select.args.get("with_")
        if clause is None:
            return known
        if clause.args.get("recursive"):
            raise refuse("WITH RECURSIVE", "RECURSIVE")
        inside = dict(known)
        for each in clause.expressions:
            refuse_clauses(each, ("this", "alias", "materialized"), "a common table expression")
            named = tuple(column.name for column in each.args["alias"].args.get("columns") or ())
            inside[each.alias.casefold()] = _Named(each.alias, each.this, named, dict(inside))
        return inside

    def _source(self, node: exp.Expr, known: Tables) -> tuple[Owned, Source]:
        renamed = node.args.get("alias")
        names = tuple(column.name for column in renamed.args.get("columns") or ()) if renamed is not None else ()
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Query):
            refuse_clauses(node, ("this", "alias", "joins"), "a sub-query")
            owned, columns = self.query(node.this, known)
            return owned, source_of(node.alias or "the sub-query", "the sub-query", columns, names)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            raise refuse("a FROM that is not a table's name or a sub-query", "TABLE")
        if node.args.get("db") or node.args.get("catalog"):
            raise refuse("a table name with a schema", "TABLE")
        refuse_clauses(node, ("this", "alias", "joins"), "a table")
        if (named := known.get(node.name.casefold())) is not None:
            self._read.add(id(named))
            owned, columns = self.query(named.query, named.known)
            named_source = source_of(named.name, named.name, columns, named.columns)
            return owned, source_of(node.alias or named.name, named.name, named_source.columns, names)
        self._tables += 1
        if self._tables > _MOST_TABLES:
            raise QueryError(f"the query reads more than {_MOST_TABLES} tables")
        table = match_name(node.name, self.policy.tables, "the policy", "table")
        scan, columns = self.columns.scan(self.policy, table)
        declaration = self.policy.tables[table]
        owner = "nobody" if declaration.public else "row" if declaration.by_rows else "person"
        owned = Owned(scan, owner, frozenset(scan.columns), declaration.rows_per_unit, declaration.groups_per_unit)
        source = source_of(node.alias or table, "the policy", columns, names)
        hidden = frozenset(columns) - frozenset(declaration.columns)
        return owned, replace(source, table=table, hidden=hidden)

    def _joined(self, left: Owned, scope: Scope, item: exp.Join, known: Tables) -> tuple[Owned, Scope]:
        side = _side(item)
        right, source = self._beside(scope.sources, item.this, known)
        if side in _HALVES:
            on, _ = _condition(item, scope, source, Scope((*scope.sources, source), scope.merged))
            return self._half(left, right, _understood(_required(on)), side), scope
        if side == "RIGHT":
            left, scope = self._stored(left, scope)
        elif side:
            right, stored = self._stored(right, Scope((source,)))
            source = stored.sources[0]
        beside = Scope((source,))
        ends = (right, left) if side == "RIGHT" else (left, right)
        lost = scope if side == "RIGHT" else beside
        both = Scope((*beside.sources, *scope.sources) if side == "RIGHT" else (*scope.sources, source), scope.merged)
        on, merged = _condition(item, scope, source, both)
        both = replace(both, merged=both.merged | merged)
        owned = join(*ends, _understood(_required(on)), self.columns, outer=bool(side))
        if side:
            for each in lost.sources:
                self.columns.forget_people(each.columns)
        return owned, both

    def _needs_where(self, select: exp.Select, first: exp.Expr, items: Sequence[exp.Join], known: Tables) -> bool:
        """Whether all is inner joins of tables, and WHERE has to tie one about people to another, as ON does not."""
        where = select.args.get("where")
        if where is None or not any(map(compares_columns, conjuncts(where.this))) or any(map(_side, items)):
            return False
        nodes = [first, *(item.this for item in items)]
        if not all(isinstance(node, exp.Table) and node.name.casefold() not in known for node in nodes):
            return False
        alone = Binder(self.policy)
        owned, beside = alone._source(first, known)
        scope, private = Scope((beside,)), [] if owned.owner == "nobody" else [owned]
        for item in items:
            right, source = alone._beside(scope.sources, item.this, known)
            both = Scope((*scope.sources, source), scope.merged)
            on, merged = _condition(item, scope, source, both)
            scope = replace(both, merged=both.merged | merged)
            if right.owner == "person":
                if private and not any(is_linked(each, right, _required(on), alone.columns) for each in private):
                    return True
                private.append(right)
        return False

    def _beside(self, sources: Sequence[Source], node: exp.Expr, known: Tables) -> tuple[Owned, Source]:
        """A table beside others, under an alias that none of them has."""
        right, source = self._source(node, known)
        if node.args.get("joins"):
            raise refuse("a join inside the parentheses of another")
        if any(source.alias.casefold() == each.alias.casefold() for each in sources):
            raise QueryError(f"two tables are called {source.alias}; give each an alias of its own")
        return right, source

    def _listed(
        self, select: exp.Select, first: exp.Expr, items: Sequence[exp.Join], known: Tables, outer: Scope | None
    ) -> tuple[Owned, Scope, exp.Select]:
        """The tables of FROM, joined on equalities of ON and WHERE in an order of their own, and the rest of WHERE."""
        nodes = [first, *(item.this for item in items)]
        owned: dict[int, Owned] = {}
        sources: dict[int, Source] = {}
        order = sorted(range(len(nodes)), key=lambda i: ((nodes[i].name or nodes[i].alias).casefold(), i))
        for i in order:  # the names of columns, and so the plan, hang on no other order
            owned[i], sources[i] = self._beside(tuple(sources.values()), nodes[i], known)
            side = _side(items[i - 1]) if i else ""
            if side == "RIGHT":
                raise QueryError(
                    "RIGHT JOIN beside a comma or CROSS JOIN is not supported: write LEFT JOIN with its tables turned "
                    "round, or a sub-query of the two"
                )
            if side == "LEFT":
                owned[i], stored = self._stored(owned[i], Scope((sources[i],)))
                sources[i] = stored.sources[0]
        scope = Scope((sources[0],))
        conditions: list[Condition] = []
        later: dict[int, exp.Expr] = {}
        for i, item in enumerate(items, 1):
            both = Scope((*scope.sources, sources[i]), scope.merged)
            on, merged = _condition(item, scope, sources[i], both)
            if _side(item) not in _HALVES:
                scope = replace(both, merged=both.merged | merged)
            if _side(item):
                later[i] = _required(on)
            elif on is not None:
                conditions += [Condition(part) for part in factored(on, key_of_condition)]
        ties, others = _of_where(select, scope, outer)
        conditions += ties
        tables = [Listed(sources[i].alias, owned[i], later.get(i)) for i in order]
        steps, left = join_steps(tables, conditions, self.columns)
        joined = owned[order[steps[0].place]]
        for step in steps[1:]:
            on = conjunction(step.on)
            place = order[step.place]
            if on is None:
                joined = beside_one(joined, owned[place])
                continue
            side, right, on = _side(items[place - 1]) if step.later else "", owned[place], _understood(on)
            if side in _HALVES:
                joined = self._half(joined, right, on, side)
                continue
            joined = join(joined, right, on, self.columns, outer=bool(side))
            if side:
                self.columns.forget_people(sources[place].columns)
        if (rest := conjunction([each.node for each in left if each.written is None])) is not None:
            joined = self.filtered(joined, _understood(rest))
        body = select.copy()
        where = conjunction([*(each.written for each in left if each.written is not None), *others])
        body.set("where", None if where is None else exp.Where(this=where))
        return joined, scope, body

    def _stored(self, owned: Owned, scope: Scope) -> tuple[Owned, Scope]:
        """What a join may make null, with a column in place of each expression: what is computed is null there too."""
        added: dict[str, tuple[exp.Expr, ColumnType]] = {}
        sources: list[Source] = []
        for source in scope.sources:
            columns = dict(source.columns)
            for name, node in columns.items():
                if not isinstance(node.unnest(), exp.Column):
                    field = stored_field(node, self.columns)
                    column = self.columns.add(name, field)
                    added[column] = node, field.type
                    columns[name] = exp.column(exp.to_identifier(column, quoted=True))
            sources.append(replace(source, columns=columns))
        if not added:
            return owned, scope
        computed = Computed(owned.relation, added)
        return replace(owned, relation=computed, names=owned.names | added.keys()), replace(
            scope, sources=tuple(sources)
        )

    def query(self, node: exp.Expr, known: Tables) -> tuple[Owned, dict[str, exp.Expr]]:
        """A sub-query: its relation, and for each column of its result the expression that it stands for."""
        if isinstance(node, exp.Subquery):
            refuse_clauses(node, ("this",), "a sub-query")
            return self.query(node.this, known)
        if isinstance(node, exp.SetOperation):
            if not isinstance(node, exp.Union) or node.args.get("distinct"):
                word = "UNION, which drops repeats," if isinstance(node, exp.Union) else type(node).__name__.upper()
                raise refuse(word, "UNION")
            refuse_clauses(node, ("this", "expression", "distinct", "with_"), "UNION ALL")
            inside = self._named(node, known)
            return stack(self.query(node.left, inside), self.query(node.right, inside), self.columns)
        if not isinstance(node, exp.Select):
            raise refuse(f"{node.sql()} as a sub-query")
        owned, select, _ = self._block(node, known)
        if is_grouped(select):
            owned, select = group_rows(select, owned, self.columns)
        outputs: dict[str, exp.Expr] = {}
        taken: set[str] = set()
        for item in select.expressions:
            name = item.alias or item.name
            if not name:
                raise QueryError(f"give {item.sql()} a name with AS: a sub-query's columns need one")
            if name.casefold() in taken:
                raise QueryError(f"two columns of a sub-query are called {name}")
            taken.add(name.casefold())
            outputs[name] = item.unalias()
        if sum(1 for output in outputs.values() for _ in output.walk()) > _MOST_PARTS:
            raise QueryError(f"the sub-queries add up to more than {_MOST_PARTS:,} parts")
        return owned, outputs

    def _block(
        self, node: exp.Select, known: Tables, outer: Scope | None = None
    ) -> tuple[Owned, exp.Select, list[exp.Expr]]:
        """The rows of a sub-query, its SELECT with resolved names, and what ties it to the query around it."""
        check_block(node, nested=True)
        owned, scope, body = self.read(node, known, outer)
        ties: list[exp.Expr] = []
        if outer is not None and (where := body.args.get("where")) is not None:
            parts = list(factored(where.this, key_of_condition))
            correlated = [part for part in parts if _names_outer(part, scope, outer)]
            ties = [_understood(resolved(part, replace(scope, outer=outer))) for part in correlated]
            rest = conjunction([part for part in parts if not _names_outer(part, scope, outer)])
            body = body.copy()
            body.set("where", None if rest is None else exp.Where(this=rest))
        select = canonicalize(expand_references(resolve_names(body, scope)))
        check_understood(select, distinct=True)
        where = select.args.get("where")
        if where is not None:
            owned = self.filtered(owned, where.this)
        return owned, select, ties

    def _half(self, left: Owned, right: Owned, on: exp.Expr, side: str) -> Owned:
        word = f"{side} JOIN ON {on.sql()}"
        return semi_join(left, Tied(right, list(conjuncts(on)), word), self.columns, missing=side == "ANTI")

    def _tested(self, owned: Owned, scope: Scope, test: Existence, known: Tables) -> Owned:
        """The rows that satisfy a condition with a sub-query."""
        right, values, ties = self._right(scope, test, known)
        operands = [_understood(resolved(operand, scope)) for operand in test.operands]
        if len(values) != len(operands):
            raise QueryError(
                f"{test.word} compares {len(operands)} with {len(values)} columns; write as many in its SELECT"
            )
        pairs = list(zip(operands, values, strict=True))
        parts = [test.compares(this=operand.copy(), expression=value.copy()) for operand, value in pairs]
        owned = semi_join(owned, Tied(right, [*ties, *parts], test.word), self.columns, missing=test.missing)
        if not (test.missing and pairs):
            return owned
        if len(pairs) > 1:
            raise QueryError(f"{test.word} compares several values, any of which may be null; write NOT EXISTS")
        linked = any(self.columns.linked(operand) & self.columns.linked(value) for operand, value in pairs)
        for node in (side for pair in pairs for side in pair if self._may_be_null(side)):
            null = exp.Is(this=node.copy(), expression=exp.Null())
            if not linked:
                owned = semi_join(owned, Tied(right, [*ties, null], test.word), self.columns, missing=True)
            elif node is operands[0]:
                owned = self.filtered(owned, exp.Not(this=null))
        return owned

    def _may_be_null(self, node: exp.Expr) -> bool:
        if self.columns.linked(node) and node.unnest().name not in self.columns.fields:
            return False
        return nullable(node, self.columns.fields)

    def _right(self, scope: Scope, test: Existence, known: Tables) -> tuple[Owned, list[exp.Expr], list[exp.Expr]]:
        """The rows of a sub-query in a condition, the values that are compared, and what else ties it to the query."""
        query = test.query
        if not isinstance(query, exp.Select):
            right, outputs = self.query(query, known)
            return right, list(outputs.values()) if test.operands else [], []
        query = query.copy()
        query.set("distinct", None)  # a row that is there twice is there
        if not test.operands:
            if any(query.args.get(name) for name in ("group", "having")) or _aggregates(query):
                raise QueryError(
                    f"{test.word} groups or aggregates; write IN (SELECT key … GROUP BY key HAVING …) with what it is "
                    "tied to the query by"
                )
            query.set("expressions", [exp.alias_(exp.Literal.number(1), "one")])
        right, select, ties = self._block(query, known, scope)
        if is_grouped(select):
            if ties:
                raise QueryError(
                    f"{test.word} groups, and names columns of the query around it; compare them with columns of its "
                    "GROUP BY: (a, b) IN (SELECT x, y … GROUP BY x, y)"
                )
            right, select = group_rows(select, right, self.columns)
        return right, [item.unalias() for item in select.expressions] if test.operands else [], ties

    def _with_values(
        self, owned: Owned, scope: Scope, select: exp.Select, known: Tables
    ) -> tuple[Owned, Scope, exp.Select]:
        """The rows with the values of sub-queries in WHERE, SELECT and GROUP BY, and the SELECT with names for them."""
        select = select.copy()
        clauses = [*select.expressions, select.args.get("where"), select.args.get("group")]
        queries = [node for clause in clauses if clause is not None for node in _outermost_queries(clause)]
        names: dict[str, str] = {}
        for query in queries:
            node: exp.Expr = query
            if isinstance(query.parent, exp.In | exp.Exists | exp.Any | exp.All):
                node = query.parent
                if not _is_flag(node):
                    raise _misplaced(query)
            elif not isinstance(query, exp.Subquery):
                raise _misplaced(query)
            if (text := node.sql()) not in names:
                names[text] = f"value {len(names) + 1} of a sub-query"
                owned, value = (
                    self._value(owned, scope, node, known)
                    if isinstance(node, exp.Subquery)
                    else self._flag(owned, scope, node, known)
                )
                source = Source(names[text], "the sub-query", {"value": value}, implicit=True)
                scope = replace(scope, sources=(*scope.sources, source))
            put(node, exp.column(exp.to_identifier("value", quoted=True), exp.to_identifier(names[text], quoted=True)))
        return owned, scope, select

    def _flag(self, owned: Owned, scope: Scope, node: exp.Expr, known: Tables) -> tuple[Owned, exp.Expr]:
        """The rows with whether a sub-query has a row for each: whether there are any, counted like other values."""
        test = existence(node)
        assert test is not None
        right, values, ties = self._right(scope, test, known)
        operands = [_understood(resolved(operand, scope)) for operand in test.operands]
        if len(values) != len(operands):
            raise QueryError(
                f"{test.word} compares {len(operands)} with {len(values)} columns; write as many in its SELECT"
            )
        same = [exp.EQ(this=here.copy(), expression=there.copy()) for here, there in zip(operands, values, strict=True)]
        tied = Tied(right, [*ties, *same], test.word)
        owned, number = scalar_join(owned, tied, exp.Count(this=exp.Star()), self.columns)
        return owned, exp.paren(exp.GT(this=number, expression=exp.Literal.number(0)), copy=False)

    def _value(self, owned: Owned, scope: Scope, node: exp.Subquery, known: Tables) -> tuple[Owned, exp.Expr]:
        """The rows with the value of a sub-query, and the expression that it is."""
        query = node.unnest()
        refuse_clauses(node, ("this",), "a sub-query")
        if not isinstance(query, exp.Select) or len(query.expressions) != 1:
            raise QueryError(f"{node.sql()} is no single value; write a SELECT of one aggregate")
        query = query.copy()
        if not _aggregates(query):
            query.set("distinct", None)  # of several values the least is taken, and of one it is that one
        for clause in ("group", "having", "distinct"):
            if query.args.get(clause):
                raise QueryError(
                    f"{node.sql()} groups, so that it may have many rows where one value is needed; write WHERE to tie "
                    "it to the query, as in (… WHERE o.customer_id = c.id), without its own groups"
                )
        right, select, ties = self._block(query, known, scope)
        if len(select.expressions) != 1:
            raise QueryError(f"{node.sql()} has {len(select.expressions)} columns where one value is needed; name one")
        return scalar_join(owned, Tied(right, ties, node.sql()), select.expressions[0].unalias(), self.columns)

    def filtered(self, owned: Owned, condition: exp.Expr) -> Owned:
        """The rows that satisfy a condition of WHERE."""
        self.columns.check(condition)
        check_predicate(condition, self.columns.fields)
        return replace(owned, relation=Filtered(owned.relation, condition))


_HALVES = ("SEMI", "ANTI")
"""Joins after which the columns of the right side cannot be named."""


def _side(item: exp.Join) -> str:
    """LEFT, RIGHT, SEMI, ANTI, or nothing of an inner join. Raises `QueryError` for other kinds of joins."""
    method = item.method
    if method not in ("", "NATURAL"):
        raise refuse(f"{method} JOIN", method)
    refuse_clauses(item, ("this", "on", "using", "side", "kind", "method"), "JOIN")
    side, kind = item.side.upper(), item.kind.upper()
    if kind in _HALVES and side in ("", "LEFT"):
        return kind
    cross = kind == "CROSS" and not (side or method or item.args.get("on") or item.args.get("using"))
    if side not in ("", "LEFT", "RIGHT") or not (cross or kind in ("", "INNER", "OUTER")):
        raise refuse(" ".join(word for word in (side, kind, "JOIN") if word), kind or side)
    return side


def _required(on: exp.Expr | None) -> exp.Expr:
    if on is None:
        raise QueryError("JOIN needs ON or USING, which says what belongs together")
    return on


def _condition(item: exp.Join, scope: Scope, source: Source, both: Scope) -> tuple[exp.Expr | None, frozenset[str]]:
    """What ON, USING or NATURAL asks for, its names resolved, and the names that it makes one; None for nothing."""
    using = [column.name for column in item.args.get("using") or ()]
    if item.method:
        using = _shared_names(scope, source)
    if using:
        pairs = [_same_name(name, scope, Scope((source,))) for name in using]
        on = exp.and_(*(exp.EQ(this=here.copy(), expression=there.copy()) for here, there in pairs))
        return on, frozenset(name.casefold() for name in using)
    on = item.args.get("on")
    if on is not None and (query := on.find(exp.Query)) is not None:
        raise QueryError(f"ON has the sub-query {query.sql()}; write it as a condition of WHERE, or join it")
    return None if on is None else resolved(on, both), frozenset()


def _shared_names(scope: Scope, source: Source) -> list[str]:
    """The columns that NATURAL JOIN compares, in the order of the left side."""
    names = dict.fromkeys(name for each in scope.sources for name in each.columns if name.casefold() in source.folded)
    if not names:
        raise QueryError(
            f"NATURAL JOIN with {source.alias}: no column of it has the name of one on the left; write JOIN … ON"
        )
    return list({name.casefold(): name for name in names}.values())


def _understood(on: exp.Expr) -> exp.Expr:
    """A condition in its canonical spelling."""
    alone = canonicalize(exp.Select(expressions=[on]))
    check_understood(alone)
    return alone.expressions[0]


def _of_where(select: exp.Select, scope: Scope, outer: Scope | None) -> tuple[list[Condition], list[exp.Expr]]:
    """The parts of WHERE that all have to hold, and those with sub-queries or names of the query around."""
    where = select.args.get("where")
    if where is None:
        return [], []
    others = [part for part in conjuncts(where.this) if _is_apart(part, scope, outer)]
    own = conjunction([part for part in conjuncts(where.this) if not _is_apart(part, scope, outer)])
    if own is None:
        return [], others
    resolved(own, scope)  # all parts together are no larger than a query may be
    parts = factored(own, lambda part: key_of_condition(resolved(part, scope)))
    return [Condition(resolved(part, scope), part) for part in parts], others


def _is_apart(part: exp.Expr, scope: Scope, outer: Scope | None) -> bool:
    return part.find(exp.Query) is not None or (outer is not None and _names_outer(part, scope, outer))


def _names_outer(part: exp.Expr, scope: Scope, outer: Scope) -> bool:
    """Whether a condition names a column that only the query around has."""
    return any(not scope.knows(column) and outer.knows(column) for column in part.find_all(exp.Column))


def _without_tests(select: exp.Select) -> tuple[exp.Select, list[Existence]]:
    """A SELECT without the conditions of WHERE that are sub-queries, and these."""
    where = select.args.get("where")
    if where is None or where.find(exp.Query) is None:
        return select, []
    tests: list[Existence] = []
    rest: list[exp.Expr] = []
    for part in conjuncts(where.this):
        if part.find(exp.Query) is not None and (test := existence(part)) is not None:
            tests.append(test)
        else:
            rest.append(part)
    body = select.copy()
    left = conjunction(rest)
    body.set("where", None if left is None else exp.Where(this=left))
    return body, tests


def _outermost_queries(clause: exp.Expr) -> list[exp.Expr]:
    """The sub-queries of a clause that are in no other."""
    return [node for node in clause.find_all(exp.Query) if (node.find_ancestor(exp.Query) is None or _is_top(node))]


def _is_top(node: exp.Expr) -> bool:
    above = node.find_ancestor(exp.Query)
    return above is not None and above.parent is None and isinstance(above, exp.Select)


def _is_flag(node: exp.Expr) -> bool:
    """Whether a condition with a sub-query is true or false: EXISTS, and IN where null is as good as false."""
    if isinstance(node, exp.Exists):
        return True
    if not isinstance(node, exp.In):
        return False
    above: exp.Expr = node
    while isinstance(above.parent, exp.And | exp.Or | exp.Paren):
        above = above.parent
    if isinstance(above.parent, exp.Where):
        return True
    case = above.parent.parent if isinstance(above.parent, exp.If) and above.arg_key == "this" else None
    return case is not None and not (isinstance(case, exp.Case) and case.this is not None)


def _misplaced(node: exp.Expr) -> QueryError:
    above = node.parent if isinstance(node.parent, exp.In | exp.Exists | exp.Any | exp.All) else node
    written = (above.parent if isinstance(above, exp.Any | exp.All) and above.parent is not None else above).sql()
    return QueryError(
        f"{written} is supported as a condition of WHERE that all rows have to satisfy, not inside OR, CASE or SELECT; "
        "write two queries, or a LEFT JOIN with a sub-query that groups by the person"
    )


def _aggregates(select: exp.Select) -> bool:
    """Whether the SELECT list has an aggregate of its own."""
    return any(
        node.find_ancestor(exp.Query) is select for item in select.expressions for node in item.find_all(exp.AggFunc)
    )


def source_of(alias: str, what: str, columns: Mapping[str, exp.Expr], *renamings: tuple[str, ...]) -> Source:
    """A source with the columns that it has, or with those that its aliases rename one by one, the first ones first."""
    for names in renamings:
        if len(names) > len(columns):
            raise QueryError(f"{alias} has {len(columns)} columns, and its alias names {len(names)}")
        renamed = [*names, *list(columns)[len(names) :]]
        if len({name.casefold() for name in renamed}) != len(renamed):
            raise QueryError(f"two columns of {alias} have one name")
        columns = dict(zip(renamed, columns.values(), strict=True))
    return Source(alias, what, dict(columns))


def _same_name(name: str, left: Scope, right: Scope) -> tuple[exp.Expr, exp.Expr]:
    """What a name in USING stands for on either side."""
    column = exp.column(exp.to_identifier(name, quoted=True))
    sides = [(scope, scope.find(column)) for scope in (left, right)]
    for scope, node in sides:
        if node is None:
            raise scope.missing(column)
    (_, here), (_, there) = sides
    assert here is not None
    assert there is not None
    return here, there
