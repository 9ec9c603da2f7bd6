"""Charts with altair, written to files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from discreet.advice import Recommendation
from discreet.charts import load_altair
from discreet.errors import ParameterError
from discreet.ledger import Account
from discreet.privacy import Loss, Relation, parts, tradeoff_curve
from discreet.rational import Number, rational
from discreet.release import check_writable
from discreet.sensitivity import Statistic, adds_or_removes
from discreet.sensitivity import statistic as named

__all__ = [
    "Points",
    "burndown_chart",
    "burndown_points",
    "check_path",
    "estimate_chart",
    "loss_chart",
    "loss_points",
    "recommendation_chart",
    "save",
    "smooth_curve",
    "smooth_points",
]


_SUFFIXES = (".svg", ".png", ".html", ".json")
_PIXELS = 2
"""Of a .png file, for each point of the chart."""


def check_path(path: Path | str) -> Path:
    """The path, before any work: `ParameterError` for another suffix or no directory, `MissingExtra` without altair."""
    checked = Path(path)
    if checked.suffix.lower() not in _SUFFIXES:
        raise ParameterError(f"a plot is a file that ends in {', '.join(_SUFFIXES)}, got {checked.name}")
    if not checked.absolute().parent.is_dir():
        raise ParameterError(f"there is no directory {checked.parent}")
    check_writable(checked)
    load_altair()
    return checked


class _InScript(json.JSONEncoder):
    """JSON that can stand in a script of a page: no text in it, such as a released key, ends the script."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def save(chart: Any, path: Path | str) -> None:
    """Write a chart as .svg, .png, .html or .json, its Vega-Lite specification. Raises as `check_path` does."""
    checked = check_path(path)
    try:
        if checked.suffix.lower() == ".html":
            checked.write_text(chart.to_html(json_kwds={"cls": _InScript}), encoding="utf-8")
        else:
            chart.save(str(checked), scale_factor=_PIXELS if checked.suffix.lower() == ".png" else 1)
    except OSError as error:
        raise ParameterError(f"{checked} cannot be written: {error.strerror}") from None


_LEFT = {"pure": "ε left", "approx": "ε left", "rho": "ρ left", "mu": "μ² left"}


def burndown_points(series: Mapping[str, Sequence[tuple[datetime, Account]]]) -> list[dict[str, Any]]:
    """The points of a chart: `account`, `at`, what was `left` from then on, and whether a window `begins` there.

    `series` are the states of each budget over time. Where a state is in a later window than the one before it, a point
    is put where that window began.
    """
    points: list[dict[str, Any]] = []
    for name, states in series.items():
        before: Account | None = None
        for at, state in states:
            begins = before is not None and state.windows > before.windows
            if begins and state.since < at:
                points.append(_point(name, state.since, float(parts(state.cap)[0]), begins=True))
            points.append(_point(name, at, float(parts(state.remaining)[0]), begins=begins and state.since == at))
            before = state
    return points


def burndown_chart(points: Sequence[Mapping[str, Any]], currency: str) -> Any:
    """A line for each budget, with a mark where a window began, as an altair chart. `MissingExtra` without altair."""
    altair = load_altair()
    base = altair.Chart(altair.Data(values=list(points)))
    at = altair.X("at:T", title="time, UTC", scale=altair.Scale(type="utc"))
    left = altair.Y("left:Q", title=_LEFT[currency], scale=altair.Scale(zero=True))
    names = altair.Color("account:N", title="account", sort=None)
    lines = base.mark_line(interpolate="step-after").encode(at, left, names, order="at:T")
    marks = base.transform_filter("datum.begins").mark_point(shape="triangle-up", size=60, filled=True)
    return (lines + marks.encode(at, left, names)).properties(
        title="What is left; triangles are windows that begin again", width=640, height=320
    )


def _point(name: str, at: datetime, left: float, *, begins: bool) -> dict[str, Any]:
    return {"account": name, "at": at.isoformat(), "left": left, "begins": begins}


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
    largest = sorted(rows, key=lambda row: -row[name])[:_MOST]
    values = [{each: row[each] for each in ("low", "high", name)} | {"value": str(row[label])} for row in largest]
    place = altair.Y("value:N", title=None, sort=None, axis=altair.Axis(labelLimit=240))
    base = altair.Chart(altair.Data(values=values))
    spans = base.mark_rule(color="gray").encode(altair.X("low:Q", title=name), altair.X2("high:Q"), place)
    points = base.mark_point(filled=True, opacity=1).encode(altair.X(f"{name}:Q"), place)
    return (spans + points).properties(width=480, height=_ROW * len(largest))


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


