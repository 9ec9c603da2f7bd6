"""Mistakes in selection: the exponent, the order of visits, what is told beside the index, what is charged."""

from __future__ import annotations

import math

import numpy as np

from discreet.mechanisms import Exponential, MostFrequent, PermuteAndFlip, Quantiles, ReportNoisyMax, TopK
from discreet.mechanisms._sensitivity import epsilon_within, rate_of
from discreet.mechanisms.quantiles import _cuts as quantile_cuts
from discreet.mechanisms.selection import _exponential as exponential
from discreet.mechanisms.selection import _most_frequent as most_frequent
from discreet.mechanisms.selection import _permute_and_flip as permute_and_flip
from discreet.mechanisms.selection._candidates import exponents_of, utilities_of
from discreet.noise import bernoulli_exp, discrete_laplace, uniform_below
from discreet.privacy import BoundedRangeLoss, pure
from discreet.sensitivity import Mode
from mutants._laws import epsilon_between, picked_in_turn, softmax
from mutants._mutant import Mutant, patched

__all__ = ["MUTANTS"]

_MANY = 5
_SIX = 6
_REPLACED = ([0, 10, 70, 70], [0, 0, 10, 70])


def _softmax_of_floats(self, utilities) -> int:
    """As numpy users write it: exp of the scaled utilities, divided by their sum."""
    weights = np.exp(np.array(utilities, dtype=float) * float(self.epsilon / self.sensitivity / 2))
    return int(np.random.default_rng().choice(len(weights), p=weights / weights.sum()))


def _one_flip(self, utilities) -> int:
    """One candidate is tried, and if it is refused the best is taken."""
    floats, exact = exponents_of(utilities_of(utilities), rate_of(self.epsilon, self.sensitivity, monotone=False))
    tried = int(uniform_below(floats.size, 1)[0])
    return tried if bernoulli_exp(floats, exact)[tried] else int(np.argmin(floats))


def _one_flip_epsilon() -> float:
    """Candidate 0 is the best by 1, or the one that is 1 below all others, of which the first is then taken."""
    n, low = 10, math.exp(-0.5)
    one = [1 / n + (n - 1) / n * (1 - low)] + [low / n] * (n - 1)
    other = [low / n, 1 / n + (1 - low) / n] + [1 / n] * (n - 2)
    return epsilon_between(np.array(one), np.array(other))


def _with_value(self, utilities) -> tuple[int, int]:
    noisy = [u + int(x) for u, x in zip(utilities, discrete_laplace(self.scale, len(utilities)), strict=True)]
    return noisy.index(max(noisy)), max(noisy)


def _voted_epsilon() -> float:
    """Permute-and-flip at rate ε, not ε/2: the loser is accepted with probability 1/e, and taken half of the time."""
    return math.log((1 - math.exp(-1) / 2) / (math.exp(-1) / 2))


def _as_one(low: int, high: int, block) -> tuple:
    """A gap counts as one cut, however many it holds."""
    some = block.stop > block.start
    return low * some, high * some, block


def _gap_epsilon() -> float:
    """101 cuts without a record are one block; with one at cut 50 there are 50, 1 and 50, and only 50 costs nothing."""
    fall = math.exp(-0.5)
    weights = [fall / 50] * 50 + [1.0] + [fall / 50] * 50
    return epsilon_between(np.full(101, 1 / 101), np.array(weights) / sum(weights))


def _substituted_epsilon() -> float:
    """At rate ε, a replaced record brings one stretch of cuts a whole record closer and takes another away."""

    def law(records: list[int]) -> np.ndarray:
        middle = len(records) / 2
        ends = [(sum(r < t for r in records), sum(r <= t for r in records)) for t in range(71)]
        return softmax([-max(low - middle, middle - high, 0.0) for low, high in ends], 2.0)

    return epsilon_between(*map(law, _REPLACED))


