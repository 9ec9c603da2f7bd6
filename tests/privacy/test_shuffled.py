"""Shuffled reports against 50 digits, up to 10¹⁵ people: the truth lies in every bracket."""

from __future__ import annotations

import itertools
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.privacy import pure, randomized_response
from discreet.privacy.curves._shuffled import log_below, log_given, log_lower, log_mass, log_upper

mpmath.mp.dps = 50
mpf = mpmath.mpf


def mp_log_mass(n, p, x):
    return (
        mpmath.loggamma(n + 1)
        - mpmath.loggamma(x + 1)
        - mpmath.loggamma(n - x + 1)
        + x * mpmath.log(p)
        + (n - x) * mpmath.log(1 - p)
    )


def trapezoid(function, low, high, steps=4000):
    """Σ over the integers of a smooth, wide function, which is its integral to far more digits than are asked for."""
    h = (high - low) / mpf(steps)
    return h * mpmath.fsum(function(low + i * h) * (0.5 if i in (0, steps) else 1) for i in range(steps + 1))


def clones(eps0, binary):
    return 2 / (mpmath.exp(eps0) + 1) if binary else mpmath.exp(-mpf(eps0))


def theorem(eps0, n, eps, *, binary=False):
    """Theorem 3.2 term by term: c clones, a ones among them, his own report."""
    p, eps0, eps = clones(eps0, binary), mpf(eps0), mpf(eps)
    beta, growth = mpmath.exp(eps0) / (1 + mpmath.exp(eps0)), mpmath.exp(eps)
    total = mpf(0)
    for c in range(n):
        rest = [mpmath.binomial(c, a) / mpf(2) ** c for a in range(c + 1)] + [mpf(0)]
        shifted = [mpf(0), *rest[:-1]]
        given = mpmath.fsum(
            max(beta * one + (1 - beta) * none - growth * ((1 - beta) * one + beta * none), 0)
            for one, none in zip(shifted, rest, strict=True)
        )
        total += mpmath.binomial(n - 1, c) * p**c * (1 - p) ** (n - 1 - c) * given
    return total


def attained(eps0, n, eps):
    """The others all hold 0: a hockey-stick of two sums of coins, by enumeration."""
    u, growth = 1 / (1 + mpmath.exp(mpf(eps0))), mpmath.exp(mpf(eps))
    rest = [mpmath.binomial(n - 1, j) * u**j * (1 - u) ** (n - 1 - j) for j in range(n)]
    p = [u * a + (1 - u) * b for a, b in zip([*rest, 0], [0, *rest], strict=True)]
    q = [(1 - u) * a + u * b for a, b in zip([*rest, 0], [0, *rest], strict=True)]
    return max(mpmath.fsum(max(a - growth * b, 0) for a, b in zip(*pair, strict=True)) for pair in ((p, q), (q, p)))


def total_variation(eps0, n, *, clones_only):
    """At ε = 0: of the theorem, (2β−1)·E C(C, ⌊C/2⌋)/2^C; of what is attained, (2β−1)·P(Bin(n−1, u) = its mode)."""
    eps0, n = mpf(eps0), mpf(n)
    scale = mpmath.tanh(eps0 / 2)
    if not clones_only:
        u = 1 / (1 + mpmath.exp(eps0))
        return scale * mpmath.exp(mp_log_mass(n - 1, u, mpmath.floor(n * u)))
    p = mpmath.exp(-eps0)
    mean, spread = (n - 1) * p, mpmath.sqrt((n - 1) * p * (1 - p))

    def term(c):
        # The mass at ⌊c/2⌋, between its neighbours of even c: C(c, ⌊c/2⌋) = C(c+1, (c+1)/2)/2 for odd c.
        even = mpmath.exp(mp_log_mass(c, mpf(1) / 2, c / 2))
        odd = mpmath.exp(mp_log_mass(c + 1, mpf(1) / 2, (c + 1) / 2))
        return mpmath.exp(mp_log_mass(n - 1, p, c)) * (even + odd) / 2

    return scale * trapezoid(term, mean - 12 * spread, mean + 12 * spread, 400)


SMALL = [
    (e, n, s) for e, n in (("0.05", 3), ("0.5", 40), (1, 60), (2, 25), (5, 60)) for s in ("0", "0.1", "0.6", "0.97")
]


