"""Which values a published cell may stand for: itself, an interval, a set, an ancestor, or anything."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.anonymize import ANY, Hierarchy, text_of

__all__ = ["compatible", "is_generalised"]

_INTERVAL = re.compile(r"^\[(.*), (.*)([\])])$", re.DOTALL)


def is_generalised(cell: object) -> bool:
    """Whether a cell stands for several values by its look."""
    return isinstance(cell, str) and (cell == ANY or bool(_INTERVAL.match(cell)) or cell[:1] + cell[-1:] == "{}")


def compatible(cells: Sequence[Any], values: Sequence[Any], hierarchy: Hierarchy | None) -> NDArray[np.bool_]:
    """For each different cell and each different value whether the one may stand for the other."""
    texts = [text_of(each) for each in values]
    place = {text: i for i, text in enumerate(texts)}
    numbers = _numbers(values)
    fits = np.zeros((len(cells), len(values)), bool)
    for i, cell in enumerate(cells):
        text = text_of(cell)
        if text in place:
            fits[i, place[text]] = True
        if text == ANY:
            fits[i] = True
        elif numbers is not None and (interval := _INTERVAL.match(text)):
            low, high = (_number(each) for each in interval.groups()[:2])
            if low is not None and high is not None:
                below = numbers <= high if interval.group(3) == "]" else numbers < high
                fits[i] |= (numbers >= low) & below
        elif text[:1] + text[-1:] == "{}":
            for each in _listed(text[1:-1], place):
                fits[i, place[each]] = True
        if hierarchy is not None:
            fits[i] |= np.array([text in hierarchy.ancestors.get(each, ()) for each in texts], bool)
    return fits


def _listed(text: str, known: Container[str]) -> list[str]:
    """The known values that a set lists; one may have a comma in it, so the longest that fits is read."""
    pieces = text.split(", ")
    values: list[str] = []
    start = 0
    while start < len(pieces):
        ends = (end for end in range(len(pieces), start, -1) if ", ".join(pieces[start:end]) in known)
        end = next(ends, None)
        if end is not None:
            values.append(", ".join(pieces[start:end]))
        start = start + 1 if end is None else end
    return values


def _numbers(values: Sequence[Any]) -> NDArray[np.float64] | None:
    numbers = [_number(each) for each in values]
    return None if any(each is None for each in numbers) else np.array(numbers, float)


def _number(value: Any) -> float | None:
    if isinstance(value, str):
        with suppress(ValueError):
            return float(value)
    if isinstance(value, int | float):
        return float(value)
    with suppress(pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError):
        return float(pa.scalar(value).cast(pa.timestamp("us")).cast(pa.int64()).as_py())
    return None
