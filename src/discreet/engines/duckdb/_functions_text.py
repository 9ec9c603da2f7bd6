"""Functions of texts in DuckDB."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.engines.sql import TEXTS as SHARED
from discreet.engines.sql import Rendering, Write, Writer, cut, strings
from discreet.query import Call, integer_literal

__all__ = ["TEXTS"]


def _offset(node: exp.Expr, writer: Writer) -> str:
    """A position: null beyond 32 bits, where DuckDB would stop."""
    number = writer.integer(node) if writer.row.exact(node) else writer.number(node)
    return f"TRY_CAST({number} AS INTEGER)"


def _sliced(name: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        offsets = ", ".join(_offset(node, writer) for node in call.args[1:])
        return f"{name}({writer.value(call.args[0], 'string')}, {offsets})"

    return render


def _concat(call: Call, writer: Writer, _: Write) -> str:
    return cut(f"concat({', '.join(cut(writer.value(node, 'string')) for node in call.args)})")


def _matched(name: str) -> Rendering:
    """A function of a regular expression: RE2 takes time linear in the text, and cannot fail on one."""

    def render(call: Call, writer: Writer, _: Write) -> str:
        constants = ", ".join(_constant(node, writer) for node in call.args[1:])
        return f"{name}({writer.value(call.args[0], 'string')}, {constants})"

    return render


def _constant(node: exp.Expr, writer: Writer) -> str:
    number = integer_literal(node)
    return writer.value(node, "string") if number is None else str(number)


def _replaced(call: Call, writer: Writer, _: Write) -> str:
    constants = ", ".join(writer.value(node, "string") for node in call.args[1:])
    return cut(f"regexp_replace({cut(writer.value(call.args[0], 'string'))}, {constants})")


TEXTS: Mapping[str, Rendering] = {
    **{
        name.upper(): strings(name)
        for name in (
            *("lower", "upper", "reverse", "length", "strlen", "trim", "ltrim", "rtrim"),
            *("starts_with", "ends_with", "contains"),
        )
    },
    "REGEXP_MATCHES": _matched("regexp_matches"),
    "REGEXP_FULL_MATCH": _matched("regexp_full_match"),
    "REGEXP_EXTRACT": _matched("regexp_extract"),
    "REGEXP_REPLACE": _replaced,
    "POSITION": strings("strpos"),
    "SUBSTRING": _sliced("substring"),
    "LEFT": _sliced("left"),
    "RIGHT": _sliced("right"),
    "CONCAT": _concat,
    **SHARED,
}  # fmt: skip
