"""Texts read as numbers, truth values and moments, and numbers as texts, as DuckDB does. What does not read is null.

PostgreSQL's own readings depend on the day ('today'), the server's settings, and stop at what they do not know. So a
text is held against a pattern first, and then asked whether it is valid.
"""

from __future__ import annotations

from discreet.engines.postgres._total import INFINITY, bound, double

__all__ = ["boolean_of", "date_of", "integer_of", "number_of", "number_text", "timestamp_of", "within"]

_SPACES = r"E' \t\n\x0b\f\r'"
_DIGITS = "[0-9]+(?:_[0-9]+)*"
_NUMBER = f"'^[+-]?(?:{_DIGITS}(?:[.](?:{_DIGITS})?)?|[.]{_DIGITS})(?:[eE][+-]?{_DIGITS})?$'"
_BITS = "'^0(?:[xX][0-9a-fA-F]+|[bB][01]+)$'"
_ZONE = "(?: ?Z| ?[+-][0-9]{2}(?::?[0-9]{2}(?::[0-9]{2})?)?| [A-Za-z_/]+)?"
_TIME = f"(?:(?:T| +)([0-9]{{1,2}}):([0-9]{{1,2}})(?::([0-5]?[0-9])(?:[.]([0-9]{{0,6}})[0-9]*)?)?{_ZONE})?"
_MOMENT = rf"'^([0-9]{{1,4}})([-/ \\])([0-9]{{1,2}})\2([0-9]{{1,2}}){_TIME}$'"


def boolean_of(text: str) -> str:
    """A text as a truth value."""
    yes, no = (" ".join(f"WHEN '{word}' THEN {truth}" for word in words) for truth, words in _WORDS.items())
    return f"(CASE lower({text}) {yes} {no} END)"


_WORDS = {"TRUE": ("true", "t", "1", "yes", "y"), "FALSE": ("false", "f", "0", "no", "n")}


def number_of(text: str) -> str:
    """A text as a double; one too large for it is an infinity."""
    plain = "replace({x}, '_', '')"
    number = f"CAST({plain} AS numeric)"
    far = (
        f"CASE WHEN pg_input_is_valid({plain}, 'numeric') THEN CASE WHEN abs({number}) > 1 "
        f"THEN CAST(sign({number}) AS double precision) * {INFINITY} ELSE {double(0)} END "
        f"WHEN {{x}} ~ '[eE]-' THEN {double(0)} WHEN {{x}} ~ '^-' THEN -{INFINITY} ELSE {INFINITY} END"
    )
    body = (
        f"CASE WHEN {{x}} ~ {_NUMBER} THEN CASE WHEN pg_input_is_valid({plain}, 'double precision') "
        f"THEN CAST({plain} AS double precision) ELSE {far} END "
        f"WHEN lower({{x}}) IN ('inf', '+inf', 'infinity', '+infinity') THEN {INFINITY} "
        f"WHEN lower({{x}}) IN ('-inf', '-infinity') THEN -{INFINITY} END"
    )
    return bound(body, always=True, x=f"btrim({text}, {_SPACES})")


def integer_of(text: str, bits: int) -> str:
    """A text as a whole number of so many bits beside the sign; halves go away from zero."""
    plain = "replace({x}, '_', '')"
    body = (
        f"CASE WHEN {{x}} ~ {_NUMBER} THEN CASE WHEN pg_input_is_valid({plain}, 'numeric') "
        f"THEN {within(f'round(CAST({plain} AS numeric))', bits)} END "
        f"WHEN {{x}} ~ {_BITS} THEN CASE WHEN pg_input_is_valid({{x}}, 'bigint') "
        f"THEN {within('CAST({x} AS bigint)', bits)} END END"
    )
    return bound(body, always=True, x=f"btrim({text}, {_SPACES})")


def within(integer: str, bits: int) -> str:
    """A whole number, of any width, as a BIGINT; null beyond so many bits beside the sign, and for NaN."""
    low, high = (f"CAST({limit} AS numeric)" for limit in (-(2**bits) - 1, 2**bits))
    return f"CAST(nullif(least(nullif(greatest({integer}, {low}), {low}), {high}), {high}) AS bigint)"


def timestamp_of(text: str) -> str:
    """A text as a timestamp; a time zone is passed over."""
    clock = "coalesce(m[5], '0') || ':' || coalesce(m[6], '0') || ':' || coalesce(m[7], '0')"
    fraction = "coalesce(nullif(m[8], ''), '0')"
    written = f"{_day()} || ' ' || {clock} || '.' || {fraction}"
    return _moment(text, written, "timestamp", "00:00:00")


def date_of(text: str) -> str:
    """A text as a date; a time after it is passed over."""
    return _moment(text, _day(), "date", "")


def _day() -> str:
    return "lpad(m[1], 4, '0') || '-' || m[3] || '-' || m[4]"


def _moment(text: str, written: str, kind: str, midnight: str) -> str:
    """The parts of a text put together as PostgreSQL reads them for sure. `bound` would stumble over the braces."""
    spelled = f"btrim({text}, {_SPACES})"
    epoch = f"CASE WHEN t = 'epoch' THEN '1970-01-01 {midnight}' ELSE {written} END"
    parts = f"SELECT t, regexp_match(t, {_MOMENT}) AS m FROM (SELECT {spelled} AS t OFFSET 0) AS a OFFSET 0"
    return (
        f"(SELECT CASE WHEN pg_input_is_valid(s, '{kind}') THEN CAST(s AS {kind}) END "
        f"FROM (SELECT {epoch} AS s FROM ({parts}) AS b OFFSET 0) AS c)"
    )


def number_text(number: str) -> str:
    """A double as DuckDB writes it: its shortest spelling, with a point in it below 1e16."""
    written = "CAST({x} AS text)"
    long = f"CAST(CAST({written} AS numeric) AS text)"
    dotted = "CASE WHEN strpos({t}, '.') = 0 THEN {t} || '.0' ELSE {t} END"
    body = (
        f"CASE WHEN {{x}} = {INFINITY} THEN 'inf' WHEN {{x}} = -{INFINITY} THEN '-inf' "
        f"WHEN abs({{x}}) >= {double(1e15)} AND abs({{x}}) < {double(1e16)} THEN {dotted.replace('{t}', long)} "
        f"WHEN strpos({written}, 'e') > 0 THEN {written} ELSE {dotted.replace('{t}', written)} END"
    )
    return f'({bound(body, x=number)} COLLATE "C")'
