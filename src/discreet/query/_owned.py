"""A relation and who owns its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.query._relations import Relation

__all__ = ["Owned"]

Owner = Literal["person", "row", "nobody"]


@dataclass(frozen=True, slots=True)
class Owned:
    """A relation, who owns its rows, and how many rows and groups of one owner count in a query over it."""

    relation: Relation
    owner: Owner
    names: frozenset[str]
    rows: int = 1
    groups: int = 1
