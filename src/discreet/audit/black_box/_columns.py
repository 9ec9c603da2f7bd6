"""Outputs as columns: one for each plain value in them, and which numbers belong together."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from datetime import date, timedelta
from itertools import chain, islice
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Columns", "Floats", "Leaf", "Reader", "leaves", "reader_for"]


_LONG, _LONGEST = 8, 200
_MOST_BYTES, _MOST_NUMBERS = 16, 8
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?(?!\w)")

Leaf = tuple[str, str, object]
"""The list or mapping it is in, its name there, and a number, a text or None."""


def leaves(output: object, within: str = "", name: str = "output") -> Iterator[Leaf]:
    """The plain values in an output: lists by place, mappings by key, tables by column and row, errors by their text.

    >>> list(leaves({"n": 3, "why": None}))
    [('output', ' keys', "'n', 'why'"), ('output', "['n']", 3), ('output', "['why']", None)]
    >>> list(leaves([True, "a"]))
    [('output', ' type', 'list'), ('output', '[0]', True), ('output', '[1]', 'a'), ('output', ' length', 2)]
    """
    path = within + name
    if isinstance(output, np.generic | np.ndarray) and np.ndim(output) == 0 and not isinstance(output, Number):
        yield from leaves(_plain(output), within, name)
    elif output is None or isinstance(output, str | Number):
        yield within, name, output
        yield from _inside(output, path)
    elif isinstance(output, BaseException):
        yield path, " error", type(output).__name__
        yield from leaves(f"{type(output).__name__}: {output}", path, " error text")
    elif isinstance(output, bytes | bytearray | timedelta | date):
        yield within, name, bytes(output) if isinstance(output, bytearray) else output
        yield from _inside(output, path)
    elif isinstance(output, Mapping):
        yield path, " keys", ", ".join(map(repr, output))[:_LONGEST]
        for key, value in output.items():
            yield from leaves(value, path, f"[{key!r}]")
    elif isinstance(output, set | frozenset):
        for value in output:
            yield path, f" has {value!r}", 1
    elif isinstance(output, Sequence | np.ndarray):
        yield from _of_sequence(output, path)
    elif (table := _table(output)) is not None:
        yield path, " types", table[0]
        yield from leaves(table[1], within, name)
    elif is_dataclass(output):
        for each in fields(output):
            yield from leaves(getattr(output, each.name), path, f".{each.name}")
    else:
        yield from _of_object(output, within, name)


def _of_object(output: object, within: str, name: str) -> Iterator[Leaf]:
    path = within + name
    if type(output).__repr__ is object.__repr__:  # it would print its address
        yield path, " type", type(output).__name__
        yield from leaves(getattr(output, "__dict__", {}), within, name)
    else:
        yield within, name, repr(output)


def _plain(scalar: Any) -> object:
    """A NumPy scalar as a plain Python value, or as text where there is none."""
    plain = scalar.item()
    return str(scalar) if isinstance(plain, np.generic) else plain


def _inside(output: object, path: str) -> Iterator[Leaf]:
    """Parts of a plain value that neither its category nor its float shows: lengths, numbers in texts, last digits."""
    if isinstance(output, str) and len(output) >= _LONG:
        yield path, " length", len(output)
        for place, number in enumerate(islice(_NUMBER.finditer(output), _MOST_NUMBERS)):
            yield path, f" number {place}", float(number[0])
    elif isinstance(output, int) and abs(output) >= 2**53:
        yield path, " last binary digits", output % 2**32
    elif isinstance(output, complex | np.complexfloating):
        yield path, ".real", output.real
        yield path, ".imag", output.imag
    elif isinstance(output, bytes | bytearray):
        yield path, " length", len(output)
        yield from ((path, f" byte {place}", value) for place, value in enumerate(bytes(output[:_MOST_BYTES])))
    elif isinstance(output, timedelta):
        yield path, " seconds", output.total_seconds()
    elif isinstance(output, date):
        yield path, " day", output.toordinal()


def _of_sequence(output: Any, path: str) -> Iterator[Leaf]:
    yield path, " type", type(output).__name__
    for place, value in enumerate(output):
        yield from leaves(value, path, f"[{place}]")
    yield path, " length", len(output)


def _table(output: Any) -> tuple[str, Any] | None:
    """The types and the columns of an Arrow table, a data frame, or whatever turns into one."""
    for method in ("to_arrow", "to_pydict", "to_dict", "to_pylist", "as_py"):
        if not hasattr(output, method):
            continue
        if method in ("to_pylist", "as_py"):
            return str(getattr(output, "type", "")), getattr(output, method)()
        if method == "to_arrow":
            table = output.to_arrow()
            return None if table is output else _table(table)
        if method == "to_pydict":
            return str(getattr(output, "schema", "")), output.to_pydict()
        columns = getattr(output, "columns", None)
        if columns is not None:
            return str(list(getattr(output, "dtypes", ()))), {str(each): list(output[each]) for each in columns}
    return None


_MOST_COLUMNS = 1_000
_WIDEST = 20_000

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The values in `size` outputs.

    numbers: by name, a float for each output, NaN where there is none; numbers beyond 2**53 lose their last digits.
    kinds: by name, what is not a number, and the type of what is; `None` where there is nothing.
    families: for each list or mapping in the outputs, the names of the numbers in it, in order.
    wholes: each output as one value that can be compared.
    """

    size: int
    numbers: dict[str, Floats]
    kinds: dict[str, Sequence[Hashable]]
    families: dict[str, tuple[str, ...]]
    wholes: Sequence[Hashable]

    def number(self, name: str) -> Floats:
        """The column of that name, NaN where no output has it."""
        column = self.numbers.get(name)
        return np.full(self.size, np.nan) if column is None else column

    def kind(self, name: str) -> Sequence[Hashable]:
        """The kinds of that name, None where no output has it."""
        column = self.kinds.get(name)
        return [None] * self.size if column is None else column


