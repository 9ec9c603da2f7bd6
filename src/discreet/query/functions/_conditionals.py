"""Conditions, and the functions that choose one of their arguments."""

from __future__ import annotations

from functools import reduce
from operator import or_

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.functions._calls import Call
from discreet.query.functions._ranges import NOTHING, Range
from discreet.query.functions._spec import Function, Kind, Scope, takes

__all__ = ["CHOICES", "CONDITIONS"]

_MOST_PATTERN = 200
_MOST_WILDCARDS = 10


def _same(call: Call, scope: Scope) -> Kind:
    scope.agree(call.args)
    return "bool"


def _constants(call: Call, scope: Scope) -> Kind:
    for item in call.args[1:]:
        if any(True for _ in item.find_all(exp.Column)):
            raise QueryError(
                f"IN takes constants, not {item.sql()}; IN with anything but constants is not supported: write = and OR"
            )
        scope.agree((call.args[0], item))
    return "bool"


def _pattern(call: Call, scope: Scope) -> Kind:
    pattern = call.args[1].unnest()
    if not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise QueryError(f"{call.name} takes a constant pattern in quotes, not {pattern.sql()}")
    if len(pattern.name) > _MOST_PATTERN or pattern.name.count("%") > _MOST_WILDCARDS:
        raise QueryError(
            f"a pattern of {call.name} has at most {_MOST_PATTERN} characters and {_MOST_WILDCARDS} times %; "
            "write several conditions with AND"
        )
    return takes("string", gives="bool")(call, scope)


def _any_kind(call: Call, scope: Scope) -> Kind:
    scope.kind(call.args[0])
    return "bool"


def _never(_: Call, __: Scope) -> bool:
    return False


def _comparison(symbol: str, does: str) -> Function:
    return Function((symbol,), f"a {symbol} b", does, "true or false", "null where a or b is", _same, (2, 2))


CONDITIONS = (
    _comparison("=", "whether two values of one kind are equal; whole numbers exactly, to 64 bits"),
    _comparison("<>", "whether two values differ; != is the same"),
    _comparison("<", "whether a comes before b; texts by their code points"),
    _comparison("<=", "whether a comes before b or equals it"),
    _comparison(">", "whether a comes after b"),
    _comparison(">=", "whether a comes after b or equals it"),
    Function(
        ("IS NOT DISTINCT FROM", "IS TRUE", "IS FALSE"), "a IS NOT DISTINCT FROM b",
        "whether two values are equal, or both null", "true or false", "never null", _same, (2, 2), null=_never,
    ),
    Function(
        ("IS DISTINCT FROM",), "a IS DISTINCT FROM b", "whether two values differ, or one alone is null",
        "true or false", "never null", _same, (2, 2), null=_never,
    ),
    Function(
        ("IS NULL", "IS NOT NULL"), "a IS NULL", "whether a value is missing", "true or false", "never null",
        _any_kind, (1, 1), null=_never,
    ),
    Function(
        ("BETWEEN",), "a BETWEEN b AND c", "whether a lies from b to c, both included", "true or false",
        "null where that is not decided", _same, (3, 3),
    ),
    Function(
        ("IN",), "a IN (1, 2, …)", "whether a is one of some constants", "true or false",
        "null where a is, or where a constant is and no other matches", _constants, (2, 5000),
    ),
    Function(
        ("LIKE",), "a LIKE 'x%'", "whether a text matches a constant pattern: % is any text, _ one character",
        "true or false", "null where a is", _pattern, (2, 2),
    ),
    Function(
        ("ILIKE",), "a ILIKE 'x%'", "LIKE without regard to case", "true or false", "null where a is", _pattern, (2, 2)
    ),
    Function(
        ("AND",), "a AND b", "whether both conditions hold", "true or false", "null where that is not decided",
        takes("bool", gives="bool"), (2, 2),
    ),
    Function(
        ("OR",), "a OR b", "whether a condition holds", "true or false", "null where that is not decided",
        takes("bool", gives="bool"), (2, 2),
    ),
    Function(
        ("NOT",), "NOT a", "whether a condition does not hold", "true or false", "null where a is",
        takes("bool", gives="bool"), (1, 1),
    ),
)  # fmt: skip


