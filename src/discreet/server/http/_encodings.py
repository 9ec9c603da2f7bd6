"""Answers as HTTP carries them: JSON, CSV, Arrow streams, and the bytes that the ledger stores."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa

from discreet.query import Release
from discreet.server.desk import Answered, Refusal

__all__ = ["ARROW", "CSV", "JSON", "STORED", "TABLES", "chosen_type", "encoded"]

JSON = "application/json"
CSV = "text/csv"
ARROW = "application/vnd.apache.arrow.stream"
STORED = "application/vnd.discreet.release"
"""The release as the ledger stores it, which `Release.from_bytes` reads and `discreet verify` checks."""

TABLES = frozenset((CSV, ARROW))
"""What an answer can be written in that is a table, and no other."""
_TYPES = (JSON, CSV, ARROW, STORED)


def chosen_type(accept: str | None) -> str:
    """The first type in an Accept header that the API writes; JSON without one, and for ``*/*``.

    >>> chosen_type("text/csv; q=0.9, */*"), chosen_type(None)
    ('text/csv', 'application/json')
    """
    for item in (accept or "").split(","):
        name = item.partition(";")[0].strip().lower()
        if name in _TYPES:
            return name
    return JSON


def encoded(answered: Answered, media_type: str, level: float) -> bytes:
    """An answer in a type, with its intervals at a level. Raises `Refusal` for what has no such form."""
    if media_type == STORED:
        return answered.payload
    release = answered.release
    if media_type == JSON:
        content = release.to_dict(level)
        if answered.source == "rehearsal":
            content = {"rehearsal": True, **content}
        return json.dumps(content, allow_nan=False).encode()
    if not isinstance(release, Release):
        raise Refusal("parameter", f"this answer is no table: ask for it as {JSON}")
    table = release.to_arrow(errors=True, level=level)
    return _csv(table) if media_type == CSV else _arrow(table)


def _csv(table: pa.Table) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return text.getvalue().encode()


def _arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()
