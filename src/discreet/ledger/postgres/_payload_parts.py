"""Large payloads on a server: rows of some bytes each, under the SHA-256 of all."""

from __future__ import annotations

from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

__all__ = ["TABLE", "batches", "joined", "write"]

_PART, _PARTS_AT_ONCE = 2**20, 16

TABLE = sa.Table(
    "payload_parts",
    sa.MetaData(),
    sa.Column("sha256", sa.Text, primary_key=True),
    sa.Column("part", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("bytes", sa.LargeBinary, nullable=False),
)


def batches(payload: bytes) -> Iterator[list[tuple[int, bytes]]]:
    """The numbered parts of a payload, as many at a time as one transaction takes."""
    parts = [(i // _PART, payload[i : i + _PART]) for i in range(0, len(payload), _PART)]
    for begin in range(0, len(parts), _PARTS_AT_ONCE):
        yield parts[begin : begin + _PARTS_AT_ONCE]


def write(connection: sa.Connection, digest: str, parts: list[tuple[int, bytes]]) -> None:
    """Add parts; those that are there already are left as they are."""
    for number, part in parts:
        row = {"sha256": digest, "part": number, "bytes": part}
        connection.execute(insert(TABLE).values(row).on_conflict_do_nothing())


def joined(connection: sa.Connection, digest: str) -> bytes | None:
    """All parts together, unchecked; None if there are none."""
    wanted = sa.select(TABLE.c.bytes).where(TABLE.c.sha256 == digest).order_by(TABLE.c.part)
    parts = connection.execute(wanted).scalars().all()
    return b"".join(map(bytes, parts)) if parts else None
