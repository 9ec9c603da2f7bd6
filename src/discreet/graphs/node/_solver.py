"""The same packing by SciPy's HiGHS, where the interior point was not certified."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

from discreet.graphs.node._interior_point import Packing

__all__ = ["solve_by_library"]


def solve_by_library(members: NDArray[np.int64], multiplicity: NDArray[np.int64], vertices: int, cap: int) -> Packing:
    """Maximise Σ mₚ xₚ as `solve_packing` does; zeros if the library gives no answer. SENSITIVE."""
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
