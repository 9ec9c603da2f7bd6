"""The functions that a catalogue query may call: an allow-list.

Some are DuckDB's own, which read their arguments alone. Others are PostgreSQL's, answered by `Lookups`: they are
registered in the database under names of their own, one for each number of arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb

from discreet.server.postgres.catalogue._lookups import Lookups
from discreet.server.postgres.catalogue._types import held_as

__all__ = ["CONSTANTS", "HELD", "LOOKED_UP", "NATIVE", "NULLS", "Native", "lookup_name", "register"]

FIRST = "the type of the first argument"
LEAST = "the type of the first argument, and text for all kinds of text"
LIST = "an array of the first argument"
ELEMENT = "an element of the first argument"


@dataclass(frozen=True, slots=True)
class Native:
    """A function of DuckDB's that means the same: its name there, its type, how many arguments it takes."""

    name: str
    type: str
    least: int = 1
    most: int = 1


NATIVE: Mapping[str, Native] = {
    "abs": Native("abs", FIRST),
    "array_agg": Native("array_agg", LIST),
    "array_length": Native("array_length", "integer", 2, 2),
    "array_position": Native("list_position", "integer", 2, 2),
    "avg": Native("avg", "double precision"),
    "bool_and": Native("bool_and", "boolean"),
    "bool_or": Native("bool_or", "boolean"),
    "btrim": Native("trim", "text", 1, 2),
    "cardinality": Native("len", "integer"),
    "char_length": Native("length", "integer"),
    "coalesce": Native("coalesce", FIRST, 1, 16),
    "concat": Native("concat", "text", 1, 16),
    "concat_ws": Native("concat_ws", "text", 2, 16),
    "count": Native("count", "bigint"),
    "dense_rank": Native("dense_rank", "bigint", 0, 0),
    "every": Native("bool_and", "boolean"),
    "greatest": Native("greatest", FIRST, 1, 16),
    "least": Native("least", FIRST, 1, 16),
    "left": Native("left", "text", 2, 2),
    "length": Native("length", "integer"),
    "lower": Native("lower", "text"),
    "ltrim": Native("ltrim", "text", 1, 2),
    "max": Native("max", LEAST),
    "min": Native("min", LEAST),
    "nullif": Native("nullif", FIRST, 2, 2),
    "rank": Native("rank", "bigint", 0, 0),
    "right": Native("right", "text", 2, 2),
    "row_number": Native("row_number", "bigint", 0, 0),
    "rtrim": Native("rtrim", "text", 1, 2),
    "split_part": Native("split_part", "text", 3, 3),
    "starts_with": Native("starts_with", "boolean", 2, 2),
    "string_to_array": Native("string_split", "text[]", 2, 2),
    "string_agg": Native("string_agg", "text", 2, 2),
    "strpos": Native("strpos", "integer", 2, 2),
    "substr": Native("substr", "text", 2, 3),
    "substring": Native("substr", "text", 2, 3),
    "sum": Native("sum", "bigint"),
    "unnest": Native("unnest", ELEMENT),
    "upper": Native("upper", "text"),
}

_ZERO = ("bigint", 0)
CONSTANTS: Mapping[str, tuple[str, Any]] = {
    "getdatabaseencoding": ("name", "UTF8"),
    "inet_client_addr": ("inet", None),
    "inet_client_port": ("integer", None),
    "inet_server_addr": ("inet", None),
    "inet_server_port": ("integer", None),
    "pg_advisory_unlock_all": ("text", ""),
    "pg_backend_pid": ("integer", 0),
    "pg_client_encoding": ("name", "UTF8"),
    "pg_database_size": _ZERO,
    "pg_indexes_size": _ZERO,
    "pg_is_in_recovery": ("boolean", False),
    "pg_is_other_temp_schema": ("boolean", False),
    "pg_my_temp_schema": ("oid", 0),
    "pg_relation_is_publishable": ("boolean", False),
    "pg_tablespace_location": ("text", ""),
    "pg_tablespace_size": _ZERO,
    "pg_total_relation_size": _ZERO,
}
"""Functions with one answer for all arguments, with its type. Sizes are none: tables look empty."""
NULLS: Mapping[str, str] = {
    "pg_get_function_sqlbody": "text",
    "pg_get_functiondef": "text",
    "pg_get_partition_constraintdef": "text",
    "pg_get_partkeydef": "text",
    "pg_get_ruledef": "text",
    "pg_get_serial_sequence": "text",
    "pg_get_statisticsobjdef": "text",
    "pg_get_statisticsobjdef_columns": "text",
    "pg_get_triggerdef": "text",
    "pg_get_viewdef": "text",
    "pg_sequence_last_value": "bigint",
    "pg_stat_get_numscans": "bigint",
}
"""Functions of objects that a policy does not have."""
_VISIBLE = ("collation", "conversion", "opclass", "operator", "opfamily", "ts_config", "ts_dict", "ts_parser",
            "ts_template", "statistics_obj")  # fmt: skip
