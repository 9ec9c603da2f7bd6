"""A release as a stranger's file: what it holds, read without trusting any of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pyarrow as pa

from discreet.errors import LedgerError
from discreet.query.results._serialize import bars_digest, rows_digest, values_digest

__all__ = ["Filed", "read_filed"]

_ARROW = b"\xff\xff\xff\xff"
_UNREADABLE = (
    "this is not a release that can be read: damaged, cut off, or something else; give a file by `--save`, the bytes "
    "of a release, or what `discreet query --format json` prints"
)
_AROUND = ("loss", "certificate")


@dataclass(frozen=True, slots=True)
class Filed:
    """What a file says: which kind of release it is, its certificate, and its loss, in plain JSON.

    `digests` are worked out anew from what else is in the file, under their names in a certificate; `bare` says that
    there is nothing else, but a certificate alone. `left_out` is what the file shows and no digest covers.
    """

    kind: str
    certificate: Mapping[str, Any]
    loss: object
    digests: Mapping[str, str] = field(default_factory=dict[str, str])
    left_out: str | None = None
    bare: bool = False


def read_filed(payload: bytes) -> Filed:
    """What a file holds: the bytes of a release of any kind, the JSON of a query's answer, or a certificate alone.

    No value is trusted, no code that it names is loaded, and nothing in it is run. Costs nothing. Raises `LedgerError`
    for whatever else it is.
    """
    try:
        return _arrow(payload) if payload.startswith(_ARROW) else _json(payload)
    except (
        *(pa.ArrowException, OSError, MemoryError, RecursionError),
        *(KeyError, IndexError, ValueError, TypeError, AttributeError, ArithmeticError),
    ):
        raise LedgerError(_UNREADABLE) from None


def _arrow(payload: bytes) -> Filed:
    with pa.ipc.open_stream(payload) as stream:
        about = _object(_parsed((stream.schema.metadata or {})[b"discreet"]))
        table = stream.read_all()
    table.validate(full=True)
    names = cast("Sequence[str]", about["columns"])
    columns = [table.column(i) for i in range(table.num_columns)]
    values = pa.table(columns[: len(names)], names=list(names))
    rest = {name: value for name, value in about.items() if name not in _AROUND}
    digests = {"answer": values_digest(values), "error_bars": bars_digest(rest, columns)}
    return Filed("query", _object(about["certificate"]), about["loss"], digests)


def _json(payload: bytes) -> Filed:
    found = _object(_parsed(payload))
    if "signature" in found and "certificate" not in found:
        return Filed(str(found.get("kind")), found, found.get("loss"), bare=True)
    certificate, loss = _object(found["certificate"]), found["loss"]
    if "rows" in found:
        names, rows = found["columns"], found["rows"]
        if any(len(row) != len(names) for row in rows):
            raise ValueError
        shown = "the error bars and biases printed beside the answer; a file by --save has what they rest on"
        return Filed("query", certificate, loss, {"answer": rows_digest(names, rows)}, shown)
    if "value" in found:
        return Filed("mechanism", certificate, loss, {"answer": _digest(found["value"])})
    rest = {name: value for name, value in found.items() if name not in _AROUND}
    return Filed("suggestion", certificate, loss, {"answer": _digest(rest)})


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _parsed(text: bytes) -> object:
    return json.loads(text, object_pairs_hook=_unambiguous)


def _unambiguous(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object whose names differ: of two values under one name, another reader may take the other."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return cast("dict[str, Any]", value)
