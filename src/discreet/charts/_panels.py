"""Panels of a chart, one for each measure: bars, lines, heat maps and single numbers, each with its intervals.

A panel is a view of Vega-Lite with rows of its own. Their fields have names that mean nothing to Vega, whatever the
columns are called.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.charts._columns import NULL, Key, Measure, compact, cut, short_texts

__all__ = ["bars", "empty", "grouped_bars", "heat_map", "lines", "number", "small_lines"]

_BLUE, _DARK, _GREY = "#4c78a8", "#222222", "#666666"
_BAR = {"type": "bar", "color": _BLUE, "height": {"band": 0.72}}
_STEP = 22
_MOST_POINTS = 120
_MOST_CELLS_WITH_TEXT = 180
_LONGEST_TITLE = 60
_FORMAT = ",.12~r"


def empty() -> dict[str, Any]:
    """The place of an answer without rows."""
    return {"data": {"values": []}, "width": 420, "height": 36, "mark": "point"}


def number(measure: Measure, *, titled: bool) -> dict[str, Any]:
    """The one row of a measure: a point with its interval, and both in figures above."""
    low, high = measure.bounds(0)
    values = [{"value": measure.values[0], "low": low, "high": high, "shown": measure.text(0)}]
    x: dict[str, Any] = {"field": "value", "type": "quantitative", "title": cut(measure.name, _LONGEST_TITLE)}
    x["scale"] = {"zero": False, "padding": 30}
    x["axis"] = {"format": _FORMAT, "labelOverlap": True, "tickCount": 5, "grid": False}
    layers: list[dict[str, Any]] = [
        {"mark": _error_bar(14), "encoding": _from_to("x", x)},
        {"mark": {"type": "point", "filled": True, "size": 90, "opacity": 1, "color": _BLUE}, "encoding": {"x": x}},
        {
            "mark": {"type": "text", "align": "left", "baseline": "top", "fontSize": 15, "color": _DARK},
            "encoding": {"x": {"value": 0}, "y": {"value": 0}, "text": {"field": "shown"}},
        },
    ]
    panel = {"data": {"values": values}, "width": 420, "height": 56, "layer": layers[low is None :]}
    title = {"text": cut(measure.title, _LONGEST_TITLE), "fontSize": 12, "offset": 8}
    return panel | ({"title": title} if titled else {})


def bars(measure: Measure, key: Key, rows: Sequence[int], *, labelled: bool = True, width: int = 320) -> dict[str, Any]:
    """A bar for each row, with its interval, and both in figures at the right."""
    values = [_row(measure, i) | {"label": key.texts[i]} for i in rows]
    x: dict[str, Any] = {"field": "value", "type": "quantitative", "title": cut(measure.name, _LONGEST_TITLE)}
    x["axis"] = _value_axis(measure, rows)
    y: dict[str, Any] = {"field": "label", "type": "nominal", "sort": None, "title": cut(key.name, _LONGEST_TITLE)}
    y["axis"] = {"labelLimit": 260} if labelled else None
    return {
        "data": {"values": values},
        "width": width,
        "height": {"step": _STEP},
        "layer": [
            {"mark": _BAR, "encoding": {"x": x, "y": y, "tooltip": _tooltip([key.name], measure)}},
            {"mark": _error_bar(7), "encoding": _from_to("x", x) | {"y": y}},
            _figures(y),
        ],
    }


def grouped_bars(measures: Sequence[Measure], key: Key, rows: Sequence[int], width: int = 320) -> dict[str, Any]:
    """Bars of several measures of one unit, side by side for each row."""
    names = short_texts([measure.name for measure in measures])
    values = [
        _row(measure, i) | {"label": key.texts[i], "column": name}
        for i in rows
        for measure, name in zip(measures, names, strict=True)
    ]
    x = {"field": "value", "type": "quantitative", "title": None, "axis": _value_axis(measures[0], rows)}
    places = {
        "y": {
            "field": "label",
            "type": "nominal",
            "sort": None,
            "title": cut(key.name, _LONGEST_TITLE),
            "axis": {"labelLimit": 260},
            "scale": {"paddingInner": 0.25},
        },
        "yOffset": {"field": "column", "type": "nominal", "sort": None},
    }
    color = {"field": "column", "type": "nominal", "sort": None, "title": None, "legend": {"orient": "top"}}
    tooltip = [{"field": "label", "title": key.name}, {"field": "column", "title": "column"}, *_TOOLTIP]
    return {
        "data": {"values": values},
        "width": width,
        "height": {"step": 16},
        "layer": [
            {"mark": {"type": "bar"}, "encoding": places | {"x": x, "color": color, "tooltip": tooltip}},
            {"mark": _error_bar(6), "encoding": _from_to("x", x) | places},
            _figures(places["y"], places["yOffset"]),
        ],
    }


def lines(measure: Measure, key: Key, series: Key | None, rows: Sequence[int]) -> dict[str, Any]:
    """A line over an ordered key with its intervals as a band, in a colour for each series; null has its own place."""
    placed = [i for i in rows if key.position(i) is not None]
    y = _value_scale(measure, rows) | {"title": cut(measure.name, _LONGEST_TITLE)}
    color = {} if series is None else {"color": _series_color(series)}
    tooltip = _series_tooltip(measure, key, series)
    main: dict[str, Any] = {
        "data": {"values": [_line_row(measure, key, series, i) for i in placed]},
        "width": 560,
        "height": 260,
        "layer": _line_layers(_key_axis(key, placed), y, color, tooltip, len(placed)),
    }
    if len(placed) == len(rows):
        return main
    x: dict[str, Any] = {"x": {"field": "label", "type": "nominal", "title": None, "axis": {"labelAngle": 0}}}
    if series is not None:
        x["xOffset"] = {"field": "series", "type": "nominal", "sort": series.distinct}
    unlabelled = y | {"title": None, "axis": {"labels": False, "ticks": False}}
    bar = _error_bar(5, None if color else _DARK)
    point = {"type": "point", "filled": True, "size": 40, "opacity": 1, **({} if color else {"color": _BLUE})}
    nulls = {
        "data": {"values": [_line_row(measure, key, series, i) for i in rows if key.position(i) is None]},
        "width": 44,
        "height": 260,
        "layer": [
            {"mark": bar, "encoding": x | color | _from_to("y", unlabelled)},
            {"mark": point, "encoding": x | color | {"y": unlabelled, "tooltip": tooltip}},
        ],
    }
    return {"spacing": 12, "hconcat": [main, nulls], "resolve": {"scale": {"y": "shared", "color": "shared"}}}


def small_lines(measure: Measure, key: Key, series: Key, rows: Sequence[int]) -> dict[str, Any]:
    """A small panel with a line for each series, all on one scale."""
    placed = [i for i in rows if key.position(i) is not None]
    y = _value_scale(measure, placed) | {"title": cut(measure.name, 24)}
    order = list(dict.fromkeys(series.texts[i] for i in placed))
    header = {"labelAnchor": "start", "labelFontWeight": "bold", "labelLimit": 200}
    x, tooltip = _key_axis(key, placed) | {"title": cut(key.name, 24)}, _series_tooltip(measure, key, series)
    return {
        "data": {"values": [_line_row(measure, key, series, i) for i in placed]},
        "facet": {"field": "series", "type": "nominal", "sort": order, "title": None, "header": header},
        "columns": 3,
        "spacing": 32,
        "spec": {
            "width": 200,
            "height": 110,
            "layer": _line_layers(x, y, {}, tooltip, len(placed)),
        },
    }


def heat_map(measure: Measure, down: Key, across: Key, rows: Sequence[int]) -> dict[str, Any]:
    """A cell for each pair of keys, with a cross where its interval is wider than its value is large."""
    peak = max((abs(v) for i in rows if (v := measure.values[i]) is not None), default=0.0)
    columns, lines_down = ([t for t in key.distinct if t in {key.texts[i] for i in rows}] for key in (across, down))
    with_text = len(rows) <= _MOST_CELLS_WITH_TEXT and len(columns) <= 14
    places = [{"label": down.texts[i], "column": across.texts[i]} for i in rows]
    cells = [_cell(measure, i, peak, with_text=with_text) for i in rows]
    step = 52 if with_text else 22
    upright = all(len(text) <= step // 6 for text in columns)
    x: dict[str, Any] = {
        "field": "column",
        "type": "ordinal",
        "sort": columns,
        "title": cut(across.name, _LONGEST_TITLE),
    }
    x["axis"] = {"labelAngle": 0 if upright else -45, "labelLimit": 140, "labelOverlap": False}
    y: dict[str, Any] = {
        "field": "label",
        "type": "ordinal",
        "sort": lines_down,
        "title": cut(down.name, _LONGEST_TITLE),
    }
    y["axis"] = {"labelLimit": 260}
    least = min((v for i in rows if (v := measure.values[i]) is not None), default=0.0)
    scale: dict[str, Any] = {"scheme": "blues", "domain": [0, peak or 1], "clamp": True}
    if least < -0.1 * peak:
        scale = {"scheme": "blueorange", "domain": [-peak, peak], "reverse": True}
    legend = {"title": cut(measure.name, 24), "format": _FORMAT, "tickCount": 4}
    legend["gradientLength"] = min(120, max(60, 20 * len(lines_down)))
    color = {"field": "value", "type": "quantitative", "scale": scale, "legend": legend}
    text_color = {"condition": {"test": "datum.dark", "value": "white"}, "value": _DARK}
    return {
        "data": {"values": [cell | place for cell, place in zip(cells, places, strict=True)]},
        "width": {"step": step},
        "height": {"step": 24 if with_text else 20},
        "view": {"fill": "#f2f2f2"},
        "layer": [
            {
                "mark": {"type": "rect", "stroke": "white"},
                "encoding": {"x": x, "y": y, "color": color, "tooltip": _tooltip([down.name, across.name], measure)},
            },
            {
                "mark": {"type": "text", "fontSize": 10},
                "encoding": {"x": x, "y": y, "text": {"field": "text"}, "color": text_color},
            },
        ],
    }


def _cell(measure: Measure, row: int, peak: float, *, with_text: bool) -> dict[str, Any]:
    value, half = measure.values[row], measure.halves[row]
    mark = "×" if measure.is_doubtful(row) else ""
    figure = compact(value, half if math.isfinite(half) else 0) if with_text else ""
    is_dark = value is not None and peak > 0 and abs(value) > 0.6 * peak
    return _row(measure, row) | {"text": f"{figure} {mark}".strip(), "dark": is_dark}


_TOOLTIP: list[dict[str, Any]] = [{"field": "shown", "title": "value"}, {"field": "interval", "title": "interval"}]


def _tooltip(keys: Sequence[str], measure: Measure) -> list[dict[str, Any]]:
    fields = zip(("label", "column"), keys, strict=False)
    named = [{"field": field, "title": name} for field, name in fields]
    return [*named, {"field": "shown", "title": measure.name}, _TOOLTIP[1]]


def _series_tooltip(measure: Measure, key: Key, series: Key | None) -> list[dict[str, Any]]:
    beside = [] if series is None else [{"field": "series", "title": series.name}]
    return [*beside, *_tooltip([key.name], measure)]


def _row(measure: Measure, row: int) -> dict[str, Any]:
    low, high = measure.bounds(row)
    return {
        "value": measure.values[row],
        "low": low,
        "high": high,
        "shown": measure.text(row),
        "interval": measure.interval(row),
    }


def _line_row(measure: Measure, key: Key, series: Key | None, row: int) -> dict[str, Any]:
    at = key.position(row)
    beside = {} if series is None else {"series": series.texts[row]}
    return _row(measure, row) | {"label": NULL if at is None else key.texts[row]} | {"at": at} | beside


def _figures(*places: Mapping[str, Any]) -> dict[str, Any]:
    """A column of text at the right end of the plot: each value with its half-width."""
    return {
        "mark": {"type": "text", "align": "left", "dx": 8, "fontSize": 10, "color": _GREY},
        "encoding": dict(zip(("y", "yOffset"), places, strict=False))
        | {"x": {"value": "width"}, "text": {"field": "shown"}},
    }


def _error_bar(ticks: int, color: str | None = _DARK) -> dict[str, Any]:
    return {"type": "errorbar", "ticks": {"size": ticks}} | ({} if color is None else {"color": color})


def _from_to(axis: str, encoding: Mapping[str, Any]) -> dict[str, Any]:
    return {axis: {**encoding, "field": "low"}, f"{axis}2": {"field": "high"}}


def _ends(measure: Measure, rows: Sequence[int]) -> list[float]:
    """All values and ends of intervals that are drawn."""
    return [end for i in rows for end in (measure.values[i], *measure.bounds(i)) if end is not None]


def _value_axis(measure: Measure, rows: Sequence[int]) -> dict[str, Any]:
    size = max(map(abs, _ends(measure, rows)), default=0.0)
    return {"format": "~s" if size >= 1e7 else _FORMAT, "labelOverlap": True, "tickCount": 5}


def _value_scale(measure: Measure, rows: Sequence[int]) -> dict[str, Any]:
    """The vertical place of values; zero is shown unless they are all far from it."""
    ends = _ends(measure, rows)
    zero = not ends or min(map(abs, ends)) < 0.6 * max(map(abs, ends)) or min(ends) < 0 < max(ends)
    axis = _value_axis(measure, rows)
    return {"field": "value", "type": "quantitative", "scale": {"zero": zero}, "axis": axis}


def _series_color(series: Key) -> dict[str, Any]:
    legend = {"title": cut(series.name, 30), "labelLimit": 200, "symbolOpacity": 1}
    return {"field": "series", "type": "nominal", "sort": series.distinct, "legend": legend}


def _key_axis(key: Key, rows: Sequence[int]) -> dict[str, Any]:
    x: dict[str, Any] = {"field": "at", "title": cut(key.name, _LONGEST_TITLE)}
    if key.kind == "date":  # the ticks do not all have a year
        ends = [(key.position(i), key.texts[i]) for i in rows]
        x["title"] += f", {min(ends)[1]} to {max(ends)[1]}" if ends else ""
        return x | {"type": "temporal", "scale": {"type": "utc", "padding": 6}, "axis": {"labelOverlap": True}}
    scale = {"zero": False, "nice": False, "padding": 6}
    return x | {"type": "quantitative", "scale": scale, "axis": {"format": ".12~r", "labelOverlap": True}}


def _line_layers(
    x: Mapping[str, Any], y: Mapping[str, Any], color: Mapping[str, Any], tooltip: Sequence[Any], points: int
) -> list[dict[str, Any]]:
    """A band, a line through its middle, and a point for each value."""
    plain = {} if color else {"color": _BLUE}
    point = {"type": "point", "filled": True, "opacity": 1, "size": 22 if points <= _MOST_POINTS else 1, **plain}
    line = {"type": "line", "strokeWidth": 1.5 if points <= _MOST_POINTS else 1, **plain}
    return [
        {"mark": {"type": "area", "opacity": 0.25, **plain}, "encoding": {"x": x, **_from_to("y", y), **color}},
        {"mark": line, "encoding": {"x": x, "y": y, **color}},
        {"mark": point, "encoding": {"x": x, "y": y, "tooltip": tooltip, **color}},
    ]
