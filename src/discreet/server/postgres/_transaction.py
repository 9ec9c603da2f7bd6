"""Transaction blocks. Nothing is written, so they hold settings alone; what an answer cost stays spent.

Source: PostgreSQL manual, reference pages "BEGIN", "COMMIT", "ROLLBACK" and "SAVEPOINT".
"""

from __future__ import annotations

from copy import copy
from typing import Final, Literal

from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres._settings import Settings
from discreet.server.postgres.codec.backend import Notice
from discreet.server.postgres.statements import kinds

__all__ = ["Transaction"]

_MOST_SAVEPOINTS: Final = 1_000
_SPENT: Final = Notice(
    "WARNING",
    "01000",
    "what was answered in this transaction stays paid for: spending is not undone",
    hint="The answers are there again for free, if they are asked for in the same words.",
)


class Transaction:
    """The transaction state of a session, and the settings that hang on it.

    Outside a block, what is sent together is one by itself, from `start` on: if it fails, its settings are undone.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.state: Literal["I", "T", "E"] = "I"
        self.has_paid = False
        self._before = self._started = settings
        self._savepoints: list[tuple[str, Settings]] = []

    def start(self) -> None:
        """What is sent together begins."""
        if self.state == "I":
            self._started = self.settings

    def copy(self) -> Transaction:
        """Another one in the same state, to try statements on."""
        other = copy(self)
        other._savepoints = list(self._savepoints)  # noqa: SLF001
        return other

    def check(self, statement: kinds.Statement | None) -> None:
        """Raise `SqlError` (25P02) for a statement that a failed block does not take."""
        if self.state == "E" and not isinstance(statement, kinds.Commit | kinds.Rollback):
            raise SqlError("25P02", "current transaction is aborted, commands ignored until end of transaction block")

    def fail(self) -> None:
        """A statement failed."""
        if self.state == "T":
            self.state = "E"
        elif self.state == "I":
            self.settings = self._started

    def begin(self) -> tuple[Notice, ...]:
        """BEGIN."""
        if self.state == "T":
            return (Notice("WARNING", "25001", "there is already a transaction in progress"),)
        self.state, self._before, self.has_paid = "T", self._started, False
        return ()

    def commit(self, *, chain: bool) -> tuple[str, tuple[Notice, ...]]:
        """COMMIT: the tag of what happened, which is a rollback if the block has failed, and what is to be said."""
        if self.state == "I":
            self._started = self.settings
            return "COMMIT", (_none(),)
        if self.state == "E":
            return "ROLLBACK", self.roll_back(chain=chain)
        self._end(self.settings.ended(), chain=chain)
        return "COMMIT", ()

    def roll_back(self, *, chain: bool) -> tuple[Notice, ...]:
        """ROLLBACK of the whole block."""
        if self.state == "I":
            self.settings = self._started
            return (_none(),)
        notices = (_SPENT,) if self.has_paid else ()
        self._end(self._before, chain=chain)
        return notices

    def save(self, name: str) -> None:
        """SAVEPOINT. Raises `SqlError` (25P01) outside a block."""
        if self.state == "I":
            raise SqlError("25P01", "SAVEPOINT can only be used in transaction blocks")
        if len(self._savepoints) >= _MOST_SAVEPOINTS:
            raise SqlError("54000", f"a transaction has at most {_MOST_SAVEPOINTS:,} savepoints")
        self._savepoints.append((name, self.settings))

    def release(self, name: str) -> None:
        """RELEASE SAVEPOINT. Raises `SqlError` (3B001) for one that there is not."""
        del self._savepoints[self._place(name) :]

    def roll_back_to(self, name: str) -> tuple[Notice, ...]:
        """ROLLBACK TO a savepoint, which stays. Raises `SqlError` (3B001) for one that there is not."""
        place = self._place(name)
        self.settings = self._savepoints[place][1]
        del self._savepoints[place + 1 :]
        self.state = "T"
        return (_SPENT,) if self.has_paid else ()

    def _place(self, name: str) -> int:
        if self.state == "I":
            raise SqlError("25P01", "savepoints can only be used in transaction blocks")
        places = [i for i, (each, _) in enumerate(self._savepoints) if each == name]
        if not places:
            raise SqlError("3B001", "there is no such savepoint")
        return places[-1]

    def _end(self, settings: Settings, *, chain: bool) -> None:
        self.settings = self._before = self._started = settings
        self._savepoints = []
        self.state, self.has_paid = "T" if chain else "I", False


def _none() -> Notice:
    return Notice("WARNING", "25P01", "there is no transaction in progress")
