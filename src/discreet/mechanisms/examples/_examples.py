"""Every example, in the order of the page."""

from __future__ import annotations

from functools import cache

from discreet.mechanisms.examples._choices import choices
from discreet.mechanisms.examples._example import Example
from discreet.mechanisms.examples._numbers import numbers
from discreet.mechanisms.examples._people import people, samples
from discreet.mechanisms.examples._statistics import statistics
from discreet.mechanisms.examples._streams import streams

__all__ = ["examples"]


@cache
def examples() -> tuple[Example, ...]:
    """Every mechanism that `discreet.mechanisms` exports, in the order of the page ``docs/mechanisms.md``.

    Costs no privacy: whatever data are in them are made up.

    >>> [example.name for example in examples()][:3]
    ['DiscreteLaplace', 'Laplace', 'Staircase']
    """
    return (*numbers(), *choices(), *streams(), *statistics(), *people(), *samples())
