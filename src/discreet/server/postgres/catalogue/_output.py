"""Results with PostgreSQL's names and types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa

from discreet.errors import QueryError
from discreet.server.postgres.catalogue._database import ARROW
from discreet.server.postgres.catalogue._scopes import Item
from discreet.server.postgres.catalogue._types import held_as

__all__ = ["TYPE_KEY", "shaped", "shown_type"]

TYPE_KEY = b"pg_type"
"""Under which a field's metadata has PostgreSQL's name for the type of its values."""


def shaped(table: pa.Table, items: Sequence[Item], shown: Mapping[str, Callable[[int | None], str | None]]) -> pa.Table:
    """A result under the names and types of a query's columns; `shown` names objects by their numbers."""
    fields, columns = list[pa.Field](), list[pa.ChunkedArray]()
    for item, column in zip(items, table.columns, strict=True):
        kind = shown_type(item.type or _inferred(column.type))
        values = column
        if kind.removesuffix("[]") in shown and kind.endswith("[]"):
            name = shown[kind.removesuffix("[]")]
            named = [None if each is None else [name(number) for number in each] for each in column.to_pylist()]
            values = pa.chunked_array([pa.array(named, pa.list_(pa.string()))])
        elif kind in shown:
            values = pa.chunked_array([pa.array([shown[kind](each) for each in column.to_pylist()], pa.string())])
        elif (wanted := ARROW[held_as(kind)]) != column.type and kind != "numeric":
            try:
                values = column.cast(wanted)
            except pa.ArrowException:
                raise QueryError(f'column "{item.name}" has values that are not of type {kind}') from None
        fields.append(pa.field(item.name, values.type, metadata={TYPE_KEY: kind.encode()}))
        columns.append(values)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def shown_type(kind: str | None) -> str:
    """The type that a client is given for one that an expression has."""
    return {None: "text", "unknown": "text", "unknown[]": "text[]"}.get(kind, kind or "text")


def _inferred(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "boolean"
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return "bigint"
    if pa.types.is_floating(kind):
        return "double precision"
    return f"{_inferred(kind.value_type)}[]" if pa.types.is_list(kind) else "text"
