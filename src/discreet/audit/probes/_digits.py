"""Low-order digits that distinguish inputs: floats that noise alone, or one input alone, can reach.

Sources: Mironov 2012, "On significance of the least significant bits for differential privacy", section 4; Haney,
Desfontaines, Hartman, Shrestha and Hay 2022, "Precision-based attacks and interval refining".
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audit.black_box._claim import Claim
from discreet.audit.probes._distinguisher import Cells, distinguish, flagged
from discreet.audit.probes._finding import Finding, unmeasured
from discreet.audit.probes._lattice import (
    Exact,
    common_step,
    exact,
    leading_bit,
    lowest_bit,
    near_step,
    significant_bits,
)

__all__ = ["HOLES", "LOW_DIGITS", "OFF_GRID", "THE_GRID", "digits", "low_digits", "on_their_grid"]


OFF_GRID, THE_GRID = "off the grid", "grid"

_LEARNED = 400
"""How many numbers, all in the quarter that orders the events, a step is estimated from."""

_MOST_STEPS = 2**50
"""The most steps in the largest float on a grid: beyond it, the float's own last digit would be taken for the grid."""

_FAR, _NEAR = 2.0**28, 1e-6
"""A float of up to `_FAR` steps counts as a multiple if it is within `_NEAR` steps of one."""

_NEXT = (
    "Add noise that is a multiple of a public step to an answer that is rounded to one, and divide by nothing that "
    "depends on the data: the mechanisms of discreet do."
)


def digits(columns: Sequence[tuple[str, Sequence[Any], Sequence[Any]]], claim: Claim | None) -> list[Finding]:
    """What the last digits tell, and the grid of the outputs. `columns`: name, numbers on one input, on the other."""
    if not columns:
        return [unmeasured(each, "the outputs hold no numbers.") for each in (OFF_GRID, THE_GRID)]
    properties: dict[str, Cells] = {}
    for name, *worlds in columns:
        first, second = ([exact(value) for value in world] for world in worlds)
        properties[f"the last binary digit of {name}"] = _each(_last, first), _each(_last, second)
        properties[f"the last and the first binary digit of {name}"] = _each(_ends, first), _each(_ends, second)
        for which, learned in (("first", worlds[0]), ("second", worlds[1])):
            step = near_step([float(each) for each in learned[: _first_quarter(worlds)] if _is_float(each)])
            if step:
                label = f"whether {name} is a multiple of {step:.6g}, the step on the {which} input,"
                properties[label] = _on(step, worlds[0]), _on(step, worlds[1])
    event = distinguish(properties, claim)
    finding = flagged(
        OFF_GRID,
        event,
        claim,
        leak=_NEXT,
        fine="The last digits of the outputs tell no more of the input than claimed.",
    )
    return [finding, _the_grid(columns)]


def on_their_grid(first: Sequence[Any], second: Sequence[Any]) -> tuple[Fraction | float, Cells] | None:
    """The step of both inputs' numbers, and each number in steps, None where it is off the grid or no number.

    The step is estimated from the quarter that orders the events. None if there is none, or it is finer than noise on a
    grid has reason to be.
    """
    read = [exact(each) for world in (first, second) for each in world[: _first_quarter((first, second))]]
    numbers = [each for each in read if each is not None]
    step = common_step(numbers)
    if step is None:
        return None
    floats = any(map(_is_float, (*first[:_LEARNED], *second[:_LEARNED])))
    if not floats or max(abs(Fraction(*each)) for each in numbers) / step < _MOST_STEPS:
        # Floats that are multiples of a decimal step have this many digits, and the coarser step is the true one.
        return step, (_in_steps(step, first), _in_steps(step, second))
    near = near_step([top / bottom for top, bottom in numbers if abs(top) < bottom << 1000])
    return None if near is None else (near, (_on_near(near, first), _on_near(near, second)))


def _in_steps(step: Fraction, values: Sequence[Any]) -> list[int | None]:
    steps: list[int | None] = []
    for value in values:
        number = exact(value)
        quotient, rest = (0, 1) if number is None else divmod(number[0] * step.denominator, number[1] * step.numerator)
        steps.append(None if rest else quotient)
    return steps


def _on_near(step: float, values: Sequence[Any]) -> list[int | None]:
    near = _on(step, values)
    return [round(float(value) / step) if on is True else None for value, on in zip(values, near, strict=True)]


