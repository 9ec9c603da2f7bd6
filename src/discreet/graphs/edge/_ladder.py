"""A count of subgraphs by the ladder mechanism: integers in rungs around the exact count, the nearer ones likelier."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.graphs._graph import Graph
from discreet.graphs.counts import Count
from discreet.mechanisms import Exponential
from discreet.noise import Draws, discrete_laplace, exp_bounds, fresh_draws
from discreet.privacy import BoundedRangeLoss, Loss
from discreet.rational import Number, rational

__all__ = ["Ladder", "LadderLaw"]

_WORD = 62
"""Digits of a uniform number that are drawn at a time, so that they and their bounds are 64-bit integers."""
_GUARD = 64
_MOST_EPSILON = 64
_LEAST_EPSILON = Fraction(1, 10**6)
_DIGITS = 64
"""Bits up to which moments are right."""


@dataclass(frozen=True, slots=True, init=False)
class Ladder:
    """A number of subgraphs, drawn from all integers: those on rung k have weight exp(−ε k / 2) each. Pure ε.

    Rung 0 is the exact count. On either side of it, rung 1 has the next A(G, 0) integers, rung 2 the next A(G, 1), and
    so on without end: rung k begins where the A(G, 0) + … + A(G, k − 2) integers of earlier rungs end. So an integer is
    at most one rung higher or lower for a neighbour. It is the exponential mechanism with the rung as its utility:
    ε-bounded range, which is less in ρ than pure ε is. It needs no δ.

    Parameters
    ----------
    statistic
        A `discreet.graphs.counts.Count`.
    epsilon
        The loss, public; from 1e-6 to 64.

    Raises `ParameterError` for an argument out of its range. Source: Zhang, Cormode, Procopiuc, Srivastava and Xiao
    2015, section 4; ``proofs/ladder.md``.

    >>> from discreet.graphs.counts import Triangles
    >>> Ladder(Triangles(4039), "1/2").loss()
    bounded_range(0.5)
    """

    ledger_counts: ClassVar[Literal["edges"]] = "edges"

    statistic: Count
    epsilon: Fraction

    def __init__(self, statistic: Count, epsilon: Number) -> None:
        if not isinstance(statistic, Count):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError("the statistic must be a count of discreet.graphs.counts")
        exact = rational(epsilon, "epsilon")
        if not _LEAST_EPSILON <= exact <= _MOST_EPSILON:
            raise ParameterError(f"epsilon must be from {float(_LEAST_EPSILON)} to {_MOST_EPSILON}, got {epsilon!r}")
        object.__setattr__(self, "statistic", statistic)
        object.__setattr__(self, "epsilon", exact)

    @classmethod
    def calibrate(cls, spend: Loss, statistic: Count) -> Ladder:
        """The one that a spend allows: ε of (ε, δ), √(8ρ) of ρ, and what μ pays for.

        Raises `ParameterError` for a spend of nothing, and for one that is too small or large.

        >>> from discreet.graphs.counts import Triangles
        >>> from discreet.privacy import rho
        >>> Ladder.calibrate(rho("0.125"), Triangles(9)).epsilon
        Fraction(1, 1)
        """
        return cls(statistic, Exponential.calibrate(spend, 1).epsilon)

    def loss(self) -> Loss:
        """ε-bounded range, for one edge: pure ε, and ρ = ε²/8. Source: ``proofs/ladder.md``."""
        return BoundedRangeLoss(self.epsilon)

    def release(self, graph: Graph) -> int:
        """An integer near the count. Costs `loss()`, **and charges nobody**: this is the raw toolbox.

        Raises `ParameterError` only for a graph of another number of vertices, which is public.

        >>> from discreet.graphs.counts import Triangles
        >>> clique = Graph.from_pairs([(a, b) for a in range(99) for b in range(a)])
        >>> abs(Ladder(Triangles(99), 8).release(clique) - 156_849) < 5_000
        True
        """
        return self.law(graph).draw(1)[0]

    def law(self, graph: Graph) -> LadderLaw:
        """The distribution of what is released of a graph. SENSITIVE. Raises as `release`."""
        value = Fraction(self.statistic.value(graph))
        if not self.statistic.most:
            return LadderLaw(value, lambda _: 0, 0, self.epsilon / 2)
        return LadderLaw(value, self.statistic.steps(graph), 2 * self.statistic.vertices, self.epsilon / 2)


class LadderLaw:
    """The distribution of a count of one graph by the ladder. SENSITIVE: it tells of the graph, and is not released.

    Parameters
    ----------
    value
        The exact count. Where it is no integer, rung 0 is empty, and the others are around it all the same.
    widths
        From k to A(G, k), which does not decrease, and is the same from `last` on.
    last
        See `widths`.
    rate
        By how much the logarithm of the weight falls at each rung: ε/2.
    """

    __slots__ = ("_base", "_ends", "_largest", "_widths", "rate", "value")

    def __init__(self, value: Fraction, widths: Callable[[int], int], last: int, rate: Fraction) -> None:
        self.value, self.rate = value, rate
        self._widths, self._largest = widths, widths(last)
        self._ends = [0]
        self._base: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None

    def before(self, rung: int) -> int:
        """How many integers on one side are on rungs from 1 to `rung` − 1: the sum of as many widths."""
        apart = self._extended(rung - 1)
        return self._ends[apart] + (rung - 1 - apart) * self._largest

    def width(self, rung: int) -> int:
        """How many integers on one side are on a rung, from 1 on: A(G, rung − 1)."""
        apart = self._extended(rung)
        return self._ends[rung] - self._ends[rung - 1] if apart == rung else self._largest

    def tails(self, bits: int) -> list[tuple[int, int]]:
        """Bounds, low and high, of 2**bits · P(rung ≥ k) for k = 1, 2, …; neither ever rises.

        The last one is of all rungs that are not told apart: those of the largest width, or else some of which no more
        than about one in 2**bits is drawn, with 0 as the lower bound.
        """
        apart = self._extended(self._reach(bits))
        width = bits + _GUARD + 2 * (self._largest.bit_length() + apart.bit_length())
        one = 1 << width
        fall = exp_bounds(self.rate, width)
        low, high = one, one
        weights = [(one, one) if self.value.denominator == 1 else (0, 0)]
        for k in range(apart):
            low, high = _product((low, high), fall, width)
            both = 2 * (self._ends[k + 1] - self._ends[k])
            weights.append((both * low, both * high))
        low, high = _product((low, high), fall, width)
        both = 2 * self._largest
        weights.append(
            (
                (both * low << width) // (one - fall[0]) if self._levelled(apart) else 0,
                -(-(both * high << width) // (one - fall[1])),
            )
        )
        bounds: list[tuple[int, int]] = []
        total = (sum(least for least, _ in weights), sum(most for _, most in weights))
        low = high = 0
        for least, most in reversed(weights[1:]):
            low, high = low + least, high + most
            bounds.append(((low << bits) // total[1], min(-(-(high << bits) // max(total[0], 1)), 1 << bits)))
        return bounds[::-1]

    def draw(self, size: int) -> list[int]:
        """`size` independent integers, exactly from this distribution. Source: ``proofs/ladder.md``, Sampling."""
        draws = fresh_draws()
        return [self._integer(rung, draws) for rung in self._rungs(size, draws)]

    @property
    def mean_error(self) -> float:
        """The mean distance from the exact count, in float precision. SENSITIVE."""
        return self._moment(1)

    @property
    def root_mean_square_error(self) -> float:
        """The root of the mean square of the distance from the exact count, in float precision. SENSITIVE."""
        return math.sqrt(self._moment(2))

    def _levelled(self, rungs: int) -> bool:
        """Whether all that come after so many rungs have the largest width."""
        return not self._largest or (rungs > 0 and self._ends[rungs] - self._ends[rungs - 1] == self._largest)

    def _extended(self, rungs: int) -> int:
        """How many of so many first rungs are worked out: all, or those up to the first of the largest width."""
        while len(self._ends) <= rungs and not self._levelled(len(self._ends) - 1):
            self._ends.append(self._ends[-1] + self._widths(len(self._ends) - 1))
        return min(rungs, len(self._ends) - 1)

    def _reach(self, bits: int) -> int:
        """So many rungs that those after them have less than about 2**−bits of the weight of rung 0."""
        more = max(0, -math.floor(math.log2(self.rate)))
        return math.ceil((bits + 1 + self._largest.bit_length() + more) * math.log(2) / float(self.rate))

    def _rungs(self, size: int, draws: Draws) -> list[int]:
        if self._base is None:
            bounds = np.array(self.tails(_WORD), np.int64).reshape(-1, 2)[::-1]
            self._base = bounds[:, 0].copy(), bounds[:, 1].copy()
        digits = draws.below(1 << _WORD, size)
        least, most = (len(ends) - np.searchsorted(ends, digits, side="right") for ends in self._base)
        last = len(self._base[0])
        return [
            low + (self._later() if low == last else 0) if low == high else self._settled(digit, draws)
            for low, high, digit in zip(least.tolist(), most.tolist(), digits.tolist(), strict=True)
        ]

    def _settled(self, digits: int, draws: Draws) -> int:
        """The rung of a uniform number, by as many more of its digits as it takes."""
        bits = _WORD
        while True:
            bits += _WORD
            digits = (digits << _WORD) | int(draws.below(1 << _WORD, 1)[0])
            bounds = self.tails(bits)
            rung = sum(digits < low for low, _ in bounds)
            if rung == sum(digits < high for _, high in bounds):
                return rung + (self._later() if rung == len(bounds) else 0)

    def _later(self) -> int:
        """How many rungs past the first one, where all have the same width: k with weight exp(−rate k)."""
        while True:
            steps = discrete_laplace(1 / self.rate, 4)
            if (steps >= 0).any():
                return int(steps[steps >= 0][0])

    def _integer(self, rung: int, draws: Draws) -> int:
        """One of the integers on a rung."""
        if rung == 0:
            return int(self.value)
        place, side = divmod(_below(2 * self.width(rung), draws), 2)
        distance = self.before(rung) + 1 + place
        return math.floor(self.value) + distance if side else math.ceil(self.value) - distance

    def _moment(self, power: int) -> float:
        """The mean of |x − value|**power, for 1 and 2: the rungs that are told apart, and then those of one width."""
        apart = self._extended(self._reach(_DIGITS + power * self._largest.bit_length()))
        rate, largest = float(self.rate), float(self._largest)
        part = float(self.value % 1)  # how far the integers on the right are nearer, and those on the left by the rest
        nearer, spread = (0.5, (part - 0.5) ** 2) if part else (0.0, 0.0)
        ends = np.array([float(end) for end in self._ends[: apart + 1]])
        widths = np.diff(ends)
        middles = ends[:-1] + (widths + 1) / 2 - nearer
        weights = 2 * widths * np.exp(-rate * np.arange(1, apart + 1))
        total = weights.sum() + (part == 0)
        squares = middles**2 + (widths**2 - 1) / 12 + spread
        moment = (weights * (middles if power == 1 else squares)).sum()
        if self._levelled(apart):
            first, middle = 2 * largest * math.exp(-rate * (apart + 1)), ends[-1] + (largest + 1) / 2 - nearer
            fall, rest = math.exp(-rate), -math.expm1(-rate)
            sums = (1 / rest, fall / rest**2, fall * (1 + fall) / rest**3)  # Σ fall^j, Σ j fall^j, Σ j² fall^j
            total += first * sums[0]
            if power == 1:
                moment += first * (middle * sums[0] + largest * sums[1])
            else:
                own = middle**2 + (largest**2 - 1) / 12 + spread
                moment += first * (own * sums[0] + 2 * middle * largest * sums[1] + largest**2 * sums[2])
        return float(moment / total)


def _product(first: tuple[int, int], second: tuple[int, int], width: int) -> tuple[int, int]:
    return first[0] * second[0] >> width, -(-(first[1] * second[1]) >> width)


def _below(n: int, draws: Draws) -> int:
    """A uniform integer below n, of any size: words of digits, until they are below it."""
    if n <= 1 << _WORD:
        return int(draws.below(n, 1)[0])
    words = -(-n.bit_length() // _WORD)
    while True:
        drawn = 0
        for word in draws.below(1 << _WORD, words).tolist():
            drawn = (drawn << _WORD) | word
        drawn >>= words * _WORD - n.bit_length()
        if drawn < n:
            return drawn
