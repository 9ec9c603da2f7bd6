"""Continual counting with pure ε: every prefix sum of a stream, from noisy sums of the nodes of a tree."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.errors import ParameterError
from discreet.mechanisms._sensitivity import l1_of, level_of
from discreet.mechanisms.additive._discrete_laplace import DiscreteLaplace
from discreet.mechanisms.numeric._integers import least, whole_in
from discreet.mechanisms.streams._count_stream import MOST_STEPS, CounterRelease, CountStream, drawn_in_blocks
from discreet.noise import MIN_SCALE, discrete_laplace, scale_in_range
from discreet.privacy import Loss, PureLoss, budget_of
from discreet.rational import Number
from discreet.reprs import call_repr
from discreet.sensitivity import Norms

__all__ = ["TreeCounter"]

_WIDEST = 1 << 16


@dataclass(frozen=True, slots=True, init=False)
class TreeCounter(CounterRelease):
    """Estimates every prefix sum of a stream of integers, each by a few nodes of a tree with discrete Laplace noise.

    Parameters
    ----------
    steps
        T, public: the most increments that a stream has, from 1 to 2**40.
    scale
        Of the noise of each node, in units of the increments, from 0.001 to 2**56.
    arity
        How many children a node has, from 2 to 65536; 2 is the binary tree. From 3 on, a prefix is written in digits
        that may be negative, and subtracts the nodes that lie after it. By default the arity with the least error of
        the worst step at a given loss, for that many steps.

    Raises `ParameterError` for anything else. Source: Dwork, Naor, Pitassi and Rothblum 2010; Chan, Shi and Song 2011;
    Andersson, Pagh, Steiner and Torkamani 2025 (negative digits); ``proofs/tree_counter.md``.

    >>> counter = TreeCounter(steps=1000, scale=3)
    >>> counter.arity, counter.height, counter.loss(sensitivity=1)
    (13, 3, pure(1))
    """

    steps: int
    scale: Fraction
    arity: int

    __repr__ = call_repr

    def __init__(self, steps: int, scale: Number, arity: int | None = None) -> None:
        object.__setattr__(self, "steps", whole_in(steps, "steps", 1, MOST_STEPS))
        if arity is not None:
            whole_in(arity, "arity", 2, _WIDEST)
        object.__setattr__(self, "scale", scale_in_range(scale, "scale"))
        object.__setattr__(self, "arity", _best_arity(steps) if arity is None else arity)

    @classmethod
    def calibrate(
        cls, spend: Loss, sensitivity: Number | Norms, *, steps: int, arity: int | None = None
    ) -> TreeCounter:
        """The counter with the least noise whose loss is at most the ε of `spend`: scale = height · Δ/ε.

        A spend in (ε, δ) is taken at its ε: this noise has no use for a δ. Where less than the least scale would do,
        the scale is 0.001. Costs no privacy. Raises `ParameterError` for a spend in ρ or μ, for a sensitivity below 0,
        and if the scale would be above 2**56. Source: ``proofs/tree_counter.md``.

        >>> from discreet.privacy import pure
        >>> TreeCounter.calibrate(pure("0.5"), sensitivity=1, steps=1000)
        TreeCounter(steps=1000, scale=6, arity=13)
        """
        kind, (epsilon, *_) = budget_of(spend)
        if kind not in {"pure", "approx"}:
            raise ParameterError(
                f"a tree counter is calibrated to an epsilon, and this spend is in {kind}; "
                "spend dp.pure(epsilon), or use ToeplitzCounter"
            )
        if epsilon <= 0:
            raise ParameterError("epsilon must be greater than 0")
        shape = cls(steps, 1, arity)
        return cls(steps, max(shape.height * l1_of(sensitivity) / epsilon, MIN_SCALE), shape.arity)

    @property
    def height(self) -> int:
        """How many nodes an increment is in at most: the number of digits of T."""
        return len(_digits(self.steps, self.arity))

    def loss(self, sensitivity: Number | Norms) -> Loss:
        """Pure ε = height · sensitivity / scale, for a whole stream.

        `sensitivity` is in L1 norm: by how much neighbours' increments differ at most, summed over the steps. It is
        k · m for a person who moves up to k increments by up to m each. It holds for increments chosen in view of
        earlier estimates. Raises `ParameterError` if it is below 0. Source: ``proofs/tree_counter.md``.
        """
        return PureLoss(self.height * l1_of(sensitivity) / self.scale)

    def start(self) -> CountStream:
        """A stream that takes one increment at a time, in memory for `arity` · `height` / 2 numbers.

        Starting costs `loss(sensitivity)` for the whole stream, **and charges nobody**: this is the raw toolbox.
        Source: ``proofs/tree_counter.md``.

        >>> stream = TreeCounter(steps=3, scale="1/1000").start()
        >>> stream.add(5), stream.add(7), stream.add(-1), stream.left
        (5, 12, 11, 0)
        """
        draws = drawn_in_blocks(lambda size: discrete_laplace(self.scale, size))
        return CountStream(_prefix_noise(self.arity, self.height, draws), self.steps)

    def nodes(self, step: int) -> int:
        """How many nodes the estimate after `step` increments adds up: the sum of its digits without their signs."""
        return sum(map(abs, _digits(whole_in(step, "step", 1, self.steps), self.arity)))

    @property
    def std(self) -> float:
        """The standard deviation of the estimate of the worst step, in float precision."""
        return math.sqrt(_most_nodes(self.steps, self.arity)) * DiscreteLaplace(self.scale).std

    def std_at(self, step: int) -> float:
        """The standard deviation of the estimate after `step` increments: √nodes times that of one node's noise.

        Does not depend on data and costs no privacy. Raises `ParameterError` unless 1 ≤ step ≤ `steps`.
        """
        return math.sqrt(self.nodes(step)) * DiscreteLaplace(self.scale).std

    def error(self, level: Number = 0.95) -> int:
        """The least k such that the estimate of the worst step is within ±k with probability `level` or more.

        For all T steps together with probability 1 − β, ask level 1 − β/T. Does not depend on data and costs no
        privacy. Raises `ParameterError` unless 0 < level < 1. Source: the exact tail of a sum of discrete Laplace
        variables, ``proofs/tree_counter.md``, in floats, with a margin of 1e-9 of the tail.

        >>> TreeCounter(steps=1000, scale=30).error(0.95)
        355
        """
        miss, nodes = float(1 - level_of(level)) * (1 - 1e-9), _most_nodes(self.steps, self.arity)
        return least(lambda k: 2 * _tail(k + 1, nodes, self.scale) <= miss)


def _digits(number: int, arity: int) -> list[int]:
    """The digits of a number ≥ 1, the least first, each from −⌊(arity − 1)/2⌋ to ⌊arity/2⌋.

    >>> _digits(5, 2), _digits(5, 3)
    ([1, 0, 1], [-1, -1, 1])
    """
    digits, below = [], (arity - 1) // 2
    while number:
        digits.append((number + below) % arity - below)
        number = (number - digits[-1]) // arity
    return digits


def _most_nodes(steps: int, arity: int) -> int:
    """The largest sum of digits without signs from 1 to `steps`: a number is smaller from its first smaller digit on.

    >>> _most_nodes(1000, 2), max(sum(map(abs, _digits(t, 2))) for t in range(1, 1001))
    (9, 9)
    """
    digits = _digits(steps, arity)
    most, above = sum(map(abs, digits)), 0
    for place in reversed(range(len(digits))):
        least = -((arity - 1) // 2) if place < len(digits) - 1 else 0
        if digits[place] > least:
            most = max(most, above + max(-least, digits[place] - 1) + place * (arity // 2))
        above += abs(digits[place])
    return most


def _best_arity(steps: int) -> int:
    """The arity with the least height² · nodes, which is the variance of the worst step at a given ε."""
    candidates: dict[int, int] = {}
    for height in range(1, steps.bit_length() + 1):
        low, high = 1, _WIDEST + 1  # `low` needs more digits than `height`
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if len(_digits(steps, middle)) <= height else (middle, high)
        if high <= _WIDEST:
            candidates[high] = len(_digits(steps, high)) ** 2 * _most_nodes(steps, high)
    return min(candidates, key=lambda arity: (candidates[arity], arity))


def _prefix_noise(arity: int, height: int, draws: Iterator[int]) -> Iterator[int]:
    """The noise of the prefix after step 1, 2, …: the signed sum over the nodes that its digits name."""
    below, most = (arity - 1) // 2, arity // 2
    digits, sums, ahead = [0] * height, [0] * height, [list[int]() for _ in range(height)]
    while True:
        for level in range(height):
            if digits[level] < most:
                sums[level] += ahead[level].pop() if digits[level] < 0 else next(draws)
                digits[level] += 1
                break
            ahead[level] = [next(draws) for _ in range(below)]
            sums[level], digits[level] = -sum(ahead[level]), -below
        yield sum(sums)


def _tail(least: int, nodes: int, scale: Fraction) -> float:
    """P(X ≥ least) for the sum X of the noise of so many nodes, least ≥ 1: ``proofs/tree_counter.md``."""
    from scipy.special import betaincc, gammaln

    rate = float(1 / scale)
    stop, q = -math.expm1(-rate), math.exp(-rate)
    j = np.arange(nodes)
    weight = gammaln(nodes + j) - gammaln(nodes) - gammaln(j + 1) - nodes * math.log1p(q) - j * (rate + math.log1p(q))
    return float(np.sum(np.exp(weight) * betaincc(nodes - j, float(least) + j, stop)))
