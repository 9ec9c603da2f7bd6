"""What is refused, as errors of PostgreSQL.

A budget that is spent and a price that was not agreed to are 53400, configuration_limit_exceeded: a limit that somebody
set, which no retry gets around, and which no driver takes for a lost connection or a bad statement.
Source: PostgreSQL manual, appendix "PostgreSQL Error Codes".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from discreet.errors import DiscreetError, ParameterError
from discreet.server.desk import Kind, Refusal
from discreet.server.postgres.codec.backend import Notice

__all__ = ["INTERNAL", "SqlError", "error_of", "notice_of", "query_state"]

INTERNAL: Final = Notice("ERROR", "XX000", "an error within the server; tell the owner of the data")


class SqlError(Exception):
    """A statement that is refused, with its SQLSTATE and, maybe, what to do instead."""

    def __init__(self, sqlstate: str, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.sqlstate, self.hint = sqlstate, hint


_STATES: Final[Mapping[Kind, str]] = {
    "query": "0A000",
    "parameter": "22023",
    "price": "53400",
    "budget": "53400",
    "frozen": "42501",
    "key": "22023",
    "missing-key": "22023",
    "sign-in": "28P01",
    "role": "42501",
    "rate": "53300",
    "unknown": "42704",
    "cancelled": "57014",
    "data": "58000",
    "ledger": "58000",
}
_QUERIES: Final = (
    ("42601", re.compile(r"is not valid SQL|is not one statement|^the query is empty")),
    (
        "42P01",
        re.compile(r"^relation .* does not exist|the policy has no table|names a table that the query does not read"),
    ),
    ("42703", re.compile(r"^column .* does not exist|the policy has no column|there is no column|has no column")),
    ("42501", re.compile(r"rows about people are never released")),
    ("25006", re.compile(r"a source is only read|^(INSERT|UPDATE|DELETE|MERGE) ")),
)
"""Refusals of a query that PostgreSQL has a state of its own for, by the words of the planner."""
_INSTEAD: Final[Mapping[str, str]] = {
    "42501": "Ask for aggregates instead, such as SELECT COUNT(*), or SELECT DISTINCT of a column with public keys.",
    "25006": "Ask SELECT of aggregates; nothing is written here.",
    "price": "SET discreet.epsilon = 0.1 buys answers for as much; EXPLAIN shows the plan, for free.",
    "budget": "SELECT * FROM discreet.budget shows what is left.",
}


def query_state(message: str) -> str:
    """The SQLSTATE of a query that was refused in these words."""
    return next((code for code, words in _QUERIES if words.search(message)), _STATES["query"])


def error_of(refusal: Refusal) -> SqlError:
    """A refusal of the desk's as an error that ends a connection."""
    return SqlError(_STATES[refusal.kind], str(refusal))


def notice_of(error: SqlError | DiscreetError) -> Notice:
    """The ErrorResponse of a refusal."""
    if isinstance(error, SqlError):
        return Notice("ERROR", error.sqlstate, str(error), hint=error.hint)
    if isinstance(error, ParameterError):
        return Notice("ERROR", "22023", str(error))
    if not isinstance(error, Refusal):
        return INTERNAL
    state, hint = _STATES[error.kind], _INSTEAD.get(error.kind)
    if error.kind == "query":
        state = query_state(str(error))
        hint = _INSTEAD.get(state)
    if error.kind == "role":
        hint = None
    return Notice("ERROR", state, str(error), hint=hint)
