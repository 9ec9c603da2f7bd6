"""Who is protected, and what a neighbour is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Relation", "Unit"]

Relation = Literal["add_remove", "substitute"]
"""``"add_remove"``: neighbours differ by one unit being present or absent; the number of units is private.
``"substitute"``: neighbours differ by one unit having other data; the number of units is public."""


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of protection: a row, or all rows of a table that share a value of one column.

    >>> Unit.column("person_id")
    Unit(name='person_id', relation='add_remove')
    >>> Unit.rows(relation="substitute").name is None
    True
    """

    name: str | None
    relation: Relation = "add_remove"

    @classmethod
    def rows(cls, relation: Relation = "add_remove") -> Unit:
        """Every row belongs to a different person."""
        return cls(None, relation)

    @classmethod
    def column(cls, name: str, relation: Relation = "add_remove") -> Unit:
        """All rows with the same value in column `name` belong to one person."""
        return cls(name, relation)
