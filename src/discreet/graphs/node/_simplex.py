"""The same packing by the simplex method in fractions: always ends, always exact, and slow."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

__all__ = ["exact_packing"]

_ZERO = Fraction(0)


def exact_packing(
    members: NDArray[np.int64], multiplicity: NDArray[np.int64], vertices: int, cap: int
) -> tuple[list[Fraction], list[Fraction]]:
    """An optimal primal and an optimal dual point, weights of the groups and prices of the vertices. SENSITIVE.

    Source: Bland 1977: with the least index of those that may enter and of those that may leave, no basis comes twice.

    >>> exact_packing(np.array([[0, 1], [0, 2], [1, 2]]), np.array([1, 1, 1]), 3, 1)[0]
    [Fraction(1, 2), Fraction(1, 2), Fraction(1, 2)]
    """
    groups, m = len(members), [Fraction(int(each)) for each in multiplicity]
    rows: list[dict[int, Fraction]] = [{} for _ in range(vertices + groups)]  # of column: entry; the last is the bound
    last = groups + len(rows)
    for p, some in enumerate(members.tolist()):
        for vertex in some:
            if vertex < vertices:
                rows[vertex][p] = m[p]
        rows[vertices + p][p] = Fraction(1)
    for i, row in enumerate(rows):
        row[groups + i] = Fraction(1)
        row[last] = Fraction(cap if i < vertices else 1)
    basis = [groups + i for i in range(len(rows))]
    objective = {p: -m[p] for p in range(groups)}
    while True:
        entering = min((j for j, value in objective.items() if value < 0 and j != last), default=None)
        if entering is None:
            break
        ratios = [(row[last] / row[entering], basis[i], i) for i, row in enumerate(rows) if row.get(entering, 0) > 0]
        _, _, leaving = min(ratios)
        pivot = rows[leaving]
        inverse = 1 / pivot[entering]
        rows[leaving] = pivot = {j: value * inverse for j, value in pivot.items()}
        for row in (*rows[:leaving], *rows[leaving + 1 :], objective):
            if factor := row.get(entering):
                _subtract(row, pivot, factor, last)
        basis[leaving] = entering
    weights = [_ZERO] * groups
    for i, j in enumerate(basis):
        if j < groups:
            weights[j] = rows[i][last]
    return weights, [objective.get(groups + v, _ZERO) for v in range(vertices)]


def _subtract(row: dict[int, Fraction], pivot: dict[int, Fraction], factor: Fraction, last: int) -> None:
    for j, value in pivot.items():
        new = row.get(j, _ZERO) - factor * value
        if new or j == last:
            row[j] = new
        else:
            row.pop(j, None)
