"""Every example, in the order of the page."""

from __future__ import annotations

from functools import cache

from discreet.local.examples._example import Example
from discreet.local.examples._frequencies import frequencies, sketches
from discreet.local.examples._others import attributes, numbers, words

__all__ = ["examples"]


@cache
def examples() -> tuple[Example, ...]:
    """Every scheme in which one collector reads reports, in the order of the table in ``docs/local.md``.

    Costs no privacy: whatever values are in them are made up.

    >>> [example.name for example in examples()][:3]
    ['Warner', 'KaryRandomizedResponse', 'ProjectiveGeometry']
    """
    return (*frequencies(), *sketches(), *words(), *numbers(), *attributes())
