"""Geometric laws, P(N ≥ k) = e^(−k/scale): certified tails, and blocks of two-sided ones of a large scale."""

from __future__ import annotations

from fractions import Fraction

from discreet.noise._blocks import Blocks, block_shift
from discreet.noise._exp import exp_bounds
from discreet.noise._table import Bounds, Table, Tails

__all__ = ["GUARD", "geometric_blocks", "geometric_tail", "geometric_tails", "narrowed"]

GUARD = 64
"""The bits that tails are computed with beyond those that are asked for."""


def geometric_blocks(scale: Fraction) -> Blocks:
    r"""Weight exp(−\|x\| / scale) on the integers, for scales of 64 and up."""
    shift = block_shift(scale)
    inverse = float(1 / scale)
    return Blocks(
        Table(geometric_tails(2**shift / scale), signed=False),
        shift,
        exponent=lambda _, place: place * inverse,
        exact_exponent=lambda _, place: place / scale,
    )


def geometric_tails(step: Fraction) -> Tails:
    """P(H ≥ k) = exp(−k · step)."""

    def tails(bits: int) -> list[Bounds]:
        width = bits + GUARD
        ratio = exp_bounds(step, width)
        return narrowed(geometric_tail(ratio, ratio, width))

    return tails


def geometric_tail(first: Bounds, ratio: Bounds, width: int) -> list[Bounds]:
    """Bounds on c, cq, cq², … at `width` bits, down to and with the first that is at most 2**(GUARD − 2)."""
    tail = [first]
    while tail[-1][1] >> (GUARD - 2):
        tail.append((tail[-1][0] * ratio[0] >> width, -(-tail[-1][1] * ratio[1] >> width)))
    return tail


def narrowed(bounds: list[Bounds]) -> list[Bounds]:
    """The same bounds with `GUARD` bits fewer, rounded outward, without those that say nothing (high ≤ 1)."""
    narrow = [(low >> GUARD, -(-high >> GUARD)) for low, high in bounds]
    return [(low, high) for low, high in narrow if high > 1]
