"""Three ways to report a number so that the mean comes out: Duchi's bit, the piecewise mechanism, and both in turn."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local._estimate import Floats
from discreet.local._exp_epsilon import exp_epsilon
from discreet.local._reports import Bytes, Fields
from discreet.local.numbers._bounded import MeanScheme, stepped, window_levels, window_spread
from discreet.local.numbers._window import Window
from discreet.noise import Draws

__all__ = ["Duchi", "Hybrid", "Piecewise", "WindowScheme"]

_LEAST_STEPS, _MOST_STEPS = 2**10, 2**20
_LEAST_WIDTH = 64
_EVEN = Fraction("0.61")
"""The ε below which Duchi's bit alone is best: Wang et al. 2019, Equation 9."""


class WindowScheme(MeanScheme):
    """A mean scheme of one window: a step to one of the two nearest positions, and a cell."""

    __slots__ = ()

    @property
    @abstractmethod
    def window(self) -> Window:
        """Which cells are likelier for each position."""

    @property
    def cells(self) -> int:
        """One count for each cell."""
        return self.window.cells

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A step to one of the two nearest positions, and a cell."""
        return self.layout.pack(self.window.draw(stepped(prepared, self.window, draws), draws))

    def levels(self) -> Floats:
        """The numbers that cells stand for."""
        return window_levels(self.window)

    def spread(self, shares: Floats) -> Floats:
        """That of the window."""
        return window_spread(self.window, shares)


@dataclass(frozen=True, slots=True, init=False)
class Duchi(WindowScheme):
    """Reports one bit: rounds the number to one of its bounds at random, and tells that by randomized response.

    The best there is for ε below 0.6, whatever the numbers are. A report is one byte. Pure ε-local privacy. Raises
    `ParameterError` unless the bounds are two numbers, low < high, and 1e-6 ≤ ε ≤ 100.
    Source: Duchi, Jordan and Wainwright 2018, Section 4.1; ``proofs/local_numbers.md``, section 2.

    >>> scheme = Duchi(bounds=(0, 10), epsilon=1)
    >>> estimate = scheme.server().add(scheme.client().encode([4.0] * 10_000)).estimate()
    >>> low, high = estimate.interval(level=0.999999)
    >>> low < 4 < high
    True
    """

    protocol: ClassVar[str] = "duchi"

    @property
    def window(self) -> Window:
        """Two positions and a window of one cell: a report's variance is ((e^ε + 1)/(e^ε − 1))²/4 − (share − 1/2)²."""
        return Window(2, 1, exp_epsilon(self.epsilon))


@dataclass(frozen=True, slots=True, init=False)
class Piecewise(WindowScheme):
    """Reports a cell, likelier in a window around the number, on a fine public grid.

    Better than `Duchi` for ε above 1.3 or so. A report is 2 bytes (up to 3 for ε above 8). Pure ε-local privacy.
    Raises `ParameterError` unless the bounds are two numbers, low < high, and 1e-6 ≤ ε ≤ 100.
    Source: Wang et al. 2019, "Collecting and Analyzing Multidimensional Data with Local Differential Privacy", Section
    III-B, on a grid; ``proofs/local_numbers.md``, section 3.

    >>> scheme = Piecewise(bounds=(0, 10), epsilon=3)
    >>> round(scheme.variance([0, 5]), 2)  # of one report; without a grid it is 8.73
    8.74
    """

    protocol: ClassVar[str] = "piecewise"

    @property
    def window(self) -> Window:
        """D steps, and a window of e^(−ε/2)·D cells."""
        return _piecewise_window(self.epsilon)


@dataclass(frozen=True, slots=True, init=False)
class Hybrid(MeanScheme):
    """Reports as `Piecewise` with probability 1 − e^(−ε/2), and else as `Duchi`, and says which.

    Its largest variance over all numbers is the least of the three. For ε ≤ 0.61 it is `Duchi`. A report is 2 bytes (up
    to 3 for ε above 8). Pure ε-local privacy. Raises `ParameterError` unless the bounds are two numbers, low < high,
    and 1e-6 ≤ ε ≤ 100.
    Source: Wang et al. 2019, Section III-C, on a grid; ``proofs/local_numbers.md``, section 4.

    >>> hybrid, piecewise, duchi = (kind(bounds=(-1, 1), epsilon=2) for kind in (Hybrid, Piecewise, Duchi))
    >>> max(hybrid.variance([0]), hybrid.variance([1])) < min(piecewise.variance([1]), duchi.variance([0]))
    True
    """

    protocol: ClassVar[str] = "hybrid"

    @property
    def share(self) -> Fraction:
        """How often the report is piecewise."""
        return 1 - 1 / exp_epsilon(self.epsilon / 2) if self.epsilon > _EVEN else Fraction(0)

    @property
    def windows(self) -> tuple[Window, Window]:
        """Those of Duchi and of the piecewise mechanism."""
        return Window(2, 1, exp_epsilon(self.epsilon)), _piecewise_window(self.epsilon)

    @property
    def cells(self) -> int:
        """Two counts of Duchi's, and those of the piecewise mechanism."""
        return sum(window.cells for window in self.windows)

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A coin that does not depend on the number, and then the one or the other."""
        piecewise = draws.coins(self.share, prepared.size)
        cells = np.empty(prepared.size, dtype=np.int64)
        start = 0
        for window, mine in zip(self.windows, (~piecewise, piecewise), strict=True):
            cells[mine] = start + window.draw(stepped(prepared[mine], window, draws), draws)
            start += window.cells
        return self.layout.pack(cells)

    def genuine(self, fields: Fields) -> NDArray[np.bool_]:
        """Where the coin always picks Duchi's, a report is one of its two cells."""
        return fields.numbers[0] < (self.cells if self.share else 2)

    def levels(self) -> Floats:
        """The numbers that cells stand for."""
        return np.concatenate([window_levels(window) for window in self.windows])

    def spread(self, shares: Floats) -> Floats:
        """The mean of both, since both are right on average."""
        of_duchi, of_piecewise = (window_spread(window, shares) for window in self.windows)
        return of_duchi + float(self.share) * (of_piecewise - of_duchi)


def _piecewise_window(epsilon: Fraction) -> Window:
    width = 1 / exp_epsilon(epsilon / 2)
    steps = _LEAST_STEPS
    while steps * width < _LEAST_WIDTH and steps < _MOST_STEPS:
        steps *= 2
    return Window(steps + 1, max(1, round(steps * width)), exp_epsilon(epsilon))
