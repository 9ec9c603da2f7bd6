"""What an analyst does at the desk, for the mutants of the session and the ledger: each gives what was seen."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack, closing

from discreet.errors import LedgerError
from discreet.mechanisms import DiscreteLaplace
from discreet.privacy import Loss, approx, pure
from mutants._analyst import Desk, Seen, dying_disk, read

__all__ = [
    "before_and_after",
    "different",
    "in_many_places",
    "many_keys",
    "named_before_and_after",
    "rolled_back",
    "stored_again",
    "the_same",
    "through_crashes",
    "wide_releases",
]


def different(desk: Desk, spend: Loss, times: int) -> list[Seen]:
    with desk.session() as session:
        return [desk.ask(session, spend, question) for question in range(times)]


def the_same(desk: Desk, times: int) -> list[Seen]:
    with desk.session() as session:
        return [desk.ask(session, pure(1)) for _ in range(times)]


def before_and_after(desk: Desk) -> list[Seen]:
    with desk.session() as session:
        first = desk.ask(session, pure("1/2"))
        desk.change()
        return [first, desk.ask(session, pure("1/2"))]


def named_before_and_after(desk: Desk) -> list[Seen]:
    with desk.session() as session:
        asked = {"sensitivity": 1, "spend": pure("1/2"), "name": "visits"}
        first = desk.release(session, DiscreteLaplace(2), **asked)
        desk.change()
        return [first, desk.release(session, DiscreteLaplace(2), **asked)]


def many_keys(desk: Desk) -> list[Seen]:
    with desk.session() as session:
        return [desk.keys(session, approx("1/4", "0.2"), question) for question in range(4)]


def wide_releases(desk: Desk) -> list[Seen]:
    """A number that a person moves by 3, which is stated; the data of the two worlds are that far apart."""
    with desk.session() as session:
        return [desk.release(session, DiscreteLaplace(3), sensitivity=3) for _ in range(3)]


def through_crashes(desk: Desk, questions: Sequence[int]) -> list[Seen]:
    """Three releases are lost on their way to the disk, where somebody reads them; the analyst goes on asking."""
    seen: list[Seen] = []
    with desk.session() as session, dying_disk(3) as lost:
        for question in questions:
            answer = desk.ask(session, pure(1), question)
            seen.append(lost.pop() if lost else answer)
    return seen


def stored_again(desk: Desk) -> list[Seen]:
    """A ledger without a session: what could not be stored is drawn again."""
    seen: list[Seen] = []
    with desk.session() as session, dying_disk(3) as lost:
        reservation = session._ledger.reserve("visits", pure(1))
        for _ in range(4):
            payload = desk.noisy()
            try:
                session._ledger.commit(reservation, payload)
                seen.append(read(payload))
            except LedgerError as error:
                seen.append(lost.pop() if lost else [type(error).__name__] * len(seen[0]))
    return seen


def in_many_places(desk: Desk) -> list[Seen]:
    with ExitStack() as stack:
        places = [stack.enter_context(desk.session(in_file=True)) for _ in range(3)]
        return [desk.ask(session, pure(1), question) for question, session in enumerate(places)]


def rolled_back(desk: Desk) -> list[Seen]:
    """Somebody puts yesterday's copy of the ledger back while the session goes on."""
    seen: list[Seen] = []
    with desk.session(in_file=True) as session:
        yesterday = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(desk.path)) as today:
            today.backup(yesterday)
        for question in range(4):
            seen.append(desk.ask(session, pure(1), question))
            with closing(sqlite3.connect(desk.path)) as today:
                yesterday.backup(today)
        yesterday.close()
    return seen
