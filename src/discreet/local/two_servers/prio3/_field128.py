"""The field of 2**128 − 28 · 2**64 + 1 elements, in two limbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local.two_servers.prio3._field import Field, Vector, wide_product

__all__ = ["Field128"]

_Words = NDArray[np.uint64]

_TOP = np.uint64(2**64 - 28)  # p = _TOP · 2**64 + 1
_FOLD = np.uint64(28)  # 2**128 ≡ 28 · 2**64 − 1
_ONE, _TWO = np.uint64(1), np.uint64(2)
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


@dataclass(frozen=True, slots=True)
class Field128(Field):
    """Field128 of draft-irtf-cfrg-vdaf-20, Section 6.1.

    >>> field = Field128()
    >>> field.numbers(field.mul(field.elements([2**127]), field.elements([2]))) == [28 * 2**64 - 1]
    True
    """

    modulus: ClassVar[int] = 2**128 - 28 * 2**64 + 1
    two_adicity: ClassVar[int] = 66
    generator: ClassVar[int] = pow(7, 2**62 - 7, modulus)
    limbs: ClassVar[int] = 2

    def add(self, a: Vector, b: Vector) -> Vector:
        """A + b, less p where it is past it."""
        a_low, b_low = a[..., 0], b[..., 0]
        low = a_low + b_low
        carry = low < a_low
        high = a[..., 1] + b[..., 1]
        over = high < b[..., 1]
        high += carry
        over |= carry & (high == 0)
        return _joined(*_below(low, high, over))

    def sub(self, a: Vector, b: Vector) -> Vector:
        """A − b, plus p where it is below 0."""
        low = a[..., 0] - b[..., 0]
        borrow = a[..., 0] < b[..., 0]
        high = a[..., 1] - b[..., 1]
        under = a[..., 1] < b[..., 1]
        under |= borrow & (high == 0)
        high -= borrow
        low += under
        high += under & (low == 0)
        high += under * _TOP
        return _joined(low, high)

    def mul(self, a: Vector, b: Vector) -> Vector:
        """A · b: four words r of a product, of which those past 2**128 are folded back."""
        a0, a1, b0, b1 = a[..., 0], a[..., 1], b[..., 0], b[..., 1]
        r0, r1 = wide_product(a0, b0)
        x0, x1 = wide_product(a0, b1)
        y0, y1 = wide_product(a1, b0)
        z0, r3 = wide_product(a1, b1)
        x1 += _added(r1, x0)
        y1 += _added(r1, y0)
        r3 += _added(x1, y1)
        r3 += _added(x1, z0)
        return _joined(*_folded(r0, r1, x1, r3))

    def canonical(self, raw: Vector) -> NDArray[np.bool_]:
        """Which are below p."""
        low, high = raw[..., 0], raw[..., 1]
        return (high < _TOP) | ((high == _TOP) & (low == 0))


def _joined(low: _Words, high: _Words) -> Vector:
    return np.stack((low, high), axis=-1)


def _added(into: _Words, word: _Words) -> NDArray[np.bool_]:
    """Add in place; where it carried."""
    into += word
    return into < word


def _taken(off: _Words, word: _Words) -> NDArray[np.bool_]:
    """Subtract in place; where it borrowed."""
    borrowed = off < word
    off -= word
    return borrowed


def _times_28(word: _Words) -> tuple[_Words, _Words]:
    """Low and high word."""
    high = (word >> _HALF) * _FOLD
    high += ((word & _LOW) * _FOLD) >> _HALF
    high >>= _HALF
    return word * _FOLD, high


def _folded(r0: _Words, r1: _Words, r2: _Words, r3: _Words) -> tuple[_Words, _Words]:
    """r₀ + r₁B + (r₂ + r₃B)B² mod p, B = 2**64, by B² ≡ 28B − 1.

    (28B − 1)(r₂ + r₃B) = −r₂ − r₃B + uB + qB², where u is the low word of 28r₂ and q = 28r₃ + its high word, of two
    words. qB² folds again, into −q₀ − q₁B + sB + tB² with t below 1000, and that into 28tB − t. 2p is added so that
    what is taken off leaves it positive, and what is then past B² is below 8 and folds for the last time.
    """
    u, q0 = _times_28(r2)
    v0, q1 = _times_28(r3)
    q1 += _added(q0, v0)
    s, t = _times_28(q0)
    t += q1 * _FOLD

    past = _added(r0, np.broadcast_to(_TWO, r0.shape)).astype(np.uint64)  # the low word of 2p
    under = _taken(r0, r2).astype(np.uint64)
    under += _taken(r0, q0)
    under += _taken(r0, t)

    over = _added(r1, u).astype(np.uint64)
    over += _added(r1, s)
    over += _added(r1, t * _FOLD)
    over += _added(r1, past)
    over += _TWO
    over -= _taken(r1, np.broadcast_to(_TWO * _FOLD, r1.shape))  # the middle word of 2p
    over -= _taken(r1, r3)
    over -= _taken(r1, q1)
    over -= _taken(r1, under)

    under = _taken(r0, over).astype(np.uint64)
    return _below(r0, r1, _added(r1, over * _FOLD - under))  # where over is 0, so is under


def _below(low: _Words, high: _Words, over: NDArray[np.bool_]) -> tuple[_Words, _Words]:
    """Less p where there is B² besides, or where it is p or more; the value is below 2p."""
    reduce = over | (high > _TOP) | ((high == _TOP) & (low != 0))
    under = reduce & (low == 0)
    low -= reduce
    high -= under
    high -= reduce * _TOP
    return low, high
