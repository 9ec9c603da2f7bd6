"""The ε of every client, exactly: the code that perturbs is run for every way its draws can fall."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from local_laws import assert_exact, law, odds_of
from local_schemes import ALL, SMALL

from discreet.local import Reports

EPSILONS = ("1e-6", "0.5", "1", "2", "5", "20")


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", ALL)
def test_the_exact_epsilon_is_the_claim(name, epsilon) -> None:
    scheme = ALL[name](epsilon)
    odds = odds_of(scheme, list(range(scheme.domain.size)))
    assert_exact(odds, Fraction(epsilon))
    assert_exact(odds, Fraction(scheme.loss.epsilon()))


@pytest.mark.parametrize("name", SMALL)
def test_estimates_are_unbiased_exactly(name) -> None:
    """The mean over all reports of what one report adds to the estimate of each value: 1 for its own, 0 for others."""
    scheme = SMALL[name]("1")
    for value in range(scheme.domain.size):
        mean = [0.0] * scheme.domain.size
        for report, weight in law(scheme, value).items():
            server = scheme.server().add(one_report(scheme, report))
            for place, found in enumerate(server.estimate().frequencies):
                mean[place] += float(weight) * found
        assert mean == pytest.approx([float(place == value) for place in range(scheme.domain.size)], abs=1e-9)


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
@pytest.mark.parametrize("name", SMALL)
def test_variances_are_those_of_the_law(name, epsilon) -> None:
    """n times the variance of an estimate is the mean over people of the variance of what their report adds."""
    scheme = SMALL[name](epsilon)
    size = scheme.domain.size
    shares = [(place + 1) * 2 / (size * (size + 1)) for place in range(size)]
    total = [0.0] * size
    for value in range(size):
        for report, weight in law(scheme, value).items():
            found = scheme.server().add(one_report(scheme, report)).estimate().frequencies
            for place in range(size):
                total[place] += shares[value] * float(weight) * (found[place] - (place == value)) ** 2
    assert scheme.variance(shares) == pytest.approx(total, rel=1e-9)


def one_report(scheme, report: bytes) -> Reports:
    return Reports(scheme.fingerprint, np.frombuffer(report, dtype=np.uint8).reshape(1, -1))
