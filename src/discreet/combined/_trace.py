"""Which released number each value of the rest of a query is, if it is one: so it has that number's error bar.

Beside each column that may be a released number stands a hidden one, its *cells*: which number it is of all that are
released, `EXACT` for a value without noise, and null for what is computed otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.combined._apart import free_name
from discreet.combined._split import NUMBER, Split
from discreet.errors import QueryError

__all__ = ["EXACT", "ROWS", "Output", "Traced", "trace"]

EXACT = -1
ROWS = 2**32
"""The cell of row r of released column c is c · ROWS + r."""

_HALVES = ("SEMI", "ANTI")
_OF_ONE = (exp.Max, exp.Min, exp.Sum, exp.Avg)
"""Aggregates of one number that are that number."""


@dataclass(frozen=True, slots=True)
class Output:
    """A column of a query: its name, whether noise is part of it, and of which released columns it may be numbers.

    These are numbered over all parts. A column with noise and without `columns` has no error bar. One that is `taken`
    by an aggregate with a FILTER has one only where that leaves a single number.
    """

    name: str
    noisy: bool
    columns: frozenset[int] = frozenset()
    taken: bool = False


@dataclass(frozen=True, slots=True)
class Traced:
    """The outputs of the rest of a query, those of them that have cells behind them, and whether noise picks rows."""

    outputs: tuple[Output, ...]
    cells: tuple[str, ...]
    picks: bool


def trace(split: Split) -> Traced:
    """Trace the rest of a query, which is changed in place: names and * are written out, and cells stand at the end.

    Raises `QueryError` for a * that cannot be written out, and for two columns of one name.
    """
    tracer = _Tracer(split)
    outputs = tracer.outputs(split.rest)
    names = [output.name for output in outputs]
    for name in names:
        if names.count(name) > 1:
            raise QueryError(f"two columns of the result are called {name}; give each a name of its own with AS")
    places = [i for i, output in enumerate(outputs) if output.columns]
    tracer.attach(split.rest, places)
    return Traced(tuple(outputs), tuple(names[i] for i in places), tracer.picks)


@dataclass(frozen=True, slots=True)
class _Source:
    """What FROM names: its columns, and the query that they are of."""

    alias: str
    outputs: Sequence[Output]
    query: exp.Expr


@dataclass(frozen=True, slots=True)
class _Scope:
    """What the items of a SELECT may name, those of the query around it (`outer`) included.

    `merged` are the columns that USING or NATURAL makes one of two.
    """

    sources: Sequence[_Source]
    merged: frozenset[str]
    outer: _Scope | None = None

    def find(self, column: exp.Column) -> tuple[int, int] | None:
        """The source of a column and its place there; None where that is not sure."""
        places = self._places(column)
        return places[0] if len(places) == 1 else None

    def _places(self, column: exp.Column) -> list[tuple[int, int]]:
        name, table = column.name.casefold(), column.table.casefold()
        return [
            (i, j)
            for i, source in enumerate(self.sources)
            if not table or source.alias.casefold() == table
            for j, output in enumerate(source.outputs)
            if output.name.casefold() == name
        ]

    def output(self, place: tuple[int, int]) -> Output:
        return self.sources[place[0]].outputs[place[1]]

    def knows(self, column: exp.Column) -> bool:
        """Whether a column has the name of one here, or around."""
        return bool(self._places(column)) or (self.outer is not None and self.outer.knows(column))

    def is_noisy(self, node: exp.Expr) -> bool:
        """Whether noise may be part of an expression, or of which rows it is computed from."""
        if all(_is_public(source.query) for source in self.sources) and not _reads_parts(node):
            return False
        for each in node.walk(prune=lambda inner: isinstance(inner, exp.Query)):
            if isinstance(each, exp.AggFunc | exp.Window | exp.Query):
                return True
            if isinstance(each, exp.Column) and self.is_noisy_column(each):
                return True
        return False

    def is_noisy_column(self, column: exp.Column) -> bool:
        """Whether noise may be part of a column; of one that is not known, it may."""
        places = self._places(column)
        if not places:
            return self.outer is None or self.outer.is_noisy_column(column)
        one = len(places) == 1 or (not column.table and column.name.casefold() in self.merged)
        return not one or any(self.output(place).noisy for place in places)


@dataclass(slots=True)
class _Tracer:
    split: Split
    picks: bool = False
    _scopes: dict[int, _Scope] = field(default_factory=dict[int, _Scope])
    _outer: _Scope | None = None
    _outputs: dict[int, list[Output]] = field(default_factory=dict[int, list[Output]])
    _copies: list[exp.Expr] = field(default_factory=list[exp.Expr])
    _cells: int = 0

    def outputs(self, query: exp.Expr) -> list[Output]:
        """The outputs of a query, in which * and the names of its columns are written out."""
        if isinstance(query, exp.Subquery):
            return self.outputs(query.this)
        if id(query) not in self._outputs:
            if isinstance(query, exp.SetOperation):
                self._outputs[id(query)] = self._of_set(query)
            else:
                assert isinstance(query, exp.Select)
                self._outputs[id(query)] = self._stored(query) or self._of_select(query)
        return self._outputs[id(query)]

    def attach(self, query: exp.Expr, places: Sequence[int]) -> list[str]:
        """Put the cells of some outputs behind the columns of a query, and give their names."""
        if not places:
            return []
        if isinstance(query, exp.Subquery):
            return self.attach(query.this, places)
        outputs = [self.outputs(query)[place] for place in places]
        if isinstance(query, exp.SetOperation):
            if not _stacks(query):
                return self._append(query, list(map(_constant, outputs)))
            names = self.attach(query.this, places)
            self.attach(query.expression, places)
            return names
        assert isinstance(query, exp.Select)
        items = [query.expressions[place].unalias() for place in places]
        shown = [item if output.columns else None for item, output in zip(items, outputs, strict=True)]
        cells = self._of_items(query, shown)
        return self._append(query, [c or _constant(output) for c, output in zip(cells, outputs, strict=True)])

    def _of_items(self, query: exp.Select, items: Sequence[exp.Expr | None]) -> list[exp.Expr | None]:
        """The cells of items of a SELECT, but for those that are None."""
        scope = self._scopes.get(id(query))
        if scope is None:
            return [None if item is None else self._numbered(query, item) for item in items]
        columns = [None if item is None else _shown(item.unnest()) for item in items]
        ends = [None if column is None else scope.find(column) for column in columns]
        wanted: dict[int, list[int]] = {}
        for end in filter(None, ends):
            wanted.setdefault(end[0], []).append(end[1])
        below = {
            (i, j): exp.column(exp.to_identifier(name, quoted=True))
            for i, places in wanted.items()
            for j, name in zip(places, self.attach(scope.sources[i].query, places), strict=True)
        }
        cells: list[exp.Expr | None] = []
        for item, end in zip(items, ends, strict=True):
            if item is None:
                cells.append(None)
            elif end is not None:
                inner = item.unnest()
                cells.append(_taken(inner, below[end]) if isinstance(inner, exp.Filter) else below[end])
            else:
                value = _value(item)
                cells.append(None if value is None else self._of_value(value, scope))
        return cells

    def _append(self, query: exp.Expr, cells: Sequence[exp.Expr]) -> list[str]:
        """Put columns behind those of a query, of both sides of one of two, and give their names."""
        if isinstance(query, exp.Subquery):
            return self._append(query.this, cells)
        if isinstance(query, exp.SetOperation):
            names = self._append(query.this, cells)
            self._append(query.expression, cells)
            return names
        names = list[str]()
        for cell in cells:
            self._cells += 1
            names.append(f" cell {self._cells}")
            query.append("expressions", exp.alias_(exp.cast(cell.copy(), "BIGINT"), names[-1], quoted=True))
        return names

    def _stored(self, query: exp.Select) -> list[Output] | None:
        """The outputs of a SELECT that the split made, of all columns of a part or a public table."""
        table = _table(query)
        if table is None:
            return None
        if not table.startswith("part_"):
            return [Output(item.alias, noisy=False) for item in query.expressions]
        place = int(table.removeprefix("part_"))
        part, first = self.split.parts[place], sum(len(each.schema.names) for each in self.split.parts[:place])
        noisy = [name in part.noisy for name in part.schema.names]
        return [
            Output(item.alias, noisy[i], frozenset({first + i} if noisy[i] else ()))
            for i, item in enumerate(query.expressions)
        ]

    def _of_value(self, value: exp.Select, scope: _Scope) -> exp.Expr:
        """The cell of a sub-query's only value, as a sub-query of its own."""
        alone, picks = value.copy(), self.picks
        self._copies.append(alone)  # alive, so that no other query gets its id
        around, self._outer = self._outer, scope
        self.outputs(alone)
        self._outer, self.picks = around, picks
        self.attach(alone, [0])
        alone.set("expressions", alone.expressions[1:])
        return exp.Subquery(this=alone)

    def _numbered(self, query: exp.Select, item: exp.Expr) -> exp.Expr:
        place = int(str(_table(query)).removeprefix("part_"))
        first = sum(len(each.schema.names) for each in self.split.parts[:place])
        column = first + int(item.name.removeprefix("c"))
        return exp.Add(this=exp.column(NUMBER, quoted=True), expression=exp.Literal.number(column * ROWS))

    def _of_set(self, query: exp.SetOperation) -> list[Output]:
        left, right = self.outputs(query.this), self.outputs(query.expression)
        if len(left) != len(right):
            raise QueryError(
                f"the sides of {type(query).__name__.upper()} have {len(left)} and {len(right)} columns; write as many "
                "on both sides"
            )
        cut = query.args.get("limit") or query.args.get("offset")
        pairs = list(zip(left, right, strict=True))
        if _stacks(query):
            self.picks = self.picks or bool(cut)
            return [Output(a.name, a.noisy or b.noisy, a.columns | b.columns, a.taken or b.taken) for a, b in pairs]
        picked = isinstance(query, exp.Except | exp.Intersect) and any(a.noisy or b.noisy for a, b in pairs)
        self.picks = self.picks or bool(cut) or picked
        return [Output(a.name, a.noisy or b.noisy) for a, b in pairs]

    def _of_select(self, query: exp.Select) -> list[Output]:
        scope = self._scope(query)
        self._scopes[id(query)] = scope
        around, self._outer = self._outer, scope
        for node in _expressions(query):
            for inner in _sub_queries(node):
                self.outputs(inner)
        self._outer = around
        query.set("expressions", list(self._written(query, scope)))
        _check_names(query, scope)
        self._note_picks(query, scope)
        grouped = query.args.get("group") is not None or any(map(_aggregates, _expressions(query)))
        sets = [each for name in ("rollup", "cube", "grouping_sets") for each in _group_args(query, name)]
        traced = not query.args.get("distinct") and not sets
        outputs: list[Output] = []
        for item in query.expressions:
            inner = item.this.unnest()
            if (value := _value(item.this)) is not None and traced and not grouped:
                one = self.outputs(value)[0]
                outputs.append(replace(one, name=item.alias))
                continue
            place = scope.find(column) if (column := _shown(inner)) is not None else None
            taken = isinstance(inner, exp.Filter)
            columns = (
                scope.output(place).columns if traced and taken is grouped and place is not None else frozenset[int]()
            )
            outputs.append(Output(item.alias, scope.is_noisy(item.this), columns, taken))
        return outputs

    def _scope(self, query: exp.Select) -> _Scope:
        source = query.args.get("from_")
        if source is None:
            return _Scope((), frozenset(), self._outer)
        sources, merged = [self._source(source.this)], set[str]()
        joins = [*(source.this.args.get("joins") or ()), *(query.args.get("joins") or ())]
        for join in joins:
            right = self._source(join.this)
            on, using = join.args.get("on"), [each.name.casefold() for each in join.args.get("using") or ()]
            both = _Scope((*sources, right), frozenset(merged), self._outer)
            if str(join.args.get("method") or "").upper() == "NATURAL":
                left = {output.name.casefold() for each in sources for output in each.outputs}
                using = [output.name.casefold() for output in right.outputs if output.name.casefold() in left]
            same = [o for each in both.sources for o in each.outputs if o.name.casefold() in using]
            if any(output.noisy for output in same) or (on is not None and both.is_noisy(on)):
                self.picks = True
            for inner in [] if on is None else _sub_queries(on):
                self.outputs(inner)
            if str(join.args.get("kind") or "").upper() in _HALVES or str(join.side or "").upper() in _HALVES:
                continue
            merged.update(using)
            sources.append(right)
        return _Scope(tuple(sources), frozenset(merged), self._outer)

    def _source(self, node: exp.Expr) -> _Source:
        assert isinstance(node, exp.Subquery)
        outputs, alias = self.outputs(node.this), node.args.get("alias")
        names = [column.name for column in (alias.args.get("columns") or ())] if alias is not None else []
        renamed = [replace(each, name=names[i] if i < len(names) else each.name) for i, each in enumerate(outputs)]
        return _Source(node.alias, renamed, node.this)

    def _written(self, query: exp.Select, scope: _Scope) -> Iterator[exp.Expr]:
        """The items of a SELECT, each with a name."""
        taken = {item.alias for item in query.expressions if isinstance(item, exp.Alias)}
        for item in query.expressions:
            inner = item.unalias()
            star = inner.this if isinstance(inner, exp.Column) else inner
            if not isinstance(star, exp.Star):
                yield item if isinstance(item, exp.Alias) else exp.alias_(item, free_name(item, taken), quoted=True)
                continue
            if star.args.get("except_") or star.args.get("replace") or star.args.get("rename"):
                raise QueryError(f"{inner.sql(dialect='duckdb')} is not supported; write the columns out")
            yield from self._starred(inner.table if isinstance(inner, exp.Column) else "", scope)

    def _starred(self, table: str, scope: _Scope) -> Iterator[exp.Expr]:
        seen = set[str]()
        if table and not any(source.alias.casefold() == table.casefold() for source in scope.sources):
            raise QueryError(f"{table}.* names nothing that is read; write the name or alias of a sub-query or table")
        for source in scope.sources:
            if table and source.alias.casefold() != table.casefold():
                continue
            for output in source.outputs:
                name = output.name.casefold()
                merged = name in scope.merged and not table
                if not merged or name not in seen:
                    qualifier = None if merged or not source.alias else source.alias
                    column = exp.column(
                        exp.to_identifier(output.name, quoted=True),
                        table=None if qualifier is None else exp.to_identifier(qualifier, quoted=True),
                    )
                    yield exp.alias_(column, output.name, quoted=True)
                seen.add(name)

    def _note_picks(self, query: exp.Select, scope: _Scope) -> None:
        """Note whether noise decides which rows a SELECT has. A LIMIT may cut what noise has sorted anywhere."""
        filters = [query.args[name].this for name in ("where", "having", "qualify") if query.args.get(name)]
        filters += [node.expression.this for item in query.expressions for node in item.find_all(exp.Filter)]
        if query.args.get("limit") or query.args.get("offset") or any(map(scope.is_noisy, filters)):
            self.picks = True


