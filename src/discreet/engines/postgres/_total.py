"""Arithmetic on doubles that never raises: PostgreSQL's own stops at an overflow, and at an underflow to zero.

An operand that is more than a column is named once, in a sub-query that OFFSET keeps from being taken apart: so a query
grows with its text and no faster, and nothing constant is computed where a guard would have left it out.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from fractions import Fraction

__all__ = [
    "INFINITY",
    "NAN",
    "add",
    "bound",
    "double",
    "half_away",
    "largest",
    "over",
    "power",
    "remainder",
    "times",
    "times_fixed",
]

_COLUMN = re.compile(r'(CAST\()?"(?:[^"]|"")+"( AS [a-z ]+\))?( COLLATE "C")?|[a-z][.][a-z]')
_BIGGEST = math.nextafter(math.inf, 0)
_EXP_BITS = 52


def double(value: Fraction | float) -> str:
    """A number as a double."""
    return f"CAST('{float(value)!r}' AS double precision)"


NAN, INFINITY, _ZERO = double(math.nan), double(math.inf), double(0)


def bound(body: str, *, always: bool = False, **operands: str) -> str:
    """An expression over named operands: ``{x}`` in `body` is the column itself, or a name for what is longer.

    With `always`, every operand is named.
    """
    named = {name: sql for name, sql in operands.items() if always or not _COLUMN.fullmatch(sql)}
    body = body.format(**operands | {name: f"o.{name}" for name in named})
    if not named:
        return f"({body})"
    items = ", ".join(f"{sql} AS {name}" for name, sql in named.items())
    return f"(SELECT {body} FROM (SELECT {items} OFFSET 0) AS o)"


def add(left: str, right: str, *, sign: str = "+") -> str:
    """The sum or difference, an infinity beyond doubles; null for what is not a number."""
    body = (
        f"CASE WHEN abs({{x}}) <= {double(8e307)} AND abs({{y}}) <= {double(8e307)} THEN {{x}} {sign} {{y}} "
        f"WHEN abs({{x}}) = {INFINITY} OR abs({{y}}) = {INFINITY} THEN nullif({{x}} {sign} {{y}}, {NAN}) "
        f"WHEN abs(trunc({{x}}) * {double(0.5)} {sign} trunc({{y}}) * {double(0.5)}) >= {double(2.0**1023)} "
        f"THEN sign({{x}}) * {INFINITY} ELSE {{x}} {sign} {{y}} END"
    )
    return bound(body, x=left, y=right)


def times(left: str, right: str) -> str:
    """The product, an infinity beyond doubles and zero below them; null for zero times infinity."""
    down, up = double(2.0**-512), double(2.0**537)
    body = (
        f"CASE WHEN abs({{x}}) BETWEEN {double(1e-150)} AND {double(1e150)} "
        f"AND abs({{y}}) BETWEEN {double(1e-150)} AND {double(1e150)} THEN {{x}} * {{y}} "
        f"WHEN {{x}} = {_ZERO} OR {{y}} = {_ZERO} OR abs({{x}}) = {INFINITY} OR abs({{y}}) = {INFINITY} "
        f"THEN nullif({{x}} * {{y}}, {NAN}) "
        f"WHEN abs({{x}}) >= {double(1)} AND abs({{y}}) >= {double(1)} THEN "
        f"CASE WHEN (abs({{x}}) * {down}) * (abs({{y}}) * {down}) >= {double(1)} "
        f"THEN sign({{x}}) * sign({{y}}) * {INFINITY} ELSE {{x}} * {{y}} END "
        f"WHEN abs({{x}}) < {double(1)} AND abs({{y}}) < {double(1)} THEN "
        f"CASE WHEN (abs({{x}}) * {up}) * (abs({{y}}) * {up}) <= {double(0.5)} THEN {_ZERO} ELSE {{x}} * {{y}} END "
        f"ELSE {{x}} * {{y}} END"
    )
    return bound(body, x=left, y=right)


def times_fixed(value: str, factor: float) -> str:
    """A product with a constant that is not zero and finite."""
    size = abs(factor)
    fixed = double(factor)
    if size == 1:
        return f"({value} * {fixed})"
    if size > 1:
        most = largest(lambda x: x * size < math.inf)
        return bound(
            f"CASE WHEN abs({{x}}) <= {double(most)} OR abs({{x}}) = {INFINITY} THEN {{x}} * {fixed} "
            f"ELSE sign({{x}}) * {double(math.copysign(math.inf, factor))} END",
            x=value,
        )
    none = largest(lambda x: x * size == 0)
    return bound(f"CASE WHEN abs({{x}}) <= {double(none)} THEN {_ZERO} ELSE {{x}} * {fixed} END", x=value)


def largest(holds: Callable[[float], bool]) -> float:
    """The largest finite double up to which a condition that is true of 0 holds."""
    low, high = 0, struct.unpack("<q", struct.pack("<d", _BIGGEST))[0]
    while low < high:  # doubles above zero are in the order of their bits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(_from_bits(middle)) else (low, middle - 1)
    return _from_bits(low)


def _from_bits(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def over(left: str, right: str) -> str:
    """The quotient, null over zero and for infinity over infinity."""
    body = (
        f"CASE WHEN {{y}} = {_ZERO} THEN NULL "
        f"WHEN abs({{x}}) BETWEEN {double(1e-150)} AND {double(1e150)} "
        f"AND abs({{y}}) BETWEEN {double(1e-150)} AND {double(1e150)} THEN {{x}} / {{y}} "
        f"WHEN {{x}} = {_ZERO} OR abs({{x}}) = {INFINITY} OR abs({{y}}) = {INFINITY} "
        f"THEN nullif({{x}} / {{y}}, {NAN}) "
        f"WHEN abs({{x}}) >= {double(1)} AND abs({{y}}) < {double(1)} THEN "
        f"CASE WHEN (abs({{x}}) * {double(2.0**-537)}) / (abs({{y}}) * {double(2.0**537)}) >= {double(2.0**-50)} "
        f"THEN sign({{x}}) * sign({{y}}) * {INFINITY} ELSE {{x}} / {{y}} END "
        f"WHEN abs({{x}}) < {double(1)} AND abs({{y}}) < {double(2.0**-1000)} THEN "
        f"CASE WHEN abs({{x}}) / (abs({{y}}) * {double(2.0**200)}) >= {double(2.0**824)} "
        f"THEN sign({{x}}) * sign({{y}}) * {INFINITY} ELSE {{x}} / {{y}} END "
        f"WHEN abs({{x}}) < {double(2.0**-50)} AND abs({{y}}) >= {double(1)} THEN "
        f"CASE WHEN abs({{x}}) * {double(2.0**1023)} <= abs({{y}}) * {double(2.0**-52)} "
        f"THEN {_ZERO} ELSE {{x}} / {{y}} END "
        f"ELSE {{x}} / {{y}} END"
    )
    return bound(body, x=left, y=right)


def remainder(left: str, right: str) -> str:
    """C's fmod, exactly: of whole numbers as such, of others by their bits; null over zero and of an infinity."""
    inner = (
        f"CASE WHEN {{y}} = {_ZERO} OR abs({{x}}) = {INFINITY} THEN NULL "
        f"WHEN abs({{x}}) < abs({{y}}) THEN {{x}} "
        f"WHEN abs({{x}}) <= {double(2.0**53)} AND trunc({{x}}) = {{x}} AND trunc({{y}}) = {{y}} "
        f"THEN CAST(CAST({{x}} AS bigint) % CAST({{y}} AS bigint) AS double precision) "
        f"ELSE sign({{x}}) * {_by_bits()} END"
    )
    return bound(inner, x=left, y=right)


