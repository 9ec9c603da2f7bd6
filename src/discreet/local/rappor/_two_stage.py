"""RAPPOR's two stages for a row of bits: a permanent response that is drawn once, and one for each report from that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from discreet.errors import ParameterError
from discreet.local._exp_epsilon import epsilon_of, exp_epsilon
from discreet.local._reports import Bytes
from discreet.noise import Draws, exp_bounds
from discreet.rational import Number, decimal_text, rational

__all__ = ["TwoStage", "lifetime_of", "log_above", "policy_of", "stages_for", "two_stage"]


_BITS = 256
_GRID = 1 << 128


def log_above(ratio: Fraction) -> Fraction:
    """ln(odds) or more, for odds ≥ 1 below 2**900; above it by less than 1e-24.

    Near ln x there is a float y, and ln x = y + ln(x·e^−y) ≤ y + x·e^−y − 1. The bound holds for any y, and exceeds
    ln x by about the square of y's error.

    >>> from math import log
    >>> abs(log_above(Fraction(3)) - Fraction(log(3))) < Fraction(1, 10**15)
    True
    """
    if ratio == 1:
        return Fraction(0)
    near = Fraction(math.log1p(float(ratio - 1)))
    bits = _BITS + ratio.numerator.bit_length() - ratio.denominator.bit_length()
    high = Fraction(exp_bounds(near, bits)[1], 1 << bits)
    return Fraction(math.ceil((near + ratio * high - 1) * _GRID), _GRID)


_LEAST_F, _MOST_F = Fraction(1, 10**24), 1 - Fraction(1, 10**12)
_LEAST_GAP = Fraction(1, 10**12)
_PLACES = 10**40
_LOWERED = Fraction(1, 2**80)
_FIXED = 256


@dataclass(frozen=True, slots=True)
class TwoStage:
    """A bit b becomes a permanent b′ that differs from it with probability f/2; a report's bit is 1 with probability q
    where b′ is 1, and p where it is 0.

    Source: Erlingsson, Pihur and Korolova 2014, Section 2; ``proofs/rappor.md``.
    """

    p: Fraction
    q: Fraction
    f: Fraction

    @property
    def one(self) -> Fraction:
        """q*: the probability that a report's bit is 1, for a bit that is 1."""
        return self.f / 2 * (self.p + self.q) + (1 - self.f) * self.q

    @property
    def zero(self) -> Fraction:
        """p*: the probability that a report's bit is 1, for a bit that is 0."""
        return self.f / 2 * (self.p + self.q) + (1 - self.f) * self.p

    @property
    def plain(self) -> bool:
        """Whether reports are the permanent response itself, or its complement."""
        return {self.p, self.q} == {0, 1}

    def permanent(self, bits: Bytes, size: int, draws: Draws) -> Bytes:
        """The permanent response of rows of `size` packed bits."""
        return bits ^ draws.packed_coins(self.f / 2, len(bits), size)

    def report(self, responses: Bytes, size: int, draws: Draws) -> Bytes:
        """A report of each permanent response; p = 0 and q = 1 draw nothing."""
        if (self.p, self.q) == (0, 1):
            return responses
        if self.p + self.q == 1:
            return responses ^ draws.packed_coins(self.p, len(responses), size)
        ones = draws.packed_coins(self.q, len(responses), size)
        zeros = draws.packed_coins(self.p, len(responses), size)
        return (responses & ones) | (~responses & zeros)

    def epsilon(self, reports: int) -> Fraction:
        """What so many reports of one permanent response tell of two bits, one of each value, that the other has not.

        Rounded up by less than 1e-23. It is ln(g(A)·g(B)) for the likelihood ratios A and B of so many ones and zeros,
        with g(L) = ((1 − f/2)L + f/2) / ((f/2)L + 1 − f/2): ``proofs/rappor.md``, section 2.
        """
        low, high = sorted((self.p, self.q))
        ones = _power_up(high, low, reports)
        zeros = _power_up(1 - low, 1 - high, reports)
        return log_above(self._blurred(ones) * self._blurred(zeros))

    @property
    def permanent_epsilon(self) -> Fraction:
        """What any number of reports of one permanent response tell of such two bits: 2·ln((1 − f/2) / (f/2))."""
        return log_above(self._blurred(None) ** 2)

    def _blurred(self, ratio: Fraction | None) -> Fraction:
        half = self.f / 2
        if ratio is None:
            return (1 - half) / half
        return ((1 - half) * ratio + half) / (half * ratio + 1 - half)


