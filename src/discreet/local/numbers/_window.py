"""A report is one of a row of cells, and those in a window at the sender's position are e^ε times as likely.

Duchi's bit, the piecewise mechanism and the square wave are three choices of how many positions there are and how wide
the window is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.local._reports import Integers
from discreet.noise import Draws

__all__ = ["Window"]


@dataclass(frozen=True, slots=True)
class Window:
    """Position s of `positions` makes the cells s … s + width − 1 of positions + width − 1 e^ε times as likely.

    Pure ε-local privacy, if there are two positions or more; `exp_epsilon` is e^ε.
    Source: ``proofs/local_numbers.md``, section 1.
    """

    positions: int
    width: int
    exp_epsilon: Fraction

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.positions + self.width - 1

    @property
    def total(self) -> Fraction:
        """The sum of the cells' weights: `exp_epsilon` in the window and 1 elsewhere."""
        return self.width * self.exp_epsilon + self.cells - self.width

    @property
    def inside(self) -> Fraction:
        """The probability of a cell of the window."""
        return self.width * self.exp_epsilon / self.total

    @property
    def slope(self) -> Fraction:
        """By how much the mean cell moves per position."""
        return self.width * (self.exp_epsilon - 1) / self.total

    def mean(self, position: Fraction) -> Fraction:
        """The mean cell of a position: a straight line in it, so positions are found from means without bias."""
        rest = Fraction(self.cells * (self.cells - 1), 2) + (self.exp_epsilon - 1) * Fraction(
            self.width * (self.width - 1), 2
        )
        return rest / self.total + self.slope * position

    def square(self, position: int) -> Fraction:
        """The mean of the square of the cell of a position."""
        of_all = _squares_below(self.cells)
        of_window = _squares_below(position + self.width) - _squares_below(position)
        return (of_all + (self.exp_epsilon - 1) * of_window) / self.total

    def draw(self, positions: Integers, draws: Draws) -> Integers:
        """A cell for each position: a coin, and then a uniform cell of the window or of the rest."""
        inside = draws.coins(self.inside, positions.size)
        cell = np.empty(positions.size, dtype=np.int64)
        cell[inside] = positions[inside] + draws.below(self.width, int(inside.sum()))
        beside = positions[~inside]
        if beside.size:
            other = draws.below(self.cells - self.width, beside.size)
            cell[~inside] = other + np.where(other >= beside, self.width, 0)
        return cell


def _squares_below(n: int) -> int:
    return (n - 1) * n * (2 * n - 1) // 6
