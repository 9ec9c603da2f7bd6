"""The names that a SELECT can use, and what they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from sqlglot import exp

from discreet.errors import QueryError

__all__ = ["Scope", "Source", "match_name"]


@dataclass(frozen=True, slots=True)
class Source:
    """One item of FROM: its alias, what it is in words, and for each of its columns the expression it stands for.

    Columns that only say whose a row is are `hidden`: they are not offered to whom misspells a name. `folded` are the
    names as they are spelt, without regard to case.
    """

    alias: str
    what: str
    columns: Mapping[str, exp.Expr]
    table: str = ""
    hidden: frozenset[str] = frozenset()
    folded: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "folded", {name.casefold(): name for name in self.columns})

    @property
    def written(self) -> str:
        """The source as FROM has it."""
        return f"{self.table} AS {self.alias}" if self.table not in ("", self.alias) else self.alias


@dataclass(frozen=True, slots=True)
class Scope:
    """The sources of a SELECT in order; `merged` are the columns that USING made one, taken from the first source."""

    sources: tuple[Source, ...]
    merged: frozenset[str] = frozenset()

    def find(self, column: exp.Column) -> exp.Expr | None:
        """What a column of the query stands for; None if no source has it.

        Raises `QueryError` for a qualifier that is no source, and for a name that several sources have.
        """
        found = [(source, name) for source in self._of(column) if (name := source.folded.get(column.name.casefold()))]
        if not found:
            return None
        if len(found) > 1 and column.name.casefold() not in self.merged:
            places = " and ".join(f"{source.alias}.{name}" for source, name in found)
            raise QueryError(f"{column.sql()} may be {places}; say which")
        source, name = found[0]
        return source.columns[name]

    def missing(self, column: exp.Column) -> QueryError:
        """The refusal of a name that no source has, with the nearest one that there is."""
        sources = list(self._of(column))
        names = [name for source in sources for name in source.columns if name not in source.hidden]
        try:
            match_name(column.name, names, sources[0].what if len(sources) == 1 else "the query", "column")
        except QueryError as error:
            return error
        raise AssertionError(column.name)

    def expand(self, star: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
        """What ``*`` or ``t.*`` stands for, in order."""
        seen: set[str] = set()
        for source in self._of(star) if isinstance(star, exp.Column) else self.sources:
            for name, node in source.columns.items():
                if name.casefold() not in seen or name.casefold() not in self.merged:
                    yield name, node
                seen.add(name.casefold())

    def _of(self, column: exp.Column) -> Iterable[Source]:
        if column.args.get("db"):
            raise QueryError(f"{column.sql()} names a schema; write the table's name or alias alone")
        if not column.table:
            return self.sources
        chosen = [source for source in self.sources if source.alias.casefold() == column.table.casefold()]
        if not chosen:
            reads = ", ".join(source.written for source in self.sources)
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
