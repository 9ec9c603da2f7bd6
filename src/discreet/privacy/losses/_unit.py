"""The unit of protection and the neighbour relation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from discreet.errors import ParameterError

__all__ = ["Relation", "Unit", "checked_relation", "common_relation"]

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


def checked_relation(value: object) -> Relation:
    """The value, if it is a relation; else `ParameterError`."""
    if value == "add_remove":
        return "add_remove"
    if value == "substitute":
        return "substitute"
    raise ParameterError(f"relation must be 'add_remove' or 'substitute', got {value!r}")


def common_relation(relations: Iterable[Relation | None]) -> Relation | None:
    """The one relation of several losses; raises `ParameterError` if they differ (`None` goes with either)."""
    named: set[Relation] = {relation for relation in relations if relation is not None}
    if len(named) > 1:
        raise ParameterError(
            "these losses protect different neighbours, add_remove and substitute, and do not add up; "
            "convert the one for add_remove: a substitution is at most two steps, loss.under('substitute')"
        )
    return next(iter(named), None)
