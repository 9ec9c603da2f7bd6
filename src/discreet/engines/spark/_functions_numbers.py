"""Arithmetic and functions of numbers in Spark.

Without ANSI mode a division by zero and a logarithm below zero are null; what is not a number becomes null by `nanvl`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction

from sqlglot import exp

from discreet.engines.spark._readings import NOTHING, let
from discreet.engines.sql import Rendering, Write, Writer, function
from discreet.query import Call, constant, integer_literal

__all__ = ["NUMBERS"]

_EXACT = 2**52
_MOST = "1.7976931348623157E308D"


def _arithmetic(operator: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        left, right = map(writer.number, call.args)
        return _unless_nan(f"({left} {operator} {right})", call, writer)

    return render


def _unless_nan(sql: str, call: Call, writer: Writer) -> str:
    """Infinities alone make what is not a number."""
    finite = all(writer.row.range(node).finite for node in call.args)
    return sql if finite else f"nanvl({sql}, {NOTHING})"


def _minus(call: Call, writer: Writer, write: Write) -> str:
    if any(writer.row.kind(node) == "date" for node in call.args):
        left, right = (writer.value(node, "date") for node in call.args)
        return f"CAST(datediff({left}, {right}) AS DOUBLE)"
    return _arithmetic("-")(call, writer, write)


def _divide(call: Call, writer: Writer, _: Write) -> str:
    left, right = map(writer.number, call.args)
    return _unless_nan(f"({left} / {right})", call, writer)


def _modulo(call: Call, writer: Writer, _: Write) -> str:
    left, right = map(writer.number, call.args)
    return _unless_nan(f"({left} % {right})", call, writer)


def _cut_off(call: Call, writer: Writer, write: Write) -> str:
    return _cut(_divide(call, writer, write), small=False)


def _cut(number: str, *, small: bool) -> str:
    return _stepped(number, lambda y: f"CAST(CAST({y} AS BIGINT) AS DOUBLE)", small=small)


def _stepped(number: str, step: Callable[[str], str], *, small: bool) -> str:
    """A step function by way of BIGINT; doubles of 53 bits and more are whole."""
    if small:
        return step(number)
    inside = f"abs(%s) < {float(_EXACT)!r}D"
    return let(number, lambda y: f"CASE WHEN {inside % y} THEN {step(y)} ELSE {y} END")


def _small(node: exp.Expr, writer: Writer) -> bool:
    return writer.row.range(node).finite and writer.row.range(node).largest < _EXACT


def _step(name: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        node = call.args[0]
        small = _small(node, writer)
        return _stepped(writer.number(node), lambda y: f"CAST({name}({y}) AS DOUBLE)", small=small)

    return render


def _truncate(call: Call, writer: Writer, _: Write) -> str:
    return _cut(writer.number(call.args[0]), small=_small(call.args[0], writer))


def _round(call: Call, writer: Writer, _: Write) -> str:
    """As DuckDB does it: scaled, rounded and scaled back, in doubles."""
    number = writer.number(call.args[0])
    digits = integer_literal(call.args[1]) if len(call.args) > 1 else 0
    assert digits is not None
    scale = f"{10.0 ** abs(digits)!r}D"
    if digits == 0:
        return f"round({number})"
    if digits < 0:
        return f"(round({number} / {scale}) * {scale})"
    rounded = f"round(y * {scale}) / {scale}"
    return let(number, lambda y: f"CASE WHEN abs({rounded}) < double('Infinity') THEN {rounded} ELSE {y} END")


def _logarithm(name: str) -> Rendering:
    return lambda call, writer, _: f"{name}({writer.number(call.args[-1])})"


def _log(call: Call, writer: Writer, write: Write) -> str:
    base = constant(call.args[0])
    assert base is not None
    return f"({_logarithm('ln')(call, writer, write)} / {writer.dialect.double(Fraction(math.log(base)))})"


def _power(call: Call, writer: Writer, _: Write) -> str:
    base, exponent = (writer.number(node) for node in call.args)
    fixed = constant(call.args[1])
    if fixed is not None and fixed < 0:
        base = let(base, lambda y: f"CASE WHEN {y} <> 0D THEN {y} END")
    if not writer.row.range(call.args[1]).finite:  # Java has no number for 1 to the power of infinity
        exponent = let(exponent, lambda y: f"CASE WHEN abs({y}) > {_MOST} THEN signum({y}) * {_MOST} ELSE {y} END")
    return f"nanvl(power({base}, {exponent}), {NOTHING})"


def _bucket(call: Call, writer: Writer, _: Write) -> str:
    double = writer.dialect.double
    low, high = map(constant, call.args[1:3])
    count = integer_literal(call.args[3])
    assert low is not None
    assert high is not None
    assert count is not None

    def inside(y: str) -> str:
        below = f"({y} - {double(low)}) / {double(high - low)} * {double(count)}"
        part = f"CAST(floor(greatest(least({below}, {double(count - 1)}), {double(0)})) AS BIGINT) + 1"
        return (
            f"CASE WHEN {y} < {double(low)} THEN 0 WHEN {y} >= {double(high)} THEN {count + 1} "
            f"WHEN {y} IS NOT NULL THEN {part} END"
        )

    return let(writer.number(call.args[0]), inside)


NUMBERS: Mapping[str, Rendering] = {
    "+": _arithmetic("+"),
    "-": _minus,
    "*": _arithmetic("*"),
    "/": _divide,
    "//": _cut_off,
    "%": _modulo,
    "NEGATE": lambda call, writer, _: f"(- {writer.number(call.args[0])})",
    "SIGN": function("signum"),
    "ROUND": _round,
    "FLOOR": _step("floor"),
    "CEIL": _step("ceil"),
    "TRUNC": _truncate,
    "SQRT": lambda call, writer, _: f"nanvl(sqrt({writer.number(call.args[0])}), {NOTHING})",
    "LN": _logarithm("ln"),
    "LOG10": _logarithm("log10"),
    "LOG2": _logarithm("log2"),
    "LOG": _log,
    "EXP": function("exp"),
    "POWER": _power,
    "WIDTH_BUCKET": _bucket,
}
