"""A model against what was measured of it: histograms with intervals, distances beside noise, shares of a budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.charts._columns import cut, number_text, short_texts, shown_text
from discreet.charts._frame import LONGEST_LINE, framed

__all__ = ["Distance", "Histogram", "Share", "distance_chart", "histogram_chart", "share_chart"]

_BLUE, _PALE, _ORANGE, _DARK, _GREY = "#4c78a8", "#9ecae9", "#f58518", "#222222", "#666666"
_MOST_CELLS, _MOST_PANELS, _MOST_DISTANCES, _MOST_SHARES = 60, 12, 40, 60
_FEW_CELLS, _FEW_SHARES = 15, 12
_PANEL_WIDTH, _PANEL_HEIGHT, _LEAST_STEP = 300, 130, 8
_LONGEST_NAME = 46


@dataclass(frozen=True, slots=True)
class Histogram:
    """Counts cell by cell: what the cells hold, as it was `measured`, ± `half` of its noise, and in the `model`."""

    name: str
    cells: Sequence[str]
    measured: Sequence[float]
    half: float
    model: Sequence[float]


@dataclass(frozen=True, slots=True)
class Distance:
    """How far a marginal of a model is from its measurement, and how far `noise` alone would take them apart."""

    name: str
    distance: float
    noise: float
    stands_out: bool


@dataclass(frozen=True, slots=True)
class Share:
    """What a stage of work spent, in parts of the whole: on what was `measured`, and on what was `chosen`."""

    name: str
    measured: float
    chosen: float


def histogram_chart(histograms: Sequence[Histogram], title: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Bars with intervals for what was measured, points for the model, a panel for each histogram.

    At most 12 are drawn, and of each the 60 largest cells; the chart says of how many.

    >>> spec = histogram_chart([Histogram("city", ["Bern", "Ulm"], [120, 80], 9, [117.5, 82.5])], "Marginals")
    >>> [layer["mark"]["type"] for layer in spec["concat"][0]["layer"]]
    ['bar', 'errorbar', 'point']
    """
    drawn = histograms[:_MOST_PANELS]
    left_out = f"{_MOST_PANELS} of {len(histograms):,} columns" if len(histograms) > _MOST_PANELS else ""
    lines = ["bars: measured, with intervals of the noise · points: in the model", left_out, *_notes(notes)]
    concat = {"concat": [_histogram(each) for each in drawn], "columns": min(len(drawn), 2), "spacing": 28}
    return framed(_title(title), lines, concat)


def _histogram(each: Histogram) -> dict[str, Any]:
    shown = list(range(len(each.cells)))
    name = _name(each.name)
    if len(shown) > _MOST_CELLS:
        shown = sorted(sorted(shown, key=lambda i: -each.measured[i])[:_MOST_CELLS])
        name += f", {_MOST_CELLS} largest of {len(each.cells):,} cells"
    labels = short_texts(each.cells)
    values = [
        {
            "cell": labels[i],
            "value": each.measured[i],
            "low": each.measured[i] - each.half,
            "high": each.measured[i] + each.half,
            "model": each.model[i],
            "shown": f"{number_text(each.measured[i], each.half)} ± {number_text(each.half, each.half)}",
            "modelled": number_text(round(each.model[i], 1)),
        }
        for i in shown
    ]
    x: dict[str, Any] = {"field": "cell", "type": "ordinal", "sort": None, "title": None}
    x["axis"] = {"labelAngle": -45, "labelOverlap": len(shown) > _FEW_CELLS, "labelLimit": 110, "ticks": False}
    y: dict[str, Any] = {
        "type": "quantitative",
        "title": None,
        "axis": {"tickCount": 4, "labelOverlap": True, "format": ",~r"},
    }
    tooltip = [
        {"field": "cell", "title": name},
        {"field": "shown", "title": "measured"},
        {"field": "modelled", "title": "model"},
    ]
    ends = {"y": y | {"field": "low"}, "y2": {"field": "high"}}
    wide = _LEAST_STEP * len(shown) <= _PANEL_WIDTH
    point = {"type": "point", "filled": True, "shape": "diamond", "size": 34, "opacity": 1, "color": _ORANGE}
    return {
        "title": {"text": name, "fontSize": 12, "offset": 6},
        "data": {"values": values},
        "width": _PANEL_WIDTH if wide else {"step": _LEAST_STEP},
        "height": _PANEL_HEIGHT,
        "layer": [
            {"mark": {"type": "bar", "color": _PALE}, "encoding": {"x": x, "y": y | {"field": "value"}}},
            {"mark": {"type": "errorbar", "color": _GREY}, "encoding": {"x": x, **ends}},
            {"mark": point, "encoding": {"x": x, "y": y | {"field": "model"}, "tooltip": tooltip}},
        ],
    }


