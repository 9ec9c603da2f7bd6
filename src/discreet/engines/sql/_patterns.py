"""Regular expressions on an engine whose matcher may take a time exponential in the text: refused before a charge."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engines.sql._dialect import Rendering, Write, Writer
from discreet.errors import QueryError
from discreet.query import Call

__all__ = ["no_patterns"]


def no_patterns(engine: str) -> Mapping[str, Rendering]:
    """The functions of regular expressions, for an engine by its name: each raises `QueryError` when it is written."""

    def refuse(call: Call, _: Writer, __: Write) -> str:
        raise QueryError(
            f"{call.name} is not supported on {engine}, where one text could keep a regular expression busy for ever; "
            "use LIKE, CONTAINS or SUBSTRING, or DuckDB as the engine"
        )

    return dict.fromkeys(("REGEXP_MATCHES", "REGEXP_FULL_MATCH", "REGEXP_EXTRACT", "REGEXP_REPLACE"), refuse)
