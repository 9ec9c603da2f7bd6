"""The same packing by the simplex method: SciPy's, and one in fractions that always ends, is always exact, and slow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

from discreet.graphs.node._interior_point import Packing

__all__ = ["exact_maximum", "exact_packing", "solve_by_library"]

_ZERO = Fraction(0)


def solve_by_library(members: NDArray[np.int64], multiplicity: NDArray[np.int64], vertices: int, cap: int) -> Packing:
    """Maximise Σ mₚ xₚ as `solve_packing` does, by HiGHS; zeros if the library gives no answer. SENSITIVE."""
    groups, size = members.shape
    weights = np.repeat(multiplicity.astype(np.float64), size)
    places = (members.ravel(), np.repeat(np.arange(groups), size))
    matrix = csr_array((weights, places), shape=(vertices + 1, groups))[:vertices]
    answer: Any = linprog(
        -multiplicity.astype(np.float64), A_ub=matrix, b_ub=np.full(vertices, float(cap)), bounds=(0, 1), method="highs"
    )
    if answer.x is None:
        return Packing(np.zeros(groups), np.zeros(vertices))
    return Packing(np.asarray(answer.x, np.float64), -np.asarray(answer.ineqlin.marginals, np.float64))


def exact_packing(
    members: NDArray[np.int64], multiplicity: NDArray[np.int64], vertices: int, cap: int
) -> tuple[list[Fraction], list[Fraction]]:
    """An optimal primal and an optimal dual point, weights of the groups and prices of the vertices. SENSITIVE.

    >>> exact_packing(np.array([[0, 1], [0, 2], [1, 2]]), np.array([1, 1, 1]), 3, 1)[0]
    [Fraction(1, 2), Fraction(1, 2), Fraction(1, 2)]
    """
    groups, m = len(members), [Fraction(int(each)) for each in multiplicity]
    rows: list[dict[int, Fraction]] = [{} for _ in range(vertices)]
    for p, some in enumerate(members.tolist()):
        for vertex in some:
            if vertex < vertices:
                rows[vertex][p] = m[p]
    single = [{p: Fraction(1)} for p in range(groups)]
    weights, prices = exact_maximum(m, [*rows, *single], [Fraction(cap)] * vertices + [Fraction(1)] * groups)
    return weights, prices[:vertices]


def exact_maximum(
    gains: Sequence[Fraction], rows: Sequence[Mapping[int, Fraction]], bounds: Sequence[Fraction]
) -> tuple[list[Fraction], list[Fraction]]:
    """An optimal x ≥ 0 and optimal prices of the rows, for the largest gains · x with rows · x ≤ bounds. SENSITIVE.

    Bounds are 0 or more, and so is what there is to gain bounded. Source: Bland 1977: with the least index of those
    that may enter and of those that may leave, no basis comes twice.

    >>> one = Fraction(1)
    >>> exact_maximum([one, 2 * one], [{0: one, 1: one}, {1: one}], [3 * one, one])
    ([Fraction(2, 1), Fraction(1, 1)], [Fraction(1, 1), Fraction(1, 1)])
    """
    n = len(gains)
    last = n + len(rows)  # the column of the bounds
    table: list[dict[int, Fraction]] = [dict(row) for row in rows]
    for i, row in enumerate(table):
        row[n + i] = Fraction(1)
        row[last] = bounds[i]
    basis = [n + i for i in range(len(table))]
    objective = {p: -gain for p, gain in enumerate(gains)}
    while True:
        entering = min((j for j, value in objective.items() if value < 0 and j != last), default=None)
        if entering is None:
            break
        ratios = [(row[last] / row[entering], basis[i], i) for i, row in enumerate(table) if row.get(entering, 0) > 0]
        _, _, leaving = min(ratios)
        pivot = table[leaving]
        inverse = 1 / pivot[entering]
        table[leaving] = pivot = {j: value * inverse for j, value in pivot.items()}
        for row in (*table[:leaving], *table[leaving + 1 :], objective):
            if factor := row.get(entering):
                _subtract(row, pivot, factor, last)
        basis[leaving] = entering
    point = [_ZERO] * n
    for i, j in enumerate(basis):
        if j < n:
            point[j] = table[i][last]
    return point, [objective.get(n + i, _ZERO) for i in range(len(table))]


def _subtract(row: dict[int, Fraction], pivot: dict[int, Fraction], factor: Fraction, last: int) -> None:
    for j, value in pivot.items():
        new = row.get(j, _ZERO) - factor * value
        if new or j == last:
            row[j] = new
        else:
            row.pop(j, None)
