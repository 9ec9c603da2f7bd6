"""Plain JSON of releases: the digest by which it is known again, and no numbers that JSON has no words for."""

from __future__ import annotations

import hashlib
import json
import math

__all__ = ["check_finite", "json_digest", "parse_finite"]


def json_digest(content: object) -> str:
    """SHA-256 of plain JSON, whatever the order of its names. Stored hashes rest on it: it never changes.

    >>> json_digest({"a": 1, "b": 2}) == json_digest({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def parse_finite(text: str | bytes) -> object:
    """The value of a JSON text. Raises `ValueError` for none, and for NaN and infinities, which no release can save."""
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def check_finite(plain: object) -> None:
    """Raise `ValueError` if a number in plain JSON is NaN or infinite."""
    json.dumps(plain, allow_nan=False)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number of JSON")
    return number
