"""The columns of rows that nobody is given: those of a query over tables without rows.

Programs ask for `SELECT * … LIMIT 0` to learn which columns there are. That is free, whatever the query, as the answer
depends on the policy alone: names and types are worked out from the text, and nothing is run.
"""

from __future__ import annotations

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types
from sqlglot.optimizer.qualify import qualify

from discreet.errors import QueryError
from discreet.policy import Policy
from discreet.query import check_depth, parse_query

__all__ = ["columns_over_empty_tables"]

_LONGEST, _MOST_TABLES, _MOST_STARS = 1 << 13, 16, 8
"""Characters, tables and stars of a query: stars of stars have more columns with each."""
_STORED = {"int": "BIGINT", "float": "DOUBLE", "decimal": "DECIMAL(38, 6)", "bool": "BOOLEAN", "string": "VARCHAR"}
_TYPES = exp.DataType.Type


def columns_over_empty_tables(query: str, policy: Policy) -> pa.Schema:
    """The names and types of the columns of a query in DuckDB's dialect; of what has no plain type, text.

    Raises `QueryError` for what is no query over the policy's tables.

    >>> from discreet.datasets import rand
    >>> from discreet.policy import load_policy
    >>> columns_over_empty_tables("SELECT age, dollars / 2 AS half FROM visits LIMIT 0", load_policy(rand.policy))
    age: int64
    half: double
    """
    if len(query) > _LONGEST:
        raise QueryError(f"a query that wants no rows has at most {_LONGEST:,} characters; ask for fewer columns")
    parsed = parse_query(query)
    check_depth(parsed)
    tables, stars = list(parsed.find_all(exp.Table)), sum(1 for _ in parsed.find_all(exp.Star))
    if len(tables) > _MOST_TABLES or stars > _MOST_STARS:
        raise QueryError(
            f"a query that wants no rows names at most {_MOST_TABLES} tables and has at most {_MOST_STARS} stars; ask "
            "for fewer columns"
        )
    named = {each.alias.casefold() for each in parsed.find_all(exp.CTE)}
    known = {name.casefold() for name in policy.tables}
    for table in tables:
        if not isinstance(table.this, exp.Identifier) or table.name.casefold() not in known | named:
            raise QueryError("a query that wants no rows names the tables of the policy alone; ask for one of them")
    schema: dict[str, object] = {
        name: {column: _STORED.get(each.type, each.type.upper()) for column, each in table.columns.items()}
        for name, table in policy.tables.items()
    }
    try:
        typed = annotate_types(qualify(parsed, dialect="duckdb", schema=schema), schema=schema, dialect="duckdb")
    except SqlglotError:
        raise QueryError("the columns of this query cannot be told; name columns that the policy has") from None
    if typed.is_star:
        raise QueryError("the columns of this query cannot be told; name columns that the policy has")
    return pa.schema([pa.field(each.alias_or_name, _arrow(each.type)) for each in typed.selects])


def _arrow(kind: exp.DataType | None) -> pa.DataType:
    """The type of a column as releases have it."""
    name = _TYPES.UNKNOWN if kind is None else kind.this
    if name in exp.DataType.INTEGER_TYPES:
        return pa.int64()
    if name in exp.DataType.NUMERIC_TYPES:
        return pa.float64()
    if name in {_TYPES.TIMESTAMP, _TYPES.TIMESTAMPNTZ, _TYPES.TIMESTAMPTZ, _TYPES.DATETIME}:
        return pa.timestamp("us")
    return {_TYPES.BOOLEAN: pa.bool_(), _TYPES.DATE: pa.date32()}.get(name, pa.string())
