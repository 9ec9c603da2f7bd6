"""Many outputs side by side: a column for each plain value in them, and the rows of numbers that belong together."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.audit._leaves import leaves

__all__ = ["Columns", "columns_of"]

_MOST_COLUMNS = 1_000

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Columns:
    """What `size` outputs hold.

    numbers: by name, a float for each output, NaN where there is none; numbers beyond 2**53 lose their last digits.
    kinds: by name, what is not a number, and the type of what is; `None` where there is nothing.
    families: for each list or mapping in the outputs, the names of the numbers in it, in order.
    wholes: for each output, all of it as one value that can be compared.
    """

    size: int
    numbers: dict[str, Floats]
    kinds: dict[str, Sequence[Hashable]]
    families: dict[str, tuple[str, ...]]
    wholes: Sequence[Hashable]

    def number(self, name: str) -> Floats:
        """The column of that name, NaN where no output has it."""
        found = self.numbers.get(name)
        return np.full(self.size, np.nan) if found is None else found

    def kind(self, name: str) -> Sequence[Hashable]:
        """The kinds of that name, None where no output has it."""
        found = self.kinds.get(name)
        return [None] * self.size if found is None else found


def columns_of(outputs: Sequence[Any]) -> Columns:
    """Take the outputs apart, quickly where all are numbers or lists of as many numbers.

    >>> found = columns_of([[1, 2], [3, 4]])
    >>> found.families, found.number("output[1]").tolist()
    ({'output': ('output[0]', 'output[1]')}, [2.0, 4.0])
    """
    matrix = _plain(outputs)
    if matrix is None:
        return _general(outputs)
    if matrix.ndim == 1:
        return Columns(len(matrix), {"output": matrix}, {}, {}, ())
    names = tuple(f"output[{place}]" for place in range(matrix.shape[1]))
    numbers = {name: np.ascontiguousarray(matrix[:, place]) for place, name in enumerate(names)}
    rows = np.ascontiguousarray(matrix)
    wholes = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel().tolist()
    return Columns(len(matrix), numbers, {}, {"output": names}, wholes)


def _plain(outputs: Sequence[Any]) -> Floats | None:
    """A vector or a matrix of floats, where the outputs are numbers of one type, or equally long lists of them."""
    if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biuf" and outputs.ndim in (1, 2):
        return outputs.astype(np.float64) if outputs.ndim == 1 or outputs.shape[1] <= _MOST_COLUMNS else None
    types = set(map(type, outputs))
    if len(types) != 1:
        return None
    (kind,) = types
    if issubclass(kind, bool | int | float | np.floating | np.integer):
        return _floats(outputs, (len(outputs),))
    if issubclass(kind, list | tuple) and len(lengths := set(map(len, outputs))) == 1:
        (width,) = lengths
        flat = list(chain.from_iterable(outputs))
        inner = set(map(type, flat))
        if 0 < width <= _MOST_COLUMNS and len(inner) == 1 and issubclass(inner.pop(), bool | int | float):
            return _floats(flat, (len(outputs), width))
    if kind is np.ndarray and len(shapes := {each.shape for each in outputs}) == 1:
        (shape,) = shapes
        if len(shape) == 1 and 0 < shape[0] <= _MOST_COLUMNS and all(each.dtype.kind in "biuf" for each in outputs):
            return np.stack(list(outputs)).astype(np.float64)
    return None


def _floats(values: Any, shape: tuple[int, ...]) -> Floats | None:
    try:
        return np.asarray(values, dtype=np.float64).reshape(shape)
    except (OverflowError, TypeError, ValueError):
        return None


def _general(outputs: Sequence[Any]) -> Columns:
    size = len(outputs)
    numbers: dict[str, Floats] = {}
    kinds: dict[str, list[Hashable]] = {}
    members: dict[str, dict[str, None]] = {}
    wholes: list[Hashable] = []
    for row, output in enumerate(outputs):
        seen: list[tuple[str, Hashable, Hashable]] = []
        for within, key, value in leaves(output):
            name = within + key
            kind, number = _read(value)
            seen.append((name, kind, number if number == number else "nan"))  # noqa: PLR0124
            if name not in kinds:
                if len(kinds) >= _MOST_COLUMNS:
                    continue
                kinds[name] = [None] * size
            kinds[name][row] = kind
            if number is not None:
                if name not in numbers:
                    numbers[name] = np.full(size, np.nan)
                    if not key.startswith(" "):
                        members.setdefault(within, {})[name] = None
                numbers[name][row] = number
        wholes.append(tuple(seen))
    families = {within: tuple(names) for within, names in members.items() if len(names) > 1}
    return Columns(size, numbers, dict(kinds), families, wholes)


def _read(value: object) -> tuple[Hashable, float | None]:
    """What a plain value is, and the number that it is if it is one."""
    if isinstance(value, Number | np.generic) and not isinstance(value, str | bytes | complex):
        return type(value).__name__, _float(value)
    return value if isinstance(value, str | bytes) else repr(value), None


def _float(value: Any) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return None
