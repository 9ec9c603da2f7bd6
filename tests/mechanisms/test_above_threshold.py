"""The exact law of whole streams, told answer by told answer; and variants that are wrong, caught by the same sums."""

from __future__ import annotations

import copy
import math
import os
import pickle
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product
from threading import Thread

import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.mechanisms import AboveThreshold
from discreet.privacy import PureLoss, approx, fits, pure, rho

ALARM = 1e-12
BELOW, ABOVE = False, True
MANY = 600  # so many answers below leave nothing for a threshold whose noise is below 0


def log_tail(t, scale: float):
    """ln P(ν ≥ t) for discrete Laplace ν and integers t."""
    q = math.exp(-1 / scale)
    upper = -np.maximum(t, 1) / scale - math.log1p(q)
    lower = np.log1p(-np.exp(-(1 - np.minimum(t, 0)) / scale) / (1 + q))
    return np.where(t >= 1, upper, lower)


def log_mass(x, scale: float):
    return math.log(math.tanh(1 / (2 * scale))) - abs(x) / scale


def reach_of(threshold_scale: float, query_scale: float) -> int:
    """Beyond it, the noise of the threshold adds nothing to any stream here."""
    return math.ceil(45 * threshold_scale + 10 * query_scale) + 5


@cache
def log_law(told: tuple, answers: tuple, threshold_scale: float, query_scale: float, value=None) -> float:
    """ln P(told) where the threshold is 0, summed over its noise.

    `value` is that of the last answer, if it is released with the noise of its comparison.
    """
    reach = reach_of(threshold_scale, query_scale)
    noise = np.arange(-reach, reach + 1)
    total = log_mass(noise, threshold_scale)
    for (said, answer), times in Counter(zip(told, answers, strict=True)).items():
        total = total + times * (
            log_tail(noise - answer, query_scale) if said else log_tail(1 + answer - noise, query_scale)
        )
    if value is not None:
        answer = answers[-1]
        total = total - log_tail(noise - answer, query_scale) + log_mass(value - answer, query_scale)
        total = np.where(noise <= value, total, -np.inf)
    return float(np.logaddexp.reduce(total))


def scales(mechanism: AboveThreshold) -> tuple[float, float]:
    return float(mechanism.threshold_scale), float(mechanism.query_scale)


