"""Text to one SELECT, or a refusal that says what is supported."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.errors import QueryError
from discreet.query._functions_calls import arguments_read

__all__ = ["SUPPORTED", "TOO_DEEP", "check_understood", "parse", "refuse"]

SUPPORTED = (
    "Supported: SELECT of COUNT, COUNT(DISTINCT x), COUNT_IF, SUM, AVG, MEDIAN, MIN, MAX, QUANTILE_CONT, VARIANCE, "
    "STDDEV, COVAR, CORR and REGR functions, each with FILTER, arithmetic between them and ROUND, ABS, SQRT, COALESCE, "
    "GREATEST, LEAST and CASE of them, FROM tables and sub-queries, WHERE, GROUP BY, HAVING, ORDER BY, LIMIT."
)

_MAX_LENGTH = 100_000
_MAX_NODES = 5_000
_MAX_DEPTH = 100
TOO_DEEP = f"the query is nested more than {_MAX_DEPTH} levels deep; write a long chain of ORs as x IN (…)"
_CLAUSES = {"expressions", "from_", "where", "group", "having", "order", "limit"}
_UNDERSTOOD = {
    *("this", "expression", "expressions", "alias", "quoted", "is_string", "to", "desc", "nulls_first"),
    *("ifs", "true", "default", "decimals"),
    "ignore_nulls",  # of GREATEST and LEAST, where the parser says it of DuckDB's own; other functions are refused
    *("typed", "safe", "big_int"),  # how dialects divide and count: here always in doubles, and in whole numbers
}


def refuse(what: str) -> QueryError:
    """A `QueryError` for something unsupported, with the list of what is supported."""
    return QueryError(f"{what} is not supported. {SUPPORTED}")


def parse(text: str) -> exp.Select:
    """Parse SQL in DuckDB's dialect into a single SELECT over a single table.

    Raises `QueryError` if the text is not SQL, holds more than one statement, or uses an unsupported clause.

    >>> parse("SELECT COUNT(*) FROM visits").sql()
    'SELECT COUNT(*) FROM visits'
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise QueryError(f"a query is SQL text, got {type(text).__name__}")
    if len(text) > _MAX_LENGTH:
        raise QueryError(f"the query is longer than {_MAX_LENGTH:,} characters")
    try:
        text.encode()
        statements = [s for s in sqlglot.parse(text, read="duckdb") if s is not None]
        for statement in statements:
            statement.sql()
            statement.sql(dialect="duckdb")
    except SqlglotError as error:
        raise QueryError(f"the query is not valid SQL: {_first_line(error)}. {SUPPORTED}") from None
    except UnicodeEncodeError:
        raise QueryError("the query is not Unicode text: it holds half of a surrogate pair") from None
    except RecursionError:
        raise QueryError(TOO_DEEP) from None
    except Exception as error:  # noqa: BLE001 (a function with arguments that the parser or the printer trips over)
        raise refuse(f"a function that cannot be read ({type(error).__name__} in the parser)") from None
    if len(statements) != 1:
        raise QueryError(f"give exactly one statement, got {len(statements)}. {SUPPORTED}")
    select = statements[0]
    if not isinstance(select, exp.Select):
        raise refuse(_statement_name(select))
    if sum(1 for _ in select.walk()) > _MAX_NODES:
        raise QueryError(f"the query is too large: it has more than {_MAX_NODES:,} parts")
    if _depth(select) > _MAX_DEPTH:
        raise QueryError(TOO_DEEP)
    _check_parameters(select)
    return select


def check_understood(select: exp.Select, *, distinct: bool = False) -> None:
    """Raise `QueryError` for a modifier that no pass reads: what is not understood is refused, never skipped.

    `distinct` says that the caller reads SELECT DISTINCT itself.
    """
    for node in select.walk():
        known = arguments_read(node)
        for name, value in node.args.items():
            if distinct and node is select and name == "distinct":
                continue
            if value and name not in _UNDERSTOOD and name not in _CLAUSES and name not in known:
                raise refuse(f"{name.rstrip('_').upper()} in {node.sql()}")


def _depth(tree: exp.Expr) -> int:
    depth, level = 0, [tree]
    while level:
        level = [child for node in level for child in node.iter_expressions()]
        depth += 1
    return depth


def _check_parameters(select: exp.Select) -> None:
    for node in select.walk():
        if isinstance(node, exp.Placeholder | exp.Parameter):
            raise refuse(f"a parameter ({node.sql()})")


def _first_line(error: SqlglotError) -> str:
    return str(error).splitlines()[0].replace("\x1b[4m", "").replace("\x1b[0m", "").rstrip(".")


def _statement_name(statement: exp.Expr) -> str:
    if isinstance(statement, exp.SetOperation):
        return type(statement).__name__.upper()
    return f"a {type(statement).__name__.upper()} statement"
