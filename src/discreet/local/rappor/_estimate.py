"""What RAPPOR's regression finds: shares of candidates, with their errors and their significance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.local._estimate import Estimate, Floats, level_of
from discreet.rational import Number

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RapporEstimate"]


@dataclass(frozen=True, slots=True, eq=False)
class RapporEstimate(Estimate):
    """An estimate for candidates that may be values of nobody: `domain` lists them.

    `frequencies` and `stderr` are of the share of the population that people were drawn from. Where the bits of the
    candidates do not determine a share, its standard error is infinite.

    Attributes
    ----------
    p_values
        For each candidate alone, how probable an estimate so high would be if nobody had it. One-sided, by Student's
        distribution.
    """

    p_values: Floats

    def significant(self, level: Number = 0.95) -> tuple[str, ...]:
        """The candidates that are significantly there, the most frequent first.

        With probability `level` or more, none of them is a value of nobody: the family-wise error of all candidates is
        held at 1 − level, whichever of them are there. Normal approximation. Raises `ParameterError` unless
        0 < level < 1. Source: Holm 1979 (step-down Bonferroni); ``proofs/rappor.md``, section 6.
        """
        alarm = 1 - level_of(level)
        rising = np.argsort(self.p_values, kind="stable")
        held = self.p_values[rising] * np.arange(rising.size, 0, -1) <= alarm
        passing = rising[: held.size if bool(held.all()) else int(held.argmin())]
        falling = passing[np.argsort(-self.frequencies[passing], kind="stable")]
        return tuple(str(self.domain.value(place)) for place in falling.tolist())

    def interval(self, level: Number = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends for each candidate's share of the population, within 0 … 1, by normal approximation.

        Each candidate has its own interval. Raises `ParameterError` unless 0 < level < 1.
        """
        from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

        half = float(ndtri((1 + level_of(level)) / 2)) * self.stderr
        return np.clip(self.frequencies - half, 0, 1), np.clip(self.frequencies + half, 0, 1)

    def to_arrow(self, level: Number = 0.95) -> pa.Table:
        """A table: value, frequency, stderr, the interval's low and high, and p_value."""
        import pyarrow as pa

        table = Estimate.to_arrow(self, level)
        return table.append_column("p_value", pa.array(self.p_values))
