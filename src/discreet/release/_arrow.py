"""Read an untrusted Arrow stream at a cost that follows from its size."""

from __future__ import annotations

from struct import error as OutOfBytes  # noqa: N812
from struct import unpack_from

import pyarrow as pa

__all__ = ["ARROW", "read_table"]

ARROW = b"\xff\xff\xff\xff"
_CONTINUES = 0xFFFFFFFF
_SCHEMA, _RECORD_BATCH = 1, 3
_LIST, _TIMESTAMP = 12, 10
_SCALARS = frozenset({2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 18, 19, 20})
"""Types that take a bit a row or more: numbers, text, binary, booleans, dates, times, intervals and durations."""
_LONGEST_NAME = 64
_BITS = 8


def read_table(payload: bytes) -> pa.Table:
    """The table in an Arrow stream as releases have them. No value is trusted; each column is as long as it says.

    A release has columns of plain values, or of lists of these. Whatever could stand for more than its own bytes is
    refused by `ValueError` before anything is read: compression, dictionaries, types that take no bytes a row, views,
    and parts of a stream that are named more than once. Raises `pyarrow.ArrowException` for what is no Arrow stream.
    Source: the Arrow IPC format, ``Message.fbs`` and ``Schema.fbs``.
    """
    try:
        _check(payload)
    except OutOfBytes:
        raise ValueError("cut off") from None
    with pa.ipc.open_stream(payload) as stream:
        table = stream.read_all()
    table.validate(full=True)
    return table


def _check(payload: bytes) -> None:
    place = 0
    while place < len(payload):
        mark, size = unpack_from("<Ii", payload, place)
        place += 8
        if not size:
            return
        if mark != _CONTINUES or size < 0:
            raise ValueError("no message")
        metadata = payload[place : place + size]
        message = _Table(metadata, *unpack_from("<I", metadata, 0))
        kind, body = message.number(1, "<B"), message.number(3, "<q")
        if message.field(4) or body < 0:
            raise ValueError("metadata of a message")
        if kind == _SCHEMA:
            _check_schema(message.table(2))
        elif kind == _RECORD_BATCH:
            _check_batch(message.table(2), body)
        else:
            raise ValueError("dictionaries")
        place += size + body


def _check_schema(schema: _Table) -> None:
    if len(schema.tables(2)) > 1:
        raise ValueError("metadata of a schema")
    fields = schema.tables(1)
    if len({field.place for field in fields}) < len(fields):
        raise ValueError("one field twice")
    for field in fields:
        _check_field(field, lists=True)


def _check_field(field: _Table, *, lists: bool) -> None:
    kind, children = field.number(2, "<B"), field.tables(5)
    if field.field(4) or field.field(6) or field.size(0) > _LONGEST_NAME:
        raise ValueError("no field of a release")
    if kind == _LIST and lists and len(children) == 1:
        _check_field(children[0], lists=False)
    elif kind not in _SCALARS or children:
        raise ValueError("no column of a release")
    elif kind == _TIMESTAMP and field.table(3).size(1) > _LONGEST_NAME:
        raise ValueError("no time zone")


def _check_batch(batch: _Table, body: int) -> None:
    if batch.field(3):
        raise ValueError("compressed")
    if batch.number(0, "<q") > _BITS * body:
        raise ValueError("more rows than bits")
    numbers = unpack_from(f"<{2 * batch.size(2)}q", batch.metadata, batch.vector(2) + 4)
    sizes = numbers[1::2]
    if min(sizes, default=0) < 0 or sum(sizes) > body:
        raise ValueError("buffers that are shared")


class _Table:
    """A table of a flatbuffer: where its fields are."""

    def __init__(self, metadata: bytes, place: int) -> None:
        self.metadata, self.place = metadata, place
        (back,) = unpack_from("<i", metadata, place)
        self._described = place - back
        if self._described < 0:
            raise ValueError("no table")
        (self._size,) = unpack_from("<H", metadata, self._described)

    def field(self, number: int) -> int:
        """Where a field is, 0 if it is absent."""
        offset = 4 + 2 * number
        if offset + 2 > self._size:
            return 0
        (behind,) = unpack_from("<H", self.metadata, self._described + offset)
        return self.place + behind if behind else 0

    def number(self, number: int, kind: str) -> int:
        place = self.field(number)
        return unpack_from(kind, self.metadata, place)[0] if place else 0

    def vector(self, number: int) -> int:
        """Where the vector, text or table is that a field refers to, 0 if it is absent."""
        place = self.field(number)
        return place + unpack_from("<I", self.metadata, place)[0] if place else 0

    def table(self, number: int) -> _Table:
        place = self.vector(number)
        if not place:
            raise ValueError("an absent table")
        return _Table(self.metadata, place)

    def size(self, number: int) -> int:
        """How many elements a vector has, or bytes a text."""
        place = self.vector(number)
        return unpack_from("<I", self.metadata, place)[0] if place else 0

    def tables(self, number: int) -> list[_Table]:
        start, size = self.vector(number) + 4, self.size(number)
        offsets = unpack_from(f"<{size}I", self.metadata, start)
        return [_Table(self.metadata, start + 4 * i + offset) for i, offset in enumerate(offsets)]
