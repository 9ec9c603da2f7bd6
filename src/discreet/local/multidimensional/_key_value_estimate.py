"""How many people have each key, and the mean of their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.local._domain import Domain
from discreet.local._estimate import Floats, level_of, wilson
from discreet.rational import Number

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["KeyValueEstimate", "Moments"]


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Moments of what one report adds to a key's total (the sum of the shares of its two words) and their difference.

    Attributes
    ----------
    total, change
        Their means: high + low, and high − low.
    near_total, near_change
        Total and change for the nearest shares that are 0 or more and sum to 1.
    totals, changes, products
        The means of the squares of total and change, and of their product, for people with these nearest shares.
    """

    total: Floats
    change: Floats
    near_total: Floats
    near_change: Floats
    totals: Floats
    changes: Floats
    products: Floats


@dataclass(frozen=True, slots=True, eq=False)
class KeyValueEstimate:
    """Shares of people who have each key, and means of their numbers, in the order of `domain`.

    It follows from reports alone. Errors are for the population that people were drawn from: those of the clients'
    randomness, of which pair a client reports, and of the choice of people together.

    Attributes
    ----------
    domain
        The keys.
    low, high
        The bounds.
    padding
        ℓ, how many pairs people tell in full.
    reports
        How many reports there were.
    moments
        What the estimates are made from.
    """

    domain: Domain
    low: float
    high: float
    padding: int
    reports: int
    moments: Moments

    @property
    def frequencies(self) -> Floats:
        """The share of people with each key, unbiased for people of at most ℓ pairs; it can fall outside of 0 … 1.

        One with s > ℓ pairs counts for ℓ/s of a person.
        """
        return self.padding * self.moments.total

    @property
    def stderr(self) -> Floats:
        """The standard error of each frequency."""
        of_one = np.maximum(self.moments.totals - self.moments.near_total**2, 0)
        return self.padding * np.sqrt(of_one / self.reports)

    @property
    def means(self) -> Floats:
        """The mean of the number among people with the key, cut to the bounds; NaN where nobody seems to have it.

        Its bias falls with the number of reports, as that of any ratio; people of more than ℓ pairs count for less.
        """
        return self._number(self._ratio())

    @property
    def mean_stderr(self) -> Floats:
        """The standard error of each mean, to first order; NaN where nobody seems to have the key.

        For keys whose frequency is many times its own standard error; `mean_interval` holds for all.
        """
        at, held = self._ratio(), self.moments
        spread = (
            held.changes - 2 * at * held.products + at**2 * held.totals - (held.near_change - at * held.near_total) ** 2
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            errors = np.sqrt(np.maximum(spread, 0) / self.reports) / held.total
        return np.where(np.isnan(at), np.nan, errors * (self.high - self.low) / 2)

    def interval(self, level: Number = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends for each frequency in the population that people were drawn from, within 0 … 1.

        By the normal approximation, which a thousand reports bear out up to ε = 6; where lies are rarer than one a key
        in all reports, 0.95 is nearer 0.88 for keys that nobody has. Each key has its own interval. Raises
        `ParameterError` unless 0 < level < 1. Source: Wilson 1927.
        """
        noise = np.maximum(self.moments.totals - self.moments.near_total, 0)
        low, high = wilson(self.moments.total, np.sqrt(noise / self.reports), self.reports, level)
        return np.clip(self.padding * low, 0, 1), np.clip(self.padding * high, 0, 1)

    def mean_interval(self, level: Number = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends for each mean in the population, within the bounds; both bounds where it is unknown.

        It is unknown where the key is too rare to tell from none. By the normal approximation, which a thousand reports
        bear out; each key has its own interval. Raises `ParameterError` unless 0 < level < 1.
        Source: Fieller 1954, with Wilson's variance; ``proofs/several.md``, section 3.
        """
        from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

        held = self.moments
        share = float(ndtri((1 + level_of(level)) / 2)) ** 2 / self.reports
        square = held.total**2 - share * (held.totals - held.near_total - held.total)
        line = held.total * held.change - share * (held.products - held.near_change)
        rest = held.change**2 - share * (held.changes - held.near_total + held.total)
        known = (square > 0) & (held.total > 0)
        safe = np.where(known, square, 1.0)
        half = np.sqrt(np.maximum((line / safe) ** 2 - rest / safe, 0))
        low, high = np.clip(line / safe - half, -1, 1), np.clip(line / safe + half, -1, 1)
        known &= (line / safe - half <= 1) & (line / safe + half >= -1)
        return self._number(np.where(known, low, -1.0)), self._number(np.where(known, high, 1.0))

    def to_arrow(self, level: Number = 0.95) -> pa.Table:
        """A table: value, which is the key; frequency, stderr, low, high; mean, mean_stderr, mean_low, mean_high."""
        import pyarrow as pa

        names = self.domain.names
        keys = pa.array(np.arange(self.domain.size)) if names is None else pa.array(list(names))
        (low, high), (mean_low, mean_high) = self.interval(level), self.mean_interval(level)
        numbers = {
            "frequency": self.frequencies,
            "stderr": self.stderr,
            "low": low,
            "high": high,
            "mean": self.means,
            "mean_stderr": self.mean_stderr,
            "mean_low": mean_low,
            "mean_high": mean_high,
        }
        return pa.table({"value": keys, **{name: pa.array(each) for name, each in numbers.items()}})

    def _ratio(self) -> Floats:
        """From −1, all at the low bound, to 1."""
        there = self.moments.total > 0
        with np.errstate(over="ignore"):
            ratio = self.moments.change / np.where(there, self.moments.total, 1.0)
        return np.where(there, np.clip(ratio, -1, 1), np.nan)

    def _number(self, ratio: Floats) -> Floats:
        return self.low + (self.high - self.low) * (1 + ratio) / 2
