"""Functions of texts in DuckDB."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.engines.sql import TEXTS as SHARED
from discreet.engines.sql import Rendering, Write, Writer, cut, strings
from discreet.query import Call

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


TEXTS: Mapping[str, Rendering] = {
    **{
        name.upper(): strings(name)
        for name in (
            *("lower", "upper", "reverse", "length", "strlen", "trim", "ltrim", "rtrim"),
            *("starts_with", "ends_with", "contains"),
        )
    },
    "POSITION": strings("strpos"),
    "SUBSTRING": _sliced("substring"),
    "LEFT": _sliced("left"),
    "RIGHT": _sliced("right"),
    "CONCAT": _concat,
    **SHARED,
}  # fmt: skip
