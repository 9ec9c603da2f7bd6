"""Mistakes in the random numbers themselves: their source, their reuse, and floats."""

from __future__ import annotations

import hashlib
import math

import numpy as np

from discreet.audit import batched
from discreet.mechanisms import DiscreteLaplace, Gaussian, OnGrid, RandomizedResponse
from discreet.mechanisms.additive import _discrete_laplace as module
from discreet.mechanisms.randomizers import _randomized_response as randomized_response
from discreet.noise import _laplace as sampler
from discreet.noise import bernoulli, discrete_laplace
from discreet.privacy import approx, pure
from discreet.rational import rational
from discreet.sensitivity import Norms
from mutants._mutant import Mutant, patched

__all__ = ["MUTANTS"]


class _Seeded:
    """The same bits for every call."""

    def __init__(self) -> None:
        self._taken = 0

    def take(self, nbytes: int) -> bytes:
        stream = hashlib.shake_256(b"42").digest(self._taken + nbytes)
        self._taken += nbytes
        return stream[self._taken - nbytes :]


class _Kept:
    """Noise that is drawn once and then looked up by its scale: forgotten between programs alone."""

    def __init__(self) -> None:
        self.known: dict = {}

    def __call__(self, scale, size):
        if (scale, size) not in self.known:
            self.known[scale, size] = discrete_laplace(scale, size)
        return self.known[scale, size]


_KEPT = _Kept()
_TABLE = sampler.Table


def _two_questions() -> object:
    """Two counts of disjoint groups, one after the other."""
    noise = DiscreteLaplace.calibrate(pure(1), 1)

    def program(counts: tuple[int, int]) -> tuple[int, int]:
        _KEPT.known.clear()
        return noise.release(counts[0]), noise.release(counts[1])

    return program


def _unit_count() -> object:
    noise = DiscreteLaplace.calibrate(pure(1), 1)
    return batched(lambda value, size: noise.release([value] * size))


def _capped(scale, size: int) -> np.ndarray:
    return np.clip(discrete_laplace(scale, size), -3, 3)


def _redrawn(scale, size: int) -> np.ndarray:
    drawn = discrete_laplace(scale, size)
    while (far := np.flatnonzero(abs(drawn) > 3)).size:
        drawn[far] = discrete_laplace(scale, far.size)
    return drawn


def _in_quarters(p, size: int) -> np.ndarray:
    return bernoulli(rational(math.ceil(4 * p), "") / 4, size)


def _floats(draw):
    """Noise of floats, added to floats: the sum has low bits that only some values can have made."""
    rng = np.random.default_rng(7)

    def released(self, items: list[float]) -> list[float]:
        return [item + draw(rng, float(self.mechanism.std * self.step)) for item in items]

    return released


MUTANTS = (
    Mutant(
        "generator seeded",
        "A seed set for reproducible results draws the same noise in every call, which anyone can subtract.",
        patched((sampler, "SecureBits", _Seeded)),
        lambda: DiscreteLaplace.calibrate(pure(1), 1).release,
        (0, 1),
        pure(1),
        math.inf,
        samples=2_000,
    ),
    Mutant(
        "noise reused within a vector",
        "One draw is added to all entries, by broadcasting, so that their differences are exact.",
        patched((module, "discrete_laplace", lambda scale, size: np.repeat(discrete_laplace(scale, 1), size))),
        lambda: DiscreteLaplace.calibrate(pure(1), Norms(1, 1, 1)).release,
        ([0, 0], [1, 0]),
        pure(1),
        math.inf,
        samples=2_000,
    ),
    Mutant(
        "noise reused between questions",
        "Noise is cached by its scale, as a fixed salt or a copied state would, and two answers share it.",
        patched((module, "discrete_laplace", _KEPT)),
        _two_questions,
        ((0, 0), (1, 0)),
        pure(1),
        math.inf,
        samples=2_000,
    ),
    Mutant(
        "noise capped",
        "Noise beyond three scales is cut to that, for tidy plots: the ends tell the value.",
        patched((module, "discrete_laplace", _capped)),
        _unit_count,
        (0, 1),
        pure(1),
        math.inf,
        samples=30_000,
    ),
    Mutant(
        "noise redrawn beyond a cap",
        "Noise beyond three scales is drawn again, and the claim stays pure.",
        patched((module, "discrete_laplace", _redrawn)),
        _unit_count,
        (0, 1),
        pure(1),
        math.inf,
        samples=60_000,
    ),
    Mutant(
        "sign of the noise lost",
        "The table that should be read as 0, 1, −1, 2, … is read as 0, 1, 2, …: one-sided noise hides nothing below.",
        patched((sampler, "Table", lambda tails, signed: _TABLE(tails, signed=False))),
        _unit_count,
        (0, 1),
        pure(1),
        math.inf,
        samples=5_000,
    ),
    Mutant(
        "coin with two bits",
        "A probability is rounded up to a quarter, the resolution of the random word it is compared with.",
        patched((randomized_response, "bernoulli", _in_quarters)),
        lambda: batched(lambda truth, size: RandomizedResponse.calibrate(pure("0.5")).release([truth] * size)),
        (0, 1),
        pure("0.5"),
        math.log(3),
        samples=10_000,
    ),
    Mutant(
        "Laplace noise of floats",
        "x + numpy's Laplace: the low bits of the sum tell which x can have made it (Mironov 2012).",
        patched((OnGrid, "_released", _floats(lambda rng, std: rng.laplace(scale=std / math.sqrt(2))))),
        lambda: OnGrid.calibrate(pure(1), 1, kind=DiscreteLaplace, step=2**-10).release,
        (0.0, 1.0),
        pure(1),
        math.inf,
        samples=10_000,
    ),
    Mutant(
        "Gaussian noise of floats",
        "x + numpy's normal: the low bits of the sum tell which x can have made it.",
        patched((OnGrid, "_released", _floats(lambda rng, std: rng.normal(scale=std)))),
        lambda: OnGrid.calibrate(approx(1, 1e-5), 1, kind=Gaussian, step=2**-10).release,
        (0.0, 1.0),
        approx(1, 1e-5),
        math.inf,
        samples=10_000,
    ),
)
