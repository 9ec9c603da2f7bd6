"""Fragments joined to words: one at each position, all of the same puzzle piece."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

__all__ = ["joined"]

_MOST = 2**16


def joined(found: Sequence[Sequence[tuple[int, str, float]]], size: int) -> list[tuple[int, str]]:
    """The words, each with its piece, that the fragments (piece, letters, frequency) of the positions make.

    A fragment of fewer than `size` letters ends the word: only empty ones follow. Should there be more than 2**16
    beginnings of words at some position, those stay whose rarest fragment is the most frequent. Costs no privacy: it
    works on what clients have randomized.

    >>> joined([[(7, "ta", 0.5), (9, "ca", 0.2)], [(7, "b", 0.5), (7, "xi", 0.1)]], size=2)
    [(7, 'tab'), (7, 'taxi')]
    """
    begun = [(piece, letters, share) for piece, letters, share in found[0]]
    for place, fragments in enumerate(found[1:], start=1):
        of_piece: defaultdict[int, list[tuple[str, float]]] = defaultdict(list)
        for piece, letters, share in fragments:
            of_piece[piece].append((letters, share))
        begun = [
            (piece, prefix + letters, min(least, share))
            for piece, prefix, least in begun
            for letters, share in of_piece[piece]
            if not letters or len(prefix) == place * size
        ]
        if len(begun) > _MOST:
            least_kept = float(np.partition([least for *_, least in begun], -_MOST)[-_MOST])
            begun = [each for each in begun if each[2] >= least_kept][:_MOST]
    return [(piece, word) for piece, word, _ in begun]
