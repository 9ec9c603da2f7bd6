"""Oriented gradients: how much of an image rises in which direction, in each part of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn._inputs import LEVELS, MISSING, Inputs, Places
from discreet.learn.preparing._features import (
    FeaturesAlgorithm,
    Reals,
    cut_at,
    is_whole,
    pixel_bounds,
    read_pixels,
    shortened,
    values_of,
)
from discreet.rational import rational

__all__ = ["GradientsAlgorithm", "direction_shares"]

_STEPS = 2.0**20
"""Sines and weights are whole numbers of 1 over this, so that they are the same on every machine."""
_LEAST_DIRECTIONS, _MOST_DIRECTIONS, _MOST_CELLS, _MOST_SIDE = 5, 64, 64, 4096
_FLOOR = 1e-3
"""A pixel's mean slope, as a share of the bounds: images with less of it are nearly blank, and their features short."""
_LONGEST = 800


@dataclass(frozen=True)
class GradientsAlgorithm(FeaturesAlgorithm):
    """Columns are the pixels of an image, row by row, channels last; features are its slopes by direction and cell.

    Neither `height` nor `width`: one line of pixels. Neither `lower` nor `upper`: a pixel is from 0 to 1 between the
    public bounds of its own column; else it is between these, which are decimals or fractions as texts, and what is
    beyond is moved to them. The others are those of `discreet.learn.features.OrientedGradients`.
    """

    height: int | None = None
    width: int | None = None
    channels: int = 1
    lower: str | None = None
    upper: str | None = None
    cells: int = 4
    directions: int = 8
    smooth: int = 1
    name: ClassVar[str] = "oriented_gradients"
    prefix: ClassVar[str] = "orientedgradients"

    def columns_read(self, columns: int) -> int:
        """All pixels of an image, of each channel. Raises `ParameterError` for parameters out of range."""
        for name, least, most in (
            ("cells", 1, _MOST_CELLS),
            ("directions", _LEAST_DIRECTIONS, _MOST_DIRECTIONS),
            ("smooth", 0, 16),
        ):
            value = getattr(self, name)
            if not is_whole(value, least, most):
                raise ParameterError(f"{name} is a whole number from {least} to {most}, not {value!r}")
        sides = self._sides(columns)
        if not all(is_whole(each, 1, _MOST_SIDE) for each in sides):
            raise ParameterError(f"an image has sides and channels of 1 to {_MOST_SIDE} each, not {sides!r}")
        self._pixels()
        return math.prod(sides)

    def count(self, columns: int) -> int:
        """Directions, in each cell."""
        height, width, _ = self._sides(columns)
        return self.directions * min(self.cells, height) * min(self.cells, width)

    def bounds(self, columns: int) -> tuple[float, float]:
        """From 0 to where large ones are cut."""
        return 0.0, cut_at(self.count(columns))

    def mapped(self, inputs: Inputs, numbers: Places) -> Reals:
        """The features of the image in each row."""
        pixels = self._pixels()
        if pixels is None:
            shares = np.where(numbers == MISSING, 0.0, numbers / LEVELS)
        else:
            shares = read_pixels(values_of(inputs, numbers), pixels)
        return self.of_images(shares)

    def of_images(self, shares: Reals) -> Reals:
        """The features of images whose pixels are from 0 to 1, each a row."""
        images = shares.reshape(len(shares), *self._sides(shares.shape[1]))
        return _oriented_gradients(images, self.cells, self.directions, self.smooth)

    def _sides(self, columns: int) -> tuple[int, int, int]:
        if self.height is None and self.width is None:
            return 1, columns, self.channels
        return self.height or 0, self.width or 0, self.channels

    def _pixels(self) -> tuple[float, float] | None:
        """The bounds of a pixel, if they are said. Raises `ParameterError` for what are none."""
        ends = self.lower, self.upper
        if ends == (None, None):
            return None
        if not all(isinstance(each, str) and len(each) <= _LONGEST for each in ends):
            raise ParameterError("the bounds of a pixel are two texts, or none")
        try:
            return pixel_bounds([float(rational(each or "", "a bound of a pixel")) for each in ends])
        except OverflowError:
            raise ParameterError("the bounds of a pixel are too large for floats") from None


