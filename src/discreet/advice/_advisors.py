"""Advice on data of other shapes than records, which packages on higher floors bring."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any, Protocol

from discreet.advice._recommendation import Recommendation
from discreet.errors import ParameterError
from discreet.privacy import Loss

__all__ = ["Advisor", "advisor", "register_advisor"]

ENTRY_POINTS = "discreet.advisors"
"""The group of entry points by which packages bring advisors: each under the argument of `recommend` that asks it."""


class Advisor(Protocol):
    """Recommends mechanisms for statistics of so many `nodes`."""

    def __call__(self, statistic: Any, *, nodes: int, spend: Loss, sample: Any = None) -> Recommendation:
        """As `recommend`. Raises `ParameterError`."""
        ...


_ADVISORS: dict[str, Advisor] = {}


def register_advisor(argument: str, brought: Advisor) -> Advisor:
    """Make `recommend` ask this advisor where it is given the argument. Raises `ValueError` if another one is asked."""
    if _ADVISORS.setdefault(argument, brought) is not brought:
        raise ValueError(f"there is an advisor for {argument!r} already")
    return brought


def advisor(argument: str) -> Advisor:
    """The advisor for an argument, registered or brought by an installed package; else `ParameterError`."""
    if argument not in _ADVISORS:
        for point in entry_points(group=ENTRY_POINTS, name=argument):
            point.load()
    if argument not in _ADVISORS:
        raise ParameterError(f"no installed package advises on {argument}; import the one that should")
    return _ADVISORS[argument]
