"""A table as DuckDB sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Relation", "StoredColumn", "identifier"]


def identifier(name: str) -> str:
    """A quoted identifier."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column's name and type in the source, in DuckDB's words; a database may compare its text by a collation."""

    name: str
    type: str
    collated: bool = False

    @property
    def sql(self) -> str:
        """A quoted reference, in which different texts are different."""
        quoted = identifier(self.name)
        return f'({quoted} COLLATE "binary")' if self.collated and self.type == "VARCHAR" else quoted


@dataclass(frozen=True, slots=True)
class Relation:
    """What FROM reads, and for each name in the policy (columns and unit) the stored column."""

    sql: str
    columns: Mapping[str, StoredColumn]
