"""The tables of a ledger, and the one place where their format changes.

`entries` only grows. `meta` has one row: the format, and the number of the newest entry, so that a newest entry that
was deleted by hand is missed.
"""

from __future__ import annotations

from collections.abc import Callable

import sqlalchemy as sa

from discreet.errors import LedgerError
from discreet.ledger._chain import Row
from discreet.ledger._sqlite import append_only, mark, marked

__all__ = ["FORMAT", "bring_forward", "entries", "is_current", "make", "meta", "row_columns"]

FORMAT = 1
"""The number of the format that this version writes."""

_MIGRATIONS: dict[int, Callable[[sa.Connection], None]] = {}
"""Format n -> the step that makes it n + 1, inside one transaction. Rows of `entries` are never rewritten."""

_tables = sa.MetaData()

entries = sa.Table(
    "entries",
    _tables,
    sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("reservation", sa.Text, unique=True),
    sa.Column("plan_hash", sa.Text, index=True),
    sa.Column("loss", sa.Text, nullable=False),
    sa.Column("spent", sa.Text, nullable=False),
    sa.Column("payload_sha256", sa.Text),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    sa.Column("payload", sa.LargeBinary),
)

meta = sa.Table(
    "meta",
    _tables,
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("last", sa.Integer, nullable=False),
)

row_columns = tuple(sa.type_coerce(entries.c[name], sa.types.NullType()).label(name) for name in Row._fields)
"""The columns of a `Row`, uncast: a ledger that was tampered with may hold anything."""


def make(connection: sa.Connection) -> None:
    """Create the empty tables in an empty database."""
    mark(connection, FORMAT)
    _tables.create_all(connection)
    append_only(connection)
    connection.execute(sa.insert(meta).values(format=FORMAT, last=0))


def is_current(connection: sa.Connection, where: str) -> bool:
    """Whether the format is the one that this version writes; raises `LedgerError` for a newer or an unclear one."""
    return _format(connection, where) == FORMAT


def bring_forward(connection: sa.Connection, where: str) -> None:
    """Bring an older format up to this one."""
    for number in range(_format(connection, where), FORMAT):
        step = _MIGRATIONS.get(number)
        if step is None:
            raise LedgerError(f"{where} has format {number}, which no version of discreet wrote; restore a copy of it")
        step(connection)
        connection.execute(sa.update(meta).values(format=number + 1))
        mark(connection, number + 1)


def _format(connection: sa.Connection, where: str) -> int:
    found = connection.execute(sa.select(meta.c.format)).scalar()
    number = marked(connection)
    if not isinstance(found, int) or found != number:
        raise LedgerError(f"{where} says two things about its format ({number} and {found}); restore a copy of it")
    if found > FORMAT:
        raise LedgerError(
            f"{where} has format {found}, and this version of discreet knows formats up to {FORMAT}: upgrade discreet"
        )
    return found
