"""What every engine writes in the same way: comparisons, logic, choices and native functions. None can raise."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.engines.sql._dialect import Rendering, Write, Writer, function
from discreet.query import FUNCTIONS, Call

__all__ = ["CHOICES"]


def _comparison(operator: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        return f"({f' {operator} '.join(writer.alike(call.args))})"

    return render


def _logical(word: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        return f"({f' {word} '.join(writer.value(node, 'bool') for node in call.args)})"

    return render


def _between(call: Call, writer: Writer, _: Write) -> str:
    value, low, high = writer.alike(call.args)
    return writer.dialect.between(value, low, high)


def _among(call: Call, writer: Writer, _: Write) -> str:
    """One list; whole numbers have one of their own beside a column of them, and stay exact."""
    node, items = call.args[0].unnest(), call.args[1:]
    integers = tuple(item for item in items if writer.row.exact(item))
    rest = tuple(item for item in items if not writer.row.exact(item))
    groups = (
        [integers, rest] if isinstance(node, exp.Column) and writer.row.exact(node) and integers and rest else [items]
    )
    tests: list[str] = []
    for group in groups:
        value, *listed = writer.alike((node, *group))
        nullable = any(isinstance(item.unnest(), exp.Null) for item in group)
        tests.append(writer.dialect.one_of(value, listed, nullable=nullable))
    return tests[0] if len(tests) == 1 else f"({' OR '.join(tests)})"


def _like(word: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        return f"({writer.value(call.args[0], 'string')} {word} {writer.value(call.args[1], 'string')})"

    return render


def _case(call: Call, writer: Writer, write: Write) -> str:
    pairs = zip(call.args[::2], call.args[1::2], strict=False)
    branches = " ".join(f"WHEN {writer.raw.value(when, 'bool')} THEN {write(then)}" for when, then in pairs)
    otherwise = f" ELSE {write(call.args[-1])}" if len(call.args) % 2 else ""
    return f"(CASE {branches}{otherwise} END)"


def _choice(name: str) -> Rendering:
    def render(call: Call, _: Writer, write: Write) -> str:
        return f"{name}({', '.join(map(write, call.args))})"

    return render


def _nullif(call: Call, writer: Writer, write: Write) -> str:
    """The first argument decides the kind of the result, and both together how they are compared."""
    first, second = call.args
    if writer.row.kind(first) == "date" and writer.row.kind(second) == "timestamp":
        return writer.dialect.cast(writer.dialect.null_if(*writer.alike(call.args)), "DATE")
    if writer.row.kind(first) in ("number", "null"):
        return writer.dialect.null_if(write(first), write(second))
    return writer.dialect.null_if(*writer.alike(call.args))


CHOICES: Mapping[str, Rendering] = {
    **{
        operator: _comparison(operator)
        for operator in ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
    },
    "IS NULL": lambda call, writer, _: f"({writer.value(call.args[0])} IS NULL)",
    "BETWEEN": _between,
    "IN": _among,
    "LIKE": _like("LIKE"),
    "ILIKE": _like("ILIKE"),
    "AND": _logical("AND"),
    "OR": _logical("OR"),
    "NOT": lambda call, writer, _: f"(NOT {writer.value(call.args[0], 'bool')})",
    "CASE": _case,
    "COALESCE": _choice("coalesce"),
    "NULLIF": _nullif,
    "GREATEST": _choice("greatest"),
    "LEAST": _choice("least"),
    **{entry.names[0]: function(entry.names[0].lower()) for entry in FUNCTIONS if entry.native},
}
"""By the name that plans use; the same names as in `discreet.query.FUNCTIONS`."""
