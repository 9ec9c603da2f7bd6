"""Parse an untrusted file: one JSON object, or an Arrow stream with one beside its columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from discreet.release._arrow import ARROW, read_table

__all__ = ["Content", "parse_content"]


@dataclass(frozen=True, slots=True)
class Content:
    """The JSON of a file without its loss and certificate, and the columns of an Arrow stream (None for JSON)."""

    fields: Mapping[str, Any]
    columns: Sequence[Any] | None = None


def parse_content(payload: bytes) -> tuple[dict[str, Any], Sequence[Any] | None]:
    """The JSON object of a file, and its columns if it is an Arrow stream; no value is trusted, and no code is run."""
    if not payload.startswith(ARROW):
        return _object(_parsed(payload)), None
    table = read_table(payload)
    fields = _object(_parsed((table.schema.metadata or {})[b"discreet"]))
    return fields, [table.column(i) for i in range(table.num_columns)]


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
