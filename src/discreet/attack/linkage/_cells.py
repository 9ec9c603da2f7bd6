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

__all__ = ["Readings", "compatible", "is_generalised"]

_INTERVAL = re.compile(r"^\[(.*), (.*)([\])])$", re.DOTALL)


def is_generalised(cell: object) -> bool:
    """Whether a cell stands for several values by its look."""
    return isinstance(cell, str) and (cell == ANY or bool(_INTERVAL.match(cell)) or cell[:1] + cell[-1:] == "{}")


class Readings:
    """Values that cells may stand for, read once: as texts, as numbers, and below each ancestor."""

    def __init__(self, values: Sequence[Any], hierarchy: Hierarchy | None) -> None:
        texts = [text_of(each) for each in values]
        self._size = len(texts)
        self._place = {text: i for i, text in enumerate(texts)}
        self._numbers = _numbers(values)
        below: dict[str, list[int]] = {}
        for i, text in enumerate(texts if hierarchy is not None else ()):
            for ancestor in dict.fromkeys(hierarchy.ancestors.get(text, ()) if hierarchy is not None else ()):
                below.setdefault(ancestor, []).append(i)
        self._below = {ancestor: np.array(places, np.int64) for ancestor, places in below.items()}

    def places(self, cell: Any) -> NDArray[np.int64]:
        """The places of the values that a cell may stand for, ascending."""
        text = text_of(cell)
        if text == ANY:
            return np.arange(self._size)
        single = self._place.get(text)
        several = [] if single is None else [np.array([single])]
        if self._numbers is not None and (interval := _INTERVAL.match(text)):
            low, high = (_number(each) for each in interval.groups()[:2])
            if low is not None and high is not None:
                below = self._numbers <= high if interval.group(3) == "]" else self._numbers < high
                several.append(np.flatnonzero((self._numbers >= low) & below))
        elif text[:1] + text[-1:] == "{}":
            several.append(np.array([self._place[each] for each in _listed(text[1:-1], self._place)], np.int64))
        if text in self._below:
            several.append(self._below[text])
        return np.unique(np.concatenate(several)) if several else np.zeros(0, np.int64)

    def table(self, cells: Sequence[Any]) -> NDArray[np.bool_]:
        """For each cell, a line each, and each value whether the one may stand for the other."""
        fits = np.zeros((len(cells), self._size), bool)
        for i, cell in enumerate(cells):
            fits[i, self.places(cell)] = True
        return fits


def compatible(cells: Sequence[Any], values: Sequence[Any], hierarchy: Hierarchy | None) -> NDArray[np.bool_]:
    """For each different cell and each different value whether the one may stand for the other."""
    return Readings(values, hierarchy).table(cells)


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
