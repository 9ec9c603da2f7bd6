"""The low-order digits of numbers on a grid: remainders by small numbers, and grid points that one input never hits.

Noise that is not uniform over the remainders, or has holes, tells what it was added to. Source: the distribution of low
bits in Haney et al. 2022, section 3, and Gazeau, Miller and Palamidessi 2016 for holes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from discreet.audit._claim import Claim
from discreet.audit._digits import on_their_grid
from discreet.audit._finding import Finding, unmeasured
from discreet.audit._told_apart import Cells, flagged, told_apart

__all__ = ["HOLES", "LOW_DIGITS", "low_digits"]

LOW_DIGITS, HOLES = "low digits", "holes"
_MODULI = (2, 3, 5, 10, 16, 64, 256)


def low_digits(columns: Sequence[tuple[str, Sequence[Any], Sequence[Any]]], claim: Claim | None) -> list[Finding]:
    """What remainders tell, and single grid points. `columns`: name, numbers on one input, on the other."""
    remainders: dict[str, Cells] = {}
    points: dict[str, Cells] = {}
    for name, first, second in columns:
        grid = on_their_grid(first, second)
        if grid is None:
            continue
        step, (one, other) = grid
        for modulus in _MODULI:
            said = f"the remainder of {name} by {modulus} steps of {_said(step)}"
            remainders[said] = _remainders(one, modulus), _remainders(other, modulus)
        points[f"{name}, in steps of {_said(step)},"] = one, other
    if not points:
        why = "the outputs hold no numbers on a common grid."
        return [unmeasured(each, why) for each in (LOW_DIGITS, HOLES)]
    return [
        flagged(
            LOW_DIGITS,
            told_apart(remainders, claim),
            claim,
            leak="Draw noise that reaches every step of the grid, and round the answer before it is added.",
            fine="Remainders of the outputs by small numbers tell no more of the input than claimed.",
        ),
        flagged(
            HOLES,
            told_apart(points, claim),
            claim,
            leak="Draw noise that can reach every grid point from every input, with the ratio that was claimed.",
            fine="No set of grid points is hit more often on one input than claimed.",
        ),
    ]


def _remainders(steps: Sequence[Hashable], modulus: int) -> list[Hashable]:
    return [each % modulus if isinstance(each, int) else None for each in steps]


def _said(step: object) -> str:
    return f"{step:.6g}" if isinstance(step, float) else str(step)
