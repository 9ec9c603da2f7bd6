"""A privacy-loss distribution on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from discreet.privacy._pld._pair import Floats


@dataclass(frozen=True)
class Measure:
    """Mass `mass[i]` at loss origin + step * (first + i), and `infinity` at +inf.

    Of a lower bound, `folded` bounds how much of the tilted total may be false.

    A bound, not a distribution: totals may be a little above or below one.
    """

    origin: float
    step: float
    first: int
    mass: Floats
    infinity: float
    folded: float = 0.0

    def losses(self) -> Floats:
        """Where the masses lie."""
        return self.origin + self.step * (self.first + np.arange(len(self.mass)))

    def trimmed(self) -> Measure:
        """Without zeros at the ends."""
        kept = np.flatnonzero(self.mass)
        if len(kept) == 0:
            return Measure(self.origin, self.step, self.first, np.zeros(1), self.infinity)
        return Measure(
            self.origin, self.step, self.first + int(kept[0]), self.mass[kept[0] : kept[-1] + 1], self.infinity
        )