def _stacks(query: exp.SetOperation) -> bool:
    """Whether all rows of both sides are those of a query."""
    return isinstance(query, exp.Union) and not query.args.get("distinct")


def _constant(output: Output) -> exp.Expr:
    """The cell of what is no released number."""
    return exp.null() if output.noisy else exp.Literal.number(EXACT)


def _table(query: exp.Expr) -> str | None:
    """The table of a part, or the public one, that a SELECT names itself; None for any other."""
    source = query.args.get("from_") if isinstance(query, exp.Select) else None
    return source.this.name if source is not None and isinstance(source.this, exp.Table) else None


def _check_names(query: exp.Select, scope: _Scope) -> None:
    """Raise `QueryError` for a column that is neither read nor the name of another."""
    aliases = {item.alias.casefold() for item in query.expressions}
    for node in _expressions(query):
        for each in node.walk(prune=lambda inner: isinstance(inner, exp.Query)):
            if not isinstance(each, exp.Column) or isinstance(each.this, exp.Star) or scope.knows(each):
                continue
            if each.table or each.name.casefold() not in aliases:
                names = dict.fromkeys(output.name for source in scope.sources for output in source.outputs)
                known = f"it has {', '.join(names)}" if names else "it has none"
                raise QueryError(
                    f"the query over the released rows reads no column {each.sql(dialect='duckdb')}; {known}"
                )


