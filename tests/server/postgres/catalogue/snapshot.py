"""Write the rows that every PostgreSQL server has in its catalogue, as one sees them who owns nothing.

python tests/server/postgres/catalogue/snapshot.py
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import psycopg

sys.path.append(str(Path(__file__).parent))
from real_server import DATABASE, ROLE, real_server

TARGET = Path(__file__).parents[4] / "src/discreet/server/postgres/catalogue/builtin.jsonl.gz"
ROWS = {
    "information_schema": (
        "character_sets collation_character_set_applicability collations columns domain_constraints domains "
        "enabled_roles information_schema_catalog_name key_column_usage schemata sql_features "
        "sql_implementation_info sql_sizing table_privileges tables usage_privileges views"
    ),
    "pg_catalog": (
        "pg_aggregate pg_am pg_attribute pg_auth_members pg_available_extensions pg_cast pg_class pg_collation "
        "pg_constraint pg_conversion pg_database pg_depend pg_description pg_extension pg_group pg_index pg_indexes "
        "pg_language "
        "pg_namespace pg_opclass pg_operator pg_opfamily pg_proc pg_range pg_roles pg_settings pg_tables "
        "pg_tablespace pg_ts_config pg_ts_dict pg_ts_parser pg_ts_template pg_type pg_user pg_views"
    ),
}
"""The relations whose rows are taken; of all others the columns alone."""
SOME = {"pg_depend": "WHERE deptype = 'e'"}
"""What belongs to an extension; all else depends on what no client asks."""
LEFT_OUT = {
    "pg_proc": ["prosrc", "probin", "prosqlbody"],
    "pg_views": ["definition"],
    "pg_settings": ["short_desc", "extra_desc"],
    "pg_class": ["relfrozenxid", "relminmxid"],
    "pg_database": ["datfrozenxid", "datminmxid"],
}
"""Columns that are null here: long, or of that server alone."""
TEXTS = {
    "function_texts": (
        "SELECT oid::int8 AS oid, pg_get_function_arguments(oid) AS arguments, "
        "pg_get_function_identity_arguments(oid) AS identity_arguments, pg_get_function_result(oid) AS result "
        "FROM pg_proc WHERE oid < 16384 ORDER BY oid"
    ),
    "index_texts": "SELECT indexrelid::int8 AS oid, pg_get_indexdef(indexrelid) AS definition FROM pg_index ORDER BY 1",
    "constraint_texts": (
        "SELECT oid::int8 AS oid, pg_get_constraintdef(oid) AS definition FROM pg_constraint ORDER BY 1"
    ),
    "keywords": "SELECT word::text, catcode::text, barelabel, catdesc, baredesc FROM pg_get_keywords() ORDER BY 1",
    "settings": "SELECT name, current_setting(name) AS shown FROM pg_settings ORDER BY name",
}
"""What functions of PostgreSQL say of built-in objects."""
MARKS = {DATABASE: "$database", ROLE: "$role"}
"""Words that stand for names which differ."""
NUMBERS = ("oid", "regproc", "regtype", "regclass", "regnamespace", "regoper", "regoperator")


def write(target: Path) -> None:
    """Write the snapshot of a new server."""
    with real_server(None) as connection:
        lines = [json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in read(connection)]
    with (
        target.open("wb") as file,
        gzip.GzipFile(fileobj=file, mode="wb", compresslevel=9, mtime=0, filename="") as out,
    ):
        out.write("\n".join(lines).encode())


def read(connection: psycopg.Connection) -> list[dict[str, Any]]:
    """Every relation of the catalogue: its schema, name, number and columns, and perhaps its rows."""
    relations = connection.execute(
        "SELECT nspname, relname, c.oid::int8, array_agg(attname::text ORDER BY attnum), "
        "array_agg(format_type(atttypid, NULL) ORDER BY attnum) FROM pg_class c JOIN pg_namespace n "
        "ON n.oid = relnamespace JOIN pg_attribute ON attrelid = c.oid AND attnum > 0 "
        "WHERE nspname IN ('pg_catalog', 'information_schema') AND relkind IN ('r', 'v') "
        "AND has_any_column_privilege(c.oid, 'SELECT') GROUP BY 1, 2, 3 ORDER BY 1, 2"
    ).fetchall()
    known = [_relation(connection, *relation) for relation in relations]
    for name, query in TEXTS.items():
        cursor = connection.execute(query)
        assert cursor.description is not None
        columns = [
            [each.name, {20: "bigint", 16: "boolean"}.get(each.type_code, "text")] for each in cursor.description
        ]
        known.append({"schema": "texts", "name": name, "oid": 0, "columns": columns, "rows": cursor.fetchall()})
    return known


def _relation(
    connection: psycopg.Connection, schema: str, name: str, oid: int, columns: list[str], types: list[str]
) -> dict[str, Any]:
    rows: list[Any] = []
    if name in ROWS[schema].split():
        shown = [_shown(name, column, kind) for column, kind in zip(columns, types, strict=True)]
        order = "ORDER BY name" if name == "pg_settings" else "ORDER BY 1, 2" if len(columns) > 1 else ""
        if name in ("pg_proc", "pg_type", "pg_class", "pg_constraint"):
            order = "ORDER BY oid"
        rows = connection.execute(
            f'SELECT {", ".join(shown)} FROM {schema}."{name}" {SOME.get(name, "")} {order}'
        ).fetchall()
        rows = [[MARKS.get(value, value) if isinstance(value, str) else value for value in row] for row in rows]
    pairs = [list(pair) for pair in zip(columns, types, strict=True)]
    return {"schema": schema, "name": name, "oid": oid, "columns": pairs, "rows": rows}


def _shown(name: str, column: str, kind: str) -> str:
    """How a column is read, as JSON has it: numbers of objects as numbers, other types of PostgreSQL's as texts."""
    quoted = f'"{column}"'
    if column in LEFT_OUT.get(name, ()):
        return "NULL"
    if column == "proargdefaults":
        return f"pg_get_expr({quoted}, 0)"
    if kind in ("boolean", "smallint", "integer", "bigint", "real", "double precision", "text"):
        return quoted
    if kind in NUMBERS:
        return f"{quoted}::oid::int8"
    if kind in ("oidvector", "int2vector"):
        return f"string_to_array({quoted}::text, ' ')::int8[]"
    if kind.endswith("[]"):
        base = kind.removesuffix("[]")
        return f"{quoted}::{'int8[]' if base in (*NUMBERS, 'smallint', 'integer') else 'text[]'}"
    if kind.startswith("information_schema."):
        return f"{quoted}::{'int8' if kind.endswith('cardinal_number') else 'text'}"
    return f"{quoted}::text"


if __name__ == "__main__":
    write(TARGET)
    print(f"{TARGET.name}: {TARGET.stat().st_size:,} bytes")
