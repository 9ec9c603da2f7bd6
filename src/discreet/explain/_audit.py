"""Pictures of audits: a claimed trade-off curve beside what was certified, and claims beside what was certified."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.audit import Verdict
from discreet.charts import load_altair
from discreet.errors import ParameterError
from discreet.privacy import tradeoff_curve

__all__ = ["audit_chart", "audit_table_chart"]

_ALPHAS = 60
_IMPOSSIBLE = "#d62728"
_REACHED = {"within the claim": "#1f77b4", "out of reach under the claim": _IMPOSSIBLE}
_BAR = "M-0.12,-1L0.12,-1L0.12,1L-0.12,1Z"
_MARKS = {
    "claimed": ("black", _BAR, 120),
    "exact": ("gray", "diamond", 90),
    "certified": ("#1f77b4", "circle", 60),
    "certified, refuted": (_IMPOSSIBLE, "circle", 60),
}
_ROW = 18


def audit_chart(verdict: Verdict) -> Any:
    """What an adversary was certified to reach, over the trade-off curve that was claimed, as an altair chart.

    Each point is an event that was tested: the errors of a test that watches for it are at most these. Under the claim
    no test gets below the curve, into the shaded region, so a point there refutes the claim. Points outside prove no
    privacy. Raises `MissingExtra` without altair, `ParameterError` for another kind of verdict.

    >>> from discreet.audit import batched, check
    >>> from discreet.mechanisms import DiscreteLaplace
    >>> from discreet.privacy import pure
    >>> noisy = batched(lambda count, size: DiscreteLaplace("1/2").release([count] * size))
    >>> chart = audit_chart(check(noisy, [(0, 1)], claim=pure(1), samples=5_000))
    >>> len(chart.layer)
    3
    """
    if not isinstance(verdict, Verdict):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(
            f"a chart of an audit is made of a Verdict, as check returns it, got {type(verdict).__name__}"
        )
    altair = load_altair()
    reached = verdict.tradeoff
    at = [(step / _ALPHAS) ** 2 for step in range(_ALPHAS + 1)] + [alpha for alpha, _ in reached]
    curve = [{"alpha": alpha, "beta": beta} for alpha, beta in tradeoff_curve(verdict.claim, at)]
    within, beyond = _REACHED
    points = [
        {"alpha": alpha, "beta": beta, "seen": beyond if beta < least["beta"] - 1e-11 else within}
        for (alpha, beta), least in zip(reached, curve[_ALPHAS + 1 :], strict=True)
    ]
    claimed = altair.Chart(altair.Data(values=curve[: _ALPHAS + 1]))
    alpha = altair.X("alpha:Q", title="type I error", scale=altair.Scale(domain=[0, 1]))
    beta = altair.Y("beta:Q", title="type II error", scale=altair.Scale(domain=[0, 1]))
    colour = altair.Color(
        "seen:N", title="certified", scale=altair.Scale(domain=list(_REACHED), range=list(_REACHED.values()))
    )
    impossible = claimed.mark_area(opacity=0.15, color=_IMPOSSIBLE).encode(alpha, beta)
    edge = claimed.mark_line(color="gray").encode(alpha, beta)
    seen = altair.Chart(altair.Data(values=points)).mark_point(filled=True, size=60, opacity=1)
    return (impossible + edge + seen.encode(alpha, beta, colour)).properties(
        title="Shaded: impossible under the claim", width=320, height=320
    )


def audit_table_chart(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Claimed against certified ε of many mechanisms, a row each, as an altair chart.

    Parameters
    ----------
    rows
        Each with ``name``, ``claimed`` and ``certified``: the ε that is claimed, None or infinite if there is none,
        and the ε that was certified to be exceeded or reached. It may have ``violated``, and ``exact``: the true ε.

    A certified ε right of its claim refutes it. Raises `MissingExtra` without altair, `ParameterError` for nothing to
    show or a row without these keys.

    >>> chart = audit_table_chart([{"name": "Laplace", "claimed": 1, "certified": 0.98}])
    >>> chart.to_dict()["height"]
    18
    """
    if not rows or any({"name", "claimed", "certified"} - set(row) for row in rows):
        raise ParameterError('give rows such as {"name": "Laplace", "claimed": 1.0, "certified": 0.98}')
    altair = load_altair()
    known = [dict(row, claimed=_finite(row["claimed"]), exact=_finite(row.get("exact"))) for row in rows]
    marks = [
        {"name": row["name"], "epsilon": row[kind], "what": _what(kind, row)}
        for row in known
        for kind in _MARKS
        if row.get(kind) is not None
    ]
    order = list(dict.fromkeys(row["name"] for row in known))
    kinds = [kind for kind in _MARKS if any(mark["what"] == kind for mark in marks)]
    name = altair.Y("name:N", title=None, sort=order, axis=altair.Axis(labelLimit=320))
    spans = altair.Chart(altair.Data(values=[row for row in known if row["claimed"] is not None]))
    lines = spans.mark_rule(color="lightgray").encode(altair.X("claimed:Q", title="ε"), altair.X2("certified:Q"), name)
    points = (
        altair.Chart(altair.Data(values=marks))
        .mark_point(filled=True, opacity=1)
        .encode(
            altair.X("epsilon:Q", title="ε"),
            name,
            altair.Color("what:N", title=None, scale=_scale(kinds, 0)),
            altair.Shape("what:N", title=None, scale=_scale(kinds, 1)),
            altair.Size("what:N", title=None, scale=_scale(kinds, 2)),
        )
    )
    return (lines + points).properties(width=480, height=_ROW * len(order))


def _scale(kinds: Sequence[str], which: int) -> Any:
    return load_altair().Scale(domain=kinds, range=[_MARKS[kind][which] for kind in kinds])


def _what(kind: str, row: Mapping[str, Any]) -> str:
    refuted = row.get("violated", row["claimed"] is not None and row["certified"] > row["claimed"])
    return "certified, refuted" if kind == "certified" and refuted else kind


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None
