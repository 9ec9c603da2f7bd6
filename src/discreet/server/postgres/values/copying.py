"""``COPY (SELECT …) TO STDOUT``: its options, and rows as text, CSV and in the binary format.

Source: PostgreSQL manual, reference page "COPY", section "File Formats".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

__all__ = ["BINARY_END", "BINARY_START", "CopyFormat", "copied_header", "copied_row"]

BINARY_START: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
BINARY_END: Final = b"\xff\xff"
_ESCAPES: Final = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\"}


@dataclass(frozen=True, slots=True)
class CopyFormat:
    """How rows are copied. `forced` are the columns that are quoted always; all of them for None."""

    format: Literal["text", "csv", "binary"] = "text"
    delimiter: str = "\t"
    null: str = "\\N"
    header: bool = False
    quote: str = '"'
    escape: str = '"'
    forced: frozenset[str] | None = frozenset()

    @property
    def binary(self) -> bool:
        """Whether cells are in the binary format."""
        return self.format == "binary"


def copied_header(names: Sequence[str], how: CopyFormat) -> bytes:
    """The line of column names; nothing where none is asked for."""
    if not how.header:
        return b""
    return _line([_cell(name, how, forced=False, alone=len(names) == 1) for name in names], how)


def copied_row(cells: Sequence[bytes | None], names: Sequence[str], how: CopyFormat) -> bytes:
    """One row, of cells in the text format or, for the binary one, in that."""
    if how.binary:
        return b"".join(_binary(cells))
    return _line(
        [
            how.null
            if cell is None
            else _cell(cell.decode(), how, forced=how.forced is None or name in how.forced, alone=len(names) == 1)
            for cell, name in zip(cells, names, strict=True)
        ],
        how,
    )


def _binary(cells: Sequence[bytes | None]) -> Iterator[bytes]:
    yield len(cells).to_bytes(2, "big")
    for cell in cells:
        yield b"\xff\xff\xff\xff" if cell is None else len(cell).to_bytes(4, "big") + cell


def _line(cells: Sequence[str], how: CopyFormat) -> bytes:
    return how.delimiter.join(cells).encode() + b"\n"


def _cell(text: str, how: CopyFormat, *, forced: bool, alone: bool) -> str:
    if how.format == "text":
        return "".join("\\" + c if c == how.delimiter and c not in _ESCAPES else _ESCAPES.get(c, c) for c in text)
    special = any(c in text for c in (how.delimiter, how.quote, "\n", "\r"))
    if not (forced or special or text == how.null or (alone and text == "\\.")):
        return text
    escaped = text if how.escape == how.quote else text.replace(how.escape, how.escape * 2)
    return how.quote + escaped.replace(how.quote, how.escape + how.quote) + how.quote
