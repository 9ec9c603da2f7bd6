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
from discreet.noise import (
    rounded_laplace,
    rounded_laplace_log_normal,
    rounded_pareto,
    rounded_student_t,
    rounded_uniform_log_normal,
)
from discreet.noise._exp import exp_bounds
from discreet.noise._rounded_laplace import Laplace, Uniform, happens, nearest
from discreet.noise._rounded_laplace import _falling as laplace_chance
from discreet.noise._rounded_log_normal import LogNormal, Symmetric, _whole_of_normal
from discreet.noise._rounded_pareto import Pareto
from discreet.noise._rounded_student_t import _falling, _rising, _Student

SIGMA = Fraction(4, 5)


class UniformLogNormal:
    """P(|Z| <= z) = Φ(u/σ) + z e**(σ²/2) (1 − Φ(u/σ + σ)), u = ln z: U covers all of it, or a part z e**(−σY)."""

    @staticmethod
    def cdf(z):
        sigma, size = float(SIGMA), np.maximum(np.abs(z), 1e-300)
        w = np.log(size) / sigma
        within = stats.norm.cdf(w) + size * np.exp(sigma**2 / 2) * stats.norm.sf(w + sigma)
        return (1 + np.sign(z) * within) / 2


class LaplaceLogNormal:
    """A mixture over Y, by a trapezoid rule: the integrand is smooth, its error is below 1e-12."""

    @staticmethod
    def cdf(z):
        y = np.linspace(-9, 9, 241)
        weight = np.exp(-(y**2) / 2)
        rates = np.exp(-float(SIGMA) * y)
        return np.array([stats.laplace.cdf(each * rates) @ weight for each in np.atleast_1d(z)]) / weight.sum()


class TwoSidedPareto:
    """P(|Z| > z) = (1 + z)**−shape, with any sign."""

    def __init__(self, shape: int) -> None:
        self.shape = shape

    def cdf(self, z):
        tail = (1 + np.abs(z)) ** -float(self.shape) / 2
        return np.where(np.asarray(z) < 0, tail, 1 - tail)


LAWS = {
    "laplace": (Laplace, stats.laplace()),
    "cauchy": (lambda source: _Student(1, source), stats.cauchy()),
    "student 3": (lambda source: _Student(2, source), stats.t(3, scale=3**-0.5)),
    "student 5": (lambda source: _Student(3, source), stats.t(5, scale=5**-0.5)),
    "pareto 1": (lambda source: Pareto(1, source), TwoSidedPareto(1)),
    "pareto 16": (lambda source: Pareto(16, source), TwoSidedPareto(16)),
    "laplace log-normal": (lambda source: LogNormal(Laplace(source), SIGMA, source), LaplaceLogNormal),
    "uniform log-normal": (lambda source: LogNormal(Symmetric(source), SIGMA, source), UniformLogNormal),
}
DRAWS = {law: 6_000 if "log-normal" in law else 15_000 for law in LAWS}
PUBLIC = {
    "laplace": rounded_laplace,
    "cauchy": lambda c, s: rounded_student_t(c, s, 1),
    "student 3": lambda c, s: rounded_student_t(c, s, 3),
    "student 5": lambda c, s: rounded_student_t(c, s, 5),
    "pareto 1": lambda c, s: rounded_pareto(c, s, 1),
    "pareto 16": lambda c, s: rounded_pareto(c, s, 16),
    "laplace log-normal": lambda c, s: rounded_laplace_log_normal(c, s, SIGMA),
    "uniform log-normal": lambda c, s: rounded_uniform_log_normal(c, s, SIGMA),
}


PARTS = pytest.mark.parametrize("part", [3, pytest.param(1, marks=pytest.mark.soak)])
"""A third of the draws shows distribution functions that are 0.06 apart (log-normal ones: 0.09), all 0.04 (0.05)."""


@PARTS
@pytest.mark.parametrize("law", LAWS)
def test_law(law: str, part: int) -> None:
    draws = DRAWS[law] // part
    fine = np.array([PUBLIC[law](Fraction(0), Fraction(2**40)) for _ in range(draws)], dtype=object)
    uniform = LAWS[law][1].cdf((fine / 2**40).astype(float))
    assert stats.kstest(uniform, "uniform").pvalue > 1e-12
    last_bits = np.bincount((fine % 64).astype(int), minlength=64)
    assert stats.chisquare(last_bits).pvalue > 1e-12