def _oriented_gradients(images: Reals, cells: int, directions: int, smooth: int) -> Reals:
    """Of images of rows, columns and channels, with pixels from 0 to 1: directions in cells, over their L2 norm."""
    count, height, width, _ = images.shape
    images = np.ascontiguousarray(images.transpose(3, 1, 2, 0))  # a number of all images is one run of memory
    for _ in range(smooth):
        images = _smoothed(_smoothed(images, 1), 2)
    down, right = _steepest(_slopes(images, 1), _slopes(images, 2))
    to_rows, to_columns = (_cell_weights(side, min(cells, side)) for side in (height, width))
    held = [
        _weighted(_weighted(share, to_rows), to_columns.T, along=1)
        for share in direction_shares(down, right, directions)
    ]
    features = np.stack(held).reshape(directions * len(to_rows) * len(to_columns), count).T
    return shortened(np.sqrt(features), math.sqrt(_FLOOR * height * width))


def _shifted(images: Reals, axis: int) -> tuple[Reals, Reals]:
    """Each pixel's neighbours before and after it along a side; beyond the edge is the pixel at the edge."""
    last = images.shape[axis] - 1
    places = np.arange(last + 1)
    before, after = np.maximum(places - 1, 0), np.minimum(places + 1, last)
    return np.take(images, before, axis), np.take(images, after, axis)


def _smoothed(images: Reals, axis: int) -> Reals:
    before, after = _shifted(images, axis)
    return (before + after) * 0.25 + images * 0.5


def _slopes(images: Reals, axis: int) -> Reals:
    before, after = _shifted(images, axis)
    return (after - before) * 0.5


def _steepest(down: Reals, right: Reals) -> tuple[Reals, Reals]:
    """The slopes of the first of the steepest channels at each pixel."""
    steepness = down * down + right * right
    best_down, best_right, best = down[0], right[0], steepness[0]
    for one, other, steep in zip(down[1:], right[1:], steepness[1:], strict=True):
        steeper = steep > best
        best_down, best_right = np.where(steeper, one, best_down), np.where(steeper, other, best_right)
        best = np.maximum(steep, best)
    return best_down, best_right


def direction_shares(down: Reals, right: Reals, directions: int) -> list[Reals]:
    """How much of each slope goes to each direction, 0 or more: the slope is the sum of its shares as vectors.

    The two directions on either side of a slope take it, all others nothing; an angle is never computed. Direction 0
    is to the right, and they turn downwards.

    >>> [round(float(share), 6) for share in direction_shares(np.array(1.0), np.array(0.0), 8)]
    [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    """
    turns = [2 * math.pi * k / directions for k in range(directions)]
    units = [(_rounded(math.cos(turn)), _rounded(math.sin(turn))) for turn in turns]
    per_share = 1 / _rounded(math.sin(turns[1]))
    past = [right * (-across) + down * along for along, across in units]
    """How far each slope is beyond a direction, in the sense of turning; below 0 before it."""
    return [
        np.maximum(np.minimum(past[k - 1], -past[(k + 1) % directions]), 0.0) * per_share for k in range(directions)
    ]


def _rounded(number: float) -> float:
    return math.floor(number * _STEPS + 0.5) / _STEPS


def _cell_weights(side: int, cells: int) -> NDArray[np.float64]:
    """How much each pixel of a side counts in each cell: 1 in its middle, 0 in the next one's, a line between."""
    step = side / cells
    middles, pixels = (np.arange(cells) + 0.5) * step, np.arange(side) + 0.5
    weights = np.maximum(1 - np.abs(pixels - middles[:, None]) / step, 0.0)
    return np.floor(weights * _STEPS + 0.5) / _STEPS


def _weighted(images: Reals, weights: NDArray[np.float64], along: int = 0) -> Reals:
    """Sums along a side, one for each cell, added in the order of pixels."""
    table = weights if along == 0 else weights.T
    sums: list[Reals] = []
    for row in table:
        total = np.zeros(np.delete(images.shape, along))
        for place in np.flatnonzero(row):
            total += np.take(images, place, along) * row[place]
        sums.append(total)
    return np.stack(sums, axis=along)