def _first_quarter(worlds: Sequence[Sequence[Any]]) -> int:
    return min(_LEARNED, min(map(len, worlds)) // 4)


def _each(cell: Any, numbers: Sequence[Exact | None]) -> list[Hashable]:
    return [None if number is None else cell(number) for number in numbers]


def _last(number: Exact) -> Hashable:
    low = lowest_bit(number)
    return "zero" if low is None else f"2^{low}"


def _ends(number: Exact) -> Hashable:
    low, high = lowest_bit(number), leading_bit(number)
    return "zero" if low is None else f"2^{low} to 2^{high}"


def _is_float(value: object) -> bool:
    return isinstance(value, float | np.floating)


def _fills_its_float(value: object) -> bool:
    """Whether a float has digits down to its last two or three."""
    number = exact(value)
    if number is None or not _is_float(value):
        return False
    digits = 52 if isinstance(value, float) else int(np.finfo(type(value)).nmant)  # type: ignore[type-var]
    return significant_bits(number) >= digits - 2


def _on(step: float, values: Sequence[Any]) -> list[Hashable]:
    """Whether each is a multiple, within rounding; "far" where a float's own spacing approaches the step."""
    multiples: list[Hashable] = []
    for value in values:
        number = exact(value)
        if number is None or abs(number[0]) >= step * _FAR * number[1]:
            multiples.append(None if number is None else "far")
            continue
        steps = float(value) / step
        multiples.append(abs(steps - round(steps)) <= _NEAR)
    return multiples


def _the_grid(columns: Sequence[tuple[str, Sequence[Any], Sequence[Any]]]) -> Finding:
    """What grid the outputs lie on, as far as seen. It flags nothing."""
    steps: dict[str, Any] = {}
    for name, *worlds in columns:
        values = [each for world in worlds for each in world]
        numbers = [each for each in map(exact, values) if each is not None]
        if not numbers:
            continue
        full = sum(map(_fills_its_float, values)) / len(numbers)
        if full > 0.2:
            near = near_step([float(each) for each in values[:_LEARNED] if exact(each) is not None])
            steps[name] = None if near is None else f"about {near:.6g}"
        else:
            step = common_step(numbers)
            steps[name] = "any" if step is None else str(step)
    floating = [name for name, step in steps.items() if step is None]
    if floating:
        return Finding(
            THE_GRID,
            violated=False,
            sentence=f"{', '.join(floating)} fills all bits of a float: the noise is in floating point, whose last "
            f"digits depend on what they were added to, even where no probe proves it. {_NEXT}",
            numbers={"steps": steps},
            warning=True,
        )
    text = "; ".join(f"{name} is always a multiple of {step}" for name, step in steps.items() if step != "any")
    return Finding(THE_GRID, violated=False, sentence=f"{text or 'All numbers are 0'}.", numbers={"steps": steps})


LOW_DIGITS, HOLES = "low digits", "holes"
_MODULI = (2, 3, 5, 10, 16, 64, 256)


def low_digits(columns: Sequence[tuple[str, Sequence[Any], Sequence[Any]]], claim: Claim | None) -> list[Finding]:
    """Findings about remainders, and about single grid points. `columns`: name, numbers on one input, on the other."""
    remainders: dict[str, Cells] = {}
    points: dict[str, Cells] = {}
    for name, first, second in columns:
        grid = on_their_grid(first, second)
        if grid is None:
            continue
        step, (one, other) = grid
        for modulus in _MODULI:
            label = f"the remainder of {name} by {modulus} steps of {_step_text(step)}"
            remainders[label] = _remainders(one, modulus), _remainders(other, modulus)
        points[f"{name}, in steps of {_step_text(step)},"] = one, other
    if not points:
        why = "the outputs hold no numbers on a common grid."
        return [unmeasured(each, why) for each in (LOW_DIGITS, HOLES)]
    return [
        flagged(
            LOW_DIGITS,
            distinguish(remainders, claim),
            claim,
            leak="Draw noise that reaches every step of the grid, and round the answer before it is added.",
            fine="Remainders of the outputs by small numbers tell no more of the input than claimed.",
        ),
        flagged(
            HOLES,
            distinguish(points, claim),
            claim,
            leak="Draw noise that can reach every grid point from every input, with the ratio that was claimed.",
            fine="No set of grid points is hit more often on one input than claimed.",
        ),
    ]


def _remainders(steps: Sequence[Hashable], modulus: int) -> list[Hashable]:
    return [each % modulus if isinstance(each, int) else None for each in steps]


def _step_text(step: object) -> str:
    return f"{step:.6g}" if isinstance(step, float) else str(step)
