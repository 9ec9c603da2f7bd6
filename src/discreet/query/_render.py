"""Releases as tables in a terminal and in a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from discreet.errors import printable
from discreet.privacy import in_words

if TYPE_CHECKING:
    from discreet.query._release import Release

__all__ = ["html_table", "plain", "release_note", "release_table", "shown"]

_FIRST = 50


def release_table(release: Release, level: float = 0.95, first: int | None = None) -> Table:
    """A rich table of the release, or of its first rows: values ± half-widths of the noise at `level`."""
    table = Table(box=box.SIMPLE_HEAD)
    for name in release.to_arrow().column_names:
        table.add_column(Text(printable(name)), justify="right" if name in release.noisy else "left")
    for row in release.cells(level, first):
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table


def release_note(release: Release, level: float = 0.95) -> str:
    """What to know beside the table: how many rows, and what ± and ~ mean."""
    rows = release.to_arrow().num_rows
    number = "1 row" if rows == 1 else f"{rows:,} rows"
    approximate = "; ~ approximate" if any(release.approximate(name) for name in release.noisy) else ""
    return f"{number}; ± is {100 * level:.10g} % of the noise{approximate}"


def shown(release: Release) -> Group:
    """The table of the first rows, the note, and the cost."""
    return Group(release_table(release, first=_FIRST), Text(_foot(release)))


def html_table(release: Release) -> str:
    """The same as HTML, numbers to the right. What cannot be printed is written as an escape."""
    noisy = [name in release.noisy for name in release.to_arrow().column_names]

    def row(tag: str, cells: list[str]) -> str:
        parts = (
            f'<{tag} style="text-align: {"right" if number else "left"}">{html.escape(printable(cell))}</{tag}>'
            for cell, number in zip(cells, noisy, strict=True)
        )
        return f"<tr>{''.join(parts)}</tr>"

    head = row("th", release.to_arrow().column_names)
    body = "".join(row("td", cells) for cells in release.cells(first=_FIRST))
    note = html.escape(_foot(release))
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table><p>{note}</p>"


def _foot(release: Release) -> str:
    rows = release.to_arrow().num_rows
    cut = f"first {_FIRST} of " if rows > _FIRST else ""
    return f"{cut}{release_note(release)}; cost {in_words(release.loss)}"


def plain(renderable: RenderableType) -> str:
    """What rich would print, without colour."""
    console = Console(width=120, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get().rstrip("\n")
