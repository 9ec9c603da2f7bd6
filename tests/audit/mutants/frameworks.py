"""Mistakes in frameworks for local sensitivity: tests, smooth bounds, chunks, and what is public."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np

from discreet.audit import batched
from discreet.mechanisms import (
    DiscreteLaplace,
    GlobalSensitivity,
    ProposeTestRelease,
    SampleAndAggregate,
    SmoothSensitivity,
)
from discreet.mechanisms.statistics import _propose_test_release as propose_test_release
from discreet.mechanisms.statistics import _sample_and_aggregate as sample_and_aggregate
from discreet.mechanisms.statistics import _smooth as smooth_sensitivity
from discreet.mechanisms.statistics._answer import to_float
from discreet.privacy import approx, pure
from discreet.sensitivity import _local as local_sensitivity
from discreet.sensitivity import local, smooth
from mutants._laws import geometric
from mutants._mutant import Mutant, patched

__all__ = ["MUTANTS"]

_smooth_bound, _student_rate, _here = (
    local_sensitivity.smooth_bound,
    smooth_sensitivity.student_rate,
    sample_and_aggregate.here,
)


def _median_with_cauchy(beta: str = "0.7") -> object:
    """The median at ε = 1 and this β; the data are looked at once for many draws."""
    median = SmoothSensitivity("median", bounds=(0, 1), spend=pure(1), noise="cauchy", relation="substitute", beta=beta)

    def draw(x: list[float], size: int) -> list[float]:
        center, scale = (each / median.step for each in median._before_noise(x))
        return [to_float(median._rounded(center, scale), median.step) for _ in range(size)]

    return batched(draw)


def _cauchy_rate() -> float:
    """√(e^(ε + β) + e^(β − ε) − e^(2β) − 1) at ε = 1 and β = 0.7, where that is below 2 sinh(ε/2)."""
    return math.sqrt(min(math.exp(1.7) + math.exp(-0.3) - math.exp(1.4) - 1, 2 * math.cosh(1) - 2))


def _moved_cauchy(moved: float) -> float:
    """The largest log-ratio of two Cauchy densities that are this many scales apart: 2 arsinh(moved/2)."""
    return 2 * math.asinh(moved / 2)


def _from_one_step_on(profile, beta) -> float:
    """The maximum over k ≥ 1."""
    return max(math.exp(-float(beta) * k) * profile.at_distance(k) for k in range(1, profile.last + 2))


class _Remembering(ProposeTestRelease):
    """Looks at the same data once for many releases."""

    __slots__ = ()

    def _before_noise(self, x: tuple[float, ...]) -> tuple[float, int]:
        return _looked_at(self, x)


@cache
def _looked_at(test: _Remembering, x: tuple[float, ...]) -> tuple[float, int]:
    return ProposeTestRelease._before_noise(test, x)


def _median_test():
    spend, bound = approx(1, "0.014"), Fraction(1, 64)
    return _Remembering("median", bound=bound, bounds=(0, 1), spend=spend, relation="substitute").release


def _published_epsilon() -> float:
    """Both data sets fail the test but for q⁵/(1 + q); answers are 2¹⁶ steps apart with noise of scale 2050."""
    passes, scale, apart, delta = geometric(2.0)(5), 2050.0, 2**16, 0.014
    q = math.exp(-1 / scale)
    below = [1 - q ** (t + 1) / (1 + q) if t >= 0 else q**-t / (1 + q) for t in range(-9000, 9000)]
    return max(
        math.log(passes * mass - delta) - math.log(passes / (1 + q)) + (apart - t) / scale
        for t, mass in zip(range(-9000, 9000), below, strict=True)
        if passes * mass > delta
    )


_BOUND = Fraction(1, 128)
_PASSING, _REFUSED = (*[0.0] * 139, 1.0, 1.0), (*[0.0] * 139, 1.0)
"""Their distances from data whose mean can move by more than 1/128: 14 and 13."""


def _mean_test():
    return _Remembering("mean", bound=_BOUND, bounds=(0, 1), spend=approx(1, "1e-6")).release


def _exact_distance(self) -> SimpleNamespace:
    return SimpleNamespace(scale=2 / self.epsilon, release=lambda nothing: nothing)


def _first(chunk) -> float:
    return float(chunk[0])


def _zero_or_error(chunk) -> float:
    if (chunk < 0).any():
        raise ValueError
    return 0.0


def _rehearsed(function, chunks: int, epsilon: int = 1):
    over = SampleAndAggregate(function, chunks=chunks, bounds=(0, 1), spend=pure(epsilon))
    return lambda data: over.rehearse(np.array(data))


def _contiguous(person, chunks: int, drawn) -> list:
    return np.array_split(np.arange(len(person)), chunks)


def _of_ceil_size(person, chunks: int, drawn) -> list:
    size = -(-len(person) // chunks)
    return [np.arange(start, min(start + size, len(person))) for start in range(0, len(person), size)]


def _mean_of_those_there(self, steps: list[int]) -> float:
    mean = Fraction(sum(steps), len(steps)) + Fraction(self._noise.release(0), self.chunks)
    return float(self.bounds[0] + mean * self._step)


class _Pool:
    """Workers that do not come back once one of them has failed."""

    broken = False

    def __call__(self, function, chunk) -> float:
        number = math.nan if _Pool.broken else _here(function, chunk)
        _Pool.broken = _Pool.broken or math.isnan(number)
        return number


def _with_pool():
    release = _rehearsed(_zero_or_error, 8)

    def program(data):
        _Pool.broken = False
        return release(data)

    return program


def _pool_epsilon() -> float:
    """The failure is in chunk j of 8 and moves the sum of answers by (8 − j)/2, in scales of the noise."""
    return math.log(sum(math.exp(j / 2) for j in range(1, 9)) / 8)


def _over_the_count(self, above: int, below: int) -> float:
    share = Fraction(self.noise.release(above), above + below)
    return float(max(Fraction(0), min(share, Fraction(1))))


MUTANTS = (
    Mutant(
        "test with the published threshold",
        "ln(2/δ)/2ε instead of ln(1/2δ)/ε: the test passes wrongly with probability ½√(δ/2).",
        patched(
            (
                propose_test_release,
                "_threshold",
                lambda scale, delta: math.floor(float(scale) * math.log(2 / float(delta)) / 2),
            )
        ),
        _median_test,
        ((0, 0, 1), (0, 1, 1)),
        approx(1, "0.014"),
        _published_epsilon,
        samples=26_000,
        slow=True,
    ),
    Mutant(
        "test without noise",
        "The distance is compared as it is, and whether there is an answer tells it.",
        patched((ProposeTestRelease, "test", property(_exact_distance))),
        _mean_test,
        ((0.0,) * 152, (0.0,) * 153),
        approx(1, "1e-6"),
        math.inf,
        samples=2_000,
    ),
    Mutant(
        "test and answer at the whole epsilon each",
        "Both noises are for ε where the cost is the sum of the two: 2ε.",
        patched(
            (ProposeTestRelease, "test", property(lambda self: DiscreteLaplace(1 / self.epsilon))),
            (
                ProposeTestRelease,
                "noise",
                property(lambda self: DiscreteLaplace((self.bound / self.step + 1) / self.epsilon)),
            ),
        ),
        _mean_test,
        (_PASSING, _REFUSED),
        approx(1, "1e-6"),
        lambda: 1 + (math.floor(2**18 / 141 + 0.5) - math.floor(2**17 / 140 + 0.5)) / 1025,
        samples=20_000,
        slow=True,
    ),
    Mutant(
        "smooth bound with twice the beta",
        "The noise is for a scale that differs by e^β between neighbours, and it differs by e^2β.",
        patched(
            (
                smooth_sensitivity,
                "smooth",
                lambda statistic, x, beta, **options: smooth(statistic, x, 2 * beta, **options),
            )
        ),
        lambda: _median_with_cauchy("0.9"),
        ([0] * 9, [0] * 8 + [1]),
        pure(1),
        1.8,
        samples=40_000,
        slow=True,
    ),
    Mutant(
        "smooth bound from one step on",
        "The maximum over k ≥ 1 leaves the data at hand out, and is e^β too small where all data are alike.",
        patched((local_sensitivity, "smooth_bound", _from_one_step_on)),
        _median_with_cauchy,
        ([0], [1]),
        pure(1),
        lambda: _moved_cauchy(_cauchy_rate() * math.exp(0.7)),
        samples=40_000,
        slow=True,
    ),
    Mutant(
        "noise scaled to local sensitivity",
        "Noise for the data at hand: that there is next to none tells that the median cannot move.",
        patched(
            (
                smooth_sensitivity,
                "smooth",
                lambda statistic, x, beta, **options: local(statistic, x, **options),
            )
        ),
        _median_with_cauchy,
        ([0, 0, 0], [0, 0, 1]),
        pure(1),
        math.log(2**28 + 1),
        samples=4_000,
    ),
    Mutant(
        "Cauchy noise of half the scale",
        "S/2γ: the width at half the height is twice the scale of a Cauchy density, not the scale.",
        patched((smooth_sensitivity, "student_rate", lambda *given: 2 * _student_rate(*given))),
        _median_with_cauchy,
        ([0], [1]),
        pure(1),
        lambda: _moved_cauchy(2 * _cauchy_rate()),
        samples=30_000,
    ),
    Mutant(
        "contiguous chunks",
        "A row that is taken out shifts every chunk after it, and a function of order then moves in all of them.",
        patched((sample_and_aggregate, "assignment", _contiguous)),
        lambda: _rehearsed(_first, 4),
        ([0, 1] * 4, [1, 0, 1, 0, 1, 0, 1]),
        pure(1),
        4.0,
        samples=4_000,
    ),
    Mutant(
        "chunks of equal size, rounded up",
        "Chunks of ceil(n/k) rows are fewer than k, and the mean over them moves by more than 1/k.",
        patched(
            (sample_and_aggregate, "assignment", _of_ceil_size),
            (SampleAndAggregate, "_with_noise", _mean_of_those_there),
        ),
        lambda: _rehearsed(_first, 3),
        ([0] * 4, [1] + [0] * 3),
        pure(1),
        1.5,
        samples=20_000,
        slow=True,
    ),
    Mutant(
        "a failed chunk fails the chunks after it",
        "Workers are a pool that one error breaks, so that one record takes many answers away.",
        patched((sample_and_aggregate, "here", _Pool())),
        _with_pool,
        ([1] * 199, [1] * 199 + [-1]),
        pure(1),
        _pool_epsilon,
        samples=10_000,
        slow=True,
    ),
    Mutant(
        "mean over the exact count",
        "The noisy sum is divided by the number of records, as if that were public under add/remove.",
        patched((GlobalSensitivity, "_mean", _over_the_count)),
        lambda: GlobalSensitivity("mean", bounds=(0, 1), spend=pure(1)).release,
        ([0.5, 0.5], [0.5, 0.5, 0.5]),
        pure(1),
        math.inf,
        samples=4_000,
    ),
)
