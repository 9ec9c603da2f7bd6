"""Pass: ordinals, aliases and names become what they stand for in the relations that the query reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.parse._trees import put, size_of, transformed
from discreet.query.passes._grouping_sets import grouping_items

__all__ = ["Scope", "Source", "expand_references", "match_name", "resolve_names", "resolved"]


_MOST_PARTS = 5_000
_MOST_DIGITS = 10


def expand_references(select: exp.Select) -> exp.Select:
    """Expand ``GROUP BY 1``, ``ORDER BY n``, ``GROUP BY ALL``, ``ORDER BY ALL``; aliases in HAVING, QUALIFY, windows.

    >>> query = "SELECT city AS c, COUNT(*) AS n FROM t GROUP BY 1 HAVING n > 5 ORDER BY n"
    >>> expand_references(exp.maybe_parse(query, into=exp.Select)).sql()
    'SELECT city AS c, COUNT(*) AS n FROM t GROUP BY city HAVING COUNT(*) > 5 ORDER BY COUNT(*)'
    """
    select = select.copy()
    items = [e.this if isinstance(e, exp.Alias) else e for e in select.expressions]
    written = _Written()
    aliases: dict[str, exp.Expr] = {}
    for item, projection in zip(items, select.expressions, strict=True):
        if projection.alias and projection.alias.casefold() in aliases:
            raise QueryError(f"two columns of the result are called {projection.alias}")
        if projection.alias:
            aliases[projection.alias.casefold()] = item
    for window in [window for item in items for window in item.find_all(exp.Window)]:
        for part in list(window.iter_expressions()):
            put(part, _expand_aliases(part, aliases, written))
    group, having, order = (select.args.get(key) for key in ("group", "having", "order"))
    if group is not None and group.args.get("all"):
        keys = [item.copy() for item in items if item.find(exp.Column) and not item.find(exp.AggFunc, exp.Window)]
        group = exp.Group(expressions=keys) if keys else None
        select.set("group", group)
    if group is not None:
        for node in grouping_items(group):
            put(node, _expand(node, items, aliases, written))
    if order is not None:
        order.set("expressions", [each for ordered in order.expressions for each in _all(ordered, items, written)])
        for ordered in order.expressions:
            ordered.set("this", _expand(ordered.this, items, aliases, written))
    if having is not None:
        having.set("this", _expand_aliases(having.this, aliases, written))
    if (qualify := select.args.get("qualify")) is not None:
        qualify.set("this", _expand_aliases(qualify.this, aliases, written))
    return select


@dataclass(slots=True)
class _Written:
    """How many parts have been written in place of references."""

    parts: int = 0

    def copy(self, tree: exp.Expr) -> exp.Expr:
        """A copy of what a reference stands for. Raises `QueryError` for more parts than a query may have."""
        self.parts += size_of(tree, _MOST_PARTS)
        if self.parts > _MOST_PARTS:
            raise QueryError(
                f"the query is too large: what its ordinals and aliases stand for adds up to more than "
                f"{_MOST_PARTS:,} parts"
            )
        return tree.copy()


def _all(ordered: exp.Expr, items: list[exp.Expr], written: _Written) -> list[exp.Expr]:
    if not isinstance(ordered.this, exp.Var) or ordered.this.name.upper() != "ALL":
        return [ordered]
    every: list[exp.Expr] = []
    for item in items:
        each = ordered.copy()
        each.set("this", written.copy(item))
        every.append(each)
    return every


def _expand(node: exp.Expr, items: list[exp.Expr], aliases: dict[str, exp.Expr], written: _Written) -> exp.Expr:
    if isinstance(node, exp.Literal) and not node.is_string:
        digits = len(node.name) < _MOST_DIGITS and node.name.isdecimal() and node.name.isascii()
        position = int(node.name) if digits and node.name[0] != "0" else 0
        if not 0 < position <= len(items):
            raise QueryError(f"{node.sql()} is not a column of the result; it has {len(items)}")
        return written.copy(items[position - 1])
    return _expand_aliases(node, aliases, written)


def _expand_aliases(tree: exp.Expr, aliases: dict[str, exp.Expr], written: _Written) -> exp.Expr:
    def swap(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and not node.table and not node.this.args.get("quoted"):
            return written.copy(aliases[node.name.casefold()]) if node.name.casefold() in aliases else node
        return node

    return transformed(tree.copy(), swap)


@dataclass(frozen=True, slots=True)
class Source:
    """One item of FROM: its alias, what it is in words, and for each of its columns the expression it stands for.

    Columns that only say whose a row is are `hidden`: they are not offered to whom misspells a name. `folded` are the
    names as they are spelt, without regard to case. What is `implicit` stands for a sub-query outside FROM, and is
    named by its alias alone.
    """

    alias: str
    what: str
    columns: Mapping[str, exp.Expr]
    table: str = ""
    hidden: frozenset[str] = frozenset()
    implicit: bool = False
    folded: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded", {name.casefold(): name for name in self.columns})

    @property
    def written(self) -> str:
        """The source as FROM has it."""
        return f"{self.table} AS {self.alias}" if self.table not in ("", self.alias) else self.alias


@dataclass(frozen=True, slots=True)
class Scope:
    """The sources of a SELECT in order; `merged` are the columns that USING made one, taken from the first source.

    What none of them has is a name of the query around it, `outer`, if there is one.
    """

    sources: tuple[Source, ...]
    merged: frozenset[str] = frozenset()
    outer: Scope | None = None

    def knows(self, column: exp.Column) -> bool:
        """Whether one of the sources themselves has a column of the name."""
        sources = [s for s in self.sources if not column.table or s.alias.casefold() == column.table.casefold()]
        return any(column.name.casefold() in source.folded for source in sources)

    def find(self, column: exp.Column) -> exp.Expr | None:
        """What a column of the query stands for; None if no source has it.

        Raises `QueryError` for a qualifier that is no source, and for a name that several sources have.
        """
        if self.outer is not None and not self.knows(column) and self.outer.knows(column):
            return self.outer.find(column)
        matches = [
            (source, name) for source in self._candidates(column) if (name := source.folded.get(column.name.casefold()))
        ]
        if not matches:
            return None
        if len(matches) > 1 and column.name.casefold() not in self.merged:
            places = " and ".join(f"{source.alias}.{name}" for source, name in matches)
            raise QueryError(f"{column.sql()} may be {places}; say which")
        source, name = matches[0]
        return source.columns[name]

    def missing(self, column: exp.Column) -> QueryError:
        """The refusal of a name that no source has, with the nearest one that there is."""
        sources = list(self._candidates(column))
        names = [name for source in sources for name in source.columns if name not in source.hidden]
        try:
            match_name(column.name, names, sources[0].what if len(sources) == 1 else "the query", "column")
        except QueryError as error:
            return error
        raise AssertionError(column.name)

    def expand(self, star: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
        """What ``*`` or ``t.*`` stands for, in order."""
        seen: set[str] = set()
        for source in self._candidates(star) if isinstance(star, exp.Column) else self._listed:
            for name, node in source.columns.items():
                if name.casefold() not in seen or name.casefold() not in self.merged:
                    yield name, node
                seen.add(name.casefold())

    @property
    def _listed(self) -> tuple[Source, ...]:
        return tuple(source for source in self.sources if not source.implicit)

    def _candidates(self, column: exp.Column) -> Iterable[Source]:
        if column.args.get("db"):
            raise QueryError(f"{column.sql()} names a schema; write the table's name or alias alone")
        if not column.table:
            return self._listed
        chosen = [source for source in self.sources if source.alias.casefold() == column.table.casefold()]
        if not chosen:
            reads = ", ".join(source.written for source in self._listed)
            raise QueryError(f"{column.sql()} names a table that the query does not read; it reads {reads}")
        return chosen


def match_name(name: str, known: Iterable[str], where: str, what: str) -> str:
    """The name as it is spelt; raises `QueryError` with the nearest one if there is none."""
    names = list(dict.fromkeys(known))
    folded = {n.casefold(): n for n in names}
    if name.casefold() in folded:
        return folded[name.casefold()]
    close = get_close_matches(name.casefold(), list(folded), n=1)
    hint = f"; did you mean {folded[close[0]]}?" if close else "."
    raise QueryError(f"{where} has no {what} {name}{hint} It has: {', '.join(names) or 'none'}")


def resolve_names(select: exp.Select, scope: Scope) -> exp.Select:
    """The SELECT without FROM, its names replaced by what they stand for in the scope, without regard to case.

    A name that is an alias of the SELECT list stays, unquoted: the next pass expands it. Where a column has the same
    name, the alias is meant if it is all there is to an item of ORDER BY. Anything else raises `QueryError`. An item of
    the SELECT list that is a name keeps it as its alias where it stands for something of another name.

    >>> from discreet.query.passes._names import Source
    >>> visits = Source("v", "the policy", {"Cost": exp.column(exp.to_identifier("Cost", quoted=True))})
    >>> query = exp.maybe_parse("SELECT SUM(v.cost) AS s FROM visits AS v", into=exp.Select)
    >>> resolve_names(query, Scope((visits,))).sql()
    'SELECT SUM("Cost") AS s'
    """
    body = select.copy()
    for clause in ("from_", "joins", "with_"):
        body.set(clause, None)
    body.set("expressions", [_with_its_name(item, scope) for item in body.expressions])
    _resolve(body, scope, {e.alias.casefold() for e in body.expressions if e.alias})
    body.set("expressions", [each for item in body.expressions for each in _spread(item, scope)])
    return body


def resolved(node: exp.Expr, scope: Scope) -> exp.Expr:
    """An expression with its names replaced by what they stand for."""
    holder = exp.Paren(this=node.copy())
    _resolve(holder, scope, set())
    return holder.this


def _with_its_name(item: exp.Expr, scope: Scope) -> exp.Expr:
    if not isinstance(item, exp.Column) or isinstance(item.this, exp.Star):
        return item
    node = scope.find(item)
    if node is None or (isinstance(node, exp.Column) and node.name.casefold() == item.name.casefold()):
        return item
    return exp.alias_(item.copy(), exp.to_identifier(item.name, quoted=True))


def _spread(item: exp.Expr, scope: Scope) -> list[exp.Expr]:
    """All columns that a star stands for."""
    star = item.this if isinstance(item, exp.Column) else item
    if not isinstance(star, exp.Star):
        return [item]
    if any(star.args.values()):
        raise QueryError(f"{item.sql()}: name the columns that you want instead")
    return [exp.alias_(node.copy(), exp.to_identifier(name, quoted=True)) for name, node in scope.expand(item)]


def _resolve(tree: exp.Expr, scope: Scope, aliases: set[str]) -> None:
    size = 0
    for column in list(tree.find_all(exp.Column)):
        if isinstance(column.this, exp.Star):
            continue
        known = scope.find(column)
        if column.name.casefold() in aliases and not column.table and _may_be_alias(column, known):
            put(column, exp.column(exp.Identifier(this=column.name, quoted=False)))
            continue
        if known is None:
            raise scope.missing(column)
        size += sum(1 for _ in known.walk())
        if size > _MOST_PARTS:
            raise QueryError(f"the query is too large: its sub-queries add up to more than {_MOST_PARTS:,} parts")
        put(column, known.copy())


def _may_be_alias(column: exp.Column, known: exp.Expr | None) -> bool:
    """Whether a name that is an alias means it: never in WHERE, and in the SELECT list only in a window."""
    if column.find_ancestor(exp.Window) is not None:
        return known is None
    if known is not None:
        return isinstance(column.parent, exp.Ordered)
    node: exp.Expr = column
    while node.parent is not None and not isinstance(node.parent, exp.Select):
        node = node.parent
    return node.arg_key not in ("expressions", "where")
