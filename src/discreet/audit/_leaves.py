"""Any output, taken apart into plain values with names: what an analyst could look at."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from itertools import islice
from numbers import Number
from typing import Any

import numpy as np

__all__ = ["Leaf", "leaves"]

_LONG, _LONGEST = 8, 200
_MOST_BYTES, _MOST_NUMBERS = 16, 8
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,3})?(?!\w)")

Leaf = tuple[str, str, object]
"""What it is part of, what it is called there, and a number, a text or None."""


def leaves(output: object, within: str = "", name: str = "output") -> Iterator[Leaf]:
    """The plain values in an output: lists by place, mappings by key, tables by column and row, errors by their text.

    >>> list(leaves({"n": 3, "why": None}))
    [('output', ' keys', "'n', 'why'"), ('output', "['n']", 3), ('output', "['why']", None)]
    >>> list(leaves([True, "a"]))
    [('output', ' type', 'list'), ('output', '[0]', True), ('output', '[1]', 'a'), ('output', ' length', 2)]
    """
    whole = within + name
    if isinstance(output, np.generic | np.ndarray) and np.ndim(output) == 0 and not isinstance(output, Number):
        yield from leaves(_plain(output), within, name)
    elif output is None or isinstance(output, str | Number):
        yield within, name, output
        yield from _inside(output, whole)
    elif isinstance(output, BaseException):
        yield whole, " error", type(output).__name__
        yield from leaves(f"{type(output).__name__}: {output}", whole, " error text")
    elif isinstance(output, bytes | bytearray | timedelta | date):
        yield within, name, bytes(output) if isinstance(output, bytearray) else output
        yield from _inside(output, whole)
    elif isinstance(output, Mapping):
        yield whole, " keys", ", ".join(map(repr, output))[:_LONGEST]
        for key, value in output.items():
            yield from leaves(value, whole, f"[{key!r}]")
    elif isinstance(output, set | frozenset):
        for value in output:
            yield whole, f" has {value!r}", 1
    elif isinstance(output, Sequence | np.ndarray):
        yield from _of_sequence(output, whole)
    elif (table := _table(output)) is not None:
        yield whole, " types", table[0]
        yield from leaves(table[1], within, name)
    elif is_dataclass(output):
        for each in fields(output):
            yield from leaves(getattr(output, each.name), whole, f".{each.name}")
    else:
        yield from _of_object(output, within, name)


def _of_object(output: object, within: str, name: str) -> Iterator[Leaf]:
    whole = within + name
    if type(output).__repr__ is object.__repr__:  # it would print its address
        yield whole, " type", type(output).__name__
        yield from leaves(getattr(output, "__dict__", {}), within, name)
    else:
        yield within, name, repr(output)


def _plain(scalar: Any) -> object:
    """What NumPy calls it in plain Python; a text where it has no other name for it."""
    found = scalar.item()
    return str(scalar) if isinstance(found, np.generic) else found


def _inside(output: object, whole: str) -> Iterator[Leaf]:
    """What a plain value holds that is not seen of it as a category or as a float."""
    if isinstance(output, str) and len(output) >= _LONG:
        yield whole, " length", len(output)
        for place, number in enumerate(islice(_NUMBER.finditer(output), _MOST_NUMBERS)):
            yield whole, f" number {place}", float(number[0])
    elif isinstance(output, int) and abs(output) >= 2**53:
        yield whole, " last binary digits", output % 2**32
    elif isinstance(output, complex | np.complexfloating):
        yield whole, ".real", output.real
        yield whole, ".imag", output.imag
    elif isinstance(output, bytes | bytearray):
        yield whole, " length", len(output)
        yield from ((whole, f" byte {place}", value) for place, value in enumerate(bytes(output[:_MOST_BYTES])))
    elif isinstance(output, timedelta):
        yield whole, " seconds", output.total_seconds()
    elif isinstance(output, date):
        yield whole, " day", output.toordinal()


def _of_sequence(output: Any, whole: str) -> Iterator[Leaf]:
    yield whole, " type", type(output).__name__
    for place, value in enumerate(output):
        yield from leaves(value, whole, f"[{place}]")
    yield whole, " length", len(output)


def _table(output: Any) -> tuple[str, Any] | None:
    """The types and the columns of an Arrow table, a data frame, or whatever turns into one."""
    for method in ("to_arrow", "to_pydict", "to_dict", "to_pylist", "as_py"):
        if not hasattr(output, method):
            continue
        if method in ("to_pylist", "as_py"):
            return str(getattr(output, "type", "")), getattr(output, method)()
        if method == "to_arrow":
            found = output.to_arrow()
            return None if found is output else _table(found)
        if method == "to_pydict":
            return str(getattr(output, "schema", "")), output.to_pydict()
        columns = getattr(output, "columns", None)
        if columns is not None:
            return str(list(getattr(output, "dtypes", ()))), {str(each): list(output[each]) for each in columns}
    return None
