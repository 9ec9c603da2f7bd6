"""Microaggregation (MDAV): rows near to one another in classes of k to 2k − 1.

From the row that is farthest from the mean of those left, and the one farthest from that, a class each of their k
nearest. Numbers are counted in parts of their range, categories as equal or not. Source: Domingo-Ferrer and
Mateo-Sanz 2002; Domingo-Ferrer and Torra 2005 (MDAV).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.anonymize.algorithms._problem import Problem
from discreet.anonymize.tables import Codes
from discreet.errors import ParameterError

__all__ = ["microaggregation"]


def microaggregation(problem: Problem) -> Codes:
    """The class of each row. Raises `ParameterError` for conditions beside k, which it does not look at."""
    if problem.spreads:
        raise ParameterError("microaggregation has no conditions beside k: use another method, or leave l and t out")
    points = _points(problem)
    rows = np.arange(problem.rows)
    classes = np.zeros(problem.rows, np.int64)
    numbered, k = 0, problem.k
    while len(rows) >= 3 * k:
        far = _farthest(points[rows], points[rows].mean(axis=0))
        other = _farthest(points[rows], points[rows[far]])
        for centre in (points[rows[far]], points[rows[other]]):
            nearest = _nearest(points[rows], centre, k)
            classes[rows[nearest]] = numbered
            rows, numbered = np.delete(rows, nearest), numbered + 1
    if len(rows) >= 2 * k:
        far = _farthest(points[rows], points[rows].mean(axis=0))
        nearest = _nearest(points[rows], points[rows[far]], k)
        classes[rows[nearest]] = numbered
        rows, numbered = np.delete(rows, nearest), numbered + 1
    classes[rows] = numbered
    return classes


def _nearest(points: NDArray[np.float64], centre: NDArray[np.float64], k: int) -> Codes:
    """The places of the k points that are nearest to a centre."""
    return np.argpartition(((points - centre) ** 2).sum(axis=1), k - 1)[:k]


def _farthest(points: NDArray[np.float64], centre: NDArray[np.float64]) -> int:
    return int(((points - centre) ** 2).sum(axis=1).argmax())


def _points(problem: Problem) -> NDArray[np.float64]:
    """Rows as points: a number in parts of its range, a category a coordinate for each value, 1 apart from others."""
    columns: list[NDArray[np.float64]] = []
    for each, weight in zip(problem.quasi, problem.weights, strict=True):
        scale = weight**0.5
        if each.is_number:
            columns.append(scale * (each.places[each.codes, None] - each.places[0]) / (each.extent or 1.0))
        else:
            columns.append(scale * np.eye(each.size)[each.codes] / np.sqrt(2))
    return np.concatenate(columns, axis=1)
