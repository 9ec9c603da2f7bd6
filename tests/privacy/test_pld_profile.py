"""Upper bounds alone, aimed windows and blocks in stages: as valid as plain composition, and as tight."""

from __future__ import annotations

from functools import partial
from math import log

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.privacy.pld.__init__ import (
    GaussianPair,
    LaplacePair,
    Profile,
    approximate_pair,
    delta_bounds,
    epsilon_bounds,
)
from discreet.privacy.pld._compose import compose
from discreet.privacy.pld._discretize import lower_measure, upper_measure
from discreet.privacy.pld._hockey_stick import delta_of, epsilon_of
from discreet.privacy.pld._mesh import Staged, stages_for
from discreet.privacy.pld._plan import Plan, first_step, measures, plans_for
from discreet.privacy.pld._tilting import aimed_window, tilt_for_delta


def planned(pair: GaussianPair, count: int, delta: float) -> Plan:
    return plans_for([(pair, count)], log(delta), lambda c: tilt_for_delta(c, log(delta)), symmetric=False)[0]


def test_a_profile_is_above_the_truth_and_near_it() -> None:
    profile = Profile([(GaussianPair(1.0), 1)])
    for epsilon in (0.5, 1.0, 2.0, 4.0, 6.0):
        with mp.workdps(60):
            truth = mp.ncdf(0.5 - mp.mpf(epsilon)) - mp.exp(epsilon) * mp.ncdf(-0.5 - mp.mpf(epsilon))
        assert truth <= Profile([(GaussianPair(1.0), 1)]).delta(epsilon) <= 1.0001 * truth
        assert truth <= profile.delta(epsilon) <= 1.001 * truth
        assert epsilon * (1 - 1e-9) <= profile.epsilon(float(truth)) <= 1.0001 * epsilon


SAMPLED = given(
    st.floats(0.8, 4), st.floats(1e-3, 0.2), st.integers(1, 3000), st.sampled_from([0.1, 1e-5, 1e-12, 1e-30])
)


@SAMPLED
@settings(max_examples=8, deadline=None)
def test_upper_bounds_alone_agree_with_two_sided_ones(noise: float, rate: float, count: int, delta: float) -> None:
    _assert_they_agree(noise, rate, count, delta)


@pytest.mark.soak
@SAMPLED
@settings(max_examples=100, deadline=None)
def test_many_upper_bounds_agree_with_two_sided_ones(noise: float, rate: float, count: int, delta: float) -> None:
    _assert_they_agree(noise, rate, count, delta)


def _assert_they_agree(noise: float, rate: float, count: int, delta: float) -> None:
    parts = [(GaussianPair(noise, rate), count)]
    lower, upper = epsilon_bounds(parts, delta, gap=1e-3)
    assert lower <= Profile(parts).epsilon(delta) <= 1.1 * upper + 1e-6
    if lower > 0:
        low, high = delta_bounds(parts, lower, gap=1e-3)
        assert low <= Profile(parts).delta(lower) <= 1.5 * high


@pytest.mark.parametrize(
    ("noise", "rate", "count", "delta"),
    [(1.0, 0.01, 1_000, 1e-5), (5.0, 0.1, 2_000, 1e-6), (0.875, 0.001, 40, 1e-30), (2.0, 0.05, 300, 0.1)],
)
def test_upper_bounds_alone_are_tight(noise: float, rate: float, count: int, delta: float) -> None:
    parts = [(GaussianPair(noise, rate), count)]
    lower, upper = epsilon_bounds(parts, delta, gap=1e-3)
    assert lower <= Profile(parts).epsilon(delta) <= upper * (1 + 1e-5)
    low, high = delta_bounds(parts, lower, gap=1e-3)
    assert low <= Profile(parts).delta(lower) <= high * (1 + 1e-3)