_OID, _TEXT = "oid", "text"
LOOKED_UP: Mapping[str, tuple[str, tuple[tuple[str, ...], ...]]] = {
    "array_out": ("text", (("text[]",),)),
    "array_to_string": ("text", (("text[]", _TEXT), ("text[]", _TEXT, _TEXT))),
    "col_description": ("text", ((_OID, "bigint"),)),
    "format_type": ("text", ((_OID, "bigint"),)),
    "format_values": ("text", ((_TEXT, "text[]"),)),
    "holds": ("boolean", ((_TEXT, _TEXT),)),
    "number_out": ("text", ((_OID,),)),
    "obj_description": ("text", ((_OID, _TEXT),)),
    "pg_char_to_encoding": ("integer", ((_TEXT,),)),
    "pg_encoding_to_char": ("name", (("bigint",),)),
    "pg_function_is_visible": ("boolean", ((_OID,),)),
    "pg_get_constraintdef": ("text", ((_OID,), (_OID, "boolean"))),
    "pg_get_function_arguments": ("text", ((_OID,),)),
    "pg_get_function_identity_arguments": ("text", ((_OID,),)),
    "pg_get_function_result": ("text", ((_OID,),)),
    "pg_get_indexdef": ("text", ((_OID,), (_OID, "bigint", "boolean"))),
    "pg_get_userbyid": ("name", ((_OID,),)),
    "pg_size_pretty": ("text", (("bigint",),)),
    "pg_relation_size": ("bigint", ((_OID,),)),
    "pg_table_is_visible": ("boolean", ((_OID,),)),
    "pg_table_size": ("bigint", ((_OID,),)),
    "pg_type_is_visible": ("boolean", ((_OID,),)),
    "quote_ident": ("text", ((_TEXT,),)),
    "quote_literal": ("text", ((_TEXT,),)),
    "readable": ("boolean", ((_OID, _TEXT),)),
    "regclass_in": ("regclass", ((_TEXT,),)),
    "regclass_out": ("text", ((_OID,),)),
    "regnamespace_in": ("regnamespace", ((_TEXT,),)),
    "regnamespace_out": ("text", ((_OID,),)),
    "regproc_in": ("regproc", ((_TEXT,),)),
    "regproc_out": ("text", ((_OID,),)),
    "regtype_in": ("regtype", ((_TEXT,),)),
    "regtype_out": ("text", ((_OID,),)),
    "setting": ("text", ((_TEXT,),)),
    "shobj_description": ("text", ((_OID, _TEXT),)),
    "to_regclass": ("regclass", ((_TEXT,),)),
    "to_regproc": ("regproc", ((_TEXT,),)),
    "to_regtype": ("regtype", ((_TEXT,),)),
    **{f"pg_{kind}_is_visible": ("boolean", ((_OID,),)) for kind in _VISIBLE},
}
"""PostgreSQL's functions, with the types of their answers and of their arguments, for each number of these.

Those that hold, read or write values (holds, array_out, regclass_in, …) are called by other spellings alone.
"""
HELD: Mapping[str, str] = {
    "has_any_column_privilege": "SELECT",
    "has_column_privilege": "SELECT",
    "has_database_privilege": "CONNECT,TEMPORARY,TEMP",
    "has_foreign_data_wrapper_privilege": "",
    "has_function_privilege": "EXECUTE",
    "has_language_privilege": "USAGE",
    "has_schema_privilege": "USAGE",
    "has_sequence_privilege": "",
    "has_server_privilege": "",
    "has_table_privilege": "SELECT",
    "has_tablespace_privilege": "",
    "has_type_privilege": "USAGE",
}
"""The privileges that everybody has, by the function that asks for them."""


def lookup_name(name: str, arguments: int) -> str:
    """What a function of `LOOKED_UP` is registered as.

    >>> lookup_name("pg_get_indexdef", 1)
    'lookup_pg_get_indexdef_1'
    """
    return f"lookup_{name}_{arguments}"


def register(connection: duckdb.DuckDBPyConnection, lookups: Lookups) -> None:
    """Register the functions of `LOOKED_UP` in a database."""
    methods: dict[str, Callable[..., Any]] = {
        "format_values": lookups.format,
        "pg_relation_size": lookups.pg_table_size,
        "quote_ident": lookups.quoted_name,
        "shobj_description": lookups.obj_description,
        **{f"pg_{kind}_is_visible": partial(lookups.is_visible, kind) for kind in _VISIBLE},
        **{
            f"pg_get_function_{part}": partial(lookups.signature, part)
            for part in ("arguments", "identity_arguments", "result")
        },
    }
    for name, (result, overloads) in LOOKED_UP.items():
        method = methods.get(name) or getattr(lookups, name)
        for types in overloads:
            connection.create_function(
                lookup_name(name, len(types)),
                _positional(method, len(types)),
                [duckdb.sqltype(held_as(each)) for each in types],
                duckdb.sqltype(held_as(result)),
                null_handling="special",  # pyright: ignore[reportArgumentType, reportCallIssue]
            )


def _positional(method: Callable[..., Any], arguments: int) -> Callable[..., Any]:
    """DuckDB counts the parameters of what it calls, which are fewer than the method's where it has defaults."""

    def one(first: Any) -> Any:
        return method(first)

    def two(first: Any, second: Any) -> Any:
        return method(first, second)

    def three(first: Any, second: Any, third: Any) -> Any:
        return method(first, second, third)

    return (one, two, three)[arguments - 1]