def _reads_parts(node: exp.Expr) -> bool:
    return any(table.name.startswith("part_") for table in node.find_all(exp.Table))


def _is_public(query: exp.Expr) -> bool:
    return not _reads_parts(query)


def _value(item: exp.Expr) -> exp.Select | None:
    """The sub-query that an item is, in the place of a value, if its cell can be asked for in the same way."""
    inner = item.unnest() if isinstance(item, exp.Subquery) else None
    plain = isinstance(inner, exp.Select) and not inner.args.get("order") and len(inner.expressions) == 1
    return inner if plain and isinstance(inner, exp.Select) and not isinstance(inner.expressions[0], exp.Star) else None


def _group_args(query: exp.Select, name: str) -> list[exp.Expr]:
    group = query.args.get("group")
    kinds = (exp.Rollup, exp.Cube, exp.GroupingSets)
    inside = [] if group is None else [each for each in group.expressions if isinstance(each, kinds)]
    return [*inside, *([] if group is None else group.args.get(name) or [])]


def _shown(item: exp.Expr) -> exp.Column | None:
    """The column of which an item shows a value: itself, or of a single row that FILTER leaves to an aggregate."""
    if isinstance(item, exp.Filter) and isinstance(item.this, _OF_ONE):
        item = item.this.this
    return item if isinstance(item, exp.Column) else None


