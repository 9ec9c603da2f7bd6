"""A line with a band around it, over a logarithmic axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from discreet.charts._columns import cut, shown_text
from discreet.charts._frame import LONGEST_LINE, framed

__all__ = ["Band", "band_chart"]

_BLUE = "#1f4e79"


@dataclass(frozen=True, slots=True)
class Band:
    """One place of a line: where, above 0; the value there; and between which values it lies."""

    x: float
    y: float
    low: float
    high: float


def band_chart(bands: Sequence[Band], title: str, x: str, y: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """A line through the values, and the band around it. `x` and `y` name the axes.

    >>> band_chart([Band(1, 5, 4, 6)], "Degrees", "rank", "degree")["data"]["values"]
    [{'x': 1, 'y': 5, 'low': 4, 'high': 6}]
    """
    across = {"field": "x", "type": "quantitative", "title": x, "scale": {"type": "log"}}
    up = {"type": "quantitative", "title": y}
    tooltip = [{"field": "x", "title": x}, {"field": "y", "title": y}, {"field": "low"}, {"field": "high"}]
    layers: list[dict[str, Any]] = [
        {
            "mark": {"type": "area", "color": _BLUE, "opacity": 0.25, "interpolate": "step-after"},
            "encoding": {"x": across, "y": up | {"field": "low"}, "y2": {"field": "high"}},
        },
        {
            "mark": {"type": "line", "color": _BLUE, "interpolate": "step-after"},
            "encoding": {"x": across, "y": up | {"field": "y"}, "tooltip": tooltip},
        },
    ]
    view = {"data": {"values": [asdict(each) for each in bands]}, "width": 380, "height": 240, "layer": layers}
    return framed(_line(title), [_line(note) for note in notes], view)


def _line(text: str) -> str:
    return cut(shown_text(text), LONGEST_LINE)
