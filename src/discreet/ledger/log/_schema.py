"""The tables of a ledger, and the one place where their format changes.

`entries` only grows. A run and its steps are entries as well: those of steps have the hash of the run's entry as their
`plan_hash`, and a stored step has a `reservation` of its own, so that it is stored once. `meta` has one row: the
format, and the number of the newest entry, so that a newest entry that was deleted by hand is missed. `secrets` holds
the key that signs, sealed if the ledger has a key, and the one that salts.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from discreet.errors import LedgerError
from discreet.ledger.log._commitments import Row

__all__ = [
    "FORMAT",
    "SALT_KEY",
    "SIGNING_KEY",
    "entries",
    "format_of",
    "in_runs",
    "kind_of",
    "make",
    "meta",
    "rare",
    "rare_kinds",
    "repeats",
    "row_columns",
    "runs",
    "secrets",
    "tables",
]

FORMAT = 4
"""The number of the format that this version writes."""

tables = sa.MetaData()

entries = sa.Table(
    "entries",
    tables,
    sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True, autoincrement=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("account", sa.Text, nullable=False),
    sa.Column("idempotency_key", sa.Text),
    sa.Column("reservation", sa.Text),
    sa.Column("plan_hash", sa.Text),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("totals", sa.Text),
    sa.Column("payload_sha256", sa.Text),
    sa.Column("at", sa.Text, nullable=False),
    sa.Column("salt", sa.Text),
    sa.Column("previous", sa.Text, nullable=False),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("payload", sa.LargeBinary),
    sa.Index("entries_of_account", "account", "seq"),
)


def _index_of(
    where: sa.ColumnElement[bool] | sa.TextClause, name: str, *columns: Any, unique: bool = False
) -> sa.Index:
    """An index of the rows that a condition holds of. Naming a database here would load its dialect into every run."""
    index = sa.Index(name, *columns, unique=unique)

    def restrict(target: sa.Index, connection: sa.Connection, **_: Any) -> None:
        target.dialect_options[connection.dialect.name]["where"] = where

    event.listen(index, "before_create", restrict)
    return index


_index_of(entries.c.kind == "release", "entries_of_plan", entries.c.plan_hash, entries.c.account, entries.c.seq)
_index_of(entries.c.idempotency_key.is_not(None), "entries_of_request",
          entries.c.account, entries.c.idempotency_key, unique=True)  # fmt: skip
_index_of(entries.c.reservation.is_not(None), "entries_of_reservation", entries.c.reservation, unique=True)
rare = sa.text("kind NOT IN ('reserve', 'release', 'begin', 'step')")
"""Holds of the few entries that come neither with each release nor with each step; written out, as its index is."""
rare_kinds = _index_of(rare, "entries_of_rare_kinds", entries.c.kind, entries.c.account)
in_runs = sa.text("kind IN ('run', 'begin', 'step')")
"""Holds of runs and their steps; written out, as its index is."""
runs = _index_of(in_runs, "entries_of_runs", entries.c.plan_hash, entries.c.kind, entries.c.seq)
repeats = _index_of(entries.c.kind == "repeat", "entries_of_repeats", entries.c.plan_hash, entries.c.account)
sa.Index("entries_of_hash", entries.c.hash, unique=True)

meta = sa.Table(
    "meta",
    tables,
    sa.Column("format", sa.Integer, nullable=False),
    sa.Column("last", sa.BigInteger, nullable=False),
)

secrets = sa.Table(
    "secrets",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.LargeBinary, nullable=False),
)

SIGNING_KEY = "signing key"
"""The name of the secret that signs."""

SALT_KEY = "salt key"
"""The name of the secret that the salts of entries are derived from; who can read it can read the entries too."""

row_columns = tuple(sa.type_coerce(entries.c[name], sa.types.NullType()).label(name) for name in Row._fields)
"""The columns of a `Row`, uncast: a ledger that was tampered with may hold anything."""


def kind_of(connection: sa.Connection) -> ModuleType:
    """The module of the database that a connection is to."""
    if connection.dialect.name == "postgresql":
        from discreet.ledger.postgres import _postgres

        return _postgres
    from discreet.ledger.sqlite import _sqlite

    return _sqlite


def make(connection: sa.Connection) -> None:
    """Create the empty tables."""
    tables.create_all(connection)
    kind_of(connection).append_only(connection, "entries")
    kind_of(connection).complete(connection)
    kind_of(connection).mark(connection, FORMAT)
    connection.execute(sa.insert(meta).values(format=FORMAT, last=0))


def format_of(connection: sa.Connection, where: str) -> int:
    """The format of the ledger that is there; raises `LedgerError` for a newer or an unclear one."""
    number = connection.execute(sa.select(meta.c.format)).scalar()
    marked = kind_of(connection).marked(connection)
    if not isinstance(number, int) or marked not in (number, None):
        raise LedgerError(f"{where} states two formats, {marked} and {number}; restore a copy of it")
    if number > FORMAT:
        raise LedgerError(
            f"{where} has format {number}, and this version of discreet knows formats up to {FORMAT}: upgrade discreet"
        )
    return number