@PARTS
@pytest.mark.parametrize(
    "law", [pytest.param(law, marks=[pytest.mark.soak] * (law not in {"laplace", "student 3"})) for law in LAWS]
)
def test_law_of_coarse_roundings(law: str, part: int) -> None:
    """The grid is as coarse as the noise, and the center is off the grid: each cell has the mass of its interval.

    Of two every time: that each coarse rounding is that of a fine one is tested below, bit by bit.
    """
    draws, center, scale = DRAWS[law] // part, Fraction(1, 3), Fraction(4)
    drawn = np.array([PUBLIC[law](center, scale) for _ in range(draws)])
    edges = np.arange(-4, 5)
    z = (edges + 0.5 - float(center)) / float(scale)
    expected = draws * np.diff(np.concatenate([[0], LAWS[law][1].cdf(z), [1]]))
    observed = np.bincount(np.searchsorted(edges, drawn), minlength=expected.size)
    assert expected.min() > draws / 150
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


@pytest.mark.parametrize("draws", [5_000, pytest.param(20_000, marks=pytest.mark.soak)])
def test_whole_part_of_a_normal(seeded: Callable, draws: int) -> None:
    source = seeded(1)
    drawn = np.bincount([_whole_of_normal(source) for _ in range(draws)], minlength=6)
    expected = np.exp(-(np.arange(drawn.size) ** 2) / 2)
    expected *= draws / np.exp(-(np.arange(20) ** 2) / 2).sum()
    kept = expected > 5
    assert stats.chisquare(drawn[kept], expected[kept] * drawn[kept].sum() / expected[kept].sum()).pvalue > 1e-12


@given(whole=st.integers(0, 8), digits=st.integers(0, 2**64 - 1), sigma=st.fractions(0, 3), falls=st.booleans())
def test_factor_is_bracketed(whole: int, digits: int, sigma: Fraction, falls: bool) -> None:
    """Both ends of the cell of Y, of either sign, whatever X is."""
    z = log_normal_at(whole, digits, sigma, falls)
    with mpmath.workprec(300):
        for place in (digits, digits + 1):
            y = whole + mpmath.mpf(place) / 2**64
            true = mpmath.exp((-1 if falls else 1) * y * sigma.numerator / sigma.denominator)
            low, high = (mpmath.mpf(each.numerator) / each.denominator for each in z._factor())
            assert low <= true <= high <= low * (1 + mpmath.mpf(2) ** -50)
    for ends in ((1, 2), (-2, -1), (-1, 1)):
        z._x = type("Known", (), {"bracket": lambda self, ends=ends: tuple(map(Fraction, ends))})()
        low, high = z.bracket()
        products = [x * factor for x in ends for factor in z._factor()]
        assert (low, high) == (min(products), max(products))


@given(whole=st.integers(0, 8), digits=st.integers(0, 2**64 - 1), within=st.fractions(0, 1))
def test_density_within_a_unit_is_that_of_a_normal(whole: int, digits: int, within: Fraction) -> None:
    low, high = log_normal_at(whole, digits, Fraction(1), falls=True)._density(digits, 64)
    with mpmath.workprec(200):
        t = (digits + mpmath.mpf(within.numerator) / within.denominator) / 2**64
        assert low <= 2**64 * mpmath.npdf(whole + t) / mpmath.npdf(whole) <= high <= low + 20


def log_normal_at(whole: int, digits: int, sigma: Fraction, falls: bool) -> LogNormal:
    z = LogNormal.__new__(LogNormal)
    u = Uniform.__new__(Uniform)
    u.digits, u.bits = digits, 64
    z._integer, z._v, z._sigma, z._falls = whole, u, sigma, falls
    return z


def test_a_factor_beyond_the_digits_is_revealed_further(seeded: Callable) -> None:
    """e**(sigma Y) at 64 digits has no upper bound where sigma Y is above 128."""
    z = LogNormal(Symmetric(seeded(3)), Fraction(100), seeded(4))
    z._integer, z._falls = 3, False
    low, high = z._factor()
    assert 2**432 < low < high < 2**578


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
    for shape in (0, -1, True, 1.0, 2**16 + 1):
        with pytest.raises(ParameterError, match="shape"):
            rounded_pareto(Fraction(0), Fraction(1), shape)
    for draw in (rounded_laplace_log_normal, rounded_uniform_log_normal):
        for sigma in (Fraction(-1, 9), Fraction(101)):
            with pytest.raises(ParameterError, match="sigma"):
                draw(Fraction(0), Fraction(1), sigma)


def test_no_argument_takes_a_seed_or_a_source() -> None:
    assert list(inspect.signature(rounded_laplace).parameters) == ["center", "scale"]
    assert list(inspect.signature(rounded_pareto).parameters) == ["center", "scale", "shape"]
    assert list(inspect.signature(rounded_student_t).parameters) == ["center", "scale", "degrees"]
    for draw in (rounded_laplace_log_normal, rounded_uniform_log_normal):
        assert list(inspect.signature(draw).parameters) == ["center", "scale", "sigma"]