@given(st.lists(st.tuples(st.floats(0.3, 5), st.integers(1, 20)), min_size=1, max_size=4), st.floats(0, 10))
@settings(max_examples=30, deadline=None)
def test_one_profile_read_in_any_order_stays_above(parts: list[tuple[float, int]], first: float) -> None:
    pairs = [(LaplacePair(scale), count) for scale, count in parts] + [(approximate_pair(0.5, 1e-9), 3)]
    profile = Profile(pairs)
    for epsilon in (first, 0.0, 3.0, 12.0):
        low, high = delta_bounds(pairs, epsilon, gap=1e-2)
        assert low <= profile.delta(epsilon) <= high * 1.02 + 1e-12


@pytest.mark.parametrize("count", [257, 1_000, 10_000, 99_991])
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-40])
def test_blocks_in_two_stages_agree_with_one_mesh(count: int, delta: float) -> None:
    pair = GaussianPair(5.0, 0.1)
    plan = planned(pair, count, delta)
    (low, high), step = plan.spans[0], plan.width / 4000
    stages = stages_for(plan.parts, plan.spans, plan.width, step)
    if stages is None:
        assert high - low >= plan.width or count < 256
        return
    block = Staged(pair, count, stages.sizes[0], low, high)
    pairs = (
        ([(upper_measure(pair, step, low, high), count)], block.upper(stages, plan.tilt, log(delta)), True),
        ([(lower_measure(pair, step, low, high, plan.tilt), count)], block.lower(stages, plan.tilt), False),
    )
    (upper, above), (lower, below) = (
        tuple(epsilon_of(compose(parts, plan.tilt, upper=side), delta, upper=side) for parts in (one, two))
        for one, two, side in pairs
    )
    assert below <= upper
    assert lower <= above
    assert above - below <= 3 * (upper - lower) + 1e-7


@pytest.mark.parametrize(("rate", "count", "delta"), [(0.01, 1_000, 1e-5), (0.1, 500, 1e-25), (1.0, 50, 0.3)])
def test_an_aimed_window_reads_what_a_full_one_reads(rate: float, count: int, delta: float) -> None:
    plan = planned(GaussianPair(1.0, rate), count, delta)
    for upper in (True, False):
        parts = measures(plan, first_step(plan, 1e-3), upper=upper)
        full = compose(parts, plan.tilt, upper=upper)
        aimed = compose(parts, plan.tilt, upper=upper, shape=partial(aimed_window, aim=plan.aim))
        assert len(aimed.mass) < len(full.mass) or aimed.below == full.below
        one, other = epsilon_of(full, delta, upper=upper), epsilon_of(aimed, delta, upper=upper)
        assert abs(one - other) < 1e-6 * one
        assert not full.misses(one)
        # Below the window an upper bound counts all that may lie there, and a lower bound nothing of it.
        far = float(aimed.loss[0]) - 1.0
        truth, found = (delta_of(each, far, upper=upper) for each in (full, aimed))
        assert found >= truth if upper else found <= truth * 1.01
        assert aimed.misses(far)


def test_blocks_of_the_sum_are_as_exact_as_its_parts() -> None:
    plan = planned(GaussianPair(1.0, 0.01), 1_000, 1e-5)
    composition = compose(measures(plan, first_step(plan, 1e-5), upper=True), plan.tilt, upper=True)
    start = int(composition.loss.searchsorted(1.8))
    above, mass = composition.loss[start:] - 1.8, composition.mass[start:]
    with mp.workdps(40):
        plain = mp.fsum(
            mp.mpf(float(m)) * mp.exp(-mp.mpf(plan.tilt) * mp.mpf(float(a))) * (1 - mp.exp(-mp.mpf(float(a))))
            for a, m in zip(above[::7], mass[::7], strict=True)
        )
    assert plain > 0
    assert len(mass) > 4 * 512
    low, high = (delta_of(composition, 1.8, upper=upper) for upper in (False, True))
    assert 0 < high - low < 1e-8 * high
