"""Local sensitivity by brute force: every data set within k steps, and every neighbour of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

Data = tuple


def neighbours(data: Data, records: Iterable, relation: str) -> set[Data]:
    """Data sets are sorted tuples: the order of the records does not matter."""
    shorter = [data[:i] + data[i + 1 :] for i in range(len(data))]
    if relation == "add_remove":
        return {tuple(sorted((*data, each))) for each in records} | set(shorter)
    return {tuple(sorted((*rest, each))) for rest in shorter for each in records}


def at_distances(
    f: Callable, data: Iterable, domain: Iterable, relation: str, steps: int, *, distant: Callable = lambda _: ()
) -> list:
    """A(data, k) for k = 0, ..., steps, over records from the domain; `distant` adds records for the last step."""
    reached = seen = {tuple(sorted(data))}
    found, largest = [], 0
    for _ in range(steps + 1):
        for each in reached:
            here = f(each)
            for other in neighbours(each, {*domain, *distant(each)}, relation):
                largest = max(largest, abs(f(other) - here))
        found.append(largest)
        reached = {other for each in reached for other in neighbours(each, domain, relation)} - seen
        seen = seen | reached
    return found


@pytest.fixture(scope="session")
def brute_force() -> Callable:
    return at_distances


@pytest.fixture(scope="session")
def all_neighbours() -> Callable:
    return neighbours
