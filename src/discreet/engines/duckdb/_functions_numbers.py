"""Arithmetic and functions of numbers in DuckDB."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from discreet.engines.sql import Rendering, Write, Writer, function
from discreet.query import Call, constant, whole_literal

__all__ = ["NAN", "NUMBERS", "double"]

NAN = "CAST('NaN' AS DOUBLE)"


def double(value: Fraction | int) -> str:
    """A number as a double."""
    return f"CAST('{float(value)!r}' AS DOUBLE)"


_ZERO = double(0)


def _arithmetic(operator: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        left, right = map(writer.number, call.args)
        return _unless_nan(f"({left} {operator} {right})", call, writer)

    return render


def _unless_nan(sql: str, call: Call, writer: Writer) -> str:
    """Infinities alone make what is not a number."""
    finite = all(writer.row.range(node).finite for node in call.args)
    return sql if finite else f"nullif({sql}, {NAN})"


def _minus(call: Call, writer: Writer, write: Write) -> str:
    if any(writer.row.kind(node) == "date" for node in call.args):
        left, right = (writer.value(node, "date") for node in call.args)
        return f"CAST(({left} - {right}) AS DOUBLE)"
    return _arithmetic("-")(call, writer, write)


def _divide(call: Call, writer: Writer, _: Write) -> str:
    left, right = map(writer.number, call.args)
    return _unless_nan(f"({left} / NULLIF({right}, {_ZERO}))", call, writer)


def _cut(call: Call, writer: Writer, write: Write) -> str:
    return f"trunc({_divide(call, writer, write)})"


def _modulo(call: Call, writer: Writer, _: Write) -> str:
    left, right = map(writer.number, call.args)
    return _unless_nan(f"({left} % NULLIF({right}, {_ZERO}))", call, writer)


def _round(call: Call, writer: Writer, _: Write) -> str:
    digits = [str(whole_literal(node)) for node in call.args[1:]]
    return f"round({', '.join([writer.number(call.args[0]), *digits])})"


def _sign(call: Call, writer: Writer, _: Write) -> str:
    return f"CAST(sign({writer.number(call.args[0])}) AS DOUBLE)"


def _root(call: Call, writer: Writer, _: Write) -> str:
    return f"nullif(sqrt({writer.number(call.args[0])}), {NAN})"


def _logarithm(name: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        return f"{name}(nullif(greatest({writer.number(call.args[-1])}, {_ZERO}), {_ZERO}))"

    return render


def _log(call: Call, writer: Writer, write: Write) -> str:
    base = constant(call.args[0])
    assert base is not None
    return f"({_logarithm('ln')(call, writer, write)} / {double(Fraction(math.log(base)))})"


def _power(call: Call, writer: Writer, _: Write) -> str:
    base, exponent = (writer.number(node) for node in call.args)
    fixed = constant(call.args[1])
    if fixed is not None and fixed < 0:
        base = f"nullif({base}, {_ZERO})"
    return f"nullif(pow({base}, {exponent}), {NAN})"


def _bucket(call: Call, writer: Writer, _: Write) -> str:
    number = writer.number(call.args[0])
    low, high = map(constant, call.args[1:3])
    count = whole_literal(call.args[3])
    assert low is not None
    assert high is not None
    assert count is not None
    below = f"({number} - {double(low)}) / {double(high - low)} * {double(count)}"
    inside = f"CAST(greatest(least(floor({below}), {double(count - 1)}), {_ZERO}) AS BIGINT) + 1"
    return (
        f"(CASE WHEN {number} < {double(low)} THEN 0 WHEN {number} >= {double(high)} THEN {count + 1} "
        f"WHEN {number} IS NOT NULL THEN {inside} END)"
    )


NUMBERS: Mapping[str, Rendering] = {
    "+": _arithmetic("+"),
    "-": _minus,
    "*": _arithmetic("*"),
    "/": _divide,
    "//": _cut,
    "%": _modulo,
    "NEGATE": lambda call, writer, _: f"(- {writer.number(call.args[0])})",
    "ABS": function("abs"),
    "SIGN": _sign,
    "ROUND": _round,
    "FLOOR": function("floor"),
    "CEIL": function("ceil"),
    "TRUNC": function("trunc"),
    "SQRT": _root,
    "LN": _logarithm("ln"),
    "LOG10": _logarithm("log10"),
    "LOG2": _logarithm("log2"),
    "LOG": _log,
    "EXP": function("exp"),
    "POWER": _power,
    "WIDTH_BUCKET": _bucket,
}