@dataclass(frozen=True, slots=True)
class Reader:
    """How outputs become columns. The columns of one output never depend on other outputs, so events do not either.

    plain: the type of the outputs, if they are numbers of one type or lists of numbers of one type: these are read
    quickly, and any other output counts as empty. width: how long such lists are. names: the columns that are kept.
    """

    plain: tuple[type, type] | None
    width: int | None
    names: frozenset[str] | None

    def read(self, outputs: Sequence[Any]) -> Columns:
        """The outputs as columns."""
        if self.plain is None:
            return _general(outputs, self.names)
        matrix = self._matrix(outputs)
        if matrix is None:
            fits = np.array([_shape(output) == (self.plain, self.width) for output in outputs], dtype=bool)
            matrix = np.full((len(outputs),) if self.width is None else (len(outputs), self.width), np.nan)
            matrix[fits] = self._floats([output for output, fit in zip(outputs, fits.tolist(), strict=True) if fit])
        if self.width is None:
            return Columns(len(matrix), {"output": matrix}, {}, {}, ())
        names = tuple(f"output[{place}]" for place in range(self.width))
        rows = np.ascontiguousarray(matrix)
        wholes: list[Hashable] = rows.view(np.dtype((np.void, rows.dtype.itemsize * self.width))).ravel().tolist()
        numbers = {name: np.ascontiguousarray(matrix[:, place]) for place, name in enumerate(names)}
        return Columns(len(matrix), numbers, {}, {"output": names}, wholes)

    def _matrix(self, outputs: Sequence[Any]) -> Floats | None:
        """All outputs at once, if all are as this reader expects."""
        assert self.plain is not None
        kind, inner = self.plain
        if isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biuf":
            scalars = outputs.ndim == 1 and self.width is None and outputs.dtype.type is kind
            rows = outputs.ndim == 2 and outputs.shape[1:] == (self.width,) and outputs.dtype.type is inner
            return outputs.astype(np.float64) if scalars or (rows and kind is np.ndarray) else None
        if set(map(type, outputs)) != {kind}:
            return None
        if self.width is None:
            return self._floats(outputs)
        if set(map(len, outputs)) != {self.width}:
            return None
        if kind is np.ndarray:
            fits = {(each.ndim, each.dtype.type) for each in outputs} == {(1, inner)}
        else:
            fits = set(map(type, chain.from_iterable(outputs))) == {inner}
        return self._floats(outputs) if fits else None

    def _floats(self, outputs: Sequence[Any]) -> Floats:
        shape = (len(outputs),) if self.width is None else (len(outputs), self.width)
        if not len(outputs):
            return np.empty(shape)
        if self.width is not None and self.plain is not None and self.plain[0] is np.ndarray:
            return np.stack(list(outputs)).astype(np.float64)
        flat = outputs if self.width is None else list(chain.from_iterable(outputs))
        try:
            return np.asarray(flat, dtype=np.float64).reshape(shape)
        except OverflowError:
            return np.array([_float(value) for value in flat], dtype=np.float64).reshape(shape)


