"""Packing of patterns under one cap at every vertex, in floats: what the exact bounds start from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

__all__ = ["Packing", "solve_packing"]

_ITERATIONS = 400
_STEP = 0.995


@dataclass(frozen=True, slots=True, eq=False)
class Packing:
    """A primal and a dual point, without any claim that they are feasible or optimal. SENSITIVE.

    `weights` are of the groups, shape (groups,), from 0 to 1; `prices` of the vertices, shape (vertices,), 0 or more.
    """

    weights: NDArray[np.float64]
    prices: NDArray[np.float64]


def solve_packing(
    members: NDArray[np.int64], multiplicity: NDArray[np.int64], vertices: int, cap: int, gap: float
) -> Packing:
    """Maximise Σ mₚ xₚ with 0 ≤ x ≤ 1 and Σ mₚ xₚ ≤ cap over the groups p at each vertex.

    Stops when primal and dual objectives are at most `gap` apart, or after 400 steps. Source: Mehrotra 1992
    (predictor and corrector) for bounded variables; the normal equations have a row per constrained vertex.
    """
    active, place = np.unique(members, return_inverse=True)
    active = active[active < vertices]
    place = place.reshape(members.shape)  # the filling is the last place, whose price is 0
    prices = np.zeros(vertices)
    system = _System(place, multiplicity.astype(np.float64), len(active))
    weights, prices[active] = system.solve(float(cap), gap)
    return Packing(weights, prices)


class _System:
    """The constraint matrix by the places of its entries, and its normal equations."""

    def __init__(self, place: NDArray[np.int64], multiplicity: NDArray[np.float64], rows: int) -> None:
        self._columns = [np.ascontiguousarray(column) for column in place.T]
        self._multiplicity = multiplicity
        self._rows = rows
        codes: list[NDArray[np.int64]] = []
        self._pairs: list[tuple[NDArray[np.bool_], NDArray[np.int64]]] = []
        for i, j in combinations(range(len(self._columns)), 2):
            low, high = np.minimum(self._columns[i], self._columns[j]), np.maximum(self._columns[i], self._columns[j])
            inside = high < rows
            codes.append(low[inside] * rows + high[inside])
            self._pairs.append((inside, codes[-1]))
        unique, inverse = np.unique(np.concatenate(codes), return_inverse=True)
        self._entries = unique
        ends = np.cumsum([len(code) for code in codes])
        self._pairs = [
            (inside, inverse[end - len(code) : end])
            for (inside, code), end in zip(self._pairs, ends.tolist(), strict=True)
        ]

    def at_vertices(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.zeros(self._rows + 1)
        for column in self._columns:
            total += np.bincount(column, weights=x, minlength=self._rows + 1)
        return total[:-1]

    def at_groups(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        padded = np.append(y, 0.0)
        total = padded[self._columns[0]]
        for column in self._columns[1:]:
            total += padded[column]
        return total

    def normal(self, x: NDArray[np.float64], diagonal: NDArray[np.float64]) -> NDArray[np.float64]:
        """A diag(x) Aᵀ + diag(diagonal), of which the upper triangle is filled."""
        matrix = np.zeros((self._rows, self._rows))
        values = np.zeros(len(self._entries))
        for inside, entry in self._pairs:
            values += np.bincount(entry, weights=x[inside], minlength=len(values))
        matrix.ravel()[self._entries] = values
        matrix.ravel()[:: self._rows + 1] += self.at_vertices(x) + diagonal
        return matrix

    def solve(self, cap: float, gap: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The last primal and dual point; the best that was reached where the arithmetic breaks down."""
        point = self._start(cap)
        with np.errstate(all="ignore"):
            for _ in range(_ITERATIONS):
                after = self._step(point, cap, gap)
                if after is None:
                    break
                point = after
        return point.x, point.y

    def _start(self, cap: float) -> _Point:
        m, rows = self._multiplicity, self._rows
        share = np.append(cap / self.at_vertices(m), np.inf)
        x = np.clip(np.min([share[column] for column in self._columns], axis=0), 0.05, 0.95)
        y = np.full(rows, 0.3)
        s = np.maximum(cap - self.at_vertices(m * x), 0.05 * cap)
        reduced = 1 - self.at_groups(y)
        return _Point(x, y, s, np.maximum(-reduced, 0) + 0.1, np.maximum(reduced, 0) + 0.1)

    def _step(self, point: _Point, cap: float, gap: float) -> _Point | None:
        """The next point, or None if this one is good enough or there is no next one."""
        m, x, y, s, v, w = self._multiplicity, point.x, point.y, point.s, point.v, point.w
        room = 1 - x
        dual = 1 - self.at_groups(y) - w + v
        primal = cap - self.at_vertices(m * x) - s
        products = float((m * (x * v + room * w)).sum() + s @ y)
        if max(products, float(np.abs(primal).sum()), float(m @ np.abs(dual))) <= gap / 4:
            return None
        d = 1 / (w / room + v / x)
        factor = _factor(self.normal(m * d, s / y))
        if factor is None:
            return None

        def direction(xv: NDArray[np.float64], uw: NDArray[np.float64], sy: NDArray[np.float64]) -> _Point:
            h = dual + xv / x - uw / room
            dy = np.asarray(cho_solve(factor, sy / y - primal + self.at_vertices(m * d * h), check_finite=False))
            dx = d * (h - self.at_groups(dy))
            return _Point(dx, dy, (sy - s * dy) / y, (xv - v * dx) / x, (uw + w * dx) / room)

        first = direction(-x * v, -room * w, -s * y)
        a, b = point.reach(first)
        both = (x + a * first.x) * (v + b * first.v) + (room - a * first.x) * (w + b * first.w)
        left = float((m * both).sum() + (s + a * first.s) @ (y + b * first.y)) / products
        mu = products / (2 * m.sum() + self._rows) * min(1.0, left) ** 3
        second = direction(
            mu - x * v - first.x * first.v, mu - room * w + first.x * first.w, mu - s * y - first.s * first.y
        )
        if not (np.isfinite(second.x).all() and np.isfinite(second.y).all()):
            return None
        a, b = (min(1.0, _STEP * reach) for reach in point.reach(second))
        return _Point(x + a * second.x, y + b * second.y, s + a * second.s, v + b * second.v, w + b * second.w)


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """Weights x, prices y, room s at the vertices, and the dual values v and w of x ≥ 0 and x ≤ 1; or a step of all."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    s: NDArray[np.float64]
    v: NDArray[np.float64]
    w: NDArray[np.float64]

    def reach(self, step: _Point) -> tuple[float, float]:
        """How far a step may go, in multiples of it, until a primal value is 0, and until a dual one is."""
        primal = min(_reach(self.x, step.x), _reach(1 - self.x, -step.x), _reach(self.s, step.s))
        return primal, min(_reach(self.y, step.y), _reach(self.v, step.v), _reach(self.w, step.w))


def _factor(matrix: NDArray[np.float64]) -> Any:
    try:
        return cho_factor(matrix, lower=False, overwrite_a=True)
    except (LinAlgError, ValueError):
        return None


def _reach(value: NDArray[np.float64], step: NDArray[np.float64]) -> float:
    falling = step < 0
    return float(np.min(value[falling] / -step[falling], initial=1e9))
