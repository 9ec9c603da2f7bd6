"""How stored columns and texts are read as other types. What does not convert is null; nothing depends on the clock.

Texts are matched before they are cast: Spark reads more than it should ('1d' is a number to it, 'today' a date), and
an exponent of nine digits would keep it busy for as long as its decimals are long.
"""

from __future__ import annotations

from collections.abc import Callable

from discreet.engines.sql import Dialect, StoredColumn

__all__ = ["NOTHING", "in_calendar", "let", "read_as", "read_text", "text_of", "text_of_double", "to_integer"]

NOTHING = "CAST(NULL AS DOUBLE)"
"""What `nanvl` puts in the place of what is not a number."""

_NUMBERS = {"tinyint", "smallint", "int", "bigint", "float", "double"}
_FRACTIONS = {"float", "double"}
_SPACE = r"[ \t\n\x0b\f\r]*"
_DIGITS = r"[0-9]{1,400}"
_INTEGER_TEXT = rf"^{_SPACE}([+-]?(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?[0-9]{{1,3}})?){_SPACE}\z"
_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_DOUBLE = rf"^{_SPACE}([+-]?(?:{_NUMBER}|(?i:inf|infinity|nan))){_SPACE}\z"
_DAY = r"([0-9]{1,4})([-/\\])([0-9]{1,2})\2([0-9]{1,2})"
_TIME = r"([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(\.[0-9]{0,6})?[0-9]*)?"
_ZONE = r"(?: ?Z| ?UTC| ?[+-][0-9]{2}(?::?[0-9]{2})?)?"
_DATE = rf"^{_SPACE}{_DAY}(?:(?:T| {{1,9}}){_TIME}{_ZONE})?{_SPACE}\z"


def let(value: str, body: Callable[[str], str]) -> str:
    """An expression that names a value more than once, which is computed and written once.

    Spark has no other way to say so: it copies the arguments of `nullif`, and copies of copies fill its memory.
    """
    return f"transform(array({value}), y -> {body('y')})[0]"


def in_calendar(sql: str, kind: str) -> str:
    """A moment that is cheap to compute, null outside the years 1 to 9999."""
    last = "9999-12-31" if kind == "DATE" else "9999-12-31 23:59:59.999999"
    return f"CASE WHEN {sql} >= {kind} '0001-01-01' AND {sql} <= {kind} '{last}' THEN {sql} END"


def to_integer(number: str, kind: str) -> str:
    """A double as the nearest whole number, of two the even one; null beyond the type.

    Spark casts 2^63 to the largest BIGINT, which no other double is: one more is null.
    """
    cast = f"try_cast(rint({number}) AS {kind})"
    return f"(try_add({cast}, 1L) - 1L)" if kind == "BIGINT" else cast


def read_as(dialect: Dialect, stored: StoredColumn, wanted: str) -> str:
    """A stored column as another type."""
    name, kind = stored.sql, stored.type.partition("(")[0]
    if wanted == "STRING":
        return text_of(name, stored)
    if kind == "string":
        return read_text(dialect, name, wanted)
    if wanted in ("DATE", "TIMESTAMP_NTZ"):
        if kind not in ("date", "timestamp", "timestamp_ntz"):
            return f"CAST(NULL AS {wanted})"
        inside = in_calendar(name, {"timestamp": "TIMESTAMP_LTZ"}.get(kind, kind.upper()))
        return f"CAST({inside} AS {wanted})"
    if kind not in (*_NUMBERS, "decimal", "boolean"):
        return f"CAST(NULL AS {wanted})"
    if wanted == "DOUBLE":
        number = f"CAST({name} AS DOUBLE)"
        return f"nanvl({dialect.one_zero(number) if kind in _FRACTIONS else number}, {NOTHING})"
    if wanted == "BIGINT" and kind in _FRACTIONS:
        return to_integer(f"CAST({name} AS DOUBLE)", wanted)
    if wanted == "BIGINT" and kind == "decimal":
        return f"try_cast(round({name}, 0) AS BIGINT)"
    return f"CAST({name} AS {wanted})"


def read_text(dialect: Dialect, value: str, wanted: str) -> str:
    """A text as another type, read as DuckDB does, but for the differences that docs/engines.md lists."""
    match wanted:
        case "DOUBLE":
            number = f"try_cast({_matched(dialect, value, _DOUBLE)} AS DOUBLE)"
            return f"nanvl({dialect.one_zero(number)}, {NOTHING})"
        case "BOOLEAN":
            yes, no = (", ".join(map(dialect.text, words)) for words in (_YES, _NO))
            return let(
                f"lower({value})", lambda y: f"CASE WHEN {y} IN ({yes}) THEN TRUE WHEN {y} IN ({no}) THEN FALSE END"
            )
        case "DATE" | "TIMESTAMP_NTZ":
            day = f"regexp_replace(y, {dialect.text(_DATE)}, {dialect.text('$1-$3-$4' + _CLOCK * (wanted != 'DATE'))})"
            day = f"CASE WHEN rlike(y, {dialect.text(_DATE)}) THEN {day} END"
            moment = let(let(value, lambda _: day), lambda y: _padded(y, wanted))
            return let(moment, lambda y: in_calendar(y, wanted))
        case _:
            exact = f"try_cast({_matched(dialect, value, _INTEGER_TEXT)} AS DECIMAL(38,0))"
            return f"try_cast({exact} AS {wanted})"


_YES, _NO = ("true", "t", "1", "yes", "y"), ("false", "f", "0", "no", "n")
_CLOCK = " $5:$6:$7$8"


def _padded(text: str, wanted: str) -> str:
    """Parts of a moment as Spark reads them: a year of four digits, and no colon or point without digits after it."""
    year = f"concat(lpad(substring_index({text}, '-', 1), 4, '0'), substring({text}, instr({text}, '-')))"
    if wanted == "DATE":
        return f"try_cast({year} AS DATE)"
    return f"try_cast(regexp_replace({year}, '[ :.]+$', '') AS TIMESTAMP_NTZ)"


def _matched(dialect: Dialect, value: str, pattern: str) -> str:
    """What a pattern's first group holds; an empty text, which is no number, if it does not match."""
    return f"regexp_extract({value}, {dialect.text(pattern)}, 1)"


def text_of_double(value: str) -> str:
    r"""A double as DuckDB writes it, 12.5 or 1e+16, but for digits that Java may write beyond those needed."""
    plain = r"regexp_replace(CAST(CAST(y AS DECIMAL(38,21)) AS STRING), '(\\.[0-9]+?)0+$', '$1')"
    short = r"regexp_replace(regexp_replace(lower(CAST(y AS STRING)), '\\.0e', 'e'), 'e([0-9])', 'e+$1')"
    long = f"replace(regexp_replace({short}, 'e([+-])([0-9])$', 'e$10$2'), 'infinity', 'inf')"
    return let(
        value,
        lambda y: (
            f"CASE WHEN {y} = 0D THEN '0.0' WHEN abs({y}) BETWEEN 1E-4D AND 9999999999999998D THEN {plain} "
            f"ELSE {long} END"
        ),
    )


def text_of(value: str, stored: StoredColumn) -> str:
    """A stored value as text that is Unicode."""
    if stored.type in _FRACTIONS:
        return text_of_double(f"CAST({value} AS DOUBLE)")
    if stored.type in ("string", "binary"):
        return f"make_valid_utf8(CAST({value} AS STRING))"
    return f"CAST({value} AS STRING)"
