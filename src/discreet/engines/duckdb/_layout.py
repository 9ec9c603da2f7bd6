"""How a row is packed into one whole number: the person above the keys above the values, a field of bits for each.

A field is 0 for a null and counts from 1 otherwise, so that packed rows are in the order of (person, keys, values),
nulls first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.engines.duckdb._parts import Part

__all__ = ["Field", "Layout", "value_field"]

_BITS = 62


@dataclass(frozen=True, slots=True)
class Field:
    """A column of whole numbers from `low` to `high`, or null; `sql` computes it."""

    sql: str
    low: int
    high: int

    @property
    def bits(self) -> int:
        return (self.high - self.low + 1).bit_length()

    @property
    def packed(self) -> str:
        """The field's content. What is out of range reads as null; of a subtraction nothing can overflow."""
        inside = f"{self.sql} BETWEEN {self.low} AND {self.high}"
        return f"CASE WHEN {inside} THEN CAST({self.sql} AS BIGINT) - ({self.low}) + 1 ELSE 0 END"


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of a packed row."""

    person: Field
    keys: tuple[Field, ...]
    values: tuple[Field, ...]

    @property
    def below_group(self) -> int:
        return sum(field.bits for field in self.values)

    @property
    def below_person(self) -> int:
        return self.below_group + sum(field.bits for field in self.keys)

    @property
    def fits(self) -> bool:
        """Whether a packed row is a whole number of 64 bits, with room to shift."""
        return self.below_person + self.person.bits <= _BITS

    def pack(self) -> str:
        """SQL for a packed row."""
        fields = [self.person, *self.keys, *self.values]
        return " | ".join(f"(({f.packed}) << {s})" for f, s in zip(fields, self._shifts(fields), strict=True))

    def unpack(self, packed: str) -> tuple[list[str], list[str]]:
        """SQL for the keys, as places from 1, 0 for null; and for the values, as they were."""
        fields = [self.person, *self.keys, *self.values]
        shifts = self._shifts(fields)
        contents = [f"(({packed} >> {s}) & {2**f.bits - 1})" for f, s in zip(fields[1:], shifts[1:], strict=True)]
        count = len(self.keys)
        values = [
            f"CASE WHEN {content} > 0 THEN {content} + ({field.low - 1}) END"
            for content, field in zip(contents[count:], self.values, strict=True)
        ]
        return contents[:count], values

    def mask(self, value: int) -> int:
        """The bits of a value in a packed row, by its place among the values."""
        bits = [field.bits for field in self.values[value:]]
        return (1 << bits[0]) - 1 << sum(bits[1:])

    def places(self, group: int) -> tuple[int, ...]:
        """The keys, as places from 1, 0 for null, from a packed row without what is above and beneath them."""
        return tuple((group >> s) & (2**f.bits - 1) for f, s in zip(self.keys, self._shifts(self.keys), strict=True))

    @staticmethod
    def _shifts(fields: Sequence[Field]) -> list[int]:
        return [sum(field.bits for field in fields[i + 1 :]) for i in range(len(fields))]


def value_field(part: Part) -> Field | None:
    """The field of what a row has for the measures; None if it is not a whole number."""
    return None if part.limits is None else Field(part.name, *part.limits)
