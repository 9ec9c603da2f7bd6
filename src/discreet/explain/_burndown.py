"""A picture of budgets over time: what was left of each, and when its windows began again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from discreet.explain._charts import load_altair
from discreet.ledger._account import Account
from discreet.privacy import parts

__all__ = ["burndown_chart", "burndown_points"]

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
