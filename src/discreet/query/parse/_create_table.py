"""CREATE TABLE: names and declared types of columns, in any dialect that sqlglot reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sqlglot import Dialect, ErrorLevel, exp

from discreet.errors import ParameterError
from discreet.policy import ColumnType
from discreet.query.parse._parser import unlogged

__all__ = ["created_tables", "type_in_policy"]

_DIALECTS = ("", "postgres", "duckdb", "mysql", "tsql", "oracle", "snowflake", "bigquery", "spark", "sqlite")
_LONGEST = 2**20
_LONGEST_STATEMENT = 2**16
_TOKEN = re.compile(
    r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]\n]*\]|--[^\n]*|/\*.*?\*/|[();]|\bCREATE\b|.""",
    re.DOTALL | re.IGNORECASE,
)
_HEAD = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:GLOBAL|LOCAL|TEMP|TEMPORARY|TRANSIENT|UNLOGGED|EXTERNAL|FOREIGN)\s+)*TABLE\b",
    re.IGNORECASE,
)
_TYPES: Mapping[str, ColumnType] = {
    **dict.fromkeys(("BOOLEAN", "BIT"), "bool"),
    **dict.fromkeys(("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "INT128", "INT256", "YEAR"), "int"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UMEDIUMINT", "UINT", "UBIGINT", "UINT128", "UINT256"), "int"),
    **dict.fromkeys(("SMALLSERIAL", "SERIAL", "BIGSERIAL"), "int"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "UDOUBLE", "DECFLOAT"), "float"),
    **dict.fromkeys(("DECIMAL", "DECIMAL32", "DECIMAL64", "DECIMAL128", "DECIMAL256", "UDECIMAL"), "decimal"),
    **dict.fromkeys(("BIGDECIMAL", "MONEY", "SMALLMONEY"), "decimal"),
    **dict.fromkeys(("CHAR", "NCHAR", "BPCHAR", "VARCHAR", "NVARCHAR", "FIXEDSTRING", "NAME"), "string"),
    **dict.fromkeys(("TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "ENUM", "ENUM8", "ENUM16", "UUID"), "string"),
    **dict.fromkeys(("DATE", "DATE32"), "date"),
    **dict.fromkeys(("DATETIME", "DATETIME2", "DATETIME64", "SMALLDATETIME", "TIMESTAMP"), "timestamp"),
    **dict.fromkeys(("TIMESTAMPNTZ", "TIMESTAMPLTZ", "TIMESTAMPTZ"), "timestamp"),
    **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
}
_WHOLE_DIGITS = 18
"""As many as every whole number of 64 bits has."""


def created_tables(text: str) -> dict[str, dict[str, ColumnType | None]]:
    """From each CREATE TABLE of a text its name, without a schema, and the types of its columns as a policy has them.

    A type is None where policies have no such type. What follows the list of columns, and every other statement, is
    not looked at. Raises `ParameterError` for a text without such a statement, or with one that no dialect reads.

    >>> created_tables("CREATE TABLE shop.orders (id BIGINT NOT NULL, paid NUMERIC(9, 2), tags JSON);")
    {'orders': {'id': 'int', 'paid': 'decimal', 'tags': None}}
    """
    if len(text) > _LONGEST:
        raise ParameterError(f"the SQL text is longer than {_LONGEST:,} characters; give its CREATE TABLE statements")
    tables: dict[str, dict[str, ColumnType | None]] = {}
    with unlogged():
        for line, statement in _statements(text):
            parsed = _read(statement)
            if parsed is None:
                raise ParameterError(
                    f"the CREATE TABLE in line {line} of the SQL text cannot be read; write it as "
                    "CREATE TABLE name (column type, …)"
                )
            name, columns = parsed
            if name.casefold() in (known.casefold() for known in tables):
                raise ParameterError(f"the SQL text creates the table {name} twice; leave one of them out")
            tables[name] = columns
    if not tables:
        raise ParameterError("the SQL text has no CREATE TABLE with a list of columns; give one for each table")
    return tables


def type_in_policy(text: str) -> ColumnType | None:
    """The type of a policy for a type of SQL; None where policies have no such type, and for what is none.

    >>> type_in_policy("varchar(20)"), type_in_policy("int"), type_in_policy("string"), type_in_policy("blob")
    ('string', 'int', 'string', None)
    """
    if not re.fullmatch(r"[^(),;]+(\([^();]*\)[^(),;]*)?", text):
        return None
    with unlogged():
        parsed = _read(f"CREATE TABLE t (x {text})")
    return parsed[1].get("x") if parsed is not None and len(parsed[1]) == 1 else None


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each CREATE TABLE up to the end of its list of columns, without comments, and the line where it begins."""
    parts: list[str] = []
    line, depth = 0, -1
    for match in _TOKEN.finditer(text):
        piece = match[0]
        if depth < 0:
            if piece.upper() == "CREATE" and _HEAD.match(text, match.start()):
                parts, line, depth = [piece], text.count("\n", 0, match.start()) + 1, 0
            continue
        if piece.startswith(("--", "/*")):
            piece = " "
        parts.append(piece)
        depth += (piece == "(") - (piece == ")")
        if piece == ";" and depth == 0:  # CREATE TABLE … AS SELECT: its types are declared nowhere
            depth = -1
        elif piece == ")" and depth == 0:
            yield line, "".join(parts)
            depth = -1


def _read(statement: str) -> tuple[str, dict[str, ColumnType | None]] | None:
    """The table of a statement, in the dialect that knows most of its types; None if no dialect reads it."""
    best: tuple[str, dict[str, ColumnType | None]] | None = None
    fewest = len(statement)
    for dialect in _DIALECTS if len(statement) <= _LONGEST_STATEMENT else ():
        parsed = _read_as(statement, Dialect.get_or_raise(dialect or None))
        if parsed is not None and (unknown := sum(kind is None for kind in parsed[1].values())) < fewest:
            best, fewest = parsed, unknown
    return best


def _read_as(statement: str, dialect: Dialect) -> tuple[str, dict[str, ColumnType | None]] | None:
    try:
        trees = dialect.parse(statement, error_level=ErrorLevel.RAISE)
    except Exception:  # noqa: BLE001 - in a dialect that a text is not of, the parser may raise anything
        return None
    tree: Any = trees[0] if len(trees) == 1 else None
    schema = tree.this if isinstance(tree, exp.Create) else None
    if not isinstance(schema, exp.Schema) or not isinstance(schema.this, exp.Table):
        return None
    columns: dict[str, ColumnType | None] = {}
    for node in schema.expressions:
        if isinstance(node, exp.ColumnDef):
            columns[node.name] = _type(node.args.get("kind"))
        elif isinstance(node, exp.Identifier):  # SQLite needs no type
            columns[node.name] = None
    return (schema.this.name, columns) if columns else None


def _type(kind: object) -> ColumnType | None:
    if not isinstance(kind, exp.DataType) or not isinstance(kind.this, exp.DType):
        return None
    known = _TYPES.get(kind.this.name)
    if known == "decimal" and kind.expressions:
        digits, *scale = (part.name for part in kind.expressions)
        if scale == ["0"] or (not scale and digits.isdecimal() and int(digits) <= _WHOLE_DIGITS):
            return "int"
    return known
