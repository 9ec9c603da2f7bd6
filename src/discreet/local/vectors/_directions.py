"""Public directions, uniform on the sphere, that a few numbers name: the same whole numbers on every machine."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._estimate import Floats
from discreet.local._reports import Integers
from discreet.sensitivity import unmasked

__all__ = [
    "DIRECTIONS",
    "RADIUS",
    "UNIT",
    "Steps",
    "at_once",
    "directions",
    "in_ball",
    "lengths",
    "normals",
    "packed",
    "unpacked",
]


DIRECTIONS = "splitmix-normal-1"
"""The name of this specification in JSON. Other directions get another name."""

UNIT = 2**16
"""What a coordinate of 1 is written as."""

_ENTRIES = 2**16
_GRID = 2**12
_LANES_AT_ONCE = 2**18
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def directions(books: Integers, lines: Integers, dimension: int) -> Floats:
    """A direction for each pair of a book and a line, a row each: `normals` scaled to length 2**16 and rounded.

    Whole numbers, from −2**16 to 2**16: squares add up exactly, and IEEE 754 rounds root, quotient and whole number
    correctly. Public: costs and protects nothing.
    """
    vectors = normals(books, lines, dimension)
    length = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return np.rint(vectors * UNIT / length[:, None])


def normals(books: Integers, lines: Integers, dimension: int) -> Floats:
    """A vector of independent normal coordinates for each pair of a book and a line, in units of √2 / 4096.

    Specification ``splitmix-normal-1``, with numbers of 64 bits that wrap around and f the finalizer of SplitMix64:
    word t of line l of book b, all from 0, is f(f(f(b + s) + (l + 1)·s) + (t + 1)·s), s = 0x9e3779b97f4a7c15. The
    words, least byte first, are read as numbers of 16 bits. With h = 2⌈dimension/2⌉, coordinate i is T[number i] +
    T[number h + i], where T[k] is 4096 times the mean of a standard normal variable between its quantiles k/2**16 and
    (k + 1)/2**16, rounded. If all coordinates are 0, the first is 1.
    Source: Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators" (SplitMix64).
    """
    half = -(-dimension // 2)
    row = _mixed(_mixed(books.astype(np.uint64) + _STEP) + (lines.astype(np.uint64) + np.uint64(1)) * _STEP)
    words = row[:, None] + np.arange(1, half + 1, dtype=np.uint64) * _STEP
    lanes = _mixed(words).astype("<u8", copy=False).view("<u2")
    entries = _table().take(lanes, mode="clip")
    coordinates = np.add(entries[:, :dimension], entries[:, 2 * half : 2 * half + dimension], dtype=np.float64)
    coordinates[~coordinates.any(axis=1), 0] = 1
    return coordinates


def at_once(dimension: int) -> int:
    """How many vectors to make at a time, so that memory stays small."""
    return max(1, _LANES_AT_ONCE // (2 * dimension))


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of SplitMix64, in place."""
    shifted = words >> np.uint64(30)
    words ^= shifted
    words *= _FIRST
    np.right_shift(words, np.uint64(27), out=shifted)
    words ^= shifted
    words *= _SECOND
    np.right_shift(words, np.uint64(31), out=shifted)
    words ^= shifted
    return words


@lru_cache(maxsize=1)
def _table() -> NDArray[np.int16]:
    """T. No entry is so near to a half that floating point could round it to another number than it is."""
    upper = np.rint(_GRID * _bin_means()).astype(np.int16)
    return np.concatenate([-upper[::-1], upper])


def _bin_means() -> Floats:
    """The means of the upper half of the bins: 2**16·(φ(a) − φ(b)) between quantiles a and b."""
    from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs]

    ends = ndtri(0.5 + np.arange(_ENTRIES // 2 + 1) / _ENTRIES)
    heights = np.exp(-(ends**2) / 2) / math.sqrt(2 * math.pi)
    return _ENTRIES * (heights[:-1] - heights[1:])


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
    steps = np.empty(numbers.shape, dtype="<i4")
    some = max(1, _AT_ONCE // dimension)
    for start in range(0, len(numbers), some):
        steps[start : start + some] = _stepped(numbers[start : start + some], radius)
    return steps


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
