"""The sequence fragment puzzle: reports of a word's fragment with a hash of the word, and of the whole word."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal
from discreet.local._domain import integer
from discreet.local._exp_epsilon import epsilon_of
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local.frequencies._unary import OptimizedUnary
from discreet.local.heavy_hitters._text_sketch import WORD_HASH, TextSketch, piece_of
from discreet.local.heavy_hitters._words import WordScheme, WordsEstimate
from discreet.noise import Draws
from discreet.rational import Number, rational

__all__ = ["SequenceFragmentPuzzle", "joined"]


_MOST = 2**16

_Begun = list[tuple[int, str, float]]


def joined(by_position: Sequence[Sequence[tuple[int, str, float]]], size: int) -> list[tuple[int, str]]:
    """Join fragments (piece, letters, frequency), listed by position, to words, each with its piece.

    A fragment of fewer than `size` letters ends the word: only empty ones follow. At each position at most 2**16
    beginnings of words are kept, those whose rarest fragment is the most frequent; the others are never built. Costs no
    privacy: post-processing of randomized reports.

    >>> joined([[(7, "ta", 0.5), (9, "ca", 0.2)], [(7, "b", 0.5), (7, "xi", 0.1)]], size=2)
    [(7, 'tab'), (7, 'taxi')]
    """
    begun = list(by_position[0])
    for place, fragments in enumerate(by_position[1:], start=1):
        full = place * size
        least = _least_kept(begun, list(fragments), full)
        above = list(_longer(begun, fragments, full, float(np.nextafter(least, np.inf))))
        even = (each for each in _longer(begun, fragments, full, least) if each[2] == least)
        begun = [*above, *islice(even, _MOST - len(above))]
    return [(piece, word) for piece, word, _ in begun]


def _longer(
    begun: _Begun, fragments: Sequence[tuple[int, str, float]], full: int, least: float
) -> Iterator[tuple[int, str, float]]:
    """Extend beginnings of `full` letters by fragments of their piece, shorter ones by an empty one."""
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
    """The greatest threshold that at least 2**16 extended beginnings reach; −∞ if there are fewer."""
    open_ = _columns([each for each in begun if len(each[1]) == full])
    ended = _columns([each for each in begun if len(each[1]) != full])
    more, empty = _columns(fragments), _columns([each for each in fragments if not each[1]])
    pieces = 1 + max((piece for piece, *_ in (*begun, *fragments)), default=0)

    def joins(least: float) -> int:
        numbers = [np.bincount(piece[share >= least], minlength=pieces) for piece, share in (open_, more, ended, empty)]
        return int(numbers[0] @ numbers[1] + numbers[2] @ numbers[3])

    steps = np.unique(np.concatenate([each[1] for each in (open_, ended, more)]))
    low, high = -1, len(steps)  # from steps[high] on, too few reach it
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if joins(float(steps[middle])) >= _MOST else (low, middle)
    return float(steps[low]) if low >= 0 else -np.inf


def _columns(some: _Begun) -> tuple[np.ndarray, np.ndarray]:
    return np.array([each[0] for each in some], dtype=np.int64), np.array([each[2] for each in some], dtype=np.float64)


_MOST_FRAGMENTS = 2**24
_WHOLE_WORDS = 1 << 32
"""Added to the key of the sketch of whole words, so that it does not repeat the collisions of the other sketch."""


@dataclass(frozen=True, slots=True, init=False)
class SequenceFragmentPuzzle(WordScheme):
    """Finds frequent words without a list of candidates: fragments with the same puzzle piece are joined to words.

    Each person reports two things, each by a count-mean sketch: a fragment of their word at a position that public
    coins choose, together with the puzzle piece, a hash of the whole word; and the whole word. The fragment has
    `fragment_share` of ε, the word the rest. The server lists the `keep` best fragments of each position, joins those
    of one piece, keeps the words whose piece it is, and ranks them by the sketch of whole words. A word is found if its
    estimate is above a threshold; the probability that any word that nobody has is above it is at most `false_words`.
    The state has positions·rows·(width + 1) + word_rows·(word_width + 1) counts. Pure ε-local privacy. Raises
    `ParameterError` unless both parts of ε are from 1e-6 to 100, for parameters out of the ranges below, and for more
    than 2**24 fragments with pieces at all positions together.
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
    hash_names: ClassVar[tuple[str, ...]] = (WORD_HASH,)
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
        fragment = integer(fragment, "fragment", 1, 20)
        self._settle(
            exact,
            length=length,
            alphabet=alphabet,
            by=fragment,
            key=key,
            false_words=false_words,
            longitudinal=longitudinal,
            fragment=fragment,
            pieces=integer(pieces, "pieces", 2, 2**16),
            fragment_share=share,
            keep=integer(keep, "keep", 1, 2**14),
            rows=integer(rows, "rows", 1, 2**16),
            width=integer(width, "width", 2, 2**12),
            word_rows=integer(word_rows, "word_rows", 1, 2**16),
            word_width=integer(word_width, "word_width", 2, 2**12),
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
        """The sketch of fragments with their pieces, with a group for each position."""
        inner = OptimizedUnary(self.width, self.epsilon * self.fragment_share)
        return TextSketch(inner, self.positions, self.rows, self.key)

    @property
    def whole_words(self) -> TextSketch:
        """The sketch of whole words, all in one group."""
        inner = OptimizedUnary(self.word_width, self.epsilon * (1 - self.fragment_share))
        return TextSketch(inner, 1, self.word_rows, self.key + _WHOLE_WORDS)

    @property
    def layout(self) -> Layout:
        """Position and row of the fragment, row of the word; the bits of both, the fragment's in whole bytes."""
        limits = self.fragments.layout.limits + self.whole_words.layout.limits
        return Layout(limits, 8 * self._split + self.word_width)

    @property
    def cells(self) -> int:
        """The counts of both sketches, fragments first."""
        return self.fragments.cells + self.whole_words.cells

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A random position, whatever the word is; reports of the fragment there with the piece, and of the word."""
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
        """Reports in which the bits that pad the fragment's last byte are 0."""
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
        """Find frequent fragments, join them, and keep the words above the threshold; or estimate the candidates."""
        table = self.whole_words.table(counts[self.fragments.cells :], 0, reports)
        if candidates is not None:
            return self.words_estimate(table, self.asked(candidates), reports, candidates)
        by_position = [self._best_fragments(counts, position, reports) for position in range(self.positions)]
        letters = self.letters
        spelt = [
            word
            for piece, word in joined(by_position, self.fragment)
            if self.piece(word) == piece and letters.alive(word, ended=True)
        ]
        return self.words_estimate(table, spelt, reports, None)

    def piece(self, word: str) -> int:
        """The puzzle piece of a word as it is spelt."""
        return piece_of(word, self.key, self.pieces)

    def puzzle(self, piece: int, fragment: str) -> str:
        """The text that is sketched for a fragment: its piece in four hex digits, and the letters."""
        return f"{piece:04x}{fragment}"

    @property
    def _split(self) -> int:
        return -(-self.width // 8)

    def _best_fragments(self, counts: Integers, position: int, reports: int) -> list[tuple[int, str, float]]:
        table = self.fragments.table(counts[: self.fragments.cells], position, reports)
        room = min(self.fragment, self.length - position * self.fragment)
        tails = self.letters.tails(room)
        shares = np.concatenate(
            [table.frequencies([self.puzzle(piece, tail) for tail in tails]) for piece in range(self.pieces)]
        )
        order = np.argsort(-shares, kind="stable")[: self.keep]
        best = order[shares[order] > 0].tolist()
        return [(place // len(tails), tails[place % len(tails)], float(shares[place])) for place in best]