@pytest.mark.sampled
@pytest.mark.parametrize(("eps0", "n", "share"), SMALL)
@pytest.mark.parametrize("binary", [False, True])
def test_few_people_are_the_theorem_term_by_term(eps0, n, share, binary):
    eps = float(eps0) * float(share)
    high = mpmath.log(theorem(float(eps0), n, eps, binary=binary))
    found = log_upper(float(eps0), n, binary=binary)(eps)
    assert high <= found <= high + 1e-8
    low = mpmath.log(attained(float(eps0), n, eps))
    found = log_lower(float(eps0), n)(eps)
    assert low - 1e-8 <= found <= low


@pytest.mark.parametrize(
    ("eps0", "n"),
    [(12, 10**10), (16, 10**12), (14, 10**11), (23, 10**15), (1, 10**9), (3, 10**13), ("0.1", 5 * 10**14)],
)
def test_distance_of_very_many_reports(eps0, n):
    low, high = pure(eps0).shuffled(n).bounds(epsilon=0)
    upper, lower = (total_variation(eps0, n, clones_only=each) for each in (True, False))
    assert upper <= high <= upper * (1 + 1e-4)
    assert lower * (1 - 1e-4) <= low <= lower


@pytest.mark.parametrize("n", [10, 10**4, 10**9, 10**11, 10**13, 10**15, 2**53])
@pytest.mark.parametrize("p", [0.5, 1e-7, 0.27, 1 - 2**-20])
def test_masses_of_a_binomial_of_any_size(n, p):
    spread = (n * p * (1 - p)) ** 0.5
    x = np.unique(np.clip(np.floor(n * p + np.array([-36, -3, -1, 0, 0.5, 2, 30]) * spread), 0, n))
    x = np.unique(np.append(x, [0.0, 1.0, 5.0, n - 1.0, n]))
    value, off = log_mass(float(n), p, 1 - p, x)
    for at, found, error in zip(x, value, off, strict=True):
        truth = mp_log_mass(mpf(n), mpf(p), mpf(at))
        assert abs(truth - mpf(found)) <= error
        assert error <= 1e-4 or abs(at - n * p) > 40 * spread


@pytest.mark.parametrize("n", [2, 3, 7, 30, 100])
@pytest.mark.parametrize("p", [Fraction(1, 1000), Fraction(1, 7), Fraction(1, 2), Fraction(9, 10)])
def test_tails_are_never_understated(n, p):
    masses = [
        mpmath.binomial(n, j) * mpf(p.numerator) ** j * mpf(p.denominator - p.numerator) ** (n - j)
        for j in range(n + 1)
    ]
    tails = list(itertools.accumulate(masses))
    found = log_below(float(n), float(p), np.arange(1.0, n + 1))
    for tail, bound, after in zip(tails, found, tails[1:], strict=False):
        assert (
            mpmath.log(tail / mpf(p.denominator) ** n) - 1e-45
            <= bound
            <= mpmath.log(after / mpf(p.denominator) ** n) + 1e-9
        )


@pytest.mark.sampled
@pytest.mark.parametrize("n", [10**8, 10**12, 10**15])
@pytest.mark.parametrize("p", [1e-5, 0.3])
def test_tails_of_very_many(n, p):
    spread = (n * p * (1 - p)) ** 0.5
    c = np.floor(n * p + np.array([-20, -5, -1, 0, 1]) * spread)
    for at, bound in zip(c, log_below(float(n), p, c), strict=True):
        mass = lambda x: mpmath.exp(mp_log_mass(mpf(n), mpf(p), x))  # noqa: E731
        if spread < 100:
            tail = mpmath.fsum(mass(at - 1 - i) for i in range(int(min(at, 15 * spread))))
        else:  # the midpoint rule: a step is far below the width on which the mass changes
            start = mpf(at) - mpf(1) / 2
            tail = mpmath.quad(mass, [start - width * mpf(spread) for width in (13, 4, 1, 0.3, 0)])
        assert mpmath.log(tail) - 1e-6 <= bound <= mpmath.log(tail) + 1e-6 + 25 / spread + 25 * 2.0**-46 * spread


