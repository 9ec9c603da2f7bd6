"""The finite pairs that classical theorems are about."""

from __future__ import annotations

from fractions import Fraction
from math import exp, expm1

from discreet.privacy._pld._finite import FinitePair
from discreet.privacy._pld._pair import ROUNDING


def approximate_pair(epsilon: float, delta: float | Fraction = 0) -> FinitePair:
    """Return the pair that dominates every (epsilon, delta)-DP mechanism.

    Kairouz, Oh and Viswanath 2015, Section 3: with probability delta the answer gives the record away, otherwise it is
    randomized response with e^epsilon : 1.
    """
    likely, unlikely, rest = 1 / (1 + exp(-epsilon)), exp(-epsilon) / (1 + exp(-epsilon)), 1 - Fraction(delta)
    kept = float(rest)
    gone = float(delta)
    return FinitePair(
        (gone, kept * likely, kept * unlikely, 0),
        (0, kept * unlikely, kept * likely, gone),
        error=ROUNDING * (16 + 4 * epsilon),
    )


def response_pair(truth: float | Fraction, answers: int = 2) -> FinitePair:
    """Return k-ary randomized response that tells the truth with probability `truth` (Kairouz, Bonawitz, Ramage 2016).

    Neighbours are two different true answers; the other k - 2 answers have loss zero and count as one.
    """
    share = (1 - Fraction(truth)) / (answers - 1)
    rest = (share * (answers - 2),) if answers > 2 and share > 0 else ()
    return FinitePair((Fraction(truth), share, *rest), (share, Fraction(truth), *rest))


def bounded_range_pair(epsilon: float, top: float) -> FinitePair:
    """Return the two-point pair with losses `top` and `top - epsilon`, 0 <= top <= epsilon.

    The losses of a bounded-range mechanism on one pair of neighbours lie in an interval of length epsilon; the worst is
    two-point (Dong, Durfee and Rogers 2020, Lemma 4.2). Which `top` is worst depends on what is asked, so this is one
    member of a family. For composition that is not adaptive.
    """
    if epsilon == 0:
        return FinitePair((1.0,), (1.0,))
    above, below = expm1(top - epsilon) / expm1(-epsilon), exp(top - epsilon) * expm1(-top) / expm1(-epsilon)
    return FinitePair(
        (above, below), (above * exp(-top), below * exp(epsilon - top)), error=ROUNDING * (32 + 8 * epsilon)
    )
