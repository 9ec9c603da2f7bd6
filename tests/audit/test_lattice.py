"""Steps and digits of numbers, against what they were made from."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.probes._lattice import common_step, exact, leading_bit, lowest_bit, near_step, significant_bits


@given(st.floats(allow_nan=False, allow_infinity=False).filter(bool))
def test_digits_of_a_float_enclose_it(x: float) -> None:
    number = exact(x)
    assert number is not None
    low, high, bits = lowest_bit(number), leading_bit(number), significant_bits(number)
    assert low is not None and high is not None
    scaled = abs(Fraction(x)) / Fraction(2) ** low
    assert scaled.denominator == 1
    assert scaled % 2 == 1
    assert scaled < 2**bits <= 2 * scaled
    assert math.frexp(abs(x))[1] - 1 == low + bits - 1 in {high, high - 1, high + 1}


@given(st.lists(st.fractions(), min_size=1))
def test_all_are_multiples_of_the_common_step(numbers: list[Fraction]) -> None:
    step = common_step([each.as_integer_ratio() for each in numbers])
    if step is None:
        assert not any(numbers)
    else:
        assert all((each / step).denominator == 1 for each in numbers)
        assert math.gcd(*((each / step).numerator for each in numbers)) == 1


@pytest.mark.parametrize("step", [1 / 63, 0.1, 1 / 3, math.pi * 1e-6, 12345.678])
@pytest.mark.parametrize("most", [10, 10**4, 10**6])
def test_the_step_of_rounded_multiples_is_found(step: float, most: int) -> None:
    values = (np.random.default_rng(1).integers(-most, most, 300) * step).tolist()
    found = near_step(values)
    assert found is not None
    assert abs(found / step - 1) < 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_noise_without_a_step_has_none(seed: int) -> None:
    assert near_step(np.random.default_rng(seed).laplace(size=300).tolist()) is None


def test_what_is_no_number_has_no_digits() -> None:
    assert [exact(each) for each in (None, "1", math.nan, math.inf, [1], 1j)] == [None] * 6
    assert exact(np.float32(0.5)) == exact(np.array(0.5)[()]) == exact(Fraction(1, 2)) == (1, 2)
    assert exact(np.int64(3)) == exact(True + 2) == (3, 1)
    assert near_step([]) is near_step([0.0, 0.0]) is near_step([math.inf, 1.0, 2.0]) is None
