"""Last digits that tell inputs apart are proven to; those of noise on a public grid are not.

Every flag has a false alarm of 1e-10; what must be flagged is, but for a chance below 1e-12 each (see the events).
"""

from __future__ import annotations

import numpy as np
import pytest

import discreet as dp
from discreet.audit.black_box._claim import claim_of
from discreet.audit.probes._digits import HOLES, LOW_DIGITS, THE_GRID, digits, low_digits

RNG = np.random.default_rng()
SIZE = 8_000
ONE = claim_of(dp.pure(1), None)


def two_sided(scale: float, size: int = SIZE) -> np.ndarray:
    """Integers with probability falling by exp(−1/scale)."""
    p = -np.expm1(-1 / scale)
    return RNG.geometric(p, size) - RNG.geometric(p, size)


def column(first, second) -> list:
    return [("output", list(first), list(second))]


def test_numpys_laplace_noise_is_a_leak() -> None:
    off, grid = digits(column(*(x + RNG.laplace(size=SIZE) for x in (0.0, 1.0))), ONE)
    assert off.violated
    assert off.numbers["epsilon_lower"] > 3
    assert "public step" in off.sentence
    assert grid.warning


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_so_is_normal_noise(dtype) -> None:
    worlds = ((x + RNG.normal(size=SIZE)).astype(dtype) for x in (0.0, 1.0))
    off, grid = digits(column(*worlds), claim_of(dp.gaussian(1), None))
    assert grid.warning
    assert off.violated == (dtype is np.float64)  # as float32, both round the same


def test_laplace_noise_of_four_uniforms_is_a_leak() -> None:
    """As diffprivlib draws it: Holohan and Braghin 2021."""

    def noise() -> np.ndarray:
        u = RNG.random((4, SIZE))
        return np.log(1 - u[0]) * np.cos(np.pi * u[1]) + np.log(1 - u[2]) * np.cos(np.pi * u[3])

    off, _ = digits(column(0.0 - noise(), 1.0 - noise()), ONE)
    assert off.violated


@pytest.mark.sampled
@pytest.mark.parametrize(("n", "m"), [(64, 63), (100, 99), (1001, 1000)])
@pytest.mark.parametrize("scale", [1, 100])
def test_noise_divided_by_the_number_of_rows_is_a_leak(n: int, m: int, scale: float) -> None:
    off, _ = digits(column((two_sided(scale) + 7) / n, (two_sided(scale) + 7) / m), ONE)
    assert off.violated


@pytest.mark.sampled
@pytest.mark.parametrize("step", [1, 0.1, 2.0**-29, 1 / 3, 1e-9, 1e6])
@pytest.mark.parametrize("scale", [1.0, 100.0, 1e6])
def test_noise_on_a_public_grid_is_fine(step: float, scale: float) -> None:
    worlds = column(*((x + two_sided(scale)) * step for x in (0, 1)))
    claim = claim_of(dp.pure(1 / scale), None)
    found = digits(worlds, claim) + low_digits(worlds, claim)
    assert not any(each.violated or each.warning for each in found), found
    assert found[1].numbers["steps"]["output"]


def test_without_a_claim_nothing_is_flagged_and_much_is_told() -> None:
    off, _ = digits(column(*(x + RNG.laplace(size=SIZE) for x in (0.0, 1.0))), None)
    assert not off.violated
    assert off.warning
    assert "epsilon of at least" in off.sentence


def test_even_noise_is_a_leak() -> None:
    low, _ = low_digits(column(*((x + 2 * two_sided(50)).tolist() for x in (0, 1))), ONE)
    assert low.name == LOW_DIGITS
    assert low.violated
    assert low.numbers["epsilon_lower"] > 4


def test_remainders_by_ten_of_float_steps_are_seen() -> None:
    """Noise that is rounded to tens, on answers in tenths."""
    worlds = column(*(0.1 * (x + 10 * two_sided(50)) for x in (0, 1)))
    low, _ = low_digits(worlds, ONE)
    assert low.violated
    assert "the remainder of output by" in low.sentence


def test_a_hole_at_zero_noise_is_a_leak() -> None:
    """Each point near the centre has 5% or so; 0 has none around 0, and 1 around 1."""

    def without_zero() -> np.ndarray:
        noise = two_sided(8, 60_000)
        return noise[noise != 0][:40_000]

    _, holes = low_digits(column(without_zero().tolist(), (1 + without_zero()).tolist()), ONE)
    assert holes.name == HOLES
    assert holes.violated


def test_integers_of_any_size_and_fractions_are_read() -> None:
    noise = two_sided(10).tolist()
    off, grid = digits(column([10**400 + each for each in noise], [10**400 + 1 + each for each in noise]), ONE)
    assert not off.violated
    assert grid.numbers["steps"] == {"output": "1"}


@pytest.mark.parametrize(
    "values", [[None] * 100, [float("nan")] * 100, [0.0] * 100, ["a"] * 100, [float("inf"), 1.0] * 50], ids=range(5)
)
def test_odd_columns_pass(values: list) -> None:
    found = digits(column(values, values), ONE) + low_digits(column(values, values), ONE)
    assert not any(each.violated for each in found)


def test_nothing_to_see_is_said() -> None:
    assert [each.probed for each in digits([], ONE) + low_digits([], ONE)] == [False] * 4
    assert digits([], ONE)[1].name == THE_GRID
