"""For each framework: a ready mechanism for one task with its expected error, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from discreet.advice._option import Option, Task
from discreet.mechanisms import GlobalSensitivity, ProposeTestRelease, SmoothNoise, SmoothSensitivity
from discreet.sensitivity import Mean, at_distance, distance, interval, smooth

__all__ = ["root_mean_square", "with_global_sensitivity", "with_proposed_sensitivity", "with_smooth_sensitivity"]

_PASS = 1 - Fraction(1, 10**6)
"""How likely the noise on the distance lets the made-up data pass the test, at least."""


def root_mean_square(errors: Any) -> float:
    """√ of the mean of squares."""
    return math.sqrt(sum(each * each for each in errors) / len(errors))


def with_global_sensitivity(task: Task) -> Iterator[Option]:
    """Noise for the worst data."""
    mechanism = GlobalSensitivity(task.statistic, **task.shared)
    if not isinstance(task.statistic, Mean):
        yield Option(mechanism, mechanism.std, "exact", "noise for the worst data")
        return
    lower, upper = interval(task.bounds)
    each = mechanism.std / task.n
    if task.relation == "substitute":
        yield Option(mechanism, each, "exact", "n is public: a sum over n")
        return
    shares = [(task.truth(sample) - lower) / (upper - lower) for sample in task.samples]
    errors = [each * math.hypot(share, 1 - share) for share in shares]
    yield Option(mechanism, root_mean_square(errors), "computed", "two noisy sums; a mean needs no more")


def with_smooth_sensitivity(task: Task, noises: tuple[SmoothNoise, ...]) -> Iterator[Option]:
    """Noise for the data at hand; the noises are those that the currency of the spend allows."""
    for noise in noises:
        mechanism = SmoothSensitivity(task.statistic, noise=noise, **task.shared)
        scales = [
            (smooth(task.statistic, sample, mechanism.beta, bounds=task.bounds, relation=task.relation)
             + float(mechanism.step)) / float(mechanism.rate)
            for sample in task.samples
        ]  # fmt: skip
        why = "noise for the data at hand" if math.isfinite(mechanism.unit_std) else "noise with tails of no variance"
        yield Option(mechanism, mechanism.unit_std * root_mean_square(scales), "computed", why)


def with_proposed_sensitivity(task: Task) -> Iterator[Option]:
    """The least bound that the samples pass, with room for the noise of the test."""
    trial = ProposeTestRelease(task.statistic, bound=1, **task.shared)
    far = trial.threshold + trial.test.error(2 * _PASS - 1) + 1
    bound = max(
        at_distance(task.statistic, sample, far, bounds=task.bounds, relation=task.relation) for sample in task.samples
    )
    mechanism = ProposeTestRelease(task.statistic, bound=bound or 1, **task.shared)
    size = task.statistic.global_sensitivity(task.bounds, task.relation)
    spread = mechanism.noise.std * float(mechanism.step)
    away = [
        distance(task.statistic, sample, mechanism.bound, bounds=task.bounds, relation=task.relation)
        for sample in task.samples
    ]
    refused = [_below(mechanism.test.scale, mechanism.threshold - each) for each in away]
    errors = [math.sqrt((1 - each) * spread**2 + each * size**2) for each in refused]
    why = f"refuses with probability {max(refused):.2g} on such data; a bound of {bound:.3g} is proposed"
    yield Option(mechanism, root_mean_square(errors), "computed", why)


def _below(scale: Fraction, threshold: float) -> float:
    """P(X ≤ threshold) of discrete Laplace noise."""
    if math.isinf(threshold):
        return 0.0
    q = math.exp(-1 / float(scale))
    k = math.floor(threshold)
    return 1 - q ** (k + 1) / (1 + q) if k >= 0 else q**-k / (1 + q)
