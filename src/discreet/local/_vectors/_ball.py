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

__all__ = ["RADIUS", "Steps", "in_ball", "lengths", "packed", "unpacked"]

Steps = NDArray[np.int32]

RADIUS = 2**20
"""How many steps of the grid the ball's radius is."""

_AT_ONCE = 2**18


def in_ball(values: Any, dimension: int, radius: float) -> Steps:
    """The vectors in steps of radius / 2**20, a row each; one that is longer than the radius is scaled to it.

    Whole numbers, and the operations before them are rounded as IEEE 754 has it, one coordinate at a time: the same
    numbers on every machine. Raises `ParameterError` unless there is one vector, or a list of them, of finite numbers.
    """
    numbers = _vectors(values, dimension)
    found = np.empty(numbers.shape, dtype="<i4")
    some = max(1, _AT_ONCE // dimension)
    for start in range(0, len(numbers), some):
        found[start : start + some] = _stepped(numbers[start : start + some], radius)
    return found


def lengths(steps: Steps) -> Floats:
    """The length of each vector as a share of the radius, from 0 to 1."""
    return np.minimum(np.sqrt(_squares(steps)) / RADIUS, 1.0)


def packed(steps: Steps) -> NDArray[np.void]:
    """Each vector as bytes, so that vectors can be told apart at once: four bytes a coordinate, least first."""
    return steps.view(f"V{4 * steps.shape[1]}").reshape(len(steps))


def unpacked(vectors: NDArray[Any], dimension: int) -> Steps:
    """The vectors of which these are the bytes."""
    return np.ascontiguousarray(vectors).view("<i4").reshape(-1, dimension)


def _stepped(numbers: Floats, radius: float) -> Floats:
    _, power = np.frexp(np.abs(numbers).max(axis=1))
    fraction, own = math.frexp(radius)
    # A vector as long as the radius or longer is scaled anyway, so that nothing here can overflow.
    scale = np.minimum(power - own, 1) + RADIUS.bit_length() - 1
    steps = np.rint(np.ldexp(np.ldexp(numbers, -power[:, None]) / fraction, scale[:, None]))
    squares = _squares(steps.astype(np.int64))
    long = squares > RADIUS**2
    steps[long] = np.rint(steps[long] * RADIUS / np.sqrt(squares[long])[:, None])
    return steps


def _squares(steps: NDArray[Any]) -> Integers:
    """The square of each length, exactly: coordinates are below 2**22, and there are 2**16 at most."""
    return np.einsum("ij,ij->i", steps, steps, dtype=np.int64)


def _vectors(values: Any, dimension: int) -> Floats:
    try:
        given = unmasked(values)
        if given.dtype.kind == "O" and given.ndim == 1:  # a column of vectors, as a frame has it
            given = np.asarray(given.tolist())
        with np.errstate(all="ignore"):
            numbers = given.astype(np.float64, copy=False) if given.dtype.kind in "biufO" else np.array(math.nan)
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
