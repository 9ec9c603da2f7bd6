"""The field of 2**64 − 2**32 + 1 elements, in one limb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local.two_servers.prio3._field import Field, Vector, wide_product

__all__ = ["Field64"]

_P = np.uint64(2**64 - 2**32 + 1)
_GAP = np.uint64(2**32 - 1)  # 2**64 − p
_HALF = np.uint64(32)


@dataclass(frozen=True, slots=True)
class Field64(Field):
    """Field64 of draft-irtf-cfrg-vdaf-20, Section 6.1.

    >>> field = Field64()
    >>> field.numbers(field.mul(field.elements([2**63]), field.elements([4])))  # 2**65 = 2(2**32 − 1)
    [8589934590]
    """

    modulus: ClassVar[int] = 2**64 - 2**32 + 1
    two_adicity: ClassVar[int] = 32
    generator: ClassVar[int] = pow(7, 2**32 - 1, modulus)
    limbs: ClassVar[int] = 1

    def add(self, a: Vector, b: Vector) -> Vector:
        """A + b: past 2**64 by adding what 2**64 is congruent to."""
        total = a + b
        total += (total < a) * _GAP
        return _below(total)

    def sub(self, a: Vector, b: Vector) -> Vector:
        """A − b: below 0 by taking off what 2**64 is congruent to."""
        difference = a - b
        difference -= (a < b) * _GAP
        return difference

    def mul(self, a: Vector, b: Vector) -> Vector:
        """A · b by 2**64 ≡ 2**32 − 1 and 2**96 ≡ −1."""
        low, high = wide_product(a, b)
        top = high >> _HALF
        total = low - top
        total -= (low < top) * _GAP
        high &= _GAP
        high *= _GAP
        total += high
        total += (total < high) * _GAP
        return _below(total)

    def canonical(self, raw: Vector) -> NDArray[np.bool_]:
        """Which are below p."""
        return raw[..., 0] < _P


def _below(total: Vector) -> Vector:
    total -= (total >= _P) * _P
    return total
