"""TreeHist: a Hadamard count sketch for each prefix length, and a search of the prefix tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.local._codec import Longitudinal
from discreet.local._domain import integer
from discreet.local.frequencies._hadamard import HadamardResponse
from discreet.local.heavy_hitters._prefixes import PrefixScheme
from discreet.local.heavy_hitters._text_sketch import TextSketch
from discreet.rational import Number

__all__ = ["TreeHist"]

_MOST_WIDTH = 2**10
_MOST_KEPT = 2**12


@dataclass(frozen=True, slots=True, init=False)
class TreeHist(PrefixScheme):
    """Finds frequent words without a list of candidates: searches the prefix tree above a threshold.

    As `PrefixExtending`, with Hadamard response in each row of a count sketch, and a threshold in place of the `keep`
    best: on average at most `false_prefixes` of the prefixes that nobody has pass it at each length. A word is found if
    its estimate is above a threshold; the probability that any word that nobody has is above it is at most
    `false_words`. The state has at most groups·rows·4·(width + 1) counts. Pure ε-local privacy. Raises `ParameterError`
    unless 1e-6 ≤ ε ≤ 100, and for parameters out of the ranges below.
    Source: Bassily, Nissim, Stemmer and Thakurta 2017, "Practical Locally Private Heavy Hitters", Section 3 (TreeHist,
    whose reports are one bit at any ε; here they are for ε up to 1); ``proofs/words.md``.

    Parameters
    ----------
    length, alphabet, step, key, false_words
        As for `PrefixExtending`.
    rows, width
        Public hash functions, and the buckets of each, from 2 to 2**10; by default 2**17 of them in all.
    false_prefixes
        How many prefixes that nobody has are followed at each length, on average at most; from 1 to 2**10. At most
        2**12 prefixes are followed at all.

    >>> scheme = TreeHist(4, length=3, alphabet="abt", rows=64)
    >>> reports = scheme.client().encode(["tab"] * 6000 + ["bat"] * 4000)
    >>> scheme.server().add(reports).estimate().top(2).words
    ('tab', 'bat')
    """

    protocol: ClassVar[str] = "tree_hist"
    reading: ClassVar[frozenset[str]] = frozenset({"false_words", "false_prefixes"})

    false_prefixes: int

    def __init__(  # noqa: PLR0913 - these are what a collector chooses
        self,
        epsilon: Number,
        *,
        length: int,
        alphabet: str | None = None,
        step: int = 1,
        rows: int | None = None,
        width: int = 64,
        key: int = 0,
        false_prefixes: int = 64,
        false_words: Number = "0.05",
        longitudinal: Longitudinal = "once",
    ) -> None:
        self._settle_groups(
            epsilon,
            length=length,
            alphabet=alphabet,
            step=step,
            rows=rows,
            width=width,
            most_width=_MOST_WIDTH,
            key=key,
            false_words=false_words,
            longitudinal=longitudinal,
            false_prefixes=integer(false_prefixes, "false_prefixes", 1, 2**10),
        )

    def parameters(self) -> dict[str, Any]:
        """Those of every prefix scheme, and `false_prefixes`."""
        return {**PrefixScheme.parameters(self), "false_prefixes": self.false_prefixes}

    @property
    def sketch(self) -> TextSketch:
        """Hadamard response among the buckets of a row."""
        return TextSketch(HadamardResponse(self.width, self.epsilon), len(self.lengths), self.rows, self.key)

    @property
    def followed(self) -> int:
        """2**12."""
        return _MOST_KEPT

    @property
    def falsely_followed(self) -> int:
        """`false_prefixes`."""
        return self.false_prefixes
