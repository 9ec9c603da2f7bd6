"""DuckDB's SQL dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from discreet.engines.duckdb._functions import RENDERINGS
from discreet.engines.duckdb._functions_dates import in_calendar
from discreet.engines.duckdb._once import among, between, null_where
from discreet.engines.sql import Dialect, Rendering, StoredColumn
from discreet.policy import ColumnType
from discreet.query import Limited

__all__ = ["DIALECT", "declared_as", "identifier", "link_family", "text"]

_TYPES: Mapping[str, str] = {
    "bool": "BOOLEAN",
    "int": "BIGINT",
    "float": "DOUBLE",
    "decimal": "DOUBLE",
    "string": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
_INTEGERS = {
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"),
}
_TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS")
_FIRST_TIME = "CAST('290309-12-22 (BC) 00:00:00' AS TIMESTAMP)"
_MASK = 62
"""Up to this many public keys, the groups of one person fit a bit mask in a signed 64-bit integer."""


class _DuckDB(Dialect):
    @property
    def renderings(self) -> Mapping[str, Rendering]:
        return RENDERINGS

    def clean(self, stored: StoredColumn, kind: ColumnType) -> str:
        wanted, name = _TYPES[kind], stored.sql
        if stored.type == "TIMESTAMPTZ_NS":  # which casts to nothing else
            name = f"TRY_CAST({name} AS TIMESTAMPTZ)"
        if wanted == "VARCHAR":
            return name if stored.type == wanted else _text_of(name, stored)
        value = name if stored.type == wanted else f"TRY_CAST({name} AS {wanted})"
        if wanted == "DOUBLE":
            signed = stored.type.partition("(")[0] not in (*_INTEGERS, "BOOLEAN", "DECIMAL")
            return f"NULLIF({self.one_zero(value) if signed else value}, CAST('NaN' AS DOUBLE))"
        if wanted in ("DATE", "TIMESTAMP"):
            return in_calendar(value, wanted)
        return value

    def person(self, stored: StoredColumn) -> str:
        if stored.type not in ("FLOAT", "DOUBLE"):
            return stored.sql
        return f"NULLIF({stored.sql} + CAST(0 AS {stored.type}), CAST('NaN' AS {stored.type}))"

    def person_text(self, stored: StoredColumn) -> str:
        return _text_of(self.person(stored), stored)

    def is_integer(self, stored: StoredColumn) -> bool:
        return stored.type in _INTEGERS

    def is_text(self, stored: StoredColumn) -> bool:
        return stored.type == "VARCHAR"

    def octets(self, text: str) -> str:
        return f"strlen({text})"

    def digest(self, text: str) -> str:
        return f"sha256({text})"

    def integer_link(self, stored: StoredColumn) -> str:
        return f"TRY_CAST({stored.sql} AS HUGEINT)"

    def to_integer(self, number: str, kind: str = "BIGINT") -> str:
        return f"TRY_CAST({number} AS {kind})"

    def number(self, sql: str) -> str:
        return f"TRY_CAST({sql} AS DOUBLE)"

    def null_if(self, value: str, other: str) -> str:
        return null_where(value, other)

    def between(self, value: str, low: str, high: str) -> str:
        return between(value, low, high)

    def one_of(self, value: str, items: list[str], *, nullable: bool) -> str:
        return among(value, items, nullable=nullable)

    def start(self, salt: int, count: str) -> str:
        return f"CAST(hash({salt}, u) % CAST({count} AS UBIGINT) AS BIGINT)"

    def row_order(self, rows: str) -> str:
        return f"hash({rows}), {rows}"

    def row_hash(self, rows: str) -> str:
        return f"hash({rows}, 1)"

    def owner_hash(self, owner: str) -> str:
        return f"hash({owner}, 1)"

    def modulo(self, hashed: str, count: int) -> str:
        return f"{hashed} % {count}"

    def among(self, rows: str, others: str, on: str) -> str:
        return f"{rows} SEMI JOIN {others} ON {on}"

    def fewest(self, rows: str, among: str, owner: str, octets: str, limited: Limited) -> str:
        """Those whose hash begins as that of the last of them, or lower; of alike rows one is held, with their number.

        What all rows of an owner have is counted for each of the 65,536 beginnings of a hash, and put in order; a
        window over the rows would hold them.
        """
        begin = f"hash({rows}) >> 48"
        counted = f"SELECT {owner} AS o, {begin} AS b, count(*) AS n, sum({octets}) AS s FROM {among} GROUP BY ALL"
        window = "OVER (PARTITION BY o ORDER BY b ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
        before = f"SELECT o, b, sum(n) {window} - n AS n, sum(s) {window} - s AS s FROM ({counted})"
        last = f"SELECT o, max(b) AS b FROM ({before}) WHERE n < {limited.rows} AND s <= {limited.size} GROUP BY o"
        alike = f"SELECT {rows} AS r, count(*) AS n, max({octets}) AS s FROM {rows} JOIN ({last}) ON {owner} = o"
        copies = f"least(n, {limited.rows}, {limited.size} // greatest(s, 1) + 1)"
        each = f"SELECT r, unnest(range({copies})) FROM ({alike} WHERE {begin} <= b GROUP BY r)"
        return f"(SELECT unnest(r) FROM ({each})) AS {rows}"

    def semi_join(self, rows: str, others: str, on: str, *, missing: bool) -> str:
        """As a join of its own: EXISTS with more than equalities would pair all rows first."""
        return f"SELECT * FROM ({rows}) {'ANTI' if missing else 'SEMI'} JOIN ({others}) ON {on}"

    def apart(self, rows: str, others: str, on: str) -> str:
        return f"{rows} ANTI JOIN {others} ON {on}"

    def step(self, name: str, sql: str, *, keep: bool) -> str:
        return f"{name} AS {'' if keep else 'NOT '}MATERIALIZED ({sql})"

    def public_text(self, value: str, known: Sequence[str]) -> str:
        """An enumeration, which is a byte or two to group and hash."""
        return f"TRY_CAST({value} AS ENUM({', '.join(map(self.text, known))}))"

    def groups_seen(self, keys: int) -> str | None:
        """The bits of a mask."""
        return "bit_count(bit_or(CAST(1 AS BIGINT) << CAST(enum_code(k0) AS BIGINT)))" if keys <= _MASK else None


DIALECT = _DuckDB()
identifier = DIALECT.identifier
text = DIALECT.text


def declared_as(stored: str) -> ColumnType | None:
    """What a policy calls a stored type of whole numbers or texts; None for others."""
    kind = stored.partition("(")[0]
    return "int" if kind in _INTEGERS else "string" if kind in ("VARCHAR", "ENUM") else None


def link_family(stored: str) -> str:
    """Stored types whose equal values have equal texts: whole numbers and texts, or fractions, or one type alone."""
    kind = stored.partition("(")[0]
    if kind in _INTEGERS or kind in ("VARCHAR", "ENUM", "UUID"):
        return "texts"
    return "fractions" if kind in ("FLOAT", "DOUBLE") else stored


def _text_of(value: str, stored: StoredColumn) -> str:
    """A stored value as text; null for a time before DuckDB's calendar, of which the text stops a query.

    Such a time is computed away before the cast, not avoided by CASE: DuckDB may cast all of a dictionary, whichever
    of it is asked for.
    """
    if stored.type not in _TIMES:
        return f"TRY_CAST({value} AS VARCHAR)"
    time = value if stored.type == "TIMESTAMP" else f"TRY_CAST({value} AS TIMESTAMP)"
    return f"CAST(nullif(greatest({time}, {_FIRST_TIME}), {_FIRST_TIME}) AS VARCHAR)"
