"""The estimated mean of vectors, with its errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.local._estimate import Floats, level_of
from discreet.rational import Number

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["VectorEstimate"]


@dataclass(frozen=True, slots=True, eq=False)
class VectorEstimate:
    """The mean of the vectors that people hold, one entry a coordinate. It follows from reports alone.

    Attributes
    ----------
    mean
        Unbiased; it can be longer than the radius.
    stderr
        The standard error of each coordinate for the mean of the population that people were drawn from: that of the
        clients' randomness and that of the choice of people together.
    reports
        How many reports there were.
    """

    mean: Floats
    stderr: Floats
    reports: int

    @property
    def error(self) -> float:
        """The root of the mean square of the distance, in l2, between this mean and the population's: √Σ stderr²."""
        return float(np.sqrt((self.stderr**2).sum()))

    def interval(self, level: Number = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends for each coordinate of the population's mean, by the normal approximation.

        For some hundreds of reports; each coordinate has its own interval, so for all d at once take
        1 − (1 − level)/d. Raises `ParameterError` unless 0 < level < 1.
        """
        from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

        half = float(ndtri((1 + level_of(level)) / 2)) * self.stderr
        return self.mean - half, self.mean + half

    def to_arrow(self, level: Number = 0.95) -> pa.Table:
        """A table: value (the coordinate, from 0), mean, stderr, and the interval's low and high."""
        import pyarrow as pa

        low, high = self.interval(level)
        numbers = {"mean": self.mean, "stderr": self.stderr, "low": low, "high": high}
        return pa.table({"value": pa.array(np.arange(self.mean.size)), **{k: pa.array(v) for k, v in numbers.items()}})