def reader_for(outputs: Sequence[Any]) -> Reader:
    """A reader for outputs like these.

    >>> columns = reader_for([[1, 2], [3, 4]]).read([[5, 6], None])
    >>> columns.families, columns.number("output[1]").tolist()
    ({'output': ('output[0]', 'output[1]')}, [6.0, nan])
    """
    shapes = {_shape(output) for output in outputs}
    if len(shapes) == 1 and not _beyond_floats(outputs):
        ((plain, width),) = shapes
        if plain is not None:
            return Reader(plain, width, None)
    return Reader(None, None, frozenset(_general(outputs, None).kinds))


def _beyond_floats(outputs: Sequence[Any]) -> bool:
    """Whether floats would lose the last digits of whole numbers here."""
    return any(
        isinstance(value, int) and abs(value) >= 2**53
        for output in outputs
        for value in (output if isinstance(output, list | tuple) else (output,))
    )


def _shape(output: Any) -> tuple[tuple[type, type] | None, int | None]:
    """Its type, that of the numbers in it, and its length if it is a list; None if it is not plain."""
    kind = type(output)
    if issubclass(kind, bool | int | float | np.bool_ | np.integer | np.floating):
        return (kind, kind), None
    if kind is np.ndarray and output.ndim == 1 and output.dtype.kind in "biuf" and 0 < len(output) <= _WIDEST:
        return (kind, output.dtype.type), len(output)
    if kind in (list, tuple) and 0 < len(output) <= _WIDEST:
        inner = set(map(type, output))
        if len(inner) == 1 and issubclass(element := inner.pop(), bool | int | float):
            return (kind, element), len(output)
    return None, None


def _general(outputs: Sequence[Any], wanted: frozenset[str] | None) -> Columns:
    size = len(outputs)
    numbers: dict[str, Floats] = {}
    kinds: dict[str, list[Hashable]] = {}
    members: dict[str, dict[str, None]] = {}
    wholes: list[Hashable] = []
    for row, output in enumerate(outputs):
        seen: list[tuple[str, Hashable, Hashable]] = []
        for within, key, value in _leaves_of(output):
            name = within + key
            kind, number = _read(value)
            seen.append((name, kind, "nan" if number is not None and math.isnan(number) else number))
            if name not in kinds:
                if len(kinds) >= _MOST_COLUMNS if wanted is None else name not in wanted:
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


def _leaves_of(output: Any) -> list[Leaf]:
    try:
        return list(leaves(output))
    except Exception as error:  # noqa: BLE001 (an object may raise anything when it is read)
        return [("output", " cannot be read", type(error).__name__)]


def _read(value: object) -> tuple[Hashable, float | None]:
    """The kind of a plain value, and the number that it is or reads as, if any."""
    if isinstance(value, str):
        return value, _float(value) if len(value) < 40 else None
    if isinstance(value, Number | np.generic) and not isinstance(value, bytes | complex | np.complexfloating):
        return type(value).__name__, _float(value)
    return value if isinstance(value, bytes) else repr(value), None


def _float(value: Any) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError):
        return None
