"""Regular expressions that every linear-time matcher reads in the same way, and whose program is small.

A pattern is read by a grammar of its own when a query is planned, so that none can fail, or be too large, where rows
are read. What is not in the grammar is refused: references back, looking ahead, classes of Unicode, flags within.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from discreet.errors import QueryError

__all__ = ["LONGEST_PATTERN", "Pattern", "read_pattern", "read_replacement"]

LONGEST_PATTERN = 1_000
"""Characters of a regular expression."""
_MOST_COPIES = 200
"""Characters and classes that {n, m} writes out beside the pattern itself."""
_MOST_DEPTH = 20
_MOST_GROUPS = 50
_CLASSES = "dDwWsS"
_EDGES = "bB"
_CONTROLS = "tnrfv"
_META = "\\.[]()|*+?{}^$"
_POSIX = ("alpha", "digit", "alnum", "upper", "lower", "punct", "space", "blank", "xdigit", "word")
_COUNTED = re.compile(r"\{(\d{1,3})(,(\d{0,3}))?\}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that was read: how many groups it has, and whether Python surely matches as an engine does.

    `plain` says so: nothing repeats what repeats or may be empty, and few parts repeat, so that Python is quick too.
    """

    text: str
    groups: int
    plain: bool


@dataclass(slots=True)
class _Reader:
    text: str
    place: int = 0
    groups: int = 0
    copies: int = 0
    repeats: int = 0
    plain: bool = True

    def refuse(self, why: str) -> QueryError:
        return QueryError(f"the regular expression {self.text[:60]!r} is not supported: {why}")

    def next(self) -> str:
        return self.text[self.place : self.place + 1]

    def take(self, known: str) -> bool:
        if self.text.startswith(known, self.place):
            self.place += len(known)
            return True
        return False

    def choice(self, depth: int) -> int:
        """Alternatives up to the end or a closing bracket, and how many characters and classes they have."""
        if depth > _MOST_DEPTH:
            raise self.refuse(f"it has brackets within one another more than {_MOST_DEPTH} deep; use fewer")
        size = self.sequence(depth)
        while self.take("|"):
            size += 1 + self.sequence(depth)
        return size

    def sequence(self, depth: int) -> int:
        size, start = 0, self.place
        while self.next() not in ("", "|", ")"):
            size += self.repeated(depth)
        if self.place == start:
            raise self.refuse("a part of it is empty; write ? after what may be missing")
        return size

    def repeated(self, depth: int) -> int:
        edge = self.next() in "^$" or self.text.startswith(("\\b", "\\B"), self.place)
        grouped, before = self.next() == "(", self.repeats
        size = self.atom(depth)
        start = self.place
        counted = _COUNTED.match(self.text, self.place)
        times = 1
        if counted is not None:
            self.place = counted.end()
            least = int(counted[1])
            most = least if counted[2] is None else int(counted[3] or least + 1)
            if most < least or most > _MOST_COPIES:
                raise self.refuse(f"{counted[0]} has to rise, to {_MOST_COPIES} at most; use fewer copies")
            times = max(most, 1)
        elif not (self.take("*") or self.take("+") or self.take("?")):
            return size
        if edge:
            raise self.refuse(f"an edge, as ^ or $, cannot repeat; use it without {self.text[start : self.place]}")
        self.take("?")
        if self.next() and (self.next() in "*+?" or _COUNTED.match(self.text, self.place)):
            raise self.refuse("a repetition cannot repeat; use brackets, as (?:a+)*")
        self.copies += size * (times - 1)
        if self.copies > _MOST_COPIES:
            raise self.refuse(f"what its repetitions write out has more than {_MOST_COPIES} parts; use * or +")
        self.repeats += 1
        self.plain = self.plain and not (grouped and self.repeats > before + 1)
        return size * times

    def atom(self, depth: int) -> int:
        if self.take("("):
            if self.take("?:"):
                pass
            elif self.next() == "?":
                raise self.refuse("(? begins what matchers read in several ways; use ( or (?: alone")
            else:
                self.groups += 1
            size = self.choice(depth + 1)
            if not self.take(")"):
                raise self.refuse("a bracket is not closed; write \\( for one that is meant itself")
            return size
        if self.take("["):
            return self.listed()
        if self.take("\\"):
            return self.escaped()
        if self.next() in "*+?{}]" or (self.next() == "\x00"):
            raise self.refuse(f"{self.next()!r} stands where nothing is to repeat; write \\{self.next()} for itself")
        self.place += 1
        return 1

    def escaped(self) -> int:
        character = self.next()
        if character and (character in _CLASSES + _EDGES + _CONTROLS or (character.isascii() and _is_sign(character))):
            self.place += 1
            return 2
        raise self.refuse(f"\\{character} is read in several ways; use \\d, \\w, \\s, \\b, or \\ before a sign")

    def listed(self) -> int:
        """A class in square brackets, negated or not."""
        self.take("^")
        items, first = 0, True
        while not self.take("]"):
            items += 1
            if self.text.startswith("[:", self.place):
                end = self.text.find(":]", self.place)
                if self.text[self.place + 2 : end] not in _POSIX:
                    raise self.refuse(f"[: … :] is one of {', '.join(_POSIX)}; write \\[ for a bracket itself")
                self.place = end + 2
                items += 3
            elif self.next() == "-":
                self.place += 1
                if not (first or self.next() == "]"):
                    raise self.refuse("- stands first or last in [ … ], or between two characters; write \\-")
            else:
                self.ranged()
            first = False
        if not items:
            raise self.refuse("[ ] is empty; write the characters that it stands for")
        return 1 + items

    def ranged(self) -> None:
        low = self.one()
        if self.next() != "-" or self.text[self.place + 1 : self.place + 2] in ("]", ""):
            return
        self.place += 1
        high = self.one()
        if low is None or high is None or low > high:
            raise self.refuse("- stands between two characters in rising order; write \\- for itself")

    def one(self) -> str | None:
        """One character of a class; None for what stands for several."""
        if self.take("\\"):
            character = self.next()
            self.escaped()
            if character in _EDGES:
                raise self.refuse("\\b is no character; use it outside [ … ]")
            return None if character in _CLASSES + _CONTROLS else character
        character = self.next()
        if character in ("", "[", "\x00"):
            raise self.refuse("[ is not closed, or holds another; write \\[ for a bracket itself")
        self.place += 1
        return character


