"""What one row has for each measure and histogram, and the sums over them. No row makes an engine raise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from discreet.engines.sql._dialect import Dialect
from discreet.engines.sql._expressions import Expressions
from discreet.query import Count, Distinct, Histogram, Measure, People, Product, Sum

__all__ = ["Part", "Parts", "cell_names", "distinct_sql", "distinct_value", "parts_of", "sum_sql", "when_name"]


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


class Parts(list[Part]):
    """Parts in order, each meaning once, which are looked up by what they mean, however many there are."""

    def __init__(self) -> None:
        super().__init__()
        self._names: dict[tuple[object, ...], str] = {}
        self._presences: dict[object, str] = {}

    def put(self, meaning: tuple[object, ...], sql: str, limits: tuple[int, int] | None) -> None:
        """Add a part, if there is none of the meaning."""
        if meaning in self._names:
            return
        name = f"v{len(self)}"
        self.append(Part(meaning, name, sql, limits))
        self._names[meaning] = name
        if meaning[0] in ("number", "present"):
            self._presences.setdefault(meaning[1], name)

    def named(self, meaning: tuple[object, ...]) -> str:
        """The part that means that."""
        return self._names[meaning]

    def presence(self, argument: exp.Expr) -> str | None:
        """A part that is null exactly where the argument is."""
        return self._presences.get(argument)


def parts_of(measures: Sequence[Measure], write: Expressions, histograms: Sequence[Histogram] = ()) -> Parts:
    """A part for each number, condition and value that the measures are made of, once, and for each histogram a cell.

    A number's part also tells where its argument is not null.
    """
    parts = Parts()
    for number in [number for measure in measures for number in _numbers(measure)]:
        parts.put(_number(number), write.contribution(number), (number.lower, number.upper))
    for argument in [argument for measure in measures for argument in _arguments(measure)]:
        if parts.presence(argument) is None:
            parts.put(("present", argument), f"CASE WHEN {write.present(argument)} THEN 1 END", (0, 1))
    for measure in measures:
        if measure.when is not None:
            parts.put(("when", measure.when), f"CASE WHEN {write.condition(measure.when)} THEN 1 END", (0, 1))
        if isinstance(measure, Distinct):
            parts.put(("value", measure.argument), write.distinct_value(measure.argument), None)
    for histogram in histograms:
        cell = write.contribution(histogram)
        if histogram.when is not None:
            cell = f"CASE WHEN {write.condition(histogram.when)} THEN {cell} END"
        parts.put(_cell(histogram), cell, (histogram.lower, histogram.upper))
    return parts


def sum_sql(measure: Measure, parts: Parts, dialect: Dialect) -> str:
    """The aggregate over rows that is a measure; for people, over the rows of one person in one group."""
    filtered = _filter(measure, parts)
    match measure:
        case People():
            return f"least(count(*){filtered}, 1)"
        case Distinct():
            return distinct_sql(measure, parts)
        case Count():
            counted = "*" if measure.argument is None else parts.presence(measure.argument)
            return f"count({counted}){filtered}"
        case Sum():
            return _sum(parts.named(_number(measure)), measure, filtered, dialect)
        case Product():
            return _sum(_product(measure, parts, dialect), measure, filtered, dialect)


def _sum(integer: str, measure: Sum | Product, filtered: str, dialect: Dialect) -> str:
    return f"coalesce({dialect.sum(integer, (measure.lower, measure.upper), filtered)}, 0)"


def distinct_sql(measure: Distinct, parts: Parts) -> str:
    """The number of distinct values among rows, which all have to be there at once."""
    return f"count(DISTINCT {parts.named(('value', measure.argument))}){_filter(measure, parts)}"


def distinct_value(measure: Distinct, parts: Parts) -> tuple[str, str]:
    """The part that has a measure's values, and the condition that a row has one that counts."""
    value = parts.named(("value", measure.argument))
    present = f"{value} IS NOT NULL"
    return value, present if measure.when is None else f"{present} AND {when_name(measure.when, parts)} IS NOT NULL"


def cell_names(histograms: Sequence[Histogram], parts: Parts) -> list[str]:
    """For each histogram the part that has its cells."""
    return [parts.named(_cell(histogram)) for histogram in histograms]


def when_name(when: exp.Expr, parts: Parts) -> str:
    """The part that is not null where a condition holds."""
    return parts.named(("when", when))


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
    return "cell", histogram.argument, histogram.step, histogram.when


def _product(measure: Product, parts: Parts, dialect: Dialect) -> str:
    """Rounded to the grid and clamped, so that no rounding of doubles escapes the planned range."""
    cast = dialect.cast
    left, right = (cast(parts.named(_number(side)), "DOUBLE") for side in (measure.left, measure.right))
    low, high = (cast(str(limit + measure.center), "DOUBLE") for limit in (measure.lower, measure.upper))
    scaled = f"{left} * {right}"
    if measure.shift:
        scaled = f"{scaled} / {cast(str(2**measure.shift), 'DOUBLE')}"
    # LEAST and GREATEST pass over a null: what is not there must not become a limit
    integer = cast(f"greatest(least({dialect.rounded(scaled)}, {high}), {low})", "BIGINT")
    shifted = f"{integer} - {cast(str(measure.center), 'BIGINT')}"
    return f"CASE WHEN {left} IS NOT NULL AND {right} IS NOT NULL THEN {shifted} END"


def _filter(measure: Measure, parts: Parts) -> str:
    conditions: list[str] = []
    if isinstance(measure, Count | Sum | Product) and measure.beside is not None:
        conditions.append(f"{parts.presence(measure.beside)} IS NOT NULL")
    if measure.when is not None:
        conditions.append(f"{when_name(measure.when, parts)} IS NOT NULL")
    return f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""
