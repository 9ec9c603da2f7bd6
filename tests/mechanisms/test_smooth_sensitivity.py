"""Smooth sensitivity: the loss of noise that moves and is stretched, by integrating the densities themselves."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.mechanisms import SmoothSensitivity
from discreet.mechanisms.statistics._dilation import laplace_beta, laplace_delta, laplace_rate, student_rate
from discreet.privacy import ApproxLoss, PureLoss, RhoLoss, approx, mu, pure, rho
from discreet.sensitivity import Mode, Profile, Quantile, Slope

EPSILONS = ["0.01", "0.1", "0.5", "1", "2", "5", "8", "11", "14", "20", "35", "50"]
DELTAS = ["0.3", "1e-2", "1e-5", "1e-9", "1e-20"]


def sixty(number: str) -> mpmath.mpf:
    """The number to 60 digits."""
    with mpmath.workdps(60):
        return mpmath.mpf(number)


def hockey_stick(epsilon, scale, other, move) -> mpmath.mpf:
    """E[(1 - e^(epsilon - L))+] for L the loss of Laplace(0, scale) against Laplace(move, other), piece by piece."""

    def mass(low, high, at, s):
        def tail(z):  # the mass beyond z on its own side
            return mpmath.exp(-abs(z - at) / s) / 2

        if low >= at:
            return tail(low) - tail(high)
        return tail(high) - tail(low)

    def loss(z):
        return mpmath.log(other / scale) - abs(z) / scale + abs(z - move) / other

    far = mpmath.mpf(10) ** 9 * max(scale, other)
    cuts = sorted({-far, mpmath.mpf(0), mpmath.mpf(move), far})
    total = mpmath.mpf(0)
    for low, high in pairwise(cuts):  # the loss is linear on each piece
        start, end = loss(low) - epsilon, loss(high) - epsilon
        if start <= 0 and end <= 0:
            continue
        a, b = low, high
        if start < 0 < end:
            a = low + (high - low) * start / (start - end)
        elif end < 0 < start:
            b = low + (high - low) * start / (start - end)
        total += mass(a, b, 0, scale) - mpmath.exp(epsilon) * mass(a, b, move, other)
    return total


def worst(epsilon: str, beta: Fraction, rate: Fraction) -> mpmath.mpf:
    """Over stretches of up to e**beta, both ways, and moves of up to the smaller S."""
    with mpmath.workdps(60):
        eps, b, c = (mpmath.mpf(each.numerator) / each.denominator for each in (Fraction(epsilon), beta, 1 / rate))
        found = mpmath.mpf(0)
        for share in (-1, -0.9, -0.5, -0.1, -0.001, 0, 0.001, 0.1, 0.5, 0.9, 1):
            stretch = mpmath.exp(b * share)
            unit = min(1, stretch)  # S is 1 here and `stretch` there
            for move in (0, 0.3, 0.9, 1):
                found = max(found, hockey_stick(eps, c, c * stretch, unit * move))
        return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_loss_is_within_the_spend_and_beta_is_the_largest(epsilon: str, delta: str) -> None:
    mechanism = SmoothSensitivity("median", bounds=(0, 1), spend=approx(epsilon, delta))
    assert worst(epsilon, mechanism.beta, mechanism.rate) <= sixty(delta)
    assert mechanism.rate == Fraction(epsilon) / 2
    assert mechanism.loss() == ApproxLoss(Fraction(epsilon), Fraction(delta))
    if mechanism.beta < min(Fraction(epsilon), 64):
        more = mechanism.beta * (1 + Fraction(1, 10**9))
        found = worst(epsilon, more, mechanism.rate)
        narrow_ends = float(more) + float(mechanism.rate) * math.exp(-float(more)) >= float(Fraction(epsilon))
        assert found > sixty(delta) or narrow_ends


@pytest.mark.parametrize("share", ["0.1", "0.5", "0.9"])
@pytest.mark.parametrize("epsilon", EPSILONS[::2])
def test_laplace_rate_for_a_given_beta(epsilon: str, share: str) -> None:
    beta = laplace_beta(Fraction(epsilon), Fraction(1, 10**5)) * Fraction(share)
    mechanism = SmoothSensitivity("median", bounds=(0, 1), spend=approx(epsilon, "1e-5"), beta=beta)
    assert Fraction(epsilon) / 2 < mechanism.rate <= Fraction(epsilon)
    assert worst(epsilon, beta, mechanism.rate) <= sixty("1e-5")


@pytest.mark.parametrize("delta", DELTAS[:4])
@pytest.mark.parametrize("epsilon", EPSILONS[2::3])
def test_closed_form_is_the_divergence_at_the_widest_stretch(epsilon: str, delta: str) -> None:
    eps, rate = Fraction(epsilon), Fraction(epsilon) * Fraction(2, 3)
    beta = laplace_beta(eps, Fraction(delta)) * Fraction(1, 3)
    with mpmath.workdps(60):
        c, b = mpmath.mpf(rate.denominator) / rate.numerator, mpmath.mpf(beta.numerator) / beta.denominator
        exact = hockey_stick(mpmath.mpf(epsilon), c * mpmath.exp(b), c, 1)
        claimed = laplace_delta(eps, beta, rate)
        assert exact <= mpmath.mpf(claimed.numerator) / claimed.denominator <= exact * (1 + mpmath.mpf(10) ** -25)


@pytest.mark.parametrize(("delta", "fails_from"), [("1e-2", 11.436), ("1e-5", 13.233)])
def test_the_published_beta_fails_for_large_epsilon(delta: str, fails_from: float) -> None:
    """beta = epsilon / (2 ln(2/delta)) with noise 2 S/epsilon."""

    def true_delta(epsilon: float) -> mpmath.mpf:
        beta = Fraction(epsilon / (2 * math.log(2 / float(delta))))
        return worst(str(epsilon), beta, Fraction(str(epsilon)) / 2)

    assert true_delta(fails_from - 0.01) < mpmath.mpf(delta) < true_delta(fails_from + 0.01)
    assert true_delta(30) > 3 * mpmath.mpf(delta)


def worst_heavy_loss(m: int, beta: float, rate: float) -> float:
    """The largest log ratio of densities ∝ (1 + y²)**-m, over places, stretches and moves."""
    c, widest = 1 / rate, math.exp(beta)
    grid = np.concatenate([np.logspace(-9, 9, 20_000), np.linspace(0, 20, 20_000)])
    z = np.concatenate([-grid, grid]) * max(c, 1)
    found = 0.0
    for stretch in widest ** np.linspace(-1, 1, 9):
        for move in (0, 0.5, 1):
            here = -m * np.log1p((z / c) ** 2)
            there = -math.log(stretch) - m * np.log1p(((z - move * min(1, stretch)) / (c * stretch)) ** 2)
            found = max(found, float(np.abs(here - there).max()))
    return found


@pytest.mark.parametrize("share", [None, 0.5, 0.05])
@pytest.mark.parametrize(("noise", "m"), [("cauchy", 1), ("student_t", 2)])
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1, 2, 7, 20, 50])
def test_heavy_tails_spend_pure_epsilon_and_all_of_it(epsilon: float, noise, m: int, share) -> None:
    beta = None if share is None else share * epsilon / (2 * m - 1)
    mechanism = SmoothSensitivity("median", bounds=(0, 1), spend=pure(epsilon), noise=noise, beta=beta)
    found = worst_heavy_loss(m, float(mechanism.beta), float(mechanism.rate))
    assert epsilon / 1.001 <= found <= epsilon * (1 + 1e-9)
    assert mechanism.loss() == PureLoss(Fraction(str(epsilon)))
    published = (epsilon - (2 * m - 1) * float(mechanism.beta)) / m
    assert mechanism.rate >= published


@pytest.mark.parametrize("degrees", [1, 3, 5, 9])
def test_rate_of_any_student(degrees: int) -> None:
    m = (degrees + 1) // 2
    for epsilon in (0.1, 3.0):
        beta = 0.4 * epsilon / degrees
        rate = float(student_rate(Fraction(epsilon), Fraction(beta), degrees))
        assert epsilon / 1.001 <= worst_heavy_loss(m, beta, rate) <= epsilon * (1 + 1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("statistic", ["mean", "median", "variance", Quantile("1/3")])
@pytest.mark.parametrize("noise", ["laplace", "cauchy", "student_t", "uniform_log_normal", "laplace_log_normal"])
def test_moves_and_stretches_are_within_those_charged(statistic, relation, noise) -> None:
    """All neighbours of up to 4 values: what the hockey-stick supposes of answer and scale, in exact arithmetic."""
    spend = rho("0.5") if noise.endswith("log_normal") else approx(1, 1e-3)
    mechanism = SmoothSensitivity(statistic, bounds=(0, 1), spend=spend, noise=noise, relation=relation)
    widest = Fraction(math.exp(float(mechanism.beta))) * (1 + Fraction(1, 10**12))
    values = [0.0, 0.1, 0.7, 1.0]
    seen = {x: mechanism._before_noise(list(x)) for n in range(5) for x in combinations_with_replacement(values, n)}
    for x, (value, scale) in seen.items():
        others = (
            [tuple(sorted((*x, v))) for v in values]
            if relation == "add_remove"
            else [tuple(sorted((*x[:i], *x[i + 1 :], v))) for i in range(len(x)) for v in values]
        )
        for y in others:
            if y in seen:
                other_value, other_scale = seen[y]
                assert abs(value - other_value) <= mechanism.rate * min(scale, other_scale)
                assert max(scale, other_scale) <= widest * min(scale, other_scale)


@pytest.mark.parametrize(
    ("noise", "spend", "cdf"),
    [
        ("laplace", approx(1, 1e-6), stats.laplace().cdf),
        ("cauchy", pure(1), stats.cauchy().cdf),
        ("student_t", pure(1), stats.t(3, scale=3**-0.5).cdf),
        ("uniform_log_normal", rho("0.5"), lambda z: mixed(stats.uniform(-1, 2).cdf, 0.8, z)),
        ("laplace_log_normal", rho("0.5"), lambda z: mixed(stats.laplace().cdf, 0.45, z)),
    ],
    ids=["laplace", "cauchy", "student_t", "uniform_log_normal", "laplace_log_normal"],
)
def test_releases_have_the_law(noise, spend, cdf) -> None:
    """False alarm below 1e-9: the threshold is 1e-12."""
    mechanism = SmoothSensitivity("median", bounds=(0, 1), spend=spend, noise=noise)
    x = [0.2, 0.3, 0.35, 0.4, 0.9] * 20
    value, scale = mechanism._before_noise(x)
    drawn = [mechanism.release(x) for _ in range(1000)]
    assert all(Fraction(each) % mechanism.step == 0 for each in drawn if abs(each) < 2**24)
    assert stats.kstest((np.array(drawn) - float(value)) / float(scale), cdf).pvalue > 1e-12


def mixed(cdf, sigma: float, z):
    """P(X e**(sigma Y) <= z), X having the cdf and Y standard normal."""
    y = np.linspace(-9, 9, 3601)
    weight = np.exp(-(y**2) / 2)
    return cdf(np.asarray(z)[:, None] * np.exp(-sigma * y)) @ (weight / weight.sum())


def test_noise_that_is_taken_for_a_spend() -> None:
    for spend, noise in [
        (approx(1, 1e-6), "laplace"),
        (approx(1, 0), "student_t"),
        (pure(1), "student_t"),
        (rho(1), "uniform_log_normal"),
        (rho(1, 1e-6), "uniform_log_normal"),
    ]:
        mechanism = SmoothSensitivity("median", bounds=(0, 1), spend=spend)
        assert mechanism.noise == noise
        assert (mechanism.sigma is None) == (noise != "uniform_log_normal")
    small = SmoothSensitivity("median", bounds=(0, 1), spend=rho(1), beta="0.01")
    assert small.noise == "laplace_log_normal"


@pytest.mark.parametrize("amount", ["1e-14", "1e-3", "1e12"])
def test_any_size_of_rho_and_of_data(amount: str) -> None:
    for upper in (1e-300, 1.0, 1e300):
        mechanism = SmoothSensitivity("median", bounds=(-upper, upper), spend=rho(amount))
        for data in ([], [0.0], [upper] * 3, [-upper, 0.0, upper] * 5):
            assert math.isfinite(mechanism.release(data))


def test_scale_follows_the_data_and_is_not_shown() -> None:
    mechanism = SmoothSensitivity("median", bounds=(0, 1), spend=approx(1, 1e-6))
    calm, wild = (mechanism._before_noise(x)[1] for x in ([0.5] * 1001, [0.0] * 500 + [1.0] * 501))
    assert calm * 1000 < wild
    assert "scale" not in repr(mechanism)


@pytest.mark.parametrize("statistic", ["sum", "count_distinct", "max", "variance"])
def test_other_statistics(statistic) -> None:
    bounds = None if statistic == "count_distinct" else (-1000, 1001)
    assert isinstance(
        SmoothSensitivity(statistic, bounds=bounds, spend=pure(1), noise="student_t").release([1, 2, 3]), float
    )
    line = SmoothSensitivity(Slope(within=(-5, 5)), bounds=((0, 1), (0, 1)), spend=approx(1, 1e-6))
    assert isinstance(line.release(([0, 1], [0, 1])), float)


class Endless:
    def value(self, x, bounds) -> float:
        return 0.0

    def global_sensitivity(self, bounds, relation, n=None) -> float:
        return math.inf

    def profile(self, x, bounds, relation) -> Profile:
        return Profile(lambda _: 1.0, last=0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spend": pure(1), "noise": "laplace"}, "delta"),
        ({"spend": rho(1), "noise": "laplace"}, "epsilon"),
        ({"spend": rho(1), "noise": "student_t"}, "epsilon"),
        ({"noise": "uniform_log_normal"}, "rho"),
        ({"spend": mu(1)}, "mu"),
        ({"spend": RhoLoss(Fraction(0), Fraction(0))}, "rho must"),
        ({"spend": PureLoss(Fraction(0))}, "epsilon must"),
        ({"spend": rho("0.5"), "beta": "3.1"}, "beta"),
        ({"spend": rho("0.5"), "beta": "1e300"}, "beta"),
        ({"spend": rho("0.5"), "beta": 0}, "beta"),
        ({"spend": rho("0.5"), "beta": True}, "beta"),
        ({"spend": rho("0.5"), "beta": math.nan}, "beta"),
        ({"spend": rho("0.5"), "beta": "1e-9"}, "beta"),
        ({"spend": rho("1e-20")}, "beta"),
        ({"spend": 1.0}, "currency"),
        ({"spend": approx(1, "1e-1000")}, "beta"),
        ({"noise": "gaussian"}, "noise"),
        ({"beta": 2}, "beta"),
        ({"beta": 0}, "beta"),
        ({"beta": -1}, "beta"),
        ({"beta": math.nan}, "beta"),
        ({"beta": 1, "noise": "cauchy"}, "beta"),
        ({"beta": "1e-9", "noise": "cauchy"}, "beta"),
        ({"beta": "1/3", "noise": "student_t"}, "beta"),
        ({"bounds": (1, 0)}, "bounds"),
        ({"relation": "other"}, "relation"),
        ({"statistic": Mode(("a", "b"))}, "category"),
        ({"statistic": Endless()}, "finite"),
        ({"spend": approx("1e-9", "1e-9")}, "beta"),
    ],
)
def test_bad_arguments_are_refused(change, message) -> None:
    arguments = {"statistic": "median", "bounds": (0, 1), "spend": approx(1, 1e-6)} | change
    with pytest.raises(ParameterError, match=message):
        SmoothSensitivity(arguments.pop("statistic"), **arguments)


def test_rates_and_limits() -> None:
    assert student_rate(Fraction(1), Fraction(1, 3), 3) == 0
    assert student_rate(Fraction(10**9), Fraction(1), 1) == student_rate(Fraction(1000), Fraction(1), 1)
    assert laplace_rate(Fraction(1), Fraction(1, 10**6), Fraction(2)) == 0
    assert laplace_delta(Fraction(1), Fraction(1, 10), Fraction(2)) == 1
    assert laplace_delta(Fraction(1), Fraction(1, 10**9), Fraction(1, 2)) <= Fraction(1, 2**1023)
