"""What a synthetic graph should have, from noisy measurements: degrees that fit together, clustering, triangles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from discreet.graphs.synthetic._measurements import NoisyMeasurements
from discreet.graphs.synthetic._statistics import class_of_degree, degrees_of_survival

__all__ = ["Targets", "targets_of"]

Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]

_UNLIKELY = 3.0
"""Vertices of the highest degrees are believed if their noisy number is this many standard deviations above 0."""
_MANY = 2**80
_STEP = 0.2
"""The standard deviation, a priori, of how much mean clustering differs from one class of degrees to the next."""


@dataclass(frozen=True, eq=False)
class Targets:
    """What a generated graph should have.

    Attributes
    ----------
    degrees
        Of each vertex, the largest first: int64, with an even sum.
    sizes
        How many vertices are in each class of degrees.
    clustering
        The sum of local clustering coefficients in each class, between 0 and `sizes`.
    std
        The standard deviation of one such sum.
    triangles
        How many triangles there should be: 0 or more.
    wedges
        The mean number of pairs of neighbours of the vertices of each class.
    """

    degrees: Integers
    sizes: Integers
    clustering: Numbers
    std: float
    triangles: float
    wedges: Numbers

    @property
    def mean_clustering(self) -> Numbers:
        """The mean local clustering coefficient in each class."""
        return self.clustering / np.maximum(self.sizes, 1)


def targets_of(measured: NoisyMeasurements) -> Targets:
    """The targets that the measurements are most like. Costs no privacy: the measurements are all that it reads."""
    degrees = _fitted_degrees(measured)
    place = class_of_degree(degrees)
    classes = len(measured.clustering)
    clustered = place >= 0
    sizes = np.bincount(place[clustered], minlength=classes).astype(np.int64)
    pairs = degrees[clustered] * (degrees[clustered] - 1) / 2
    wedges = np.bincount(place[clustered], pairs, classes) / np.maximum(sizes, 1)
    std = measured.clustering_std
    sums = _smoothed(measured.clustering_sums, sizes, std)
    triangles = min(float(min(max(measured.triangles, 0), _MANY)), float(pairs.sum()) / 3)
    return Targets(degrees, sizes, sums, std, triangles, wedges)


def _fitted_degrees(measured: NoisyMeasurements) -> Integers:
    """The degrees whose numbers are nearest to the noisy ones: non-increasing, in 0 … vertices, and without noise.

    Source: Hay, Li, Miklau and Jensen 2009 fit the sorted degrees; the numbers of vertices with at least k neighbours
    are the same staircase, read from the other side, and have fewer steps.
    """
    vertices = measured.plan.vertices
    fit = isotonic_regression(measured.survival.astype(np.float64), increasing=False)
    levels, bounds = fit.x, fit.blocks
    believed = len(levels)
    noise = measured.plan.degrees.std
    for begin, end in zip(bounds[-2::-1].tolist(), bounds[:0:-1].tolist(), strict=True):
        if levels[begin] * np.sqrt(end - begin) >= _UNLIKELY * noise:
            break
        believed = begin
    levels = np.where(np.arange(len(levels)) < believed, levels, 0.0)
    degrees = degrees_of_survival(np.clip(np.rint(levels), 0, vertices).astype(np.int64), vertices)
    if degrees.sum() % 2:
        degrees[int(np.flatnonzero(degrees == degrees[0])[-1])] -= 1
    return degrees


def _smoothed(sums: Numbers, sizes: Integers, std: float) -> Numbers:
    """The sums under the assumption that mean clustering changes little from class to class: least squares.

    Classes without vertices have none, and no say.
    """
    some = np.flatnonzero(sizes)
    if not some.size:
        return np.zeros_like(sums)
    size = sizes[some].astype(np.float64)
    matrix = np.diag((size / max(std, 1e-9)) ** 2)
    for i in range(len(some) - 1):
        matrix[i : i + 2, i : i + 2] += np.array([[1.0, -1.0], [-1.0, 1.0]]) / _STEP**2
    means = np.linalg.solve(matrix, size * sums[some] / max(std, 1e-9) ** 2)
    smoothed = np.zeros_like(sums)
    smoothed[some] = size * np.clip(means, 0.0, 1.0)
    return smoothed
