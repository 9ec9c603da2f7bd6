"""Oriented gradients: how much of an image rises in which direction, in each part of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn.features._map import FeatureMap, Reals, cut_at, is_whole, read_pixels, shortened

__all__ = ["OrientedGradients"]

_STEPS = 2.0**20
"""Sines and weights are whole numbers of 1 over this, so that they are the same on every machine."""
_LEAST_DIRECTIONS, _MOST_DIRECTIONS, _MOST_CELLS, _MOST_SIDE = 5, 64, 64, 4096
_FLOOR = 1e-3
"""A pixel's mean slope, as a share of the bounds: images with less of it are nearly blank, and their features short."""


class OrientedGradients(FeatureMap):
    """Fixed features of images: slopes by direction and cell, as square roots, of one length for all images.

    Each pixel's slope is shared between the two nearest of `directions`, and between the nearest cells by its distance
    from their middles. An image's features are square roots of what the cells hold, over their L2 norm: neither
    contrast nor one strong edge dominates. Beyond its edges an image goes on as the pixels there are.

    Parameters
    ----------
    shape
        Rows and columns of an image, and its channels, if it has them; None: one line of pixels.
    pixels
        The public bounds of a pixel's numbers; others are moved to them, and missing ones are at the lower bound.
    cells
        Into how many cells each side is divided; a side of fewer pixels has as many cells as pixels.
    directions
        How many directions there are in a full turn.
    smooth
        How often the image is first averaged with its neighbours, with weights 1/4, 1/2, 1/4 along each side.

    Of several channels, a pixel counts with the one that is steepest there.

    >>> images = np.zeros((2, 28, 28))
    >>> images[:, 10:18] = 0.5
    >>> gradients = OrientedGradients(shape=(28, 28))
    >>> gradients.transform(images).shape, gradients.bounds
    ((2, 128), (0.0, 0.35355339059327373))
    """

    def __init__(
        self,
        *,
        shape: tuple[int, ...] | None = None,
        pixels: tuple[float, float] = (0, 1),
        cells: int = 4,
        directions: int = 8,
        smooth: int = 1,
    ) -> None:
        self.shape = shape
        self.pixels = pixels
        self.cells = cells
        self.directions = directions
        self.smooth = smooth

    @property
    def bounds(self) -> tuple[float, float]:
        """Public bounds of every feature. Raises `ParameterError` where `shape` is to follow from a matrix."""
        if self.shape is None:
            raise ParameterError("say the shape of images, as in shape=(28, 28); bounds follow from it")
        return (0.0, cut_at(self._count(math.prod(self._sides(0)))))

    @property
    def statement(self) -> Mapping[str, Any]:
        """The parameters."""
        parameters: dict[str, Any] = self.get_params()
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in parameters.items()}
        return {"features": "oriented_gradients", "version": 1, **listed}

    def _sides(self, columns: int) -> tuple[int, int, int]:
        shape: Any = (1, columns) if self.shape is None else self.shape
        sides: tuple[Any, ...] = tuple(shape) if isinstance(shape, tuple | list) else ()
        if len(sides) not in (2, 3) or not all(is_whole(each, 1, _MOST_SIDE) for each in sides):
            raise ParameterError(
                f"shape is rows, columns and maybe channels, {_MOST_SIDE} each at most, as in shape=(28, 28), "
                f"not {shape!r}"
            )
        rows, across, *channels = map(int, sides)
        return rows, across, channels[0] if channels else 1

    def _width(self, columns: int) -> int:
        for name, least, most in (
            ("cells", 1, _MOST_CELLS),
            ("directions", _LEAST_DIRECTIONS, _MOST_DIRECTIONS),
            ("smooth", 0, 16),
        ):
            value = getattr(self, name)
            if not is_whole(value, least, most):
                raise ParameterError(f"{name} is a whole number from {least} to {most}, not {value!r}")
        return math.prod(self._sides(columns))

    def _count(self, columns: int) -> int:
        rows, across, _ = self._sides(columns)
        return self.directions * min(self.cells, rows) * min(self.cells, across)

    def _map(self, rows: Reals) -> Reals:
        height, width, channels = self._sides(rows.shape[1])
        images = read_pixels(rows, self.pixels).reshape(len(rows), height, width, channels)
        images = np.ascontiguousarray(images.transpose(3, 1, 2, 0))  # a number of all images is one run of memory
        for _ in range(self.smooth):
            images = _smoothed(_smoothed(images, 1), 2)
        down, right = _steepest(_slopes(images, 1), _slopes(images, 2))
        to_rows, to_columns = (_cell_weights(side, min(self.cells, side)) for side in (height, width))
        cells = [
            _weighted(_weighted(share, to_rows), to_columns.T, along=1)
            for share in direction_shares(down, right, self.directions)
        ]
        held = np.stack(cells).reshape(-1, len(rows)).T
        return shortened(np.sqrt(held), math.sqrt(_FLOOR * height * width))


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