def _by_bits() -> str:
    """With |x| ≥ |y|, the exponent of x is not below that of y: the rest is a remainder of integers."""
    bits = "CAST(CAST('x' || encode(float8send(abs({%s})), 'hex') AS bit(64)) AS bigint) AS %s"
    patterns = f"SELECT {bits % ('x', 'a')}, {bits % ('y', 'b')} OFFSET 0"
    mantissa = "(%s & 4503599627370495) + CASE WHEN %s >> 52 > 0 THEN 4503599627370496 ELSE 0 END"
    parts = ", ".join(f"{mantissa % (n, n)} AS m{n}, CAST(greatest(%s >> 52, 1) AS integer) AS e{n}" % n for n in "ab")
    modulus = (
        "CAST(mod(CAST(ma AS numeric) * power(CAST(2 AS numeric), ea - eb), CAST(mb AS numeric)) AS double precision)"
    )
    two = double(2)
    scale = f"power({two}, greatest(eb - 1075, -600)) * power({two}, least(eb - 1075 + 600, 0))"
    first, last = scale.split(" * ")
    result = f"CASE WHEN r = 0 THEN {_ZERO} ELSE r * {first} * {last} END"
    return (
        f"(SELECT {result} FROM (SELECT {modulus} AS r, eb FROM (SELECT {parts} FROM ({patterns}) AS f OFFSET 0) AS g "
        "OFFSET 0) AS h)"
    )


