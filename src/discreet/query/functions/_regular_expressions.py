"""Regular expressions of constants, on engines whose matcher takes time linear in the text."""

from __future__ import annotations

import re

from sqlglot import exp

from discreet.errors import QueryError
from discreet.query.functions._calls import Call, integer_literal
from discreet.query.functions._patterns import Pattern, read_pattern, read_replacement
from discreet.query.functions._spec import Function, Kind, Scope
from discreet.query.functions._text import LONGEST_TEXT

__all__ = ["REGULAR_EXPRESSIONS"]

_MOST_REPLACEMENT = 50
_MOST_GROUP = 9
_LONGEST_KEY = 100
"""Characters of a public key that a pattern is tried on when a query is planned."""


def _constant(node: exp.Expr, what: str) -> str:
    node = node.unnest()
    if not (isinstance(node, exp.Literal) and node.is_string):
        raise QueryError(
            f"{what} of a regular expression has to be a constant in quotes, not {node.sql()}; write it out"
        )
    return node.name


def _text(call: Call, scope: Scope) -> Pattern:
    kind = scope.kind(call.args[0])
    if kind not in ("string", "null"):
        raise QueryError(f"{call.args[0].sql()} is a {kind}, where {call.name} needs a text; convert it with CAST")
    return read_pattern(_constant(call.args[1], "the pattern"))


def _options(call: Call, place: int, known: str) -> None:
    written = _constant(call.args[place], "the options") if len(call.args) > place else ""
    if len(set(written)) < len(written) or not set(written) <= set(known):
        raise QueryError(
            f"{call.name} takes options of {', '.join(known)}, not {written!r}; write them in quotes, once"
        )


def _matches(call: Call, scope: Scope) -> Kind:
    _text(call, scope)
    _options(call, 2, "i")
    return "bool"


def _extract(call: Call, scope: Scope) -> Kind:
    pattern = _text(call, scope)
    group = integer_literal(call.args[2]) if len(call.args) > 2 else 0
    if group is None or not 0 <= group <= min(pattern.groups, _MOST_GROUP):
        raise QueryError(
            f"the group of REGEXP_EXTRACT has to be a constant from 0 to {min(pattern.groups, _MOST_GROUP)}, as the "
            "pattern has; write 0 for all that matched"
        )
    _options(call, 3, "i")
    return "string"


def _replace(call: Call, scope: Scope) -> Kind:
    pattern = _text(call, scope)
    replacement = _constant(call.args[2], "the replacement")
    if len(replacement) > _MOST_REPLACEMENT:
        raise QueryError(f"the replacement of REGEXP_REPLACE has more than {_MOST_REPLACEMENT} characters; use fewer")
    read_replacement(replacement, pattern)
    _options(call, 3, "gi")
    return "string"


def _compiled(value: str, pattern: str, options: str) -> re.Pattern[str]:
    """The pattern for Python, where it surely says of a text what an engine says."""
    if not (read_pattern(pattern).plain and value.isascii() and value.isprintable() and len(value) <= _LONGEST_KEY):
        raise ValueError
    return re.compile(pattern, re.ASCII | (re.IGNORECASE if "i" in options else 0))


def _is_match(value: str, pattern: str, options: str = "") -> bool:
    return _compiled(value, pattern, options).search(value) is not None


def _is_full_match(value: str, pattern: str, options: str = "") -> bool:
    return _compiled(value, pattern, options).fullmatch(value) is not None


def _extracted(value: str, pattern: str, group: float = 0, options: str = "") -> str:
    match = _compiled(value, pattern, options).search(value)
    return "" if match is None else match[int(group)] or ""


def _replaced(value: str, pattern: str, replacement: str, options: str = "") -> str:
    compiled = _compiled(value, pattern, options)
    if "\\" in replacement or compiled.fullmatch("") is not None or compiled.search("") is not None:
        raise ValueError
    if any(match[0] == "" for match in compiled.finditer(value)):  # of which systems count not the same
        raise ValueError
    return compiled.sub(replacement.replace("\\", r"\\"), value, count=0 if "g" in options else 1)


_NULL = "null where s is"
REGULAR_EXPRESSIONS = (
    Function(
        ("REGEXP_MATCHES", "REGEXP_LIKE", "REGEXP", "RLIKE", "~"), "REGEXP_MATCHES(s, 'x+', 'i')",
        "whether a constant pattern matches a part of a text; with 'i' without regard to case. DuckDB only",
        "true or false", _NULL, _matches, (2, 3), evaluate=_is_match,
    ),
    Function(
        ("REGEXP_FULL_MATCH", "SIMILAR TO"), "REGEXP_FULL_MATCH(s, 'x+', 'i')",
        "whether a constant pattern matches the whole text. DuckDB only", "true or false", _NULL, _matches, (2, 3),
        evaluate=_is_full_match,
    ),
    Function(
        ("REGEXP_EXTRACT",), "REGEXP_EXTRACT(s, '(x)y', 1, 'i')",
        "the first part of a text that matches a constant pattern, or a group of it; empty if there is none. "
        "DuckDB only",
        "not a number", _NULL, _extract, (2, 4), evaluate=_extracted,
    ),
    Function(
        ("REGEXP_REPLACE",), "REGEXP_REPLACE(s, '(x)y', 'z\\1', 'gi')",
        "the first part of a text that matches becomes another text, with 'g' each part; \\1 is the first group. The "
        f"text and the result are cut to {LONGEST_TEXT:,} characters. DuckDB only",
        "not a number", _NULL, _replace, (3, 4), evaluate=_replaced,
    ),
)  # fmt: skip
