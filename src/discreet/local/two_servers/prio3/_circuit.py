"""Validity circuits over a field: linear maps around one gadget of degree 2, which is called many times.

Source: draft-irtf-cfrg-vdaf-20, Sections 7.3.2 and 7.4. Encodings, shares of them and their circuits are linear, so
that the same code runs on values and on shares: `share` is that of the constant 1: 1 for the value itself, 1/2 for
each of its two shares.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local.two_servers.prio3._field import Field, Vector
from discreet.local.two_servers.prio3._field64 import Field64
from discreet.local.two_servers.prio3._field128 import Field128

__all__ = ["Circuit", "Count", "Histogram", "MultihotCountVec", "Shape", "Sum", "SumVec", "bits_of", "weights_of"]


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers of elements of a circuit.

    Attributes
    ----------
    length
        Elements of an encoded value.
    outputs
        What is added up.
    arity
        Inputs of the gadget.
    calls
        Calls of the gadget.
    checks
        Outputs of the circuit.
    joint
        Elements of joint randomness.
    """

    length: int
    outputs: int
    arity: int
    calls: int
    checks: int
    joint: int

    @property
    def points(self) -> int:
        """How many values define the polynomial of a gadget's input: a power of two above the calls."""
        return 1 << self.calls.bit_length()


class Circuit(ABC):
    """A set of valid values, and how a value is proved to be one of them.

    On a valid value all outputs of the circuit are 0. On any other some output is not, except for unlucky joint
    randomness.
    """

    __slots__ = ()

    field: ClassVar[Field]
    algorithm: ClassVar[int]
    """The draft's identifier of the Prio3 scheme with this circuit."""

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """The numbers of elements."""

    @abstractmethod
    def encode(self, values: NDArray[Any]) -> Vector:
        """A row of elements for each of some valid values."""

    @abstractmethod
    def wires(self, encoded: Vector, joint: Vector, share: int) -> Vector:
        """The gadget's inputs, of shape (reports, arity, calls, limbs)."""

    @abstractmethod
    def checked(self, encoded: Vector, gadgets: Vector, share: int) -> Vector:
        """The outputs of the circuit, from the encoded values and the gadget's outputs, (reports, calls, …)."""

    @abstractmethod
    def truncated(self, encoded: Vector) -> Vector:
        """What is added up."""

    def gadget(self, wires: Vector) -> Vector:
        """The sum of the products of inputs 2j and 2j + 1, of shape (reports, points, …)."""
        return self.field.sum(self.field.mul(wires[:, ::2], wires[:, 1::2]), 1)


@dataclass(frozen=True, slots=True)
class Count(Circuit):
    """0 or 1: x² = x."""

    field: ClassVar[Field] = Field64()
    algorithm: ClassVar[int] = 1

    @property
    def shape(self) -> Shape:
        """One element of each kind."""
        return Shape(length=1, outputs=1, arity=2, calls=1, checks=1, joint=0)

    def encode(self, values: NDArray[Any]) -> Vector:
        """The value."""
        return values.astype(np.uint64)[:, None, None]

    def wires(self, encoded: Vector, joint: Vector, share: int) -> Vector:  # noqa: ARG002
        """The value, twice."""
        return np.stack((encoded, encoded), axis=1)

    def checked(self, encoded: Vector, gadgets: Vector, share: int) -> Vector:  # noqa: ARG002
        """x² − x."""
        return self.field.sub(gadgets, encoded)

    def truncated(self, encoded: Vector) -> Vector:
        """The value."""
        return encoded


def weights_of(largest: int) -> list[int]:
    """Weights of bits whose sums are exactly 0 … largest: powers of two, and a last one that makes up the rest."""
    powers = [1 << i for i in range(largest.bit_length() - 1)]
    return [*powers, largest - sum(powers)]


def bits_of(values: NDArray[np.int64], largest: int) -> NDArray[np.uint64]:
    """Bits, of shape (…, bits), whose weighted sum is the value; the last is set only where it must be."""
    last = largest - ((1 << (largest.bit_length() - 1)) - 1)
    top = values >= 1 << (largest.bit_length() - 1)
    rest = values - top * last
    low = (rest[..., None] >> np.arange(largest.bit_length() - 1)) & 1
    return np.concatenate((low, top[..., None]), axis=-1).astype(np.uint64)


@dataclass(frozen=True, slots=True)
class Sum(Circuit):
    """A whole number from 0 to `largest`, in bits: x² − x = 0 for each."""

    largest: int

    field: ClassVar[Field] = Field64()
    algorithm: ClassVar[int] = 2

    @property
    def shape(self) -> Shape:
        """A call and a check for each bit."""
        bits = self.largest.bit_length()
        return Shape(length=bits, outputs=1, arity=1, calls=bits, checks=bits, joint=0)

    def encode(self, values: NDArray[Any]) -> Vector:
        """The bits."""
        return bits_of(values, self.largest)[..., None]

    def wires(self, encoded: Vector, joint: Vector, share: int) -> Vector:  # noqa: ARG002
        """One bit a call."""
        return encoded[:, None]

    def checked(self, encoded: Vector, gadgets: Vector, share: int) -> Vector:  # noqa: ARG002
        """x² − x of each bit."""
        return gadgets

    def truncated(self, encoded: Vector) -> Vector:
        """The weighted sum of the bits."""
        return _weighted(self.field, encoded, self.largest)[:, None]

    def gadget(self, wires: Vector) -> Vector:
        """x² − x."""
        return self.field.sub(self.field.mul(wires[:, 0], wires[:, 0]), wires[:, 0])


