"""Mistakes in randomized response, shuffling and sampling: amplification is charged for what was not done."""

from __future__ import annotations

import math

import numpy as np

from discreet.audit import batched
from discreet.mechanisms import DiscreteLaplace, RandomizedResponse, Sampled, Shuffled
from discreet.mechanisms.randomizers import _sampled as sampled
from discreet.mechanisms.randomizers import _shuffled as shuffled
from discreet.noise import bernoulli, uniform_below
from discreet.privacy import pure
from discreet.rational import rational
from mutants._mutant import Mutant, patched

__all__ = ["MUTANTS"]

_CROWD = 1000


def _report(k: int) -> object:
    response = RandomizedResponse.calibrate(pure(1), k=k)
    return batched(lambda truth, size: response.release([truth] * size))


def _lies_may_be_true(self, values) -> np.ndarray:
    truth = np.asarray(values)
    return np.where(bernoulli(self.p, truth.size), truth, uniform_below(self.k, truth.size))


def _as_for_two(cls, epsilon, k: int = 2) -> RandomizedResponse:
    return cls(rational(math.exp(epsilon) / (1 + math.exp(epsilon)), ""), k)


def _crowd() -> Shuffled:
    return Shuffled(RandomizedResponse(p="0.75"), n=_CROWD)


def _first_few(crowd: Shuffled):
    """Where the reports come in their order, the first few tell as much of the first person as all."""
    return lambda first: crowd.release(np.append(first, np.zeros(_CROWD - 1, dtype=int)))[:4]


def _tenth() -> object:
    return Sampled.calibrate(pure("0.5"), 1, kind=DiscreteLaplace, rate="0.1", function=len).release


def _in_full() -> float:
    """The ε of a tenth that is ln(1 + (e^½ − 1)·10)."""
    return math.log1p(10 * math.expm1(0.5))


def _first_in_all(rate, size: int) -> np.ndarray:
    return np.append(np.ones(min(size, 1), dtype=bool), bernoulli(rate, max(size - 1, 0)))


MUTANTS = (
    Mutant(
        "lies that may be true",
        "With probability 1 − p the report is any of the k categories, the true one included, but p is for the others.",
        patched((RandomizedResponse, "release", _lies_may_be_true)),
        lambda: _report(2),
        (0, 1),
        pure(1),
        lambda: math.log((1 + math.e / (1 + math.e)) / (1 - math.e / (1 + math.e))),
        samples=10_000,
    ),
    Mutant(
        "p of two categories for many",
        "p = e^ε/(e^ε + 1) is right for k = 2; each of more lies is rarer than that.",
        patched((RandomizedResponse, "from_epsilon", classmethod(_as_for_two))),
        lambda: _report(4),
        (0, 1),
        pure(1),
        1 + math.log(3),
        samples=10_000,
    ),
    Mutant(
        "a shuffle that keeps the order",
        "Reports are passed on as they come, and amplification by shuffling is charged.",
        patched((shuffled, "permutation", np.arange)),
        lambda: _first_few(_crowd()),
        (0, 1),
        _crowd().loss(),
        math.log(3),
        samples=3_000,
        delta="1e-6",
    ),
    Mutant(
        "amplified without a sample",
        "The loss is that of a secret sample, and the mechanism sees all the data.",
        patched((sampled, "bernoulli", lambda rate, size: np.ones(size, dtype=bool))),
        _tenth,
        ([7], []),
        pure("0.5"),
        _in_full,
        samples=6_000,
    ),
    Mutant(
        "the first record is always sampled",
        "A sample must not be empty, so the first record is put into it.",
        patched((sampled, "bernoulli", _first_in_all)),
        _tenth,
        ([7], []),
        pure("0.5"),
        _in_full,
        samples=6_000,
    ),
)
