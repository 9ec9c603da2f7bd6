"""Mistakes in additive noise: its scale, what it is scaled to, and what is left out of it."""

from __future__ import annotations

import math

import numpy as np

from discreet.audit import batched
from discreet.mechanisms import BoundedLaplace, DiscreteLaplace, GlobalSensitivity, OnGrid, Staircase
from discreet.mechanisms.additive import _bounded_laplace as bounded_laplace
from discreet.mechanisms.additive import _discrete_laplace as module
from discreet.mechanisms.additive._on_grid import Grid
from discreet.noise import discrete_laplace
from discreet.privacy import pure
from discreet.rational import rational
from discreet.sensitivity import Norms, Sum
from mutants._mutant import Mutant, patched

__all__ = ["MUTANTS"]

_calibrate, _released = DiscreteLaplace.calibrate, DiscreteLaplace._released
_best_staircase = Staircase.calibrate


def _count(mechanism) -> object:
    return batched(lambda value, size: mechanism.release([value] * size))


def _vector(mechanism) -> object:
    """Rows that are released together, each with its own noise on every entry."""

    def draw(value: list[int], size: int) -> np.ndarray:
        return np.array(mechanism.release(value * size), dtype=np.int64).reshape(size, len(value))

    return batched(draw)


def _unit_count() -> object:
    return _count(DiscreteLaplace.calibrate(pure(1), 1))


def _two_counts() -> object:
    return _vector(DiscreteLaplace.calibrate(pure(1), Norms(2, 2, 1)))


def _scaled(factor: float) -> classmethod:
    return classmethod(lambda cls, spend, sensitivity: cls(_calibrate(spend, sensitivity).scale * rational(factor, "")))


def _zero_as_it_is(self, values: list[int]) -> list[int]:
    return [noisy if value else 0 for value, noisy in zip(values, _released(self, values), strict=True)]


def _redrawn_below_zero(self, values: list[int]) -> list[int]:
    noisy = _released(self, values)
    while again := [i for i, each in enumerate(noisy) if each < 0]:
        for i, each in zip(again, _released(self, [values[i] for i in again]), strict=True):
            noisy[i] = each
    return noisy


def _redrawn_epsilon() -> float:
    """o ≥ 0 has probability q^|o − v| / C(v); C(0) = 1/(1 − q), C(1) = q + 1/(1 − q). The most is at o = 0."""
    q = math.exp(-1)
    return 1 + math.log((q + 1 / (1 - q)) * (1 - q))


def _window_epsilon() -> float:
    """As above with answers 0 … 10, at scale 2."""
    q = math.exp(-0.5)
    weights = [sum(q ** abs(o - v) for o in range(11)) for v in (0, 1)]
    return 0.5 + math.log(weights[1] / weights[0])


def _floored(self, values: list[int]) -> list[int]:
    return [value + max(noisy - value, 0) for value, noisy in zip(values, _released(self, values), strict=True)]


def _narrow_stairs(cls, spend, sensitivity, *, step="absolute") -> Staircase:
    made = _best_staircase(spend, sensitivity, step=step)
    return cls(made.epsilon, made.sensitivity - 1, step)


MUTANTS = (
    Mutant(
        "scale halved",
        "The scale is Δ/2ε, as when b and 2b of two ways to write the Laplace density are confused.",
        patched((DiscreteLaplace, "calibrate", _scaled(0.5))),
        _unit_count,
        (0, 1),
        pure(1),
        2.0,
        samples=10_000,
    ),
    Mutant(
        "scale times 0.8",
        "A fifth of the noise is missing, as from an approximate sampler.",
        patched((module, "discrete_laplace", lambda scale, size: discrete_laplace(scale * 4 / 5, size))),
        _unit_count,
        (0, 1),
        pure(1),
        1.25,
        samples=60_000,
    ),
    Mutant(
        "sensitivity of a vector as L-infinity",
        "A person is in two counts, and the noise is scaled to how far one of them moves.",
        patched((module, "l1_of", lambda moves: rational(moves.linf if isinstance(moves, Norms) else moves, ""))),
        _two_counts,
        ([0, 0], [1, 1]),
        pure(1),
        2.0,
    ),
    Mutant(
        "sensitivity one short",
        "A person moves three counts and two are charged: the loop over groups starts at 1.",
        patched((module, "l1_of", lambda moves: rational(moves.l1 - 1 if isinstance(moves, Norms) else moves, ""))),
        lambda: _vector(DiscreteLaplace.calibrate(pure(1), Norms(3, 3, 1))),
        ([0, 0, 0], [1, 1, 1]),
        pure(1),
        1.5,
        samples=200_000,
    ),
    Mutant(
        "substitution charged as add/remove",
        "A sum of values from −1 to 1 moves by 2 when a record is replaced, not by the largest value.",
        patched((Sum, "global_sensitivity", lambda self, bounds, relation: max(map(abs, bounds)))),
        lambda: GlobalSensitivity("sum", bounds=(-1, 1), spend=pure(1), relation="substitute").release,
        ([-1.0], [1.0]),
        pure(1),
        2**29 / (2**28 + 1),
        samples=10_000,
    ),
    Mutant(
        "rounding to the grid is not charged",
        "Values half a step apart are a whole step apart once they are rounded.",
        patched((Grid, "move", lambda self, sensitivity: rational(sensitivity, "") / self.step)),
        lambda: OnGrid.calibrate(pure(1), "0.5", kind=DiscreteLaplace, step=1).release,
        (0.25, 0.75),
        pure(1),
        2.0,
        samples=10_000,
    ),
    Mutant(
        "zero is released as it is",
        "A count of zero is taken for nothing to protect, and gets no noise.",
        patched((DiscreteLaplace, "_released", _zero_as_it_is)),
        _unit_count,
        (0, 1),
        pure(1),
        math.inf,
        samples=5_000,
    ),
    Mutant(
        "negative answers redrawn",
        "A count below zero looks wrong, and is drawn again until it is not: the condition depends on the count.",
        patched((DiscreteLaplace, "_released", _redrawn_below_zero)),
        _unit_count,
        (0, 1),
        pure(1),
        _redrawn_epsilon,
        samples=80_000,
    ),
    Mutant(
        "noise floored at zero",
        "Noise below zero is replaced by none, so that answers never fall short.",
        patched((DiscreteLaplace, "_released", _floored)),
        _unit_count,
        (0, 1),
        pure(1),
        math.inf,
        samples=5_000,
    ),
    Mutant(
        "window charged as if its weight were the same for all",
        "Noise on the condition that the answer is within bounds is charged Δ/scale: Holohan and others 2018.",
        patched((bounded_laplace, "_cost", lambda scale, width, sensitivity: rational(sensitivity, "") / scale)),
        lambda: _count(BoundedLaplace.calibrate(pure("0.5"), 1, bounds=(0, 10))),
        (0, 1),
        pure("0.5"),
        _window_epsilon,
        samples=150_000,
    ),
    Mutant(
        "stairs one step too narrow",
        "The stairs are Δ − 1 wide, and a move by Δ crosses two of them.",
        patched((Staircase, "calibrate", classmethod(_narrow_stairs))),
        lambda: _count(Staircase.calibrate(pure(1), 4)),
        (0, 4),
        pure(1),
        2.0,
        samples=20_000,
    ),
)
