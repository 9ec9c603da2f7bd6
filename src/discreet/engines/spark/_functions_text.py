"""Functions of texts in Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from discreet.engines.spark._readings import to_integer
from discreet.engines.sql import TEXTS as SHARED
from discreet.engines.sql import Rendering, Write, Writer, cut, strings
from discreet.query import Call, integer_literal

__all__ = ["TEXTS"]

_SPACES = "\u0020\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"


def _offset(node: exp.Expr, writer: Writer) -> str:
    """A position: null beyond 32 bits."""
    if writer.row.exact(node):
        return f"try_cast({writer.integer(node)} AS INT)"
    return to_integer(writer.number(node), "INT")


def _sliced(call: Call, writer: Writer, _: Write) -> str:
    """DuckDB's way: 0 is before the first character, and a negative length goes back from the start."""
    value, offsets = writer.value(call.args[0], "string"), call.args[1:]
    fixed = [integer_literal(node) for node in offsets]
    if all(known is not None and known >= 0 for known in fixed) and fixed[0] != 0:
        return f"substring({', '.join([value, *map(str, fixed)])})"
    return _with([value, *(_offset(node, writer) for node in offsets)], _part if len(offsets) == 1 else _slice)


def _start(text: str, place: str) -> str:
    """Where a part starts, counted from 0; before the text for 0."""
    return (
        f"(CASE WHEN {place} > 0 THEN {place} - 1L WHEN {place} < 0 THEN greatest(length({text}) + {place}, 0L) "
        "ELSE -1L END)"
    )


def _part(text: str, place: str) -> str:
    return f"substring({text}, CAST(greatest({_start(text, place)}, 0L) + 1L AS INT))"


def _slice(text: str, place: str, length: str) -> str:
    start = _start(text, place)
    first = f"greatest(CASE WHEN {length} < 0 THEN greatest({start}, 0L) + {length} ELSE {start} END, 0L)"
    end = f"CASE WHEN {length} < 0 THEN greatest({start}, 0L) ELSE {start} + {length} END"
    size = f"greatest({end} - {first}, 0L)"
    return f"substring({text}, CAST({first} + 1L AS INT), CAST(least({size}, 2147483647L) AS INT))"


def _left(text: str, count: str) -> str:
    """With a negative number, all but the last characters."""
    size = f"CASE WHEN {count} < 0 THEN greatest(length({text}) + {count}, 0L) ELSE {count} END"
    return f"substring({text}, 1, CAST({size} AS INT))"


def _right(text: str, count: str) -> str:
    """With a negative number, all but the first characters."""
    size = f"length({text})"
    skipped = f"CASE WHEN {count} < 0 THEN least(-{count}, {size}) ELSE greatest({size} - {count}, 0L) END"
    return f"substring({text}, CAST({skipped} + 1L AS INT))"


def _sided(body: Callable[[str, str], str]) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        return _with([writer.value(call.args[0], "string"), _offset(call.args[1], writer)], body)

    return render


def _with(written: list[str], body: Callable[..., str]) -> str:
    """An expression that names a text and numbers more than once; null where one of them is."""
    named = ", ".join(f"'{name}', {sql}" for name, sql in zip("abc", written, strict=False))
    parts = ["y.a", *(f"CAST(y.{name} AS BIGINT)" for name in "bc"[: len(written) - 1])]
    present = " AND ".join(f"{part} IS NOT NULL" for part in parts)
    return f"transform(array(named_struct({named})), y -> CASE WHEN {present} THEN {body(*parts)} END)[0]"


def _trimmed(side: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        characters = next(iter(call.args[1:]), None)
        given = _SPACES if characters is None else characters.unnest().name
        value = writer.value(call.args[0], "string")
        return f"trim({side} {writer.dialect.text(given)} FROM {value})" if given else value

    return render


def _concat(call: Call, writer: Writer, _: Write) -> str:
    return cut(f"concat_ws('', {', '.join(cut(writer.value(node, 'string')) for node in call.args)})")


TEXTS: Mapping[str, Rendering] = {
    **{name.upper(): strings(name) for name in ("lower", "upper", "reverse", "length", "contains")},
    "STRLEN": strings("octet_length"),
    "STARTS_WITH": strings("startswith"),
    "ENDS_WITH": strings("endswith"),
    "TRIM": _trimmed("BOTH"),
    "LTRIM": _trimmed("LEADING"),
    "RTRIM": _trimmed("TRAILING"),
    "POSITION": strings("instr"),
    "SUBSTRING": _sliced,
    "LEFT": _sided(_left),
    "RIGHT": _sided(_right),
    "CONCAT": _concat,
    **SHARED,
}
