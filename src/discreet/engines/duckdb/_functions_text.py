"""Functions of texts in DuckDB."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.engines.sql import Rendering, Write, Writer
from discreet.query import LONGEST_TEXT, Call

__all__ = ["TEXTS"]


def _cut(sql: str) -> str:
    return f"substring({sql}, 1, {LONGEST_TEXT})"


def _offset(node: exp.Expr, writer: Writer) -> str:
    """A position: null beyond 32 bits, where DuckDB would stop."""
    number = writer.integer(node) if writer.row.exact(node) else writer.number(node)
    return f"TRY_CAST({number} AS INTEGER)"


def _sliced(name: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        offsets = ", ".join(_offset(node, writer) for node in call.args[1:])
        return f"{name}({writer.value(call.args[0], 'string')}, {offsets})"

    return render


def _together(call: Call, writer: Writer, _: Write) -> str:
    left, right = (_cut(writer.value(node, "string")) for node in call.args)
    return _cut(f"({left} || {right})")


def _concat(call: Call, writer: Writer, _: Write) -> str:
    return _cut(f"concat({', '.join(_cut(writer.value(node, 'string')) for node in call.args)})")


def _replace(call: Call, writer: Writer, _: Write) -> str:
    value, searched, replacement = (writer.value(node, "string") for node in call.args)
    return _cut(f"replace({_cut(value)}, {searched}, {replacement})")


def _strings(name: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        return f"{name}({', '.join(writer.value(node, 'string') for node in call.args)})"

    return render


TEXTS: Mapping[str, Rendering] = {
    **{
        name.upper(): _strings(name)
        for name in (
            "lower", "upper", "reverse", "length", "trim", "ltrim", "rtrim", "starts_with", "ends_with", "contains",
        )
    },
    "POSITION": _strings("strpos"),
    "SUBSTRING": _sliced("substring"),
    "LEFT": _sliced("left"),
    "RIGHT": _sliced("right"),
    "||": _together,
    "CONCAT": _concat,
    "REPLACE": _replace,
}  # fmt: skip
