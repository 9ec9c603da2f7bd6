"""The interface of a SQL dialect: what engines write differently. The rest of this package is shared by all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import ClassVar, Protocol

from sqlglot import exp

from discreet.engines.sql._relation import StoredColumn
from discreet.policy import ColumnType
from discreet.query import Call, Kind, Limited, Row

__all__ = ["Dialect", "Rendering", "Write", "Writer", "function"]


class Dialect(ABC):
    """How an engine spells what a bounded aggregate needs. Nothing that it writes can raise on any row.

    Types go by DuckDB's names: BOOLEAN, INTEGER, BIGINT, HUGEINT (whole numbers of 38 digits at least), DOUBLE,
    VARCHAR, DATE and TIMESTAMP, which has no time zone.
    """

    types: ClassVar[Mapping[str, str]] = {}
    """The engine's names of types, where they are others."""

    filters_groups: ClassVar[bool] = True
    """Whether it is cheaper to group by texts as they are stored, and drop groups, than to drop rows first."""

    compares_first: ClassVar[bool] = True
    """Whether a column is clamped faster by comparisons than by `least` and `greatest`."""

    subtracts: ClassVar[bool] = True
    """Whether it costs less to take people above a cap out of everybody's sums again than to leave them out, and to
    join what is counted of them than to count it beside each row."""

    recomputes: ClassVar[bool] = False
    """Whether a named query is computed anew wherever it is named."""

    @property
    def keeps_rows(self) -> bool:
        """Whether the rows of people are better computed once than anew in each step that reads them."""
        return True

    @property
    @abstractmethod
    def renderings(self) -> Mapping[str, Rendering]:
        """How each function of `discreet.query.FUNCTIONS` is written."""

    @abstractmethod
    def clean(self, stored: StoredColumn, kind: ColumnType) -> str:
        """A stored column as the policy's type. What does not cast is null, and so is NaN, and any other than the years
        1 to 9999; of the two zeros there is one.
        """

    @abstractmethod
    def person(self, stored: StoredColumn) -> str:
        """The column that names the person, in its own type; NaN is nobody, and the two zeros are one person."""

    @abstractmethod
    def person_text(self, stored: StoredColumn) -> str:
        """The column that names the person as text, equal where persons are."""

    @abstractmethod
    def is_integer(self, stored: StoredColumn) -> bool:
        """Whether a column links rows as a whole number; otherwise it does as text."""

    @abstractmethod
    def is_text(self, stored: StoredColumn) -> bool:
        """Whether a column is stored as text."""

    @abstractmethod
    def integer_link(self, stored: StoredColumn) -> str:
        """A stored column of whole numbers, of any width, as one that compares with every other such column."""

    @abstractmethod
    def to_integer(self, number: str, kind: str = "BIGINT") -> str:
        """A double as the nearest whole number of a type, of two the even one; null beyond the type."""

    @abstractmethod
    def start(self, salt: int, count: str) -> str:
        """A hash of the salt and the column ``u``, modulo a count that is positive."""

    @abstractmethod
    def row_order(self, rows: str) -> str:
        """What to order the rows of a named query by, so that their order is as if drawn, and a function of content."""

    @abstractmethod
    def row_hash(self, rows: str) -> str:
        """A hash of a row of a named query."""

    @abstractmethod
    def owner_hash(self, owner: str) -> str:
        """A hash of what says whose a row is."""

    @abstractmethod
    def modulo(self, hashed: str, count: int) -> str:
        """A hash modulo a count, from 0."""

    @abstractmethod
    def among(self, rows: str, others: str, on: str) -> str:
        """What FROM reads for the rows of a named query that find one among others."""

    def fewest(self, rows: str, among: str, owner: str, octets: str, limited: Limited) -> str:  # noqa: ARG002
        """What FROM reads for rows of a named query, of each owner at least those that are within the limits.

        They are the first in `row_order`. An engine that would hold all rows of an owner to put them in order leaves
        others out here. `octets` are the bytes of a row's texts.
        """
        return among

    @abstractmethod
    def apart(self, rows: str, others: str, on: str) -> str:
        """What FROM reads for the rows of a named query that find none among others."""

    def semi_join(self, rows: str, others: str, on: str, *, missing: bool) -> str:
        """The rows of a query that find one of another, or with `missing` those that find none."""
        word = "NOT EXISTS" if missing else "EXISTS"
        return f"SELECT * FROM ({rows}) WHERE {word} (SELECT 1 FROM ({others}) WHERE {on})"

    def fenced(self, sql: str) -> str:
        """A query whose columns are computed once, however often a query over it names them."""
        return sql

    @abstractmethod
    def step(self, name: str, sql: str, *, keep: bool) -> str:
        """A named query of a chain; `keep` says that it is better computed once than anew wherever it is named."""

    def type(self, name: str) -> str:
        """A type in the engine's words."""
        return self.types.get(name, name)

    def cast(self, sql: str, kind: str) -> str:
        """A cast that no value here makes fail."""
        return f"CAST({sql} AS {self.type(kind)})"

    def identifier(self, name: str) -> str:
        """A quoted identifier."""
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """A string literal."""
        return "'" + value.replace("'", "''") + "'"

    def double(self, value: Fraction | int) -> str:
        """A number as a double."""
        return self.cast(f"'{float(value)!r}'", "DOUBLE")

    def reference(self, name: str) -> str:
        """A clean column of the query, under a name that no step of the chain uses for itself."""
        return self.identifier(f"c:{name}")

    def wire(self, name: str) -> str:
        """A column that says whose a row is, as it links up with others."""
        return self.identifier(f"w:{name}")

    def number(self, sql: str) -> str:
        """A clean column of no known kind as a double; null if it is no number."""
        return self.cast(sql, "DOUBLE")

    def one_zero(self, number: str) -> str:
        """A double, of which no two that are equal differ: they may tie where rows are chosen by their content."""
        return f"({number} + {self.double(0)})"

    def null_if(self, value: str, other: str) -> str:
        """A value, null where it equals another; computed once, however long it is."""
        return f"nullif({value}, {other})"

    def between(self, value: str, low: str, high: str) -> str:
        """Whether a value lies between two others; computed once, however long it is."""
        return f"({value} BETWEEN {low} AND {high})"

    def one_of(self, value: str, items: list[str], *, nullable: bool) -> str:  # noqa: ARG002
        """Whether a value is one of some constants, of which null is one if `nullable`; computed once."""
        return f"({value} IN ({', '.join(items)}))"

    def rounded(self, number: str) -> str:
        """A double rounded to a whole one, of two the one further from zero."""
        return f"round({number})"

    def scaled(self, number: str, step: Fraction) -> str:
        """A double in steps of a grid."""
        return number if step == 1 else f"{number} * {self.double(1 / step)}"

    def on_grid(self, number: str, step: Fraction, low: int, high: int) -> str:
        """A double in steps of a grid, rounded to a whole one and clamped; of null, any within the limits."""
        return f"greatest(least({self.rounded(self.scaled(number, step))}, {self.double(high)}), {self.double(low)})"

    def octets(self, text: str) -> str:
        """The number of bytes of a text."""
        return f"octet_length({text})"

    @abstractmethod
    def digest(self, text: str) -> str:
        """The SHA-256 of a text, in 64 characters."""

    def cut(self, column: str, most: int) -> str:
        """A column of texts, each no longer than so many characters: none is copied without need."""
        return f"CASE WHEN {self.octets(column)} <= {most} THEN {column} ELSE substring({column}, 1, {most}) END"

    def named(self, text: str) -> str:
        """A text column that only tells values apart, with digests in place of long texts."""
        return f"CASE WHEN {self.octets(text)} < 64 THEN {text} ELSE {self.digest(text)} END"

    def extreme(self, name: str, value: str, kind: ColumnType) -> str:  # noqa: ARG002
        """The ``min`` or ``max`` of values of a type."""
        return f"{name}({value})"

    def sum(self, integer: str, limits: tuple[int, int] | None, filtered: str = "") -> str:  # noqa: ARG002
        """The sum of whole numbers, within limits if they are given; null of none, and exact however many there are.

        `filtered` is the FILTER clause, if there is one.
        """
        return f"sum({integer}){filtered}"

    def public_text(self, value: str, known: Sequence[str]) -> str:
        """A text that is among public ones, in a form that is cheap to group by; null for others."""
        listed = ", ".join(map(self.text, known))
        return f"CASE WHEN {value} IN ({listed}) THEN {value} END" if known else self.cast("NULL", "VARCHAR")

    def known_text(self, value: str, known: Sequence[str]) -> tuple[str, str]:
        """A text as it is grouped by, and the condition that it is among public ones."""
        text = self.public_text(value, known)
        return text, f"{text} IS NOT NULL"

    def groups_seen(self, keys: int) -> str | None:  # noqa: ARG002
        """The number of different keys ``k0``, each of so many public texts; None if that is better counted by rows."""
        return None


