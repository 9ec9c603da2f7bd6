"""A picture of what a collector estimated: shares with their intervals, or a distribution over bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.errors import ParameterError
from discreet.explain._charts import load_altair

__all__ = ["estimate_chart"]

_MOST = 50
_ROW = 18


def estimate_chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Estimates with their intervals, the 50 largest, as an altair chart; it follows from reports alone.

    Parameters
    ----------
    rows
        Each with ``value`` or ``word``, ``low``, ``high``, and ``frequency`` or ``mean``, as `Estimate.to_arrow` and
        `WordsEstimate.to_arrow` have them; or, for a distribution, with ``low``, ``high`` and ``share``.

    Raises `MissingExtra` without altair, `ParameterError` for nothing to show or rows without these keys.

    >>> chart = estimate_chart([{"value": "bus", "frequency": 0.2, "low": 0.1, "high": 0.3}])
    >>> len(chart.layer)
    2
    """
    name = next((each for each in ("frequency", "mean", "share") if rows and each in rows[0]), None)
    label = "word" if rows and "word" in rows[0] else "value"
    needed = {"low", "high"} | (set() if name == "share" else {label})
    if name is None or any((needed | {name}) - set(row) for row in rows):
        raise ParameterError('give rows such as {"value": "bus", "frequency": 0.2, "low": 0.1, "high": 0.3}')
    altair = load_altair()
    if name == "share":
        return _distribution(altair, rows)
    kept = sorted(rows, key=lambda row: -row[name])[:_MOST]
    values = [{each: row[each] for each in ("low", "high", name)} | {"value": str(row[label])} for row in kept]
    place = altair.Y("value:N", title=None, sort=None, axis=altair.Axis(labelLimit=240))
    base = altair.Chart(altair.Data(values=values))
    spans = base.mark_rule(color="gray").encode(altair.X("low:Q", title=name), altair.X2("high:Q"), place)
    points = base.mark_point(filled=True, opacity=1).encode(altair.X(f"{name}:Q"), place)
    return (spans + points).properties(width=480, height=_ROW * len(kept))


def _distribution(altair: Any, rows: Sequence[Mapping[str, Any]]) -> Any:
    values = [{"low": row["low"], "high": row["high"], "share": row["share"]} for row in rows]
    return (
        altair.Chart(altair.Data(values=values))
        .mark_rect()
        .encode(
            altair.X("low:Q", title="value", scale=altair.Scale(zero=False)),
            altair.X2("high:Q"),
            altair.Y("share:Q", scale=altair.Scale(zero=True)),
            altair.Y2(datum=0),
        )
        .properties(width=480, height=240)
    )