def patterns(length: int, cutoff: int):
    for told in product([BELOW, ABOVE], repeat=length):
        for end in range(1, length + 1):
            if sum(told[:end]) == cutoff:
                break
        if sum(told[end:]) == 0:  # each stopped pattern once
            yield told[:end]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("split", ["even", "optimal"])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("cutoff", [1, 2])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_stated_epsilon_on_all_short_streams(epsilon, cutoff, monotone, split) -> None:
    mechanism = AboveThreshold(0, epsilon, 1, cutoff, monotone=monotone, split=split)
    worst = 0.0
    for told in patterns(3, cutoff):
        for answers in product((-3, 0, 1), repeat=len(told)):
            p = log_law(told, answers, *scales(mechanism))
            for moves in [(0, 1), (0, -1)] if monotone else [(-1, 0, 1)]:
                for step in product(moves, repeat=len(told)):
                    other = tuple(a + s for a, s in zip(answers, step, strict=True))
                    worst = max(worst, abs(p - log_law(told, other, *scales(mechanism))))
    assert float(mechanism.epsilon) / 4 < worst <= float(mechanism.epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("answers", [(0, 1), (-2, 3), (5, 0)])
def test_the_law_sums_to_one(answers) -> None:
    total = sum(math.exp(log_law(told, answers[: len(told)], 2.0, 4.0)) for told in patterns(2, 1))
    assert total == pytest.approx(1, abs=1e-12)


def long_stream(cutoff: int, how: tuple[float, float], *, monotone: bool, step: int = 1):
    """Told, and two neighbours' answers: the worst case of the proof."""
    told = (BELOW,) * MANY + (ABOVE,) * cutoff
    far = -reach_of(*how) - 2 * step
    return told, (0,) * MANY + (far,) * cutoff, (step,) * MANY + (far if monotone else far - step,) * cutoff


@pytest.mark.parametrize("split", ["even", "optimal"])
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("cutoff", [1, 2, 5, 10])
@pytest.mark.parametrize("step", [1, 7])
@pytest.mark.parametrize("epsilon", ["0.3", "1", "4"])
def test_stated_epsilon_is_attained_by_long_streams(epsilon, step, cutoff, monotone, split) -> None:
    mechanism = AboveThreshold(0, epsilon, step, cutoff, monotone=monotone, split=split)
    told, one, other = long_stream(cutoff, scales(mechanism), monotone=monotone, step=step)
    cost = log_law(told, one, *scales(mechanism)) - log_law(told, other, *scales(mechanism))
    assert cost == pytest.approx(float(mechanism.epsilon), rel=1e-9)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("cutoff", [1, 2])
@pytest.mark.parametrize("split", ["even", "optimal"])
def test_stated_epsilon_of_numeric_streams(cutoff, monotone, split) -> None:
    """Never above on short streams with their values (at the worst: beyond both answers); attained by long ones."""
    mechanism = AboveThreshold(0, 1, 1, cutoff, monotone=monotone, numeric=True, split=split)
    how, per_step = scales(mechanism), 1 / float(mechanism.value_scale)
    long = []
    for moves in [(0, 1), (0, -1)] if monotone else [(-1, 0, 1)]:
        for told in patterns(3, cutoff):
            for answers in product((-3, 0, 1), repeat=len(told)):
                for step in product(moves, repeat=len(told)):
                    other = tuple(a + s for a, s in zip(answers, step, strict=True))
                    values = sum(abs(s) for said, s in zip(told, step, strict=True) if said) * per_step
                    assert log_law(told, answers, *how) - log_law(told, other, *how) + values <= 1 + 1e-9
        for below, above in product(moves, repeat=2):
            told, one, _ = long_stream(cutoff, how, monotone=monotone)
            other = tuple(a + (above if said else below) for said, a in zip(told, one, strict=True))
            long.append(log_law(told, one, *how) - log_law(told, other, *how) + cutoff * abs(above) * per_step)
    assert max(long) == pytest.approx(1, rel=1e-9)


def test_no_query_count_enters() -> None:
    """However many answers are told below, the cost of them all stays under ε₁."""
    mechanism = AboveThreshold(0, 1, 1)
    for count in (10, 100, 1000, 10_000):
        for level in (-3, 0, 3):
            told = (BELOW,) * count
            cost = log_law(told, (level,) * count, *scales(mechanism)) - log_law(
                told, (level + 1,) * count, *scales(mechanism)
            )
            assert 0 <= cost <= 0.5 * (1 + 1e-9)


# Variants that are wrong, at nominal ε = 1 and Δ = 1: the true cost, by the sums above.


@pytest.mark.parametrize(("cutoff", "cost"), [(2, 1.5), (5, 3.0), (10, 5.5)])
def test_query_noise_that_ignores_the_cutoff_is_caught(cutoff, cost) -> None:
    told, one, other = long_stream(cutoff, (2.0, 4.0), monotone=False)
    assert log_law(told, one, 2.0, 4.0) - log_law(told, other, 2.0, 4.0) == pytest.approx(cost, rel=1e-9)


@pytest.mark.parametrize(("answers", "cost"), [(10, 2.1), (40, 8.9)])
def test_a_stream_without_cutoff_is_caught(answers, cost) -> None:
    step, half = 20, answers // 2  # a grid so fine that it reads as continuous
    told = (BELOW,) * half + (ABOVE,) * half
    one, other = (0,) * half + (step,) * half, (step,) * half + (0,) * half
    true = log_law(told, one, 2.0 * step, 4.0 * step) - log_law(told, other, 2.0 * step, 4.0 * step)
    assert round(true, 1) == cost


def test_comparisons_without_noise_are_caught() -> None:
    """Told below and above: certain with answers 0 and 1 for one noise of the threshold, impossible with 1 and 0."""

    def chance(answers) -> float:
        noise = np.arange(-50, 51)
        return float(np.exp(log_mass(noise, 2.0))[(answers[0] < noise) & (answers[1] >= noise)].sum())

    assert chance((0, 1)) > 0.1
    assert chance((1, 0)) == 0


def test_values_released_with_the_noise_of_their_comparison_are_caught() -> None:
    """A value far below 0 says that the noisy threshold is lower still: every answer below that was a surprise."""
    costs = []
    for below in (10, 100, 1000):
        told = (BELOW,) * below + (ABOVE,)
        one, other = (0,) * below + (0,), (1,) * below + (-1,)
        costs.append(log_law(told, one, 2.0, 4.0, value=-30) - log_law(told, other, 2.0, 4.0, value=-30))
    assert costs[0] > 2
    assert costs[1] > 24
    assert costs[2] > 240


# What is run.


@pytest.mark.parametrize("numeric", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_frequencies_of_told_streams(numeric) -> None:
    """Fails by chance with probability 1e-12 or so (chi-square, 100 or more expected per pattern)."""
    mechanism, answers, draws = AboveThreshold(7, 1, 1, 2, numeric=numeric), (6, 9, 7, 5), 8_000
    seen = Counter(
        tuple(said is not None and said is not False for said in mechanism.release(answers)) for _ in range(draws)
    )
    moved = tuple(answer - 7 for answer in answers)
    expected = {t: math.exp(log_law(t, moved[: len(t)], *scales(mechanism))) for t in patterns(4, 2)}
    assert sum(expected.values()) == pytest.approx(1)
    assert set(seen) <= set(expected)
    assert min(expected.values()) * draws > 100
    counts = np.array([seen[told] for told in expected])
    assert stats.chisquare(counts, np.array(list(expected.values())) * draws).pvalue > ALARM


def test_scales() -> None:
    def all_scales(**how) -> tuple:
        mechanism = AboveThreshold(0, "0.5", 3, 4, **how)
        return mechanism.threshold_scale, mechanism.query_scale, mechanism.value_scale

    assert all_scales() == (12, 96, None)
    assert all_scales(monotone=True) == (12, 48, None)
    assert all_scales(numeric=True) == (24, 192, 48)
    assert (
        all_scales(numeric=True, monotone=True)
        == all_scales(numeric=True, monotone=True, split="optimal")
        == (12, 48, 48)
    )
    threshold, query, _ = all_scales(split="optimal")
    assert 3 / threshold + 24 / query == Fraction(1, 2)
    assert float(24 / query / (3 / threshold)) == pytest.approx(4)
    assert threshold**2 + query**2 < 12**2 + 96**2
    best = min((3 / (0.5 * s)) ** 2 + (24 / (0.5 * (1 - s))) ** 2 for s in np.linspace(0.01, 0.99, 9801))
    assert float(threshold**2 + query**2) <= best * (1 + 1e-9)


def test_a_stream_stops_and_keeps_its_secret() -> None:
    stream = AboveThreshold(0, 1000, 1, 2).start()
    assert (stream.left, stream.stopped) == (2, False)
    assert [stream.ask(10), stream.ask(-10), stream.ask(np.int64(10))] == [True, False, True]
    assert (stream.left, stream.stopped) == (0, True)
    with pytest.raises(ParameterError, match="cutoff"):
        stream.ask(0)
    assert stream.ask_all([1, 2]) == []
    fresh = AboveThreshold(0, 1, 1).start()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ParameterError, match="cannot be copied"):
            copied(fresh)


def test_a_stream_does_not_go_on_in_another_process(monkeypatch) -> None:
    stream = AboveThreshold(0, 1, 1).start()
    here = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: here + 1)
    with pytest.raises(ParameterError, match="forked"):
        stream.ask(0)


