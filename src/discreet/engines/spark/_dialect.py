"""Spark's SQL dialect, in a session with the settings of `PrivateSession`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from discreet.engines.spark._functions import RENDERINGS
from discreet.engines.spark._readings import let, read_as, text_of, to_integer
from discreet.engines.sql import Dialect, Rendering, StoredColumn
from discreet.policy import ColumnType

__all__ = ["DIALECT", "declared_as", "link_family"]

_TYPES: Mapping[ColumnType, str] = {
    "bool": "BOOLEAN",
    "int": "BIGINT",
    "float": "DOUBLE",
    "decimal": "DOUBLE",
    "string": "STRING",
    "date": "DATE",
    "timestamp": "TIMESTAMP_NTZ",
}
_INTEGERS = {"tinyint", "smallint", "int", "bigint"}
_ROWS = 40
"""Sums are exact up to 2^40 rows, which is more than 10^12, and far beyond."""
_HALF = 2**37
"""Below this, a double times two is a BIGINT, and nudging it by 2^-41 of itself moves no whole number by a half."""


class _Spark(Dialect):
    types: ClassVar[Mapping[str, str]] = {
        "HUGEINT": "DECIMAL(38,0)", "VARCHAR": "STRING", "TIMESTAMP": "TIMESTAMP_NTZ", "TIMESTAMPNTZ": "TIMESTAMP_NTZ",
        "INTEGER": "INT",
    }  # fmt: skip
    filters_groups = False
    compares_first = False
    recomputes = True

    @property
    def renderings(self) -> Mapping[str, Rendering]:
        return RENDERINGS

    def identifier(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def text(self, value: str) -> str:
        """A literal in ASCII alone, so that no part of the way to Spark can read it otherwise."""
        return "'" + "".join(map(_written, value)) + "'"

    def clean(self, stored: StoredColumn, kind: ColumnType) -> str:
        return read_as(self, stored, _TYPES[kind])

    def person(self, stored: StoredColumn) -> str:
        if stored.type not in ("float", "double"):
            return stored.sql
        return f"nanvl({stored.sql} + CAST(0 AS {stored.type}), CAST(NULL AS {stored.type}))"

    def person_text(self, stored: StoredColumn) -> str:
        return text_of(self.person(stored), stored)

    def is_integer(self, stored: StoredColumn) -> bool:
        return stored.type in _INTEGERS

    def is_text(self, stored: StoredColumn) -> bool:
        return stored.type == "string"

    def digest(self, text: str) -> str:
        return f"sha2(CAST({text} AS BINARY), 256)"

    def integer_link(self, stored: StoredColumn) -> str:
        return f"CAST({stored.sql} AS BIGINT)"

    def to_integer(self, number: str, kind: str = "BIGINT") -> str:
        return to_integer(number, self.type(kind))

    def number(self, sql: str) -> str:
        return f"try_cast(CAST({sql} AS STRING) AS DOUBLE)"

    def on_grid(self, number: str, step: Fraction, low: int, high: int) -> str:
        """Twice a number, cut, and halved again has the halves of the number; a nudge then rounds them outwards.

        Spark's own `round` makes a decimal of every row.
        """
        if max(-low, high) > _HALF:
            return super().on_grid(number, step, low, high)
        inside = f"greatest(least({self.scaled(number, step)}, {self.double(high)}), {self.double(low)})"
        doubled = f"CAST(CAST({inside} * {self.double(2)} AS BIGINT) AS DOUBLE)"
        return f"rint({doubled} * {self.double(Fraction(1, 2) + Fraction(1, 2**41))})"

    def sum(self, integer: str, limits: tuple[int, int] | None, filtered: str = "") -> str:
        """One sum in 64 bits where 2^40 rows fit; of larger numbers those of the high and low bits; else decimals."""
        bits = 64 if limits is None else max(abs(limit) for limit in limits).bit_length()
        room = 63 - _ROWS
        if bits < room:
            return f"sum({integer}){filtered}"
        if bits <= 2 * room - 2:
            low = room - 1
            high = f"sum(shiftright(CAST({integer} AS BIGINT), {low})){filtered}"
            return (
                f"({self.cast(high, 'HUGEINT')} * {2**low} + sum(CAST({integer} AS BIGINT) & {2**low - 1}){filtered})"
            )
        return f"sum(CAST({integer} AS DECIMAL(28,0))){filtered}"

    def null_if(self, value: str, other: str) -> str:
        return let(value, lambda y: f"CASE WHEN {y} = {other} THEN NULL ELSE {y} END")

    def between(self, value: str, low: str, high: str) -> str:
        return let(value, lambda y: f"{y} BETWEEN {low} AND {high}")

    def start(self, salt: int, count: str) -> str:
        return f"pmod(xxhash64({salt}L, u), {count})"

    def row_order(self, rows: str) -> str:
        return f"xxhash64(struct({rows}.*)), struct({rows}.*)"

    def row_hash(self, rows: str) -> str:
        return f"xxhash64(1L, struct({rows}.*))"

    def owner_hash(self, owner: str) -> str:
        return f"xxhash64(1L, {owner})"

    def modulo(self, hashed: str, count: int) -> str:
        return f"pmod({hashed}, {count})"

    def among(self, rows: str, others: str, on: str) -> str:
        return f"{rows} LEFT SEMI JOIN {others} ON {on}"

    def semi_join(self, rows: str, others: str, on: str, *, missing: bool) -> str:
        return f"SELECT * FROM ({rows}) LEFT {'ANTI' if missing else 'SEMI'} JOIN ({others}) ON {on}"

    def apart(self, rows: str, others: str, on: str) -> str:
        return f"{rows} LEFT ANTI JOIN {others} ON {on}"

    def step(self, name: str, sql: str, *, keep: bool) -> str:  # noqa: ARG002
        return f"{name} AS ({sql})"

    def public_text(self, value: str, known: Sequence[str]) -> str:
        """The text itself, which WHERE asks for: `IN` looks it up in a table of hashes."""
        if not known:
            return self.cast("NULL", "VARCHAR")
        return f"CASE WHEN {value} IN ({', '.join(map(self.text, known))}) THEN {value} END"


def declared_as(stored: str) -> ColumnType | None:
    """What a policy calls a stored type of whole numbers or texts; None for others."""
    return "int" if stored in _INTEGERS else "string" if stored == "string" else None


def link_family(stored: str) -> str:
    """Stored types whose equal values have equal texts: whole numbers and texts, or fractions, or one type alone."""
    if stored in _INTEGERS or stored == "string":
        return "texts"
    return "fractions" if stored in ("float", "double") else stored


def _written(character: str) -> str:
    code = ord(character)
    if character in "'\\" or not 32 <= code < 127:
        return f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}"
    return character


DIALECT = _Spark()
