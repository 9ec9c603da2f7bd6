"""What a text asks: queries, and the statements around them that PostgreSQL's clients send.

Source: PostgreSQL manual, reference pages of each command.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from sqlglot import Dialect, TokenType
from sqlglot.errors import SqlglotError

from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres.values.copying import CopyFormat

__all__ = [
    "Begin", "CloseCursor", "Commit", "Copy", "Deallocate", "Declare", "Discard", "Explain", "Fetch", "Nothing", "Question",
    "Release", "Reset", "Rollback", "Savepoint", "Set", "Show", "Statement", "read_statement", "split",
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
    Question | Explain | Copy | Declare | Fetch | CloseCursor | Begin | Commit | Rollback | Savepoint | Release | Set | Reset
    | Show | Deallocate | Discard | Nothing
)  # fmt: skip

_POSTGRES = Dialect.get_or_raise("postgres")
_QUERY_WORDS: Final = {"SELECT", "WITH", "VALUES", "TABLE", "("}
_WRITES: Final = frozenset(
    "INSERT UPDATE DELETE MERGE TRUNCATE CREATE DROP ALTER GRANT REVOKE COMMENT VACUUM ANALYZE CLUSTER REINDEX REFRESH IMPORT "
    "LOCK CALL DO SECURITY REASSIGN CHECKPOINT LOAD".split()
)
_WORD = re.compile(
    r"""\s+|--[^\n]*|/\*.*?\*/|(?P<text>[eE]?'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*')|"(?P<quoted>(?:[^"]|"")*)"|"""
    r"""(?P<word>[^\W\d][\w$]*)|(?P<number>[+-]?\d[\d.]*(?:[eE][+-]?\d+)?)|(?P<sign>.)""",
    re.DOTALL,
)
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
_MOST_ROWS = 2**31 - 1


def split(text: str) -> list[str]:
    """The statements of a text, each from its first word on. Raises `SqlError` (42601) for what has no words."""
    try:
        tokens = _POSTGRES.tokenize(text)
    except (SqlglotError, RecursionError):
        raise SqlError("42601", "syntax error: a text, a name or a comment has no end") from None
    statements: list[str] = []
    start: int | None = None
    end = 0
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            if start is not None:
                statements.append(text[start:end])
            start = None
            continue
        start, end = token.start if start is None else start, token.end + 1
    return statements if start is None else [*statements, text[start:end]]


def read_statement(text: str) -> Statement:
    """What one statement asks. Raises `SqlError` for what is malformed, or refused whatever the policy is."""
    match = re.match(r"[^\W\d]\w*|\(", text)
    first = match[0].upper() if match else ""
    if first in _QUERY_WORDS:
        return Question(text)
    if first == "EXPLAIN":
        return _explain(text)
    if first in _WRITES:
        raise SqlError("25006", f"cannot execute {first} here: a source is only read", "Ask SELECT of aggregates.")
    read = _READERS.get(first)
    if read is None:
        raise SqlError("42601", "syntax error at the first word: a statement here begins with SELECT or WITH")
    words = _Words(text)
    words.take(first)
    return read(words)


