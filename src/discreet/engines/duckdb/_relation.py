"""A table as DuckDB sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Relation", "StoredColumn"]


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column's name and type in the source, in DuckDB's words."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Relation:
    """What FROM reads, and for each name in the policy (columns and unit) the stored column."""

    sql: str
    columns: Mapping[str, StoredColumn]
