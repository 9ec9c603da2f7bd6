"""What the names in a query of the catalogue stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from discreet.errors import QueryError

__all__ = ["Item", "Scope", "Session", "Source", "Table"]


@dataclass(frozen=True, slots=True)
class Item:
    """A column of a result: its name, and PostgreSQL's name for its type, None where nothing says."""

    name: str
    type: str | None


@dataclass(frozen=True, slots=True)
class Table:
    """A relation of the catalogue: its number, and its columns with their types."""

    oid: int
    columns: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Session:
    """Who asks what: the relations by schema and name, and what functions say of the session."""

    tables: Mapping[tuple[str, str], Table]
    database: str
    role: str
    version: str
    settings: Mapping[str, str]
    types: frozenset[str]


@dataclass(frozen=True, slots=True)
class Source:
    """What stands in FROM: its alias, its columns, and the number of the relation, if it is one."""

    alias: str
    columns: tuple[Item, ...]
    oid: int | None = None

    def type_of(self, name: str) -> tuple[bool, str | None]:
        """Whether there is such a column, and its type."""
        for item in self.columns:
            if item.name == name:
                return True, item.type
        return False, None


@dataclass(slots=True)
class Scope:
    """The sources of one SELECT, of those around it, and common table expressions."""

    outer: Scope | None = None
    sources: list[Source] = field(default_factory=list[Source])
    ctes: dict[str, tuple[Item, ...]] = field(default_factory=dict[str, tuple[Item, ...]])

    def around(self) -> Iterator[Scope]:
        """The scope itself, and those outside it."""
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def cte(self, name: str) -> tuple[Item, ...] | None:
        """The columns of a common table expression; None if there is none of that name."""
        return next((scope.ctes[name] for scope in self.around() if name in scope.ctes), None)

    def column(self, table: str, name: str) -> tuple[Source, str | None] | None:
        """Where a column is from, and its type; `table` may be empty. None if it is nowhere."""
        for scope in self.around():
            for source in scope.sources:
                if table in ("", source.alias):
                    there, kind = source.type_of(name)
                    if there:
                        return source, kind
        return None

    def source(self, alias: str) -> Source:
        """The source of that name. Raises `QueryError` if there is none."""
        for scope in self.around():
            for source in scope.sources:
                if source.alias == alias:
                    return source
        raise QueryError(f'missing FROM-clause entry for table "{alias}"')
