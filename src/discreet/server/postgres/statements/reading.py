"""From a text to what it asks.

Source: PostgreSQL manual, reference pages of each command.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres.statements.copies import copied_query, copy_format
from discreet.server.postgres.statements.kinds import (
    Begin,
    CloseCursor,
    Commit,
    Copy,
    Deallocate,
    Declare,
    Discard,
    Explain,
    Fetch,
    Nothing,
    Question,
    Release,
    Reset,
    Rollback,
    Savepoint,
    Set,
    Show,
    Statement,
)
from discreet.server.postgres.statements.tokens import tokens_of
from discreet.server.postgres.statements.words import Words

__all__ = ["read_statement", "split"]

_QUERIES: Final = {"SELECT", "WITH", "VALUES", "TABLE", "("}
_WRITES: Final = {
    "ALTER", "ANALYZE", "CALL", "CHECKPOINT", "CLUSTER", "COMMENT", "CREATE", "DELETE", "DO", "DROP", "GRANT", "IMPORT",
    "INSERT", "LOAD", "LOCK", "MERGE", "REASSIGN", "REFRESH", "REINDEX", "REVOKE", "SECURITY", "TRUNCATE", "UPDATE",
    "VACUUM",
}  # fmt: skip


def split(text: str) -> list[str]:
    """The statements of a text, each from its first word on. Raises `SqlError` (42601) for a text without an end."""
    statements: list[str] = []
    start: int | None = None
    end = 0
    for token in tokens_of(text):
        if token.text == ";":
            if start is not None:
                statements.append(text[start:end])
            start = None
            continue
        start, end = token.start if start is None else start, token.end
    return statements if start is None else [*statements, text[start:end]]


def read_statement(text: str) -> Statement:
    """What one statement asks. Raises `SqlError` for what is malformed, or refused whatever the policy is."""
    first = _first_word(text)
    if first in _QUERIES:
        return Question(text)
    if first == "EXPLAIN":
        return _explain(text)
    if first in _WRITES:
        raise SqlError("25006", f"cannot execute {first} here: a source is only read", "Ask SELECT of aggregates.")
    read = _READERS.get(first)
    if read is None:
        raise SqlError("42601", "syntax error at the first word: a statement here begins with SELECT or WITH")
    words = Words(text)
    words.take(first)
    return read(words)


def _first_word(text: str) -> str:
    match = re.match(r"[^\W\d]\w*|\(", text)
    return match[0].upper() if match else ""


def _explain(text: str) -> Explain:
    words = Words(text)
    words.take("EXPLAIN")
    if words.comes("("):
        options = words.parenthesized().upper()
        if "JSON" in options or "XML" in options or "YAML" in options:
            raise SqlError("0A000", "a plan is text here", "Leave FORMAT out.")
    else:
        words.take("ANALYZE")
        words.take("VERBOSE")
    rest = words.rest()
    if _first_word(rest) not in _QUERIES:
        raise SqlError("0A000", "only a SELECT has a plan")
    return Explain(rest)


def _begin(words: Words) -> Begin:
    words.take_any("WORK", "TRANSACTION")
    _modes(words)
    return Begin("BEGIN")


def _start(words: Words) -> Begin:
    words.must("TRANSACTION")
    _modes(words)
    return Begin("START TRANSACTION")


def _modes(words: Words) -> None:
    """Modes of a transaction, which change nothing: nothing is written, and each answer stands for itself."""
    while True:
        if words.take("ISOLATION", "LEVEL"):
            if not (
                words.take("SERIALIZABLE")
                or words.take("REPEATABLE", "READ")
                or words.take("READ", "COMMITTED")
                or words.take("READ", "UNCOMMITTED")
            ):
                raise words.error()
        elif not (
            words.take("READ", "ONLY")
            or words.take("READ", "WRITE")
            or words.take("NOT", "DEFERRABLE")
            or words.take("DEFERRABLE")
        ):
            break
        words.take(",")
    words.end()


def _chain(words: Words) -> bool:
    words.take_any("WORK", "TRANSACTION")
    chain = words.take("AND", "CHAIN")
    if not chain:
        words.take("AND", "NO", "CHAIN")
    words.end()
    return chain


def _rollback(words: Words) -> Rollback:
    words.take_any("WORK", "TRANSACTION")
    if words.take("TO"):
        words.take("SAVEPOINT")
        name = words.name()
        words.end()
        return Rollback(name)
    return Rollback(None, _chain(words))


def _savepoint(words: Words) -> Savepoint:
    name = words.name()
    words.end()
    return Savepoint(name)


def _release(words: Words) -> Release:
    words.take("SAVEPOINT")
    name = words.name()
    words.end()
    return Release(name)


def _set(words: Words) -> Statement:
    if words.take("TRANSACTION") or words.take("SESSION", "CHARACTERISTICS", "AS", "TRANSACTION"):
        _modes(words)
        return Nothing("SET")
    local = words.take("LOCAL")
    if not local:
        words.take("SESSION")
    if words.take("TIME", "ZONE"):
        name, assigned = "TimeZone", True
    elif words.take("NAMES"):
        name, assigned = "client_encoding", True
    elif words.take("ROLE") or words.take("AUTHORIZATION"):
        if words.take_any("NONE", "DEFAULT") is None:
            raise SqlError("42501", "an account stays who it signed in as")
        words.end()
        return Nothing("SET")
    else:
        name = words.dotted()
        assigned = words.take_any("=", "TO") is not None
    if not assigned:
        raise words.error()
    if words.take_any("DEFAULT", "LOCAL") is not None:
        words.end()
        return Set(name, None, local)
    values = [words.value()]
    while words.take(","):
        values.append(words.value())
    words.end()
    return Set(name, ", ".join(values), local)


def _reset(words: Words) -> Statement:
    if words.take("ALL"):
        words.end()
        return Reset(None)
    if words.take("ROLE") or words.take("SESSION", "AUTHORIZATION"):
        return Nothing("RESET")
    name = "TimeZone" if words.take("TIME", "ZONE") else words.dotted()
    words.end()
    return Reset(name)


def _show(words: Words) -> Show:
    if words.take("ALL"):
        name = None
    elif words.take("TRANSACTION", "ISOLATION", "LEVEL"):
        name = "transaction_isolation"
    elif words.take("TIME", "ZONE"):
        name = "TimeZone"
    elif words.take("SESSION", "AUTHORIZATION"):
        name = "session_authorization"
    else:
        name = words.dotted()
    words.end()
    return Show(name)


def _declare(words: Words) -> Declare:
    name = words.name()
    while (option := words.take_any("BINARY", "INSENSITIVE", "ASENSITIVE", "SCROLL", "NO")) is not None:
        if option == "BINARY":
            raise SqlError("0A000", "a cursor has no format of its own here", "Ask for binary rows in Bind.")
    words.must("CURSOR")
    hold = words.take("WITH", "HOLD")
    if not hold:
        words.take("WITHOUT", "HOLD")
    words.must("FOR")
    text = words.rest()
    if _first_word(text) not in _QUERIES:
        raise words.error()
    return Declare(name, text, hold)


def _fetching(*, moves: bool) -> Callable[[Words], Fetch]:
    def read(words: Words) -> Fetch:
        count: int | None = 1
        if words.take_any("PRIOR", "FIRST", "LAST", "ABSOLUTE", "RELATIVE", "BACKWARD") is not None:
            raise SqlError("55000", "cursor can only scan forward", "Declare it again to start from its first row.")
        forward = words.take_any("NEXT", "FORWARD")
        if words.take("ALL"):
            count = None
        elif forward != "NEXT" and (number := words.count()) is not None:
            count = number
        words.take_any("FROM", "IN")
        name = words.name()
        words.end()
        if count is not None and count < 0:
            raise SqlError("55000", "cursor can only scan forward", "Declare it again to start from its first row.")
        return Fetch(name, count, moves)

    return read


def _close(words: Words) -> CloseCursor:
    name = None if words.take("ALL") else words.name()
    words.end()
    return CloseCursor(name)


def _deallocate(words: Words) -> Deallocate:
    words.take("PREPARE")
    name = None if words.take("ALL") else words.name()
    words.end()
    return Deallocate(name)


def _discard(words: Words) -> Discard:
    part = words.take_any("ALL", "PLANS", "SEQUENCES", "TEMP", "TEMPORARY")
    words.end()
    if part is None:
        raise words.error()
    return Discard(f"DISCARD {part}")


def _unlisten(words: Words) -> Nothing:
    words.rest()
    return Nothing("UNLISTEN")


def _unsupported(what: str) -> Callable[[Words], Statement]:
    def read(words: Words) -> Statement:  # noqa: ARG001 (whatever follows)
        raise SqlError("0A000", f"{what} is not supported here")

    return read


def _copy(words: Words) -> Copy:
    text = copied_query(words)
    if _first_word(text) not in _QUERIES:
        raise SqlError("0A000", "only the answer of a SELECT is copied")
    return Copy(text, copy_format(words))


_READERS: Final[dict[str, Callable[[Words], Statement]]] = {
    "BEGIN": _begin,
    "START": _start,
    "COMMIT": lambda words: Commit(_chain(words)),
    "END": lambda words: Commit(_chain(words)),
    "ROLLBACK": _rollback,
    "ABORT": _rollback,
    "SAVEPOINT": _savepoint,
    "RELEASE": _release,
    "SET": _set,
    "RESET": _reset,
    "SHOW": _show,
    "DECLARE": _declare,
    "FETCH": _fetching(moves=False),
    "MOVE": _fetching(moves=True),
    "CLOSE": _close,
    "COPY": _copy,
    "DEALLOCATE": _deallocate,
    "DISCARD": _discard,
    "UNLISTEN": _unlisten,
    "LISTEN": _unsupported("LISTEN"),
    "NOTIFY": _unsupported("NOTIFY"),
    "PREPARE": _unsupported("PREPARE: prepare by the protocol, as drivers do; this"),
    "EXECUTE": _unsupported("EXECUTE: prepare by the protocol, as drivers do; this"),
}
