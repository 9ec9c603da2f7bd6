"""Mistakes in the correlated noise of training runs: in what a person's steps cost together, and in restarts."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from discreet.audit import batched
from discreet.learn.correlated import (
    BandedToeplitz,
    Blt,
    CorrelatedGaussian,
    CorrelatedNoise,
    MinimumSeparation,
    _filters,
    _mechanism,
    sensitivity_squared,
)
from discreet.privacy import mu
from mutants._laws import gaussian_epsilon
from mutants._mutant import Mutant, patched

__all__ = ["MUTANTS"]

_MOVE = 256
_DELTA = 1e-3
_BANDS, _FLAT = BandedToeplitz.rounded([1, 0.75, 0.5]), BandedToeplitz.rounded([1, 1])
_BUFFERS = Blt.rounded([0.5], [0.9])


def _run(strategy, sampling: MinimumSeparation, size: int = 1) -> CorrelatedGaussian:
    cheap = CorrelatedGaussian.calibrate(mu(1), strategy, sampling, bound=_MOVE, size=1)
    return CorrelatedGaussian(strategy, sampling, cheap.sigma, bound=_MOVE, size=size)


def _likelihood(strategy, sampling: MinimumSeparation, moves: list[int]) -> object:
    """Of many runs at once, an entry each: C applied to what is released, along what a person's steps move it by."""
    column = strategy.column(sampling.steps)
    steps = range(sampling.steps)
    matrix = np.array([[column[t - s] if t >= s else 0 for s in steps] for t in steps])
    weights = (matrix @ moves) @ matrix

    def draw(contributions: list[int], size: int) -> np.ndarray:
        run = _run(strategy, sampling, size)
        noise, total = run.start(), np.zeros(size)
        for t, contribution in enumerate(contributions):
            total += weights[t] * (contribution + noise.next(t + 1) / 2**noise.places)
        return total

    return batched(draw)


def _pair(*steps: int) -> tuple[list[int], list[int]]:
    """Nobody, and a person in some of the steps."""
    return [0] * len(steps), [_MOVE * each for each in steps]


def _as(schema: Callable[[MinimumSeparation], MinimumSeparation]) -> object:
    """The sensitivity of another schema than the one that runs."""
    return patched(
        (_mechanism, "sensitivity_squared", lambda each, sampling: sensitivity_squared(each, schema(sampling)))
    )


def _epsilon(true: float | Fraction, charged: float | Fraction) -> float:
    return gaussian_epsilon(math.sqrt(true / charged), _DELTA)


def _ratio(strategy, runs: MinimumSeparation, charged: MinimumSeparation) -> Callable[[], float]:
    return lambda: _epsilon(sensitivity_squared(strategy, runs), sensitivity_squared(strategy, charged))


def _counted_from_checkpoint(self: CorrelatedNoise, strategy, state, begun: int) -> None:
    """As if no step had been begun since."""


def _dying_twice() -> object:
    """The first step is released, and twice the process dies after it and goes on from the start."""
    sampling = MinimumSeparation(3, 1, 3)

    def draw(contributions: list[int], size: int) -> np.ndarray:
        run, total = _run(_FLAT, sampling, size), np.zeros(size)
        noise = run.start()
        for begun in (1, 2, 3):
            step = noise.step + 1
            total += contributions[step - 1] + noise.next(step) / 2**noise.places
            noise = run.resume(None, begun=begun)
        return total

    return batched(draw)


def _dying_once() -> object:
    """The second step is lost, and the third goes on from the checkpoint of the first.

    If the band has not moved on, Y is o₁, o₂ + o₁ and o₃ + o₁, and the person moves it by 1, 1 and 1 + 1.
    """

    def draw(contributions: list[int], size: int) -> np.ndarray:
        run = _run(_FLAT, MinimumSeparation(3, 2, 2), size)
        noise = run.start()
        places = 2**noise.places
        first = contributions[0] + noise.next(1) / places
        state = noise.state()
        second = contributions[1] + noise.next(2) / places
        third = contributions[2] + run.resume(state, begun=2).next(3) / places
        return first + (second + first) + 2 * (third + first)

    return batched(draw)


MUTANTS = (
    Mutant(
        "correlated noise charged for one participation",
        "The norm of a column is taken for what a person moves who is in three steps.",
        _as(lambda sampling: MinimumSeparation(sampling.steps)),
        lambda: _likelihood(_BANDS, MinimumSeparation(6, 3, 2), [1, 0, 1, 0, 1, 0]),
        _pair(1, 0, 1, 0, 1, 0),
        mu(1),
        _ratio(_BANDS, MinimumSeparation(6, 3, 2), MinimumSeparation(6)),
        delta=_DELTA,
    ),
    Mutant(
        "correlated noise charged for a separation that does not run",
        "Batches are shuffled in each epoch, so that a person may be in several steps in a row.",
        _as(lambda sampling: MinimumSeparation(sampling.steps, sampling.participations, 3)),
        lambda: _likelihood(_BANDS, MinimumSeparation(8, 3, 1), [1, 1, 1] + [0] * 5),
        _pair(1, 1, 1, *[0] * 5),
        mu(1),
        _ratio(_BANDS, MinimumSeparation(8, 3, 1), MinimumSeparation(8, 3, 3)),
        delta=_DELTA,
    ),
    Mutant(
        "correlated noise charged as independent",
        "The norm of the column is forgotten: later noise takes back part of earlier noise, and costs for it.",
        patched((_mechanism, "sensitivity_squared", lambda each, sampling: Fraction(sampling.most))),
        lambda: _likelihood(_BUFFERS, MinimumSeparation(8, 1, 8), [1] + [0] * 7),
        _pair(1, *[0] * 7),
        mu(1),
        lambda: _epsilon(sensitivity_squared(_BUFFERS, MinimumSeparation(8)), 1),
        delta=_DELTA,
    ),
    Mutant(
        "a run that counts from its checkpoint",
        "After a crash a step that was begun is run again, with other noise: its people take part once more.",
        patched((CorrelatedNoise, "resume", _counted_from_checkpoint)),
        _dying_twice,
        _pair(1, 0, 0),
        mu(1),
        lambda: gaussian_epsilon(math.sqrt(3 / 2), _DELTA),
        delta=_DELTA,
        samples=40_000,
    ),
    Mutant(
        "a restart that forgets how many steps were lost",
        "Noise of the checkpoint is taken back as if its step were the last, where the next participation is as well.",
        patched((_filters._Banded, "skip", lambda self: None)),
        _dying_once,
        _pair(1, 0, 1),
        mu(1),
        lambda: gaussian_epsilon(math.sqrt(2), _DELTA),
        delta=_DELTA,
    ),
)
