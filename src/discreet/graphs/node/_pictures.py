"""A picture of a distribution of degrees with its band."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.charts import Band, band_chart

__all__ = ["distribution_chart"]

_MOST_PLACES = 400


def distribution_chart(
    shares: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], title: str, notes: Sequence[str]
) -> dict[str, Any]:
    """The shares by degree + 1, as the axis is logarithmic; of many degrees those that are nearly even on it.

    >>> spec = distribution_chart(np.array([0.5, 1.0]), np.array([0.4, 0.9]), np.array([0.6, 1.0]), "Degrees", [])
    >>> spec["data"]["values"][0]
    {'x': 1, 'y': 0.5, 'low': 0.4, 'high': 0.6}
    """
    places = np.unique(np.geomspace(1, len(shares), _MOST_PLACES).astype(np.int64))[: len(shares)]
    bands = [Band(int(x), float(shares[x - 1]), float(low[x - 1]), float(high[x - 1])) for x in places]
    return band_chart(bands, title, "degree + 1", "share of people of this degree or less", notes)
