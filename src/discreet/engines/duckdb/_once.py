"""Values that DuckDB computes once, however often an expression reads them.

DuckDB writes out `nullif(a, b)` as CASE WHEN a = b THEN NULL ELSE a END, `a IN (b, c)` as a = b OR a = c, and BETWEEN
as two comparisons, each with copies of a: a dozen of these, nested, make more nodes than any machine has memory for,
before a row is read. The parameter of a lambda is the one name that an expression can give to a value. It costs some
25 ns a row, as each value becomes a list, where a few copies cost nothing: DuckDB computes equal expressions once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["NAN", "among", "bare", "between", "null_where", "once", "unless_nan"]

NAN = "CAST('NaN' AS DOUBLE)"
_COPYING = re.compile(r"\bnullif\(| BETWEEN | IN \(", re.IGNORECASE)
_MOST_COPYING = 3
"""How many of these may be within a value that is copied: each of its columns is read 2^4 times at most."""
_MOST_LENGTH = 200
"""In characters, of a value that is copied for each item of a list."""


class _Number(str):
    """SQL for a number that is null where it would be NaN; `bare` is NaN there, and reads what it is made of once.

    What arithmetic makes of NaN is NaN, so of numbers computed from numbers only the last has to be looked at.
    """

    __slots__ = ("bare",)

    bare: str


def unless_nan(sql: str) -> str:
    """A number, null for NaN."""
    number = _Number(null_where(sql, NAN))
    number.bare = sql
    return number


def bare(sql: str) -> str:
    """A number for arithmetic that passes NaN on: NaN where it is null for being none."""
    return sql.bare if isinstance(sql, _Number) else sql


def once(body: Callable[..., str], value: str, *others: str) -> str:
    """An expression over values, the first of which it reads more than once, and the others once.

    The values stand there themselves where the first is short, and under names where it is not.
    """
    if len(_COPYING.findall(value)) <= _MOST_COPYING:
        return body(value, *others)
    if not any('"' in other for other in others):  # they are constants
        return f"list_transform([{value}], lambda y: {body('y', *others)})[1]"
    values = dict(zip("abc", (value, *others), strict=False))
    packed = ", ".join(f"{name} := {sql}" for name, sql in values.items())
    return f"list_transform([struct_pack({packed})], lambda y: {body(*(f'y.{name}' for name in values))})[1]"


def null_where(value: str, other: str) -> str:
    """A value, null where it equals another."""

    def body(y: str, x: str) -> str:
        return f"nullif({y}, {x})"

    return once(body, value, other)


def between(value: str, low: str, high: str) -> str:
    """Whether a value lies between two others."""

    def body(y: str, a: str, b: str) -> str:
        return f"({y} BETWEEN {a} AND {b})"

    return once(body, value, low, high)


def among(value: str, items: list[str], *, nullable: bool) -> str:
    """Whether a value is one of some constants; `nullable` says that null is one of them."""
    if len(items) == 1 or (len(value) <= _MOST_LENGTH and not _COPYING.search(value)):
        return f"({value} IN ({', '.join(items)}))"
    # without the lambda DuckDB makes IN of it again
    contained = f"list_transform([{value}], lambda y: list_contains([{', '.join(items)}], y))[1]"
    return f"({contained} OR NULL)" if nullable else contained
