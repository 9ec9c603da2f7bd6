"""Functions of texts in PostgreSQL. Texts are compared by their bytes, which is the order of code points."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.engines.postgres._total import bound
from discreet.engines.sql import TEXTS as SHARED
from discreet.engines.sql import Rendering, Write, Writer, cut, strings
from discreet.query import Call, integer_literal

__all__ = ["texts"]

_FAR = 2**30
"""Longer than any text."""


def _offset(node: exp.Expr, writer: Writer) -> str:
    """A position: null beyond 32 bits, and no further than texts are."""
    fixed = integer_literal(node)
    if fixed is not None and abs(fixed) <= _FAR:
        return str(fixed)
    number = writer.integer(node) if writer.row.exact(node) else writer.dialect.to_integer(writer.number(node))
    far = f"WHEN {{x}} > {_FAR} THEN {_FAR} WHEN {{x}} < -{_FAR} THEN -{_FAR}"
    body = f"CASE WHEN {{x}} NOT BETWEEN -{2**31} AND {2**31 - 1} THEN NULL {far} ELSE {{x}} END"
    return f"CAST({bound(body, x=number)} AS integer)"


def _sided(name: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        text, count = call.args
        return f"{name}({writer.value(text, 'string')}, {_offset(count, writer)})"

    return render


def _substring(call: Call, writer: Writer, _: Write) -> str:
    text, *offsets = call.args
    items = [f"{writer.value(text, 'string')} AS s", *(f"{_offset(n, writer)} AS p{i}" for i, n in enumerate(offsets))]
    first = "p0 + CASE WHEN p0 < 0 THEN char_length(s) + 1 ELSE 0 END"
    body = f"substr(s, {first} + least(p1, 0), abs(p1))" if len(offsets) > 1 else f"substr(s, {first})"
    strict = " AND ".join(["s IS NOT NULL", *(f"p{i} IS NOT NULL" for i in range(len(offsets)))])
    return f"(SELECT CASE WHEN {strict} THEN {body} END FROM (SELECT {', '.join(items)} OFFSET 0) AS o)"


def _concat(call: Call, writer: Writer, _: Write) -> str:
    return cut(f"concat({', '.join(cut(writer.value(node, 'string')) for node in call.args)})")


def _length(call: Call, writer: Writer, _: Write) -> str:
    return f"CAST(char_length({writer.value(call.args[0], 'string')}) AS bigint)"


def _bytes(call: Call, writer: Writer, _: Write) -> str:
    return f"CAST(octet_length(convert_to({writer.value(call.args[0], 'string')}, 'UTF8')) AS bigint)"


def _position(call: Call, writer: Writer, _: Write) -> str:
    return f"CAST({strings('strpos')(call, writer, _)} AS bigint)"


def _contains(call: Call, writer: Writer, _: Write) -> str:
    return f"({strings('strpos')(call, writer, _)} > 0)"


def _ends(call: Call, writer: Writer, _: Write) -> str:
    text, end = (writer.value(node, "string") for node in call.args)
    return bound("right({x}, char_length({y})) = {y}", x=text, y=end)


def texts(casing: str) -> Mapping[str, Rendering]:
    """The functions of texts, and ILIKE, where `casing` is the collation that knows letters."""

    def cased(name: str, text: str) -> str:
        return f'({name}({text} COLLATE "{casing}") COLLATE "C")'

    def change(name: str) -> Rendering:
        return lambda call, writer, _: cased(name, f"({writer.value(call.args[0], 'string')})")

    def ilike(call: Call, writer: Writer, _: Write) -> str:
        text, pattern = (cased("lower", f"({writer.value(node, 'string')})") for node in call.args)
        return f"({text} LIKE {pattern} ESCAPE '')"

    def like(call: Call, writer: Writer, _: Write) -> str:
        text, pattern = (writer.value(node, "string") for node in call.args)
        return f"({text} LIKE {pattern} ESCAPE '')"

    return {
        "LIKE": like,
        "ILIKE": ilike,
        "LOWER": change("lower"),
        "UPPER": change("upper"),
        "REVERSE": strings("reverse"),
        "LENGTH": _length,
        "STRLEN": _bytes,
        "TRIM": strings("btrim"),
        "LTRIM": strings("ltrim"),
        "RTRIM": strings("rtrim"),
        "STARTS_WITH": strings("starts_with"),
        "ENDS_WITH": _ends,
        "CONTAINS": _contains,
        "POSITION": _position,
        "SUBSTRING": _substring,
        "LEFT": _sided("left"),
        "RIGHT": _sided("right"),
        "CONCAT": _concat,
        **SHARED,
    }
