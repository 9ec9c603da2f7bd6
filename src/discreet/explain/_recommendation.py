"""A recommendation as a picture."""

from __future__ import annotations

import math
from typing import Any

from discreet.advice import Recommendation
from discreet.explain._charts import load_altair

__all__ = ["recommendation_chart"]


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
