"""The relations that every PostgreSQL server has in its catalogue, and their rows, as PostgreSQL 18 has them."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

__all__ = ["SERVER_VERSION", "SERVER_VERSION_NUMBER", "BuiltIn", "quoter", "read_builtin"]

SERVER_VERSION = "18.4"
"""The version whose catalogue this is, as `server_version` names it."""
SERVER_VERSION_NUMBER = 180004
_DATABASE = "$database"


@dataclass(frozen=True, slots=True)
class BuiltIn:
    """A relation of the catalogue: its columns with PostgreSQL's names for their types, its number, and its rows."""

    oid: int
    columns: Mapping[str, str]
    rows: list[list[Any]]

    def named(self) -> list[dict[str, Any]]:
        """The rows, each value under the name of its column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def read_builtin(database: str) -> dict[tuple[str, str], BuiltIn]:
    """The relations by schema and name; a schema named texts holds what functions say of built-in objects.

    Rows name the database; the name of the caller is left open, as "$role".
    """
    packed = files(__package__ or "").joinpath("builtin.jsonl.gz").read_bytes()
    relations = dict[tuple[str, str], BuiltIn]()
    for line in gzip.decompress(packed).splitlines():
        each = json.loads(line)
        rows: list[list[Any]] = each["rows"]
        for row in rows:
            if _DATABASE in row:
                row[:] = [database if value == _DATABASE else value for value in row]
        relations[each["schema"], each["name"]] = BuiltIn(each["oid"], dict(each["columns"]), rows)
    return relations


_PLAIN = re.compile(r"[a-z_][a-z0-9_$]*\Z")


def quoter(builtin: Mapping[tuple[str, str], BuiltIn]) -> Callable[[str], str]:
    """PostgreSQL's `quote_ident`: a name in double quotes, unless it means itself without them."""
    reserved = {row["word"] for row in builtin["texts", "keywords"].named() if row["catcode"] != "U"}

    def quote(name: str) -> str:
        return name if _PLAIN.match(name) and name not in reserved else '"' + name.replace('"', '""') + '"'

    return quote
