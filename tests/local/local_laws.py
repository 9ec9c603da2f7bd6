"""The exact law of a client's reports: the code that perturbs, run once for every way in which its draws can fall."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.local import Reports, Scheme


class Branch:
    """Stands for `Draws`. Follows a given path of outcomes, then takes the first outcome of each further draw."""

    def __init__(self, path: list[int]) -> None:
        self.path, self.at, self.weight = path, 0, Fraction(1)
        self.options: list[int] = []

    def _one_of(self, weights: list[Fraction]) -> int:
        if self.at == len(self.path):
            self.path.append(0)
        taken = self.path[self.at]
        self.options[self.at :] = [len(weights)]
        self.at += 1
        self.weight *= weights[taken]
        return taken

    def coins(self, p: Fraction, size: int) -> np.ndarray:
        assert 0 <= p <= 1
        return np.array([self._one_of([1 - p, p]) for _ in range(size)], dtype=np.bool_)

    def steps(self, thresholds: np.ndarray) -> np.ndarray:
        ways = [Fraction(int(threshold), 2**32) for threshold in thresholds]
        return np.array([self._one_of([1 - p, p]) for p in ways], dtype=np.bool_)

    def below(self, n: int, size: int) -> np.ndarray:
        return np.array([self._one_of([Fraction(1, n)] * n) for _ in range(size)], dtype=np.int64)

    def packed_coins(self, p: Fraction, rows: int, bits: int) -> np.ndarray:
        return np.packbits(self.coins(p, rows * bits).reshape(rows, bits), axis=1, bitorder="little")

    def packed_subsets(self, n: int, size: int, rows: int) -> np.ndarray:
        every = list(itertools.combinations(range(n), size))
        drawn = np.zeros((rows, n), dtype=np.bool_)
        for row in drawn:
            row[list(every[self._one_of([Fraction(1, len(every))] * len(every))])] = True
        return np.packbits(drawn, axis=1, bitorder="little")


def law(scheme: Scheme[Any], value: Any) -> dict[bytes, Fraction]:
    """The probability of each report of this value, exactly."""
    prepared = scheme.prepare(value)
    found: dict[bytes, Fraction] = defaultdict(Fraction)
    path: list[int] = []
    while True:
        branch = Branch(path)
        report = scheme.perturb(prepared, branch).tobytes()  # pyright: ignore[reportArgumentType]
        found[report] += branch.weight
        del path[branch.at :]
        while path and path[-1] + 1 == branch.options[len(path) - 1]:
            path.pop()
        if not path:
            break
        path[-1] += 1
    assert sum(found.values()) == 1
    return {report: weight for report, weight in found.items() if weight}


def odds_of(scheme: Scheme[Any], values: list[Any]) -> Fraction:
    """The largest ratio of a report's probabilities under two values; each report must be possible under all."""
    laws = [law(scheme, value) for value in values]
    assert len({frozenset(each) for each in laws}) == 1
    return max(one[report] / two[report] for one, two in itertools.permutations(laws, 2) for report in one)


def assert_exact(odds: Fraction, epsilon: Fraction, slack: Fraction = Fraction(1, 10**12)) -> None:
    """ε − 1e-12 ≤ ln(odds) ≤ ε, in 60 digits."""
    import mpmath

    with mpmath.workdps(60):
        exact = mpmath.log(mpmath.mpf(odds.numerator) / odds.denominator)
        claim = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        assert exact <= claim
        assert exact >= claim - mpmath.mpf(slack.numerator) / slack.denominator


def estimate_of(scheme: Scheme[Any], report: bytes) -> Any:
    """What a server makes of one report, which it accepts."""
    rows = np.frombuffer(report, dtype=np.uint8).reshape(1, -1)
    server = scheme.server().add(Reports(scheme.fingerprint, rows))
    assert server.rejected == 0
    return server.estimate()


def assert_numbers_by_key_are_unbiased(scheme: Any, people: list[dict[int, float]]) -> None:
    """The mean over all reports of these people, exactly: 3 keys with numbers from 1 to 4, and a padding of 2."""
    for held in people:
        mean, change = np.zeros(3), np.zeros(3)
        for report, weight in law(scheme, held).items():
            found = estimate_of(scheme, report)
            mean += float(weight) * found.frequencies
            change += float(weight) * 2 * found.moments.change
        there = np.array([float(key in held) for key in range(3)]) * 2 / max(len(held), 2)
        signs = np.array([(held.get(key, 2.5) - 2.5) / 1.5 for key in range(3)])
        assert np.abs(mean - there).max() <= 1e-9
        assert np.abs(change - there * signs).max() <= 1e-9


def estimates_of(scheme: Scheme[Any], rounds: int, values: np.ndarray) -> np.ndarray:
    """The estimates of `rounds` collections from the same people, one row each."""
    return np.array([scheme.server().add(scheme.simulate(values)).estimate().frequencies for _ in range(rounds)])


def chance_of_mean(squares: np.ndarray) -> float:
    """An upper bound on the chance that independent mean squares, of expectation 1, are on average as far from it.

    Their mean is that of a gamma law. Its spread is measured, which is too small where the mean is: Student's test
    would call it off a thousand times too often. So the spread is taken at the end of its interval at 1 - 1e-10.
    """
    from scipy import stats

    rounds = len(squares)
    spread = float(np.var(squares, ddof=1)) * (rounds - 1) / stats.chi2.ppf(1e-10, rounds - 1)
    mean = stats.gamma(rounds / spread, scale=spread / rounds)
    return 2 * min(mean.cdf(np.mean(squares)), mean.sf(np.mean(squares)))


def assert_mean_square(
    scheme: Any, values: np.ndarray, rounds: int, alarm: float = 1e-9, within: float = math.inf
) -> None:
    """The mean squared error over rounds and values is that of `scheme.variance`, by a test that errs with `alarm`.

    Squared errors of a round depend on each other, so each round's mean over the values is one observation. The mean
    is also `within` a share of theory.
    """
    shares = np.bincount(values, minlength=scheme.domain.size) / values.size
    theory = scheme.variance(shares) / values.size
    assert (theory > 0).all()
    errors = ((estimates_of(scheme, rounds, values) - shares) ** 2 / theory).mean(axis=1)
    assert chance_of_mean(errors) > alarm
    assert abs(errors.mean() - 1) < within
    assert errors.std(ddof=1) / math.sqrt(rounds) < 0.05  # else the test could not see an error of a third
