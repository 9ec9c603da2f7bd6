"""Queries of the catalogue in the dialect of the database in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from discreet.errors import QueryError
from discreet.server.postgres.catalogue._calls import TABLE_FUNCTIONS, function_name
from discreet.server.postgres.catalogue._database import SCHEMA
from discreet.server.postgres.catalogue._expressions import Expressions
from discreet.server.postgres.catalogue._names import output_name
from discreet.server.postgres.catalogue._nodes import call, only, refuse
from discreet.server.postgres.catalogue._scopes import Item, Scope, Session, Source

__all__ = ["Queries"]

_CALLER = {"pg_roles": "rolname", "pg_user": "usename", "enabled_roles": "role_name"}
"""Where the caller's role stands, and the column that names it."""
_OPEN = "$role"
_SELECT = ("expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_",
           "laterals")  # fmt: skip
_SET = ("this", "expression", "distinct", "order", "limit", "offset", "with_", "by_name", "side", "kind", "on")
_MAX_COLUMNS = 1_600
"""PostgreSQL's own limit, which * in nested queries would soon be past."""
_KINDS = ("", "INNER", "OUTER", "CROSS")
_SIDES = ("", "LEFT", "RIGHT", "FULL")


class Queries:
    """Translates queries; see `Expressions` for what stands in them."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._expressions = Expressions(session, self)

    @property
    def parameters(self) -> Mapping[int, str]:
        """The types that parameters are taken for, by their numbers."""
        return self._expressions.parameters

    def query(self, node: exp.Expr, outer: Scope | None) -> tuple[exp.Query, tuple[Item, ...]]:
        """A query in DuckDB's dialect, and its columns. Raises `QueryError` for what is not listed."""
        while isinstance(node, exp.Subquery | exp.Paren):
            only(node, "this")
            node = node.this
        scope = Scope(outer)
        tables = self._with(node.args.get("with_"), scope)
        match node:
            case exp.Select():
                query, items = self._select(node, scope)
            case exp.SetOperation():
                query, items = self._set(node, scope)
            case exp.Values():
                query, items = self._values(node, scope)
            case _:
                raise refuse(type(node).__name__.upper())
        if tables is not None:
            query.set("with_", tables)
        return query, items

    def _with(self, node: exp.Expr | None, scope: Scope) -> exp.With | None:
        if node is None:
            return None
        only(node, "expressions", "recursive")
        tables = list[exp.Expr]()
        for each in node.expressions:
            only(each, "this", "alias", "materialized")
            alias: exp.Expr = each.args["alias"]
            only(alias, "this", "columns")
            named = [column.name for column in alias.args.get("columns") or ()]
            name = alias.name
            if node.args.get("recursive") and isinstance(each.this, exp.SetOperation):
                _, first = self.query(each.this.this, scope)
                scope.ctes[name] = _renamed(first, named)
            query, items = self.query(each.this, scope)
            scope.ctes[name] = _renamed(items, named)
            tables.append(exp.CTE(this=query, alias=_alias(name, [item.name for item in scope.ctes[name]])))
        return exp.With(expressions=tables, recursive=bool(node.args.get("recursive")))

    def _set(self, node: exp.SetOperation, scope: Scope) -> tuple[exp.Query, tuple[Item, ...]]:
        only(node, *_SET)
        left, items = self.query(node.this, scope)
        right, others = self.query(node.expression, scope)
        if len(items) != len(others):
            raise QueryError("each UNION query must have the same number of columns")
        types = (
            Item(item.name, item.type if item.type not in (None, "unknown") else other.type)
            for item, other in zip(items, others, strict=False)
        )
        items = tuple(types)
        built = type(node)(this=_operand(left), expression=_operand(right), distinct=node.args.get("distinct"))
        inner = Scope(scope.outer, [Source("", items)], scope.ctes)
        self._tail(node, built, inner)
        return built, items

    def _values(self, node: exp.Values, scope: Scope) -> tuple[exp.Query, tuple[Item, ...]]:
        only(node, "expressions", "alias")
        rows = [
            [
                self._expressions.translate(each, scope)
                for each in (row.expressions if isinstance(row, exp.Tuple) else [row])
            ]
            for row in node.expressions
        ]
        if len({len(row) for row in rows}) != 1:
            raise QueryError("VALUES lists must all be the same length")
        items = tuple(Item(f"column{i}", kind) for i, (_, kind) in enumerate(rows[0], 1))
        selects = [
            exp.Select(expressions=[_aliased(value, item.name) for (value, _), item in zip(row, items, strict=True)])
            for row in rows
        ]
        query: exp.Query = selects[0]
        for each in selects[1:]:
            query = exp.Union(this=query, expression=each, distinct=False)
        return query, items

    def _select(self, node: exp.Select, scope: Scope) -> tuple[exp.Query, tuple[Item, ...]]:
        only(node, *_SELECT)
        select = exp.Select()
        from_ = node.args.get("from_")
        if from_ is not None:
            only(from_, "this")
            select.set("from_", exp.From(this=self._source(from_.this, scope)))
        joins = [self._join(each, scope) for each in node.args.get("joins") or ()]
        laterals = node.args.get("laterals") or ()
        joins += [exp.Join(this=self._source(lateral, scope), kind="CROSS") for lateral in laterals]
        select.set("joins", joins)
        where = node.args.get("where")
        if where is not None:
            select.set("where", exp.Where(this=self._expressions.value(where.this, scope)))
        items, projections = list[Item](), list[exp.Expr]()
        for each in node.expressions:
            for value, item in self._projection(each, scope):
                projections.append(_aliased(value, item.name))
                items.append(item)
        if len(items) > _MAX_COLUMNS:
            raise QueryError(f"a query of the catalogue has at most {_MAX_COLUMNS:,} columns; name those that you need")
        select.set("expressions", projections or [_aliased(exp.Null(), "nothing")])
        self._grouped(node, select, scope, items)
        distinct = node.args.get("distinct")
        if distinct is not None:
            only(distinct, "on")
            on = distinct.args.get("on")
            select.set("distinct", exp.Distinct(on=on and self._expressions.value(on, scope)))
        ordered = Scope(scope, [Source("", tuple(items))])
        self._tail(node, select, ordered)
        return select, tuple(items)

    def _grouped(self, node: exp.Select, select: exp.Select, scope: Scope, items: Sequence[Item]) -> None:
        group = node.args.get("group")
        if group is not None:
            only(group, "expressions")
            named = Scope(scope.outer, [*scope.sources, Source("", tuple(items))], scope.ctes)
            keys = [self._expressions.value(each, named) for each in group.expressions]
            select.set("group", exp.Group(expressions=keys))
        having = node.args.get("having")
        if having is not None:
            select.set("having", exp.Having(this=self._expressions.value(having.this, scope)))

    def _tail(self, node: exp.Expr, built: exp.Query, scope: Scope) -> None:
        order = node.args.get("order")
        if order is not None:
            built.set("order", self._ordered(order, scope))
        for name in ("limit", "offset"):
            clause = node.args.get(name)
            if isinstance(clause, exp.Fetch):
                only(clause, "direction", "count", "limit_options")
                options = clause.args.get("limit_options")
                if options is not None:
                    only(options, "rows")
                built.set("limit", exp.Limit(expression=self._expressions.value(clause.args["count"], scope)))
            elif clause is not None:
                only(clause, "expression")
                self._expressions.note(clause.expression, "bigint")
                built.set(name, type(clause)(expression=self._expressions.value(clause.expression, scope)))

    def _ordered(self, order: exp.Expr, scope: Scope) -> exp.Order:
        only(order, "expressions")
        built = list[exp.Expr]()
        for each in order.expressions:
            only(each, "this", "desc", "nulls_first")
            value = self._expressions.value(each.this, scope)
            built.append(
                exp.Ordered(this=value, desc=bool(each.args.get("desc")), nulls_first=each.args.get("nulls_first"))
            )
        return exp.Order(expressions=built)

    def _projection(self, node: exp.Expr, scope: Scope) -> list[tuple[exp.Expr, Item]]:
        star = isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))
        if star:
            only(node, "this", "table")
            sources = [scope.source(node.args["table"].name)] if node.args.get("table") else scope.sources
            return [(_column(source.alias, item.name), item) for source in sources for item in source.columns]
        if isinstance(node, exp.Alias):
            only(node, "this", "alias")
            value, kind = self._expressions.translate(node.this, scope)
            return [(value, Item(node.alias, kind))]
        value, kind = self._expressions.translate(node, scope)
        return [(value, Item(output_name(node), kind))]

    def _join(self, node: exp.Join, scope: Scope) -> exp.Expr:
        only(node, "this", "on", "side", "kind", "using")
        side, kind = node.side, node.kind
        if side not in _SIDES or kind not in _KINDS:
            raise refuse(f"{side} {kind} JOIN")
        target = self._source(node.this, scope)
        on, using = node.args.get("on"), node.args.get("using")
        if using:
            return exp.Join(this=target, side=side, using=[exp.to_identifier(each.name, quoted=True) for each in using])
        condition = self._expressions.value(on, scope) if on is not None else None
        if condition is None:
            return exp.Join(this=target, kind="CROSS")
        return exp.Join(this=target, side=side, kind="" if side else "INNER", on=condition)

    def _source(self, node: exp.Expr, scope: Scope) -> exp.Expr:
        """What stands in FROM; its columns join the scope."""
        joins = node.args.get("joins")
        if joins:
            node.set("joins", None)
            built = self._source(node, scope)
            built.set("joins", [self._join(each, scope) for each in joins])
            return built
        match node:
            case exp.Table() if isinstance(node.this, exp.Anonymous):
                only(node, "this", "db", "alias", "ordinality")
                qualified = exp.Dot(this=node.args["db"], expression=node.this) if node.args.get("db") else node.this
                return self._function(qualified, node, scope, numbered=bool(node.args.get("ordinality")))
            case exp.Table() if isinstance(node.this, exp.Func):
                only(node, "this", "alias")
                return self._function(node.this, node, scope, numbered=False)
            case exp.Table():
                return self._table(node, scope)
            case exp.Subquery() if isinstance(node.this, exp.Table | exp.Subquery) and not node.alias:
                return self._nested(node, scope)
            case exp.Subquery():
                only(node, "this", "alias")
                query, items = self.query(node.this, scope)
                return self._derived(query, items, node, scope)
            case exp.Values():
                query, items = self._values(node, scope)
                return self._derived(query, items, node, scope)
            case exp.Lateral():
                only(node, "this", "alias", "ordinality")
                if isinstance(node.this, exp.Subquery):
                    query, items = self.query(node.this.this, scope)
                    return self._derived(query, items, node, scope)
                return self._function(node.this, node, scope, numbered=bool(node.args.get("ordinality")))
            case exp.Unnest():
                only(node, "expressions", "alias", "offset")
                if len(node.expressions) != 1:
                    raise refuse("UNNEST of several arrays")
                unnest = exp.Anonymous(this="unnest", expressions=node.expressions)
                offset = node.args.get("offset")
                alias = node.args.get("alias")
                if isinstance(offset, exp.Identifier) and alias is not None:
                    alias.append("columns", offset)
                return self._function(unnest, node, scope, numbered=bool(offset))
            case _:
                raise refuse(f"{type(node).__name__.upper()} in FROM")

    def _nested(self, node: exp.Subquery, scope: Scope) -> exp.Expr:
        """What stands in FROM within parentheses."""
        only(node, "this")
        return exp.Subquery(this=self._source(node.this, scope))

    def _table(self, node: exp.Table, scope: Scope) -> exp.Expr:
        only(node, "this", "db", "alias", "only")
        schema, name = node.db, node.name
        alias = node.args.get("alias")
        named = alias.name if alias else name
        columns = [column.name for column in alias.args.get("columns") or ()] if alias else []
        cte = None if schema else scope.cte(name)
        if cte is not None:
            items = _renamed(cte, columns)
            scope.sources.append(Source(named, items))
            return exp.Table(
                this=exp.to_identifier(name, quoted=True), alias=_alias(named, columns and [i.name for i in items])
            )
        schema = schema or "pg_catalog"
        table = self._session.tables[schema, name]
        items = _renamed(tuple(Item(each, kind) for each, kind in table.columns.items()), columns)
        scope.sources.append(Source(named, items, table.oid))
        held = exp.Table(this=exp.to_identifier(name, quoted=True), db=exp.to_identifier(SCHEMA[schema], quoted=True))
        shown = columns and [item.name for item in items]
        if name not in _CALLER:
            held.set("alias", _alias(named, shown))
            return held
        return exp.Subquery(this=self._named_caller(held, name, list(table.columns)), alias=_alias(named, shown))

    def _named_caller(self, held: exp.Table, name: str, columns: list[str]) -> exp.Select:
        """The rows of roles, the open name filled in."""
        shown = list[exp.Expr]()
        for column in columns:
            value: exp.Expr = exp.column(exp.to_identifier(column, quoted=True))
            if column == _CALLER[name]:
                role = exp.Literal.string(self._session.role)
                is_open = exp.EQ(this=value.copy(), expression=exp.Literal.string(_OPEN))
                value = exp.Case(ifs=[exp.If(this=is_open, true=role)], default=value)
            shown.append(_aliased(value, column))
        return exp.Select(expressions=shown, from_=exp.From(this=held))

    def _derived(self, query: exp.Query, items: tuple[Item, ...], node: exp.Expr, scope: Scope) -> exp.Expr:
        alias = node.args.get("alias")
        name = alias.name if alias else f"unnamed_{len(scope.sources)}"
        columns = [column.name for column in alias.args.get("columns") or ()] if alias else []
        shown = _renamed(items, columns)
        scope.sources.append(Source(name, shown))
        return exp.Subquery(this=query, alias=_alias(name, columns and [item.name for item in shown]))

    def _function(self, node: exp.Expr, place: exp.Expr, scope: Scope, *, numbered: bool) -> exp.Expr:
        """A function in FROM, whose rows are the elements of a list."""
        name = function_name(node) or output_name(node)
        alias = place.args.get("alias")
        named = alias.name if alias else name
        columns = [column.name for column in alias.args.get("columns") or ()] if alias else []
        if name in TABLE_FUNCTIONS:
            if function_name(node) is None or (node.expression if isinstance(node, exp.Dot) else node).expressions:
                raise refuse(f"an argument of {name}")
            schema, relation = TABLE_FUNCTIONS[name]
            table = self._session.tables[schema, relation]
            items = _renamed(tuple(Item(each, kind) for each, kind in table.columns.items()), columns)
            scope.sources.append(Source(named, items))
            held = exp.Table(
                this=exp.to_identifier(relation, quoted=True), db=exp.to_identifier(SCHEMA[schema], quoted=True)
            )
            held.set("alias", _alias(named, columns))
            return held
        value, kind = self._expressions.translate(node, scope)
        query: exp.Query = exp.Select(expressions=[_aliased(value, "x")])
        items = (Item(columns[0] if columns else named, kind),)
        if numbered:
            number = call("row_number")
            query = exp.Select(
                expressions=[_column("", "x"), _aliased(exp.Window(this=number, over="OVER"), "ordinality")],
                from_=exp.From(this=exp.Subquery(this=query, alias=_alias("numbered", []))),
            )
            items = (*items, Item(columns[1] if len(columns) > 1 else "ordinality", "bigint"))
        if len(columns) > len(items):
            raise QueryError(f'table "{named}" has {len(items)} columns available but {len(columns)} columns specified')
        scope.sources.append(Source(named, items))
        return exp.Subquery(this=query, alias=_alias(named, [item.name for item in items]))


def _renamed(items: Sequence[Item], names: Sequence[str]) -> tuple[Item, ...]:
    if len(names) > len(items):
        raise QueryError(f"there are {len(items)} columns available but {len(names)} columns specified")
    return (*(Item(name, item.type) for name, item in zip(names, items, strict=False)), *items[len(names) :])


def _alias(name: str, columns: Sequence[str]) -> exp.TableAlias:
    return exp.TableAlias(
        this=exp.to_identifier(name, quoted=True), columns=[exp.to_identifier(each, quoted=True) for each in columns]
    )


def _aliased(value: exp.Expr, name: str) -> exp.Expr:
    return exp.Alias(this=value, alias=exp.to_identifier(name, quoted=True))


def _column(table: str, name: str) -> exp.Column:
    qualifier = exp.to_identifier(table, quoted=True) if table else None
    return exp.Column(this=exp.to_identifier(name, quoted=True), table=qualifier)


def _operand(query: exp.Query) -> exp.Expr:
    tail = any(query.args.get(name) for name in ("order", "limit", "offset", "with_"))
    return exp.Subquery(this=query) if tail else query