def _values(call: Call) -> tuple[exp.Expr, ...]:
    """What CASE can give."""
    return call.args[1::2] if len(call.args) % 2 == 0 else (*call.args[1:-1:2], call.args[-1])


def _case_kind(call: Call, scope: Scope) -> Kind:
    for condition in call.args[: len(call.args) // 2 * 2 : 2]:
        if scope.kind(condition) not in ("bool", "null"):
            raise QueryError(f"{condition.sql()} is a {scope.kind(condition)}, where CASE needs a condition")
    return scope.agree(_values(call))


def _agree(call: Call, scope: Scope) -> Kind:
    return scope.agree(call.args)


def _union(nodes: tuple[exp.Expr, ...], scope: Scope) -> Range:
    ranges = [scope.range(node) for node in nodes if not isinstance(node.unnest(), exp.Null)]
    return reduce(or_, ranges) if ranges else NOTHING


def _extreme(call: Call, scope: Scope) -> Range:
    """Nulls are skipped, so an argument helps to bound the other side only if it is never null."""
    nodes = tuple(node for node in call.args if not isinstance(node.unnest(), exp.Null))
    ranges = [scope.range(node) for node in nodes]
    if not ranges:
        return NOTHING
    sure = [r for r, node in zip(ranges, nodes, strict=True) if not scope.nullable(node)]
    integer = all(r.integer for r in ranges)
    if call.name == "LEAST":
        upper = min(r.upper for r in sure) if sure else max(r.upper for r in ranges)
        return Range(min(r.lower for r in ranges), upper, integer)
    lower = max(r.lower for r in sure) if sure else min(r.lower for r in ranges)
    return Range(lower, max(r.upper for r in ranges), integer)


def _all_null(call: Call, scope: Scope) -> bool:
    return all(scope.nullable(node) for node in call.args)


CHOICES = (
    Function(
        ("CASE", "IF", "IIF"), "CASE WHEN a THEN b … ELSE c END",
        "the value of the first condition that holds; also CASE x WHEN 1 THEN b …, and IF(a, b, c). "
        "Conditions see columns as they are, also inside a sum",
        "of all values together", "null without ELSE, and where a value can be", _case_kind, (2, 5000),
        span=lambda call, scope: _union(_values(call), scope),
        null=lambda call, scope: len(call.args) % 2 == 0 or any(scope.nullable(node) for node in _values(call)),
        exact="branches", branches=_values,
    ),
    Function(
        ("COALESCE", "IFNULL", "NVL"), "COALESCE(a, b, …)", "the first value that is not null",
        "of all values together", "null only where all are", _agree, (1, 1000),
        span=lambda call, scope: _union(call.args, scope), null=_all_null,
        exact="branches", branches=lambda call: call.args,
    ),
    Function(
        ("NULLIF",), "NULLIF(a, b)", "a, or null where it equals b", "those of a", "null where a is, or equals b",
        lambda call, scope: scope.agree(call.args) and scope.kind(call.args[0]), (2, 2),
        span=lambda call, scope: _union(call.args[:1], scope), null=lambda _, __: True,
        exact="branches", branches=lambda call: call.args,
    ),
    Function(
        ("GREATEST",), "GREATEST(a, b, …)", "the largest value; nulls are skipped",
        "from the largest lower bound, among values that are never null, to the largest upper bound",
        "null only where all are", _agree, (1, 1000), span=_extreme, null=_all_null,
        exact="branches", branches=lambda call: call.args,
    ),
    Function(
        ("LEAST",), "LEAST(a, b, …)", "the smallest value; nulls are skipped",
        "from the smallest lower bound to the smallest upper bound, among values that are never null",
        "null only where all are", _agree, (1, 1000), span=_extreme, null=_all_null,
        exact="branches", branches=lambda call: call.args,
    ),
)  # fmt: skip
