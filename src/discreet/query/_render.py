"""Releases as tables in a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from discreet.privacy import in_words

if TYPE_CHECKING:
    from discreet.query._release import Release

__all__ = ["plain", "release_table"]

_SHOWN_ROWS = 50


def release_table(release: Release) -> Table:
    """A rich table of the release: values ± 95 % half-widths, the cost below."""
    rows = release.answer.table.num_rows
    shown = "" if rows <= _SHOWN_ROWS else f"first {_SHOWN_ROWS} of {rows} rows; "
    approximate = "; ~ approximate" if any(release.approximate(name) for name in release.noisy) else ""
    table = Table(
        box=box.SIMPLE_HEAD,
        caption=f"{shown}± is 95 % of the noise{approximate}; cost {in_words(release.loss)}",
        caption_justify="left",
    )
    for name in release.answer.table.column_names:
        table.add_column(Text(name), justify="right" if name in release.noisy else "left")
    for row in release.cells()[:_SHOWN_ROWS]:
        table.add_row(*(Text(cell) for cell in row))
    return table


def plain(renderable: RenderableType) -> str:
    """What rich would print, without colour."""
    console = Console(width=100, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable)
    return capture.get().rstrip("\n")
