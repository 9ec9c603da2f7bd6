"""Propose-test-release: the exact law of what it releases, and what the published recipe really costs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms import ProposeTestRelease
from discreet.mechanisms.statistics._answer import answer, numeric, power_of_two_below, to_float
from discreet.privacy import ApproxLoss, approx, pure, rho
from discreet.sensitivity import CountDistinct, Mode, Profile, distance


def tail(above: float, scale: Fraction) -> mpmath.mpf:
    """P(X > above) of discrete Laplace noise."""
    q = mpmath.exp(-1 / (mpmath.mpf(scale.numerator) / scale.denominator))
    if above == -math.inf:
        return mpmath.mpf(1)
    return q ** (above + 1) / (1 + q) if above >= 0 else 1 - q ** (-above) / (1 + q)


def true_delta(mechanism: ProposeTestRelease, x, y, epsilon: Fraction) -> float:
    """The hockey-stick divergence of the release from x against that from y, over refusals and all answers."""
    (far_x, at_x), (far_y, at_y) = mechanism._before_noise(x), mechanism._before_noise(y)
    scale, shift = mechanism.noise.scale, abs(at_x - at_y)
    with mpmath.workprec(200):
        grows = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        p, q = (tail(mechanism.threshold - far, mechanism.test.scale) for far in (far_x, far_y))
        refused = max(mpmath.mpf(0), (1 - p) - grows * (1 - q))
        # Answers k: p · w(k) - e^epsilon · q · w(k - shift), positive for k up to some last one, as the ratio falls.
        r = mpmath.exp(-1 / (mpmath.mpf(scale.numerator) / scale.denominator))

        def positive(k: int) -> bool:
            return p * r ** abs(k) > grows * q * r ** abs(k - shift)

        if not positive(0):  # the ratio is constant up to 0
            return float(refused)
        if positive(shift):
            return float(refused + p - grows * q)
        low, high = 0, shift
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if positive(middle) else (low, middle)

        def below(k: int) -> mpmath.mpf:
            return 1 - tail(k, scale)

        return float(refused + p * below(low) - grows * q * below(low - shift))


def neighbours(values: list[float], n: int, relation: str):
    for x in combinations_with_replacement(values, n):
        for i in range(n):
            rest = x[:i] + x[i + 1 :]
            if relation == "add_remove":
                yield x, rest
                yield rest, x
            else:
                yield from ((x, (*rest, v)) for v in values)


@pytest.mark.sampled
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("statistic", ["mean", "median", "variance", "max"])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, "0.01"), (4, "0.2"), ("0.3", "1e-9"), (30, "1e-3")])
def test_true_delta_on_all_small_neighbours(statistic, relation, epsilon, delta) -> None:
    seen = set()
    worst = 0.0
    for bound in ("0.07", "0.3", "0.5"):
        mechanism = ProposeTestRelease(
            statistic, bound=bound, bounds=(0, 1), spend=approx(epsilon, delta), relation=relation
        )
        for x, y in neighbours([0.0, 0.4, 1.0], 4, relation):
            here, there = mechanism._before_noise(x), mechanism._before_noise(y)
            if (case := (bound, here[0], there[0], abs(here[1] - there[1]))) not in seen:
                seen.add(case)
                worst = max(worst, true_delta(mechanism, x, y, mechanism.epsilon))
    assert worst <= float(Fraction(delta)) * (1 + 1e-9)
    assert len(seen) > 3


MEAN = {"bound": 0.005, "bounds": (0, 100)}
LARGER, SMALLER = [0.0] * 20010, [0.0] * 20009


def test_the_mean_of_twenty_thousand() -> None:
    delta = Fraction(1, 20010**2)
    mechanism = ProposeTestRelease("mean", **MEAN, spend=approx(1, delta))
    for x, y in [([*LARGER[:-1], 100.0], SMALLER), (LARGER, SMALLER)]:
        for a, b in [(x, y), (y, x)]:
            assert true_delta(mechanism, a, b, Fraction(1)) <= delta
    for n in (19_999, 20_000, 20_035, 20_038, 20_039, 20_040):  # also around the step from 0 to 1, and the threshold
        x, y = [0.0] * n + [100.0], [0.0] * n
        for a, b in [(x, y), (y, x)]:
            assert true_delta(mechanism, a, b, Fraction(1)) <= delta


def test_the_published_threshold_fails() -> None:
    """d + Lap(1/epsilon) against ln(2/delta)/(2 epsilon), then Lap(b/epsilon): 0.218 where 2.5e-9 is claimed."""
    delta, growth = 1 / 20010**2, math.e
    threshold = math.log(2 / delta) / 2
    far_x, far_y = (distance("mean", data, **MEAN) for data in (LARGER, SMALLER))
    assert (far_x, far_y) == (11, 10)
    p, q = (1 - math.exp(-gap) / 2 if (gap := far - threshold) > 0 else math.exp(gap) / 2 for far in (far_x, far_y))
    z = np.linspace(-60, 60, 1_200_001)
    shift = 100 / 20010 / 0.005
    density_x, density_y = np.exp(-np.abs(z)) / 2, np.exp(-np.abs(z - shift)) / 2
    found = np.maximum(p * density_x - growth * q * density_y, 0).sum() * (z[1] - z[0])
    assert found == pytest.approx(0.218, abs=1e-3)
    assert found > 8e7 * delta


@given(
    st.fractions(min_value=Fraction(1, 100), max_value=100),
    st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(99, 100)),
)
def test_the_threshold_is_the_least_that_keeps_delta(epsilon, delta) -> None:
    mechanism = ProposeTestRelease("mean", bound=1, bounds=(0, 1), spend=approx(epsilon, delta))
    with mpmath.workprec(300):
        allowed = mpmath.mpf(delta.numerator) / delta.denominator
        assert tail(mechanism.threshold, mechanism.test.scale) <= allowed
        assert mechanism.threshold == 0 or tail(mechanism.threshold - 1, mechanism.test.scale) > allowed


def test_halves_of_epsilon_and_all_of_delta() -> None:
    mechanism = ProposeTestRelease("mean", bound=1, bounds=(0, 1), spend=approx(1, 1e-6))
    assert mechanism.test.loss(1).eps == Fraction(1, 2)
    steps = mechanism.bound / mechanism.step + 1
    assert mechanism.noise.loss(steps).eps == Fraction(1, 2)
    assert mechanism.loss() == ApproxLoss(Fraction(1), Fraction(1, 10**6))


@given(st.floats(-1e6, 1e6), st.floats(0, 1), st.fractions(min_value=Fraction(1, 100), max_value=1))
def test_rounding_is_within_the_steps_charged(value, share, bound) -> None:
    """Two exact answers at most `bound` apart, each rounded to a float and then to the grid."""
    mechanism = ProposeTestRelease("mean", bound=bound, bounds=(0, 1), spend=approx(1, 1e-6))
    first = Fraction(value)
    second = first + bound * Fraction(share)
    cells = [
        (answer(Fixed(float(each)), [], None, mechanism.step) / mechanism.step + Fraction(1, 2)).__floor__()
        for each in (first, second)
    ]
    assert 0 <= cells[1] - cells[0] <= -(-bound // mechanism.step) + 1
    assert 2 * (-(-bound // mechanism.step) + 1) == mechanism.noise.scale


class Fixed:
    """A statistic with one given value, and a sensitivity that is never reached."""

    def __init__(self, value) -> None:
        self.given = value

    def value(self, x, bounds):
        return self.given

    def global_sensitivity(self, bounds, relation, n=None) -> float:
        return 1.0

    def profile(self, x, bounds, relation) -> Profile:
        return Profile(lambda _: 0.0, last=0)


@pytest.mark.parametrize(
    ("value", "exact"), [(math.nan, 0), ("7", 0), (None, 0), (10**400, 2**52), (-math.inf, -(2**52)), (3, 3)]
)
def test_no_value_raises(value, exact) -> None:
    assert answer(Fixed(value), [], None, Fraction(1)) == exact
    released = ProposeTestRelease(Fixed(value), bound=1, spend=approx(1000, 1e-6)).release([])
    assert isinstance(released, float)


def test_released_floats_are_on_the_grid() -> None:
    mechanism = ProposeTestRelease("mean", bound=0.003, bounds=(0, 1), spend=approx(1, 1e-6))
    drawn = [mechanism.release([0.3] * 5000) for _ in range(50)]
    assert all(Fraction(each) % mechanism.step == 0 for each in drawn)
    assert len(set(drawn)) > 40
    assert max(abs(each - 0.3) for each in drawn) < 50 * 0.006  # each farther with probability below e**-49


def test_refusal_and_answer() -> None:
    mechanism = ProposeTestRelease("median", bound=0.01, bounds=(0, 1), spend=approx(1, 1e-12))
    assert [mechanism.release(x) for x in ([], [0.0, 1.0], [0.0] * 50 + [1.0] * 50)] == [None] * 3
    assert mechanism.release([0.5] * 1000) is not None  # refused with probability below e**-400
    assert ProposeTestRelease(CountDistinct(), bound=1, spend=approx(1, 1e-6)).release(["a", "b"]) is not None


def test_error_covers_the_answers() -> None:
    mechanism = ProposeTestRelease("mean", bound=0.003, bounds=(0, 1), spend=approx(1, 1e-6))
    assert mechanism.error(0.95) == pytest.approx(0.006 * math.log(20), rel=2e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"spend": pure(1)}, "delta"),
        ({"spend": rho(1, 1e-6)}, "delta"),
        ({"spend": approx(1, 0)}, "delta"),
        ({"bound": 0}, "bound"),
        ({"bound": -1}, "bound"),
        ({"bound": math.nan}, "bound"),
        ({"bound": "1e-400"}, "bound"),
        ({"bounds": (1, 0)}, "bounds"),
        ({"bounds": None}, "bounds"),
        ({"relation": "other"}, "relation"),
        ({"statistic": "middle"}, "unknown statistic"),
        ({"statistic": Mode(("a", "b"))}, "category"),
        ({"statistic": "variance", "bounds": (0, 2**1000)}, "range"),
        ({"spend": approx("1e-20", "0.1")}, "scale"),
    ],
)
def test_bad_arguments_are_refused(change, message) -> None:
    arguments = {"statistic": "mean", "bound": 1, "bounds": (0, 1), "spend": approx(1, 1e-6)} | change
    with pytest.raises(ParameterError, match=message):
        ProposeTestRelease(arguments.pop("statistic"), **arguments)


def test_nothing_of_the_data_is_shown() -> None:
    shown = repr(ProposeTestRelease("mean", bound=1, bounds=(0, 1), spend=approx(1, 1e-6)))
    assert "scale" not in shown
    assert "distance" not in shown


def test_powers_and_floats() -> None:
    assert [power_of_two_below(Fraction(v)) for v in ("1", "3", "1/3", "1/4")] == [1, 2, Fraction(1, 4), Fraction(1, 4)]
    assert to_float(3, Fraction(1, 4)) == 0.75
    assert math.isfinite(to_float(-(2**2000), Fraction(1)))
    assert numeric("mean", (0, 1), "add_remove")[1] == 0.5
