"""What every chart has around its panels: a title with notes below it, and one look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["LONGEST_LINE", "framed"]

LONGEST_LINE = 84
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_CONFIG: dict[str, Any] = {
    "view": {"stroke": None},
    "axis": {"gridColor": "#eeeeee", "titleFontWeight": "normal", "titleColor": "#444444"},
    "legend": {"titleFontWeight": "normal"},
    "title": {"anchor": "start", "fontSize": 14, "subtitleFontSize": 11, "subtitleColor": "#555555", "offset": 16},
}


def framed(title: str, notes: Sequence[str], view: Mapping[str, Any]) -> dict[str, Any]:
    """A view of Vega-Lite as a chart: under a title and the notes that are not empty."""
    heading = {"text": title, "subtitle": _wrapped([note for note in notes if note])}
    return {"$schema": _SCHEMA, "title": heading, **view, "config": _CONFIG}


def _wrapped(notes: Sequence[str]) -> list[str]:
    """Notes in as few lines as they fit in, one after the other."""
    lines: list[str] = []
    for note in notes:
        if lines and len(lines[-1]) + len(note) + 3 <= LONGEST_LINE:
            lines[-1] += f" · {note}"
        else:
            lines.append(note)
    return lines