def two_stage(p: Number, q: Number, f: Number) -> TwoStage:
    """The stages of these numbers. Raises `ParameterError` for an infinite loss or reports without information."""
    exact = TwoStage(rational(p, "p"), rational(q, "q"), rational(f, "f"))
    if not (0 <= exact.p <= 1 and 0 <= exact.q <= 1):
        raise ParameterError("p and q are probabilities, from 0 to 1: that a report has a 1 where 0 or 1 is kept")
    if abs(exact.p - exact.q) < _LEAST_GAP:
        raise ParameterError("p and q must differ, by 1e-12 or more: else a report tells nothing of what is kept")
    if not _LEAST_F <= exact.f <= _MOST_F:
        raise ParameterError(
            f"f must be from 1e-24 to 1 - 1e-12, got {decimal_text(exact.f)}: with f = 0 all the reports of a person "
            "together would reveal the value, and with f = 1 they tell nothing; from_epsilon finds f"
        )
    return exact


def stages_for(epsilon: Number, report_epsilon: Number | None, hashes: int) -> TwoStage:
    """Stages whose permanent loss is within ε and, where it is given, whose loss of one report is within that one.

    p = 1 − q, so that the losses determine the stages: from ε = 2h·ln((1 − f/2) / (f/2)) follows f, and from
    ε₁ = 2h·ln(q* / (1 − q*)) follows q. Each is rounded to 40 decimal places in the direction of more privacy. Without
    ε₁, p = 0 and q = 1. Raises `ParameterError` unless 1e-6 ≤ ε₁ < ε ≤ 100.
    """
    f = _up(2 / (_weight(epsilon_of(epsilon), hashes) + 1))
    if report_epsilon is None:
        return TwoStage(Fraction(0), Fraction(1), f)
    if not epsilon_of(report_epsilon) < epsilon_of(epsilon):
        raise ParameterError(
            "report_epsilon must be less than epsilon, which all reports of a value together are within; leave it out "
            "for reports that are the permanent response itself"
        )
    weight = _weight(epsilon_of(report_epsilon), hashes)
    p = _up((1 / (weight + 1) - f / 2) / (1 - f))
    return TwoStage(p, 1 - p, f)


def policy_of(policy: str, stages: TwoStage) -> Literal["once", "memoize"]:
    """The policy, or a `ParameterError`: two stages make sense only where the first is remembered."""
    if policy == "memoize":
        return policy
    if policy != "once":
        raise ParameterError(f"longitudinal must be 'once' or 'memoize', got {policy!r}")
    if not stages.plain:
        raise ParameterError(
            "longitudinal must be 'memoize', as the permanent response is kept for life; 'once' is for p = 0 and q = 1"
        )
    return policy


def lifetime_of(stages: TwoStage, reports: int, values: int) -> Fraction:
    """The exact ε, for two bits, of so many remembered reports of so many values; most where they are evenly split."""
    each, more = divmod(reports, values)
    total = (values - more) * stages.epsilon(each)
    return total + more * stages.epsilon(each + 1) if more else total


def _weight(epsilon: Fraction, hashes: int) -> Fraction:
    return exp_epsilon(epsilon / (2 * hashes) - _LOWERED)


def _up(value: Fraction) -> Fraction:
    return Fraction(-(-value.numerator * _PLACES // value.denominator), _PLACES)


@lru_cache(maxsize=256)
def _power_up(above: Fraction, below: Fraction, times: int) -> Fraction | None:
    """(above / below)**times or a bit more, for above ≥ below; `None` is infinity, also for what is past 2**256."""
    if below == 0:
        return None
    if times == 1:
        return above / below
    ratio = above / below
    base = -((-ratio.numerator << _FIXED) // ratio.denominator)
    power = 1 << _FIXED
    while times:
        if times & 1:
            power = -(-power * base >> _FIXED)
        base = -(-base * base >> _FIXED)
        times >>= 1
        if power >> 2 * _FIXED or (times and base >> 2 * _FIXED):
            return None
    return Fraction(power, 1 << _FIXED)
