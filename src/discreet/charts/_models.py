"""What a trained model has learnt, and how good models are: terms, coefficients, accuracy by privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from discreet.charts._columns import cut, short_texts, shown_text
from discreet.charts._frame import LONGEST_LINE, framed

__all__ = ["Accuracy", "Coefficient", "Term", "accuracy_chart", "coefficient_chart", "term_chart"]

_BLUE = "#4c78a8"
_MOST_PANELS, _MOST_BINS, _MOST_BARS, _MOST_CLASSES, _MOST_TICKS = 12, 60, 40, 10, 10
_FEW_BINS = 12
_PANEL_WIDTH, _PANEL_HEIGHT, _LEAST_STEP = 300, 120, 8
_LONGEST_NAME = 46


@dataclass(frozen=True, slots=True)
class Term:
    """What an input adds, bin by bin in order, to the score of each class: a row of `values` for each bin."""

    name: str
    bins: Sequence[str]
    classes: Sequence[str]
    values: Sequence[Sequence[float]]

    @property
    def reach(self) -> float:
        """How far its values are apart, of the class where they are farthest."""
        return max((max(column) - min(column) for column in zip(*self.values, strict=True)), default=0.0)


@dataclass(frozen=True, slots=True)
class Coefficient:
    """How much an input moves the score of a class."""

    name: str
    of_class: str
    value: float


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How often a model that cost `epsilon` is right, with the ends of an interval, and on which rows."""

    epsilon: float
    estimate: float
    low: float
    high: float
    rows: str


