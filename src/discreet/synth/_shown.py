"""What shows itself as a table with notes below: in a terminal, as text, and in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from discreet.errors import printable
from discreet.query import PlanTable

if TYPE_CHECKING:
    from rich.console import Group

__all__ = ["ShownTable"]


class ShownTable(ABC):
    """Shows what `shown` gives."""

    __slots__ = ()

    @abstractmethod
    def shown(self) -> PlanTable:
        """The table, with its notes."""

    def __str__(self) -> str:
        return self.shown().to_text()

    def __repr__(self) -> str:
        return str(self)

    def __rich__(self) -> Group:
        from rich.console import Group

        shown = self.shown()
        return Group(shown.rich_table(), *map(printable, shown.notes))

    def _repr_html_(self) -> str:
        return self.shown().to_html()
