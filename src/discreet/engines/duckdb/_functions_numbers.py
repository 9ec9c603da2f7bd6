"""Arithmetic and functions of numbers in DuckDB."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from discreet.engines.duckdb._once import bare, null_where, once, unless_nan
from discreet.engines.sql import Rendering, Write, Writer, function
from discreet.query import Call, constant, integer_literal

__all__ = ["NUMBERS", "double"]


def double(value: Fraction | int) -> str:
    """A number as a double."""
    return f"CAST('{float(value)!r}' AS DOUBLE)"


_ZERO = double(0)


def _arithmetic(operator: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        return _unless_nan(lambda left, right: f"({left} {operator} {right})", call, writer)

    return render


def _unless_nan(operation: Callable[[str, str], str], call: Call, writer: Writer) -> str:
    """Infinities alone make what is not a number. Where they may, that is looked for once, after the operands' own."""
    left, right = map(writer.number, call.args)
    if all(writer.row.range(node).finite for node in call.args):
        return operation(left, right)
    return unless_nan(operation(bare(left), bare(right)))


def _minus(call: Call, writer: Writer, write: Write) -> str:
    if any(writer.row.kind(node) == "date" for node in call.args):
        left, right = (writer.value(node, "date") for node in call.args)
        return f"CAST(({left} - {right}) AS DOUBLE)"
    return _arithmetic("-")(call, writer, write)


def _divide(call: Call, writer: Writer, _: Write) -> str:
    return _by(call, writer, "/")


def _by(call: Call, writer: Writer, operator: str) -> str:
    """A quotient or a remainder, null over zero."""
    return _unless_nan(lambda left, right: f"({left} {operator} {null_where(right, _ZERO)})", call, writer)


def _cut(call: Call, writer: Writer, write: Write) -> str:
    return f"trunc({_divide(call, writer, write)})"


def _modulo(call: Call, writer: Writer, _: Write) -> str:
    return _by(call, writer, "%")


def _round(call: Call, writer: Writer, _: Write) -> str:
    digits = [str(integer_literal(node)) for node in call.args[1:]]
    return f"round({', '.join([writer.number(call.args[0]), *digits])})"


def _sign(call: Call, writer: Writer, _: Write) -> str:
    return f"CAST(sign({writer.number(call.args[0])}) AS DOUBLE)"


def _root(call: Call, writer: Writer, _: Write) -> str:
    return unless_nan(f"sqrt({bare(writer.number(call.args[0]))})")


def _logarithm(name: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        positive = null_where(f"greatest({writer.number(call.args[-1])}, {_ZERO})", _ZERO)
        return f"{name}({positive})"

    return render


def _log(call: Call, writer: Writer, write: Write) -> str:
    base = constant(call.args[0])
    assert base is not None
    return f"({_logarithm('ln')(call, writer, write)} / {double(Fraction(math.log(base)))})"


def _power(call: Call, writer: Writer, _: Write) -> str:
    base, exponent = (writer.number(node) for node in call.args)
    fixed = constant(call.args[1])
    if fixed is not None and fixed < 0:
        base = null_where(base, _ZERO)
    return unless_nan(f"pow({base}, {exponent})")


def _bucket(call: Call, writer: Writer, _: Write) -> str:
    number = writer.number(call.args[0])
    low, high = map(constant, call.args[1:3])
    count = integer_literal(call.args[3])
    assert low is not None
    assert high is not None
    assert count is not None

    def bucket(y: str) -> str:
        below = f"({y} - {double(low)}) / {double(high - low)} * {double(count)}"
        inside = f"CAST(greatest(least(floor({below}), {double(count - 1)}), {_ZERO}) AS BIGINT) + 1"
        return (
            f"(CASE WHEN {y} < {double(low)} THEN 0 WHEN {y} >= {double(high)} THEN {count + 1} "
            f"WHEN {y} IS NOT NULL THEN {inside} END)"
        )

    return once(bucket, number)


NUMBERS: Mapping[str, Rendering] = {
    "+": _arithmetic("+"),
    "-": _minus,
    "*": _arithmetic("*"),
    "/": _divide,
    "//": _cut,
    "%": _modulo,
    "NEGATE": lambda call, writer, _: f"(- {writer.number(call.args[0])})",
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
