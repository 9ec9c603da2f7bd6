"""A table that shows itself: as text in a console, as HTML in a notebook."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from discreet.errors import printable

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

__all__ = ["ShownTable"]

_FIRST = 50
_WIDTH = 120


class ShownTable(ABC):
    """What has rows of text under a header, with a note of what they are and cost below."""

    __slots__ = ()

    @abstractmethod
    def header(self) -> list[tuple[str, bool]]:
        """The columns that are shown: their names, and whether they hold numbers, which are set to the right."""

    @abstractmethod
    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """The (first) rows as text for people; errors are at `level`."""

    @abstractmethod
    def note(self, level: float = 0.95) -> str:
        """One line to read beside the table."""

    def footnotes(self, level: float = 0.95, first: int | None = None) -> list[str]:  # noqa: ARG002
        """Lines to read below the table of the (first) rows; errors are at `level`."""
        return []

    @property
    def shown_rows(self) -> int:
        """How many rows there are."""
        return len(self.cells())

    @abstractmethod
    def _cost(self) -> str:
        """What it cost, in words."""

    def rich_table(self, level: float = 0.95, first: int | None = None) -> Table:
        """A rich table of it, or of its first rows; errors are at `level`."""
        from rich import box
        from rich.table import Table
        from rich.text import Text

        table = Table(box=box.SIMPLE_HEAD)
        for name, is_number in self.header():
            table.add_column(Text(printable(name)), justify="right" if is_number else "left")
        for row in self.cells(level, first):
            table.add_row(*(Text(printable(cell)) for cell in row))
        return table

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        notes = [Text(printable(line)) for line in self.footnotes(first=_FIRST)]
        return Group(self.rich_table(first=_FIRST), Text(self._foot()), *notes)

    def __repr__(self) -> str:
        from rich.console import Console

        console = Console(width=_WIDTH, color_system=None, force_terminal=False)
        with console.capture() as capture:
            console.print(self.__rich__())
        return capture.get().rstrip("\n")

    def _repr_html_(self) -> str:
        """The same table as HTML. What cannot be printed is written as an escape."""
        header = self.header()

        def row(tag: str, cells: list[str]) -> str:
            parts = (
                f'<{tag} style="text-align: {"right" if is_number else "left"}">{html.escape(printable(cell))}</{tag}>'
                for cell, (_, is_number) in zip(cells, header, strict=True)
            )
            return f"<tr>{''.join(parts)}</tr>"

        head = row("th", [name for name, _ in header])
        body = "".join(row("td", cells) for cells in self.cells(first=_FIRST))
        foot = "<br>".join(html.escape(printable(line)) for line in (self._foot(), *self.footnotes(first=_FIRST)))
        return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{foot}</p>"

    def _foot(self) -> str:
        cut = f"first {_FIRST} of " if self.shown_rows > _FIRST else ""
        return f"{cut}{self.note()}; cost {self._cost()}"
