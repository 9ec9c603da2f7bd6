"""Prefix extending: people in groups, each group reports prefixes of one length by local hashing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from discreet.local._codec import Longitudinal
from discreet.local._domain import integer
from discreet.local._exp_epsilon import epsilon_of, exp_epsilon
from discreet.local.frequencies._kary import KaryRandomizedResponse
from discreet.local.heavy_hitters._prefixes import PrefixScheme
from discreet.local.heavy_hitters._text_sketch import TextSketch
from discreet.rational import Number

__all__ = ["PrefixExtending"]

_MOST_WIDTH = 2**12
_WIDE = 2**7


@dataclass(frozen=True, slots=True, init=False)
class PrefixExtending(PrefixScheme):
    """Finds frequent words without a list of candidates: the server extends the `keep` best prefixes (PEM).

    Public coins choose which prefix a person reports, and a third of all people report the whole word; each sends one
    report of local hashing under public functions, at the full ε. A word of the last step is found if its estimate is
    above a threshold; the probability that any word that nobody has is above it is at most `false_words`. The state has
    groups·rows·width counts. Pure ε-local privacy. Raises `ParameterError` unless 1e-6 ≤ ε ≤ 100, and for parameters
    out of the ranges below.
    Source: Wang, Li and Jha 2021, "Locally Differentially Private Heavy Hitter Identification", Section 4 (PEM);
    ``proofs/words.md``.

    Parameters
    ----------
    length
        The most letters of a word, from 1 to 256; a longer one is cut to the whole characters that fit.
    alphabet
        The characters of all words, or `None` for any text: then letters are bytes of UTF-8.
    step
        By how many letters prefixes grow. More make fewer and larger groups, and more work for the server.
    keep
        How many prefixes are extended at each step, from 1 to 2**12.
    rows, width
        Public hash functions, and the buckets of each; by default near e^ε + 1 buckets, at most 128, and 2**17
        of them in all.
    key
        Selects the hash functions, from 0 to 2**32 − 1. A collection with another key has other collisions.
    false_words
        The probability that any word that nobody has is reported, from 1e-12 to below 1.

    >>> scheme = PrefixExtending(4, length=3, alphabet="abt", rows=64)
    >>> reports = scheme.client().encode(["tab"] * 6000 + ["bat"] * 4000)
    >>> scheme.server().add(reports).estimate().top(2).words
    ('tab', 'bat')
    """

    protocol: ClassVar[str] = "prefix_extending"
    reading: ClassVar[frozenset[str]] = frozenset({"keep", "false_words"})

    keep: int

    def __init__(  # noqa: PLR0913 - these are what a collector chooses
        self,
        epsilon: Number,
        *,
        length: int,
        alphabet: str | None = None,
        step: int = 1,
        keep: int = 64,
        rows: int | None = None,
        width: int | None = None,
        key: int = 0,
        false_words: Number = "0.05",
        longitudinal: Longitudinal = "once",
    ) -> None:
        if width is None:
            width = round(min(exp_epsilon(epsilon_of(epsilon)) + 1, _WIDE))
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
            keep=integer(keep, "keep", 1, 2**12),
        )

    def parameters(self) -> dict[str, Any]:
        """Those of every prefix scheme, and `keep`."""
        return {**PrefixScheme.parameters(self), "keep": self.keep}

    @property
    def sketch(self) -> TextSketch:
        """Randomized response among the buckets of a row."""
        return TextSketch(KaryRandomizedResponse(self.width, self.epsilon), len(self.lengths), self.rows, self.key)

    @property
    def followed(self) -> int:
        """`keep`."""
        return self.keep

    @property
    def falsely_followed(self) -> None:
        """None: no limit."""
        return
