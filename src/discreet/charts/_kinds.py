"""Which kind of chart the columns call for, and which rows it has room for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from discreet.charts._columns import NULL, Key, Measure, cut
from discreet.charts._panels import bars, empty, grouped_bars, heat_map, lines, number, small_lines

__all__ = ["Body", "body"]

_MOST_BARS = 30
_MOST_CELLS = 30
_MOST_POINTS = 5_000
_MOST_COLOURS = 5
_MOST_SMALL = 12
_MOST_GROUPED = 4
_ACROSS = 3
_FEW_NUMBERS = 15
_FEW_IN_CELLS = 40


@dataclass(frozen=True, slots=True)
class Body:
    """The panels of a chart, how many stand side by side, and what is to be read with them."""

    panels: Sequence[Mapping[str, Any]]
    columns: int = 1
    notes: Sequence[str] = ()


def body(measures: Sequence[Measure], keys: Sequence[Key], rows: int, *, totals: bool) -> Body:
    """The panels of so many rows, by the types of the keys; `totals` says that a null key may be a total."""
    if rows == 0:
        return Body([empty()], notes=["the answer has no rows"])
    if rows == 1:
        titled = len(measures) > 1
        return Body([number(measure, titled=titled) for measure in measures])
    if not keys:
        return _bars(measures, _places(rows), rows)
    if totals or len(keys) > 2:
        below = _bars(measures, _joined(keys), rows)
        return replace(below, notes=[*below.notes, f"{NULL} may be a total over that key"]) if totals else below
    few = _FEW_NUMBERS if len(keys) == 1 else _FEW_IN_CELLS
    ordered = [key for key in keys if _is_ordered(key, few)]
    if len(keys) == 1:
        return _lines(measures, keys[0], None, rows) if ordered else _bars(measures, keys[0], rows)
    if len(ordered) == 1:
        return _lines(measures, ordered[0], next(key for key in keys if key is not ordered[0]), rows)
    return _heat_maps(measures, keys[0], keys[1], rows)


def _is_ordered(key: Key, few: int) -> bool:
    """Whether a key is an axis rather than a list: dates from three on, and numbers if they are many."""
    distinct = sum(text != NULL for text in key.distinct)
    return (key.kind == "date" and distinct > 2) or (key.kind == "number" and distinct > few)


def _bars(measures: Sequence[Measure], key: Key, rows: int) -> Body:
    shown, notes = list(range(rows)), list[str]()
    if rows > _MOST_BARS:
        shown = sorted(shown, key=lambda i: _descending(measures[0].values[i]))[:_MOST_BARS]
        notes = [_top(_MOST_BARS, rows, measures[0])]
    if 1 < len(measures) <= _MOST_GROUPED and all(measure.is_count for measure in measures):
        return Body([grouped_bars(measures, key, shown)], notes=notes)
    columns = min(len(measures), _ACROSS)
    width = 320 if columns == 1 else 170
    panels = [bars(each, key, shown, labelled=i % columns == 0, width=width) for i, each in enumerate(measures)]
    return Body(panels, columns, notes)


def _lines(measures: Sequence[Measure], key: Key, series: Key | None, rows: int) -> Body:
    places = [key.position(i) for i in range(rows)]
    shown = sorted(range(rows), key=lambda i: (places[i] is None, places[i] or 0))
    notes, largest = list[str](), list[str]()
    if series is not None:
        largest = _largest(measures[0], series, range(rows), _MOST_SMALL)
        shown = [i for i in shown if series.texts[i] in largest]
        notes = _top_of(largest, series, measures[0])
    if len(shown) > _MOST_POINTS:
        notes.append(f"first {_MOST_POINTS:,} of {len(shown):,} rows")
        shown = shown[:_MOST_POINTS]
    if series is None or len(largest) <= _MOST_COLOURS:
        return Body([lines(measure, key, series, shown) for measure in measures], notes=notes)
    if key.kind == "date" and shown:  # small axes have no room for the year
        notes.append(f"{_short(key.name)} from {key.texts[shown[0]]} on")
    nulls = sum(places[i] is None for i in shown)
    if nulls:
        notes.append(f"{nulls:,} rows whose {_short(key.name)} is null are not drawn")
    shown.sort(key=lambda i: largest.index(series.texts[i]))
    return Body([small_lines(measure, key, series, shown) for measure in measures], notes=notes)


def _heat_maps(measures: Sequence[Measure], down: Key, across: Key, rows: int) -> Body:
    shown, notes = list(range(rows)), list[str]()
    for key in (down, across):
        largest = _largest(measures[0], key, shown, _MOST_CELLS)
        shown = [i for i in shown if key.texts[i] in largest]
        notes += _top_of(largest, key, measures[0])
    if len(shown) < len({down.texts[i] for i in shown}) * len({across.texts[i] for i in shown}):
        notes.append("grey cells are not in the answer")
    if any(measure.is_doubtful(i) for measure in measures for i in shown):
        notes.append("× interval wider than the value")
    panels = [heat_map(measure, down, across, shown) for measure in measures]
    narrow = len({across.texts[i] for i in shown}) <= 6
    return Body(panels, min(len(panels), 2) if narrow else 1, notes)


def _largest(measure: Measure, key: Key, rows: Collection[int], most: int) -> list[str]:
    """The texts of a key that have the largest sums of values, at most so many, largest first if some are left out."""
    if len(key.distinct) <= most:
        present = {key.texts[i] for i in rows}
        return [text for text in key.distinct if text in present]
    sums: dict[str, float] = {}
    for i in rows:
        sums[key.texts[i]] = sums.get(key.texts[i], 0.0) + (measure.values[i] or 0.0)
    return sorted(sums, key=lambda text: -sums[text])[:most]


def _top_of(largest: Sequence[str], key: Key, measure: Measure) -> list[str]:
    total = len(key.distinct)
    return [_top(len(largest), total, measure, f" values of {_short(key.name)}")] if len(largest) < total else []


def _top(shown: int, total: int, measure: Measure, what: str = "") -> str:
    return f"top {shown} of {total:,}{what} by {_short(measure.name)}"


def _short(name: str) -> str:
    return cut(name, 30)


def _descending(value: float | None) -> float:
    return float("inf") if value is None else -value


def _joined(keys: Sequence[Key]) -> Key:
    """Several keys as one, whose texts are those of all."""
    rows = range(len(keys[0].texts))
    texts = [" · ".join(cut(key.texts[i], 40 // len(keys)) for key in keys) for i in rows]
    often: dict[str, int] = {}
    for i in rows:
        often[texts[i]] = often.get(texts[i], 0) + 1
        texts[i] += "" if often[texts[i]] == 1 else f" #{often[texts[i]]}"
    return Key(" · ".join(key.name for key in keys), "text", texts, texts)


def _places(rows: int) -> Key:
    """The key of rows that have none: their place in the answer."""
    return Key("row", "text", range(1, rows + 1), [str(i + 1) for i in range(rows)])