def test_threads_together_stay_within_the_cutoff() -> None:
    stream, told = AboveThreshold(0, 1000, 1, 50).start(), []
    threads = [Thread(target=lambda: told.extend(stream.ask_all([100] * 40))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert told == [True] * 50


def test_long_and_big_streams() -> None:
    mechanism = AboveThreshold(2**100, 1, 1)
    assert mechanism.release([2**99] * 40_000 + [2**101, 0]) == [False] * 40_000 + [True]
    assert mechanism.release(np.array([], dtype=np.int64)) == []
    assert AboveThreshold(0, 1000, 1, numeric=True).release([-9, 9]) == [None, 9]


@pytest.mark.parametrize("answers", [[1.0], [float("nan")], [True], [None], ["1"], [[1]]])
def test_answers_that_are_not_whole_are_refused_before_anything_is_drawn(answers, monkeypatch) -> None:
    monkeypatch.setattr("discreet.mechanisms.thresholds._above_threshold.discrete_laplace", None)
    with pytest.raises(ParameterError, match="whole numbers"):
        AboveThreshold(0, 1, 1).release([0, *answers])


@pytest.mark.parametrize("answers", [3, "12", None, np.array([[1]]), np.array(1)])
def test_what_is_not_a_list_of_answers_is_refused(answers) -> None:
    with pytest.raises(ParameterError, match="whole numbers"):
        AboveThreshold(0, 1, 1).release(answers)


@pytest.mark.parametrize(
    "how",
    [{"threshold": 0.5}, {"epsilon": 0}, {"sensitivity": 0}, {"cutoff": 0}, {"cutoff": True}, {"cutoff": 1.0},
     {"split": "best"}, {"epsilon": "1e-20"}, {"sensitivity": "1e20"}, {"epsilon": math.nan}],
)  # fmt: skip
def test_bad_parameters_are_refused(how) -> None:
    with pytest.raises(ParameterError):
        AboveThreshold(**({"threshold": 0, "epsilon": 1, "sensitivity": 1} | how))


@pytest.mark.parametrize(("spend", "epsilon"), [(pure("0.3"), "0.3"), (approx("0.3", 1e-6), "0.3"), (rho("0.5"), "1")])
def test_calibration(spend, epsilon) -> None:
    how = {"cutoff": 3, "monotone": True, "numeric": True, "split": "optimal"}
    mechanism = AboveThreshold.calibrate(spend, 7, threshold=5, **how)
    assert mechanism == AboveThreshold(5, epsilon, 7, **how)
    assert mechanism.loss() == PureLoss(Fraction(epsilon))
    assert fits(mechanism.loss(), spend)


@pytest.mark.parametrize("queries", [1, 5])
def test_error_holds_exactly(queries) -> None:
    """Right on all of so many answers at that distance, below and, for one query, above."""
    mechanism = AboveThreshold(0, 1, 1)
    reach = mechanism.error("0.9", queries=queries)
    assert math.exp(log_law((BELOW,) * queries, (-reach - 1,) * queries, *scales(mechanism))) >= 0.9
    assert math.exp(log_law((ABOVE,), (reach,), *scales(mechanism))) >= 0.9
    with pytest.raises(ParameterError, match="queries"):
        mechanism.error(queries=0)
