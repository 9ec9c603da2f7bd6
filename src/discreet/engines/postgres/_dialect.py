"""PostgreSQL's SQL dialect."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import ClassVar

from discreet.engines.postgres._functions import renderings
from discreet.engines.postgres._texts import number_of
from discreet.engines.postgres._total import bound, half_away, times_fixed
from discreet.engines.postgres._types import INTEGERS, TEXTS, clean, nearest, person, text_of
from discreet.engines.sql import Dialect, Rendering, StoredColumn
from discreet.errors import QueryError
from discreet.policy import ColumnType

__all__ = ["PostgresDialect", "holds"]

_LONGEST_NAME = 63
_BITS = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "INTEGER": 31, "BIGINT": 63}
_LITERAL = re.compile(r"""('(?:[^']|'')*') COLLATE "C\"""")
_EXACT = 2**50


class PostgresDialect(Dialect):
    """How PostgreSQL spells a bounded aggregate.

    `casing` is the collation by which it knows upper and lower case. `offset` is one for which the hashes of the public
    texts of the request's one key have different ends of six bits, None if there is none.
    """

    types: ClassVar[Mapping[str, str]] = {
        "BOOLEAN": "boolean",
        "INTEGER": "bigint",  # of which a sum is exact, however many rows there are
        "BIGINT": "bigint",
        "HUGEINT": "numeric",
        "DOUBLE": "double precision",
        "VARCHAR": "text",
        "DATE": "date",
        "TIMESTAMP": "timestamp",
    }
    compares_first = False
    subtracts = False

    def __init__(self, casing: str, offset: int | None = None, *, keeps_rows: bool = True) -> None:
        self._casing = casing
        self._offset = offset
        self._keeps_rows = keeps_rows

    @property
    def keeps_rows(self) -> bool:
        return self._keeps_rows

    @property
    def renderings(self) -> Mapping[str, Rendering]:
        return renderings(self._casing)

    def clean(self, stored: StoredColumn, kind: ColumnType) -> str:
        return clean(stored, kind)

    def person(self, stored: StoredColumn) -> str:
        return person(stored)

    def person_text(self, stored: StoredColumn) -> str:
        return text_of(self.person(stored), stored)

    def is_integer(self, stored: StoredColumn) -> bool:
        return stored.type in INTEGERS

    def is_text(self, stored: StoredColumn) -> bool:
        return stored.type in TEXTS

    def digest(self, text: str) -> str:
        hashed = f"encode(sha256(convert_to({text}, getdatabaseencoding())), 'hex')"
        return f'({hashed} COLLATE "C")'

    def integer_link(self, stored: StoredColumn) -> str:
        return f"CAST({stored.sql} AS bigint)"

    def to_integer(self, number: str, kind: str = "BIGINT") -> str:
        return nearest(number, _BITS[kind])

    def number(self, sql: str) -> str:
        return number_of(f"CAST({sql} AS text)")

    def between(self, value: str, low: str, high: str) -> str:
        return bound("{x} BETWEEN {y} AND {z}", x=value, y=low, z=high)

    def start(self, salt: int, count: str) -> str:
        hashed = f'hashtextextended(CAST(u AS text) COLLATE "C", {salt})'
        return f"(({hashed} & {2**63 - 1}) % CAST({count} AS bigint))"

    def row_order(self, rows: str) -> str:
        return f"hash_record_extended({rows}, 0), {rows}"

    def row_hash(self, rows: str) -> str:
        return f"hash_record_extended({rows}, 1)"

    def owner_hash(self, owner: str) -> str:
        return f'hashtextextended(CAST({owner} AS text) COLLATE "C", 1)'

    def modulo(self, hashed: str, count: int) -> str:
        return f"({hashed} & {2**63 - 1}) % {count}"

    def among(self, rows: str, others: str, on: str) -> str:
        return f"(SELECT * FROM {rows} WHERE EXISTS (SELECT 1 FROM {others} WHERE {on})) AS {rows}"

    def apart(self, rows: str, others: str, on: str) -> str:
        return f"(SELECT * FROM {rows} WHERE NOT EXISTS (SELECT 1 FROM {others} WHERE {on})) AS {rows}"

    def fenced(self, sql: str) -> str:
        """PostgreSQL merges a query with those that it reads, and copies what they compute, but for OFFSET."""
        return f"SELECT * FROM ({sql}) AS fenced OFFSET 0"

    def step(self, name: str, sql: str, *, keep: bool) -> str:
        return f"{name} AS {'' if keep else 'NOT '}MATERIALIZED ({sql})"

    def cast(self, sql: str, kind: str) -> str:
        literal = _LITERAL.fullmatch(sql)
        if literal is not None:
            sql = literal.group(1)
        written = f"CAST({sql} AS {self.type(kind)})"
        return f'({written} COLLATE "C")' if kind == "VARCHAR" else written

    def identifier(self, name: str) -> str:
        """A quoted identifier; a digest where PostgreSQL would cut the name, or holds no such character."""
        if not holds(name) or len(name.encode()) > _LONGEST_NAME:
            name = f"#{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:40]}"
        return super().identifier(name)

    def text(self, value: str) -> str:
        if not holds(value):
            raise QueryError("PostgreSQL's texts hold no NUL character and no surrogate; leave it out of the query")
        return f'{super().text(value)} COLLATE "C"'

    def rounded(self, number: str) -> str:
        return half_away(number)

    def on_grid(self, number: str, step: Fraction, low: int, high: int) -> str:
        """Clamped before it is scaled, so that nothing overflows; the limits are whole, so that both give the same."""
        factor = float(1 / step)
        inside = f"greatest(least({number}, {self.double(high * step)}), {self.double(low * step)})"
        if factor < 1:
            inside = times_fixed(inside, factor)
        elif factor != 1:
            inside = f"{inside} * {self.double(1 / step)}"
        short = max(abs(low), abs(high)) <= _EXACT and factor >= 1
        integer = half_away(inside, positive=low >= 0, copied=True) if short else half_away(inside)
        return integer if short else f"greatest(least({integer}, {self.double(high)}), {self.double(low)})"

    def public_text(self, value: str, known: Sequence[str]) -> str:
        listed = ", ".join(map(self.text, known))
        return f"CASE WHEN {value} IN ({listed}) THEN {value} END" if known else self.cast("NULL", "VARCHAR")

    def known_text(self, value: str, known: Sequence[str]) -> tuple[str, str]:
        listed = ", ".join(map(self.text, known))
        return value, f"{value} IN ({listed})" if known else "FALSE"

    def groups_seen(self, keys: int) -> str | None:  # noqa: ARG002
        """The bits of a mask."""
        if self._offset is None:
            return None
        bit = f"CAST(1 AS bigint) << CAST(hashtextextended(k0, {self._offset}) & 63 AS integer)"
        return f"bit_count(CAST(bit_or({bit}) AS bit(64)))"

    def extreme(self, name: str, value: str, kind: str) -> str:
        if kind == "bool":
            return f"bool_{'and' if name == 'min' else 'or'}({value})"
        return f"{name}({value})"


def holds(text: str) -> bool:
    """Whether PostgreSQL can hold a text."""
    return "\0" not in text and not any("\ud800" <= c <= "\udfff" for c in text)
