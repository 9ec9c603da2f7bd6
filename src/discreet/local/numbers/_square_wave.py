"""The square wave: whole distributions of a number, by maximum likelihood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal, longitudinal_of
from discreet.local._domain import integer
from discreet.local._exp_epsilon import epsilon_of, exp_epsilon
from discreet.local._reports import Bytes, Integers
from discreet.local.frequencies._supports import no_candidates
from discreet.local.numbers._bounded import NumberScheme, bounds_of
from discreet.local.numbers._distribution import Distribution, most_likely
from discreet.local.numbers._window import Window
from discreet.noise import Draws
from discreet.rational import Number

__all__ = ["SquareWave"]

_MOST_BINS = 2**16


@dataclass(frozen=True, slots=True, init=False)
class SquareWave(NumberScheme[Distribution]):
    """Reports a cell, e^ε times as likely within `half_width` of the number: reports keep the shape of the data.

    The range is cut into `bins`; the server finds the distribution over them that makes the reports likeliest, smoothed
    unless `smooth` is false, and from it the mean and quantiles. For the mean alone `Hybrid` is better. A report is 2
    bytes (at the default of 1,024 bins). Pure ε-local privacy; under ``"memoize"`` only a number of another bin costs
    again, so that fewer bins cost less over a life. Raises `ParameterError` unless the bounds are two numbers, low <
    high, 1e-6 ≤ ε ≤ 100 and 2 ≤ bins ≤ 2**16.
    Source: Li, Wang, Lopuhaä-Zwakenberg, Skoric and Li 2020, "Estimating Numerical Distributions under Local
    Differential Privacy", Section 5; ``proofs/local_numbers.md``, section 5.

    >>> scheme = SquareWave(bounds=(0, 100), epsilon=2, bins=100)
    >>> estimate = scheme.server().add(scheme.client().encode([20.5] * 3000 + [60.5] * 7000)).estimate()
    >>> 50 < estimate.quantile(0.5) < 70
    True
    """

    protocol: ClassVar[str] = "square_wave"
    reading: ClassVar[frozenset[str]] = frozenset({"smooth"})

    low: Fraction
    high: Fraction
    epsilon: Fraction
    bins: int
    smooth: bool
    longitudinal: Longitudinal

    def __init__(
        self,
        bounds: Sequence[Number],
        epsilon: Number,
        *,
        bins: int = 1024,
        smooth: bool = True,
        longitudinal: Longitudinal = "once",
    ) -> None:
        low, high = bounds_of(bounds)
        if not isinstance(smooth, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"smooth must be true or false, got {smooth!r}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        object.__setattr__(self, "epsilon", epsilon_of(epsilon))
        object.__setattr__(self, "bins", integer(bins, "bins", 2, _MOST_BINS))
        object.__setattr__(self, "smooth", smooth)
        object.__setattr__(self, "longitudinal", longitudinal_of(longitudinal))

    @property
    def half_width(self) -> float:
        """B = (ε e^ε − e^ε + 1) / (2 e^ε (e^ε − 1 − ε)), as a share of high − low: so reports tell most on average.

        >>> [round(SquareWave((0, 1), epsilon).half_width, 4) for epsilon in (0.5, 1, 2, 4)]
        [0.3582, 0.2561, 0.1293, 0.0304]
        """
        return float(self._half_width)

    @property
    def window(self) -> Window:
        """A position for each bin, and a window of 2b."""
        return Window(self.bins, max(1, round(2 * self._half_width * self.bins)), exp_epsilon(self.epsilon))

    @property
    def _half_width(self) -> Fraction:
        """Exact for `odds`, so that clients and servers agree on the window."""
        weight = exp_epsilon(self.epsilon)
        return (self.epsilon * weight - weight + 1) / (2 * weight * (weight - 1 - self.epsilon))

    @property
    def cells(self) -> int:
        """One count for each cell."""
        return self.window.cells

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, as JSON has them."""
        return {**NumberScheme.parameters(self), "bins": self.bins, "smooth": self.smooth}

    def prepare(self, values: Any) -> NDArray[Any]:
        """The bin of each number: numbers of one bin are one value, also to a client that remembers."""
        shares = NumberScheme.prepare(self, values)
        return np.minimum((shares * self.bins).astype(np.int64), self.bins - 1)

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A cell of the window at the bin or of the rest."""
        return self.layout.pack(self.window.draw(prepared, draws))

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> Distribution:
        """The likeliest distribution: expectation maximisation."""
        no_candidates(candidates)
        shares = most_likely(counts, self.window, smooth=self.smooth)
        return Distribution(float(self.low), float(self.high), reports, shares)
