"""`@pytest.mark.sampled(times)`: of a matrix of parameters a sample every time, and the whole in the soak.

Every value of every parameter is in the sample; those of the parameter with most, `times` times (1 if not given), each
time beside other values of the others. It is made by position, so that it is the same for everybody.

`@pytest.mark.sampled(every=3)`: of a list of cases that are much alike the first of each three.

Properties are tried on `EXAMPLES` every time and on 100 in the soak, except those that name a number of their own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence

import pytest
from hypothesis import settings

EXAMPLES = 20


def pytest_configure(config: pytest.Config) -> None:
    if config.option.markexpr == "not soak":
        settings.register_profile("every time", settings(), max_examples=EXAMPLES)
        settings.load_profile("every time")
    config.addinivalue_line("markers", "sampled(times=1, every=1): most of the parameters are for the soak")


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tests: dict[object, list[pytest.Function]] = defaultdict(list)
    for item in items:
        if config.option.markexpr == "soak" and getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("soak")
        marked = item.get_closest_marker("sampled") is not None and item.get_closest_marker("soak") is None
        if marked and isinstance(item, pytest.Function):
            tests[item.path, item.parent, item.originalname].append(item)
    for cases in tests.values():
        mark = cases[0].get_closest_marker("sampled")
        assert mark is not None
        daily = _daily([_values(each) for each in cases], *mark.args, **mark.kwargs)
        for place, each in enumerate(cases):
            if place not in daily:
                each.add_marker("soak")


def _daily(cases: Sequence[tuple[Hashable, ...]], times: int = 1, every: int = 1) -> set[int]:
    return set(range(0, len(cases), every)) if every > 1 else sample(cases, times)


def _values(item: pytest.Function) -> tuple[Hashable, ...]:
    """Which value each parameter has; parameters that are given together are one, and so are those of a fixture."""
    names = [mark.args[0] for mark in item.iter_markers("parametrize")]
    groups = [[each.strip() for each in many.split(",")] if isinstance(many, str) else list(many) for many in names]
    known = {name for group in groups for name in group}
    groups += [[name] for name in item.callspec.params if name not in known]
    return tuple(tuple(id(item.callspec.params[name]) for name in group) for group in groups)


def sample(cases: Sequence[tuple[Hashable, ...]], times: int = 1) -> set[int]:
    """The places of those cases that are asked every time.

    >>> cases = [(i, j) for i in "abc" for j in "xy"]
    >>> [cases[place] for place in sorted(sample(cases))]
    [('a', 'x'), ('b', 'y'), ('c', 'x')]
    >>> len(sample(cases, 2))
    6
    """
    columns = sorted((_ranks(column) for column in zip(*cases, strict=True)), key=max, reverse=True)
    places = {row: place for place, row in enumerate(zip(*columns, strict=True))}
    sizes = [max(ranks) + 1 for ranks in columns]
    chosen: set[int] = set()
    for turn in range(times):
        for k in range(sizes[0]):
            row = tuple((k + _shift(turn, axis)) % size for axis, size in enumerate(sizes))
            if row in places:  # all are, but where a few tests are asked for by name
                chosen.add(places[row])
    return chosen


def _shift(turn: int, axis: int) -> int:
    """0, 1, 2, 3 of the second parameter, 0, 1, 3, 6 of the third: so that no two keep step."""
    return math.comb(turn + axis - 1, axis) if axis else 0


def _ranks(column: tuple[Hashable, ...]) -> tuple[int, ...]:
    """Each value's place among those that differ."""
    known = {value: rank for rank, value in enumerate(dict.fromkeys(column))}
    return tuple(known[value] for value in column)
