"""The words of one statement that is no query, taken one after the other.

Source: PostgreSQL manual, section "Lexical Structure".
"""

from __future__ import annotations

import re
from typing import Final

from discreet.server.postgres._refusals import SqlError

__all__ = ["Words"]

_WORD = re.compile(
    r"""\s+|--[^\n]*|/\*.*?\*/|(?P<text>[eE]?'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*')|"(?P<quoted>(?:[^"]|"")*)"|"""
    r"""(?P<word>[^\W\d][\w$]*)|(?P<number>[+-]?\d[\d.]*(?:[eE][+-]?\d+)?)|(?P<sign>.)""",
    re.DOTALL,
)
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
_MOST_ROWS = 2**31 - 1


class Words:
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
        """Take these words. Raises `SqlError` if others come."""
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
        """A name with its prefixes."""
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
        """Whether a word comes next, which stays."""
        return self._at < len(self._words) and self._words[self._at][0].upper() == word

    def end(self) -> None:
        """Raises `SqlError` if anything follows."""
        if self._at < len(self._words):
            raise self.error()

    def error(self) -> SqlError:
        """What a statement that is not understood raises."""
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
