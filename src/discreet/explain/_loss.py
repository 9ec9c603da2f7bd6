"""Pictures of a loss: ε over δ with its bracket, and the adversary's trade-off."""

from __future__ import annotations

import math
from typing import Any

from discreet.explain._charts import load_altair
from discreet.privacy import Loss, tradeoff_curve
from discreet.rational import Number, rational

__all__ = ["Points", "loss_chart", "loss_points"]

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
