"""What quantiles of one argument cost, and their draw from a histogram.

Proof: ``proofs/query_quantiles.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.mechanisms import Quantiles
from discreet.privacy import Loss
from discreet.query.measures._histograms import Histogram

if TYPE_CHECKING:
    from discreet.query.measures._bounded import Cells

__all__ = ["QuantileNoise", "quantile_to_json"]

_LEAST_JOINT = Fraction(1, 2**40)
_ANY = 2**60


@dataclass(frozen=True, slots=True)
class QuantileNoise:
    """The quantiles of one argument in every group, where a unit adds and removes at most `moves` rows in all.

    `mechanism` has the ε of one row: a unit's moves count at that rate in whatever groups they are, and add up to the
    ε that was paid. So groups cost nothing extra. Source: ``proofs/query_quantiles.md``.
    """

    mechanism: Quantiles
    moves: int

    @classmethod
    def calibrate(cls, spend: Loss, histogram: Histogram, moves: int) -> QuantileNoise:
        """The largest ε that the spend allows, in its own currency; see `Quantiles.calibrate`."""
        probabilities = [str(p) for p in histogram.probabilities]
        bounds, step = histogram.bounds, histogram.step
        mechanism = Quantiles.calibrate(spend, probabilities=probabilities, bounds=bounds, step=step)
        if mechanism.method == "joint" and mechanism.epsilon / moves < _LEAST_JOINT:  # too small a rate to draw jointly
            mechanism = Quantiles.calibrate(
                spend, probabilities=probabilities, bounds=bounds, step=step, method="recursive"
            )
        each = Quantiles(probabilities, bounds, mechanism.epsilon / moves, step=step, method=mechanism.method)
        return cls(each, moves)

    def draw(self, cells: Cells | None) -> tuple[float, ...]:
        """The quantiles of one group, in the unit of the argument; of no rows, a draw from the bounds alone.

        Costs what the noise of the plan says, for all groups together, **and charges nobody**.
        """
        nothing = np.zeros(0, dtype=np.int64)
        drawn = self.mechanism.release_counts(*(cells or (nothing, nothing)))
        return tuple(np.atleast_1d(drawn).tolist())

    def loss(self, moved: int) -> Loss:
        """What all groups together lose where two tables differ by so many rows, added or removed, 1 at least."""
        mechanism = self.mechanism
        asked, bounds, epsilon = mechanism.probabilities, mechanism.bounds, mechanism.epsilon * moved
        return Quantiles(asked, bounds, epsilon, step=mechanism.step, method=mechanism.method).loss()

    def rank_error(self, rows: int | None, level: float = 0.95) -> float | None:
        """By how many rows any answer's rank is off at most, in a group of up to `rows` rows, with probability `level`.

        None if that depends on the rows and they are not known.
        """
        if rows is None and len(self.asked) > 1:
            return None
        return self.mechanism.error(level, records=_ANY if rows is None else rows)

    @property
    def asked(self) -> tuple[Fraction, ...]:
        """The probabilities, in rising order."""
        asked = self.mechanism.probabilities
        return asked if isinstance(asked, tuple) else (asked,)


def quantile_to_json(noise: QuantileNoise) -> dict[str, object]:
    """The noise as plain JSON: exact numbers as text, and how far the rank of a single quantile may be off."""
    mechanism, rank = noise.mechanism, noise.rank_error(None)
    return {
        "mechanism": "Quantiles",
        "method": mechanism.method,
        "probabilities": [str(p) for p in noise.asked],
        "bounds": [str(bound) for bound in mechanism.bounds],
        "step": str(mechanism.step),
        "row_epsilon": str(mechanism.epsilon),
        "row_moves": noise.moves,
        "rank_error": None if rank is None else {"rows": repr(rank), "level": "0.95"},
    }
