"""The one way to a ledger."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import LedgerError, ParameterError
from discreet.ledger._filter import limit
from discreet.ledger._protocol import Ledger
from discreet.privacy import Loss, in_words

__all__ = ["open_ledger"]


def open_ledger(path: str | os.PathLike[str] | None, budget: Loss | None) -> Ledger:
    """Open the ledger at `path`, or make it there with `budget`; None keeps a new ledger in memory.

    A budget never changes: to open an existing ledger, give its own budget or None. The file is readable by its owner
    only, since it holds releases. Opening costs a few milliseconds, however long the ledger is.

    Raises
    ------
    LedgerError
        If there is no ledger and no budget, if the budget differs, or if the file is not a ledger that can be used.
    ParameterError
        If the budget is not one: it must be greater than 0, with δ less than 1.

    >>> from discreet.privacy import pure
    >>> with open_ledger(None, pure(3)) as ledger:
    ...     reserved = ledger.reserve("plan-1", pure(0.5))  # then draw noise, then store, then answer
    ...     stored = ledger.commit(reserved, b"the whole release")
    ...     ledger.remaining, ledger.find("plan-1") == stored
    (Pure(eps=Fraction(5, 2)), True)
    """
    from discreet.ledger._birth import create, identify
    from discreet.ledger._rows import begin_ledger
    from discreet.ledger._sql import SqlLedger
    from discreet.ledger._sqlite import Database

    accepted = None if budget is None else limit(budget)
    place = None if path is None else _resolve(path)
    if place is None or not os.path.lexists(place):
        if accepted is None:
            raise LedgerError(f"there is no ledger {_name(place)}, and a new ledger needs a budget: give one, "
                              "for example dp.pure(3)")  # fmt: skip
        if place is not None:
            create(place, lambda connection: begin_ledger(connection, accepted))
    if place is not None:
        identify(place)
    database = Database(place)
    if place is None and accepted is not None:
        with database.transaction(write=True) as connection:
            begin_ledger(connection, accepted)
    ledger = SqlLedger(database)
    if accepted is not None and ledger.budget != accepted:
        ledger.close()
        raise LedgerError(
            f"the ledger {_name(place)} has a budget of {in_words(ledger.budget)}, not of {in_words(accepted)}, and a "
            "budget never changes: open it with its own budget or with None, or start a new ledger at another path"
        )
    return ledger


def _resolve(path: str | os.PathLike[str]) -> str:
    try:
        text = os.fsdecode(path)
    except TypeError:
        raise ParameterError(f"a ledger's path must be text, a path or None, got {type(path).__name__}") from None
    if text == ":memory:" or "\0" in text or not text:
        raise LedgerError(f"{text!r} is not a path for a ledger; name a file, or give None for a ledger in memory")
    try:
        place = Path(text).resolve(strict=False)
        dangling = Path(text).is_symlink() and not place.exists()
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is a loop of links"
        raise LedgerError(f"{text!r} cannot be a ledger: {reason}; give a path that this user may use") from None
    if dangling:
        raise LedgerError(f"{text!r} is a link to a file that does not exist; remove the link or make it right")
    return str(place)


def _name(place: str | None) -> str:
    return "in memory" if place is None else repr(place)
