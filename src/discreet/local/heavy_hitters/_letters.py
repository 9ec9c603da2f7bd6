"""How a text is spelt: in the letters of a public alphabet, or in the bytes of its UTF-8, up to a public length."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._domain import integer, texts_of

__all__ = ["Letters", "letters_of"]

_LONGEST = 256
_MOST_TAILS = 2**20


@dataclass(frozen=True, slots=True)
class Letters:
    """A text as a spelling: a `str` of letters, of at most `length`. Without an alphabet each letter is a byte.

    A spelling of fewer letters than were asked for is a complete word.
    """

    alphabet: str | None
    length: int

    @property
    def every(self) -> str:
        """All letters; bytes are the characters of latin-1."""
        return _BYTES if self.alphabet is None else self.alphabet

    def spelt(self, values: Any) -> NDArray[Any]:
        """The spelling of each text, one or many; a text is cut to as many whole characters as fit.

        Raises `ParameterError` for anything but text, and for a character that is not in the alphabet.
        """
        texts = texts_of(values)
        places: dict[Any, int] = {}
        which = np.fromiter((places.setdefault(text, len(places)) for text in texts), dtype=np.int64, count=len(texts))
        spellings = np.empty(len(places), dtype=object)
        spellings[:] = [self._spelt(text) for text in places]
        return spellings[which]

    def text(self, spelling: str) -> str:
        """The text of a complete spelling for which `alive` is true."""
        return spelling if self.alphabet is not None else spelling.encode("latin-1").decode()

    def alive(self, spelling: str, *, ended: bool) -> bool:
        """Whether this is the spelling of some text, or if it has not `ended`, the beginning of one."""
        if self.alphabet is not None:
            return True
        try:
            spelling.encode("latin-1").decode()
        except UnicodeDecodeError as refusal:
            return not ended and refusal.reason == "unexpected end of data"
        return True

    def tails(self, most: int) -> tuple[str, ...]:
        """Every continuation of at most `most` letters."""
        return _tails(self.every, most)

    def extended(self, prefixes: Iterable[str], start: int, stop: int) -> list[str]:
        """Every valid extension of prefixes of `start` letters to at most `stop`; complete words stay as they are."""
        spellings: list[str] = []
        for prefix in prefixes:
            if len(prefix) < start:
                spellings.append(prefix)
                continue
            for tail in self.tails(stop - start):
                longer = prefix + tail
                if self.alive(longer, ended=len(longer) < stop or stop == self.length):
                    spellings.append(longer)
        return spellings

    def _spelt(self, text: str) -> str:
        if self.alphabet is None:
            cut = text[: self.length].encode("utf-8", "replace")[: self.length]
            return cut.decode("utf-8", "ignore").encode().decode("latin-1")
        cut = text[: self.length]
        if not set(text) <= set(self.alphabet):
            raise ParameterError(
                "a text has a character that is not in the alphabet; leave it out, put one of the alphabet in its "
                "place, or make the scheme without an alphabet, for any text"
            )
        return cut


def letters_of(alphabet: str | Sequence[str] | None, length: int, step: int) -> Letters:
    """The spelling in an alphabet. Raises `ParameterError` unless its characters are distinct and UTF-8 can write them.

    Also if `step` letters have more than 2**20 continuations.
    """
    if alphabet is not None:
        if not isinstance(alphabet, str) or not alphabet or len(set(alphabet)) != len(alphabet):
            raise ParameterError("alphabet must be a text of different characters, such as 'abc', or None for any text")
        try:
            alphabet.encode()
        except UnicodeEncodeError:
            raise ParameterError("alphabet must be text that UTF-8 can write") from None
    letters = Letters(alphabet, integer(length, "length", 1, _LONGEST))
    if sum(len(letters.every) ** i for i in range(step + 1)) > _MOST_TAILS:
        raise ParameterError(
            f"there are more than 2**20 ways to spell {step} letters of {len(letters.every)}; take fewer at once"
        )
    return letters


_BYTES = bytes(range(256)).decode("latin-1")


@lru_cache(maxsize=8)
def _tails(every: str, most: int) -> tuple[str, ...]:
    return tuple("".join(tail) for size in range(most + 1) for tail in itertools.product(every, repeat=size))
