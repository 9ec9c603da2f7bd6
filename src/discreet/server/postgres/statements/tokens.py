"""The tokens of SQL as PostgreSQL has them, which a parameter, a semicolon or a name may be told by.

Source: PostgreSQL manual, section "Lexical Structure".
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from discreet.server.postgres._refusals import SqlError

__all__ = ["Token", "tokens_of"]

_Kind = Literal["word", "quoted", "text", "number", "parameter", "sign"]

_NEXT = re.compile(
    r"(?P<space>\s+|--[^\n\r]*)|(?P<comment>/\*)|(?P<escaped>[eE]')|(?P<text>(?:[bBxXnN]|[uU]&)?')|(?P<quoted>(?:[uU]&)?\")"
    r"|(?P<dollar>\$(?:[^\W\d]\w*)?\$)|(?P<parameter>\$\d+)|(?P<word>[^\W\d][\w$]*)"
    r"|(?P<number>\d[\w.]*(?:(?<=[eE])[+-]\d+)?)|(?P<sign>::|<=|>=|<>|!=|\S)"
)
_COMMENT = re.compile(r"/\*|\*/")
_ESCAPED_END = re.compile(r"(?:[^'\\]|''|\\.)*'", re.DOTALL)
_KINDS: Final[dict[str, _Kind]] = {"parameter": "parameter", "word": "word", "number": "number", "sign": "sign"}


class Token(NamedTuple):
    """A token: its kind, its text as it is written, and its characters from `start` to before `end`."""

    kind: _Kind
    text: str
    start: int
    end: int


def tokens_of(text: str) -> list[Token]:
    r"""The tokens of a text; comments are none. Raises `SqlError` (42601) for a text, a name or a comment without end.

    >>> [(token.kind, token.text) for token in tokens_of("SELECT $1, '$2' /* $3 /* */ */ FROM \"a;b\"")]
    [('word', 'SELECT'), ('parameter', '$1'), ('sign', ','), ('text', "'$2'"), ('word', 'FROM'), ('quoted', '"a;b"')]
    """
    tokens: list[Token] = []
    at = 0
    while match := _NEXT.match(text, at):
        name, start, at = str(match.lastgroup), at, match.end()
        kind = _KINDS.get(name)
        if name == "comment":
            at = _comment_end(text, at)
        elif name in ("text", "quoted"):
            kind, at = ("text" if name == "text" else "quoted"), _quote_end(text, at, text[at - 1])
        elif name == "escaped":
            kind, at = "text", _end(_ESCAPED_END.match(text, at))
        elif name == "dollar":
            close = text.find(match[0], at)
            if close < 0:
                raise _unended()
            kind, at = "text", close + len(match[0])
        if kind is not None:
            tokens.append(Token(kind, text[start:at], start, at))
    return tokens


def _unended() -> SqlError:
    return SqlError("42601", "syntax error: a text, a name or a comment has no end")


def _end(match: re.Match[str] | None) -> int:
    if match is None:
        raise _unended()
    return match.end()


def _quote_end(text: str, at: int, quote: str) -> int:
    """Where a text ends in which two quotes are one."""
    while (close := text.find(quote, at)) >= 0:
        if text[close + 1 : close + 2] != quote:
            return close + 1
        at = close + 2
    raise _unended()


def _comment_end(text: str, at: int) -> int:
    """Where a comment ends, with those within it."""
    depth = 1
    while depth:
        match = _COMMENT.search(text, at)
        at = _end(match)
        depth += 1 if match is not None and match[0] == "/*" else -1
    return at
