"""The sequence fragment puzzle: a fragment of a word with a hash of the whole, and the whole word beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._frequencies._unary import OptimizedUnary
from discreet.local._layout import Bytes, Fields, Integers, Layout
from discreet.local._odds import epsilon_of
from discreet.local._scheme import Longitudinal
from discreet.local._whole import whole
from discreet.local._words._puzzle import joined
from discreet.local._words._text_sketch import TextSketch
from discreet.local._words._word_hash import WORD_HASH, piece_of
from discreet.local._words._words import WordScheme, WordsEstimate
from discreet.noise import Draws
from discreet.rational import Number, rational

__all__ = ["SequenceFragmentPuzzle"]

_MOST_FRAGMENTS = 2**24
_WHOLE_WORDS = 1 << 32
"""Added to the key of the sketch of whole words, so that its collisions are other ones."""


@dataclass(frozen=True, slots=True, init=False)
class SequenceFragmentPuzzle(WordScheme):
    """Finds frequent words that nobody listed: fragments with the same puzzle piece are joined to words.

    Each person reports two things, each by a count-mean sketch: a fragment of their word at a position that public
    coins choose, together with the puzzle piece, a hash of the whole word; and the whole word. The first has
    `fragment_share` of ε, the second the rest. The server lists the `keep` best fragments of each position, joins those
    of one piece, keeps the words whose piece it is, and ranks them by the sketch of whole words. Found are those whose
    estimate a word that nobody has exceeds with probability `false_words` at most, all such words together. The state
    has positions·rows·(width + 1) + word_rows·(word_width + 1) counts. Pure ε-local privacy. Raises `ParameterError`
    unless both parts of ε are from 1e-6 to 100, for parameters out of the ranges below, and for more than 2**24
    fragments with pieces at all positions together.
    Source: Apple's Differential Privacy Team 2017, "Learning with Privacy at Scale" (whose sketch flips all bits alike;
    here the bits are those of `OptimizedUnary`, with a lower error); ``proofs/words.md``.

    Parameters
    ----------
    length, alphabet, key, false_words
        As for `PrefixExtending`.
    fragment
        The letters of a fragment: by default 2 of an alphabet, or 1 byte of UTF-8.
    pieces
        How many puzzle pieces there are, from 2 to 2**16.
    fragment_share
        The part of ε that the fragment has, between 0 and 1.
    keep
        How many fragments of each position are joined, from 1 to 2**14.
    rows, width
        Public hash functions for fragments, and the buckets of each. A report has `width` bits for its fragment.
    word_rows, word_width
        The same for whole words.

    >>> scheme = SequenceFragmentPuzzle(8, length=4, alphabet="abt", rows=32, width=64, keep=20)
    >>> reports = scheme.client().encode(["tab"] * 6000 + ["bat"] * 4000)
    >>> scheme.server().add(reports).estimate().top(2).words
    ('tab', 'bat')
    """

    protocol: ClassVar[str] = "sequence_fragment_puzzle"
    reading: ClassVar[frozenset[str]] = frozenset({"keep", "false_words"})

    fragment: int
    pieces: int
    fragment_share: Fraction
    keep: int
    rows: int
    width: int
    word_rows: int
    word_width: int

    def __init__(  # noqa: PLR0913 - these are what a collector chooses
        self,
        epsilon: Number,
        *,
        length: int,
        alphabet: str | None = None,
        fragment: int | None = None,
        pieces: int = 256,
        fragment_share: Number = "0.6",
        keep: int = 2000,
        rows: int = 256,
        width: int = 1024,
        word_rows: int = 4096,
        word_width: int = 64,
        key: int = 0,
        false_words: Number = "0.05",
        longitudinal: Longitudinal = "once",
    ) -> None:
        exact, share = epsilon_of(epsilon), rational(fragment_share, "fragment_share")
        if not 0 < share < 1:
            raise ParameterError(f"fragment_share must be between 0 and 1, got {fragment_share!r}; 0.6 is a good one")
        epsilon_of(exact * share)
        epsilon_of(exact * (1 - share))
        if fragment is None:
            fragment = 1 if alphabet is None else 2
        fragment = whole(fragment, "fragment", 1, 20)
        self._settle(
            exact,
            length=length,
            alphabet=alphabet,
            by=fragment,
            key=key,
            false_words=false_words,
            longitudinal=longitudinal,
            fragment=fragment,
            pieces=whole(pieces, "pieces", 2, 2**16),
            fragment_share=share,
            keep=whole(keep, "keep", 1, 2**14),
            rows=whole(rows, "rows", 1, 2**16),
            width=whole(width, "width", 2, 2**12),
            word_rows=whole(word_rows, "word_rows", 1, 2**16),
            word_width=whole(word_width, "word_width", 2, 2**12),
        )
        if self.positions * len(self.letters.tails(fragment)) * self.pieces > _MOST_FRAGMENTS:
            raise ParameterError(
                "there are more than 2**24 fragments with pieces to look for; take shorter fragments or fewer pieces"
            )

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, and the name of the hash function's specification."""
        return {
            "epsilon": str(self.epsilon),
            "length": self.length,
            "alphabet": self.alphabet,
            "fragment": self.fragment,
            "pieces": self.pieces,
            "fragment_share": str(self.fragment_share),
            "keep": self.keep,
            "rows": self.rows,
            "width": self.width,
            "word_rows": self.word_rows,
            "word_width": self.word_width,
            "key": self.key,
            "false_words": str(self.false_words),
            "hash": WORD_HASH,
        }

    @property
    def positions(self) -> int:
        """How many fragments a word has; those after its end are empty."""
        return -(-self.length // self.fragment)

    @property
    def fragments(self) -> TextSketch:
        """Of fragments with pieces, a group for each position."""
        inner = OptimizedUnary(self.width, self.epsilon * self.fragment_share)
        return TextSketch(inner, self.positions, self.rows, self.key)

    @property
    def whole_words(self) -> TextSketch:
        """Of whole words, all in one group."""
        inner = OptimizedUnary(self.word_width, self.epsilon * (1 - self.fragment_share))
        return TextSketch(inner, 1, self.word_rows, self.key + _WHOLE_WORDS)

    @property
    def layout(self) -> Layout:
        """Position and row of the fragment, row of the word; the fragment's bits in whole bytes, and the word's."""
        limits = self.fragments.layout.limits + self.whole_words.layout.limits
        return Layout(limits, 8 * self._split + self.word_width)

    @property
    def cells(self) -> int:
        """Those of both sketches, fragments first."""
        return self.fragments.cells + self.whole_words.cells

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A position, whatever the word is; a report of the fragment there with the piece, and one of the word."""
        positions = draws.below(self.positions, prepared.size)
        spelt = prepared.tolist()
        pieces = {word: self.piece(word) for word in set(spelt)}
        fragments = np.empty(len(spelt), dtype=object)
        fragments[:] = [
            self.puzzle(pieces[word], word[place * self.fragment : (place + 1) * self.fragment])
            for word, place in zip(spelt, positions.tolist(), strict=True)
        ]
        one = self.fragments.perturb(fragments, positions, draws)
        two = self.whole_words.perturb(prepared, np.zeros(prepared.size, dtype=np.int64), draws)
        parts = [self.fragments.layout.unpack(one)[0], self.whole_words.layout.unpack(two)[0]]
        bits = np.concatenate([part.bits for part in parts], axis=1)
        return self.layout.pack(*(part.numbers[0] for part in parts), bits=bits)

    def genuine(self, fields: Fields) -> NDArray[np.bool_]:
        """Those where the bits that fill up the fragment's last byte are 0."""
        spare = self.width % 8
        if not spare:
            return np.ones(len(fields), dtype=np.bool_)
        return fields.bits[:, self._split - 1] < 1 << spare

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count both sketches."""
        one, two = fields.numbers
        self.fragments.tally(Fields((one,), fields.bits[:, : self._split]), counts[: self.fragments.cells])
        self.whole_words.tally(Fields((two,), fields.bits[:, self._split :]), counts[self.fragments.cells :])

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> WordsEstimate:
        """Find fragments, join them, and tell those that are words."""
        table = self.whole_words.table(counts[self.fragments.cells :], 0, reports)
        if candidates is not None:
            return self.told(table, self.asked(candidates), reports, candidates)
        found = [self._best_fragments(counts, position, reports) for position in range(self.positions)]
        letters = self.letters
        spelt = [
            word
            for piece, word in joined(found, self.fragment)
            if self.piece(word) == piece and letters.alive(word, ended=True)
        ]
        return self.told(table, spelt, reports, None)

    def piece(self, word: str) -> int:
        """The puzzle piece of a word as it is spelt."""
        return piece_of(word, self.key, self.pieces)

    def puzzle(self, piece: int, fragment: str) -> str:
        """What is sketched of a fragment: its piece in four hex digits, and the letters."""
        return f"{piece:04x}{fragment}"

    @property
    def _split(self) -> int:
        return -(-self.width // 8)

    def _best_fragments(self, counts: Integers, position: int, reports: int) -> list[tuple[int, str, float]]:
        table = self.fragments.table(counts[: self.fragments.cells], position, reports)
        room = min(self.fragment, self.length - position * self.fragment)
        tails = self.letters.tails(room)
        found = np.concatenate(
            [table.frequencies([self.puzzle(piece, tail) for tail in tails]) for piece in range(self.pieces)]
        )
        order = np.argsort(-found, kind="stable")[: self.keep]
        best = order[found[order] > 0].tolist()
        return [(place // len(tails), tails[place % len(tails)], float(found[place])) for place in best]
