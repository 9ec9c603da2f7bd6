"""Strategies to try, and the matrices they stand for, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise

from hypothesis import strategies as st

from discreet.learn.correlated import BandedToeplitz, Blt, Independent

ONE = 1 << 12
WEIGHT_ONE = 1 << 14


@st.composite
def falling_bands(draw: st.DrawFn, most: int = 6) -> BandedToeplitz:
    entries = draw(st.lists(st.integers(1, ONE), max_size=most - 1))
    return BandedToeplitz((ONE, *sorted(entries, reverse=True)))


@st.composite
def free_bands(draw: st.DrawFn, most: int = 6) -> BandedToeplitz:
    entries = draw(st.lists(st.integers(-ONE, ONE), max_size=most - 1))
    while entries and not entries[-1]:
        entries.pop()
    return BandedToeplitz((ONE, *entries))


@st.composite
def buffered(draw: st.DrawFn, most: int = 3) -> Blt:
    many = draw(st.integers(1, most))
    weights = [draw(st.integers(1, WEIGHT_ONE // many)) for _ in range(many)]
    shifts = [draw(st.integers(0, 31)) for _ in range(many)]
    return Blt(tuple(weights), tuple((draw(st.integers(1, min(128, 1 << shift))), shift) for shift in shifts))


def exact_column(strategy: Independent | BandedToeplitz | Blt, steps: int) -> list[Fraction]:
    match strategy:
        case Independent():
            return [Fraction(1)] + [Fraction(0)] * (steps - 1)
        case BandedToeplitz(numerators):
            return [Fraction(each, ONE) for each in (*numerators, *[0] * steps)][:steps]
        case Blt(weights, gaps):
            decays = [1 - Fraction(gap, 1 << shift) for gap, shift in gaps]
            later = [
                sum((Fraction(w, WEIGHT_ONE) * d**j for w, d in zip(weights, decays, strict=True)), Fraction(0))
                for j in range(steps - 1)
            ]
            return [Fraction(1), *later]


def exact_matrix(strategy: Independent | BandedToeplitz | Blt, steps: int) -> list[list[Fraction]]:
    column = exact_column(strategy, steps)
    return [[column[t - s] if t >= s else Fraction(0) for s in range(steps)] for t in range(steps)]


def patterns(steps: int, most: int, separation: int) -> Iterator[tuple[int, ...]]:
    """Every way to take part."""
    for many in range(1, most + 1):
        for pattern in combinations(range(steps), many):
            if all(b - a >= separation for a, b in pairwise(pattern)):
                yield pattern


def squared(matrix: list[list[Fraction]], pattern: tuple[int, ...]) -> Fraction:
    """‖C·1‖² for ones in the steps of a pattern."""
    return sum((sum((row[s] for s in pattern), Fraction(0)) ** 2 for row in matrix), Fraction(0))
