"""Views in a DuckDB database: only those that show a table's columns as they are.

Whatever else a view computes may fail on one row, or mix the rows of several people, and no plan would know.
"""

from __future__ import annotations

import duckdb
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.errors import DataError
from discreet.query import unlogged

__all__ = ["check_view"]


def check_view(connection: duckdb.DuckDBPyConnection, database: str, name: str) -> None:
    """Raise `DataError` if a name stands for a view of an attached database that is more than columns of a table."""
    found = connection.execute(
        "SELECT view_name, sql FROM duckdb_views() WHERE database_name = ? AND schema_name = 'main'", [database]
    ).fetchall()
    views = {view.casefold(): sql for view, sql in found}
    shown: str | None = name
    while shown is not None and shown.casefold() in views:
        shown = _table_of(views.pop(shown.casefold()))
    tables = connection.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = ?", [database]).fetchall()
    if shown is None or (shown != name and shown.casefold() not in {table.casefold() for (table,) in tables}):
        raise DataError(
            f"{name} is a view that does more than to show columns of a table: it could fail on one row, or mix the "
            f"rows of several people; make a table of it, CREATE TABLE … AS FROM {name}, and name that in the policy"
        )


def _table_of(sql: str) -> str | None:
    """The table of which a view shows columns; None if it does anything else."""
    try:
        with unlogged():
            tree = sqlglot.parse_one(sql, read="duckdb")
    except (SqlglotError, RecursionError):
        return None
    select = tree.expression if isinstance(tree, exp.Create) else None
    if not isinstance(select, exp.Select) or {arg for arg, value in select.args.items() if value} != {
        "expressions",
        "from_",
    }:
        return None
    table = select.args["from_"].this
    plain = isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier)
    if not plain or {arg for arg, value in table.args.items() if value} - {"this", "alias"}:
        return None
    return table.name if all(map(_is_column, select.expressions)) else None


def _is_column(item: exp.Expr) -> bool:
    inner = item.unalias()
    if isinstance(inner, exp.Star):
        return not any(inner.args.values())
    return isinstance(inner, exp.Column) and isinstance(inner.this, exp.Identifier | exp.Star)
