"""Estimated frequencies, with their errors; and the ways of making them consistent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._domain import Domain
from discreet.rational import Number, rational

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Consistency", "Estimate", "Floats", "SupportEstimate", "exact_level", "level_of", "projected", "wilson"]

Floats = NDArray[np.float64]
Consistency = Literal["non_negative", "norm", "norm_mul", "norm_sub", "simplex"]


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """How often each value is reported, one entry a value, in the order of `domain`. It follows from reports alone.

    Attributes
    ----------
    domain
        The values.
    reports
        How many reports there were.
    frequencies
        Unbiased estimates of each value's share of the people who reported. Each can fall outside of 0 … 1.
    stderr
        The standard error of each, over the randomness of the clients.
    """

    domain: Domain
    reports: int
    frequencies: Floats
    stderr: Floats

    @property
    def counts(self) -> Floats:
        """The frequencies as numbers of people: N̂ = n·π̂."""
        return self.frequencies * self.reports

    def interval(self, level: Number = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends for each value's share of the population that people were drawn from, within 0 … 1.

        By the normal approximation, which a thousand reports bear out; each value has its own interval, so for all d at
        once take 1 − (1 − level)/d. Raises `ParameterError` unless 0 < level < 1.
        Source: Wilson 1927; see `wilson`.
        """
        return wilson(self.frequencies, self.stderr, self.reports, level)

    def consistent(self, method: Consistency = "norm_sub") -> Floats:
        """Frequencies made to look like frequencies. Post-processing: costs no privacy, and is biased.

        ``"norm_sub"`` (the same as ``"simplex"``): the nearest in squares that are 0 or more and sum to 1;
        ``"non_negative"``: what is below 0 becomes 0, for single values; ``"norm"``: the same amount is added to each,
        so that they sum to 1; ``"norm_mul"``: non-negative, then divided by their sum. Raises `ParameterError` for
        others.
        Source: Wang, Lopuhaä-Zwakenberg, Li, Skoric and Li 2020, "Locally Differentially Private Frequency Estimation
        with Consistency", Section 4.
        """
        raw = self.frequencies
        match method:
            case "norm_sub" | "simplex":
                return projected(raw)
            case "non_negative":
                return np.maximum(raw, 0.0)
            case "norm":
                return raw + (1 - raw.sum()) / raw.size
            case "norm_mul":
                positive = np.maximum(raw, 0.0)
                return positive / positive.sum() if positive.sum() > 0 else np.full(raw.size, 1 / raw.size)
        raise ParameterError(
            f"method must be 'norm_sub', 'simplex', 'non_negative', 'norm' or 'norm_mul', got {method!r}"
        )

    def to_arrow(self, level: Number = 0.95) -> pa.Table:
        """A table: value, frequency, stderr, and the interval's low and high."""
        import pyarrow as pa

        low, high = self.interval(level)
        names = self.domain.names
        values = pa.array(np.arange(self.domain.size)) if names is None else pa.array(list(names))
        numbers = {"frequency": self.frequencies, "stderr": self.stderr, "low": low, "high": high}
        return pa.table({"value": values, **{name: pa.array(each) for name, each in numbers.items()}})


@dataclass(frozen=True, slots=True, eq=False)
class SupportEstimate(Estimate):
    """An estimate where each value's number of supporting reports is binomial, so that its interval is exact.

    Attributes
    ----------
    supports
        How many reports support each value.
    p, q
        The probabilities that a report supports its sender's value, and each other value.
    """

    supports: NDArray[np.int64]
    p: float
    q: float

    def interval(self, level: Number = 0.95) -> tuple[Floats, Floats]:
        """As `Estimate.interval`, at any number of reports: it holds with probability `level` or more.

        Source: Clopper and Pearson 1934, for the share of supporting reports.
        """
        from scipy.special import betaincinv  # pyright: ignore[reportMissingTypeStubs]

        miss = (1 - level_of(level)) / 2
        yes, no = self.supports, self.reports - self.supports
        low = np.where(yes == 0, 0.0, betaincinv(np.maximum(yes, 1), no + 1, miss))
        high = np.where(no == 0, 1.0, betaincinv(yes + 1, np.maximum(no, 1), 1 - miss))
        ends = [np.clip((end - self.q) / (self.p - self.q), 0.0, 1.0) for end in (low, high)]
        return np.minimum(*ends), np.maximum(*ends)


def wilson(frequencies: Floats, stderr: Floats, reports: float, level: Number) -> tuple[Floats, Floats]:
    """The shares π within 0 … 1 for which an estimate is within z standard errors of π.

    The variance is `stderr`² and, for the choice of people, π(1 − π)/reports. Raises `ParameterError` unless
    0 < level < 1. Source: Wilson 1927.
    """
    from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

    square = float(ndtri((1 + level_of(level)) / 2)) ** 2
    chosen = square / reports
    middle = (frequencies + chosen / 2) / (1 + chosen)
    rest = (frequencies**2 - square * stderr**2) / (1 + chosen)
    half = np.sqrt(np.maximum(middle**2 - rest, 0))
    return np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)


def level_of(level: Number) -> float:
    """The level as a float, or a `ParameterError` unless it is between 0 and 1."""
    near = float(exact_level(level))
    if near in (0, 1):
        raise ParameterError(f"level must be between 0 and 1, and not next to them, got {level!r}")
    return near


def exact_level(level: Number) -> Fraction:
    """The level, or a `ParameterError` unless it is between 0 and 1."""
    exact = rational(level, "level")
    if not 0 < exact < 1:
        raise ParameterError(f"level must be between 0 and 1, got {level!r}; write for example 0.95")
    return exact


def projected(raw: Floats) -> Floats:
    """The nearest point of the simplex: subtract what makes the positive rest sum to 1.

    Source: Held, Wolfe and Crowder 1974.

    >>> projected(np.array([0.7, 0.5, -0.1])).round(3).tolist()
    [0.6, 0.4, 0.0]
    """
    falling = np.sort(raw)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, raw.size + 1)
    last = int(np.flatnonzero(falling > excess)[-1])
    return np.maximum(raw - excess[last], 0.0)
