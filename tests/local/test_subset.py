"""Subset selection: exact laws, the choice of w, sets that are none, and the published error."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np
import pytest
from local_laws import assert_exact, assert_mean_square, law, odds_of

from discreet import local
from discreet.errors import ParameterError
from discreet.local._exp_epsilon import exp_epsilon


def zipf(people: int, size: int) -> np.ndarray:
    weights = np.cumsum(1 / np.arange(1, size + 1))
    return np.searchsorted(weights / weights[-1], (np.arange(people) + 0.5) / people)


def packed(size: int, *sets: tuple[int, ...]) -> np.ndarray:
    bits = np.zeros((len(sets), size), dtype=np.uint8)
    for row, members in zip(bits, sets, strict=True):
        row[list(members)] = 1
    return np.packbits(bits, axis=1, bitorder="little")


@pytest.mark.parametrize("epsilon", ["1e-6", "1", "3"])
@pytest.mark.parametrize("size", [2, 3, 7, 8, 9])
def test_every_set_of_w_has_its_probability(size, epsilon) -> None:
    """Those with the sender's value share p evenly, the others the rest; nothing else is reported."""
    scheme = local.SubsetSelection(domain=size, epsilon=epsilon)
    w, (p, _) = scheme.members, scheme.support_probabilities
    for value in range(size):
        expected = {
            packed(size, held).tobytes(): (p / comb(size - 1, w - 1) if value in held else (1 - p) / comb(size - 1, w))
            for held in combinations(range(size), w)
        }
        assert law(scheme, value) == expected
    assert_exact(odds_of(scheme, list(range(size))), Fraction(epsilon))


@pytest.mark.parametrize("epsilon", ["1e-6", "0.5", "2", "5", "20", "100"])
@pytest.mark.parametrize("size", [2, 40, 10_000, 2**24])
def test_the_exact_epsilon_of_any_domain(size, epsilon) -> None:
    """A set with the sender's value against one without: C(d − 1, w) / C(d − 1, w − 1) = (d − w) / w."""
    scheme = local.SubsetSelection(domain=size, epsilon=epsilon)
    w, (p, q) = scheme.members, scheme.support_probabilities
    assert_exact(p / (1 - p) * Fraction(size - w, w), Fraction(epsilon))
    others = p * (w - 1) + (1 - p) * w
    assert q == others / (size - 1)


@pytest.mark.parametrize("epsilon", ["1e-6", "0.3", "1", "2.5", "4", "20"])
def test_no_other_w_has_a_lower_variance(epsilon) -> None:
    weight = exp_epsilon(Fraction(epsilon))
    for size in [*range(2, 40), 200]:
        scheme = local.SubsetSelection(domain=size, epsilon=epsilon)

        def variance(w: int, size: int = size) -> Fraction:
            p = w * weight / (w * weight + size - w)
            q = (p * (w - 1) + (1 - p) * w) / (size - 1)
            return q * (1 - q) / (p - q) ** 2

        assert variance(scheme.members) == min(map(variance, range(1, size)))


def test_with_one_member_it_is_k_ary_randomized_response() -> None:
    one = local.SubsetSelection(domain=10, epsilon=4)
    other = local.KaryRandomizedResponse(domain=10, epsilon=4)
    assert (one.members, one.support_probabilities) == (1, other.support_probabilities)


@pytest.mark.parametrize("size", [2, 8, 9, 1000, 10_000])
def test_all_reports_have_w_ones_and_are_counted(size) -> None:
    scheme = local.SubsetSelection(domain=size, epsilon=1)
    reports = scheme.simulate(np.arange(3000) % size)
    assert (np.bitwise_count(reports.rows).sum(axis=1) == scheme.members).all()
    server = scheme.server().add(reports)
    assert (server.reports, server.rejected) == (3000, 0)
    assert server.counts.sum() == 3000 * scheme.members


def test_sets_of_another_size_are_rejected() -> None:
    """A report of all values would support all of them at once."""
    scheme = local.SubsetSelection(domain=20, epsilon=1)
    w = scheme.members
    assert w == 5
    rows = packed(20, range(5), range(15, 20), range(4), range(6), (), range(20), (0, 4, 8, 12, 19))
    server = scheme.server().add(local.Reports(scheme.fingerprint, rows))
    assert (server.reports, server.rejected) == (3, 4)
    beyond = packed(24, (0, 1, 2, 3, 20))  # five ones, of which one is no value
    assert scheme.server().add(local.Reports(scheme.fingerprint, beyond)).rejected == 1


def test_the_published_error() -> None:
    """Mean squared error of counts of 1000 people over 22,000 values at ε = 5: 27.31 in Feldman et al. 2022.

    The run fails by chance with probability 1e-9.
    """
    values = zipf(1000, 22_000)
    shares = np.bincount(values, minlength=22_000) / 1000
    scheme = local.SubsetSelection(domain=22_000, epsilon=5)
    assert 1000 * scheme.variance(shares).mean() == pytest.approx(27.31, rel=5e-3)
    assert_mean_square(scheme, values, rounds=6)


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
def test_mean_squared_errors_are_those_of_theory(epsilon) -> None:
    """Fails by chance with probability 1e-9."""
    assert_mean_square(local.SubsetSelection(domain=300, epsilon=epsilon), zipf(3000, 300), rounds=60)


@pytest.mark.soak
@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
def test_mean_squared_errors_are_within_a_twentieth_at_full_size(epsilon) -> None:
    """100,000 estimates in 10 rounds; off by 5 % by chance with probability far below 1e-9."""
    scheme = local.SubsetSelection(domain=10_000, epsilon=epsilon)
    values = zipf(10_000, 10_000)
    shares = np.bincount(values, minlength=10_000) / values.size
    found = [scheme.server().add(scheme.simulate(values)).estimate().frequencies for _ in range(10)]
    errors = ((np.array(found) - shares) ** 2).mean()
    assert errors == pytest.approx(scheme.variance(shares).mean() / values.size, rel=0.05)


def test_reports_stay_as_they_are() -> None:
    """What clients have sent must be sent again: these bytes are part of the format."""
    scheme = local.SubsetSelection(domain=20, epsilon=1, longitudinal="memoize")
    client = scheme.client(secret=bytes(range(32)))
    assert client.encode([0, 7, 19]).rows.tolist() == [[65, 224, 0], [36, 134, 0], [1, 196, 8]]


@pytest.mark.parametrize(("domain", "epsilon"), [(1, 1), (2**24 + 1, 1), (10, 0), (10, 101), (10, None), (["a"], 1)])
def test_schemes_that_cannot_be_are_refused(domain, epsilon) -> None:
    with pytest.raises(ParameterError):
        local.SubsetSelection(domain=domain, epsilon=epsilon)
