"""Queries as they are written for other systems."""

from __future__ import annotations

from discreet.policy import Policy
from discreet.query._planner import refusals
from discreet.query.dialects._to_duckdb import to_duckdb
from discreet.query.parse._ibis import Query
from discreet.recursion import with_room

__all__ = ["in_dialect", "transpile"]


@with_room
def transpile(query: str, dialect: str, policy: Policy | None = None) -> str:
    """A query in the dialect of another system as the text here that means the same. Costs nothing, touches no data.

    The dialects are ``postgres``, ``spark``, ``bigquery``, ``snowflake`` and ``tsql``. The text is for whatever takes
    a query. Where the meaning depends on types, as ``a / b`` does, those of the policy's columns decide.

    Raises `ParameterError` for another dialect, `QueryError` for what is not valid or means nothing that can be written
    here, with what to write instead.

    >>> transpile("SELECT COUNTIF(age > 65) AS n FROM people WHERE EXTRACT(DAYOFWEEK FROM born) = 1", "bigquery")
    'SELECT COUNT_IF(age > 65) AS n FROM people WHERE (EXTRACT(DAYOFWEEK FROM born) + 1) = 1'
    """
    with refusals():
        return to_duckdb(query, dialect, policy)


def in_dialect(query: Query, dialect: str, policy: Policy) -> Query:
    """What `transpile` gives for SQL text; in DuckDB's dialect, the query itself, which may be one of Ibis too."""
    return query if dialect == "duckdb" else transpile(query, dialect, policy)  # pyright: ignore[reportArgumentType]
