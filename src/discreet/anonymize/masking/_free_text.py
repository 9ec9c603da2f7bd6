"""Free text: what looks like an address, a number or a date is replaced by the name of its kind."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

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
    "PHONE": r"(?<![\w])\+?\(?\d[\d ()/.-]{6,18}\d\b",
}
"""What each kind looks like; earlier kinds go first."""


@dataclass(frozen=True)
class FreeText(Mask):
    """Replaces what patterns find by ``[KIND]``. What they do not find stays: names, places, what tells a story.

    Attributes
    ----------
    patterns
        A regular expression for each kind.

    >>> import pyarrow as pa
    >>> FreeText().apply(pa.chunked_array([["call 555-0123-456 or write to ada@example.org"]])).to_pylist()
    ['call [PHONE] or write to [EMAIL]']
    """

    patterns: Mapping[str, str] = field(default_factory=lambda: PATTERNS)

    def __post_init__(self) -> None:
        """Raises `ParameterError` for patterns that are none."""
        for kind, pattern in self.patterns.items():
            try:
                re.compile(pattern)
            except re.error as error:
                raise ParameterError(f"the pattern of {kind} is no regular expression: {error}") from None

    def apply(self, column: pa.ChunkedArray[Any]) -> pa.Array:
        """See `Mask.apply`."""
        compiled = [(f"[{kind}]", re.compile(pattern)) for kind, pattern in self.patterns.items()]

        def masked(text: str) -> str:
            for shown, pattern in compiled:
                text = pattern.sub(shown, text)
            return text

        return of_different_texts(column, masked, pa.string())


def recall(mask: Mask, texts: Sequence[str], identifying: Sequence[Sequence[str]]) -> float:
    """The share of identifying passages that a mask takes out of texts in which somebody has marked them.

    Raises `ParameterError` if none is marked. What a mask misses in other texts may be more.

    >>> recall(FreeText(), ["I am Ada, ada@example.org"], [["Ada", "ada@example.org"]])
    0.5
    """
    masked = mask.apply(pa.chunked_array([list(texts)])).to_pylist()
    gone = [
        passage not in str(after) for after, passages in zip(masked, identifying, strict=True) for passage in passages
    ]
    if not gone:
        raise ParameterError("no passage is marked as identifying: there is nothing to measure")
    return sum(gone) / len(gone)
