"""A `postgresql://` URL of a ledger, taken apart so that its password is shown to nobody."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from discreet.errors import LedgerError
from discreet.postgres_url import connection_parts, place_of

__all__ = ["Address", "address_of"]

_DEFAULT = "discreet"
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_OURS = {
    "connect_timeout": "15",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
"""Seconds, and milliseconds, until a server that does not answer counts as gone; what the URL says comes first."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a ledger is: what psycopg connects with, and the schema that holds the ledger's tables."""

    ledger: str
    parts: dict[str, Any] = field(repr=False)

    @property
    def where(self) -> str:
        """The ledger, the server and the database, for messages."""
        return f"the ledger {self.ledger!r} at {place_of(self.parts)}"


def address_of(url: str) -> Address:
    """Read ``postgresql://user:password@host:port/database?ledger=name``; the name is ``discreet`` if none is given.

    Raises `LedgerError` for a URL that is none or a name that is not lower-case letters, digits and underscores, and
    `MissingExtra` without psycopg.

    >>> address_of("postgresql://officer:secret@db/shop?ledger=visits").where
    "the ledger 'visits' at db, database shop"
    """
    head, _, query = url.partition("?")
    given = [part.partition("=") for part in query.split("&") if part]
    names = [unquote(value) for key, _, value in given if key == "ledger"] or [_DEFAULT]
    rest = "&".join("".join(part) for part in given if part[0] != "ledger")
    parts = connection_parts(f"{head}?{rest}" if rest else head, "a ledger in PostgreSQL")
    if len(names) > 1 or not _NAME.fullmatch(names[0]) or names[0].startswith("pg_") or names[0] == _FOREIGN:
        raise LedgerError(
            "a ledger's name, ?ledger=… in its URL, is one schema of the database: up to 63 of a-z, 0-9 and _, not "
            "beginning with a digit or pg_"
        )
    if parts is None:
        raise LedgerError(
            "the ledger's PostgreSQL URL cannot be read; write postgresql://user:password@host:5432/database, with any "
            "of / ? # @ : % in a name or a password as %2F %3F %23 %40 %3A %25"
        )
    return Address(names[0], {**_OURS, **parts})


_FOREIGN = "information_schema"
