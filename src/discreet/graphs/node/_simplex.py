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

__all__ = ["Tableau", "exact_maximum", "exact_packing", "solve_by_library"]

_ZERO = Fraction(0)
_SLACK, _BOUND = 1 << 40, -1
"""The columns of what rows leave free, after all others, and that of the bounds."""


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
    table = Tableau(bounds, gains, rows)
    table.maximise()
    return table.point(), table.prices()


class Tableau:
    """The largest gains · x with rows · x ≤ bounds and x ≥ 0, at one basis; columns can be added later. SENSITIVE.

    Bounds are 0 or more. A column that is added enters with the basis as it is: what was solved is not solved again.

    >>> one = Fraction(1)
    >>> table = Tableau([3 * one, one], [one], [{0: one}, {}])
    >>> table.maximise()
    >>> table.add(2 * one, {0: one, 1: one})
    >>> table.maximise()
    >>> table.value, table.point(), table.prices()
    (Fraction(4, 1), [Fraction(2, 1), Fraction(1, 1)], [Fraction(1, 1), Fraction(1, 1)])
    """

    def __init__(
        self,
        bounds: Sequence[Fraction],
        gains: Sequence[Fraction] = (),
        rows: Sequence[Mapping[int, Fraction]] | None = None,
    ) -> None:
        self._columns = len(gains)
        self._rows: list[dict[int, Fraction]] = (
            [dict(row) for row in rows] if rows is not None else [{} for _ in bounds]
        )
        for i, row in enumerate(self._rows):
            row[_SLACK + i] = Fraction(1)
            row[_BOUND] = bounds[i]
        self._basis = [_SLACK + i for i in range(len(self._rows))]
        self._objective = {j: -gain for j, gain in enumerate(gains)}

    @property
    def value(self) -> Fraction:
        """What is gained at this basis."""
        return self._objective.get(_BOUND, _ZERO)

    def add(self, gain: Fraction, column: Mapping[int, Fraction]) -> None:
        """A column more, by its entries in the rows."""
        for row in self._rows:
            entry = sum((row[_SLACK + i] * value for i, value in column.items() if _SLACK + i in row), _ZERO)
            if entry:
                row[self._columns] = entry
        self._objective[self._columns] = (
            sum((self._objective.get(_SLACK + i, _ZERO) * value for i, value in column.items()), _ZERO) - gain
        )
        self._columns += 1

    def maximise(self) -> None:
        """Change the basis until nothing betters it, by Bland's rule."""
        rows, basis, objective = self._rows, self._basis, self._objective
        while True:
            entering = min((j for j, value in objective.items() if value < 0 and j != _BOUND), default=None)
            if entering is None:
                return
            ratios = [
                (row[_BOUND] / row[entering], basis[i], i) for i, row in enumerate(rows) if row.get(entering, 0) > 0
            ]
            _, _, leaving = min(ratios)
            pivot = rows[leaving]
            inverse = 1 / pivot[entering]
            rows[leaving] = pivot = {j: value * inverse for j, value in pivot.items()}
            for row in (*rows[:leaving], *rows[leaving + 1 :], objective):
                if factor := row.get(entering):
                    _subtract(row, pivot, factor)
            basis[leaving] = entering

    def point(self) -> list[Fraction]:
        """The x of this basis."""
        point = [_ZERO] * self._columns
        for row, j in zip(self._rows, self._basis, strict=True):
            if j < self._columns:
                point[j] = row[_BOUND]
        return point

    def prices(self) -> list[Fraction]:
        """The prices of the rows; optimal where nothing betters the basis."""
        return [self._objective.get(_SLACK + i, _ZERO) for i in range(len(self._rows))]


def _subtract(row: dict[int, Fraction], pivot: dict[int, Fraction], factor: Fraction) -> None:
    for j, value in pivot.items():
        new = row.get(j, _ZERO) - factor * value
        if new or j == _BOUND:
            row[j] = new
        else:
            row.pop(j, None)
