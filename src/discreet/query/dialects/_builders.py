"""Functions whose meaning hangs on their arguments: written as they are here, or refused with what to write."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise

from sqlglot import exp

from discreet.query.dialects._casts import is_moment, is_released
from discreet.query.dialects._rules import Arguments, Builder, at_least, literal_text, template, word
from discreet.query.functions._calls import integer_literal
from discreet.query.functions._patterns import read_pattern

__all__ = [
    "added", "called", "concatenated", "counted_from", "days_added", "difference", "extracted",
    "first_arguments_kind", "formatted", "greatest", "moment", "read_moment", "replaced", "reset",
    "rounded_numeric", "shifted", "sided", "substring", "truncated",
]  # fmt: skip

Units = Mapping[str, str]


def called(name: str, *parts: exp.Expr) -> exp.Expr:
    """A function by its name here."""
    return exp.Anonymous(this=name, expressions=list(parts))


def _text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def substring(it: Arguments) -> exp.Expr:
    """SUBSTRING from a first character: before it, systems differ."""
    start, length = it.nodes[1], it.nodes[2] if len(it.nodes) > 2 else None
    after = start.unnest()
    surely = at_least(start, 1) or (
        isinstance(after, exp.Add)
        and at_least(after.expression, 1)
        and isinstance(place := after.this.unnest(), exp.Anonymous)
        and place.name == "STRPOS"
    )
    if not surely or (length is not None and not at_least(length, 0)):
        raise it.refuse(
            "write a constant start from 1, or STRPOS(s, 'x') + 1, and a constant length from 0; before the first "
            "character and for a negative length systems differ"
        )
    return called("SUBSTRING", *it.nodes)


def sided(name: str) -> Builder:
    """LEFT or RIGHT, of a constant number of characters."""

    def build(it: Arguments) -> exp.Expr:
        if not at_least(it.nodes[1], 0):
            raise it.refuse("write a constant number of characters from 0; for negative ones systems differ")
        return called(name, *it.nodes)

    return build


def replaced(it: Arguments) -> exp.Expr:
    """REPLACE of a text that is not empty."""
    if not literal_text(it.nodes[1]):
        raise it.refuse("write a constant that is not empty as what is replaced")
    return called("REPLACE", *it.nodes)


def counted_from(text: int, sought: int) -> Builder:
    """The place of a constant in a text, whichever argument is which."""

    def build(it: Arguments) -> exp.Expr:
        if not literal_text(it.nodes[sought]):
            raise it.refuse("write a constant that is not empty as what is sought")
        return called("STRPOS", it.nodes[text], it.nodes[sought])

    return build


def concatenated(it: Arguments) -> exp.Expr:
    """CONCAT that is null where an argument is."""
    first, *others = it.nodes
    for other in others:
        first = exp.DPipe(this=first, expression=other, safe=True)
    return exp.paren(first, copy=False)


def _may_be_null(node: exp.Expr) -> bool:
    inner = node.unnest()
    if isinstance(inner, exp.Neg):
        return _may_be_null(inner.this)
    released = isinstance(inner, exp.Anonymous) and inner.name.upper() in ("COUNT", "SUM", "AVG")
    return not (released or isinstance(inner, exp.Literal | exp.Boolean))


def greatest(name: str) -> Builder:
    """GREATEST or LEAST that is null where an argument is."""

    def build(it: Arguments) -> exp.Expr:
        marks = [f"${i}" for i in range(1, len(it.nodes) + 1)]
        chosen = f"{name}({', '.join(marks)})"
        empty = [f"{mark} IS NULL" for mark, node in zip(marks, it.nodes, strict=True) if _may_be_null(node)]
        text = f"CASE WHEN {' OR '.join(empty)} THEN NULL ELSE {chosen} END" if empty else chosen
        return template(text, it)

    return build


def rounded_numeric(it: Arguments) -> exp.Expr:
    """PostgreSQL's ROUND, which takes halves of doubles to the even neighbour."""
    if len(it.nodes) == 1 and it.kinds[0] not in ("int", "whole", "decimal") and not is_released(it.nodes[0]):
        raise it.refuse(
            "halves of doubles go to the even neighbour there, and away from zero here; write FLOOR(x + 0.5), or "
            "ROUND(CAST(x AS NUMERIC))"
        )
    return called("ROUND", *it.nodes)


def first_arguments_kind(name: str, kinds: tuple[str, ...], write: str) -> Builder:
    """A function that means the same for arguments of some kinds alone."""

    def build(it: Arguments) -> exp.Expr:
        if it.kinds[0] not in kinds:
            raise it.refuse(write)
        return called(name, *it.nodes)

    return build


def reset(it: Arguments) -> exp.Expr:
    """ISNULL(x, y) of T-SQL, whose type is that of x."""
    one, other = it.kinds
    if (
        one is None
        or (one != other and not {one, other} <= {"decimal", "float", "int"})
        or (one, other) == ("int", "decimal")
    ):
        raise it.refuse("its type is that of the first argument, which cuts the second one; write COALESCE")
    return called("COALESCE", *it.nodes)


def _part(it: Arguments, place: int, units: Units) -> str:
    part = word(it.nodes[place])
    if part is None or part not in units:
        raise it.refuse(f"write one of {', '.join(units)} as the part of a date" + _weeks(part))
    return units[part]


def _weeks(part: str | None) -> str:
    return "; where a week begins differs, so write ISOWEEK where it is listed" if part and "WEEK" in part else ""


def truncated(part: int, date: int, units: Units) -> Builder:
    """DATE_TRUNC, whichever argument is which."""

    def build(it: Arguments) -> exp.Expr:
        return called("DATE_TRUNC", _text(_part(it, part, units)), it.nodes[date])

    return build


