"""A picture of sorted degrees with their band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.charts import Band, band_chart

__all__ = ["degree_chart"]

_MOST_PLACES = 400


def degree_chart(
    degrees: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64], title: str, notes: Sequence[str]
) -> dict[str, Any]:
    """Degrees by their rank, from the highest; of many ranks those that are nearly even on a logarithmic axis.

    >>> spec = degree_chart(np.array([2, 1, 1]), np.array([1, 1, 0]), np.array([3, 2, 1]), "Degrees", [])
    >>> spec["data"]["values"][0]
    {'x': 1, 'y': 2, 'low': 1, 'high': 3}
    """
    ranks = np.unique(np.geomspace(1, max(len(degrees), 1), _MOST_PLACES).astype(np.int64))[: len(degrees)]
    bands = [Band(int(rank), int(degrees[rank - 1]), int(low[rank - 1]), int(high[rank - 1])) for rank in ranks]
    return band_chart(bands, title, "rank", "degree", notes)
