"""Certified exponentials and the float filter, against mpmath at 400 bits and more."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.noise import exp_bounds
from discreet.noise._blocks import FILTER_LIMIT, FILTER_SLACK, accept, below_exp, block_shift, scaled_exp
from discreet.noise._gaussian import gaussian_blocks
from discreet.noise._laplace import geometric_blocks


def scaled(q: Fraction, bits: int) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(q.numerator) / q.denominator) * mpmath.mpf(2) ** bits


rationals = st.one_of(
    st.fractions(min_value=0, max_value=2),
    st.fractions(min_value=0, max_value=400),
    st.builds(lambda n, k: Fraction(n, 2**k), st.integers(0, 2**40), st.integers(40, 200)),
)


@settings(max_examples=300, deadline=None)
@given(q=rationals, bits=st.integers(1, 320))
def test_bounds_hold_and_are_tight(q: Fraction, bits: int) -> None:
    low, high = exp_bounds(q, bits)
    with mpmath.workprec(1400):
        assert low <= scaled(q, bits) <= high
    assert 0 <= low <= high <= low + 2
    assert high <= 2**bits


def test_bounds_at_the_ends() -> None:
    assert exp_bounds(Fraction(0), 64)[1] == 2**64
    assert exp_bounds(Fraction(10**30), 64) == (0, 1)
    with pytest.raises(ParameterError):
        exp_bounds(Fraction(-1), 64)


def test_error_of_the_filter_is_far_inside_its_slack() -> None:
    rng = np.random.default_rng(1)
    edge = np.nextafter(FILTER_LIMIT, 0)
    x = np.concatenate([rng.random(1000) / 4, 2.0 ** -np.arange(2.0, 60), [0.0, edge, edge - 1e-9]])
    with mpmath.workprec(200):
        errors = [
            abs(mpmath.mpf(p) - 2**32 * mpmath.exp(-mpmath.mpf(v))) for p, v in zip(scaled_exp(x), x, strict=True)
        ]
    assert max(errors) < 2 < FILTER_SLACK  # 1.6 at 1/4, from the series cut off


@pytest.mark.parametrize("scale", ["64", "64.1", "355", "1e9", "1e12", "12345678901/7", str(2**56)])
@pytest.mark.parametrize("kind", [geometric_blocks, gaussian_blocks])
def test_float_exponents_have_relative_error_below_2_to_minus_50(kind, scale: str) -> None:
    blocks = kind(Fraction(scale))
    rng = np.random.default_rng(2)
    block = rng.integers(0, 600, 500)
    place = np.concatenate([rng.integers(0, 2**blocks.shift, 496), [0, 1, 2**blocks.shift - 1, 2**blocks.shift // 3]])
    for h, place_, x in zip(block, place, blocks.exponent(block, place), strict=True):
        exact = blocks.exact_exponent(int(h), int(place_))
        assert abs(Fraction(float(x)) - exact) <= exact / 2**50


@pytest.mark.parametrize(
    "scale", [Fraction(64), Fraction(641, 10), Fraction(10**9), Fraction(2**56), Fraction(1000, 3)]
)
def test_a_block_and_a_place_weigh_what_their_integer_weighs(scale: Fraction) -> None:
    shift = block_shift(scale)
    assert scale / 64 < 2**shift <= scale / 32
    laplace, gaussian = geometric_blocks(scale), gaussian_blocks(scale)
    for block, place in [(0, 0), (0, 1), (3, 2**shift - 1), (700, 2**shift // 2)]:
        x, start = (block << shift) + place, block << shift
        assert laplace.exact_exponent(block, place) == (x - start) / scale
        assert gaussian.exact_exponent(block, place) == Fraction(x**2 - start**2) / (2 * scale**2)


@pytest.mark.parametrize("x", [Fraction(1, 10**6), Fraction(1, 7), Fraction(1, 4) - Fraction(1, 2**40), Fraction(3)])
def test_exact_decisions_agree_with_the_filter(x: Fraction, scripted) -> None:
    """The same 32 bits, first with the filter and then with every decision sent to exact arithmetic."""
    threshold = int(scaled(x, 32))
    near = [threshold + step for step in (-3000, -6, -5, -4, -2, -1, 1, 2, 4, 5, 6, 3000)]
    uniform = np.array([u for u in [0, 2**32 - 1, *near] if 0 <= u < 2**32 and u != threshold], dtype="<u4")
    floats = np.full(uniform.size, float(x))

    def decided(slack: float) -> np.ndarray:
        source = scripted(uniform.tobytes())
        return accept(floats, lambda _, prefix: below_exp(prefix, 32, x, source), source, slack)

    quick, slow = decided(FILTER_SLACK), decided(np.inf)
    assert quick.tolist() == slow.tolist() == (uniform < threshold).tolist()


def test_a_tie_with_the_threshold_is_decided_by_later_bits(scripted) -> None:
    x = Fraction(1, 7)
    threshold = int(scaled(x, 32))
    low, _ = exp_bounds(x, 96)
    for later, accepted in [(low % 2**64 - 5, True), (low % 2**64 + 5, False), (0, True), (2**64 - 1, False)]:
        bits = np.array([threshold], dtype="<u4").tobytes() + later.to_bytes(8, "little")
        source = scripted(bits)
        decided = accept(np.array([float(x)]), lambda _, prefix: below_exp(prefix, 32, x, source), source)  # noqa: B023
        assert decided.tolist() == [accepted]
