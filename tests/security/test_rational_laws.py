"""Laws of the numbers that parameters are made of: what is written is what is meant, and rounding has a side."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms.numeric._roots import root_down, root_up
from discreet.noise import exp_bounds
from discreet.rational import decimal_text, rational

floats = st.floats(allow_nan=False, allow_infinity=False)
decimals = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=12)
fractions = st.fractions(-(10**30), 10**30)
positive = st.fractions(Fraction(1, 10**30), 10**30)
written = st.one_of(st.integers(), floats, decimals, fractions, fractions.map(str), decimals.map(str))


@given(written)
def test_reading_twice_is_reading_once(value) -> None:
    assert rational(rational(value, "x"), "x") == rational(value, "x")


@given(fractions)
def test_a_fraction_survives_its_text(value: Fraction) -> None:
    assert rational(str(value), "x") == rational(value, "x") == value
    assert rational(f"  {value.numerator}/{value.denominator} ", "x") == value


@given(decimals, decimals)
def test_decimals_add_multiply_and_compare_exactly(a: Decimal, b: Decimal) -> None:
    x, y = rational(a, "x"), rational(str(b), "y")
    assert x == Fraction(a)
    assert x + y == Fraction(a) + Fraction(b)
    assert x * y == Fraction(a) * Fraction(b)
    assert (x < y) == (a < b)


@given(st.integers(1, 10**6), st.integers(0, 12))
def test_decimal_parts_make_up_their_whole(count: int, places: int) -> None:
    """10 · 0.1 = 1, where floats have 0.9999999999999999."""
    part = f"{Decimal(1).scaleb(-places):f}"
    assert sum([rational(part, "x")] * 10) == rational(part, "x") * 10
    assert rational(float(part), "x") * 10**places == 1
    assert rational(count, "n") * rational(part, "x") == Fraction(count, 10**places)


@given(floats, floats)
def test_floats_keep_their_order(a: float, b: float) -> None:
    assert (rational(a, "x") < rational(b, "x")) == (a < b)
    assert rational(-a, "x") == -rational(a, "x")


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_of_numpy_is_what_it_prints(value: float) -> None:
    for kind in (np.float32, np.float64):
        assert rational(kind(value), "x") == Fraction(Decimal(str(kind(value))))


@given(st.one_of(st.text(max_size=20), st.text(alphabet="0123456789.eE+-/ _", max_size=20), st.binary(max_size=8)))
def test_any_text_is_a_number_or_refused(value: str | bytes) -> None:
    try:
        read = rational(value, "x")  # type: ignore[arg-type]
    except ParameterError:
        return
    assert isinstance(read, Fraction)
    assert isinstance(value, str)
    assert read == Fraction(value)


@given(positive)
def test_roots_are_on_their_side_and_close(square: Fraction) -> None:
    low, high = root_down(square), root_up(square)
    assert low**2 <= square <= high**2
    assert 0 <= high - low <= high / 2**39
    assert (low == high) == (low**2 == square)


@given(positive, positive)
def test_roots_keep_order_and_squares(a: Fraction, b: Fraction) -> None:
    assume(a <= b)
    assert root_down(a) <= root_down(b)
    assert root_up(a) <= root_up(b)
    square = Fraction(math.floor(a) + 1) ** 2 if a < 2**30 else Fraction(4)
    assert root_down(square) == root_up(square)


@given(st.fractions(0, 40), st.fractions(0, 40), st.integers(8, 200))
def test_exponentials_keep_order_and_multiply(p: Fraction, q: Fraction, bits: int) -> None:
    (p_low, p_high), (q_low, q_high) = exp_bounds(p, bits), exp_bounds(q, bits)
    both_low, both_high = exp_bounds(p + q, 2 * bits)
    assert p_low * q_low <= both_high
    assert both_low <= p_high * q_high
    if p <= q:
        assert q_low <= p_high


@given(fractions)
def test_text_for_people_is_right_to_its_digits(value: Fraction) -> None:
    shown = Fraction(decimal_text(value))
    assert abs(shown - value) <= abs(value) * Fraction(5, 10**6)
    assert (shown < 0) == (value < 0)
