"""Functions of texts that every engine writes in the same way: what they make has a public length at most."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.engines.sql._dialect import Rendering, Write, Writer
from discreet.query import LONGEST_TEXT, Call

__all__ = ["TEXTS", "cut", "strings"]


def cut(sql: str, most: int = LONGEST_TEXT) -> str:
    """The beginning of a text, no longer than texts may be."""
    return f"substring({sql}, 1, {most})"


def strings(name: str) -> Rendering:
    """A function of texts by its name."""

    def render(call: Call, writer: Writer, _: Write) -> str:
        return f"{name}({', '.join(writer.value(node, 'string') for node in call.args)})"

    return render


def _together(call: Call, writer: Writer, _: Write) -> str:
    left, right = (cut(writer.value(node, "string")) for node in call.args)
    return cut(f"({left} || {right})")


def _replace(call: Call, writer: Writer, _: Write) -> str:
    value, searched, replacement = (writer.value(node, "string") for node in call.args)
    return cut(f"replace({cut(value)}, {searched}, {replacement})")


TEXTS: Mapping[str, Rendering] = {"||": _together, "REPLACE": _replace}
