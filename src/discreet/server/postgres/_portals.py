"""Prepared statements and portals of a session; a cursor is a portal with a name of SQL.

Source: PostgreSQL manual, section "Message Flow", "Extended Query".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from discreet.server.postgres._questions import Described
from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres._settings import Settings
from discreet.server.postgres.statements import kinds
from discreet.server.postgres.statements.parameters import Parameter, Parametrized
from discreet.server.postgres.statements.reading import read_statement
from discreet.server.postgres.values.literals import DUMMIES, ParameterValueError, literal

__all__ = ["Portal", "Portals", "Prepared"]

_MOST_STATEMENTS: Final = 1_000
_MOST_PREPARED: Final = 1 << 21
_MOST_PORTALS: Final = 200
_MOST_HELD: Final = 1 << 24
"""Bytes of answers beside which another is begun."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement with its parameters; `statement` is None for an empty one.

    `described` are its columns, where they can be told without values for the parameters.
    """

    query: Parametrized
    parameters: tuple[Parameter, ...]
    statement: kinds.Statement | None
    described: Described | None = None

    def bound(self, formats: Sequence[int], values: Sequence[bytes | None]) -> kinds.Statement | None:
        """The statement with values in the places of its parameters.

        Raises `SqlError`: 08P01 for another number of them, else as `literal` and `Parametrized.filled`.
        """
        if len(values) != len(self.parameters):
            raise SqlError(
                "08P01", f"the statement has {len(self.parameters)} parameters, and {len(values)} values came"
            )
        if not values:
            return self.statement
        codes = formats if len(formats) > 1 else [formats[0] if formats else 0] * len(values)
        try:
            constants = [
                literal(parameter.oid, code, value)
                for parameter, code, value in zip(self.parameters, codes, values, strict=True)
            ]
        except ParameterValueError as error:
            raise SqlError(error.sqlstate, str(error)) from None
        return read_statement(self.query.filled(constants))

    def with_samples(self, samples: Mapping[str, str]) -> kinds.Statement | None:
        """The statement with a constant for each parameter, which its columns can be told by.

        `samples` has one for each column of the policy that has bounds or keys, as conditions may leave nothing else.
        """
        if not self.parameters:
            return self.statement
        constants = [samples.get(each.column or "", DUMMIES.get(each.oid, "''")) for each in self.parameters]
        return read_statement(self.query.filled(constants))


@dataclass(slots=True)
class Portal:
    """A statement that is run a part at a time: its columns and rows as far as they are known, and which were sent.

    `settings` are those that it was described under.
    """

    statement: kinds.Statement | None
    formats: tuple[int, ...] = ()
    hold: bool = False
    described: Described | None = None
    table: pa.Table | None = None
    rows: list[bytes] | None = None
    sent: int = 0
    ended: bool = False
    settings: Settings | None = None

    @property
    def size(self) -> int:
        """The bytes of its answer that are held."""
        return (0 if self.table is None else self.table.nbytes) + sum(map(len, self.rows or ()))


@dataclass(slots=True)
class Portals:
    """Those of a session, by name."""

    statements: dict[str, Prepared] = field(default_factory=dict[str, Prepared])
    portals: dict[str, Portal] = field(default_factory=dict[str, Portal])

    def prepare(self, name: str, prepared: Prepared) -> None:
        """Keep a statement. Raises `SqlError`: 42P05 for a name that is taken, 54000 for one too many."""
        if name and name in self.statements:
            raise SqlError("42P05", "there is a prepared statement of this name already")
        if len(self.statements) >= _MOST_STATEMENTS and name not in self.statements:
            raise SqlError("54000", f"a session has at most {_MOST_STATEMENTS:,} prepared statements")
        held = sum(len(each.query.text) for other, each in self.statements.items() if other != name)
        if held + len(prepared.query.text) > _MOST_PREPARED:
            raise SqlError("54000", f"the prepared statements of a session have at most {_MOST_PREPARED:,} characters")
        self.statements[name] = prepared

    def statement(self, name: str) -> Prepared:
        """A prepared statement. Raises `SqlError` (26000) if there is none of this name."""
        if name not in self.statements:
            raise SqlError("26000", "there is no prepared statement of this name")
        return self.statements[name]

    def open(self, name: str, portal: Portal) -> None:
        """Keep a portal. Raises `SqlError`: 42P03 for a name that is taken, 54000 for one too many."""
        if name and name in self.portals:
            raise SqlError("42P03", "there is a cursor of this name already")
        if len(self.portals) >= _MOST_PORTALS and name not in self.portals:
            raise SqlError("54000", f"a session has at most {_MOST_PORTALS:,} open cursors and portals")
        self.portals[name] = portal

    def portal(self, name: str) -> Portal:
        """A portal. Raises `SqlError` (34000) if there is none of this name."""
        if name not in self.portals:
            raise SqlError("34000", "there is no portal or cursor of this name")
        return self.portals[name]

    def check_size(self) -> None:
        """Raise `SqlError` (54000) where the portals of the session hold so much that another may not be filled."""
        if sum(each.size for each in self.portals.values()) > _MOST_HELD:
            raise SqlError(
                "54000", "the open cursors and portals of this session hold too many rows", "Fetch them, or close some."
            )

    def copy(self) -> Portals:
        """Others of the same names, to try statements on."""
        return Portals(dict(self.statements), dict(self.portals))

    def end_transaction(self, *, committed: bool) -> None:
        """Drop the portals of a transaction; those WITH HOLD stay if it was committed."""
        self.portals = {name: each for name, each in self.portals.items() if each.hold and committed}
