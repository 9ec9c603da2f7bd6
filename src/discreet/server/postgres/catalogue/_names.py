"""The names that PostgreSQL gives to columns without an alias (FigureColname in its parser)."""

from __future__ import annotations

from sqlglot import exp

from discreet.server.postgres.catalogue._calls import function_name

__all__ = ["output_name"]

_INTERNAL = {
    "SMALLINT": "int2", "INT": "int4", "BIGINT": "int8", "BOOLEAN": "bool", "DOUBLE": "float8", "FLOAT": "float4",
    "DECIMAL": "numeric", "TIMESTAMP": "timestamp", "TIMESTAMPTZ": "timestamptz", "REAL": "float4",
}  # fmt: skip
_KEYWORDS: dict[type[exp.Expr], str] = {
    exp.Array: "array", exp.Exists: "exists", exp.CurrentSchema: "current_schema", exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user", exp.CurrentCatalog: "current_catalog", exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp", exp.Substring: "substring", exp.StrPosition: "position",
    exp.CurrentRole: "current_role", exp.CurrentDatabase: "current_database",
}  # fmt: skip
_UNNAMED = "?column?"


def output_name(node: exp.Expr) -> str:
    """The name of a column of a result.

    >>> import sqlglot
    >>> [output_name(each) for each in sqlglot.parse_one("SELECT a.b, CAST(1 AS INT), 1 + 1").expressions]
    ['b', 'int4', '?column?']
    """
    return _strength(node)[1]


def _strength(node: exp.Expr) -> tuple[int, str]:
    """How much a name counts against that of a cast or of CASE, and the name."""
    match node:
        case exp.Column():
            return 2, node.name
        case exp.Alias():
            return 2, node.alias
        case exp.Paren() | exp.Collate() | exp.Bracket() | exp.Filter() | exp.Window():
            return _strength(node.this)
        case exp.Cast():
            strength, name = _strength(node.this)
            return (2, name) if strength == 2 else (1, _type(node.args["to"]))
        case exp.Case():
            default = node.args.get("default")
            strength, name = _strength(default) if default is not None else (0, "")
            return (strength, name) if strength == 2 else (1, "case")
        case exp.Subquery() | exp.Select() | exp.SetOperation():
            query: exp.Expr = node
            while isinstance(query, exp.Subquery | exp.SetOperation):
                query = query.this
            return _strength(query.expressions[0]) if query.expressions else (0, _UNNAMED)
        case exp.Dot():
            return 2, function_name(node) or node.expression.name
        case exp.Anonymous():
            return 2, node.name.lower()
        case exp.Trim():
            return 2, {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position") or ""), "btrim")
        case _:
            name = _KEYWORDS.get(type(node))
            return (2, name) if name else (0, _UNNAMED)


def _type(node: exp.Expr) -> str:
    written = node.sql(dialect="postgres").removeprefix("pg_catalog.").replace('"', "")
    plain = written.removesuffix("[]")
    name = _INTERNAL.get(plain.upper(), plain.lower().rpartition(".")[2])
    return name.partition("(")[0]
