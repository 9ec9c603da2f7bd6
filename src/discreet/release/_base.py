"""What every release can do: show itself, be saved, and be read as JSON."""

from __future__ import annotations

import html
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from discreet.errors import printable
from discreet.privacy import Loss, in_words
from discreet.release._files import read_file, write_file

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

__all__ = ["BaseRelease"]

_FIRST = 50
_WIDTH = 120


class BaseRelease(ABC):
    """The answer to a question under differential privacy. It may be shown to anyone: what is done with it is free.

    A kind of release is a subclass that says how it is stored and which cells it shows. `loss` is what it cost, and
    `certificate` says in plain JSON what ran, under its ``"kind"``.
    """

    __slots__ = ()

    loss: Loss
    certificate: Mapping[str, Any]

    @abstractmethod
    def to_bytes(self) -> bytes:
        """The whole release; `from_bytes` restores it."""

    @classmethod
    @abstractmethod
    def from_bytes(cls, payload: bytes) -> Self:
        """Restore a stored release. Raises `LedgerError` if the bytes are none of this kind."""

    @abstractmethod
    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The release as plain JSON values, with its loss and certificate; errors are at `level`."""

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
        """How many rows the release has."""
        return len(self.cells())

    def to_json(self, level: float = 0.95) -> str:
        """The release as one JSON object, which `discreet verify` reads. Errors are at `level`. Costs nothing."""
        return json.dumps(self.to_dict(level), allow_nan=False)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole release to a new file, which `load` reads and `discreet verify` checks.

        Costs nothing. Raises `ParameterError` if there is such a file already, `DataError` if it cannot be written.
        """
        write_file(self.to_bytes(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The release in a file by `save`. That it is genuine is not checked: ask `discreet verify`.

        Raises `DataError` if the file cannot be read, `LedgerError` if it is no release of this kind.
        """
        return cls.from_bytes(read_file(path))

    def rich_table(self, level: float = 0.95, first: int | None = None) -> Table:
        """A rich table of the release, or of its first rows; errors are at `level`."""
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
        return f"{cut}{self.note()}; cost {in_words(self.loss)}"
