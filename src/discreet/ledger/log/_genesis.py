"""The first entry of a ledger."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import get_args

import sqlalchemy as sa

from discreet.errors import ParameterError
from discreet.ledger.crypto._encryption import Seal
from discreet.ledger.crypto._signing import new_key, public_key
from discreet.ledger.log import _rows
from discreet.ledger.log._chain import row_after
from discreet.ledger.log._database import Fill
from discreet.ledger.log._schema import SALT_KEY, SIGNING_KEY, kind_of, make, secrets
from discreet.ledger.state._account import OWNER_ACCOUNT, Period
from discreet.ledger.state._events import Counted, Event, Facts, facts_to_json, initial_state
from discreet.ledger.state._relations import DEFAULT
from discreet.privacy import Loss, Relation, currency

__all__ = ["begin", "facts", "new_salt_key"]


def facts(
    budget: Loss, people: str | None, relation: str | None, parts: tuple[str, ...], counts: Counted = "people"
) -> Facts:
    """What a new ledger fixes; raises `ParameterError` for names and relations that are none."""
    if not all(isinstance(name, str) for name in (*parts, people or "")):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError("the people, and the parts of them, are named in text")
    if relation not in (None, *get_args(Relation)):
        raise ParameterError(
            f"a relation is one of {', '.join(get_args(Relation))}, or None for {DEFAULT}, not {relation!r}"
        )
    if counts not in get_args(Counted):
        raise ParameterError(f"a ledger counts {', '.join(get_args(Counted))}, not {counts!r}")
    if len(set(parts)) != len(parts) or not all(parts):
        raise ParameterError("the parts of the people need distinct names, which are not empty")
    if parts and relation != "add_remove":
        raise ParameterError(
            "parts need neighbours that add or remove a person: a person who is replaced may be in another part, so a "
            'charge for one part would count for all. Give relation="add_remove", or leave the parts out'
        )
    return Facts(currency(budget), people, relation or DEFAULT, parts, counts=counts)


def new_salt_key(connection: sa.Connection) -> bytes:
    """A secret for the salts of a ledger that has none, stored with it."""
    from discreet import noise

    key = noise.secret(32)
    connection.execute(sa.insert(secrets).values(name=SALT_KEY, value=key))
    return key


def begin(budget: Loss, fixed: Facts, seal: Seal, every: Period | None = None, until: datetime | None = None) -> Fill:
    """What makes a ledger with this budget, as `limit` returns it; each has a signing key of its own."""

    def run(connection: sa.Connection) -> None:
        now = kind_of(connection).clock(connection)
        if until is not None and until <= now:
            raise ParameterError(f"the budget of a new ledger cannot have ended already, on {until:%Y-%m-%d %H:%M} UTC")
        private = new_key()
        make(connection)
        signed = replace(fixed, public_key=public_key(private), key_check=seal.check())
        sealed = seal.closed(OWNER_ACCOUNT, SIGNING_KEY, private)
        connection.execute(sa.insert(secrets).values(name=SIGNING_KEY, value=sealed))
        event = Event("create", OWNER_ACCOUNT, facts_to_json(signed), now)
        state = initial_state(signed, budget, event.at, every=every, until=until)
        row = row_after(signed, None, event, state, salt_key=new_salt_key(connection))
        _rows.append(connection, row)

    return run