def given(c, eps, eps0):
    """h(c) by the integral of R(c, k) in 50 digits, at the best of the k near the threshold."""
    c, eps, eps0 = mpf(c), mpf(eps), mpf(eps0)
    beta = 1 / (1 + mpmath.exp(-eps0))
    first, second = beta - mpmath.exp(eps) * (1 - beta), mpmath.exp(eps) * beta - (1 - beta)
    k = mpmath.floor((c + 1) * second / (first + second)) + 1
    m = 2 * k - 1 - c
    width = 1 / max(mpmath.sqrt(c + 1), m)
    ratio = (c - k + 1) * mpmath.quad(
        lambda v: mpmath.exp(-m * v - (c + 1) * mpmath.log(mpmath.cosh(v))), [0, 3 * width, 12 * width, 130 * width]
    )
    return mp_log_mass(c, mpf(1) / 2, k - 1) + mpmath.log(first - mpmath.expm1(eps) * ratio)


CLONES = (100, 3000, 8192, 8193, 10**6, 10**10, 10**12, 10**14, 2**49)
GIVEN = [(c, z, e) for c in CLONES for z in (0.01, 2, 10, 30) for e in (0.3, 2) if z / c**0.5 < e]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(("c", "deviations", "eps0"), GIVEN)
def test_given_the_number_of_clones(c, deviations, eps0):
    eps = deviations / c**0.5
    truth, found = given(c, eps, eps0), float(log_given(np.array([float(c)]), eps, eps0)[0])
    assert truth <= found <= truth + (1e-8 if c <= 8192 else 1 / c + 1e-7) * (1 + deviations**2)


def test_more_people_help():
    for make in (pure(2).shuffled, randomized_response("0.9").shuffled):
        ends = [make(n).bounds(delta="1e-8") for n in (1, 10, 10**3, 10**5, 10**7, 10**9, 10**12, 10**15, 10**40)]
        assert all(b[1] <= a[1] * (1 + 1e-9) for a, b in itertools.pairwise(ends))
        assert all(low <= high for low, high in ends)


@pytest.mark.parametrize("n", [10**6, 10**9, 10**15, pytest.param(10**100, id="1e100")])
def test_any_number_of_people_takes_a_moment(n):
    low, high = pure(1).shuffled(n).bounds(delta="1e-12")
    assert 0 <= low <= high < 0.01


@pytest.mark.parametrize("log_delta", [20, 100, 300])
def test_brackets_stay_near_at_tiny_delta(log_delta):
    low, high = randomized_response("0.75").shuffled(10**6).bounds(delta=Fraction(1, 10**log_delta))
    assert 0.6 * high < low < high < 0.06


@pytest.mark.parametrize("eps0", ["1e-12", "1e-3", 30, 350, 351, 699, 5000])
@pytest.mark.parametrize("n", [1, 2, 3, 10**16, pytest.param(10**100, id="1e100")])
def test_extremes_are_brackets(eps0, n):
    loss = pure(eps0).shuffled(n)
    for low, high in (loss.bounds(delta="1e-9"), loss.bounds(epsilon=0), loss.bounds(epsilon=float(eps0) * 0.99)):
        assert 0 <= low <= high
    assert loss.bounds(delta="1e-9")[1] <= loss.epsilon()


def published(eps0, n, delta):
    """Theorem 3.1 of Feldman, McMillan and Talwar 2021; None where it says nothing."""
    eps0 = mpf(eps0)
    if eps0 > mpmath.log(n / (16 * mpmath.log(2 / mpf(delta)))):
        return None
    growth = mpmath.exp(eps0)
    rest = 8 * mpmath.sqrt(growth * mpmath.log(4 / mpf(delta))) / mpmath.sqrt(n) + 8 * growth / n
    return mpmath.log(1 + (growth - 1) / (growth + 1) * rest)


def test_the_numbers_that_its_authors_publish():
    """What their program says of 10⁵ reports of ε₀ = 4 at δ = 10⁻⁶: between the first two, in closed form the third."""
    low, high, closed = 0.1675385583317841, 0.172790550755978, 0.5378040242374512
    mine = pure(4).shuffled(10**5).bounds(delta="1e-6")
    assert mine[0] < low <= mine[1] <= high < closed
    assert mine[1] < published(4, 10**5, "1e-6") < closed


@pytest.mark.sampled
@pytest.mark.parametrize("n", [10**k for k in range(3, 10)])
@pytest.mark.parametrize("eps0", ["0.5", 1, 2, 4, 8])
def test_below_the_published_bound_and_the_local_loss(eps0, n):
    low, high = pure(eps0).shuffled(n).bounds(delta="1e-6")
    theorem = published(eps0, n, "1e-6")
    assert 0 <= low <= high <= float(eps0)
    assert theorem is None or high < theorem / 2
