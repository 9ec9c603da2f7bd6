"""Grid distributions of the Laplace mechanism in closed form: thousands of different scales in a second."""

from __future__ import annotations

from math import exp, expm1, floor
from typing import TYPE_CHECKING

import numpy as np

from discreet.privacy._pld._measure import Measure
from discreet.privacy._pld._pair import ROUNDING

if TYPE_CHECKING:
    from discreet.privacy._pld._laplace import LaplacePair

SLACK = 64 * ROUNDING  # relative error of each mass below: about a dozen operations, exponents of at most 8


def fits(pair: LaplacePair, step: float) -> bool:
    """Whether the closed forms apply: no sampling, moderate scale, several steps between the atoms."""
    return pair.rate == 1.0 and 4 * step < 2 / pair.scale < 8


def laplace_upper(pair: LaplacePair, step: float) -> Measure:
    """Connect the dots from the lower atom -e on, e = 1/scale.

    A full cell from g has p = e^{(g - e)/2} (e^{h/2} - 1)/2 and q = e^{-(g + e)/2} (1 - e^{-h/2})/2, so that
    q e^g / p = e^{-h/2} and b = p (1 - e^{-h/2}) / (1 - e^{-h}) = p / (1 + e^{-h/2}): the same share of every cell.
    The last cell, of width w <= h, also has the upper atom.
    """
    epsilon = 1 / pair.scale
    full = floor(2 * epsilon / step * (1 - 1e-12))
    width = max(0.0, 2 * epsilon - full * step)
    p = (0.5 * expm1(step / 2) * exp(-epsilon)) * np.exp(np.arange(full) * (step / 2))
    share = 1 / (1 + exp(-step / 2)) + SLACK / step
    mass = np.zeros(full + 2)
    mass[:-2] += p * (1 - share + SLACK)
    mass[1:-1] += p * share
    mass[0] += 0.5 * exp(-epsilon)
    # last cell: p - q e^g, written without cancellation, over 1 - e^-h
    p_atom, p_rest = 0.5, -0.5 * expm1(-width / 2)
    excess = -0.5 * expm1(-width) + p_rest * -expm1(-width / 2)
    up = min(p_atom + p_rest, (excess + SLACK * (p_atom + step)) / -expm1(-step))
    mass[-2] += max(0.0, p_atom + p_rest - up) + SLACK
    mass[-1] += up
    # the ends of the grid are off by a round-off of 1/scale and of the losses
    return Measure(-epsilon + SLACK * (1 + epsilon), step, 0, mass * (1 + SLACK), 0.0)


def laplace_lower(pair: LaplacePair, step: float) -> Measure:
    """Merge the outcomes between the atoms into cells of two steps, after adding noise until steps divide.

    Merging a cell of losses gives exactly its midpoint, because p and q are exponentials of the loss with opposite
    rates. So with e = m step the cells, like the atoms, are on the grid. Lap(c) with c > b is Lap(b) plus noise of its
    own (zero with probability b^2/c^2, else Lap(c)): a post-processing.
    """
    cells = floor((1 / pair.scale) / step * (1 - 1e-14))
    epsilon = cells * step
    mass = np.zeros(2 * cells + 1)
    mass[0], mass[-1] = 0.5 * exp(-epsilon), 0.5
    mass[1::2] = (0.5 * expm1(step) * exp(-epsilon)) * np.exp(np.arange(cells) * step)
    return Measure(-epsilon, step, 0, mass * (1 - SLACK), 0.0)
