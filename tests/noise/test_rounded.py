"""Rounding of continuous noise: exact decisions, exact halves, and no second grid below the first."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.noise import _rounded_gaussian
from discreet.noise._exp import exp_bounds


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(64), Fraction(10**9)])
def test_the_filter_changes_no_draw(sigma, seeded) -> None:
    sampler = _rounded_gaussian._sampler(sigma)
    quick, slow = sampler.propose(3000, seeded(4)), sampler.propose(3000, seeded(4), slack=np.inf)
    assert quick.tolist() == slow.tolist()


def test_every_decision_in_exact_arithmetic_gives_the_law(seeded) -> None:
    """Seeded, so without a false alarm."""
    drawn = _rounded_gaussian._sampler(Fraction(2)).propose(30_000, seeded(5), slack=np.inf)
    edges = np.arange(-9, 11) - 0.5
    expected = np.diff(stats.norm.cdf(edges / 2)) * drawn.size
    observed = np.bincount(np.clip(drawn + 9, 0, 18), minlength=19)
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-9


@pytest.mark.parametrize("block", [0, 3, 40])
def test_settling_reveals_the_place_until_it_decides(block, scripted) -> None:
    """U is placed between e^{−x} at both ends of what 63 bits of the place leave open: only more bits can tell."""
    sampler = _rounded_gaussian._sampler(Fraction(100))
    place = (1 << 62) + 12345
    near, far = (sampler._exact(block, place + more, 63) for more in (0, 1))
    bits = 160
    middle = (exp_bounds(near, bits)[0] + exp_bounds(far, bits)[1]) // 2
    prefix, rest = middle >> (bits - 32), middle & ((1 << (bits - 32)) - 1)
    words = [(rest >> 64).to_bytes(8, "little")]
    for extension, below in ((bytes(8), True), (b"\xff" * 8, False)):
        # After 64 more bits of U the decision is open; the place is then extended by zeros (nearer) or ones (further).
        script = words[0] + extension + (rest & (2**64 - 1)).to_bytes(8, "little")
        assert sampler._settle(block, place, prefix, scripted(script)) is below


def test_halves_go_to_the_next_integer(scripted) -> None:
    sampler = _rounded_gaussian._sampler(Fraction(64))
    assert sampler.finer == 0
    inside_zero = (65535).to_bytes(2, "little")
    for bits, value in ((0, 0), ((1 << 62 - sampler.shift) - 1, 0), (1 << 62 - sampler.shift, 1)):
        for sign, word in ((1, bits), (-1, bits | 1 << 63)):
            drawn = sampler.propose(1, scripted(inside_zero + word.to_bytes(8, "little") + bytes(4)))
            assert drawn.tolist() == [sign * value]


@pytest.mark.parametrize(
    "sigma", [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(63), Fraction(64), Fraction(2**56)]
)
def test_the_float_exponent_is_right(sigma, seeded) -> None:
    sampler = _rounded_gaussian._sampler(sigma)
    block = np.array([0, 0, 1, 7, 100, 3000], dtype=np.int64)
    place = np.array([1, 2**62 + 1, 2**63 - 1, 12345678901234567, 2**40, 2**61], dtype=np.int64)
    found = sampler._exponents(block, place)
    for x, b, p in zip(found.tolist(), block.tolist(), place.tolist(), strict=True):
        exact = sampler._exact(b, p, 63)
        assert abs(Fraction(x) - exact) <= exact / 2**50
        assert sampler._exact(b, p + 1, 63) - exact < Fraction(1, 2**50)


def test_far_blocks_are_left_to_exact_arithmetic() -> None:
    sampler = _rounded_gaussian._sampler(Fraction(64))
    assert sampler._exponents(np.array([1 << 20]), np.array([0])).tolist() == [1.0]


def test_a_draw_beyond_64_bits_is_kept_whole(scripted) -> None:
    sampler = _rounded_gaussian._sampler(Fraction(2**56))
    with mpmath.workdps(30):
        assert mpmath.erfc(2**63 / mpmath.mpf(2) ** 56 / mpmath.sqrt(2)) < mpmath.exp(-8000)
    block = np.array([1 << 12], dtype=np.int64)

    class Far:
        def sample(self, size: int, source: object) -> np.ndarray:
            return block

    far = _rounded_gaussian._Rounded(Far(), sampler.shift, sampler.sigma, sampler.finer)
    drawn = far.propose(1, scripted(b"\x00" * 7 + b"\x80" + bytes(4)))
    assert drawn.dtype == object
    assert drawn.tolist() == [-(1 << 12 + sampler.shift)]