def _is_sign(character: str) -> bool:
    return not character.isalnum() and character.isprintable() and character not in " _"


def read_pattern(text: str) -> Pattern:
    r"""A regular expression, read by the grammar. Raises `QueryError` for what is not in it, or too large.

    >>> read_pattern(r"^([a-z]+)@(\w+)\.com$").groups
    2
    """
    if len(text) > LONGEST_PATTERN:
        raise QueryError(f"a regular expression has at most {LONGEST_PATTERN:,} characters; use a shorter one")
    reader = _Reader(text)
    if not text:
        raise reader.refuse("it is empty; use LIKE or CONTAINS")
    reader.choice(0)
    if reader.place < len(text):
        raise reader.refuse("a bracket closes that was never opened; write \\) for one that is meant itself")
    if reader.groups > _MOST_GROUPS:
        raise reader.refuse(f"it has more than {_MOST_GROUPS} groups; use (?: … )")
    quick = reader.repeats <= 2 and text.isascii() and text.isprintable()
    quick = quick and not any(sign in text for sign in ("|", "[:", "&&", "~~", "--", "\\B"))
    return Pattern(text, reader.groups, reader.plain and quick)


def read_replacement(text: str, pattern: Pattern) -> None:
    r"""Raise `QueryError` for a replacement that names a group that there is not, or ends in a backslash.

    >>> read_replacement(r"<\1>", read_pattern("(a|b)"))
    """
    for escape in re.findall(r"\\(.?)", text, re.DOTALL):
        if escape != "\\" and not (escape.isascii() and escape.isdigit() and int(escape) <= pattern.groups):
            raise QueryError(
                f"\\{escape} in a replacement is no group of {pattern.text[:60]!r}, which has {pattern.groups}; write "
                "\\0 for all that matched, \\1 for the first group, and \\\\ for a backslash"
            )
