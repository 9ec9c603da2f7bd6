"""`postgresql://` URLs, read by libpq's own parser, of which the password is never shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from discreet.errors import MissingExtra

__all__ = ["SCHEMES", "connection_parts", "place_of"]

SCHEMES = ("postgresql://", "postgres://")
"""What such a URL begins with."""
_PORTS = re.compile(r"[0-9,]+")


def connection_parts(url: str, what: str) -> dict[str, Any] | None:
    """What libpq connects with, by its names; None for a text that is no such URL.

    Nothing of the text is in any message, since it may hold a password. Raises `MissingExtra` without psycopg, which
    names `what` needs it.

    >>> connection_parts("postgresql://ann:secret@db:5433/shop", "a ledger")["port"]
    '5433'
    >>> connection_parts("postgresql://[", "a ledger") is connection_parts("shop.duckdb", "a ledger") is None
    True
    """
    try:
        from psycopg.conninfo import conninfo_to_dict
    except ImportError:
        raise MissingExtra(f"{what} needs psycopg 3; install it with: pip install 'discreet[postgres]'") from None
    if not url.startswith(SCHEMES):
        return None
    try:
        return dict(conninfo_to_dict(url))
    except Exception:  # noqa: BLE001 - what it says may hold the password
        return None


def place_of(parts: Mapping[str, Any]) -> str:
    """The server and the database, for messages.

    libpq takes parts of a password with a bare @ or / for a host, a port or a database. Where one of them has an @,
    what stands before it is left out, and so is a port that is no number.

    >>> place_of({"host": "db", "port": "5433", "dbname": "shop", "password": "secret"})
    'db:5433, database shop'
    >>> place_of({"host": "ann", "port": "sec", "dbname": "ret@db/shop"})  # postgresql://ann:sec/ret@db/shop
    'db/shop'
    """
    for part in ("dbname", "port"):
        before, at, after = str(parts.get(part) or "").rpartition("@")
        if at and before:
            return after
    host, port, name = (str(parts.get(part) or "").rpartition("@")[2] for part in ("host", "port", "dbname"))
    where = host or str(parts.get("hostaddr") or "the local server")
    port = port if _PORTS.fullmatch(port) else ""
    return f"{where}{f':{port}' if port else ''}{f', database {name}' if name else ''}"
