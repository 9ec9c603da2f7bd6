"""Count sketches of texts: each group has rows of hash buckets, and a frequency scheme reports a text's bucket."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.local._estimate import Estimate, Floats
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local._scheme import Scheme
from discreet.local.frequencies._supports import FrequencyScheme, SupportScheme, add_cells
from discreet.noise import Draws

__all__ = ["WORD_HASH", "Fingerprints", "TextSketch", "TextTable", "fingerprints", "hashed", "piece_of"]


WORD_HASH = "blake2b-shift-1"
"""The name of this specification in JSON. Another function gets another name."""

Fingerprints = NDArray[np.uint64]

_TEXT, _ROW, _PIECE = b"discreet words-1 text\0", b"discreet words-1 row\0", b"discreet words-1 piece\0"
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def fingerprints(texts: Iterable[tuple[int, str]], key: int) -> Fingerprints:
    """A word of 64 bits for each text and the label beside it: what `hashed` hashes.

    Specification ``blake2b-shift-1``: the BLAKE2b digest of 8 bytes of ``discreet words-1 text``, a zero byte, the key
    in 8 bytes (least first), the label in 8 bytes and the text in UTF-8, read as a whole number, least byte first. The
    bytes of a text that was given in UTF-8 are the characters of its latin-1 reading here.

    >>> fingerprints([(0, "ant"), (1, "ant")], key=0).tolist()
    [3470803266355398859, 13027501830686131914]
    """
    begun = blake2b(_TEXT + key.to_bytes(8, "little"), digest_size=8)
    digests = bytearray()
    for label, text in texts:
        state = begun.copy()
        state.update(label.to_bytes(8, "little") + text.encode())
        digests += state.digest()
    return np.frombuffer(bytes(digests), dtype="<u8").astype(np.uint64)


def hashed(marks: Fingerprints, rows: Integers, functions: int, key: int, size: int) -> Integers:
    """The bucket of each fingerprint, from 0 to size − 1, under the function of its row; both broadcast.

    For the halves x₁ and x₂ of a fingerprint, low and high, w is the high half of (a·x₁ + b·x₂ + c) mod 2**64, and the
    bucket ⌊w·size / 2**32⌋; a, b and c are the three words of the 24-byte BLAKE2b digest of ``discreet words-1 row``, a
    zero byte, the key and the row in 8 bytes each. For any two fingerprints the pair of w is uniform over the choice of
    a, b and c. Sizes are from 2 to 2**20. Source: Dietzfelbinger 1996 (multiply and shift, for vectors).
    """
    a, b, c = _coefficients(functions, key)
    high = (a[rows] * (marks & _LOW) + b[rows] * (marks >> _HALF) + c[rows]) >> _HALF
    return ((high * np.uint64(size)) >> _HALF).astype(np.int64)


def piece_of(text: str, key: int, pieces: int) -> int:
    """The puzzle piece of a whole text, from 0 to pieces − 1: ⌊w·pieces / 2**64⌋ for 8 bytes of BLAKE2b, as above."""
    digest = blake2b(_PIECE + key.to_bytes(8, "little") + text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") * pieces >> 64


@lru_cache(maxsize=16)
def _coefficients(functions: int, key: int) -> Fingerprints:
    start = _ROW + key.to_bytes(8, "little")
    digests = (blake2b(start + row.to_bytes(8, "little"), digest_size=24).digest() for row in range(functions))
    return np.ascontiguousarray(np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64).reshape(-1, 3).T)


_CELLS_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True)
class TextSketch:
    """A report names a row of its group, and is a report of `inner` about the text's bucket in that row.

    Group and row are public coins, so that a report's loss is that of `inner`. Which texts share a bucket depends on
    the group too.
    """

    inner: FrequencyScheme
    groups: int
    rows: int
    key: int

    @property
    def width(self) -> int:
        """The buckets of a row."""
        return self.inner.domain.size

    @property
    def _bits(self) -> int:
        return self.inner.layout.bits

    @property
    def _held(self) -> int:
        """The counts of a row: those of the inner scheme, and before them the number of reports if these are bits."""
        return self.inner.cells + (1 if self._bits else 0)

    @property
    def layout(self) -> Layout:
        """Group, row and cell in one number; or group and row in one, and bits."""
        places = self.groups * self.rows
        return Layout((places,), self._bits) if self._bits else Layout((places * self.inner.cells,))

    @property
    def cells(self) -> int:
        """The counts of all rows of all groups."""
        return self.groups * self.rows * self._held

    def perturb(self, texts: NDArray[Any], groups: Integers, draws: Draws) -> Bytes:
        """A row, and the inner report of the bucket there. Each text is hashed once for each group that reports it."""
        rows = draws.below(self.rows, texts.size)
        places: dict[Any, int] = {}
        which = np.fromiter((places.setdefault(text, len(places)) for text in texts.tolist()), dtype=np.int64)
        asked, back = np.unique(which * self.groups + groups, return_inverse=True)
        spelt = list(places)
        marks = fingerprints(((each % self.groups, spelt[each // self.groups]) for each in asked.tolist()), self.key)
        buckets = hashed(marks[back], rows, self.rows, self.key, self.width)
        fields = self.inner.layout.unpack(self.inner.perturb(buckets, draws))[0]
        place = groups * self.rows + rows
        if self._bits:
            return self.layout.pack(place, bits=fields.bits)
        return self.layout.pack(place * self.inner.cells + fields.numbers[0])

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count cells; for reports of bits, count each row's reports and the ones at each bit."""
        if not self._bits:
            add_cells(fields.numbers[0], counts)
            return
        table = counts.reshape(-1, self._held)
        order = np.argsort(fields.numbers[0], kind="stable")
        named, starts = np.unique(fields.numbers[0][order], return_index=True)
        for place, senders in zip(named.tolist(), np.split(order, starts[1:]), strict=False):
            table[place, 0] += senders.size
            self.inner.tally(Fields((), fields.bits[senders]), table[place, 1:])

    def table(self, counts: Integers, group: int, reports: int) -> TextTable:
        """The table of one group; `reports` is the number of reports in all groups."""
        mine = counts.reshape(self.groups, self.rows, self._held)[group]
        if self._bits:
            assert isinstance(self.inner, SupportScheme)
            held = mine[:, 0]
            p, q = self.inner.support_probabilities
            senders = (mine[:, 1:] - float(q) * held[:, None]) / float(p - q)
        else:
            held = mine.sum(axis=1)
            senders = mine @ _contributions(self.inner)
        return TextTable(self, group, reports, held, senders)


