"""Choices and patterns in Spark, where it has its own way."""

from __future__ import annotations

import re
from collections.abc import Mapping

from discreet.engines.sql import CHOICES as SHARED
from discreet.engines.sql import Rendering, Write, Writer
from discreet.query import Call

__all__ = ["CHOICES"]


def _like(*, folded: bool) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        value, pattern = writer.value(call.args[0], "string"), call.args[1].unnest().name
        if folded:
            value, pattern = f"lower({value})", pattern.lower()
        return f"rlike({value}, {writer.dialect.text(_expression(pattern))})"

    return render


def _expression(pattern: str) -> str:
    """A pattern of LIKE as a regular expression that does not go back.

    What stands between two % is looked for once, from the left: if a text matches at all, it does so. Otherwise one
    long text could keep the engine busy for as long as its length to the power of ten.
    """
    first, *more = [re.sub("_", ".", _quoted(part)) for part in re.split("%+", pattern)]
    middle = "".join(f"(?>.*?{part})" for part in more[:-1])
    return rf"(?s)\A{first}{middle}" + (rf".*{more[-1]}\z" if more else r"\z")


def _quoted(text: str) -> str:
    return "".join(c if c.isalnum() or c == "_" or ord(c) > 127 else f"\\x{ord(c):02x}" for c in text)


def _extreme(name: str) -> Rendering:
    def render(call: Call, _: Writer, write: Write) -> str:
        written = [write(node) for node in call.args]
        return written[0] if len(written) == 1 else f"{name}({', '.join(written)})"

    return render


CHOICES: Mapping[str, Rendering] = {
    **SHARED,
    "LIKE": _like(folded=False),
    "ILIKE": _like(folded=True),
    "GREATEST": _extreme("greatest"),
    "LEAST": _extreme("least"),
}
"""By the name that plans use."""
