"""Any output, taken apart into plain values with names: what an analyst could look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from numbers import Number
from typing import Any

import numpy as np

__all__ = ["Leaf", "leaves"]

Leaf = tuple[str, str, object]
"""What it is part of, what it is called there, and a number, a text or None."""


def leaves(output: object, within: str = "", name: str = "output") -> Iterator[Leaf]:
    """The plain values in an output: lists by place, mappings by key, tables by column and row, errors by their text.

    >>> list(leaves({"n": 3, "why": None}))
    [('output', "['n']", 3), ('output', "['why']", None)]
    >>> list(leaves([True, "a"]))
    [('output', '[0]', True), ('output', '[1]', 'a'), ('output', ' length', 2)]
    """
    if output is None or isinstance(output, str | Number | np.generic):
        yield within, name, output
        return
    whole = within + name
    if isinstance(output, BaseException):
        yield whole, " error", type(output).__name__
        yield whole, " error text", f"{type(output).__name__}: {output}"
    elif isinstance(output, bytes | bytearray):
        yield within, name, bytes(output)
    elif isinstance(output, Mapping):
        for key, value in output.items():
            yield from leaves(value, whole, f"[{key!r}]")
    elif isinstance(output, set | frozenset):
        for value in output:
            yield whole, f" has {value!r}", 1
    elif isinstance(output, np.ndarray) and output.ndim == 0:
        yield from leaves(output.item(), within, name)
    elif isinstance(output, Sequence | np.ndarray):
        yield from _of_sequence(output, whole)
    elif (table := _table(output)) is not None:
        yield whole, " types", table[0]
        yield from leaves(table[1], within, name)
    elif is_dataclass(output):
        for each in fields(output):
            yield from leaves(getattr(output, each.name), whole, f".{each.name}")
    else:
        yield within, name, repr(output)


def _of_sequence(output: Any, whole: str) -> Iterator[Leaf]:
    for place, value in enumerate(output):
        yield from leaves(value, whole, f"[{place}]")
    yield whole, " length", len(output)


def _table(output: Any) -> tuple[str, dict[str, list[Any]]] | None:
    """The types and the columns of an Arrow table, a data frame, or whatever turns into one."""
    for method in ("to_arrow", "to_pydict", "to_dict"):
        if not hasattr(output, method):
            continue
        if method == "to_arrow":
            found = output.to_arrow()
            return None if found is output else _table(found)
        if method == "to_pydict":
            return str(getattr(output, "schema", "")), output.to_pydict()
        columns = getattr(output, "columns", None)
        if columns is not None:
            return str(list(getattr(output, "dtypes", ()))), {str(each): list(output[each]) for each in columns}
    return None
