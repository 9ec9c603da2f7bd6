"""Mean squared errors at full size. Each test fails by chance with probability 1e-9."""

from __future__ import annotations

import numpy as np
import pytest
from local_laws import assert_mean_square

from discreet import local


def zipf(people: int, size: int) -> np.ndarray:
    """Values in which each of the most frequent tenth is there at least once, and many are missing."""
    weights = 1 / np.arange(1, size + 1)
    return np.repeat(np.arange(size), np.floor(people * weights / weights.sum()).astype(int))


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
@pytest.mark.parametrize(
    "protocol", [local.KaryRandomizedResponse, local.SymmetricUnary, local.OptimizedUnary, local.HadamardResponse]
)
def test_mean_squared_errors_are_those_of_theory(protocol, epsilon) -> None:
    assert_mean_square(protocol(domain=300, epsilon=epsilon), zipf(3000, 300), rounds=80)


# Wang, Blocki, Li and Jha 2017: n times the variance of a value that nobody has.
@pytest.mark.parametrize(
    ("protocol", "size", "expected"),
    [
        (local.KaryRandomizedResponse, 100, (34.11, 2.582, 0.053)),
        (local.KaryRandomizedResponse, 10_000, (3387, 245.1, 3.499)),
        (local.SymmetricUnary, 100, (3.918, 0.921, 0.181)),
        (local.OptimizedUnary, 100, (3.683, 0.724, 0.076)),
    ],
)
def test_published_variances(protocol, size, expected) -> None:
    for epsilon, variance in zip((1, 2, 4), expected, strict=True):
        assert protocol(domain=size, epsilon=epsilon).variance(np.zeros(size))[0] == pytest.approx(variance, rel=7e-3)