def term_chart(terms: Sequence[Term], title: str, axis: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Bars for what each bin of an input adds, in a colour for each class, a panel for each input.

    The 12 inputs whose terms reach farthest are drawn, and of each the first 60 bins; the chart says of how many.

    >>> spec = term_chart([Term("age", ["0 to 50", "50 to 100"], ["sick"], [[-0.4], [0.7]])], "Terms", "log-odds")
    >>> [row["term"] for row in spec["concat"][0]["data"]["values"]]
    [-0.4, 0.7]
    """
    drawn = sorted(terms, key=lambda each: -each.reach)[:_MOST_PANELS]
    classes = list(dict.fromkeys(name for each in terms for name in each.classes))
    left_out = [
        f"{_MOST_PANELS} of {len(terms):,} inputs, those whose terms reach farthest" if len(terms) > len(drawn) else "",
        f"first {_MOST_CLASSES} of {len(classes):,} classes" if len(classes) > _MOST_CLASSES else "",
    ]
    colours = short_texts(classes[:_MOST_CLASSES])
    concat: dict[str, Any] = {
        "concat": [_term(each, axis, dict(zip(classes, colours, strict=False))) for each in drawn],
        "columns": min(len(drawn), 2),
        "spacing": 28,
    }
    return framed(_cut(title), [*left_out, *map(_cut, notes)], concat)


def _term(each: Term, axis: str, colours: dict[str, str]) -> dict[str, Any]:
    shown, name = len(each.bins), _cut(each.name, _LONGEST_NAME)
    if shown > _MOST_BINS:
        shown, name = _MOST_BINS, f"{name}, first {_MOST_BINS} of {len(each.bins):,} values"
    labels = short_texts(each.bins[:shown])
    values = [
        {"bin": label, "term": number, "class": colours[of_class], "shown": f"{number:+.3f}"}
        for label, row in zip(labels, each.values, strict=False)
        for of_class, number in zip(each.classes, row, strict=True)
        if of_class in colours
    ]
    x: dict[str, Any] = {"field": "bin", "type": "ordinal", "sort": None, "title": None}
    x["axis"] = {"labelAngle": -45, "labelOverlap": shown > _FEW_BINS, "labelLimit": 110, "ticks": False}
    y = {"field": "term", "type": "quantitative", "title": _cut(axis, 40), "axis": {"tickCount": 4}}
    tooltip = [{"field": "bin", "title": name}, {"field": "class"}, {"field": "shown", "title": _cut(axis, 40)}]
    encoding: dict[str, Any] = {"x": x, "y": y, "tooltip": tooltip}
    bars = max(1, len(colours))
    if bars > 1:
        encoding |= {"color": _colour(list(colours.values())), "xOffset": {"field": "class", "sort": None}}
    else:
        encoding["color"] = {"value": _BLUE}
    wide = _LEAST_STEP * shown * bars <= _PANEL_WIDTH
    return {
        "title": {"text": name, "fontSize": 12, "offset": 6},
        "data": {"values": values},
        "width": _PANEL_WIDTH if wide else {"step": _LEAST_STEP if bars == 1 else 3},
        "height": _PANEL_HEIGHT,
        "mark": "bar",
        "encoding": encoding,
    }


def coefficient_chart(
    coefficients: Sequence[Coefficient], title: str, axis: str, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """A bar for each coefficient, in a colour for each class, inputs with the largest ones first.

    The 40 inputs with the largest coefficients are drawn; the chart says of how many.

    >>> both = [Coefficient("age", "sick", 0.8), Coefficient("site", "sick", -1)]
    >>> spec = coefficient_chart(both, "Model", "log-odds")
    >>> [row["input"] for row in spec["data"]["values"]]
    ['site', 'age']
    """
    largest: dict[str, float] = {}
    for each in coefficients:
        largest[each.name] = max(largest.get(each.name, 0.0), abs(each.value))
    names = sorted(largest, key=lambda name: -largest[name])[:_MOST_BARS]
    classes = list(dict.fromkeys(each.of_class for each in coefficients))
    left_out = [
        f"{_MOST_BARS} of {len(largest):,} inputs, those with the largest ones" if len(largest) > len(names) else "",
        f"first {_MOST_CLASSES} of {len(classes):,} classes" if len(classes) > _MOST_CLASSES else "",
    ]
    labels = dict(zip(names, short_texts(names, _LONGEST_NAME), strict=True))
    colours = dict(zip(classes[:_MOST_CLASSES], short_texts(classes[:_MOST_CLASSES]), strict=True))
    place = {name: i for i, name in enumerate(names)}
    drawn = [each for each in coefficients if each.name in labels and each.of_class in colours]
    values = [
        {
            "input": labels[each.name],
            "coefficient": each.value,
            "class": colours[each.of_class],
            "shown": f"{each.value:+.4g}",
        }
        for each in sorted(drawn, key=lambda each: place[each.name])
    ]
    y: dict[str, Any] = {"field": "input", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 300}}
    x = {"field": "coefficient", "type": "quantitative", "title": _cut(axis), "axis": {"tickCount": 5}}
    tooltip = [{"field": "input"}, {"field": "class"}, {"field": "shown", "title": _cut(axis, 40)}]
    encoding: dict[str, Any] = {"y": y, "x": x, "tooltip": tooltip, "color": {"value": _BLUE}}
    if len(colours) > 1:
        encoding |= {"color": _colour(list(colours.values())), "yOffset": {"field": "class", "sort": None}}
    view = {
        "data": {"values": values},
        "width": 380,
        "height": {"step": 20 if len(colours) == 1 else 8},
        "mark": "bar",
        "encoding": encoding,
    }
    return framed(_cut(title), [*left_out, *map(_cut, notes)], view)


def accuracy_chart(points: Sequence[Accuracy], title: str, notes: Sequence[str] = ()) -> dict[str, Any]:
    """Accuracy over the ε that a model cost, with intervals, and a line for each kind of rows.

    >>> spec = accuracy_chart([Accuracy(1, 0.8, 0.7, 0.9, "private rows")], "Accuracy of y")
    >>> spec["data"]["values"][0]["shown"]
    '0.8 (0.7 to 0.9)'
    """
    kinds = list(dict.fromkeys(each.rows for each in points))
    values = [
        {
            "epsilon": each.epsilon,
            "accuracy": each.estimate,
            "low": each.low,
            "high": each.high,
            "rows": shown_text(each.rows),
            "shown": f"{each.estimate:.4g} ({each.low:.4g} to {each.high:.4g})",
        }
        for each in sorted(points, key=lambda each: each.epsilon)
    ]
    ends = [each.epsilon for each in points if each.epsilon > 0]
    scale: dict[str, Any] = (
        {"type": "log", "padding": 16, "nice": False} if ends and len(ends) == len(points) else {"padding": 16}
    )
    listed = sorted(set(ends)) if len(set(ends)) <= _MOST_TICKS else None
    x: dict[str, Any] = {"field": "epsilon", "type": "quantitative", "title": "ε of the model", "scale": scale}
    x["axis"] = {"format": "~g", "grid": False} | ({"values": listed} if listed else {"tickCount": 5})
    y: dict[str, Any] = {
        "type": "quantitative",
        "title": "accuracy",
        "scale": {"zero": False},
        "axis": {"tickCount": 5},
    }
    color: dict[str, Any] = (
        {"value": _BLUE} if len(kinds) == 1 else _colour([shown_text(each) for each in kinds], "rows")
    )
    tooltip = [{"field": "epsilon", "title": "ε"}, {"field": "shown", "title": "accuracy"}, {"field": "rows"}]
    line = {
        "mark": {"type": "line", "strokeWidth": 1},
        "encoding": {"x": x, "y": y | {"field": "accuracy"}, "color": color},
    }
    bar = {
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {"x": x, "y": y | {"field": "low"}, "y2": {"field": "high"}, "color": color},
    }
    point = {
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
        "encoding": {"x": x, "y": y | {"field": "accuracy"}, "color": color, "tooltip": tooltip},
    }
    view = {"data": {"values": values}, "width": 460, "height": 240, "layer": [line, bar, point]}
    return framed(_cut(title), [*map(_cut, notes)], view)


def _colour(names: Sequence[str], field: str = "class") -> dict[str, Any]:
    return {"field": field, "type": "nominal", "title": None, "legend": {"orient": "top"}, "scale": {"domain": names}}


def _cut(text: str, longest: int = LONGEST_LINE) -> str:
    return cut(shown_text(text), longest)
