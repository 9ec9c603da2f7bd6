"""Vectors on a fine grid in a ball: one form for each, so that what clients make of it is the same everywhere."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._estimate import Floats
from discreet.local._layout import Integers
from discreet.sensitivity import unmasked

__all__ = ["RADIUS", "in_ball", "lengths", "packed", "unpacked"]

RADIUS = 2**20
"""How many steps of the grid the ball's radius is."""


def in_ball(values: Any, dimension: int, radius: float) -> Integers:
    """The vectors in steps of radius / 2**20, a row each; one that is longer than the radius is scaled to it.

    Whole numbers, and the operations before them are rounded as IEEE 754 has it, one coordinate at a time: the same
    numbers on every machine. Raises `ParameterError` unless there is one vector, or a list of them, of finite numbers.
    """
    numbers = _vectors(values, dimension)
    _, power = np.frexp(np.abs(numbers).max(axis=1))
    fraction, own = math.frexp(radius)
    # A vector as long as the radius or longer is scaled anyway, so that nothing here can overflow.
    scale = np.minimum(power - own, 1) + RADIUS.bit_length() - 1
    steps = np.rint(np.ldexp(np.ldexp(numbers, -power[:, None]) / fraction, scale[:, None])).astype(np.int64)
    squares = np.einsum("ij,ij->i", steps, steps)
    long = squares > RADIUS**2
    steps[long] = np.rint(steps[long] * float(RADIUS) / np.sqrt(squares[long])[:, None]).astype(np.int64)
    return steps


def lengths(steps: Integers) -> Floats:
    """The length of each vector as a share of the radius, from 0 to 1."""
    return np.minimum(np.sqrt(np.einsum("ij,ij->i", steps, steps)) / RADIUS, 1.0)


def packed(steps: Integers) -> NDArray[np.void]:
    """Each vector as bytes, so that vectors can be told apart at once: four bytes a coordinate, least first."""
    return np.ascontiguousarray(steps, dtype="<i4").view(f"V{4 * steps.shape[1]}").reshape(len(steps))


def unpacked(vectors: NDArray[Any], dimension: int) -> Integers:
    """The vectors of which these are the bytes."""
    return np.ascontiguousarray(vectors).view("<i4").reshape(-1, dimension).astype(np.int64)


def _vectors(values: Any, dimension: int) -> Floats:
    try:
        given = unmasked(values)
        with np.errstate(all="ignore"):
            numbers = given.astype(np.float64) if given.dtype.kind in "biufO" else np.array(math.nan)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array(math.nan)
    if numbers.shape in ((0,), (0, dimension)):
        return np.zeros((0, dimension))
    if numbers.ndim not in (1, 2) or numbers.shape[-1] != dimension or not bool(np.isfinite(numbers).all()):
        raise ParameterError(
            f"values must be one vector of {dimension} finite numbers, or a list of such vectors; what is missing "
            "cannot be reported"
        )
    return numbers.reshape(-1, dimension)
