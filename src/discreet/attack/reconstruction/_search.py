"""Every way to fill one part: by a search with bounds, depth first, or by the solver CP-SAT of `ortools`.

The search needs nothing and is enough for a block;
the solver learns from what failed, which parts of hundreds of kinds need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.attack.reconstruction._statements import Part, Statement, tied
from discreet.errors import MissingExtra

__all__ = ["search", "search_by_solver"]

_FAR = 1 << 62
_Bounds = list[int]
_Row = tuple[list[int], int, int, "tuple[int, ...] | None"]


def search(part: Part, limit: int, steps: int) -> tuple[list[tuple[int, ...]], bool]:
    """The histograms over a part's kinds that satisfy its statements, and whether they are all.

    They are not all where there are more than `limit`, or more than so many `steps`, each a count that was tried.

    >>> from discreet.attack.reconstruction._statements import Statement
    >>> search(Part((4, 7), (Statement((4, 7), 2, 2), Statement((7,), 0, 1))), 10, 100)
    ([(2, 0), (1, 1)], True)
    """
    place = {kind: i for i, kind in enumerate(part.kinds)}
    clauses = [*((each,) for each in part.statements), *part.clauses]
    rows: list[list[_Row]] = [
        [([place[kind] for kind in each.kinds], each.low, each.high, each.weights) for each in clause]
        for clause in clauses
    ]
    rows_of: list[list[int]] = [[] for _ in part.kinds]
    for i, clause in enumerate(clauses):
        for kind in tied(clause):
            rows_of[place[kind]].append(i)
    highest = _highest(part)
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


def _highest(part: Part) -> list[int]:
    """How many people of each kind its statements allow at most."""
    most = dict.fromkeys(part.kinds, _FAR)
    for each in part.statements:
        if each.weights is None:
            most.update({kind: min(most[kind], each.high) for kind in each.kinds})
    return [0 if most[kind] == _FAR else most[kind] for kind in part.kinds]


def _tighten(
    low: _Bounds, high: _Bounds, changed: list[int], rows: Sequence[Sequence[_Row]], rows_of: Sequence[list[int]]
) -> bool:
    """Narrow the bounds in place by the rows that changed, until nothing does; whether a solution may be left.

    Of a row with several statements one holds: it narrows nothing before all others are out of the question.
    """
    queued = set(changed)
    while changed:
        row = changed.pop()
        queued.discard(row)
        open_still = rows[row]
        if len(open_still) > 1:
            open_still = [each for each in open_still if _can_hold(each, low, high)]
            if len(open_still) > 1:
                continue
        narrowed = (_narrow_weighted if open_still[0][3] else _narrow)(open_still[0], low, high) if open_still else None
        if narrowed is None:
            return False
        for i in narrowed:
            for other in rows_of[i]:
                if other not in queued:
                    queued.add(other)
                    changed.append(other)
    return True


def _ends(row: _Row, low: _Bounds, high: _Bounds) -> tuple[int, int]:
    """The least and the largest sum that bounds allow."""
    members, _, _, weights = row
    if weights is None:
        return sum(low[i] for i in members), sum(high[i] for i in members)
    pairs = list(zip(members, weights, strict=True))
    return (
        sum(w * (low[i] if w > 0 else high[i]) for i, w in pairs),
        sum(w * (high[i] if w > 0 else low[i]) for i, w in pairs),
    )


def _can_hold(row: _Row, low: _Bounds, high: _Bounds) -> bool:
    least, most = _ends(row, low, high)
    return most >= row[1] and least <= row[2]


def _narrow(row: _Row, low: _Bounds, high: _Bounds) -> list[int] | None:
    """Narrow bounds by one statement: which ones it narrowed, or None if it cannot hold."""
    members, least, most, _ = row
    more = most - sum(low[i] for i in members)
    less = sum(high[i] for i in members) - least
    if more < 0 or less < 0:
        return None
    narrowed: list[int] = []
    for i in members:
        new_high, new_low = min(high[i], low[i] + more), max(low[i], high[i] - less)
        if new_high == high[i] and new_low == low[i]:
            continue
        if new_low > new_high:
            return None
        low[i], high[i] = new_low, new_high
        narrowed.append(i)
    return narrowed


def _narrow_weighted(row: _Row, low: _Bounds, high: _Bounds) -> list[int] | None:
    """As `_narrow` does it, where people have weights."""
    members, least, most, weights = row
    bottom, top = _ends(row, low, high)
    more, less = most - bottom, top - least
    if more < 0 or less < 0:
        return None
    narrowed: list[int] = []
    for i, weight in zip(members, weights or (), strict=True):
        if not weight:
            continue
        up, down = (more // weight, less // weight) if weight > 0 else (less // -weight, more // -weight)
        new_high, new_low = min(high[i], low[i] + up), max(low[i], high[i] - down)
        if new_high == high[i] and new_low == low[i]:
            continue
        if new_low > new_high:
            return None
        low[i], high[i] = new_low, new_high
        narrowed.append(i)
    return narrowed


def search_by_solver(part: Part, limit: int, seconds: float) -> tuple[list[tuple[int, ...]], bool]:
    """As `search` does it, for at most so many seconds. Raises `MissingExtra` without ortools."""
    try:
        from ortools.sat.python import cp_model  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingExtra("The solver CP-SAT needs ortools: pip install 'discreet[ortools]'") from None
    solvers: Any = cp_model
    model = solvers.CpModel()
    numbers = {kind: model.new_int_var(0, most, "") for kind, most in zip(part.kinds, _highest(part), strict=True)}

    def total(statement: Statement) -> Any:
        return solvers.LinearExpr.weighted_sum(
            [numbers[kind] for kind in statement.kinds], statement.weights or [1] * len(statement.kinds)
        )

    for each in part.statements:
        model.add_linear_constraint(total(each), each.low, each.high)
    # A choice is true if and only if its statement holds; even so the solver may come to a solution twice.
    choices = {each: model.new_bool_var("") for clause in part.clauses for each in clause}
    for each, choice in choices.items():
        model.add(total(each) >= each.low).only_enforce_if(choice)
        model.add(total(each) < each.low).only_enforce_if(~choice)
    for clause in part.clauses:
        model.add_bool_or([choices[each] for each in clause])
    solutions: dict[tuple[int, ...], None] = {}

    class _Collect(solvers.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            solutions[tuple(self.value(numbers[kind]) for kind in part.kinds)] = None
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
    return list(solutions)[:limit], is_complete
