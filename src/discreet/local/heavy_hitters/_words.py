"""The estimate of every scheme that finds words without a list of candidates, and the base of these schemes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal, longitudinal_of
from discreet.local._domain import integer
from discreet.local._estimate import Floats, wilson
from discreet.local._exp_epsilon import epsilon_of
from discreet.local._scheme import Scheme
from discreet.local.heavy_hitters._letters import Letters, letters_of
from discreet.local.heavy_hitters._text_sketch import TextTable
from discreet.privacy import Loss, pure
from discreet.rational import Number, rational

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["WordScheme", "WordsEstimate"]

_MOST_CELLS = 2**26


@dataclass(frozen=True, slots=True, eq=False)
class WordsEstimate:
    """Words and their estimated frequencies, the most frequent first. Computed from reports alone.

    Attributes
    ----------
    words
        The words that were found, or the candidates that were asked for. Longer ones are cut as those of clients are.
    frequencies
        The estimated share of each among the people who reported. The highest of many estimates are biased upwards, by
        a part of `stderr`.
    stderr
        The standard error of each: over the randomness of the clients, of who is asked about whole words, and of which
        words collide.
    reports
        How many reports there were.
    threshold
        Words with a higher estimate are found; the probability that any word that nobody has is among them is at most
        the scheme's `false_words`. Candidates that were asked for are all listed; this is then the threshold for as
        many words.
    """

    words: tuple[str, ...]
    frequencies: Floats
    stderr: Floats
    reports: int
    threshold: float

    def __len__(self) -> int:
        return len(self.words)

    @property
    def counts(self) -> Floats:
        """The frequencies as numbers of people."""
        return self.frequencies * self.reports

    def top(self, k: int) -> WordsEstimate:
        """The `k` most frequent words, or all if there are fewer. Raises `ParameterError` unless k is 0 or more."""
        if isinstance(k, bool) or not isinstance(k, int) or k < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"k must be a whole number, 0 or more, got {k!r}")
        return WordsEstimate(self.words[:k], self.frequencies[:k], self.stderr[:k], self.reports, self.threshold)

    def interval(self, level: Number = 0.95) -> tuple[Floats, Floats]:
        """Lower and upper ends for each word's share of the population that people were drawn from, within 0 … 1.

        By the normal approximation, each word on its own, and before any choice: for words that were found it holds
        for those well above the threshold. Raises `ParameterError` unless 0 < level < 1.
        """
        return wilson(self.frequencies, self.stderr, self.reports, level)

    def to_arrow(self, level: Number = 0.95) -> pa.Table:
        """A table: word, frequency, stderr, and the interval's low and high."""
        import pyarrow as pa

        low, high = self.interval(level)
        numbers = {"frequency": self.frequencies, "stderr": self.stderr, "low": low, "high": high}
        words = pa.array(list(self.words), type=pa.string())
        return pa.table({"word": words, **{name: pa.array(each) for name, each in numbers.items()}})


@dataclass(frozen=True, slots=True, init=False)
class WordScheme(Scheme[WordsEstimate]):
    """A scheme for any texts, which finds the frequent ones without a list of them."""

    epsilon: Fraction
    length: int
    alphabet: str | None
    key: int
    false_words: Fraction
    longitudinal: Longitudinal

    def _settle(  # noqa: PLR0913 - as the constructors
        self,
        epsilon: Number,
        *,
        length: int,
        alphabet: str | None,
        by: int,
        key: int,
        false_words: Number,
        longitudinal: Longitudinal,
        **own: object,
    ) -> None:
        """Check and set the parameters of all word schemes, and set the scheme's `own`; words grow `by` letters."""
        letters = letters_of(alphabet, length, by)
        common = {
            "epsilon": epsilon_of(epsilon),
            "length": letters.length,
            "alphabet": letters.alphabet,
            "key": integer(key, "key", 0, 2**32 - 1),
            "false_words": _chance_of(false_words),
            "longitudinal": longitudinal_of(longitudinal),
        }
        for name, value in {**common, **own}.items():
            object.__setattr__(self, name, value)
        if self.cells > _MOST_CELLS:
            raise ParameterError(
                f"a server of this scheme would keep {self.cells:,} counts; take fewer rows, 2**26 are the most"
            )

    @property
    def loss(self) -> Loss:
        """Pure ε of one report, for a sender who changes their word to any other."""
        return pure(self.epsilon)

    @property
    def letters(self) -> Letters:
        """How words are spelt."""
        return Letters(self.alphabet, self.length)

    def prepare(self, values: Any) -> NDArray[Any]:
        """The spelling of each text, cut to `length`; without an alphabet, half a surrogate pair counts as '?'."""
        return self.letters.spelt(values)

    def words_estimate(
        self, table: TextTable, spelt: list[str], reports: int, candidates: Sequence[str] | None
    ) -> WordsEstimate:
        """The words whose estimate is above the threshold; or all of them, if candidates were asked for."""
        shares = table.frequencies(spelt)
        threshold = table.threshold(float(self.false_words) / max(len(spelt), 1))
        order = np.argsort(-shares, kind="stable")
        if candidates is None:
            order = order[shares[order] > threshold]
        words = tuple(self.letters.text(spelt[place]) for place in order.tolist())
        return WordsEstimate(words, shares[order], np.sqrt(table.variance(shares[order])), reports, threshold)

    def asked(self, candidates: Sequence[str]) -> list[str]:
        """The spellings of candidates, each once."""
        return list(dict.fromkeys(self.letters.spelt(candidates).tolist()))


def _chance_of(false_words: Number) -> Fraction:
    """The exact chance; raises `ParameterError` unless 1e-12 ≤ chance < 1."""
    exact = rational(false_words, "false_words")
    if not Fraction(1, 10**12) <= exact < 1:
        raise ParameterError(f"false_words is the chance of a false word, from 1e-12 to below 1, got {false_words!r}")
    return exact