def difference(part: int, first: int, second: int, units: Units) -> Builder:
    """DATE_DIFF from the first date to the second one, whichever argument is which; weeks differ."""

    def build(it: Arguments) -> exp.Expr:
        return called("DATE_DIFF", _text(_part(it, part, units)), it.nodes[first], it.nodes[second])

    return build


def days_added(sign: int) -> Builder:
    """DATE_ADD(d, 3) or DATE_SUB(d, 3): a number of days."""

    def build(it: Arguments) -> exp.Expr:
        return _later(it, it.nodes[0], it.nodes[1], "DAY", sign)

    return build


def added(part: int, count: int, date: int, units: Units) -> Builder:
    """DATEADD, whichever argument is which."""

    def build(it: Arguments) -> exp.Expr:
        return _later(it, it.nodes[date], it.nodes[count], _part(it, part, units), 1)

    return build


def shifted(sign: int) -> Builder:
    """DATE_ADD or DATE_SUB with an INTERVAL."""

    def build(it: Arguments) -> exp.Expr:
        date, interval = it.nodes
        if not isinstance(interval, exp.Interval):
            raise it.refuse("write INTERVAL 3 DAY as the second argument")
        return _sum(date, interval, sign)

    return build


def _later(it: Arguments, date: exp.Expr, count: exp.Expr, unit: str, sign: int) -> exp.Expr:
    number = integer_literal(count)
    if number is None:
        raise it.refuse("write a whole constant as the number that is added")
    interval = exp.Interval(this=exp.Literal.string(abs(number)), unit=exp.Var(this=unit.upper()))
    return _sum(date, interval, sign if number >= 0 else -sign)


def _sum(date: exp.Expr, interval: exp.Expr, sign: int) -> exp.Expr:
    kind = exp.Add if sign > 0 else exp.Sub
    return exp.paren(
        kind(this=exp.paren(date, copy=False) if isinstance(date, exp.Binary) else date, expression=interval),
        copy=False,
    )


def moment(kind: str) -> Builder:
    """DATE(x) and its kin, of a date or a timestamp."""

    def build(it: Arguments) -> exp.Expr:
        if it.kinds[0] not in ("date", "timestamp") and not is_moment(literal_text(it.nodes[0]) or ""):
            raise it.refuse(
                f"which texts are a {kind} differs; write {kind} '2024-01-31', or use a date or a timestamp"
            )
        return exp.Cast(this=it.nodes[0], to=exp.DataType.build(kind))

    return build


_READ_FORMATS: Mapping[str, str] = {
    "YYYY-MM-DD": r"\d{4}-\d\d-\d\d",
    "YYYY-MM-DD HH24:MI:SS": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
    "YYYY-MM-DD HH24:MI:SS.US": r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}",
}
"""How dashboards write constants, and the texts that PostgreSQL reads so digit by digit."""


def read_moment(kind: str) -> Builder:
    """TO_DATE or TO_TIMESTAMP of a constant, in one of the formats that leave nothing open."""

    def build(it: Arguments) -> exp.Expr:
        text, form = map(literal_text, it.nodes)
        pattern = None if form is None else _READ_FORMATS.get(form)
        if text is None or pattern is None or re.fullmatch(pattern, text) is None:
            example = "2024-01-31" if kind == "DATE" else "2024-01-31 12:00:00"
            raise it.refuse(f"write {kind} '{example}', or a constant in the format {' or '.join(_READ_FORMATS)}")
        return exp.Cast(this=it.nodes[0], to=exp.DataType.build(kind))

    return build


def extracted(it: Arguments) -> exp.Expr:
    """REGEXP_EXTRACT of RE2 that is null without a match, and the group if the pattern has one."""
    pattern = literal_text(it.nodes[1])
    groups = 0 if pattern is None else read_pattern(pattern).groups
    if pattern is None or groups > 1:
        raise it.refuse("write a constant pattern with one group at most")
    return template(f"CASE WHEN REGEXP_MATCHES($1, $2) THEN REGEXP_EXTRACT($1, $2, {groups}) END", it)


_SQL: Mapping[str, str] = {"YYYY": "%Y", "MM": "%m", "DD": "%d", "HH24": "%H", "MI": "%M", "SS": "%S"}
_JAVA: Mapping[str, str] = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_C: Mapping[str, str] = {f"%{code}": f"%{code}" for code in "YmdHMSBbAaj"}
_FORMATS: Mapping[str, tuple[Units, str]] = {
    "sql": (_SQL, "-/.:, _"), "java": (_JAVA, "-/.:, _"), "net": (_JAVA, "-. _"), "c": (_C, "-/.:, _"),
}  # fmt: skip


def formatted(style: str, date: int = 0, text: int = 1) -> Builder:
    """A date as a text, in codes that mean the same in each of two styles, and signs between them."""
    codes, signs = _FORMATS[style]
    pieces = re.compile("|".join(sorted(map(re.escape, codes), key=len, reverse=True)) + f"|[{re.escape(signs)}]")

    def build(it: Arguments) -> exp.Expr:
        written = literal_text(it.nodes[text])
        parts = [] if written is None else pieces.findall(written)
        longer = any(one == other and one in codes for one, other in pairwise(parts))  # MMMM is no month twice
        if written is None or "".join(parts) != written or longer or it.kinds[date] not in ("date", "timestamp"):
            raise it.refuse(
                f"write a constant format of {', '.join(codes)} with {signs.strip()} between them, of a date"
            )
        return called("STRFTIME", it.nodes[date], _text("".join(codes.get(part, part) for part in parts)))

    return build
