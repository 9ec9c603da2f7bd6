"""Parse an untrusted file: one JSON object, or an Arrow stream with one beside its columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa

__all__ = ["ARROW", "Content", "check_uncompressed", "parse_content"]

ARROW = b"\xff\xff\xff\xff"


@dataclass(frozen=True, slots=True)
class Content:
    """The JSON of a file without its loss and certificate, and the columns of an Arrow stream (None for JSON)."""

    fields: Mapping[str, Any]
    columns: Sequence[Any] | None = None


def parse_content(payload: bytes) -> tuple[dict[str, Any], Sequence[Any] | None]:
    """The JSON object of a file, and its columns if it is an Arrow stream; no value is trusted, and no code is run."""
    if not payload.startswith(ARROW):
        return _object(_parsed(payload)), None
    check_uncompressed(payload)
    with pa.ipc.open_stream(payload) as stream:
        fields = _object(_parsed((stream.schema.metadata or {})[b"discreet"]))
        table = stream.read_all()
    table.validate(full=True)
    return fields, [table.column(i) for i in range(table.num_columns)]


def check_uncompressed(payload: bytes) -> None:
    """Raise `ValueError` if an Arrow stream has compressed batches or dictionaries, which no release has.

    A few kilobytes of them could take any amount of memory. Source: the Arrow IPC format, ``Message.fbs``: a message's
    header is field 2 of its root table, and the compression of a record batch field 3 of that header.
    """
    for message in pa.ipc.MessageReader.open_stream(payload):
        if message.type == "schema":
            continue
        metadata = message.metadata.to_pybytes()
        if message.type != "record batch" or _field(metadata, _child(metadata, _root(metadata), 2), 3):
            raise ValueError("compressed")


def _root(metadata: bytes) -> int:
    return int.from_bytes(metadata[:4], "little")


def _child(metadata: bytes, table: int, field: int) -> int:
    """Where the table that a field refers to begins."""
    place = table + _field(metadata, table, field)
    return place + int.from_bytes(metadata[place : place + 4], "little")


def _field(metadata: bytes, table: int, field: int) -> int:
    """How far behind the beginning of a flatbuffer table a field lies, 0 if it is absent."""
    described = table - int.from_bytes(metadata[table : table + 4], "little", signed=True)
    place, size = 4 + 2 * field, int.from_bytes(metadata[described : described + 2], "little")
    return int.from_bytes(metadata[described + place : described + place + 2], "little") if place < size else 0


def _parsed(text: bytes) -> object:
    return json.loads(text, object_pairs_hook=_unambiguous)


def _unambiguous(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object whose names differ: of two values under one name, another reader may take the other."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError
    return fields


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return cast("dict[str, Any]", value)
