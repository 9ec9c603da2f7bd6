"""Certified loss of one distribution against another, in integer arithmetic that rounds outward."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate

from discreet.audit.enumeration._distribution import BITS, ONE, Distribution, downward, upward
from discreet.noise import exp_bounds

__all__ = ["LARGEST_EPSILON", "Side", "grown"]

LARGEST_EPSILON = 700
"""Beyond it e^ε overflows a float; ends above it are infinite."""

_RATIO_BITS = 600
_FAINT = 1 << 64
_INFINITE = 1 << 4000
_LOG_SLACK = 1e-15


@dataclass(frozen=True, slots=True)
class _Prefixes:
    """Outcomes by falling ratio of P to Q, and the sums of both over the first 0, 1, 2, … of them."""

    keys: tuple[Hashable, ...]
    ratios: tuple[int, ...]
    first: tuple[int, ...]
    second: tuple[int, ...]

    @classmethod
    def from_rows(cls, rows: list[tuple[Hashable, int, int]]) -> _Prefixes:
        ranked = sorted(((_ratio(p, q), key, p, q) for key, p, q in rows), key=lambda row: -row[0])
        return cls(
            tuple(key for _, key, _, _ in ranked),
            tuple(ratio for ratio, _, _, _ in ranked),
            tuple(accumulate((p for *_, p, _ in ranked), initial=0)),
            tuple(accumulate((q for *_, q in ranked), initial=0)),
        )

    def above(self, factor: int) -> int:
        """How many have a ratio of `factor` / 2**512 or more, up to 2**−600."""
        return bisect_left(self.ratios, -(factor << (_RATIO_BITS - BITS)), key=lambda ratio: -ratio - 1)


class Side:
    """Certified bounds on the loss of P against Q, in this one direction.

    What is not enumerated of Q may lie on any outcome; it counts against the lower ends. In the upper ends it counts
    as nothing, and what is not enumerated of P counts in full. `doubtful` is the probability of that and of all
    outcomes of which Q may be 0 or not.
    Source: Dwork and Roth 2014, Definition 3.6 and Remark 3.1, for unions of the outcomes with the largest ratios.
    """

    def __init__(self, p: Distribution, q: Distribution) -> None:
        sure: list[tuple[Hashable, int, int]] = []
        possible: list[tuple[Hashable, int, int]] = []
        self._p_rest, self._q_rest, self._q, doubtful = p.cut, q.cut, q, p.cut
        for key, (low, high) in p.weights.items():
            least, most = q.weights.get(key, (0, 0))
            sure.append((key, low, most))
            faint = least < _FAINT
            possible.append((key, high, 0 if faint else least))
            doubtful += high if faint and most + q.cut else 0
        self._low, self._high = _Prefixes.from_rows(sure), _Prefixes.from_rows(possible)
        self.doubtful = min(1.0, upward(doubtful))

    def delta_low(self, epsilon: Fraction) -> float:
        """A δ that is reached at this ε: max over S of P(S) − e^ε Q(S), rounded down."""
        factor = grown(epsilon)[1]
        at = self._low.above(factor)
        return max(0.0, downward(self._low.first[at] + (-factor * (self._low.second[at] + self._q_rest) >> BITS)))

    def delta_high(self, epsilon: Fraction) -> float:
        """A δ that holds at this ε, rounded up."""
        factor = grown(epsilon)[0]
        at = self._high.above(factor)
        excess = max(0, self._high.first[at] - (factor * self._high.second[at] >> BITS))
        return min(1.0, upward(excess + self._p_rest))

    def epsilon_low(self, delta: Fraction) -> tuple[float, int]:
        """An ε that is passed at this δ, 0 or more, and how many outcomes of largest ratio show it."""
        return self._largest(self._low, -(-delta.numerator * ONE // delta.denominator), self._q_rest, -_LOG_SLACK)

    def epsilon_high(self, delta: Fraction) -> float:
        """An ε that holds at this δ."""
        free = delta.numerator * ONE // delta.denominator - self._p_rest
        return math.inf if free < 0 else self._largest(self._high, free, 0, _LOG_SLACK)[0]

    def event(self, size: int) -> tuple[tuple[Hashable, ...], float, float]:
        """The outcomes of largest ratio; P of them, rounded down; Q of them, rounded up."""
        second = self._low.second[size] + self._q_rest
        return self._low.keys[:size], downward(self._low.first[size]), min(1.0, upward(second))

    def renyi_low(self, order: float) -> float:
        """A Rényi divergence of P from Q that is reached, for an order above 1: Mironov 2017, Definition 3."""
        exponents: list[float] = []
        for place, key in enumerate(self._low.keys):
            low = self._low.first[place + 1] - self._low.first[place]
            most = self._q.weights.get(key, (0, 0))[1] + self._q_rest
            if low > 0:
                if most == 0:
                    return math.inf
                exponents.append(order * _log(low) - (order - 1) * _log(most))
        top = max(exponents, default=0.0)
        total = top + math.log(math.fsum(math.exp(each - top) for each in exponents)) if exponents else 0.0
        slack = 1e-12 * order * (1 + max(map(abs, exponents), default=0.0))
        return max(0.0, (total - slack) / (order - 1))

    def epsilons(self, most: int) -> list[float]:
        """Logarithms of the ratios that outcomes have, 0 or more, spread over them."""
        finite = [ratio for ratio in self._low.ratios if 1 << _RATIO_BITS < ratio < _INFINITE]
        spread = finite[:: max(1, len(finite) // most)]
        return [_log(ratio) - (_RATIO_BITS - BITS) * math.log(2) for ratio in spread]

    def _largest(self, prefixes: _Prefixes, free: int, rest: int, slack: float) -> tuple[float, int]:
        """The largest ln((P(S) − δ) / (Q(S) + rest)) over the prefixes S, and the one that has it."""
        best, size, top, bottom = 0.0, 0, 1, 1
        for place in range(1, len(prefixes.first)):
            over, under = prefixes.first[place] - free, prefixes.second[place] + rest
            if over > 0 and over * bottom > top * under:
                if under == 0:
                    return math.inf, place
                top, bottom, size = over, under, place
        if size:
            exact = math.log(top / bottom)
            best = max(0.0, exact + slack * (1 + exact))
        return (math.inf if best > LARGEST_EPSILON and slack > 0 else best), size


def _log(weight: int) -> float:
    return math.log(weight) - BITS * math.log(2)


def _ratio(p: int, q: int) -> int:
    return (p << _RATIO_BITS) // q if q else _INFINITE if p else 0


@lru_cache(maxsize=1024)
def grown(epsilon: Fraction) -> tuple[int, int]:
    """Bounds on 2**512 · e^ε, for an ε of 0 or more."""
    width = BITS + 64 + 2 * math.ceil(epsilon)
    low, high = exp_bounds(epsilon, width)
    return (1 << (width + BITS)) // high, -(-(1 << (width + BITS)) // low)
