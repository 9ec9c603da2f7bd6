"""The columns of a released table as a chart reads them: keys with labels, measures with intervals."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from discreet.errors import printable

__all__ = [
    "NULL",
    "Key",
    "Measure",
    "compact",
    "cut",
    "key_of",
    "number_text",
    "read_measure",
    "short_texts",
    "shown_text",
]

NULL = "(null)"
_LONGEST_LABEL = 28
_SHORT = 7
_UNITS = ((1e12, "tn"), (1e9, "bn"), (1e6, "M"), (1e3, "k"))
_EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 — timestamps of a release have no zone, as its dates have none


@dataclass(frozen=True, slots=True)
class Key:
    """A column without noise: its values row by row, and their texts.

    `kind` is "date" for dates and timestamps, "number", or "text".
    """

    name: str
    kind: str
    values: Sequence[Any]
    texts: Sequence[str]

    @property
    def distinct(self) -> list[str]:
        """The different texts: dates and numbers in rising order, all else as in the table; null comes last."""
        first = dict(zip(self.texts, self.values, strict=True))
        known = [text for text, value in first.items() if value is not None]
        if self.kind != "text":
            known.sort(key=first.__getitem__)
        return known + [text for text, value in first.items() if value is None]

    def position(self, row: int) -> float | int | None:
        """Where a row lies on an axis: milliseconds since 1970 for a date, the number itself; None for null."""
        value = self.values[row]
        match value:
            case dt.datetime():
                return (value.replace(tzinfo=None) - _EPOCH) // dt.timedelta(milliseconds=1)
            case dt.date():
                return (dt.datetime(value.year, value.month, value.day) - _EPOCH) // dt.timedelta(milliseconds=1)  # noqa: DTZ001
            case Decimal():
                return float(value)
            case int() | float():
                return value if math.isfinite(value) else None
            case _:
                return None


@dataclass(frozen=True, slots=True)
class Measure:
    """A column with noise: its values row by row, None where there is none, and their half-widths.

    A half-width is NaN where there is none, and infinite where noise leaves nothing known. `words` say what it is.
    """

    name: str
    words: str
    values: Sequence[float | None]
    halves: Sequence[float]
    approximate: bool
    is_count: bool

    @property
    def title(self) -> str:
        """Its words as a title; a name stays as it is."""
        return self.words if self.words == self.name else f"{self.words[:1].upper()}{self.words[1:]}"

    def bounds(self, row: int) -> tuple[float | None, float | None]:
        """The ends of an interval that can be drawn, or None twice."""
        value, half = self.values[row], self.halves[row]
        if value is None or not math.isfinite(half):
            return None, None
        return value - half, value + half

    def is_doubtful(self, row: int) -> bool:
        """Whether the interval is wider than the value is large; one that has zero in it always is."""
        value, half = self.values[row], self.halves[row]
        return value is not None and not math.isnan(half) and 2 * half > abs(value)

    def text(self, row: int) -> str:
        """The value ± its half-width, as printed answers have it."""
        value, half = self.values[row], self.halves[row]
        if value is None or math.isnan(half):
            return number_text(value)
        tilde = "~" if self.approximate else ""
        if math.isinf(half):
            return f"{number_text(value)} ± {tilde}∞"
        return f"{number_text(value, half)} ± {tilde}{number_text(half, half)}"

    def interval(self, row: int) -> str:
        """The interval in words."""
        value, half = self.values[row], self.halves[row]
        if value is None or math.isnan(half):
            return "none"
        if math.isinf(half):
            return "unbounded"
        return f"{number_text(value - half, half)} to {number_text(value + half, half)}"


def shown_text(text: str) -> str:
    r"""Text that is printable, and ends no script of a page that a notebook puts it in.

    >>> shown_text("</script>\x1b")
    '< /script>\\x1b'
    """
    return printable(text).replace("</", "< /").replace("<!", "< !")


def read_measure(
    table: pa.Table, name: str, halves: Iterable[float], words: Mapping[str, str], marks: tuple[bool, bool]
) -> Measure:
    """A measure of a table; `marks` say whether its error is approximate and whether it counts rows."""
    values = [None if each is None or not math.isfinite(each) else each for each in table.column(name).to_pylist()]
    shown = shown_text(name)
    return Measure(shown, shown_text(words.get(name, name)), values, [float(half) for half in halves], *marks)


def key_of(table: pa.Table, name: str) -> Key:
    """A key of a table; texts are short, printable, and as many as the values."""
    column = table.column(name)
    kind = "text"
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        kind = "date"
    elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type) or pa.types.is_decimal(column.type):
        kind = "number"
    values = column.to_pylist()
    return Key(shown_text(name), kind, values, short_texts(values))


def short_texts(values: Sequence[Any], longest: int = _LONGEST_LABEL) -> list[str]:
    """A short text for each value, the same for equal values and different for others."""
    short: dict[Any, str] = {}
    used = set[str]()
    for value in dict.fromkeys(values):
        text = _text(value, longest)
        numbered = itertools.chain([text], (f"{text} #{i}" for i in itertools.count(2)))
        short[value] = next(each for each in numbered if each not in used)
        used.add(short[value])
    return [short[value] for value in values]


def _text(value: Any, longest: int) -> str:
    match value:
        case None:
            return NULL
        case bool():
            return str(value).lower()
        case dt.datetime():
            midnight = value.time() == dt.time()
            return value.date().isoformat() if midnight else value.isoformat(sep=" ", timespec="auto")
        case str():
            text = cut(shown_text(value), longest)
            return text if text.strip() and text != NULL else f"'{text}'"
        case float():
            return f"{value:.10g}"
        case _:
            return str(value)


def cut(text: str, longest: int) -> str:
    """The text, or its first and last words with … between them.

    >>> cut("Department of Sanitation and Waste", 20)
    'Department…nd Waste'
    """
    if len(text) <= longest:
        return text
    tail = longest * 2 // 5
    return f"{text[: longest - tail - 1].rstrip()}…{text[-tail:]}"


def number_text(value: float | None, half: float = 0) -> str:
    """A number for people, with thousands separated: to two digits of its half-width, or else to four of its own.

    >>> number_text(1234567), number_text(1234.5678, 0.25), number_text(0.012345), number_text(None)
    ('1,234,567', '1,234.57', '0.01235', 'NULL')
    """
    if value is None:
        return "NULL"
    if abs(value) < 1e15 and not value % 1 and not half % 1:
        return f"{int(value):,}"
    size = half or abs(value)
    digits = (1 if half else 3) - math.floor(math.log10(size)) if 0 < size < math.inf else 0
    if abs(value) >= 1e15 or digits > 8:
        return f"{value:.4g}"
    return f"{value:,.{max(digits, 0)}f}"


def compact(value: float | None, half: float = 0) -> str:
    """A number in seven characters or so, for a cell.

    >>> compact(1234), compact(1234567), compact(-2.5e10)
    ('1,234', '1.23M', '-25bn')
    """
    text = number_text(value, half)
    if value is None or len(text) <= _SHORT:
        return text
    for unit, name in _UNITS:
        if abs(value) >= unit:
            return f"{value / unit:.3g}{name}"
    return f"{value:.3g}"
