"""Open a ledger from a path or a URL, or create it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import LedgerError, ParameterError
from discreet.ledger.postgres._url import address_of
from discreet.ledger.state._account import Period
from discreet.ledger.state._arithmetic import limit, of_loss
from discreet.ledger.state._conversion import TARGETS
from discreet.ledger.state._events import Counted
from discreet.postgres_url import SCHEMES
from discreet.privacy import Loss, Relation, currency, in_words, pure

if TYPE_CHECKING:
    from discreet.ledger._owner import OwnedLedger
    from discreet.ledger.log._database import Database, Fill

__all__ = ["open_ledger"]


_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def open_ledger(  # noqa: PLR0913
    path: str | os.PathLike[str] | None,
    budget: Loss | None = None,
    *,
    key: bytes | None = None,
    every: Period | None = None,
    until: datetime | None = None,
    people: str | None = None,
    relation: Relation | None = None,
    parts: Iterable[str] = (),
    counts: Counted = "people",
) -> OwnedLedger:
    """Open the ledger at `path` as its owner, or make it there with `budget`; None keeps a new ledger in memory.

    A file is readable by its owner only, since it holds releases. Opening costs a few milliseconds, however long the
    ledger is.

    Parameters
    ----------
    path
        A file, or the URL of a PostgreSQL database, ``postgresql://user@host/database?ledger=NAME``, for many machines
        (``discreet[postgres]``).
    budget
        What may be lost in all, or in one window. To open an existing ledger, give the budget that it was made with,
        the one that it has, or None.
    key
        32 bytes that releases and the key that signs are encrypted with. A new ledger takes it for life.
    every, until
        For a new ledger: after which window of the calendar the budget begins again, and when it ends.
    counts
        For a new ledger: whose losses it counts, ``"people"``, single ``"edges"`` of a graph, single ``"arcs"`` of a
        directed one, or single ``"events"``. A release about something else is refused.
    people, relation, parts
        For a new ledger: the public name of the people whose losses it counts; for which neighbours, ``"add_remove"``
        if None, as a policy is; and names of disjoint parts of the people, fixed for life, if charges are to be made
        for parts, which needs a `relation`.

    Raises
    ------
    LedgerError
        If there is no ledger and no budget, if the budget or the key differs, or if what is there cannot be used. For a
        file, or memory, on a system that is not POSIX.
    ParameterError
        If the budget is not one: it must be greater than 0, with δ less than 1, and not end before a new ledger begins.
        If parts are given for neighbours that may change part, or names are not text.
    MissingExtra
        If a URL is given without the extra for it.

    >>> from discreet.privacy import pure
    >>> with open_ledger(None, pure(3)) as ledger:
    ...     reserved = ledger.reserve("plan-1", pure(0.5))  # then draw noise, then store, then answer
    ...     stored = ledger.commit(reserved, b"the whole release")
    ...     ledger.remaining, ledger.find("plan-1") == stored
    (pure(2.5), True)
    """
    from discreet.ledger._owner import OwnedLedger, checked_period, checked_until
    from discreet.ledger.crypto._encryption import Seal
    from discreet.ledger.log._genesis import begin, facts
    from discreet.ledger.log._store import LedgerStore

    accepted, seal = None if budget is None else limit(budget), Seal(key)
    start = None
    if accepted is not None:
        if isinstance(parts, str):
            raise ParameterError(f"the parts of the people are a list of names, for example [{parts!r}], not one text")
        fixed = facts(accepted, people, relation, tuple(parts), counts)
        start = begin(accepted, fixed, seal, checked_period(every), checked_until(until))
    database = _database(path, start)
    try:
        store = LedgerStore(database, seal)
        ledger = OwnedLedger(store)
        _load_for_charges()
        if accepted is not None and accepted not in (store.began_with, ledger.budget):
            raise LedgerError(
                f"{database.where} has a budget of {in_words(ledger.budget)}, not of {in_words(accepted)}: state "
                f"its own budget or none, {_way_to(accepted, ledger.budget)}, or start a new ledger in "
                "another place"
            )
    except BaseException:
        database.close()
        raise
    return ledger


def _database(path: str | os.PathLike[str] | None, start: Fill | None) -> Database:
    if isinstance(path, str) and path.startswith(SCHEMES):
        address_of(path)  # says what is wrong with it, or missing
        from discreet.ledger.postgres._postgres import Database as PostgresDatabase

        server = PostgresDatabase(path)
        try:
            if start is not None:
                server.create(start)
            elif not server.exists():
                raise _needs_budget(server.where)
        except BaseException:
            server.close()
            raise
        return server
    if not hasattr(os, "register_at_fork"):
        raise LedgerError(
            "a ledger in a file or in memory needs POSIX, as Linux and macOS have it, to keep processes apart; here "
            "use one in PostgreSQL, or run under WSL"
        )
    from discreet.ledger.sqlite._create_file import create, identify
    from discreet.ledger.sqlite._sqlite import Database as SqliteDatabase

    if path is None:
        if start is None:
            raise _needs_budget("the ledger in memory")
        database = SqliteDatabase(None)
        with database.transaction(write=True) as connection:
            start(connection)
        return database
    place = _resolve(path)
    if not os.path.lexists(place):
        if start is None:
            raise _needs_budget(f"the ledger {place!r}")
        create(place, start)
    identify(place)
    return SqliteDatabase(place)


def _load_for_charges() -> None:
    """Import what a charge computes with: a fork while another thread imports it would hang the child."""
    from discreet.ledger.crypto._signing import code_version

    of_loss(pure(1))
    with suppress(LedgerError):  # a version that is missing stops a charge, and not who only reads
        code_version()


def _way_to(wanted: Loss, budget: Loss) -> str:
    """What its owner can do for a ledger to have the budget that is wanted."""
    target = currency(wanted)
    if currency(budget) != "pure" or target not in TARGETS:
        return "renew it with another"
    share = "" if target == "approx" else f" --to {target}"
    return f"convert it, which keeps all charges (`discreet ledger convert LEDGER --delta D{share}`)"


def _needs_budget(where: str) -> LedgerError:
    return LedgerError(
        f"{where} does not exist, and a new ledger needs a budget: write a [budget] into the policy, make the ledger "
        "first with `discreet ledger create`, or open it with a budget in Python"
    )


def _resolve(path: str | os.PathLike[str]) -> str:
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise ParameterError(f"a ledger's path must be text, a path or None, got {type(path).__name__}") from None
    if text == ":memory:" or "\0" in text or not text:
        raise LedgerError(f"{text!r} is not a path for a ledger; name a file, or give None for a ledger in memory")
    if _URL.match(text):
        raise LedgerError(
            f"{text.partition(':')[0]!r} is not a ledger's URL: name a file, or postgresql://HOST/DATABASE"
        )
    try:
        place = Path(text).resolve(strict=False)
        dangling = Path(text).is_symlink() and not place.exists()
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is a loop of links"
        raise LedgerError(f"{text!r} cannot be a ledger: {reason}; give a path that this user may use") from None
    if dangling:
        raise LedgerError(f"{text!r} is a link to a file that does not exist; remove the link or make it right")
    return str(place)
