"""A list of words that no corpus has, the same every time, and people who say them as Zipf has it."""

from __future__ import annotations

import numpy as np

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def word_list(size: int) -> list[str]:
    """`size` different words of 3 to 10 letters, from a linear congruential generator (Knuth's MMIX)."""
    state, found = 12345, dict[str, None]()

    def drawn(n: int) -> int:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % n

    while len(found) < size:
        found["".join(LETTERS[drawn(26)] for _ in range(3 + drawn(8)))] = None
    return list(found)


def zipf_people(words: list[str], people: int, exponent: float = 1.1) -> list[str]:
    """Words as often as Zipf has it, near `people` in all, the most frequent first."""
    weights = 1 / np.arange(1, len(words) + 1) ** exponent
    counts = np.rint(people * weights / weights.sum()).astype(int)
    return [word for word, count in zip(words, counts.tolist(), strict=True) for _ in range(count)]
