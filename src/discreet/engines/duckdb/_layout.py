"""How a row is packed into whole numbers, its words: the person above the keys above the values, a field of bits each.

A field is 0 for a null and counts from 1 otherwise, so that packed rows are in the order of (person, keys, values),
nulls first. The person and the keys are in the first word, and so are the values for which it has room; the others
fill further words, in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from discreet.engines.sql import Part

__all__ = ["Field", "Layout", "Place", "value_field"]

_BITS = 63
_WORDS = 8
_LEAST = 2**63
"""Less by one is no 64-bit number, and negative it is none to DuckDB as a constant."""


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
    def is_small(self) -> bool:
        """Whether each number is one of 64 bits, and the least of them a constant to DuckDB."""
        return self.low > -_LEAST and self.high < _LEAST

    @property
    def packed(self) -> str:
        """The field's content. What is out of range reads as null; of a subtraction nothing can overflow."""
        inside = f"{self.sql} BETWEEN {self.low} AND {self.high}"
        return f"CASE WHEN {inside} THEN CAST({self.sql} AS BIGINT) - ({self.low}) + 1 ELSE 0 END"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a field is: the word, the number of bits beneath it there, and its own."""

    word: int
    shift: int
    bits: int

    @property
    def mask(self) -> int:
        """The bits of the word that are not all 0 where the field is not null."""
        return ((1 << self.bits) - 1) << self.shift

    def content(self, names: Sequence[str]) -> str:
        """SQL for the field's content, by the names of the words."""
        return f"(({names[self.word]} >> {self.shift}) & {(1 << self.bits) - 1})"


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of a packed row."""

    person: Field
    keys: tuple[Field, ...]
    values: tuple[Field, ...]

    @property
    def words(self) -> tuple[tuple[Field, ...], ...]:
        """The fields of each word, from the highest."""
        words = [[self.person, *self.keys]]
        for field in self.values:
            if sum(each.bits for each in words[-1]) + field.bits > _BITS:
                words.append([])
            words[-1].append(field)
        return tuple(map(tuple, words))

    @property
    def fits(self) -> bool:
        """Whether each word is a whole number of 64 bits that is not negative, and words are few."""
        words = self.words
        return len(words) <= _WORDS and all(
            sum(field.bits for field in word) <= _BITS and all(field.is_small for field in word) for word in words
        )

    @property
    def below_group(self) -> int:
        """The bits of the first word beneath the keys."""
        return sum(field.bits for field in self.words[0][1 + len(self.keys) :])

    @property
    def below_person(self) -> int:
        """The bits of the first word beneath the person."""
        return self.below_group + sum(field.bits for field in self.keys)

    def place(self, value: int) -> Place:
        """Where a value is, by its position among the values."""
        return self._places()[1 + len(self.keys) + value]

    def pack(self) -> str:
        """SQL for the words `r0`, `r1`, … of a packed row."""
        places, fields = self._places(), [self.person, *self.keys, *self.values]
        items: list[str] = []
        for word in range(len(self.words)):
            shifted = [f"(({f.packed}) << {p.shift})" for f, p in zip(fields, places, strict=True) if p.word == word]
            items.append(f"{' | '.join(shifted)} AS r{word}")
        return ", ".join(items)

    def unpack(self, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """SQL for the keys, as places from 1, 0 for null; and for the values, as they were."""
        contents = [place.content(names) for place in self._places()[1:]]
        count = len(self.keys)
        values = [
            f"CASE WHEN {content} > 0 THEN {content} + ({field.low - 1}) END"
            for content, field in zip(contents[count:], self.values, strict=True)
        ]
        return contents[:count], values

    def places(self, group: int) -> tuple[int, ...]:
        """The keys, as places from 1, 0 for null, from a first word without what is above and beneath them."""
        beneath = self.below_group
        keys = self._places()[1 : 1 + len(self.keys)]
        return tuple((group >> (key.shift - beneath)) & ((1 << key.bits) - 1) for key in keys)

    def _places(self) -> list[Place]:
        """Of the person, the keys and the values."""
        places: list[Place] = []
        for word, fields in enumerate(self.words):
            shift = sum(field.bits for field in fields)
            for field in fields:
                shift -= field.bits
                places.append(Place(word, shift, field.bits))
        return places


def value_field(part: Part) -> Field | None:
    """The field of what a row has for the measures; None if it is not a whole number."""
    return None if part.limits is None else Field(part.name, *part.limits)
