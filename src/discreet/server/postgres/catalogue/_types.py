"""PostgreSQL's types in the catalogue, and how the database in memory holds their values.

Types go by the names that `format_type` gives them. What names an object (oid, regclass, …) is held as a number, a
vector as a list, and what the catalogue has no use for (xid, inet, pg_node_tree, …) as text.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["NUMBERED", "REGISTERED", "TEXTS", "VECTORS", "canonical", "element", "held_as", "is_list"]

_HELD: Mapping[str, str] = {
    "smallint": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "numeric": "DECIMAL(38, 6)",
    "boolean": "BOOLEAN",
    "date": "DATE",
    "timestamp without time zone": "TIMESTAMP",
    "timestamp with time zone": "TIMESTAMPTZ",
    "interval": "VARCHAR",
    "oidvector": "BIGINT[]",
    "int2vector": "BIGINT[]",
}
REGISTERED = ("regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole", "regoper", "regoperator",
              "regcollation", "regconfig", "regdictionary")  # fmt: skip
"""Numbers of objects that are shown by the objects' names."""
NUMBERED = ("oid", *REGISTERED)
VECTORS = {"oidvector": "oid", "int2vector": "smallint"}
"""Arrays that count from 0, and are written with spaces."""
TEXTS = ("text", "name", '"char"', "character varying", "character")
_OTHER_NAMES = {
    "int2": "smallint",
    "int4": "integer",
    "int": "integer",
    "int8": "bigint",
    "float4": "real",
    "float8": "double precision",
    "float": "double precision",
    "double": "double precision",
    "decimal": "numeric",
    "bool": "boolean",
    "varchar": "character varying",
    "bpchar": "character",
    "char": "character",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "sql_identifier": "name",  # the domains of information_schema go by the types below them
    "character_data": "character varying",
    "cardinal_number": "integer",
    "yes_or_no": "character varying",
    "time_stamp": "timestamp with time zone",
}
_KNOWN = {
    *_HELD, *NUMBERED, *TEXTS, *_OTHER_NAMES.values(), "xid", "cid", "inet", "aclitem", "pg_node_tree", "anyarray",
    "pg_lsn", "json", "jsonb", "unknown", "bytea",
}  # fmt: skip


def canonical(name: str) -> str | None:
    """The name that `format_type` gives to a type; None for one that no catalogue query needs.

    >>> canonical("pg_catalog.int2[]"), canonical("_text"), canonical("geometry")
    ('smallint[]', 'text[]', None)
    """
    plain = name.strip().removeprefix("pg_catalog.").removeprefix("information_schema.")
    if plain.startswith("_") and "[" not in plain:
        plain = f"{plain[1:]}[]"
    base, dimensions = plain.removesuffix("[]"), "[]" if plain.endswith("[]") else ""
    base = _OTHER_NAMES.get(base, base)
    return f"{base}{dimensions}" if base in _KNOWN else None


def is_list(name: str | None) -> bool:
    """Whether values are held as lists."""
    return name is not None and (name.endswith("[]") or name in VECTORS)


def element(name: str | None) -> str | None:
    """The type of an array's elements; None if that is unknown."""
    if name is None:
        return None
    return VECTORS.get(name) or (name.removesuffix("[]") if name.endswith("[]") else None)


def held_as(name: str) -> str:
    """The type of DuckDB in which values of a type are held.

    >>> held_as("oid[]"), held_as("name"), held_as("int2vector")
    ('BIGINT[]', 'VARCHAR', 'BIGINT[]')
    """
    if name.endswith("[]"):
        return f"{held_as(name.removesuffix('[]'))}[]"
    return _HELD.get(name) or ("BIGINT" if name in NUMBERED else "VARCHAR")
