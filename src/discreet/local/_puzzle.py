"""Fragments joined to words: one at each position, all of the same puzzle piece."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["joined"]

_MOST_OF_A_PIECE = 2**11


def joined(found: Sequence[Sequence[tuple[int, str, float]]], size: int, length: int) -> list[tuple[int, str]]:
    """The words, each with its piece, that the fragments (piece, letters, frequency) of the positions make.

    A fragment of fewer than `size` letters ends the word: only empty ones follow. Should a piece begin more than 2**11
    words at some position, those are kept whose rarest fragment is the most frequent. Costs no privacy: it works on
    what clients have randomized.

    >>> joined([[(7, "ta", 0.5), (9, "ca", 0.2)], [(7, "b", 0.5), (7, "xi", 0.1)]], size=2, length=4)
    [(7, 'tab'), (7, 'taxi')]
    """
    words: list[tuple[int, str]] = []
    for piece in dict.fromkeys(piece for piece, _, _ in found[0]):
        begun = [("", 1.0)]
        for place, fragments in enumerate(found):
            mine = [(letters, share) for each, letters, share in fragments if each == piece]
            open_at = place * size
            begun = [
                (prefix + letters, min(least, share))
                for prefix, least in begun
                for letters, share in mine
                if not letters or len(prefix) == open_at
            ]
            if len(begun) > _MOST_OF_A_PIECE:
                begun = sorted(begun, key=lambda each: -each[1])[:_MOST_OF_A_PIECE]
        words += [(piece, word) for word, _ in begun]
    assert all(len(word) <= length for _, word in words)
    return words
