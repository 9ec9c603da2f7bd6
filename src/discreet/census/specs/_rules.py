"""Linear rules between published numbers as a specification has them: ``people[relation = 'head'] = households``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from discreet.errors import ParameterError

__all__ = ["Rule", "Term"]

_SIGNS = ("<=", ">=", "=")
_TERM = re.compile(r"\s*(?:(\d+)\s*\*?)?\s*([^\W\d]\w*)")
_MOST = 1_000
_USUAL = "write for example people[relation = 'head'] = households, or households <= people"


@dataclass(frozen=True, slots=True)
class Term:
    """So many times the number of the people of a universe in the cells in which a condition holds.

    Attributes
    ----------
    factor
        A whole number, negative where the term stood on the right of its rule.
    universe
        Whose rows are counted.
    where
        A condition in SQL on columns of its tables; None for all rows.
    """

    factor: int
    universe: str
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A sum of terms that is 0, or 0 at most, in every area.

    Attributes
    ----------
    terms
        The terms of both sides.
    is_equal
        Whether the sum is 0; else it is 0 at most.

    >>> rule = Rule.parse("households <= people[NOT relation = 'inmate']")
    >>> rule.terms[1], rule.is_equal
    (Term(factor=-1, universe='people', where="NOT relation = 'inmate'"), False)
    """

    terms: tuple[Term, ...]
    is_equal: bool

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read a rule. Raises `ParameterError` for a text that is none."""
        outside = _without_conditions(text)
        sign = next((each for each in _SIGNS if each in outside), None)
        if sign is None:
            raise ParameterError(f"{text!r} compares nothing with =, <= or >=; {_USUAL}")
        at = outside.index(sign)
        if any(each in outside[at + len(sign) :] for each in "<>="):
            raise ParameterError(f"{text!r} compares twice; make two rules of it")
        left, right = text[:at], text[at + len(sign) :]
        if sign == ">=":
            left, right = right, left
        terms = [*_terms(left, 1, text), *_terms(right, -1, text)]
        return cls(tuple(terms), sign == "=")


def _without_conditions(text: str) -> str:
    """The text with blanks in place of what stands in brackets, and of the brackets."""
    shown: list[str] = []
    depth, quote = 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif depth and letter in "'\"":
            quote = letter
        elif letter == "[":
            depth += 1
        elif letter == "]":
            depth -= 1
            shown.append(" ")
            continue
        shown.append(" " if depth or quote else letter)
    if depth or quote:
        raise ParameterError(f"{text!r} has a bracket or a quote without its other end; {_USUAL}")
    return "".join(shown)


def _terms(side: str, sign: int, rule: str) -> Iterator[Term]:
    outside = _without_conditions(side)
    begin, pieces = 0, list[tuple[int, int, int]]()
    for match in re.finditer(r"[+-]", outside):
        pieces.append((begin, match.start(), 1 if begin == 0 or outside[begin - 1] == "+" else -1))
        begin = match.end()
    pieces.append((begin, len(side), 1 if begin == 0 or outside[begin - 1] == "+" else -1))
    for first, last, own in pieces:
        match = _TERM.match(outside, first, last)
        rest = side[match.end() : last].strip() if match is not None else "?"
        condition = rest[1:-1].strip() if rest.startswith("[") and rest.endswith("]") else None
        if match is None or (rest and not condition):
            part = side[first:last].strip() or "nothing"
            raise ParameterError(f"{rule!r} has {part!r} where a universe stands; {_USUAL}")
        factor = int(match[1] or 1)
        if not 0 < factor <= _MOST:
            raise ParameterError(f"{rule!r}: factors are whole numbers from 1 to {_MOST:,}")
        yield Term(sign * own * factor, match[2], condition)
