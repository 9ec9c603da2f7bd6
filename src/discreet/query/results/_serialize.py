"""An answer as JSON and columns, and back; and the digests that identify it in a certificate."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from discreet.query.budget._noise import noise_from_json, noise_to_json
from discreet.query.expressions._intervals import Interval
from discreet.query.measures._aggregates import Aggregate, Axis, Second
from discreet.query.results._answer import Answer, ErrorShape
from discreet.query.results._dual import Floats
from discreet.query.results._error_propagation import Basis
from discreet.query.results._row_noise import RowNoise
from discreet.rational import from_exact_text
from discreet.release import Content

if TYPE_CHECKING:
    from discreet.query.results._conditions import Values

__all__ = [
    "answer_from_stored",
    "answer_to_stored",
    "bars_digest",
    "basis_columns",
    "basis_from_json",
    "basis_to_json",
    "plain_value",
    "release_digests",
    "rows_digest",
    "values_digest",
]


_PRINTED = frozenset({"columns", "rows", "errors", "bias", "remaining"})
_AXES = ("x", "y")
_SECONDS = ("xx", "xy", "yy")


def basis_columns(basis: Basis) -> list[Values]:
    """What a basis holds of each row: its level, its sums by rising measure, and its keys by name."""
    sums = [pa.array(basis.sums[i]) for i in sorted(basis.sums)]
    return [pa.array(basis.level), *sums, *(basis.keys[name] for name in sorted(basis.keys))]


def basis_to_json(basis: Basis) -> dict[str, Any]:
    """What a basis holds of its columns; numbers exactly, as text."""
    return {
        "items": {name: item.sql() for name, item in basis.items.items()},
        "aggregates": {name: _aggregate(aggregate) for name, aggregate in basis.aggregates.items()},
        "sums": sorted(basis.sums),
        "keys": sorted(basis.keys),
        "measures": basis.measures,
    }


def basis_from_json(data: Mapping[str, Any], columns: Sequence[Any]) -> Basis:
    """The inverse of `basis_to_json` and `basis_columns`; raises `ValueError` or `KeyError` on anything else."""
    level, *rest = columns
    sums, keys = rest[: len(data["sums"])], rest[len(data["sums"]) :]
    try:
        items: dict[str, exp.Expr] = {name: parse_one(sql) for name, sql in data["items"].items()}
    except SqlglotError:
        raise ValueError("a column of the basis cannot be read") from None
    return Basis(
        items,
        {name: _read(stored) for name, stored in data["aggregates"].items()},
        {i: np.asarray(column, dtype=np.float64) for i, column in zip(data["sums"], sums, strict=True)},
        {name: pa.chunked_array(column).combine_chunks() for name, column in zip(data["keys"], keys, strict=True)},
        np.asarray(level, dtype=np.int64),
        data["measures"],
    )


def _aggregate(aggregate: Aggregate) -> dict[str, Any]:
    stored: dict[str, Any] = {"kind": aggregate.kind, "sql": aggregate.sql, "count": aggregate.count}
    for name in _AXES:
        axis: Axis | None = getattr(aggregate, name)
        if axis is not None:
            low, high, integer = str(axis.bounds.lower), str(axis.bounds.upper), axis.bounds.integer
            stored[name] = [axis.total, str(axis.step), axis.center, low, high, integer]
    for name in _SECONDS:
        second: Second | None = getattr(aggregate, name)
        if second is not None:
            stored[name] = [second.total, second.shift, second.center]
    return stored


def _read(stored: Mapping[str, Any]) -> Aggregate:
    parts: dict[str, Any] = {}
    for name in _AXES:
        if name in stored:
            total, step, center, low, high, integer = stored[name]
            parts[name] = Axis(
                total, from_exact_text(step), center, Interval(from_exact_text(low), from_exact_text(high), integer)
            )
    parts |= {name: Second(*stored[name]) for name in _SECONDS if name in stored}
    return Aggregate(stored["kind"], stored["sql"], stored["count"], **parts)


def answer_to_stored(answer: Answer) -> tuple[dict[str, Any], list[Any]]:
    """What `answer_from_stored` restores: the values first, then what the error bars are computed from."""
    table = answer.table
    slopes = [(name, i, s) for name, shape in answer.shapes.items() for i, s in shape.slopes.items()]
    basis = answer.basis
    sums = {name: shape.rows for name, shape in answer.shapes.items() if shape.rows is not None}
    columns = [
        *table.columns,
        *(pa.array(s) for *_, s in slopes),
        *(column for noise in sums.values() for column in _lists(noise)),
        *([] if basis is None else basis_columns(basis)),
    ]
    header = {
        "columns": table.column_names,
        "shapes": {n: {"linear": s.linear, "cap": s.cap, "slack": s.slack} for n, s in answer.shapes.items()},
        "slopes": [[name, i] for name, i, _ in slopes],
        "noises": [noise_to_json(noise) for noise in answer.noises],
        "basis": None if basis is None else basis_to_json(basis),
        "picked": answer.picked,
        **({"sums": list(sums)} if sums else {}),
    }
    return header, columns


def answer_from_stored(header: Mapping[str, Any], columns: Sequence[Any]) -> Answer:
    """The inverse of `answer_to_stored`; `KeyError`, `ValueError` or `TypeError` on anything else."""
    names = header["columns"]
    table = pa.table(dict(zip(names, columns[: len(names)], strict=True)))
    slopes: dict[str, dict[int, Floats]] = {name: {} for name in header["shapes"]}
    last = len(names) + len(header["slopes"])
    for (name, i), column in zip(header["slopes"], columns[len(names) : last], strict=True):
        slopes[name][i] = np.asarray(column, dtype=np.float64)
    sums: dict[str, RowNoise] = {}
    for name in header.get("sums", ()):
        sums[name] = _from_lists(columns[last : last + 4])
        last += 4
    shapes = {
        n: ErrorShape(slopes[n], s["linear"], s["cap"], s.get("slack", 0.0), sums.get(n))
        for n, s in header["shapes"].items()
    }
    noises = tuple(noise_from_json(noise) for noise in header["noises"])
    basis = header.get("basis")
    basis = None if basis is None else basis_from_json(basis, columns[last:])
    return Answer(table, shapes, noises, basis, header.get("picked"))


def _lists(noise: RowNoise) -> list[Values]:
    """The noises of each row, as lists, their laws, factors and numbers; and how far its divisors are from zero."""
    first = pa.array(noise.first, pa.int32())
    lists = [pa.ListArray.from_arrays(first, pa.array(part)) for part in (noise.noise, noise.factor, noise.times)]
    return [*lists, pa.array(noise.reach)]


def _from_lists(columns: Sequence[Any]) -> RowNoise:
    """The inverse of `_lists`."""
    *lists, reach = [pa.chunked_array(column).combine_chunks() for column in columns]
    sizes = np.asarray(pc.list_value_length(lists[0]), dtype=np.int64)
    noise, factor, times = (np.asarray(each.flatten()) for each in lists)
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    if not first[-1] == len(noise) == len(factor) == len(times):
        raise ValueError
    laws, numbers = noise.astype(np.int64), times.astype(np.int64)
    return RowNoise(first, laws, factor.astype(np.float64), numbers, np.asarray(reach, dtype=np.float64))


def plain_value(value: object) -> object:
    """A value as JSON has it.

    >>> plain_value(float("nan")), plain_value(dt.date(2026, 1, 31)), plain_value(2**60)
    (None, '2026-01-31', 1152921504606846976)
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.isoformat() if isinstance(value, dt.date) else value


