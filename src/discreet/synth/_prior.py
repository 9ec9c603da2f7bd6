"""What is known of a column before it is measured, from something public: how its cells are merged, their shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.marginals import Measurement, Merge, Numbers

__all__ = ["Prior"]

_RELATIVE, _LEAST = 0.2, 0.01
"""How far shares may be off: in parts of themselves, and of all rows."""


@dataclass(frozen=True, eq=False)
class Prior:
    """How the cells of a column are merged, and a public guess at how rows are shared among them; it may be off."""

    merge: Merge
    counts: Numbers

    def measurement(self, column: int, total: float) -> Measurement:
        """The guess as a measurement of low weight, which what is measured of the column with others overrules.

        >>> prior = Prior(Merge((0, 1), (1.0, 1.0)), np.array([30.0, -1.0]))
        >>> prior.measurement(2, 100).counts.tolist()
        [100.0, 0.0]
        """
        held = np.maximum(self.counts, 0)
        shares = held / held.sum() if held.sum() > 0 else np.full(held.size, 1 / held.size)
        return Measurement((column,), total * shares, (total * (_RELATIVE * shares + _LEAST)) ** 2)
