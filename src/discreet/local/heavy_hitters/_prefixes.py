"""Search of the prefix tree: each person reports a prefix of one length, and the server extends the best."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local._domain import integer
from discreet.local._estimate import Floats
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local.heavy_hitters._text_sketch import WORD_HASH, TextSketch, TextTable
from discreet.local.heavy_hitters._words import WordScheme, WordsEstimate
from discreet.noise import Draws
from discreet.rational import Number

__all__ = ["PrefixScheme"]

_TABLE = 2**17


@dataclass(frozen=True, slots=True, init=False)
class PrefixScheme(WordScheme):
    """A word scheme with a group of people for each of some prefix lengths; a third of all report the whole word."""

    hash_names: ClassVar[tuple[str, ...]] = (WORD_HASH,)

    step: int
    rows: int
    width: int

    def _settle_groups(
        self, epsilon: Number, *, step: int, rows: int | None, width: int, most_width: int, **more: Any
    ) -> None:
        """Check what all prefix schemes have; by default there are 2**17 buckets in all."""
        width, step = integer(width, "width", 2, most_width), integer(step, "step", 1, 20)
        rows = integer(_TABLE // width if rows is None else rows, "rows", 1, 2**16)
        self._settle(epsilon, by=step, step=step, rows=rows, width=width, **more)

    @property
    @abstractmethod
    def sketch(self) -> TextSketch:
        """The sketch of prefixes; each person sends one report of it."""

    @property
    @abstractmethod
    def followed(self) -> int:
        """How many prefixes are extended at most."""

    @property
    @abstractmethod
    def falsely_followed(self) -> int | None:
        """How many of them nobody has, at most on average; `None` for no limit."""

    @property
    def lengths(self) -> tuple[int, ...]:
        """The prefix length of each group."""
        return (*range(self.step, self.length, self.step), self.length)

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this scheme, and the name of the hash function's specification."""
        return {
            "epsilon": str(self.epsilon),
            "length": self.length,
            "alphabet": self.alphabet,
            "step": self.step,
            "rows": self.rows,
            "width": self.width,
            "key": self.key,
            "false_words": str(self.false_words),
            "hash": WORD_HASH,
        }

    @property
    def layout(self) -> Layout:
        """That of the sketch: group, row and cell in one number."""
        return self.sketch.layout

    @property
    def cells(self) -> int:
        """The counts of the sketch."""
        return self.sketch.cells

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A group, drawn independently of the word, and a report of the prefix of that group's length."""
        lengths = self.lengths
        last = len(lengths) - 1
        groups = np.minimum(draws.below(max(3 * last, 1), prepared.size) >> 1, last)
        spelt = prepared.tolist()
        prefixes = np.empty(len(spelt), dtype=object)
        prefixes[:] = [word[: lengths[group]] for word, group in zip(spelt, groups.tolist(), strict=True)]
        return self.sketch.perturb(prefixes, groups, draws)

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count groups, rows and cells."""
        self.sketch.tally(fields, counts)

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> WordsEstimate:
        """Extend, estimate and keep the best, length by length; of the last, keep the words above the threshold."""
        lengths = self.lengths
        last = self.sketch.table(counts, len(lengths) - 1, reports)
        if candidates is not None:
            return self.words_estimate(last, self.asked(candidates), reports, candidates)
        prefixes, start = [""], 0
        for group, length in enumerate(lengths[:-1]):
            table = self.sketch.table(counts, group, reports)
            longer = self.letters.extended(prefixes, start, length)
            prefixes = [longer[place] for place in self._best(table.frequencies(longer), table).tolist()]
            start = length
        return self.words_estimate(last, self.letters.extended(prefixes, start, self.length), reports, None)

    def _best(self, shares: Floats, table: TextTable) -> Integers:
        most = self.falsely_followed
        least = 0.0 if most is None else table.threshold(min(most / max(len(shares), 1), 0.5))
        order = np.argsort(-shares, kind="stable")[: self.followed]
        return order[shares[order] > least]
