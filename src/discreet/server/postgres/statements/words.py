"""The words of one statement that is no query, taken one after the other.

Source: PostgreSQL manual, section "Lexical Structure".
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from discreet.server.postgres._refusals import SqlError
from discreet.server.postgres.statements.tokens import Token, tokens_of

__all__ = ["Words"]

_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}
_MOST_ROWS = 2**31 - 1


class Words:
    """The words of a statement, taken one after the other."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = tokens_of(text)
        self._at = 0

    def take(self, *words: str) -> bool:
        """Whether these words come next; if so, they are taken."""
        coming = self._words[self._at : self._at + len(words)]
        if [each.text.upper() for each in coming] != list(words):
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
        token = self._next()
        if token.kind == "quoted":
            return token.text[1:-1].replace('""', '"')
        if token.kind == "word":
            return token.text.lower()
        raise self.error()

    def dotted(self) -> str:
        """A name with its prefixes."""
        name = self.name()
        while self.take("."):
            name += "." + self.name()
        return name

    def value(self) -> str:
        """A text, a number or a word."""
        token = self._next()
        if token.text in ("+", "-") and self._at < len(self._words):
            number = self._next()
            return token.text + number.text if number.kind == "number" else self._fail()
        if token.kind == "text":
            return self._unquoted(token.text)
        if token.kind == "quoted":
            return token.text[1:-1].replace('""', '"')
        return token.text if token.kind in ("word", "number") else self._fail()

    def count(self) -> int | None:
        """A number of rows if one comes next."""
        sign = "-" if self.take("-") else ""
        if self._at >= len(self._words) or self._words[self._at].kind != "number":
            return self._fail() if sign else None
        text = self._next().text
        return min(int(sign + text), _MOST_ROWS) if text.isdecimal() and len(text) <= 12 else self._fail()

    def rest(self) -> str:
        """What follows, as text."""
        if self._at >= len(self._words):
            raise self.error()
        start, self._at = self._words[self._at].start, len(self._words)
        return self._text[start:]

    def parenthesized(self) -> str:
        """The text within the parentheses that come next."""
        depth, start = 0, self._at
        for at in range(start, len(self._words)):
            depth += (self._words[at].text == "(") - (self._words[at].text == ")")
            if depth == 0:
                self._at = at + 1
                return self._text[self._words[start].end : self._words[at].start]
        raise self.error()

    def comes(self, word: str) -> bool:
        """Whether a word comes next, which stays."""
        return self._at < len(self._words) and self._words[self._at].text.upper() == word

    def end(self) -> None:
        """Raises `SqlError` if anything follows."""
        if self._at < len(self._words):
            raise self.error()

    def error(self) -> SqlError:
        """What a statement that is not understood raises."""
        return SqlError("42601", "syntax error: this statement is not understood here")

    def _fail(self) -> NoReturn:
        raise self.error()

    def _next(self) -> Token:
        if self._at >= len(self._words):
            raise self.error()
        self._at += 1
        return self._words[self._at - 1]

    def _unquoted(self, text: str) -> str:
        if text[0] in "eE":
            plain = text[2:-1].replace("''", "'")
            return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), plain, flags=re.DOTALL)
        return text[1:-1].replace("''", "'") if text[0] == "'" else self._fail()
