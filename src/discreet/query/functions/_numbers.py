"""Arithmetic and functions of numbers, which are doubles: an overflow is an infinity, and what is undefined is null."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from decimal import Context, Decimal
from fractions import Fraction

from sqlglot import exp

from discreet.errors import ParameterError, QueryError
from discreet.query.functions._calls import Call, integer_literal
from discreet.query.functions._moments import changes
from discreet.query.functions._ranges import NOTHING, End, Range, exponential, grown, span
from discreet.query.functions._spec import Function, Kind, Scope, takes
from discreet.rational import rational

__all__ = ["NUMBERS", "constant", "cut_quotient", "divide", "doubles", "remainder", "signum", "truncated"]


def divide(a: float, b: float) -> float | None:
    """The quotient; None where an engine has null."""
    return None if b == 0 else float(a) / float(b)


def remainder(a: float, b: float) -> float | None:
    """The remainder with the sign of a; None where an engine has null."""
    return None if b == 0 else math.fmod(a, b)


def cut_quotient(a: float, b: float) -> int | None:
    """The quotient without its fraction; None where an engine has null."""
    return None if b == 0 else math.trunc(float(a) / float(b))


def doubles(function: Callable[..., float]) -> Callable[..., float]:
    """A function of doubles; raises `ValueError` for a result that is not finite."""

    def evaluate(*values: float) -> float:
        value = float(function(*map(float, values)))
        if not math.isfinite(value):
            raise ValueError
        return value

    return evaluate


def truncated(x: float) -> int:
    """The number without its fraction."""
    return math.trunc(x)


def signum(x: float) -> int:
    """-1, 0 or 1."""
    return (x > 0) - (x < 0)


_LEAST_DOUBLE = Fraction(2) ** -1074
_ROUNDING = 2.0**-40
"""More than what rounding adds up to, of the largest number met on the way, in any expression of allowed size."""
_MOST_DIGITS = 15
_MOST_BUCKETS = 9_998
_NUMBERS = takes("number", gives="number")


def constant(node: exp.Expr) -> Fraction | None:
    """The number that a constant is, None for anything else."""
    node = node.unnest()
    if isinstance(node, exp.Neg):
        inner = constant(node.this)
        return None if inner is None else -inner
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    try:
        return rational(node.name, "a number in the query")
    except ParameterError:
        return None


def _may_be_nan(call: Call, scope: Scope) -> bool:
    """Infinities alone make what is not a number, and that is null."""
    return not all(scope.range(node).finite for node in call.args)


def _null_arithmetic(call: Call, scope: Scope) -> bool:
    return any(scope.nullable(node) for node in call.args) or _may_be_nan(call, scope)


def _null_division(call: Call, scope: Scope) -> bool:
    return _null_arithmetic(call, scope) or not _surely_not_zero(call.args[1], scope)


def _surely_not_zero(node: exp.Expr, scope: Scope) -> bool:
    bounds = scope.range(node)
    if bounds.lower <= 0 <= bounds.upper:
        return False
    return min(abs(bounds.lower), abs(bounds.upper)) > scope.scale(node) * _ROUNDING


def _surely_positive(node: exp.Expr, scope: Scope, *, or_zero: bool = False) -> bool:
    bounds = scope.range(node)
    if or_zero and bounds.lower >= 0 and isinstance(node.unnest(), exp.Column | exp.Literal | exp.Abs):
        return True
    return bounds.lower > 0 and bounds.lower > scope.scale(node) * _ROUNDING


def _plus(call: Call, scope: Scope) -> Range:
    left, right = map(scope.range, call.args)
    return left + right


def _minus_kind(call: Call, scope: Scope) -> Kind:
    kinds = [scope.kind(node) for node in call.args]
    if "timestamp" in kinds:
        raise QueryError(f"timestamps have no difference: write DATE_DIFF('second', b, a) for {' - '.join(_sql(call))}")
    if "date" in kinds:
        return takes("date", gives="number")(call, scope)
    return _NUMBERS(call, scope)


def _plus_kind(call: Call, scope: Scope) -> Kind:
    if any(scope.kind(node) in ("date", "timestamp") for node in call.args):
        raise QueryError(f"write {' + '.join(_sql(call))} with INTERVAL, for example d + INTERVAL 3 DAY")
    return _NUMBERS(call, scope)


def _sql(call: Call) -> list[str]:
    return [node.sql() for node in call.args]


def _minus(call: Call, scope: Scope) -> Range:
    left, right = map(scope.range, call.args)
    if "date" in map(scope.kind, call.args):
        return changes(right, left, "DAY")
    return left - right


def _times(call: Call, scope: Scope) -> Range:
    left, right = map(scope.range, call.args)
    if call.args[0].unnest() == call.args[1].unnest():
        return left.power(span(2, 2))
    return left * right


def _over(call: Call, scope: Scope) -> Range:
    left, right = map(scope.range, call.args)
    return left / right


def _whole_kind(call: Call, scope: Scope) -> Kind:
    kind = _NUMBERS(call, scope)
    decimals = [node for node in call.args if constant(node) is not None and integer_literal(node) is None]
    if decimals or not all(scope.range(node).integer for node in call.args):
        raise QueryError(f"{' // '.join(_sql(call))} divides whole numbers only; write FLOOR(a / b), or TRUNC")
    return kind


def _cut(call: Call, scope: Scope) -> Range:
    quotient = _over(call, scope)
    return Range(_to_integer(math.trunc)(quotient.lower), _to_integer(math.trunc)(quotient.upper), integer=True)


def _modulo(call: Call, scope: Scope) -> Range:
    left, right = map(scope.range, call.args)
    return left.modulo(right)


def _negative(call: Call, scope: Scope) -> Range:
    return -scope.range(call.args[0])


def _monotone(function: Callable[[End], End], *, integer: bool) -> Callable[[Call, Scope], Range]:
    def rule(call: Call, scope: Scope) -> Range:
        bounds = scope.range(call.args[0])
        return Range(function(bounds.lower), function(bounds.upper), integer or bounds.integer)

    return rule


def _to_integer(function: Callable[[Fraction], int]) -> Callable[[End], End]:
    return lambda end: Fraction(function(Fraction(end))) if not math.isinf(end) else end


def _round_kind(call: Call, scope: Scope) -> Kind:
    if len(call.args) == 2:
        digits = integer_literal(call.args[1])
        if digits is None or abs(digits) > _MOST_DIGITS:
            raise QueryError(f"ROUND takes a constant from -{_MOST_DIGITS} to {_MOST_DIGITS} as its number of digits")
    return _NUMBERS(call, scope)


def _round(call: Call, scope: Scope) -> Range:
    bounds = scope.range(call.args[0])
    digits = (integer_literal(call.args[1]) or 0) if len(call.args) > 1 else 0
    grid = Fraction(f"1e{digits}")
    lower, upper = (end if isinstance(end, float) else _half_away(Fraction(end), grid) for end in _ends(bounds))
    return Range(lower, upper, bounds.integer or digits <= 0)


def _ends(bounds: Range) -> tuple[End, End]:
    return bounds.lower, bounds.upper


def _half_away(value: Fraction, grid: Fraction) -> Fraction:
    size = Fraction(math.floor(abs(value) * grid + Fraction(1, 2))) / grid
    return size if value >= 0 else -size


def _sqrt(value: Decimal, context: Context) -> Decimal:
    return context.sqrt(value)


def _ln(value: Decimal, context: Context) -> Decimal:
    return context.ln(value)


def _root(call: Call, scope: Scope) -> Range:
    bounds = scope.range(call.args[0])
    if bounds.upper < 0:
        return NOTHING
    lower, upper = (grown(_sqrt, max(end, Fraction(0))) for end in _ends(bounds))
    return Range(max(lower.lower, Fraction(0)), upper.upper)


def _cube_root(call: Call, scope: Scope) -> Range:
    lower, upper = (grown(_cbrt, end) for end in _ends(scope.range(call.args[0])))
    return Range(lower.lower, upper.upper)


def _cbrt(value: Decimal, context: Context) -> Decimal:
    if value == 0 or value.is_infinite():
        return value
    return context.exp(context.divide(context.ln(value.copy_abs()), Decimal(3))).copy_sign(value)


def _logarithm(base: str) -> Callable[[Call, Scope], Range]:
    """Of doubles above zero, of which there is a least one; of whole numbers, that is 1."""

    def at(value: Decimal, context: Context) -> Decimal:
        if base == "10":
            return context.log10(value)
        natural = context.ln(value)
        return context.divide(natural, context.ln(Decimal(2))) if base == "2" else natural

    def rule(call: Call, scope: Scope) -> Range:
        bounds = scope.range(call.args[0])
        if bounds.upper <= 0:
            return NOTHING
        least = Fraction(1) if bounds.integer else _LEAST_DOUBLE
        lower, upper = (grown(at, max(end, least)) for end in _ends(bounds))
        return Range(lower.lower, upper.upper)

    return rule


def _log_kind(call: Call, scope: Scope) -> Kind:
    base = constant(call.args[0])
    if base is None or not Fraction(1, 10**6) <= base <= 10**6 or abs(base - 1) < Fraction(1, 10**6):
        raise QueryError("LOG(b, x) takes a constant b from 0.000001 to 1000000, not 1; or write LN, LOG2 or LOG10")
    return _NUMBERS(call, scope)


def _log(call: Call, scope: Scope) -> Range:
    base = constant(call.args[0])
    assert base is not None
    natural = _logarithm("e")(Call("LN", call.args[1:]), scope)
    return natural / grown(_ln, base)


def _exponential(call: Call, scope: Scope) -> Range:
    lower, upper = (grown(exponential, end) for end in _ends(scope.range(call.args[0])))
    return Range(max(lower.lower, Fraction(0)), upper.upper)


def _power(call: Call, scope: Scope) -> Range:
    base, exponent = map(scope.range, call.args)
    return base.power(exponent)


def _null_power(call: Call, scope: Scope) -> bool:
    if _null_arithmetic(call, scope):
        return True
    exponent = constant(call.args[1])
    if exponent is not None and exponent.denominator == 1 and exponent >= 0:
        return False
    return not _surely_positive(call.args[0], scope, or_zero=exponent is not None and exponent > 0)


def _bucket_kind(call: Call, scope: Scope) -> Kind:
    if any(isinstance(node, exp.WidthBucket) for node in call.args[0].walk()):
        raise QueryError("WIDTH_BUCKET of a WIDTH_BUCKET is not supported; write one with wider parts")
    low, high = map(constant, call.args[1:3])
    count = integer_literal(call.args[3])
    if low is None or high is None or not low < high or max(abs(low), abs(high)) > 10**100:
        raise QueryError("WIDTH_BUCKET(x, low, high, n) takes constants low < high, within 1e100 of zero")
    if count is None or not 1 <= count <= _MOST_BUCKETS:
        raise QueryError(f"WIDTH_BUCKET(x, low, high, n) takes a whole constant n from 1 to {_MOST_BUCKETS:,}")
    if not 0 < float((high - low) / count) < math.inf or float(low) == float(high):
        raise QueryError("WIDTH_BUCKET(x, low, high, n): low and high are too near one another")
    return _NUMBERS(call, scope)


def _buckets(call: Call, _: Scope) -> Range:
    return span(0, (integer_literal(call.args[3]) or 0) + 1)


def _sign(end: End) -> End:
    return Fraction((end > 0) - (end < 0))


def _absolute(call: Call, scope: Scope) -> Range:
    return scope.range(call.args[0]).magnitude()


def _null_minus(call: Call, scope: Scope) -> bool:
    if "date" in map(scope.kind, call.args):
        return any(map(scope.nullable, call.args))
    return _null_arithmetic(call, scope)


def _null_root(call: Call, scope: Scope) -> bool:
    return scope.nullable(call.args[0]) or not _surely_positive(call.args[0], scope, or_zero=True)


def _null_logarithm(call: Call, scope: Scope) -> bool:
    return scope.nullable(call.args[-1]) or not _surely_positive(call.args[-1], scope)


_ONE = (1, 1)
_TWO = (2, 2)
_NULL = "null where x is"

NUMBERS = (
    Function(
        ("+",), "a + b", "the sum", "the sum of the bounds", "null where a or b is, and for opposite infinities",
        _plus_kind, _TWO, _plus, _null_arithmetic, doubles(operator.add),
    ),
    Function(
        ("-",), "a - b", "the difference; of two dates, in days", "the difference of the bounds",
        "null where a or b is, and for equal infinities", _minus_kind, _TWO, _minus, _null_minus,
    ),
    Function(
        ("*",), "a * b", "the product", "of the products of the bounds; x * x is a square",
        "null where a or b is, and for zero times infinity", _NUMBERS, _TWO, _times, _null_arithmetic,
        doubles(operator.mul),
    ),
    Function(
        ("/",), "a / b", "the quotient, never cut to a whole number",
        "of the quotients of the bounds, if those of b exclude zero", "null where a or b is, or b is zero",
        _NUMBERS, _TWO, _over, _null_division, divide,
    ),
    Function(
        ("//", "DIVIDE"), "a // b", "the quotient of whole numbers without its fraction, as doubles have it",
        "of the quotients of the bounds, cut", "null where a or b is, or b is zero",
        _whole_kind, _TWO, _cut, _null_division, cut_quotient,
    ),
    Function(
        ("%", "MOD"), "a % b", "the remainder of a / b, with the sign of a",
        "within a's, and smaller than the largest b",
        "null where a or b is, b is zero or a is infinite", _NUMBERS, _TWO, _modulo, _null_division, remainder,
    ),
    Function(
        ("NEGATE",), "-x", "the number with the other sign", "those of x, turned round", _NULL, _NUMBERS, _ONE,
        _negative, evaluate=operator.neg,
    ),
    Function(
        ("ABS",), "ABS(x)", "the magnitude", "those of the magnitudes", _NULL, _NUMBERS, _ONE, _absolute,
        evaluate=doubles(math.fabs), native=True,
    ),
    Function(
        ("SIGN", "SIGNUM"), "SIGN(x)", "-1, 0 or 1", "-1 to 1", _NULL, _NUMBERS, _ONE, _monotone(_sign, integer=True),
        evaluate=signum,
    ),
    Function(
        ("ROUND",), "ROUND(x, n)", "x to n digits after the point, or to 10^-n; halves go away from zero",
        "those of x, rounded", _NULL, _round_kind, (1, 2), _round,
    ),
    Function(
        ("FLOOR",), "FLOOR(x)", "the next whole number below", "those of x, rounded down", _NULL, _NUMBERS, _ONE,
        _monotone(_to_integer(math.floor), integer=True), evaluate=doubles(math.floor),
    ),
    Function(
        ("CEIL", "CEILING"), "CEIL(x)", "the next whole number above", "those of x, rounded up", _NULL, _NUMBERS, _ONE,
        _monotone(_to_integer(math.ceil), integer=True), evaluate=doubles(math.ceil),
    ),
    Function(
        ("TRUNC", "TRUNCATE"), "TRUNC(x)", "x without its fraction", "those of x, cut", _NULL, _NUMBERS, _ONE,
        _monotone(_to_integer(math.trunc), integer=True), evaluate=doubles(truncated),
    ),
    Function(
        ("SQRT",), "SQRT(x)", "the square root", "of the roots", "null where x is, or is below zero", _NUMBERS, _ONE,
        _root, _null_root,
    ),
    Function(
        ("CBRT",), "CBRT(x)", "the cube root", "of the roots", _NULL, _NUMBERS, _ONE, _cube_root, native=True,
    ),
    *(
        Function(
            (name,), f"{name}(x)", f"the logarithm to base {base}",
            "of the logarithms; above -1075 in any case, from 0 for whole x", "null where x is, or is not above zero",
            _NUMBERS, _ONE, _logarithm(base), _null_logarithm,
        )
        for name, base in (("LN", "e"), ("LOG10", "10"), ("LOG2", "2"))
    ),
    Function(
        ("LOG",), "LOG(b, x)", "the logarithm to a constant base; LOG(x) is LOG10(x)", "of the logarithms",
        "null where x is, or is not above zero", _log_kind, _TWO, _log, _null_logarithm,
    ),
    Function(("EXP",), "EXP(x)", "e to the power x", "of the powers", _NULL, _NUMBERS, _ONE, _exponential),
    Function(
        ("POWER", "POW", "^", "**"), "POWER(x, y)", "x to the power y",
        "of the powers; y is a constant, or x is above zero",
        "null where x or y is, for a root of a negative number, and for 0 to a negative constant",
        _NUMBERS, _TWO, _power, _null_power,
    ),
    Function(
        ("WIDTH_BUCKET",), "WIDTH_BUCKET(x, low, high, n)",
        "which of n equal parts of [low, high) holds x: 1 to n, or 0 below, or n + 1 above", "0 to n + 1",
        _NULL, _bucket_kind, (4, 4), _buckets, exact="always",
    ),
)  # fmt: skip
