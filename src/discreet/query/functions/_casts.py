"""CAST, which here always means TRY_CAST: what does not convert is null."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from discreet.errors import QueryError
from discreet.query.functions._calls import Call
from discreet.query.functions._moments import first_moment
from discreet.query.functions._ranges import ANYTHING, End, Range, span
from discreet.query.functions._spec import Function, Kind, Scope

__all__ = ["CASTS", "INTEGERS"]

INTEGERS: Mapping[str, int] = {"TINYINT": 7, "SMALLINT": 15, "INT": 31, "BIGINT": 63}
"""Types of whole numbers, and the bits of their magnitudes."""
_TARGETS: Mapping[str, Kind] = {
    **dict.fromkeys(INTEGERS, "number"),
    **dict.fromkeys(("DOUBLE", "FLOAT"), "number"),
    **dict.fromkeys(("TEXT", "VARCHAR"), "string"),
    "BOOLEAN": "bool",
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMPNTZ"), "timestamp"),
}
_MOMENTS = ("date", "timestamp")
_FROM: Mapping[Kind, tuple[Kind, ...]] = {
    "number": ("number", "string", "bool"),
    "string": ("number", "string", "bool", "date", "timestamp"),
    "bool": ("bool", "string", "number"),
    "date": ("date", "timestamp", "string"),
    "timestamp": ("date", "timestamp", "string"),
    "null": (),
}


def _kind(call: Call, scope: Scope) -> Kind:
    target = _TARGETS.get(call.option)
    if target is None:
        raise QueryError(
            f"CAST to {call.option} is not supported; "
            "cast to INTEGER, BIGINT, DOUBLE, VARCHAR, BOOLEAN, DATE or TIMESTAMP"
        )
    source = scope.kind(call.args[0])
    if source != "null" and target not in _FROM[source]:
        raise QueryError(f"{call.args[0].sql()} is a {source}, which does not convert to a {target}")
    return target


def _bounds(call: Call, scope: Scope) -> Range:
    source = scope.kind(call.args[0])
    target = _TARGETS[call.option]
    if target in _MOMENTS:
        moments = scope.range(call.args[0]) if source in _MOMENTS else ANYTHING
        return first_moment(moments, "DAY") if target == "date" else moments
    if source == "bool":
        return span(0, 1)
    bounds = scope.range(call.args[0]) if source == "number" else ANYTHING
    if call.option not in INTEGERS:
        return bounds
    lower, upper = _nearest(bounds.lower, up=False), _nearest(bounds.upper, up=True)
    most = 2 ** INTEGERS[call.option]
    if not math.isinf(lower):
        lower = min(max(lower, Fraction(-most)), Fraction(most - 1))
    if not math.isinf(upper):
        upper = max(min(upper, Fraction(most - 1)), Fraction(-most))
    return Range(lower, upper, integer=True)


def _nearest(end: End, *, up: bool) -> End:
    """The whole number that an end rounds to, whichever way halves go."""
    if isinstance(end, float):
        return end
    half = Fraction(1, 2)
    return Fraction(math.floor(end + half) if up else math.ceil(end - half))


def _null(call: Call, scope: Scope) -> bool:
    node = call.args[0]
    source = scope.kind(node)
    if scope.nullable(node) or (source == "string" and _TARGETS[call.option] != "string"):
        return True
    if source != "number" or call.option not in INTEGERS:
        return False
    return scope.range(node).largest >= 2 ** INTEGERS[call.option] - 1


CASTS = (
    Function(
        ("CAST", "TRY_CAST", "SAFE_CAST", "::"), "CAST(x AS type)",
        "x as INTEGER (also TINYINT, SMALLINT, BIGINT; a half goes to the even neighbour), DOUBLE, VARCHAR, BOOLEAN, "
        "DATE or TIMESTAMP; always as TRY_CAST does",
        "those of x, rounded; of a truth value 0 to 1", "null where x is, or does not convert", _kind, (1, 1), _bounds,
        null=_null,
    ),
)  # fmt: skip
