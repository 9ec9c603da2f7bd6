"""Large payloads on a server: rows of some bytes each, under the SHA-256 of all.

A field of PostgreSQL holds up to 1 GB, but the driver holds what it sends and receives several times over, and a server
whose memory is small gives up: so a part is 1 MiB, and some are sent or read at a time. What a process that died has
left of a payload stays, and is completed if the same bytes are stored again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

__all__ = ["TABLE", "any_of", "batches", "digest_of", "joined", "write"]

_PART, _PARTS_AT_ONCE = 2**20, 16
_MOST_PARTS = 2**31 // _PART

TABLE = sa.Table(
    "payload_parts",
    sa.MetaData(),
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("bytes", sa.LargeBinary, nullable=False),
)


def batches(payload: bytes) -> Iterator[list[tuple[int, bytes]]]:
    """The numbered parts of a payload, as many at a time as one transaction takes."""
    count = -(-len(payload) // _PART)
    for begin in range(0, count, _PARTS_AT_ONCE):
        numbers = range(begin, min(begin + _PARTS_AT_ONCE, count))
        yield [(number, payload[number * _PART : (number + 1) * _PART]) for number in numbers]


def write(connection: sa.Connection, digest: str, parts: list[tuple[int, bytes]]) -> None:
    """Add parts; those that are there already are left as they are."""
    for number, part in parts:
        row = {"sha256": digest, "part": number, "bytes": part}
        connection.execute(insert(TABLE).values(row).on_conflict_do_nothing())


def any_of(connection: sa.Connection, digest: str) -> bool:
    """Whether there is any part."""
    return connection.execute(sa.select(TABLE.c.part).where(TABLE.c.sha256 == digest).limit(1)).first() is not None


def joined(connection: sa.Connection, digest: str) -> bytes | None:
    """All parts together, unchecked; None if there are none."""
    return b"".join(_parts(connection, digest)) or None


def digest_of(connection: sa.Connection, digest: str) -> str | None:
    """The SHA-256 of all parts together as they are now; None if there are none."""
    computed, is_there = hashlib.sha256(), False
    for part in _parts(connection, digest):
        computed.update(part)
        is_there = True
    return computed.hexdigest() if is_there else None


def _parts(connection: sa.Connection, digest: str) -> Iterator[bytes]:
    """The parts that are there, in order, some read at a time."""
    for begin in range(0, _MOST_PARTS, _PARTS_AT_ONCE):
        numbers = TABLE.c.part.between(begin, begin + _PARTS_AT_ONCE - 1)
        wanted = sa.select(TABLE.c.bytes).where(TABLE.c.sha256 == digest, numbers).order_by(TABLE.c.part)
        parts = connection.execute(wanted).scalars().all()
        yield from parts
        if len(parts) < _PARTS_AT_ONCE:
            return
