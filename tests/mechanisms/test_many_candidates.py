"""A hundred thousand candidates: nearly all are decided by floats that are known to be near enough.

An exact exponent, a fraction, is asked for about twice in 2³⁰ decisions. In three million of them, more than any case
here takes but for one time in 10¹², that is 0.006 times, and more than three times with probability 5e-11.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from discreet.mechanisms import Exponential, PermuteAndFlip, TopK
from discreet.mechanisms.selection import _exponential, _permute_and_flip
from discreet.mechanisms.selection._candidates import exponents_of

MANY = 100_000
UTILITIES = {
    "in steps of 1e-4": np.arange(MANY) * 1e-4,
    "in steps of 1": np.arange(MANY),
    "one above all": np.append(np.zeros(MANY - 1), 1e9),
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The candidates whose exact exponent is asked for."""
    numbers: list[int] = []

    def noted(*arguments: Any) -> tuple[np.ndarray, Callable[[int], Any]]:
        floats, exact = exponents_of(*arguments)
        return floats, lambda i: numbers.append(i) or exact(i)

    for module in (_exponential, _permute_and_flip):
        monkeypatch.setattr(module, "exponents_of", noted)
    return numbers


@pytest.mark.parametrize("utilities", UTILITIES.values(), ids=UTILITIES)
@pytest.mark.parametrize("mechanism", [Exponential(1, 1), PermuteAndFlip(1, 1)], ids=["exponential", "permute"])
def test_one_of_a_hundred_thousand_candidates(mechanism: Any, utilities: np.ndarray, asked: list[int]) -> None:
    picked = mechanism.release(utilities)
    assert utilities[-1] - utilities[picked] <= mechanism.error(1 - 1e-12, candidates=MANY)
    assert len(asked) <= 3


def test_ten_of_a_hundred_thousand_candidates(asked: list[int]) -> None:
    utilities = UTILITIES["in steps of 1e-4"]
    picked = TopK(10, 1, 1).release(utilities)
    assert len(set(picked)) == 10
    assert utilities[-10] - utilities[picked].min() <= TopK(10, 1, 1).error(1 - 1e-12, candidates=MANY)
    assert len(asked) <= 3
