"""Prime fields with roots of unity whose order is a power of two: what Field64 and Field128 have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["Field", "Vector", "wide_product"]

Vector = NDArray[np.uint64]
"""Elements below the modulus, in limbs along the last axis."""

_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


class Field(ABC):
    """Arithmetic modulo a prime on arrays of elements, all of them below the prime."""

    __slots__ = ()

    modulus: ClassVar[int]
    two_adicity: ClassVar[int]
    """The largest k for which there are roots of unity of order 2**k."""
    generator: ClassVar[int]
    """A generator of these."""
    limbs: ClassVar[int]

    @property
    def size(self) -> int:
        """Bytes of an encoded element."""
        return 8 * self.limbs

    @abstractmethod
    def add(self, a: Vector, b: Vector) -> Vector:
        """A + b, with broadcasting of all axes but the last."""

    @abstractmethod
    def sub(self, a: Vector, b: Vector) -> Vector:
        """A − b, likewise."""

    @abstractmethod
    def mul(self, a: Vector, b: Vector) -> Vector:
        """A · b, likewise."""

    @abstractmethod
    def canonical(self, raw: Vector) -> NDArray[np.bool_]:
        """Whether each element is below the modulus; the axis of limbs is dropped."""

    def sum(self, a: Vector, axis: int) -> Vector:
        """The sum over one axis, which is counted from the first."""
        terms = np.moveaxis(a, axis, 0)
        if len(terms) == 0:
            return np.zeros(terms.shape[1:], dtype=np.uint64)
        while len(terms) > 1:
            half = len(terms) // 2
            paired = self.add(terms[:half], terms[half : 2 * half])
            terms = np.concatenate((paired, terms[2 * half :])) if len(terms) % 2 else paired
        return terms[0]

    def element(self, number: int) -> Vector:
        """One element, congruent to a number."""
        return self.elements([number])[0]

    def elements(self, numbers: Iterable[int]) -> Vector:
        """One element for each number."""
        encoded = b"".join((number % self.modulus).to_bytes(self.size, "little") for number in numbers)
        return np.frombuffer(encoded, dtype="<u8").reshape(-1, self.limbs).astype(np.uint64)

    def numbers(self, vector: Vector) -> list[int]:
        """The elements of a vector in one dimension, as whole numbers."""
        encoded = vector.astype("<u8").tobytes()
        return [int.from_bytes(encoded[i : i + self.size], "little") for i in range(0, len(encoded), self.size)]

    def encode(self, vector: Vector) -> NDArray[np.uint8]:
        """Rows of bytes of rows of elements."""
        rows = np.ascontiguousarray(vector).astype("<u8")
        return rows.view(np.uint8).reshape(len(rows), vector.shape[1] * self.size)

    def decode(self, rows: NDArray[np.uint8]) -> tuple[Vector, NDArray[np.bool_]]:
        """Rows of elements, and in which rows all of them are below the modulus; those that are not are read as 0."""
        words = np.ascontiguousarray(rows).view("<u8").astype(np.uint64)
        raw = words.reshape(len(rows), rows.shape[1] // self.size, self.limbs)
        below = self.canonical(raw)
        good: NDArray[np.bool_] = np.all(below, axis=1)
        return (raw if bool(good.all()) else np.where(below[..., None], raw, np.uint64(0))), good

    def root(self, order: int) -> int:
        """The root of unity of an order, a power of two, that is a power of the generator."""
        return pow(self.generator, 2**self.two_adicity // order, self.modulus)

    def powers(self, base: int, count: int, scale: int = 1) -> Vector:
        """Scale · base⁰, scale · base¹, …: constants, which are cached."""
        return _powers(self, base, count, scale)


@cache
def _powers(field: Field, base: int, count: int, scale: int) -> Vector:
    numbers = [scale % field.modulus]
    for _ in range(count - 1):
        numbers.append(numbers[-1] * base % field.modulus)
    return field.elements(numbers)


def wide_product(a: Vector, b: Vector) -> tuple[Vector, Vector]:
    """The low and the high 64 bits of products of 64 bits with 64 bits."""
    a_low, a_high = a & _LOW, a >> _HALF
    b_low, b_high = b & _LOW, b >> _HALF
    middle = a_high * b_low
    middle += (a_low * b_low) >> _HALF
    other = a_low * b_high
    other += middle & _LOW
    high = a_high * b_high
    high += middle >> _HALF
    high += other >> _HALF
    return a * b, high
