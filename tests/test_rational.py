"""Numbers that people write mean their printed decimal."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.rational import decimal_text, rational


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.1, Fraction(1, 10)),
        (1e-6, Fraction(1, 10**6)),
        (1e308, Fraction(10**308)),
        (5e-324, Fraction(5, 10**324)),
        (-0.0, Fraction(0)),
        (3, Fraction(3)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (" -2.50 ", Fraction(-5, 2)),
        ("1e-6", Fraction(1, 10**6)),
        (Decimal("0.1"), Fraction(1, 10)),
        (Decimal("1E+3"), Fraction(1000)),
        (Fraction(2, 7), Fraction(2, 7)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (np.int8(-3), Fraction(-3)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
    ],
)
def test_exact(value: object, exact: Fraction) -> None:
    assert rational(value, "x") == exact  # type: ignore[arg-type]


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_what_it_prints(value: float) -> None:
    assert rational(value, "x") == Fraction(Decimal(repr(value)))
    assert float(rational(value, "x")) == value


@pytest.mark.parametrize(
    "value",
    [
        True, np.bool_(True), None, "", "abc", "1/0", "0x10", "nan", "inf", "1e", "1e2e3", "1/2/3", "0.1/2", "−1",
        float("nan"), float("inf"), np.float32("nan"), np.float64("inf"), Decimal("NaN"), Decimal("Infinity"),
        Decimal("1E+999999"), "1e5000", "1e-5000", "9" * 5000, "1/" + "9" * 5000, 1j, [], b"1", object(),
    ],
)  # fmt: skip
def test_refused(value: object) -> None:
    with pytest.raises(ParameterError, match="x must be a finite number"):
        rational(value, "x")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 10), "0.1"),
        (Fraction(1, 3), "0.333333"),
        (Fraction(3), "3"),
        (Fraction(10) ** 400, "1e+400"),
        (Fraction(1, 10**400), "1e-400"),
        (Fraction(0), "0"),
    ],
)
def test_text_for_people(value: Fraction, text: str) -> None:
    assert decimal_text(value) == text