@dataclass(frozen=True, slots=True, eq=False)
class TextTable:
    """Unbiased estimates of how many people of a group have a text in each bucket of each row.

    Attributes
    ----------
    sketch, group
        The sketch, and which of its groups.
    total
        The reports of all groups.
    held
        The reports of each row.
    senders
        The estimates, by row and bucket.
    """

    sketch: TextSketch
    group: int
    total: int
    held: Integers
    senders: Floats

    @property
    def reports(self) -> int:
        """The reports of the group."""
        return int(self.held.sum())

    def frequencies(self, texts: Sequence[str]) -> Floats:
        """The estimated share of each text among the group's people; 0 if there is no report."""
        if not self.reports:
            return np.zeros(len(texts))
        sketch = self.sketch
        marks = fingerprints(((self.group, text) for text in texts), sketch.key)
        senders = np.zeros(len(texts))
        step = max(1, _CELLS_AT_ONCE // sketch.rows)
        rows = np.arange(sketch.rows)[:, None]
        for start in range(0, len(texts), step):
            some = slice(start, start + step)
            senders[some] = self.senders[rows, hashed(marks[some], rows, sketch.rows, sketch.key, sketch.width)].sum(
                axis=0
            )
        collision = 1 / sketch.width
        return (senders / self.reports - collision) / (1 - collision)

    def variance(self, estimates: Floats) -> Floats:
        """The variance of estimates: from the clients' noise, from collisions, and from who is in the group.

        ``proofs/words.md``, section 2.
        """
        if not self.reports:
            return np.full(estimates.shape, np.inf)
        shares, width = np.clip(estimates, 0, 1), self.sketch.width
        own, any_one = _spreads(self.sketch.inner)
        known = (1 - 1 / self.sketch.rows) * (1 - 1 / width) / width
        falling = (shares * own + (1 - shares) * (any_one + known)) / (1 - 1 / width) ** 2
        staying = np.maximum(self.squares - shares**2, 0) / (self.sketch.rows * (width - 1))
        chosen = shares * (1 - shares) * (1 - self.reports / self.total)
        return (falling + chosen) / self.reports + staying

    @property
    def squares(self) -> float:
        """The sum of the squares of all texts' shares, from 0 to 1, estimated from how uneven the buckets are."""
        held = self.held.astype(np.float64)
        pairs = float(held @ (held - 1))
        if pairs <= 0:
            return 1.0
        noise = self.sketch.width * _spreads(self.sketch.inner)[1]
        collision = 1 / self.sketch.width
        excess = float((self.senders**2).sum()) - self.reports * (1 + noise)
        return min(max((excess / pairs - collision) / (1 - collision), 0.0), 1.0)

    def threshold(self, chance: float) -> float:
        """A threshold that a text that nobody has exceeds with probability at most `chance`, by Bennett's inequality.

        In the model of ``proofs/words.md``, section 3; for any number of reports.
        """
        if not self.reports:
            return math.inf
        variance = float(self.variance(np.zeros(1))[0])
        most = _contributions_most(self.sketch.inner) / (self.reports * (1 - 1 / self.sketch.width))
        most = max(most, math.sqrt(self.squares) / self.sketch.rows)
        asked = -math.log(chance) * most**2 / variance
        low, high = 0.0, math.sqrt(2 * asked) + asked  # h(u) ≥ u²/(2 + 2u/3), so the end is beyond the root
        for _ in range(80):
            middle = (low + high) / 2
            if (1 + middle) * math.log1p(middle) - middle < asked:
                low = middle
            else:
                high = middle
        return high * variance / most


@lru_cache(maxsize=16)
def _contributions(inner: Scheme[Estimate]) -> Floats:
    """What a report of each cell adds to the estimated number of each value's senders: the estimate is their sum."""
    return np.array([inner.read(each, 1, None).frequencies for each in np.eye(inner.cells, dtype=np.int64)])


@lru_cache(maxsize=16)
def _contributions_most(inner: FrequencyScheme) -> float:
    """The most that one report adds beyond its mean, which is 0 or more."""
    if inner.layout.bits:
        assert isinstance(inner, SupportScheme)
        p, q = inner.support_probabilities
        return float((1 - q) / (p - q))
    return float(_contributions(inner).max())


@lru_cache(maxsize=16)
def _spreads(inner: FrequencyScheme) -> tuple[float, float]:
    """The variance of what a report adds to its sender's bucket, and to any bucket, on average over all."""
    size = inner.domain.size
    own = np.mean([inner.variance(each)[place] for place, each in enumerate(np.eye(size))])
    return float(own), float(inner.variance(np.full(size, 1 / size)).mean())
