"""Every way to fill one part: by a search with bounds, depth first, or by the solver CP-SAT of `ortools`.

The search needs nothing and is enough for a block;
the solver learns from what failed, which parts of hundreds of kinds need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.attack.reconstruction._statements import Part
from discreet.errors import MissingExtra

__all__ = ["search", "search_by_solver"]

_Bounds = list[int]
_Rows = Sequence[tuple[list[int], int, int]]


def search(part: Part, limit: int, steps: int) -> tuple[list[tuple[int, ...]], bool]:
    """The histograms over a part's kinds that satisfy its statements, and whether they are all.

    They are not all where there are more than `limit`, or more than so many `steps`, each a count that was tried.

    >>> from discreet.attack.reconstruction._statements import Statement
    >>> search(Part((4, 7), (Statement((4, 7), 2, 2), Statement((7,), 0, 1))), 10, 100)
    ([(2, 0), (1, 1)], True)
    """
    place = {kind: i for i, kind in enumerate(part.kinds)}
    rows = [([place[kind] for kind in each.kinds], each.low, each.high) for each in part.statements]
    rows_of: list[list[int]] = [[] for _ in part.kinds]
    for i, (members, _, _) in enumerate(rows):
        for each in members:
            rows_of[each].append(i)
    highest = [min((rows[i][2] for i in own), default=0) for own in rows_of]
    waiting: list[tuple[_Bounds, _Bounds, list[int]]] = [([0] * len(place), highest, list(range(len(rows))))]
    solutions: list[tuple[int, ...]] = []
    while waiting:
        if not steps:
            return solutions, False
        steps -= 1
        low, high, changed = waiting.pop()
        if not _tighten(low, high, changed, rows, rows_of):
            continue
        free = [i for i, (a, b) in enumerate(zip(low, high, strict=True)) if a < b]
        if not free:
            if len(solutions) == limit:
                return solutions, False
            solutions.append(tuple(low))
            continue
        chosen = min(free, key=lambda i: (high[i] - low[i], -len(rows_of[i])))
        for number in range(high[chosen], low[chosen] - 1, -1):
            below, above = low.copy(), high.copy()
            below[chosen] = above[chosen] = number
            waiting.append((below, above, rows_of[chosen].copy()))
    return solutions, True


def _tighten(low: _Bounds, high: _Bounds, changed: list[int], rows: _Rows, rows_of: Sequence[list[int]]) -> bool:
    """Narrow the bounds in place by the statements that changed, until nothing does; whether a solution may be left."""
    queued = set(changed)
    while changed:
        row = changed.pop()
        queued.discard(row)
        members, least, most = rows[row]
        more = most - sum(low[i] for i in members)
        less = sum(high[i] for i in members) - least
        if more < 0 or less < 0:
            return False
        for i in members:
            new_high, new_low = min(high[i], low[i] + more), max(low[i], high[i] - less)
            if new_high == high[i] and new_low == low[i]:
                continue
            if new_low > new_high:
                return False
            low[i], high[i] = new_low, new_high
            for other in rows_of[i]:
                if other not in queued:
                    queued.add(other)
                    changed.append(other)
    return True


def search_by_solver(part: Part, limit: int, seconds: float) -> tuple[list[tuple[int, ...]], bool]:
    """As `search` does it, for at most so many seconds. Raises `MissingExtra` without ortools."""
    try:
        from ortools.sat.python import cp_model  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtra("The solver CP-SAT needs ortools: pip install 'discreet[ortools]'") from None
    solvers: Any = cp_model
    model = solvers.CpModel()
    most = {kind: min((s.high for s in part.statements if kind in s.kinds), default=0) for kind in part.kinds}
    numbers = {kind: model.new_int_var(0, most[kind], str(kind)) for kind in part.kinds}
    for each in part.statements:
        model.add_linear_constraint(sum(numbers[kind] for kind in each.kinds), each.low, each.high)
    solutions: list[tuple[int, ...]] = []

    class _Collect(solvers.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            solutions.append(tuple(self.value(numbers[kind]) for kind in part.kinds))
            if len(solutions) > limit:
                self.stop_search()

    solver = solvers.CpSolver()
    solver.parameters.enumerate_all_solutions = True
    solver.parameters.num_workers = 1
    # It would give the signal back to the system: Ctrl-C after a solve would then end Python without a word.
    solver.parameters.catch_sigint_signal = False
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model, _Collect())
    is_complete = status in {solvers.OPTIMAL, solvers.INFEASIBLE} and len(solutions) <= limit
    return solutions[:limit], is_complete