def power(base: str, exponent: str) -> str:
    """C's pow, an infinity from 1.79e308 up; null for a root of a number below zero."""
    log = f"greatest(least({{y}}, {double(1e20)}), {double(-1e20)}) * ln(abs({{x}}))"
    odd = f"{{x}} < {_ZERO} AND abs({{y}}) < {double(2.0**53)} AND floor({{y}} * {double(0.5)}) * 2 <> {{y}}"
    large = f"CASE WHEN {odd} THEN -{INFINITY} ELSE {INFINITY} END"
    body = (
        "CASE WHEN {x} IS NULL OR {y} IS NULL THEN NULL "
        f"WHEN {{x}} = {double(1)} OR {{y}} = {_ZERO} THEN {double(1)} "
        f"WHEN {{x}} = {_ZERO} THEN CASE WHEN {{y}} < {_ZERO} THEN {INFINITY} ELSE {_ZERO} END "
        f"WHEN {{x}} < {_ZERO} AND floor({{y}}) <> {{y}} THEN "
        f"CASE WHEN {{x}} = -{INFINITY} THEN CASE WHEN {{y}} > {_ZERO} THEN {INFINITY} ELSE {_ZERO} END END "
        f"WHEN abs({{x}}) = {INFINITY} OR abs({{y}}) = {INFINITY} OR abs({{y}}) < {double(1e-100)} "
        "THEN power({x}, {y}) "
        f"WHEN abs({{x}}) = {double(1)} THEN CASE WHEN {odd} THEN {double(-1)} ELSE {double(1)} END "
        f"WHEN {log} > {double(709.78)} THEN {large} "
        f"WHEN {log} < {double(-745.1)} THEN {_ZERO} ELSE power({{x}}, {{y}}) END"
    )
    return bound(body, x=base, y=exponent)


def half_away(value: str, *, positive: bool = False, copied: bool = False) -> str:
    """A double rounded to a whole one, of two the one further from zero; `positive` says that it is not below zero.

    Twice a double is exact but for the largest, which are whole. `copied` says that it is better written twice than
    named.
    """
    up = f"floor((floor({{x}} * 2) + 1) * {double(0.5)})"
    if positive:
        return up.format(x=value)
    down = f"ceil((ceil({{x}} * 2) - 1) * {double(0.5)})"
    body = f"CASE WHEN {{x}} < {_ZERO} THEN {down} ELSE {up} END"
    if copied:
        return f"({body.format(x=value)})"
    large = f"CASE WHEN abs({{x}}) >= {double(2.0**_EXP_BITS)} THEN {{x}} "
    return bound(large + body.removeprefix("CASE "), x=value)
