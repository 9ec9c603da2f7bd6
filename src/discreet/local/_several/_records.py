"""Records: what each person holds for every one of some attributes, as columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError, printable

__all__ = ["checked_names", "prepared_columns"]

Prepare = Callable[[Any], NDArray[Any]]


def checked_names(names: Sequence[Any], most: int) -> tuple[str, ...]:
    """The names of attributes; raises `ParameterError` unless they are 1 to `most` texts."""
    if not 1 <= len(names) <= most or not all(isinstance(name, str) and name for name in names):
        raise ParameterError(f"give 1 to {most:,} attributes by name, as {{'os': …, 'age': …}}, got {len(names)}")
    for name in names:
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ParameterError(f"the name of an attribute must be text that UTF-8 can write, got {name!a}") from None
    return tuple(names)


def prepared_columns(values: Any, prepare: Mapping[str, Prepare]) -> NDArray[Any]:
    """The records as a structured array: a field for each attribute, named by its number, as its scheme prepares it.

    `values` is a record, a mapping of attributes to columns, a list of records, or a frame of pandas, polars or
    pyarrow. Raises `ParameterError` for what is none, or has other attributes, and as the schemes do.
    """
    columns = _columns(values, tuple(prepare))
    found: list[NDArray[Any]] = []
    for name, column in columns.items():
        try:
            found.append(prepare[name](column))
        except ParameterError as refusal:
            raise ParameterError(f"{printable(name)!r}: {refusal}") from None
    if len({each.size for each in found}) != 1:
        raise ParameterError("each person has one value of each attribute, and these columns differ in length")
    rows = np.empty(found[0].size, dtype=[(str(place), each.dtype) for place, each in enumerate(found)])
    for place, each in enumerate(found):
        rows[str(place)] = each
    return rows


def _columns(values: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if isinstance(values, Mapping):
        record = cast("Mapping[Any, Any]", values)
        _check_keys(record.keys(), names)
        return {name: record[name] for name in names}
    if hasattr(values, "__len__") and not isinstance(values, Sequence | np.ndarray):  # a lazy frame has no length
        held = getattr(values, "column_names", getattr(values, "columns", None))
        if held is not None:
            _check_keys(list(held), names)
            return {name: np.asarray(values[name]) for name in names}
    records: list[Any] = list(values) if isinstance(values, Sequence | np.ndarray) else [None]
    if not all(isinstance(record, Mapping) for record in records):
        raise ParameterError(
            "values must be records: a mapping of attributes to values, a list of such, or columns as a mapping or a "
            "frame; collect a lazy frame before"
        )
    for record in records:
        _check_keys(record.keys(), names)
    return {name: [record[name] for record in records] for name in names}


def _check_keys(keys: Any, names: tuple[str, ...]) -> None:
    """What else is there is not told: it is somebody's."""
    if missing := [name for name in names if name not in keys]:
        raise ParameterError(f"a record has a value of each attribute, and {printable(missing[0])!r} is missing")
    if len(keys) != len(names):
        raise ParameterError(f"a record has the scheme's attributes, {len(names)} of them, and no others")
