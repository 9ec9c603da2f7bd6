"""Tables of areas: how wrong they are by level and by size, and numbers with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.charts._columns import cut, number_text, short_texts, shown_text
from discreet.charts._frame import LONGEST_LINE, framed

__all__ = ["AreaError", "AreaValue", "area_chart", "area_error_chart"]

_BLUE, _ORANGE, _GREY = "#4c78a8", "#f58518", "#666666"
_MOST_VALUES, _LONGEST_NAME = 40, 46


@dataclass(frozen=True, slots=True)
class AreaError:
    """How wrong numbers are: of a `group`, say a table, at a `place`, say a level or a size of areas."""

    place: str
    group: str
    error: float


@dataclass(frozen=True, slots=True)
class AreaValue:
    """A published number of an area, and the unbiased one ± `half`."""

    name: str
    value: float
    unbiased: float
    half: float


def area_error_chart(errors: Sequence[AreaError], title: str, axis: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """A line for each group over places, in their order; errors on a logarithmic axis.

    >>> errors = [AreaError("state", "total", 2.5), AreaError("block", "total", 9)]
    >>> spec = area_error_chart(errors, "Error by level", "half-width")
    >>> [row["place"] for row in spec["data"]["values"]]
    ['state', 'block']
    """
    values = [
        {"place": cut(shown_text(each.place), _LONGEST_NAME), "group": cut(shown_text(each.group), _LONGEST_NAME),
         "error": each.error}
        for each in errors
        if each.error > 0
    ]  # fmt: skip
    x = {"field": "place", "type": "ordinal", "sort": None, "title": None, "axis": {"labelAngle": -30}}
    y = {"field": "error", "type": "quantitative", "title": axis, "scale": {"type": "log"}}
    color = {"field": "group", "type": "nominal", "title": None, "legend": {"orient": "top"}}
    tooltip = [{"field": "place"}, {"field": "group"}, {"field": "error", "format": ".3~g", "title": axis}]
    view = {
        "data": {"values": values},
        "width": 380,
        "height": 240,
        "mark": {"type": "line", "point": True},
        "encoding": {"x": x, "y": y, "color": color, "tooltip": tooltip},
    }
    return framed(_title(title), [_title(note) for note in notes], view)


def area_chart(
    rows: Sequence[AreaValue], title: str, notes: Sequence[str] = (), *, points: str = "published integers"
) -> dict[str, Any]:
    """A bar for the interval of each unbiased number, and a point for what is published, in words `points`.

    The first 40 are drawn; the chart says of how many.

    >>> spec = area_chart([AreaValue("Ulm", 120, 118.4, 5.2)], "Areas")
    >>> spec["data"]["values"][0]["shown"]
    '118.4 ± 5.2'
    """
    drawn = rows[:_MOST_VALUES]
    left_out = f"first {_MOST_VALUES} of {len(rows):,}" if len(rows) > len(drawn) else ""
    values = [
        {
            "name": label,
            "value": each.value,
            "unbiased": each.unbiased,
            "low": each.unbiased - each.half,
            "high": each.unbiased + each.half,
            "shown": f"{number_text(each.unbiased, each.half)} ± {number_text(each.half, each.half)}",
        }
        for label, each in zip(short_texts([each.name for each in drawn], _LONGEST_NAME), drawn, strict=True)
    ]
    y = {"field": "name", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 300}}
    x = {"type": "quantitative", "title": "people"}
    tooltip = [{"field": "name"}, {"field": "value", "title": "published"}, {"field": "shown", "title": "unbiased"}]
    ends = {"x": x | {"field": "low"}, "x2": {"field": "high"}}
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "rule", "color": _GREY}, "encoding": {"y": y, **ends}},
        {"mark": {"type": "tick", "color": _BLUE}, "encoding": {"y": y, "x": x | {"field": "unbiased"}}},
        {
            "mark": {"type": "point", "filled": True, "shape": "diamond", "color": _ORANGE, "opacity": 1},
            "encoding": {"y": y, "x": x | {"field": "value"}, "tooltip": tooltip},
        },
    ]
    lines = ["lines: unbiased numbers with their intervals · points: " + points, left_out, *map(_title, notes)]
    return framed(
        _title(title), lines, {"data": {"values": values}, "width": 380, "height": {"step": 18}, "layer": layers}
    )


def _title(text: str) -> str:
    return cut(shown_text(text), LONGEST_LINE)
