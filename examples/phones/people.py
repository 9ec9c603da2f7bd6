"""What a million people who do not exist say: an emoji each, and a word, as often as Zipf has it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLOCKS = ((0x1F600, 0x1F64F), (0x1F400, 0x1F43E), (0x1F337, 0x1F37C), (0x1F442, 0x1F4E2))
_LIKED = "😂😍😊🙏💕😭😘👍😅👏😁💔💖💙😢😆😉👌😎💪"
EMOJI = list(dict.fromkeys([*_LIKED, *(chr(code) for first, last in _BLOCKS for code in range(first, last + 1))]))
"""The public list: faces, animals, food and things of Unicode 6, those that are liked best first."""

_COMMON = """
    you the that what this have just like know good when time want think really going love people about because tomorrow
    home night work today happy thanks sorry maybe birthday weekend morning little please again friend school
    never always better where coming dinner waiting pizza coffee train phone music party movie beach summer rain
"""
_FIRST = "sun moon rain snow fire star wind sea sand road book fish bird tree rock hand foot head door gold"
_SECOND = "light ship house way board man wood side line work mark fall shop land yard bed stone pot cup bow"
SLANG = {
    "skibblo": 2,
    "yeetly": 4,
    "vibecheq": 7,
    "glorpy": 10,
    "bruhzone": 14,
    "snackle": 19,
    "zoomish": 26,
    "mehbrb": 36,
}
"""Words that nobody has listed, and how many others are said more often."""

_KNOWN = [*_COMMON.split(), *(one + two for two in _SECOND.split() for one in _FIRST.split())]


def _with_slang() -> list[str]:
    words = list(_KNOWN)
    for word, place in SLANG.items():
        words.insert(place, word)
    return words


WORDS = _with_slang()
"""All words that are said, the most frequent first."""


def shares(names: list[str], people: int) -> NDArray[np.int64]:
    """How many of the people say each: in proportion to 1/rank, and all of them together."""
    weights = np.cumsum(1 / np.arange(1, len(names) + 1))
    return np.diff(np.rint(weights / weights[-1] * people).astype(np.int64), prepend=0)


def said(names: list[str], people: int, question: int) -> NDArray[np.int64]:
    """Which of the names each person says, in an order that is the same every time."""
    everybody = np.repeat(np.arange(len(names)), shares(names, people))
    return np.random.default_rng(question).permutation(everybody)