Points = dict[str, list[dict[str, float]]]

_DELTAS = 13
_ALPHAS = 60


def loss_points(loss: Loss, delta: Number) -> Points:
    """The data of both pictures.

    ``"epsilon"`` has delta, lower, upper, for δ around `delta`; ``"tradeoff"`` has alpha, beta.

    >>> from discreet.privacy import pure
    >>> found = loss_points(pure(1), "1e-6")
    >>> round(found["epsilon"][-1]["upper"], 6), found["tradeoff"][-1]
    (1.0, {'alpha': 1.0, 'beta': 0.0})
    """
    centre = rational(delta, "delta")
    middle = math.log10(centre) if centre else -6.0
    known: list[dict[str, float]] = []
    for step in range(_DELTAS):
        at = 10 ** (min(middle + 5, -1.0) - step)
        low, high = loss.bounds(delta=at, gap=0.01)
        if math.isfinite(high):
            known.append({"delta": at, "lower": low, "upper": high})
    alphas = [(step / _ALPHAS) ** 2 for step in range(_ALPHAS + 1)]
    return {
        "epsilon": known,
        "tradeoff": [{"alpha": alpha, "beta": beta} for alpha, beta in tradeoff_curve(loss, alphas)],
    }


def loss_chart(data: Points) -> Any:
    """Both pictures side by side, as an altair chart, from `loss_points`. Raises `MissingExtra` without altair."""
    altair = load_altair()
    delta = altair.X("delta:Q", scale=altair.Scale(type="log"), axis=altair.Axis(format=".0e"), title="δ")
    curve = altair.Chart(altair.Data(values=data["epsilon"]))
    bracket = curve.mark_area(opacity=0.3).encode(delta, y="lower:Q", y2="upper:Q")
    upper = curve.mark_line().encode(delta, altair.Y("upper:Q", title="ε"))
    tests = altair.Chart(altair.Data(values=data["tradeoff"])).mark_line()
    tradeoff = tests.encode(altair.X("alpha:Q", title="type I error"), altair.Y("beta:Q", title="least type II error"))
    return (bracket + upper).properties(title="ε over δ, certified") | tradeoff.properties(
        title="Telling neighbours apart"
    )


def recommendation_chart(recommendation: Recommendation) -> Any:
    """The expected error of every option, best first, on a logarithmic scale, as an altair chart.

    Options of infinite or no error are left out. Raises `MissingExtra` without altair.
    """
    altair = load_altair()
    rows = [
        {"mechanism": each.name, "error": each.error, "basis": each.basis}
        for each in recommendation.options
        if 0 < each.error < math.inf
    ]
    base = altair.Chart(altair.Data(values=rows), title=recommendation.title).encode(
        altair.X("error:Q", title="expected error", scale=altair.Scale(type="log")),
        altair.Y("mechanism:N", title=None, sort=[row["mechanism"] for row in rows], axis=altair.Axis(labelLimit=260)),
        altair.Color("basis:N", title="error is"),
    )
    return base.mark_point(filled=True, size=120).properties(width=480)


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
    points: list[dict[str, float]] = []
    for k in range(0, last + 1, max(1, last // _POINTS)):
        here = profile.at_distance(min(k, profile.last))
        points.append({"k": k, "at_distance": here, "discounted": math.exp(-float(exact) * k) * here})
    return points


def smooth_curve(points: list[dict[str, float]], unit: str = "") -> Any:
    """The points of `smooth_points` as an altair chart, the maximum marked. Raises `MissingExtra` without altair."""
    altair = load_altair()
    if not points:
        raise ParameterError("give the points of smooth_points")
    names = {"at_distance": "sensitivity at distance k", "discounted": "discounted by exp(−βk)"}
    rows = [{"k": each["k"], "curve": label, "value": each[name]} for each in points for name, label in names.items()]
    top = max(points, key=lambda each: each["discounted"])
    y = altair.Y("value:Q", title=unit or "sensitivity", scale=altair.Scale(type="symlog", constant=top["discounted"]))
    color = altair.Color("curve:N", title=None, legend=altair.Legend(labelLimit=260))
    lines = altair.Chart(altair.Data(values=rows)).mark_line().encode(altair.X("k:Q", title="distance k"), y, color)
    mark = altair.Chart(altair.Data(values=[{"k": top["k"], "value": top["discounted"]}]))
    return (lines + mark.mark_point(filled=True, size=80, color="black").encode(x="k:Q", y=y)).properties(width=480)
