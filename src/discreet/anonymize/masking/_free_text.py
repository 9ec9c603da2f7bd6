"""Free text: what looks like an address, a number or a name is replaced by the name of its kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from discreet.anonymize.masking._analyzers import Analyzer
from discreet.anonymize.masking._mask import Mask, of_different_texts
from discreet.errors import ParameterError

__all__ = ["PATTERNS", "FreeText", "recall"]

PATTERNS: Mapping[str, str] = {
    "EMAIL": r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}",
    "URL": r"https?://[^\s<>\"]{1,2000}",
    "IP": r"\b(?:\d{1,3}\.){3}\d{1,3}\b",
    "IBAN": r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b",
    "CARD": r"\b(?:\d[ -]?){13,19}\b",
    "SSN": r"\b\d{3}-\d{2}-\d{4}\b",
    "DATE": r"\b(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})\b",
    "PHONE": r"(?<!\w)\+?\(?\d[\d ()/.-]{6,18}\d(?: ?(?:x|ext\.?) ?\d{1,6})?(?!\w)",
}
"""What each kind looks like; earlier kinds go first."""
_MATCHED = "\0"
_WORD = re.compile(r"[^\W\d_]{3,}|\d{3,}")
_Passage = tuple[int, int, str]
"""Where a passage starts and ends, and its kind."""


@dataclass(frozen=True)
class FreeText(Mask):
    """Replaces what patterns and an analyzer find by ``[KIND]``. What they do not find stays, and may tell who it is.

    Attributes
    ----------
    patterns
        A regular expression for each kind.
    analyzer
        What finds names, places and others: `load_presidio` makes one.
    language
        The language that the analyzer is told.
    least_score
        Passages of which the analyzer is less sure stay.

    >>> import pyarrow as pa
    >>> FreeText().apply(pa.chunked_array([["call 555-0123-456 or write to ada@example.org"]])).to_pylist()
    ['call [PHONE] or write to [EMAIL]']
    """

    patterns: Mapping[str, str] = field(default_factory=lambda: PATTERNS)
    analyzer: Analyzer | None = field(default=None, repr=False)
    language: str = "en"
    least_score: float = 0.35

    def __post_init__(self) -> None:
        """Raises `ParameterError` for patterns that are none."""
        for kind, pattern in self.patterns.items():
            try:
                re.compile(pattern)
            except re.error as error:
                raise ParameterError(f"the pattern of {kind} is no regular expression: {error}") from None
        if not 0 <= self.least_score <= 1:
            raise ParameterError(f"least_score is a number from 0 to 1, not {self.least_score!r}")

    def apply(self, column: pa.ChunkedArray[Any]) -> pa.Array:
        """See `Mask.apply`. Raises `ParameterError` too if the analyzer refuses a text, or its language."""
        compiled = [(kind, re.compile(pattern)) for kind, pattern in self.patterns.items()]

        def masked(text: str) -> str:
            pieces: list[str] = []
            after = 0
            for start, end, kind in _merged([*_matches(text, compiled), *self._recognized(text)]):
                pieces += [text[after:start], f"[{kind}]"]
                after = end
            return "".join([*pieces, text[after:]])

        return of_different_texts(column, masked, pa.string())

    def _recognized(self, text: str) -> list[_Passage]:
        if self.analyzer is None or not text:
            return []
        try:
            results = self.analyzer.analyze(text=text, language=self.language)
        except (ValueError, KeyError) as error:
            raise ParameterError(f"the analyzer refuses a text in the language {self.language!r}: {error}") from None
        if not all(0 <= each.start < each.end <= len(text) for each in results):
            raise ParameterError("the analyzer names a passage that is not in its text: use another")
        return [(each.start, each.end, each.entity_type) for each in results if each.score >= self.least_score]


def _matches(text: str, patterns: Sequence[tuple[str, re.Pattern[str]]]) -> list[_Passage]:
    """What the patterns match, one after the other: what one has matched no later one sees."""
    passages: list[_Passage] = []
    for kind, pattern in patterns:
        passages += [(*each.span(), kind) for each in pattern.finditer(text) if each.group()]
        text = pattern.sub(lambda each: _MATCHED * len(each.group()), text)
    return passages


def _merged(passages: Sequence[_Passage]) -> list[_Passage]:
    """Passages that overlap as one, in order, of the kind of its longest part.

    >>> _merged([(8, 12, "B"), (0, 4, "A"), (3, 9, "LONG")])
    [(0, 12, 'LONG')]
    """
    merged: list[_Passage] = []
    longest = 0
    for start, end, kind in sorted(passages, key=lambda each: each[:2]):
        if merged and start < merged[-1][1]:
            first, last, before = merged[-1]
            merged[-1] = (first, max(last, end), kind if end - start > longest else before)
            longest = max(longest, end - start)
        else:
            merged.append((start, end, kind))
            longest = end - start
    return merged


def recall(mask: Mask, texts: Sequence[str], identifying: Sequence[Sequence[str]]) -> float:
    """The share of identifying passages that a mask takes out of texts in which somebody has marked them.

    A passage is taken out if no word or number of three characters in it is left anywhere in its text. Raises
    `ParameterError` if none is marked. What a mask misses in other texts may be more.

    >>> recall(FreeText(), ["I am Ada, ada@example.org"], [["Ada", "ada@example.org"]])
    0.5
    """
    masked = mask.apply(pa.chunked_array([list(texts)])).to_pylist()
    gone = [
        _is_gone(passage, str(after))
        for after, passages in zip(masked, identifying, strict=True)
        for passage in passages
    ]  # fmt: skip
    if not gone:
        raise ParameterError("no passage is marked as identifying: there is nothing to measure")
    return sum(gone) / len(gone)


def _is_gone(passage: str, masked: str) -> bool:
    words = _WORD.findall(passage)
    return passage not in masked and (not words or set(words).isdisjoint(_WORD.findall(masked)))
