"""How smooth sensitivity comes about: sensitivity at each distance, discounted."""

from __future__ import annotations

import math
from typing import Any

from discreet.errors import ParameterError
from discreet.explain._charts import load_altair
from discreet.privacy import Relation
from discreet.rational import Number, rational
from discreet.sensitivity import Statistic, adds_or_removes
from discreet.sensitivity import statistic as named

__all__ = ["smooth_curve", "smooth_points"]

_POINTS = 400


def smooth_points(  # noqa: PLR0913 (all but three by keyword)
    statistic: str | Statistic,
    x: Any,
    beta: Number,
    *,
    bounds: Any = None,
    relation: Relation = "add_remove",
    most: int | None = None,
) -> list[dict[str, float]]:
    """For distances k: ``at_distance``, A(x, k), and ``discounted``, e**(−βk) A(x, k), whose maximum is smooth.

    Up to 400 distances, evenly from 0 to `most`, or to where the discount is e**−8. For **public or made-up** data:
    the numbers are SENSITIVE. Raises `ParameterError` unless β is above 0, and as `sensitivity.smooth` does.

    >>> [round(each["discounted"], 3) for each in smooth_points("median", [0.5], 0.1, bounds=(0, 1), most=3)]
    [0.5, 0.452, 0.819, 0.741]
    """
    adds_or_removes(relation)
    exact = rational(beta, "beta")
    if exact <= 0:
        raise ParameterError("beta must be greater than 0")
    last = math.ceil(8 / exact) if most is None else most
    profile = named(statistic).profile(x, bounds, relation)
    found: list[dict[str, float]] = []
    for k in range(0, last + 1, max(1, last // _POINTS)):
        here = profile.at_distance(min(k, profile.last))
        found.append({"k": k, "at_distance": here, "discounted": math.exp(-float(exact) * k) * here})
    return found


def smooth_curve(points: list[dict[str, float]], unit: str = "") -> Any:
    """The points of `smooth_points` as an altair chart, the maximum marked. Raises `MissingExtra` without altair."""
    altair = load_altair()
    if not points:
        raise ParameterError("give the points of smooth_points")
    names = {"at_distance": "sensitivity at distance k", "discounted": "discounted by exp(−βk)"}
    rows = [{"k": each["k"], "curve": told, "value": each[name]} for each in points for name, told in names.items()]
    top = max(points, key=lambda each: each["discounted"])
    y = altair.Y("value:Q", title=unit or "sensitivity", scale=altair.Scale(type="symlog", constant=top["discounted"]))
    color = altair.Color("curve:N", title=None, legend=altair.Legend(labelLimit=260))
    lines = altair.Chart(altair.Data(values=rows)).mark_line().encode(altair.X("k:Q", title="distance k"), y, color)
    mark = altair.Chart(altair.Data(values=[{"k": top["k"], "value": top["discounted"]}]))
    return (lines + mark.mark_point(filled=True, size=80, color="black").encode(x="k:Q", y=y)).properties(width=480)
