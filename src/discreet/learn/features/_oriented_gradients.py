"""Oriented gradients as scikit-learn's transformers are."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.errors import ParameterError
from discreet.learn.features._map import FeatureMap
from discreet.learn.preparing import GradientsAlgorithm, Preparation
from discreet.learn.preparing._features import Reals, pixel_bounds, read_pixels
from discreet.rational import rational

__all__ = ["OrientedGradients"]

_PIXELS = (0, 1)


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
        The public bounds of a pixel's numbers; others are moved to them, and missing ones are at the lower bound. None:
        0 and 1; in a pipeline the bounds of each column.
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
        pixels: tuple[float, float] | None = None,
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
        gradients = self._gradients()
        return gradients.bounds(gradients.columns_read(0))

    @property
    def statement(self) -> Mapping[str, Any]:
        """The parameters."""
        parameters: dict[str, Any] = {**self.get_params(), "pixels": _PIXELS if self.pixels is None else self.pixels}
        listed = {name: list(value) if isinstance(value, tuple) else value for name, value in parameters.items()}
        return {"features": "oriented_gradients", "version": 1, **listed}

    def _preparation(self, usual: Fraction) -> Preparation:  # noqa: ARG002 - as every transformer has it
        """The same map as a step of a pipeline, which is free. Raises `ParameterError` for a shape that is none."""
        return self._gradients()

    def _gradients(self) -> GradientsAlgorithm:
        height, width, channels = self._sides()
        ends: Any = (None, None)
        if self.pixels is not None:
            pixel_bounds(self.pixels)
            ends = tuple(str(rational(each, "a bound of a pixel")) for each in self.pixels)
        sides, others = (height, width, channels), (self.cells, self.directions, self.smooth)
        return GradientsAlgorithm(*map(_plain, sides), *ends, *map(_plain, others))

    def _sides(self) -> tuple[int | None, int | None, int]:
        shape: Any = self.shape
        if shape is None:
            return None, None, 1
        if not isinstance(shape, tuple | list) or len(shape) not in (2, 3):
            raise ParameterError(f"shape is rows, columns and maybe channels, as in shape=(28, 28), not {shape!r}")
        height, width, *channels = shape
        return height, width, channels[0] if channels else 1

    def _width(self, columns: int) -> int:
        return self._gradients().columns_read(columns)

    def _count(self, columns: int) -> int:
        return self._gradients().count(columns)

    def _map(self, rows: Reals) -> Reals:
        return self._gradients().of_images(read_pixels(rows, _PIXELS if self.pixels is None else self.pixels))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
