"""What a statement asks: a query, or one of the statements around it that PostgreSQL's clients send."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.server.postgres.values.copying import CopyFormat

__all__ = [
    "Begin", "CloseCursor", "Commit", "Copy", "Deallocate", "Declare", "Discard", "Explain", "Fetch", "Nothing",
    "Question", "Release", "Reset", "Rollback", "Savepoint", "Set", "Show", "Statement",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Question:
    """A query."""

    text: str


@dataclass(frozen=True, slots=True)
class Explain:
    """A query whose plan is asked for."""

    text: str


@dataclass(frozen=True, slots=True)
class Copy:
    """A query whose answer is copied out."""

    text: str
    how: CopyFormat


@dataclass(frozen=True, slots=True)
class Declare:
    """A cursor for a query."""

    name: str
    text: str
    hold: bool


@dataclass(frozen=True, slots=True)
class Fetch:
    """The next rows of a cursor; None is all. MOVE leaves them out."""

    name: str
    count: int | None
    moves: bool


@dataclass(frozen=True, slots=True)
class CloseCursor:
    """CLOSE, of all cursors for None."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Begin:
    """BEGIN or START TRANSACTION."""

    tag: str


@dataclass(frozen=True, slots=True)
class Commit:
    """COMMIT or END."""

    chain: bool = False


@dataclass(frozen=True, slots=True)
class Rollback:
    """ROLLBACK, whole or to a savepoint."""

    to: str | None = None
    chain: bool = False


@dataclass(frozen=True, slots=True)
class Savepoint:
    """SAVEPOINT."""

    name: str


@dataclass(frozen=True, slots=True)
class Release:
    """RELEASE SAVEPOINT."""

    name: str


@dataclass(frozen=True, slots=True)
class Set:
    """SET; None is the value at the start."""

    name: str
    value: str | None
    local: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    """RESET, of all settings for None."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Show:
    """SHOW, of all settings for None."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Deallocate:
    """Drop a prepared statement, or all for None."""

    name: str | None


@dataclass(frozen=True, slots=True)
class Discard:
    """DISCARD ALL and parts of it."""

    tag: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """What there is nothing to do for."""

    tag: str


Statement = (
    Question | Explain | Copy | Declare | Fetch | CloseCursor | Begin | Commit | Rollback | Savepoint | Release | Set
    | Reset | Show | Deallocate | Discard | Nothing
)  # fmt: skip
