"""Fragments joined to words: one at each position, all of the same puzzle piece."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

__all__ = ["joined"]

_MOST = 2**16

_Begun = list[tuple[int, str, float]]


def joined(found: Sequence[Sequence[tuple[int, str, float]]], size: int) -> list[tuple[int, str]]:
    """The words, each with its piece, that the fragments (piece, letters, frequency) of the positions make.

    A fragment of fewer than `size` letters ends the word: only empty ones follow. Should there be more than 2**16
    beginnings of words at some position, those stay whose rarest fragment is the most frequent, and no others are ever
    made. Costs no privacy: it works on what clients have randomized.

    >>> joined([[(7, "ta", 0.5), (9, "ca", 0.2)], [(7, "b", 0.5), (7, "xi", 0.1)]], size=2)
    [(7, 'tab'), (7, 'taxi')]
    """
    begun = list(found[0])
    for place, fragments in enumerate(found[1:], start=1):
        full = place * size
        least = _least_kept(begun, list(fragments), full)
        above = list(_longer(begun, fragments, full, float(np.nextafter(least, np.inf))))
        even = (each for each in _longer(begun, fragments, full, least) if each[2] == least)
        begun = [*above, *islice(even, _MOST - len(above))]
    return [(piece, word) for piece, word, _ in begun]


def _longer(
    begun: _Begun, fragments: Sequence[tuple[int, str, float]], full: int, least: float
) -> Iterator[tuple[int, str, float]]:
    """Beginnings of `full` letters with a fragment each, and shorter ones with an empty one, from a frequency on."""
    of_piece: defaultdict[int, list[tuple[str, float]]] = defaultdict(list)
    for piece, letters, share in fragments:
        if share >= least:
            of_piece[piece].append((letters, share))
    for piece, prefix, so_far in begun:
        if so_far >= least:
            for letters, share in of_piece[piece]:
                if not letters or len(prefix) == full:
                    yield piece, prefix + letters, min(so_far, share)


def _least_kept(begun: _Begun, fragments: _Begun, full: int) -> float:
    """The greatest frequency of a rarest fragment that as many as may stay have, or below it all if they are fewer."""
    open_ = _columns([each for each in begun if len(each[1]) == full])
    ended = _columns([each for each in begun if len(each[1]) != full])
    more, empty = _columns(fragments), _columns([each for each in fragments if not each[1]])
    pieces = 1 + max((piece for piece, *_ in (*begun, *fragments)), default=0)

    def joins(least: float) -> int:
        numbers = [np.bincount(piece[share >= least], minlength=pieces) for piece, share in (open_, more, ended, empty)]
        return int(numbers[0] @ numbers[1] + numbers[2] @ numbers[3])

    steps = np.unique(np.concatenate([each[1] for each in (open_, ended, more)]))
    low, high = -1, len(steps)  # of steps from `high` on there are too few
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if joins(float(steps[middle])) >= _MOST else (low, middle)
    return float(steps[low]) if low >= 0 else -np.inf


def _columns(some: _Begun) -> tuple[np.ndarray, np.ndarray]:
    return np.array([each[0] for each in some], dtype=np.int64), np.array([each[2] for each in some], dtype=np.float64)