def values_digest(table: pa.Table) -> str:
    """SHA-256 of the values of a release, as `rows_digest` has them."""
    columns = [[plain_value(value) for value in column.to_pylist()] for column in table.columns]
    return _columns_digest(table.column_names, columns)


def rows_digest(names: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """SHA-256 of the canonical JSON of the columns of a result, each with its name and its values from top to bottom.

    Values are those of `plain_value`: whoever prints them as JSON, keeps the digest.
    """
    columns = [[row[i] for row in rows] for i in range(len(names))]
    return _columns_digest(names, columns)


def release_digests(content: Content) -> tuple[dict[str, str], str | None]:
    """The digests of what a file of a release holds, and what it shows that no digest covers."""
    if content.columns is None:
        if not _PRINTED.issuperset(content.fields):
            raise ValueError("a printed answer has other fields")
        names, rows = content.fields["columns"], content.fields["rows"]
        if any(len(row) != len(names) for row in rows):
            raise ValueError
        shown = "the error bars and biases printed beside the answer; a file by --save has what they rest on"
        return {"answer": rows_digest(names, rows)}, shown
    names = content.fields["columns"]
    values = pa.table(list(content.columns[: len(names)]), names=list(names))
    return {"answer": values_digest(values), "error_bars": bars_digest(content.fields, content.columns)}, None


def bars_digest(header: Mapping[str, Any], columns: Sequence[Any]) -> str:
    """SHA-256 of an answer as it is stored: the exact values, their types, and what its error bars rest on."""
    digest = hashlib.sha256(_canonical(header))
    for column in columns:
        digest.update(_canonical(str(column.type)))
        if pa.types.is_floating(column.type) and column.null_count == 0:
            digest.update(np.asarray(column, dtype="<f8").tobytes())
        else:
            digest.update(_canonical([_exact(value) for value in column.to_pylist()]))
    return digest.hexdigest()


def _columns_digest(names: Sequence[str], columns: Sequence[Sequence[object]]) -> str:
    return hashlib.sha256(_canonical([list(pair) for pair in zip(names, columns, strict=True)])).hexdigest()


def _exact(value: object) -> object:
    return value.isoformat() if isinstance(value, dt.date) else value


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode("ascii")
