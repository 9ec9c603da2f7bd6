"""A released table as a whole chart: its panels under a title with notes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from discreet.charts._columns import Key, Measure, cut, key_of, read_measure, shown_text
from discreet.charts._frame import LONGEST_LINE, framed
from discreet.charts._kinds import Body, body
from discreet.errors import ParameterError

__all__ = ["chart"]

_MOST_MEASURES = 6
_LONGEST_TITLE = 72


def chart(  # noqa: PLR0913 — all but the table and its errors by keyword
    table: pa.Table,
    errors: Mapping[str, Iterable[float]],
    *,
    words: Mapping[str, str] | None = None,
    approximate: Collection[str] = (),
    counts: Collection[str] = (),
    totals: bool = False,
    subtitle: str = "",
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """A released table as a chart with its intervals: a Vega-Lite specification in plain JSON.

    Parameters
    ----------
    table
        The released values; the columns that `errors` does not name are keys.
    errors
        For each column with noise the half-width of every row: NaN where there is none, infinite where noise leaves
        nothing known.
    words
        What a column is, for the title; else it is named.
    approximate, counts
        The columns whose errors are approximate, and those that count rows, which may share an axis.
    totals
        Whether rows may be totals over a key, which then is null.
    subtitle, notes
        What stands below the title.

    The types of the columns choose the kind: one row is a point with its interval; one key of texts or of few numbers
    has bars, dates and many numbers a line with a band; two keys a heat map, or a line for each text over dates; more
    keys have bars. Of many groups the largest are drawn, and the chart says of how many. Raises `ParameterError` for a
    table without a column with noise.

    >>> spec = chart(pa.table({"city": ["Bern", "Ulm"], "n": [120, 80]}), {"n": [5, 5]})
    >>> spec["title"]["text"], [layer["mark"]["type"] for layer in spec["layer"]]
    ('n by city', ['bar', 'errorbar', 'text'])
    """
    if not errors:
        raise ParameterError("there is nothing to draw: no column of the answer has noise; ask for a COUNT too")
    named = {} if words is None else words
    measures = [
        read_measure(table, name, halves, named, (name in approximate, name in counts))
        for name, halves in errors.items()
    ]
    keys = [key_of(table, name) for name in table.column_names if name not in errors]
    varied = [key for key in keys if len(key.distinct) > 1]
    drawn = measures[:_MOST_MEASURES]
    panels = body(drawn, varied, table.num_rows, totals=totals)
    left_out = f"{_MOST_MEASURES} of {len(measures)} columns" if len(measures) > _MOST_MEASURES else ""
    lines = [
        subtitle,
        *(f"{_short(key.name)} = {key.texts[0]}" for key in keys if len(key.distinct) == 1),
        *panels.notes,
        left_out,
        *map(_unbounded, drawn),
        *(cut(shown_text(note), LONGEST_LINE) for note in notes),
    ]
    return framed(_title(measures, varied), lines, _together(panels))


def _together(panels: Body) -> dict[str, Any]:
    if len(panels.panels) == 1:
        return dict(panels.panels[0])
    return {
        "concat": list(panels.panels),
        "columns": panels.columns,
        "spacing": 24,
        "resolve": {"scale": {"color": "independent"}},
    }


def _title(measures: Sequence[Measure], keys: Sequence[Key]) -> str:
    """What is drawn, by which keys."""
    *names, last = [_short(key.name) for key in keys] or [""]
    by = f"{', '.join(names)} and {last}" if names else last
    room = _LONGEST_TITLE - len(by)
    what = ", ".join([measures[0].title, *(measure.words for measure in measures[1:])])
    if len(measures) > 1 and len(what) > room:
        what = ", ".join(measure.name for measure in measures)
    if len(what) > room:
        what = cut(what, room) if len(measures) == 1 else f"{len(measures)} columns"
    return f"{what} by {by}" if by else what


def _unbounded(measure: Measure) -> str:
    """A note on the rows whose interval cannot be drawn because noise leaves nothing known."""
    rows = sum(half == float("inf") for half in measure.halves)
    if not rows:
        return ""
    return f"± ∞: noise leaves nothing known of {rows:,} of {len(measure.halves):,} values of {_short(measure.name)}"


def _short(name: str) -> str:
    return cut(name, 30)
