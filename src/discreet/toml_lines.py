"""Where a key stands in a TOML file: tomllib does not say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["key_lines", "line_of"]

_ASSIGNED = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"(?:[^"\\]|\\.)*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"))*)\s*="""
)


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    r"""From each key of a TOML text, with those above it, to the line where it is first written.

    >>> key_lines('version = "1"\n[tables.t.columns]\nage = { type = "int" }')[("tables", "t", "columns", "age")]
    3
    """
    lines: dict[tuple[str, ...], int] = {}
    section: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("["):
            path = section = _path(line) or section
        else:
            match = _ASSIGNED.match(line)
            own = None if match is None else _path(f"{match[1]} = 0")
            if own is None:
                continue
            path = (*section, *own)
        lines.setdefault(path, number)
    return lines


def line_of(path: Sequence[str], lines: Mapping[tuple[str, ...], int]) -> int | None:
    """The line of a key, or of the innermost key above it that has one.

    >>> line_of(("tables", "t", "unit"), {("tables", "t"): 4})
    4
    """
    for end in range(len(path), 0, -1):
        if (line := lines.get(tuple(path[:end]))) is not None:
            return line
    return None


def _path(written: str) -> tuple[str, ...] | None:
    """The keys that a line of TOML leads to; None where the line does not stand alone."""
    try:
        content: Any = tomllib.loads(written)
    except (ValueError, RecursionError):
        return None
    path: list[str] = []
    while isinstance(content, dict) and len(content) == 1:  # pyright: ignore[reportUnknownArgumentType]
        name, content = next(iter(content.items()))  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
        path.append(str(name))  # pyright: ignore[reportUnknownArgumentType]
    return tuple(path) or None