Write = Callable[[exp.Expr], str]


class Writer(Protocol):
    """Writes arguments. Numbers of `number` are doubles, those of `integer` are BIGINT."""

    @property
    def row(self) -> Row:
        """What is known of the expressions."""
        ...

    @property
    def dialect(self) -> Dialect:
        """The dialect of the engine."""
        ...

    @property
    def raw(self) -> Writer:
        """The same over columns as they are, not clamped."""
        ...

    def number(self, node: exp.Expr) -> str:
        """A number as a double, never one that is not a number."""
        ...

    def integer(self, node: exp.Expr) -> str:
        """An exact integer."""
        ...

    def value(self, node: exp.Expr, kind: Kind | None = None) -> str:
        """An argument as its own kind, or as another that it may be read as: a date as a timestamp, null as any."""
        ...

    def alike(self, nodes: tuple[exp.Expr, ...]) -> list[str]:
        """Arguments of one kind in one representation: exact integers if all of them are."""
        ...


Rendering = Callable[[Call, Writer, Write], str]
"""From a call, a writer, and how the result is wanted, which is how a choice writes what it chooses from."""


def function(name: str) -> Rendering:
    """A function of numbers by its name."""

    def render(call: Call, writer: Writer, _: Write) -> str:
        return f"{name}({', '.join(map(writer.number, call.args))})"

    return render