MUTANTS = (
    Mutant(
        "exponential mechanism without the 2",
        "Probabilities ∝ exp(εu/Δ) for utilities that do not all move one way.",
        patched((exponential, "rate_of", lambda epsilon, sensitivity, monotone: epsilon / sensitivity)),
        lambda: Exponential.calibrate(pure(1), 1).release,
        ([1] + [0] * _MANY, [0] + [1] * _MANY),
        pure(1),
        lambda: epsilon_between(softmax([1] + [0] * _MANY, 1.0), softmax([0] + [1] * _MANY, 1.0)),
        samples=20_000,
        slow=True,
    ),
    Mutant(
        "weights of floats underflow",
        "exp(εu/2Δ) without the best taken off is 0 for a candidate that its neighbour can choose.",
        patched((Exponential, "release", _softmax_of_floats)),
        lambda: Exponential.calibrate(pure(1), 1).release,
        ([-1489, -1491], [-1490, -1490]),
        BoundedRangeLoss(1),
        math.inf,
        samples=4_000,
        slow=True,
    ),
    Mutant(
        "weights of floats overflow",
        "exp(εu/2Δ) of a large count is infinite, and the choice ends in an error that tells the count.",
        patched((Exponential, "release", _softmax_of_floats)),
        lambda: _quiet(Exponential.calibrate(pure(1), 1)),
        ([1419, 1419], [1420, 1419]),
        pure(1),
        math.inf,
        samples=4_000,
    ),
    Mutant(
        "permute and flip in a fixed order",
        "The permutation is left out: the first candidate that is accepted wins.",
        patched((permute_and_flip, "uniform_below", lambda n, size: np.zeros(size, dtype=np.int64))),
        lambda: PermuteAndFlip.calibrate(pure(1), 1).release,
        ([0, 1], [1, 0]),
        pure(1),
        math.inf,
        samples=4_000,
    ),
    Mutant(
        "permute and flip that stops early",
        "After one refused flip the best candidate is taken, instead of going on with the others.",
        patched((PermuteAndFlip, "release", _one_flip)),
        lambda: PermuteAndFlip.calibrate(pure(1), 1).release,
        ([1] + [0] * 9, [0] + [1] * 9),
        pure(1),
        _one_flip_epsilon,
        samples=10_000,
        slow=True,
    ),
    Mutant(
        "noisy max with its value",
        "The value of the winner is told with the noise that made it win: all the losers are below it.",
        patched((ReportNoisyMax, "release", _with_value)),
        lambda: ReportNoisyMax.calibrate(pure(1), 1, noise="laplace").release,
        ([0] * _SIX, [1] * _SIX),
        pure(1),
        _SIX / 2,
        samples=40_000,
        slow=True,
    ),
    Mutant(
        "top-k charged once",
        "k picks with the ε of one: what is left after a pick is chosen from again.",
        patched(
            (
                TopK,
                "calibrate",
                classmethod(lambda cls, spend, sensitivity, k: cls(k, epsilon_within(spend, 8), sensitivity)),
            )
        ),
        lambda: TopK.calibrate(pure(2), 1, k=3).release,
        ([1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]),
        pure(2),
        lambda: epsilon_between(picked_in_turn([1, 1, 1, 0, 0, 0], 3, 1.0), picked_in_turn([0, 0, 0, 1, 1, 1], 3, 1.0)),
        samples=16_000,
        slow=True,
    ),
    Mutant(
        "a vote called monotone under substitution",
        "A replaced record takes a vote from one candidate and gives it to another, and is charged as one added.",
        patched((most_frequent, "adds_or_removes", lambda relation: True)),
        lambda: MostFrequent.calibrate(pure(1), mode=Mode((0, 1)), relation="substitute").release,
        ([0], [1]),
        pure(1),
        _voted_epsilon,
        samples=10_000,
        slow=True,
    ),
    Mutant(
        "gaps between records all alike",
        "The exponential mechanism over gaps forgets how many cuts each gap holds, which depends on the records.",
        patched((quantile_cuts, "_weighted", lambda block, low, high: _as_one(low, high, block))),
        lambda: Quantiles.calibrate(pure(1), probabilities="0.5", bounds=(0, 100), step=1).release,
        ([], [50]),
        pure(1),
        _gap_epsilon,
        samples=3_000,
    ),
    Mutant(
        "median under substitution at the rate of add/remove",
        "A replaced record moves a rank by 1, not by 1/2.",
        patched((Quantiles, "_rate", lambda self, p, start, stop: self.epsilon / (2 * max(p, 1 - p)))),
        lambda: (
            Quantiles.calibrate(pure(2), probabilities="0.5", bounds=(0, 70), relation="substitute", step=1).release
        ),
        _REPLACED,
        pure(2),
        _substituted_epsilon,
        samples=10_000,
        slow=True,
    ),
)


def _quiet(mechanism: Exponential):
    def release(utilities):
        with np.errstate(all="ignore"):
            return mechanism.release(utilities)

    return release