class _Words:
    """The words of a statement, taken one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = [each for each in _WORD.finditer(text) if each.lastgroup is not None]
        self._at = 0

    def take(self, *words: str) -> bool:
        """Whether these words come next; if so, they are taken."""
        coming = self._words[self._at : self._at + len(words)]
        if [each[0].upper() for each in coming] != list(words):
            return False
        self._at += len(words)
        return True

    def take_any(self, *words: str) -> str | None:
        """The one of some words that comes next."""
        return next((word for word in words if self.take(word)), None)

    def must(self, *words: str) -> None:
        if not self.take(*words):
            raise self.error()

    def name(self) -> str:
        """A name: folded unless it is quoted."""
        match self._next():
            case ("quoted", text):
                return text.replace('""', '"')
            case ("word", text):
                return text.lower()
            case _:
                raise self.error()

    def dotted(self) -> str:
        name = self.name()
        while self.take("."):
            name += "." + self.name()
        return name

    def value(self) -> str:
        """A text, a number or a word."""
        kind, text = self._next()
        if kind == "text":
            return _unquoted(text)
        if kind == "quoted":
            return text.replace('""', '"')
        if kind in ("word", "number"):
            return text
        raise self.error()

    def count(self) -> int | None:
        """A number of rows if one comes next."""
        if self._at < len(self._words) and self._words[self._at].lastgroup == "number":
            text = self._next()[1]
            if not text.lstrip("+-").isdigit() or len(text) > 12:
                raise self.error()
            return min(int(text), _MOST_ROWS)
        return None

    def rest(self) -> str:
        """What follows, as text."""
        if self._at >= len(self._words):
            raise self.error()
        start, self._at = self._words[self._at].start(), len(self._words)
        return self._text[start:]

    def parenthesized(self) -> str:
        """The text within the parentheses that come next."""
        depth, start = 0, self._at
        for at in range(start, len(self._words)):
            depth += (self._words[at][0] == "(") - (self._words[at][0] == ")")
            if depth == 0:
                self._at = at + 1
                return self._text[self._words[start].end() : self._words[at].start()]
        raise self.error()

    def comes(self, word: str) -> bool:
        return self._at < len(self._words) and self._words[self._at][0].upper() == word

    def end(self) -> None:
        if self._at < len(self._words):
            raise self.error()

    def error(self) -> SqlError:
        return SqlError("42601", "syntax error: this statement is not understood here")

    def _next(self) -> tuple[str, str]:
        if self._at >= len(self._words):
            raise self.error()
        match = self._words[self._at]
        self._at += 1
        kind = str(match.lastgroup)
        return kind, match[kind]


def _unquoted(text: str) -> str:
    if text[0] in "eE":
        plain = text[2:-1].replace("''", "'")
        return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), plain, flags=re.DOTALL)
    return text[1:-1].replace("''", "'")


def _explain(text: str) -> Explain:
    words = _Words(text)
    words.take("EXPLAIN")
    if words.comes("("):
        options = words.parenthesized().upper()
        if "JSON" in options or "XML" in options or "YAML" in options:
            raise SqlError("0A000", "a plan is text here", "Leave FORMAT out.")
    else:
        words.take("ANALYZE")
        words.take("VERBOSE")
    rest = words.rest()
    inner = read_statement(rest)
    if not isinstance(inner, Question):
        raise SqlError("0A000", "only a SELECT has a plan")
    return Explain(rest)


def _begin(words: _Words) -> Begin:
    words.take_any("WORK", "TRANSACTION")
    _modes(words)
    return Begin("BEGIN")


def _start(words: _Words) -> Begin:
    words.must("TRANSACTION")
    _modes(words)
    return Begin("START TRANSACTION")


def _modes(words: _Words) -> None:
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


def _chain(words: _Words) -> bool:
    words.take_any("WORK", "TRANSACTION")
    chain = words.take("AND", "CHAIN")
    if not chain:
        words.take("AND", "NO", "CHAIN")
    words.end()
    return chain


def _rollback(words: _Words) -> Rollback:
    words.take_any("WORK", "TRANSACTION")
    if words.take("TO"):
        words.take("SAVEPOINT")
        name = words.name()
        words.end()
        return Rollback(name)
    return Rollback(None, _chain(words))


def _savepoint(words: _Words) -> Savepoint:
    name = words.name()
    words.end()
    return Savepoint(name)


def _release(words: _Words) -> Release:
    words.take("SAVEPOINT")
    name = words.name()
    words.end()
    return Release(name)


def _set(words: _Words) -> Statement:
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


def _reset(words: _Words) -> Statement:
    if words.take("ALL"):
        words.end()
        return Reset(None)
    if words.take("ROLE") or words.take("SESSION", "AUTHORIZATION"):
        return Nothing("RESET")
    name = "TimeZone" if words.take("TIME", "ZONE") else words.dotted()
    words.end()
    return Reset(name)


def _show(words: _Words) -> Show:
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


def _declare(words: _Words) -> Declare:
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
    if not isinstance(read_statement(text), Question):
        raise words.error()
    return Declare(name, text, hold)


def _fetching(*, moves: bool) -> Callable[[_Words], Fetch]:
    def read(words: _Words) -> Fetch:
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


def _close(words: _Words) -> CloseCursor:
    name = None if words.take("ALL") else words.name()
    words.end()
    return CloseCursor(name)


def _deallocate(words: _Words) -> Deallocate:
    words.take("PREPARE")
    name = None if words.take("ALL") else words.name()
    words.end()
    return Deallocate(name)


def _discard(words: _Words) -> Discard:
    part = words.take_any("ALL", "PLANS", "SEQUENCES", "TEMP", "TEMPORARY")
    words.end()
    if part is None:
        raise words.error()
    return Discard(f"DISCARD {part}")


def _unlisten(words: _Words) -> Nothing:
    words.rest()
    return Nothing("UNLISTEN")


def _unsupported(what: str) -> Callable[[_Words], Statement]:
    def read(words: _Words) -> Statement:  # noqa: ARG001 (whatever follows)
        raise SqlError("0A000", f"{what} is not supported here")

    return read


def _copy(words: _Words) -> Copy:
    if not words.comes("("):
        _copied_table(words)
    text = words.parenthesized().strip()
    if words.take("FROM"):
        raise SqlError("25006", "cannot execute COPY FROM here: a source is only read")
    words.must("TO")
    if not words.take("STDOUT"):
        raise SqlError("42501", "an answer is copied TO STDOUT alone: this server writes no files")
    if not isinstance(read_statement(text), Question):
        raise SqlError("0A000", "only the answer of a SELECT is copied")
    return Copy(text, _copy_format(words))


def _copied_table(words: _Words) -> None:
    words.dotted()
    if words.comes("("):
        words.parenthesized()
    if words.take("FROM"):
        raise SqlError("25006", "cannot execute COPY FROM here: a source is only read")
    raise SqlError(
        "42501", "rows about people are never released", "Copy an answer: COPY (SELECT COUNT(*) FROM …) TO STDOUT."
    )


def _copy_format(words: _Words) -> CopyFormat:
    options: dict[str, object] = {}
    words.take("WITH")
    if words.take("("):
        while True:
            name = words.name()
            options[name] = _option(words, name)
            if not words.take(","):
                break
        words.must(")")
    else:  # as it was written before PostgreSQL 9.0
        while (
            word := words.take_any("BINARY", "CSV", "HEADER", "DELIMITER", "NULL", "QUOTE", "ESCAPE", "FORCE")
        ) is not None:
            words.take("AS")
            if word in ("BINARY", "CSV"):
                options["format"] = word.lower()
            elif word == "HEADER":
                options["header"] = True
            elif word == "FORCE":
                words.must("QUOTE")
                options["force_quote"] = None if words.take("*") else _names(words)
            else:
                options[word.lower()] = words.value()
    words.end()
    return _checked(options)


def _option(words: _Words, name: str) -> object:
    if name == "header":
        if words.comes(",") or words.comes(")"):
            return True
        return words.value().lower() in ("true", "on", "1")
    if name == "force_quote":
        if words.take("*"):
            return None
        words.must("(")
        names = _names(words)
        words.must(")")
        return names
    return words.value()


def _names(words: _Words) -> frozenset[str]:
    names = {words.name()}
    while words.take(","):
        names.add(words.name())
    return frozenset(names)


def _checked(options: dict[str, object]) -> CopyFormat:
    kind = str(options.pop("format", "text")).lower()
    if str(options.pop("encoding", "utf8")).lower().replace("-", "") != "utf8":
        raise SqlError("0A000", "texts are in UTF-8 here")
    if kind == "binary":
        if options:
            raise SqlError("42601", "the binary format has no options")
        return CopyFormat("binary")
    if kind not in ("text", "csv"):
        raise SqlError("22023", "the formats to copy in are text, csv and binary")
    csv = kind == "csv"
    allowed = {"delimiter", "null", "header", *(("quote", "escape", "force_quote") if csv else ())}
    if unknown := options.keys() - allowed:
        raise SqlError("42601", f"there is no option {sorted(unknown)[0]} of COPY in format {kind}")
    quote = str(options.get("quote", '"'))
    forced = options.get("force_quote", frozenset())
    how = CopyFormat(
        "csv" if csv else "text",
        str(options.get("delimiter", "," if csv else "\t")),
        str(options.get("null", "" if csv else "\\N")),
        bool(options.get("header", False)),
        quote,
        str(options.get("escape", quote)),
        forced if isinstance(forced, frozenset) else None,
    )
    single = [how.delimiter, how.quote, how.escape]
    if any(len(each.encode()) != 1 or each in "\r\n" for each in single) or set("\r\n") & set(how.null):
        raise SqlError("22023", "a delimiter, a quote and an escape are one character each, and no line break")
    if (csv and how.delimiter == how.quote) or (not csv and how.delimiter in "\\.abcdefghijklmnopqrstuvwxyz0123456789"):
        raise SqlError("22023", "this delimiter cannot be told from the rows")
    if how.delimiter in how.null or (csv and how.quote in how.null):
        raise SqlError("22023", "the text for null holds no delimiter and no quote")
    return how


_READERS: Final[dict[str, Callable[[_Words], Statement]]] = {
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