def _weighted(field: Field, bits: Vector, largest: int) -> Vector:
    """The weighted sum over the axis before the last."""
    return field.sum(field.mul(bits, field.elements(weights_of(largest))), bits.ndim - 2)


class _Bits(Circuit):
    """A circuit that checks that every element is 0 or 1, in chunks, by one random linear combination."""

    __slots__ = ()

    chunk: int

    def _shape(self, length: int, outputs: int, checks: int) -> Shape:
        """A call and joint randomness for each chunk, two inputs for each element of it."""
        calls = -(-length // self.chunk)
        return Shape(length, outputs, arity=2 * self.chunk, calls=calls, checks=checks, joint=calls)

    def wires(self, encoded: Vector, joint: Vector, share: int) -> Vector:
        """r^(j + 1) · x and x − 1 for the j-th element x of a chunk, r being the chunk's joint randomness."""
        field, (rows, length, limbs) = self.field, encoded.shape
        shape = self.shape
        padded = np.zeros((rows, shape.calls * self.chunk, limbs), dtype=np.uint64)
        padded[:, :length] = encoded
        powers = [joint]
        for _ in range(self.chunk - 1):
            powers.append(field.mul(powers[-1], joint))
        chunks = padded.reshape(rows, shape.calls, self.chunk, limbs)
        inputs = np.empty((rows, shape.arity, shape.calls, limbs), dtype=np.uint64)
        inputs[:, ::2] = field.mul(chunks, np.stack(powers, axis=2)).swapaxes(1, 2)
        inputs[:, 1::2] = field.sub(chunks, field.element(share)).swapaxes(1, 2)
        return inputs


@dataclass(frozen=True, slots=True)
class SumVec(_Bits):
    """`size` whole numbers, each from 0 to `largest`, in bits, which are checked `chunk` at a time."""

    size: int
    largest: int
    chunk: int

    field: ClassVar[Field] = Field128()
    algorithm: ClassVar[int] = 3

    @property
    def shape(self) -> Shape:
        """All bits of all numbers, and one check."""
        return self._shape(self.size * self.largest.bit_length(), self.size, checks=1)

    def encode(self, values: NDArray[Any]) -> Vector:
        """The bits of each number, one after the other."""
        return _widened(bits_of(values, self.largest).reshape(len(values), self.shape.length))

    def checked(self, encoded: Vector, gadgets: Vector, share: int) -> Vector:  # noqa: ARG002
        """The random sum."""
        return self.field.sum(gadgets, 1)[:, None]

    def truncated(self, encoded: Vector) -> Vector:
        """The weighted sums of the bits."""
        bits = encoded.reshape(len(encoded), self.size, self.largest.bit_length(), self.field.limbs)
        return _weighted(self.field, bits, self.largest)


@dataclass(frozen=True, slots=True)
class Histogram(_Bits):
    """One of `size` places: a 1 there and 0 elsewhere, checked `chunk` at a time."""

    size: int
    chunk: int

    field: ClassVar[Field] = Field128()
    algorithm: ClassVar[int] = 4

    @property
    def shape(self) -> Shape:
        """The places."""
        return self._shape(self.size, self.size, checks=2)

    def encode(self, values: NDArray[Any]) -> Vector:
        """A 1 at the place."""
        return _widened((np.arange(self.size) == values[:, None]).astype(np.uint64))

    def checked(self, encoded: Vector, gadgets: Vector, share: int) -> Vector:
        """The random sum, and by how much the elements sum to more than 1."""
        field = self.field
        return np.stack((field.sum(gadgets, 1), field.sub(field.sum(encoded, 1), field.element(share))), axis=1)

    def truncated(self, encoded: Vector) -> Vector:
        """All of it."""
        return encoded


@dataclass(frozen=True, slots=True)
class MultihotCountVec(_Bits):
    """`size` bits of which at most `weight` are 1, checked `chunk` at a time with the bits of the number of 1s."""

    size: int
    weight: int
    chunk: int

    field: ClassVar[Field] = Field128()
    algorithm: ClassVar[int] = 5

    @property
    def shape(self) -> Shape:
        """The bits, and those of the number of 1s, which are not added up."""
        return self._shape(self.size + self.weight.bit_length(), self.size, checks=2)

    def encode(self, values: NDArray[Any]) -> Vector:
        """The bits, and those of the number of 1s."""
        numbers = bits_of(values.sum(axis=1, dtype=np.int64), self.weight)
        return _widened(np.concatenate((values.astype(np.uint64), numbers), axis=1))

    def checked(self, encoded: Vector, gadgets: Vector, share: int) -> Vector:  # noqa: ARG002
        """The random sum, and the number of 1s minus the claimed one."""
        field, claimed = self.field, _weighted(self.field, encoded[:, self.size :], self.weight)
        return np.stack((field.sum(gadgets, 1), field.sub(field.sum(encoded[:, : self.size], 1), claimed)), axis=1)

    def truncated(self, encoded: Vector) -> Vector:
        """The bits."""
        return encoded[:, : self.size]


def _widened(words: NDArray[np.uint64]) -> Vector:
    return np.stack((words, np.zeros_like(words)), axis=-1)
