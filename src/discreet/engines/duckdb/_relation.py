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
        """A quoted reference, in which different texts are different, and decimals beyond their precision null.

        Arrow and Parquet can hold such decimals, and the text of some of them stops DuckDB for good.
        """
        quoted = identifier(self.name)
        if self.type.startswith("DECIMAL("):
            most = _largest(self.type)
            low, high = (f"CAST('{sign}{most}' AS {self.type})" for sign in ("-", ""))
            return f"(CASE WHEN {quoted} BETWEEN {low} AND {high} THEN {quoted} END)"
        return f'({quoted} COLLATE "binary")' if self.collated and self.type == "VARCHAR" else quoted


def _largest(kind: str) -> str:
    """The largest number of a decimal type.

    >>> _largest("DECIMAL(5,2)"), _largest("DECIMAL(2,2)")
    ('999.99', '0.99')
    """
    precision, scale = map(int, kind.removeprefix("DECIMAL(").removesuffix(")").split(","))
    return f"{'9' * (precision - scale) or '0'}.{'9' * scale}".rstrip(".")


@dataclass(frozen=True, slots=True)
class Relation:
    """What FROM reads, and for each name in the policy (columns and unit) the stored column."""

    sql: str
    columns: Mapping[str, StoredColumn]
