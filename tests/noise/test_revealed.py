"""Continuous noise rounded exactly. Chances of a false alarm are below 1e-9 per test; the threshold is 1e-12."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import ParameterError
from discreet.noise import rounded_laplace, rounded_student_t
from discreet.noise._exp import exp_bounds
from discreet.noise._revealed import Uniform, happens, nearest
from discreet.noise._rounded_laplace import Laplace
from discreet.noise._rounded_laplace import _falling as laplace_chance
from discreet.noise._rounded_student_t import _falling, _rising, _Student

LAWS = {
    "laplace": (Laplace, stats.laplace()),
    "cauchy": (lambda source: _Student(1, source), stats.cauchy()),
    "student 3": (lambda source: _Student(2, source), stats.t(3, scale=3**-0.5)),
    "student 5": (lambda source: _Student(3, source), stats.t(5, scale=5**-0.5)),
}
PUBLIC = {
    "laplace": rounded_laplace,
    "cauchy": lambda c, s: rounded_student_t(c, s, 1),
    "student 3": lambda c, s: rounded_student_t(c, s, 3),
    "student 5": lambda c, s: rounded_student_t(c, s, 5),
}


@pytest.mark.parametrize("law", LAWS)
def test_law(law: str) -> None:
    draws = 15_000
    fine = np.array([PUBLIC[law](Fraction(0), Fraction(2**40)) for _ in range(draws)], dtype=object)
    uniform = LAWS[law][1].cdf((fine / 2**40).astype(float))
    assert stats.kstest(uniform, "uniform").pvalue > 1e-12
    last_bits = np.bincount((fine % 64).astype(int), minlength=64)
    assert stats.chisquare(last_bits).pvalue > 1e-12


@pytest.mark.parametrize("law", LAWS)
def test_law_of_coarse_roundings(law: str) -> None:
    """The grid is as coarse as the noise, and the center is off the grid: each cell has the mass of its interval."""
    draws, center, scale = 15_000, Fraction(1, 3), Fraction(4)
    drawn = np.array([PUBLIC[law](center, scale) for _ in range(draws)])
    edges = np.arange(-4, 5)
    z = (edges + 0.5 - float(center)) / float(scale)
    expected = draws * np.diff(np.concatenate([[0], LAWS[law][1].cdf(z), [1]]))
    observed = np.bincount(np.searchsorted(edges, drawn), minlength=expected.size)
    assert expected.min() > 100
    assert stats.chisquare(observed, expected).pvalue > 1e-12


@pytest.mark.parametrize("law", LAWS)
def test_roundings_are_of_one_real(law: str, seeded: Callable) -> None:
    """From the same bits, the rounding to any grid is that of the number revealed to 640 bits."""
    make = LAWS[law][0]
    for seed in range(100):
        z = make(seeded(seed))
        before = z.bracket()
        for _ in range(9):
            z.reveal()
            after = z.bracket()
            assert before[0] <= after[0] < after[1] <= before[1]
            before = after
        for center, scale in [(0, 1), (Fraction(1, 3), Fraction(1, 7)), (-5, 10**9), (Fraction(1, 2), 2**200)]:
            low, high = ((center + scale * each + Fraction(1, 2)).__floor__() for each in before)
            assert low <= nearest(Fraction(center), Fraction(scale), make(seeded(seed))) <= high


def test_more_bits_are_drawn_where_64_do_not_decide(scripted: Callable) -> None:
    u, third = Uniform(scripted(bytes(8))), 2**64 // 3
    v = scripted(third.to_bytes(8, "little") + bytes(8))  # 64 digits of 1/3, then zeros: just below 1/3
    assert happens(lambda _, bits: (2**bits // 3, 2**bits // 3 + 1), u, v)
    assert u.bits == 128


@given(digits=st.integers(0, 2**64 - 1), within=st.fractions(min_value=0, max_value=1), m=st.integers(1, 5))
def test_chances_are_bracketed(digits: int, within: Fraction, m: int) -> None:
    t = (digits + within) / 2**64
    weights = {_falling: (1 + t * t) ** -m, _rising: t ** (2 * m - 2) * (1 + t * t) ** -m}
    for chance, weight in weights.items():
        if chance is _rising and m == 1:
            continue
        low, high = chance(m, digits, 64)
        assert low <= 2**64 * weight <= high <= low + 20
    low, high = laplace_chance(digits, 64)
    with mpmath.workprec(200):
        assert low <= mpmath.exp(-mpmath.mpf(t.numerator) / t.denominator) * 2**64 <= high <= low + 6
    assert exp_bounds(t, 64)[0] <= high


def test_inverse_of_zero_digits_is_not_taken(scripted: Callable) -> None:
    """Coins for the outer case, then a U that begins with 64 zeros."""
    y = _Student(1, scripted(bytes([0]) + bytes(8) + bytes(8) + bytes(7) + b"\x01"))
    low, high = y.bracket()
    assert 2**64 < low < high


@pytest.mark.parametrize("law", LAWS)
def test_no_noise_is_rounding(law: str) -> None:
    assert [PUBLIC[law](Fraction(n, 4), Fraction(0)) for n in (-3, -2, 0, 1, 2, 3, 5)] == [-1, 0, 0, 0, 1, 1, 1]


def test_bad_arguments_are_refused() -> None:
    for draw in PUBLIC.values():
        with pytest.raises(ParameterError, match="scale"):
            draw(Fraction(0), Fraction(-1))
    for degrees in (0, 2, -1, True, 1.0):
        with pytest.raises(ParameterError, match="degrees"):
            rounded_student_t(Fraction(0), Fraction(1), degrees)


def test_no_argument_takes_a_seed_or_a_source() -> None:
    assert list(inspect.signature(rounded_laplace).parameters) == ["center", "scale"]
    assert list(inspect.signature(rounded_student_t).parameters) == ["center", "scale", "degrees"]