def distance_chart(distances: Sequence[Distance], title: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """A bar for each marginal, as long as it is far from its measurement, and a tick where noise alone would put it.

    The first 40 are drawn; the chart says of how many.

    >>> spec = distance_chart([Distance("city × age", 0.02, 0.03, False)], "Error by marginal")
    >>> spec["data"]["values"][0]["marginal"]
    'city × age'
    """
    drawn = distances[:_MOST_DISTANCES]
    left_out = f"first {_MOST_DISTANCES} of {len(distances):,} marginals" if len(distances) > len(drawn) else ""
    labels = short_texts([each.name for each in drawn], _LONGEST_NAME)
    values = [
        {"marginal": label, "distance": each.distance, "noise": each.noise, "out": each.stands_out}
        for label, each in zip(labels, drawn, strict=True)
    ]
    y = {"field": "marginal", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 300}}
    x = {"type": "quantitative", "title": "total variation, model and measurement", "axis": {"tickCount": 5}}
    color = {"condition": {"test": "datum.out", "value": _ORANGE}, "value": _BLUE}
    tooltip = [
        {"field": "marginal"},
        {"field": "distance", "format": ".4f"},
        {"field": "noise", "format": ".4f", "title": "noise alone"},
    ]
    bar: dict[str, Any] = {
        "mark": {"type": "bar", "height": {"band": 0.7}},
        "encoding": {"y": y, "x": x | {"field": "distance"}},
    }
    bar["encoding"] |= {"color": color, "tooltip": tooltip}
    tick = {"mark": {"type": "tick", "color": _DARK, "thickness": 2}, "encoding": {"y": y, "x": x | {"field": "noise"}}}
    lines = ["ticks: what noise alone gives · orange: farther than noise explains", left_out, *_notes(notes)]
    view = {"data": {"values": values}, "width": 380, "height": {"step": 20}, "layer": [bar, tick]}
    return framed(_title(title), lines, view)


def share_chart(shares: Sequence[Share], title: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """A bar for each stage, from the first to the last, in two colours: what was spent on measuring and on choosing.

    The last 60 are drawn; the chart says of how many.

    >>> spec = share_chart([Share("columns", 0.2, 0), Share("network", 0.73, 0.07)], "Budget")
    >>> [row["share"] for row in spec["data"]["values"]]
    [0.2, 0, 0.73, 0.07]
    """
    drawn = shares[-_MOST_SHARES:]
    left_out = f"last {_MOST_SHARES} of {len(shares):,} stages" if len(shares) > len(drawn) else ""
    values = [
        {"stage": each.name, "share": share, "on": what, "shown": f"{share:.2%}"}
        for each in drawn
        for what, share in (("measuring", each.measured), ("choosing", each.chosen))
    ]
    x: dict[str, Any] = {"field": "stage", "type": "ordinal", "sort": None, "title": None}
    x["axis"] = {"labelAngle": -45, "labelOverlap": len(drawn) > _FEW_SHARES, "labelLimit": 120}
    y = {"field": "share", "type": "quantitative", "title": "share of the spend", "axis": {"format": "%"}}
    color: dict[str, Any] = {"field": "on", "type": "nominal", "title": None, "legend": {"orient": "top"}}
    color["scale"] = {"domain": ["measuring", "choosing"], "range": [_BLUE, _ORANGE]}
    tooltip = [{"field": "stage"}, {"field": "on", "title": "on"}, {"field": "shown", "title": "share"}]
    view: Mapping[str, Any] = {
        "data": {"values": values},
        "width": {"step": 48 if len(drawn) <= _FEW_SHARES else 20},
        "height": 220,
        "mark": {"type": "bar"},
        "encoding": {"x": x, "y": y, "color": color, "tooltip": tooltip},
    }
    return framed(_title(title), [left_out, *_notes(notes)], view)


def _title(text: str) -> str:
    return cut(shown_text(text), LONGEST_LINE)


def _name(text: str) -> str:
    return cut(shown_text(text), _LONGEST_NAME)


def _notes(notes: Sequence[str]) -> list[str]:
    return [cut(shown_text(note), LONGEST_LINE) for note in notes]
