"""Ibis expressions as SQL text, and the tables of a policy as Ibis tables.

Nothing of Ibis is trusted: what its compiler writes is read, bound and refused as if a person had typed it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

from discreet.errors import MissingExtra, QueryError, printable
from discreet.policy import ColumnType, Policy
from discreet.query.parse._parse import TOO_DEEP
from discreet.query.passes._names import match_name

__all__ = ["Expression", "Query", "ibis_table", "text_of"]

_TYPES: Mapping[ColumnType, str] = {
    "bool": "boolean",
    "int": "int64",
    "float": "float64",
    "decimal": "decimal",
    "string": "string",
    "date": "date",
    "timestamp": "timestamp",
}
_UNBOUND = "use the tables of Session.table(name), or ibis.table(schema, name=…)"
_REFUSED: Mapping[str, str] = {
    "InMemoryTable": f"ibis.memtable brings rows of its own; {_UNBOUND}",
    "DatabaseTable": f"the expression is bound to an Ibis back end; call .unbind() on it, or {_UNBOUND}",
    "SQLQueryResult": f"the expression holds the SQL of an Ibis back end; give that SQL as text, or {_UNBOUND}",
    "SQLStringView": "the expression holds SQL text; give the whole query as text",
    "ScalarUDF": "functions of your own are not supported: no bound on what they return is known",
    "AggUDF": "aggregates of your own are not supported: how far one person moves them is not known",
    "ScalarParameter": "ibis.param has no value here; write the constant itself",
}


class Expression(Protocol):
    """An Ibis expression: a table, or a scalar, which is a table of one column and one row."""

    def op(self) -> Any:
        """The root of the expression's tree."""
        ...

    def as_table(self) -> Any:
        """The expression as an Ibis table."""
        ...


Query = str | Expression
"""A question: SQL text, or an Ibis expression over tables of the policy."""


class _Private:
    """What stands in Ibis for the data of a private table, and refuses to execute anything: a session answers."""

    name = "discreet"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise QueryError(
            "Ibis cannot read a private table, so it has no data to execute this on or to show: pass the expression to "
            "Session.sql(expr, spend=…), which answers with noise, or to Session.plan(expr), which costs nothing"
        )

    def __reduce__(self) -> str:
        return "_PRIVATE"

    @property
    def compiler(self) -> Any:
        """DuckDB's, for `ibis.to_sql`."""
        return _compiler()

    def compile(self, expression: Any, **_: Any) -> str:
        """The SQL of an expression, for its own `compile`."""
        return text_of(expression)


_PRIVATE = _Private()


def text_of(query: Query) -> str:
    """SQL in DuckDB's dialect for a query, by Ibis's own compiler where it is an Ibis expression; text is left alone.

    Raises `QueryError` for anything else, and for an expression that brings data or code of its own or that Ibis cannot
    write as SQL.
    """
    if isinstance(query, str):
        return query
    types = sys.modules.get("ibis.expr.types")
    if types is None or not isinstance(query, types.Expr):
        raise QueryError(
            f"a query is SQL text or an Ibis expression, got {type(query).__name__}"
            + ("; add .agg(…) to group_by(…)" if type(query).__name__ == "GroupedTable" else "")
        )
    try:
        _check(query)
        compiler = _compiler()
        return str(compiler.to_sqlglot(_rewritten(query)).sql(dialect=compiler.dialect))
    except QueryError:
        raise
    except RecursionError:
        raise QueryError(TOO_DEEP) from None
    except Exception as error:  # noqa: BLE001 (whatever Ibis raises on what it cannot write)
        message = printable(str(error).strip().partition("\n")[0])[:200]
        raise QueryError(f"Ibis cannot write this expression as SQL: {message or type(error).__name__}") from None


def _compiler() -> Any:
    return import_module("ibis.backends.sql.compilers").duckdb.compiler


def _rewritten(expression: Expression) -> Any:
    """The expression as Ibis compiles it for DuckDB, which has one name for both correlations: they are equal."""
    correlation = import_module("ibis.expr.operations").Correlation

    def replaced(node: Any, changed: dict[str, Any] | None) -> Any:
        if isinstance(node, correlation):
            return node.copy(**(changed or {}) | {"how": "pop"})
        return node.__recreate__(changed) if changed else node

    return expression.op().replace(replaced).to_expr()


def ibis_table(policy: Policy, name: str) -> Any:
    """An Ibis table with the columns that a query may name, typed by the policy alone; no data is looked at.

    A column that the policy does not list, because it only says whose a row is, has Ibis's type `unknown`. Raises
    `QueryError` if the policy has no such table, `MissingExtra` without Ibis.
    """
    table = match_name(name, policy.tables, "the policy", "table")
    declaration = policy.tables[table]
    try:
        ibis = import_module("ibis")
    except ImportError:
        raise MissingExtra("Ibis expressions need Ibis: pip install 'discreet[ibis]'") from None
    schema: dict[str, Any] = {column: _TYPES[each.type] for column, each in declaration.columns.items()}
    for column in (*declaration.hidden, *policy.linked_by(table)):
        schema.setdefault(column, import_module("ibis.expr.datatypes").unknown)
    operations = import_module("ibis.expr.operations")
    return operations.DatabaseTable(name=table, schema=ibis.schema(schema), source=_PRIVATE).to_expr()


_DESCRIBE = ("name", "pos", "type", "count", "nulls", "unique")
"""The first columns of what Ibis makes of `describe`."""


def _check(expression: Expression) -> None:
    operations = import_module("ibis.expr.operations")
    kinds = {getattr(operations, name): why for name, why in _REFUSED.items() if hasattr(operations, name)}
    for node in expression.op().find(tuple(kinds)):
        if getattr(node, "source", None) is not _PRIVATE:
            raise QueryError(next(why for kind, why in kinds.items() if isinstance(node, kind)))
    relations = expression.op().find(operations.Relation)
    if any(tuple(node.schema.names)[: len(_DESCRIBE)] == _DESCRIBE for node in relations):
        tables = expression.op().find(operations.PhysicalTable)
        numbers = (name for table in tables for name, kind in table.schema.items() if kind.is_numeric())
        raise QueryError(_instead_of_describe(next(numbers, "x")))


def _instead_of_describe(column: str) -> str:
    """The columns of `describe` that a private query has, for one column of a table ``t``."""
    parts = {"count": "count()", "nulls": "isnull().sum()", "unique": "nunique()", "mean": "mean()", "std": "std()"}
    parts |= {f"p{p}": f"quantile({p / 100})" for p in (1, 25, 50, 75, 99)}
    asked = ", ".join(f"{name}=t[{column!r}].{part}" for name, part in parts.items())
    return (
        "describe() asks one query for each column, for values of single people among others; ask one query for the "
        f"statistics that you need, which share its spend, as in t.agg({asked})"
    )