def _taken(item: exp.Filter, cell: exp.Expr) -> exp.Expr:
    """The cell of the single row that an aggregate with a FILTER is of; null if there are several."""
    when = item.expression
    count = exp.Filter(this=exp.Count(this=item.this.this.copy()), expression=when.copy())
    one = exp.Filter(this=exp.Max(this=cell.copy()), expression=when.copy())
    return exp.Case(ifs=[exp.If(this=exp.EQ(this=count, expression=exp.Literal.number(1)), true=one)])


def _aggregates(node: exp.Expr) -> bool:
    """Whether an expression aggregates itself, not a sub-query in it or a window."""
    return any(
        isinstance(each, exp.AggFunc) and each.find_ancestor(exp.Window, exp.Select) is not None and not _windowed(each)
        for each in node.walk(prune=lambda inner: isinstance(inner, exp.Query))
    )


def _windowed(node: exp.Expr) -> bool:
    parent = node.parent
    if isinstance(parent, exp.Filter) and node.arg_key == "this":
        node, parent = parent, parent.parent
    return isinstance(parent, exp.Window) and node.arg_key == "this"


def _expressions(query: exp.Select) -> Iterator[exp.Expr]:
    yield from query.expressions
    for name in ("where", "group", "having", "qualify", "order"):
        if (clause := query.args.get(name)) is not None:
            yield clause


def _sub_queries(node: exp.Expr) -> Iterator[exp.Expr]:
    for each in list(node.walk(prune=lambda inner: isinstance(inner, exp.Select | exp.SetOperation))):
        if isinstance(each, exp.Select | exp.SetOperation):
            yield each
