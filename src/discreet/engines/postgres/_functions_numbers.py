"""Arithmetic and functions of numbers in PostgreSQL: plain where bounds say that nothing can happen, else guarded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from discreet.engines.postgres._total import (
    INFINITY,
    add,
    bound,
    double,
    half_away,
    largest,
    over,
    power,
    remainder,
    times,
    times_fixed,
)
from discreet.engines.sql import Rendering, Write, Writer, function
from discreet.query import Call, constant, integer_literal

__all__ = ["NUMBERS"]

_FAR = Fraction(10) ** 290
"""Added to what is no larger, no double becomes an infinity."""
_NEAR = Fraction(1, 10**100)
_ROUNDING = 2.0**-40
_EXACT = 2**53
_ZERO = double(0)


def _sum(sign: str) -> Rendering:
    def render(call: Call, writer: Writer, _: Write) -> str:
        left, right = map(writer.number, call.args)
        if min(writer.row.range(node).largest for node in call.args) <= _FAR:
            return f"({left} {sign} {right})"
        return add(left, right, sign=sign)

    return render


def _minus(call: Call, writer: Writer, write: Write) -> str:
    if any(writer.row.kind(node) == "date" for node in call.args):
        left, right = (writer.value(node, "date") for node in call.args)
        return f"CAST(({left} - {right}) AS double precision)"
    return _sum("-")(call, writer, write)


def _never_tiny(node: exp.Expr, writer: Writer) -> bool:
    """Whether a number is zero, or some way from it."""
    return writer.row.range(node).integer or _never_zero(node, writer)


def _never_zero(node: exp.Expr, writer: Writer) -> bool:
    limits = writer.row.range(node)
    if limits.lower <= 0 <= limits.upper:
        return False
    return min(abs(limits.lower), abs(limits.upper)) > max(_NEAR, writer.row.scale(node) * _ROUNDING)


def _finite_constant(node: exp.Expr) -> float | None:
    """A constant as a double, if it is one that is neither zero nor infinite."""
    number = constant(node)
    value = None if number is None else float(number)
    return value if value and math.isfinite(value) else None


def _product(call: Call, writer: Writer, _: Write) -> str:
    left, right = call.args
    one, other = map(writer.number, call.args)
    tame = _never_tiny(left, writer) and _never_tiny(right, writer)
    if tame and writer.row.range(left).largest * writer.row.range(right).largest <= _FAR:
        return f"({one} * {other})"
    if (factor := _finite_constant(right)) is not None:
        return times_fixed(one, factor)
    if (factor := _finite_constant(left)) is not None:
        return times_fixed(other, factor)
    return times(one, other)


def _divide(call: Call, writer: Writer, _: Write) -> str:
    left, right = call.args
    one, other = map(writer.number, call.args)
    tame = _never_tiny(left, writer) and writer.row.range(left).largest <= _FAR
    if tame and writer.row.range(right).largest <= 10**100 and _never_tiny(right, writer):
        if _never_zero(right, writer):
            return f"({one} / {other})"
        return f"({one} / nullif({other}, {_ZERO}))"
    return over(one, other)


def _cut(call: Call, writer: Writer, write: Write) -> str:
    return f"trunc({_divide(call, writer, write)})"


def _modulo(call: Call, writer: Writer, _: Write) -> str:
    left, right = map(writer.number, call.args)
    ranges = [writer.row.range(node) for node in call.args]
    if all(each.integer and each.largest <= _EXACT for each in ranges):
        return f"CAST(CAST({left} AS bigint) % nullif(CAST({right} AS bigint), 0) AS double precision)"
    return remainder(left, right)


def _round(call: Call, writer: Writer, _: Write) -> str:
    number = writer.number(call.args[0])
    digits = integer_literal(call.args[1]) if len(call.args) > 1 else 0
    if not digits:
        return half_away(number)
    unit = 10.0 ** abs(digits)
    most = double(largest(lambda x: x * unit < math.inf))
    named = f"(SELECT {number} AS x OFFSET 0) AS i"
    if digits > 0:
        scaled = f"SELECT x, CASE WHEN abs(x) <= {most} THEN x * {double(unit)} END AS s FROM {named} OFFSET 0"
        return f"(SELECT CASE WHEN s IS NULL THEN x ELSE {half_away('o.s')} / {double(unit)} END FROM ({scaled}) AS o)"
    small = f"CASE WHEN abs(x) < {double(1)} THEN {_ZERO} WHEN abs(x) < {INFINITY} THEN x / {double(unit)} END"
    rounded = f"SELECT x, {half_away('o.s')} AS s FROM (SELECT x, {small} AS s FROM {named} OFFSET 0) AS o OFFSET 0"
    far = f"WHEN s IS NULL OR abs(s) > {most} THEN {_ZERO}"
    return f"(SELECT CASE WHEN x IS NULL THEN NULL {far} ELSE s * {double(unit)} END FROM ({rounded}) AS o)"


def _root(call: Call, writer: Writer, _: Write) -> str:
    number, below = writer.number(call.args[0]), double(-5e-324)
    return f"sqrt(nullif(greatest({number}, {below}), {below}))"


def _positive(call: Call, writer: Writer) -> str:
    return f"nullif(greatest({writer.number(call.args[-1])}, {_ZERO}), {_ZERO})"


def _logarithm(name: str) -> Rendering:
    return lambda call, writer, _: f"{name}({_positive(call, writer)})"


def _log2(call: Call, writer: Writer, _: Write) -> str:
    """The quotient of logarithms; of a power of two, the whole number next to it."""
    logarithm = (
        f"SELECT x, ln(x) / {double(math.log(2))} AS r FROM (SELECT {_positive(call, writer)} AS x OFFSET 0) AS i"
    )
    is_whole = f"power({double(2)}, least(round(r), 1023)) = x"
    return f"(SELECT CASE WHEN {is_whole} THEN round(r) ELSE r END FROM ({logarithm} OFFSET 0) AS o)"


def _log(call: Call, writer: Writer, _: Write) -> str:
    base = constant(call.args[0])
    assert base is not None
    return f"(ln({_positive(call, writer)}) / {double(math.log(base))})"


def _exp(call: Call, writer: Writer, _: Write) -> str:
    number, limits = writer.number(call.args[0]), writer.row.range(call.args[0])
    if limits.largest <= 600:
        return f"exp({number})"
    low, high = double(-745.13), double(709.782712893384)
    return bound(
        f"CASE WHEN {{x}} > {high} THEN {INFINITY} WHEN {{x}} < {low} THEN {_ZERO} ELSE exp({{x}}) END", x=number
    )


def _power(call: Call, writer: Writer, _: Write) -> str:
    base, exponent = (writer.number(node) for node in call.args)
    fixed = constant(call.args[1])
    if fixed is not None and fixed < 0:
        base = f"nullif({base}, {_ZERO})"
    if fixed == 2 and _never_tiny(call.args[0], writer) and writer.row.range(call.args[0]).largest <= 10**100:
        return f"power({base}, {exponent})"
    return power(base, exponent)


def _bucket(call: Call, writer: Writer, _: Write) -> str:
    number = writer.number(call.args[0])
    low, high = map(constant, call.args[1:3])
    count = integer_literal(call.args[3])
    assert low is not None
    assert high is not None
    assert count is not None
    quotient = over(f"(b.x - {double(low)})", double(high - low))
    below = f"{quotient} * {double(count)}"
    inside = f"CAST(greatest(least(floor({below}), {double(count - 1)}), {_ZERO}) AS bigint) + 1"
    return (
        f"(SELECT CASE WHEN b.x < {double(low)} THEN 0 WHEN b.x >= {double(high)} THEN {count + 1} "
        f"WHEN b.x IS NOT NULL THEN {inside} END FROM (SELECT {number} AS x OFFSET 0) AS b)"
    )


NUMBERS: Mapping[str, Rendering] = {
    "+": _sum("+"),
    "-": _minus,
    "*": _product,
    "/": _divide,
    "//": _cut,
    "%": _modulo,
    "NEGATE": lambda call, writer, _: f"(- {writer.number(call.args[0])})",
    "SIGN": function("sign"),
    "ROUND": _round,
    "FLOOR": function("floor"),
    "CEIL": function("ceil"),
    "TRUNC": function("trunc"),
    "SQRT": _root,
    "LN": _logarithm("ln"),
    "LOG10": _logarithm("log"),
    "LOG2": _log2,
    "LOG": _log,
    "EXP": _exp,
    "POWER": _power,
    "WIDTH_BUCKET": _bucket,
}
