"""What one row has for each measure and histogram, and the sums over them. No row makes an engine raise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.engines.sql._dialect import Dialect
from discreet.engines.sql._expressions import Expressions
from discreet.query import Count, Distinct, Histogram, Measure, People, Product, Sum

__all__ = ["Part", "cell_names", "distinct_sql", "distinct_value", "parts_of", "sum_sql", "when_name"]


@dataclass(frozen=True, slots=True)
class Part:
    """A column of each row: the number to sum, 1 where something is not null or holds, a value to tell apart, a cell.

    `meaning` is what it is of, in words that no two parts share. It is null where the row has none. `limits` are those
    of the whole numbers that it holds; None if it is not a number.
    """

    meaning: tuple[object, ...]
    name: str
    sql: str
    limits: tuple[int, int] | None


def parts_of(measures: Sequence[Measure], write: Expressions, histograms: Sequence[Histogram] = ()) -> list[Part]:
    """A part for each number, condition and value that the measures are made of, once, and for each histogram a cell.

    A number's part also tells where its argument is not null.
    """
    parts: dict[tuple[object, ...], Part] = {}

    def put(meaning: tuple[object, ...], sql: str, limits: tuple[int, int] | None) -> None:
        parts.setdefault(meaning, Part(meaning, f"v{len(parts)}", sql, limits))

    for number in [number for measure in measures for number in _numbers(measure)]:
        put(_number(number), write.contribution(number), (number.lower, number.upper))
    for argument in [argument for measure in measures for argument in _arguments(measure)]:
        if _presence(argument, parts.values()) is None:
            put(("present", argument), f"CASE WHEN {write.present(argument)} THEN 1 END", (0, 1))
    for measure in measures:
        if measure.when is not None:
            put(("when", measure.when), f"CASE WHEN {write.condition(measure.when)} THEN 1 END", (0, 1))
        if isinstance(measure, Distinct):
            put(("value", measure.argument), write.distinct_value(measure.argument), None)
    for histogram in histograms:
        cell = write.contribution(histogram)
        if histogram.when is not None:
            cell = f"CASE WHEN {write.condition(histogram.when)} THEN {cell} END"
        put(_cell(histogram), cell, (histogram.lower, histogram.upper))
    return list(parts.values())


def sum_sql(measure: Measure, parts: Sequence[Part], dialect: Dialect) -> str:
    """The aggregate over rows that is a measure; for people, over the rows of one person in one group."""
    filtered = _filter(measure, parts)
    match measure:
        case People():
            return f"least(count(*){filtered}, 1)"
        case Distinct():
            return distinct_sql(measure, parts)
        case Count():
            counted = "*" if measure.argument is None else _presence(measure.argument, parts)
            return f"count({counted}){filtered}"
        case Sum():
            return _sum(_named(_number(measure), parts), measure, filtered, dialect)
        case Product():
            return _sum(_product(measure, parts, dialect), measure, filtered, dialect)


def _sum(integer: str, measure: Sum | Product, filtered: str, dialect: Dialect) -> str:
    return f"coalesce({dialect.sum(integer, (measure.lower, measure.upper), filtered)}, 0)"


def distinct_sql(measure: Distinct, parts: Sequence[Part]) -> str:
    """The number of distinct values among rows, which all have to be there at once."""
    return f"count(DISTINCT {_named(('value', measure.argument), parts)}){_filter(measure, parts)}"


def distinct_value(measure: Distinct, parts: Sequence[Part]) -> tuple[str, str]:
    """The part that has a measure's values, and the condition that a row has one that counts."""
    value = _named(("value", measure.argument), parts)
    present = f"{value} IS NOT NULL"
    return value, present if measure.when is None else f"{present} AND {when_name(measure.when, parts)} IS NOT NULL"


def cell_names(histograms: Sequence[Histogram], parts: Sequence[Part]) -> list[str]:
    """For each histogram the part that has its cells."""
    return [_named(_cell(histogram), parts) for histogram in histograms]


def when_name(when: exp.Expr, parts: Sequence[Part]) -> str:
    """The part that is not null where a condition holds."""
    return _named(("when", when), parts)


def _numbers(measure: Measure) -> tuple[Sum, ...]:
    match measure:
        case Sum():
            return (measure,)
        case Product():
            return (measure.left, measure.right)
        case _:
            return ()


def _arguments(measure: Measure) -> list[exp.Expr]:
    """What has to be not null for a row to contribute, beside what is summed."""
    arguments = [measure.argument] if isinstance(measure, Count) else []
    if isinstance(measure, Count | Sum | Product):
        arguments.append(measure.beside)
    return [argument for argument in arguments if argument is not None]


def _number(measure: Sum) -> tuple[object, ...]:
    return "number", measure.argument, measure.center


def _cell(histogram: Histogram) -> tuple[object, ...]:
    return "cell", histogram.argument, histogram.when


def _product(measure: Product, parts: Sequence[Part], dialect: Dialect) -> str:
    """Rounded to the grid and clamped, so that no rounding of doubles escapes the planned range."""
    cast = dialect.cast
    left, right = (cast(_named(_number(side), parts), "DOUBLE") for side in (measure.left, measure.right))
    low, high = (cast(str(limit + measure.center), "DOUBLE") for limit in (measure.lower, measure.upper))
    scaled = f"{left} * {right}"
    if measure.shift:
        scaled = f"{scaled} / {cast(str(2**measure.shift), 'DOUBLE')}"
    # LEAST and GREATEST pass over a null: what is not there must not become a limit
    integer = cast(f"greatest(least({dialect.rounded(scaled)}, {high}), {low})", "BIGINT")
    shifted = f"{integer} - {cast(str(measure.center), 'BIGINT')}"
    return f"CASE WHEN {left} IS NOT NULL AND {right} IS NOT NULL THEN {shifted} END"


def _filter(measure: Measure, parts: Sequence[Part]) -> str:
    conditions: list[str] = []
    if isinstance(measure, Count | Sum | Product) and measure.beside is not None:
        conditions.append(f"{_presence(measure.beside, parts)} IS NOT NULL")
    if measure.when is not None:
        conditions.append(f"{when_name(measure.when, parts)} IS NOT NULL")
    return f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""


def _named(meaning: tuple[object, ...], parts: Sequence[Part]) -> str:
    return next(part.name for part in parts if part.meaning == meaning)


def _presence(argument: exp.Expr, parts: Iterable[Part]) -> str | None:
    """A part that is null exactly where the argument is."""
    return next((p.name for p in parts if p.meaning[0] in ("number", "present") and p.meaning[1] == argument), None)
