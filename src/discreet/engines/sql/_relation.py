"""A table as an engine that speaks SQL sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Relation", "StoredColumn"]


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column's name, its type in the engine's words, and a reference in which different texts are different."""

    name: str
    type: str
    sql: str


@dataclass(frozen=True, slots=True)
class Relation:
    """What FROM reads, and for each name in the policy (columns and unit) the stored column."""

    sql: str
    columns: Mapping[str, StoredColumn]
