"""The digest by which plain JSON is known again: of what a question asks, and of what a release holds."""

from __future__ import annotations

import hashlib
import json

__all__ = ["json_digest"]


def json_digest(content: object) -> str:
    """SHA-256 of plain JSON, whatever the order of its names. Stored hashes rest on it: it never changes.

    >>> json_digest({"a": 1, "b": 2}) == json_digest({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
