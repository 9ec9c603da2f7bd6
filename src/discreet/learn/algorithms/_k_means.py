"""k-means in the noisy principal directions, from noisy sums of each cluster. Proof: ``proofs/learning_linear.md``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.learn._examples import Examples
from discreet.learn._inputs import Inputs, Places
from discreet.learn._steps import Measurer, RowNorms
from discreet.learn.algorithms._algorithm import Algorithm, Parameters, Task
from discreet.learn.algorithms._centre import centre_norms, measure_centre, reach, relative_widths, strength
from discreet.learn.algorithms._pca import check_numbers, principal_directions, wide_enough
from discreet.learn.algorithms._vectors import (
    UNIT,
    Ball,
    Reals,
    Vectors,
    bounded,
    coordinate_count,
    coordinates,
    example_vectors,
    l2_norms,
    product_sums,
    second_moment_norms,
)

__all__ = ["KMeansAlgorithm"]

_CENTRE_SHARE, _MOMENT_SHARE, _SIZE_SHARE, _MOVE_SHARE = (Fraction(n, 100) for n in (10, 45, 10, 35))
_STEPS, _LEAST_STEPS, _MOST_STEPS = 0.2, 4, 20
_LONGEST_MOVE = 0.4
"""In radii of the ball: rows farther from the centre of their cluster move it as if they were so far."""
_ABOVE_NOISE, _MOST_DIRECTIONS = 0.7, 16
_DIRECTION_STEPS = 2.0**12
"""Entries of directions are whole numbers of these steps, so that products with them are exact."""
_SPREAD, _ROUNDS = 2_048, 20
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
_MOST_CLUSTERS = 1_000
_FARTHEST = 1e6
_ROWS = 2**13


@dataclass(frozen=True)
class KMeansAlgorithm(Algorithm):
    """Lloyd's steps with noise, in the few directions whose variance is above the noise.

    They start from the centres that fit a normal distribution with the variances that were measured.
    """

    clusters: int = 8
    name: ClassVar[str] = "k_means"
    task: ClassVar[Task] = "clustering"
    currencies: ClassVar[tuple[str, ...]] = ("rho", "mu")

    def check(self, inputs: Inputs) -> None:
        """Raise `ParameterError` for inputs that are no numbers, or clusters that are no count."""
        check_numbers(inputs)
        count = self.clusters
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST_CLUSTERS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"clusters is a whole number from 1 to {_MOST_CLUSTERS}, not {count!r}")

    def row_norms(self, inputs: Inputs, step: str) -> RowNorms:
        """A row is in one cluster, counts 1 in it, and moves its centre."""
        count = coordinate_count(inputs)
        own = {
            "second_moments": second_moment_norms(count),
            "sizes": RowNorms(1, 1),
            "moves": l2_norms(min(count, _MOST_DIRECTIONS), UNIT * UNIT),
        }
        return {**centre_norms(inputs), **own}[step]

    def fit(self, examples: Examples, measurer: Measurer) -> Parameters:
        """The centres of the clusters in rows, from the middle of the bounds, where half the widest bounds are 1."""
        scales = relative_widths(examples.inputs)
        middle = measure_centre(measurer, examples, scales, _CENTRE_SHARE)
        width = wide_enough(middle, strength(measurer))
        ball = Ball(scales, middle.point, width * reach(examples.inputs, scales))
        rows = example_vectors(ball, examples)
        directions, variances = principal_directions(rows, middle, measurer, _MOMENT_SHARE)
        level = math.sqrt(len(scales)) / (strength(measurer) * math.sqrt(_MOMENT_SHARE)) / middle.rows
        most = min(len(scales), _MOST_DIRECTIONS)
        used = min(max(int((variances > _ABOVE_NOISE * level).sum()), 1), most)
        steps = np.round(directions[:, :used] * _DIRECTION_STEPS)
        centres = _normal_centres(variances[:used], self.clusters)
        signal = middle.rows * strength(measurer) / math.sqrt(len(scales) * self.clusters)
        rounds = min(max(round(_STEPS * signal), _LEAST_STEPS), _MOST_STEPS)
        size_noise = measurer.noise_of("sizes", _SIZE_SHARE / rounds)
        move_noise = measurer.noise_of("moves", _MOVE_SHARE / rounds)
        for _ in range(rounds):
            exact_sizes, exact_moves = cluster_sums(rows, steps, centres)
            sizes = measurer.measure("sizes", exact_sizes, size_noise)
            moves = measurer.measure("moves", exact_moves, move_noise) * (_LONGEST_MOVE / UNIT)
            least = float(size_noise.sigma)  # pyright: ignore[reportAttributeAccessIssue]
            centres = centres + moves / np.maximum(sizes, least)[:, None]
            lengths = np.sqrt((centres**2).sum(axis=1, keepdims=True))
            centres = centres / np.maximum(lengths, 1)
        return {"centres": ball.centre + ball.radius * (centres @ (steps / _DIRECTION_STEPS).T)}

    def check_parameters(self, inputs: Inputs, parameters: Parameters) -> None:
        """Raise `ValueError` unless there is a centre for each cluster."""
        shapes = {"centres": (self.clusters, coordinate_count(inputs))}
        if {name: array.shape for name, array in parameters.items()} != shapes:
            raise ValueError
        if (abs(parameters["centres"]) > _FARTHEST).any():
            raise ValueError

    def outputs(self, inputs: Inputs, parameters: Parameters, numbers: Places, cells: Places) -> NDArray[np.float64]:
        """Minus the squared distance of each row from each centre, where half the widest bounds are 1.

        The nearest is greatest. A number that is missing is as near to one centre as to another.
        """
        at = coordinates(inputs, numbers, cells) * relative_widths(inputs)
        scores = np.zeros((len(at), self.clusters))
        for i, centre in enumerate(parameters["centres"]):
            scores[:, i] = -np.nansum((at - centre) ** 2, axis=1)
        return scores


def cluster_sums(rows: Vectors, steps: Reals, centres: Reals) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many rows are nearest to each centre, and Σ of how far they are from it: integers of L2 norm UNIT or less."""
    sizes = np.zeros(len(centres), np.int64)
    moves = np.zeros(centres.shape, np.int64)
    for start in range(0, len(rows), _ROWS):
        along = rows[start : start + _ROWS].astype(np.float64) @ steps / (UNIT * _DIRECTION_STEPS)
        nearest = _nearest(along, centres)
        inside = (nearest[:, None] == np.arange(len(centres))).astype(np.int16)
        sizes += inside.sum(axis=0, dtype=np.int64)
        moves += product_sums(inside, bounded((along - centres[nearest]) / _LONGEST_MOVE, UNIT))
    return sizes, moves


def _nearest(points: Reals, centres: Reals) -> NDArray[np.intp]:
    """The place of the nearest centre, by sums in the order of the coordinates for each row alone."""
    best, place = np.full(len(points), np.inf), np.zeros(len(points), np.intp)
    for i, centre in enumerate(centres):
        distance = np.zeros(len(points))
        for column, at in zip(points.T, centre, strict=True):
            away = column - at
            distance += away * away
        closer = distance < best
        best, place = np.where(closer, distance, best), np.where(closer, i, place)
    return place


def _normal_centres(variances: Reals, clusters: int) -> Reals:
    """Where Lloyd's steps end on a normal distribution with these variances, which evenly spread points stand for.

    Source of the points: Niederreiter 1992, chapter 3 (multiples of square roots of primes, less their whole parts).
    """
    from scipy.special import ndtri

    places = np.arange(1, _SPREAD + 1)[:, None] * np.sqrt(_PRIMES[: len(variances)]) % 1
    points = ndtri(places) * np.sqrt(variances)
    centres = points[:clusters].copy()
    for _ in range(_ROUNDS):
        nearest = _nearest(points, centres)
        for i in range(clusters):
            inside = points[nearest == i]
            if len(inside):
                centres[i] = inside.mean(axis=0)
    return centres
