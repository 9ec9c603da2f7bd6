"""Real numbers on a grid: how far whole steps move, by brute force over neighbours, and what is released."""

from __future__ import annotations

import math
import sys
from decimal import Decimal
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Exponential, Gaussian, OnGrid, RandomizedResponse
from discreet.mechanisms.additive._on_grid import Grid
from discreet.privacy import PureLoss, approx, mu, pure, rho
from discreet.sensitivity import Norms

QUIET = DiscreteLaplace("0.001")
NO_NUMBERS = [math.nan, math.inf, -math.inf, Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity"), np.float32("nan"),
              "1", b"1", None, True, np.bool_(True), 1j, [1.0], np.datetime64(1, "s")]  # fmt: skip


def reals(fine: int, reach: int) -> list[Fraction]:
    return [Fraction(j, fine) for j in range(-reach * fine, reach * fine + 1)]


@pytest.mark.parametrize("step", ["1", "3/4", "0.4"])
@pytest.mark.parametrize("bounds", [None, (-1, "1.25"), ("0.1", "1.3")], ids=str)
def test_one_number_moves_as_far_as_claimed_and_no_further(step, bounds) -> None:
    grid, values = Grid.from_numbers(step, bounds, 1), reals(40, 2)
    at = {value: grid.steps([value])[0] for value in values}
    for moved in ("1/40", "0.3", "0.4", "3/4", "1", "1.1", "2"):
        steps = round(Fraction(moved) * 40)
        pairs = ((values[i], other) for i in range(len(values)) for other in values[i : i + steps + 1])
        assert max(at[b] - at[a] for a, b in pairs) == grid.move(moved)


def test_halves_to_even_numbers_would_move_further() -> None:
    assert round(1.5) - round(0.5) == 2
    assert np.subtract(*Grid.from_numbers(1, None, 2).steps([1.5, 0.5])) == 1 == Grid.from_numbers(1, None, 1).move(1)


@pytest.mark.parametrize(("entries", "fine"), [(2, 8), (3, 4)])
@pytest.mark.parametrize("bounds", [None, (-1, 0)], ids=str)
def test_several_numbers_move_no_further_than_claimed(entries, fine, bounds) -> None:
    """Every move of every point; the L1 claim is attained where moves come in enough sizes."""
    grid, sizes = Grid.from_numbers(1, bounds, entries), reals(fine, 2)
    single = Grid.from_numbers(1, bounds, 1)
    jumps: dict[Fraction, int] = {}
    for move in sizes:
        far = (single.steps([a + move])[0] - single.steps([a])[0] for a in sizes)
        jumps[move] = max(map(abs, far))
    for l1, l2 in [("1/8", None), ("1/2", None), (1, None), ("7/4", None), (None, 1), ("1.4", 1), (2, "1.5")]:
        claim = grid.move((l1, l2))
        assert isinstance(claim, Norms)
        reached = Norms(0, 0)
        for move in product(sizes, repeat=entries):
            if l1 is not None and sum(map(abs, move)) > Fraction(l1):
                continue
            if l2 is not None and sum(x * x for x in move) > Fraction(l2) ** 2:
                continue
            far = [jumps[x] for x in move]
            reached = Norms(
                max(reached.l1, sum(far)),
                max(reached.l2_squared, sum(x * x for x in far)),
                max(reached.linf, *far),
            )
        assert reached.l1 <= claim.l1
        assert reached.l2_squared <= claim.l2_squared
        assert reached.linf <= claim.linf
        if l2 is None and Fraction(l1) >= Fraction(entries, fine):
            assert reached.l1 == claim.l1
            assert reached.linf == claim.linf


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-50, 50)), min_size=2, max_size=5),
    st.sampled_from([Fraction(1), Fraction(1, 10), Fraction(2) ** -20, Fraction(7, 3)]),
)
def test_moves_of_floats_are_within_the_claim(pairs, step) -> None:
    one, other = [Fraction(a) for a, _ in pairs], [Fraction(a) + Fraction(b) for a, b in pairs]
    grid = Grid.from_numbers(step, None, len(pairs))
    moves = [abs(a - b) for a, b in zip(one, other, strict=True)]
    far = [abs(a - b) for a, b in zip(grid.steps(one), grid.steps(other), strict=True)]
    l2 = Fraction(math.isqrt(math.ceil(sum(x * x for x in moves) * 10**12)) + 1, 10**6)
    for claim in (grid.move(sum(moves)), grid.move((None, l2)), grid.move((sum(moves), l2))):
        assert isinstance(claim, Norms)
        assert sum(far) <= claim.l1
        assert sum(x * x for x in far) <= claim.l2_squared
        assert max(far) <= claim.linf


def test_loss_is_the_worst_log_ratio_of_the_released_integers() -> None:
    """P(o)/Q(o) for noise exp(−|x|/3) around two whole numbers k, j is exp(|k − j|/3) at worst."""
    noisy = OnGrid(DiscreteLaplace(3), step="0.5", bounds=(-1, 1))
    grid = Grid.from_numbers("0.5", (-1, 1), 1)
    values = reals(20, 2)
    at = [grid.steps([value])[0] for value in values]
    for moved in (Fraction(1, 20), Fraction(1, 2), Fraction(3, 5), Fraction(4)):
        pairs = product(range(len(values)), repeat=2)
        worst = max(abs(at[i] - at[j]) for i, j in pairs if abs(values[i] - values[j]) <= moved)
        assert noisy.loss(moved) == PureLoss(Fraction(worst, 3))


def test_nothing_is_released_off_the_grid() -> None:
    noisy = OnGrid(DiscreteLaplace(100), step=2**-10, bounds=(-1, 1), entries=1000)
    for values in (np.full(1000, 0.1), [1 / 3] * 1000):
        steps = np.array(noisy.release(values)) * 2**10
        assert (steps == np.round(steps)).all()
        assert len(set(steps.tolist())) > 100
    tenths = OnGrid(DiscreteLaplace(5), step="0.1", entries=300).release([math.pi] * 300)
    assert set(tenths) <= {float(Fraction(n, 10)) for n in range(-1000, 1000)}


def test_exact_sums_do_not_depend_on_order() -> None:
    """Sums of floats do: 2**53 + 1 + … + 1 is 2**53 from the left."""
    data = [2**53, *[1] * 1000]
    released = OnGrid(QUIET, step=1).release
    for rows in (data, data[::-1], [*data[1:500], data[0], *data[500:]]):
        assert released(sum(rows)) == released(sum(map(Fraction, rows))) == 2**53 + 1000
    assert {released(sum(rows)) for rows in permutations([2**53, 1, 1, -(2**53)])} == {2.0}
    left = 0.0
    for each in map(float, data):
        left += each
    assert left == 2**53


def test_values_are_cut_to_the_bounds_and_so_are_their_moves() -> None:
    noisy = OnGrid(QUIET, step="0.25", bounds=(-1, 2))
    far = [1e300, -1e300, 10**500, Decimal("1e999999"), Decimal("-1e999999"), Fraction(-(10**400), 3), np.int64(5)]
    assert [noisy.release(each) for each in far] == [2, -1, 2, 2, -1, -1, 2]
    assert OnGrid(DiscreteLaplace(12), step="0.25", bounds=(-1, 2)).loss(10**9) == PureLoss(Fraction(1))
    many = Grid.from_numbers("0.25", (-1, 2), 3).move(100)
    assert many == Norms(36, 36 * 12, 12)
    assert Grid.from_numbers("0.4", (0, 1), 1).move(7) == 3  # the upper bound, 2.5 steps, is rounded up
    assert OnGrid(QUIET, step=1).release(10**400) == sys.float_info.max
    assert OnGrid(DiscreteLaplace(1), step=2**960).release(-(10**400)) >= -sys.float_info.max


def test_shapes_and_kinds_of_numbers() -> None:
    one = OnGrid(QUIET, step="0.5")
    for value in (1.3, Fraction(13, 10), Decimal("1.3"), np.float32(1.3), np.float16(1.3), np.longdouble(1.3)):
        assert one.release(value) == 1.5
        assert type(one.release(value)) is float
    assert one.release(Decimal("1e-999999")) == one.release(Decimal("0e999999")) == one.release(5e-324) == 0.0
    assert one.release(np.array(0.3)).shape == ()
    assert one.release([2**60 + 1]) == [float(2**60)]
    six = OnGrid(QUIET, step="0.5", entries=6)
    for dtype in (np.float16, np.float32, np.float64, np.longdouble, np.int8, np.uint64, object):
        array = six.release(np.arange(6).astype(dtype).reshape(2, 3))
        assert array.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert array.dtype == np.float64
    assert six.release((1, 2.25, Fraction(1, 4), 0, -0.25, -0.26)) == [1, 2.5, 0.5, 0, 0, -0.5]


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_what_is_no_finite_number_is_refused(value, monkeypatch) -> None:
    monkeypatch.setattr("discreet.mechanisms.additive._discrete_laplace.discrete_laplace", None)
    with pytest.raises(ParameterError, match="finite real numbers"):
        OnGrid(QUIET, step=1, entries=2).release([0.5, value])
    with pytest.raises(ParameterError, match="finite real numbers"):
        OnGrid(QUIET, step=1, entries=2).release(np.array([0.5, value, 0][:2], dtype=object))


@pytest.mark.parametrize("value", [[], [1], [1, 2, 3], np.zeros((0, 2)), np.zeros((2, 2)), 1.0])
def test_another_number_of_entries_is_refused(value) -> None:
    with pytest.raises(ParameterError, match="at once"):
        OnGrid(QUIET, step=1, entries=2).release(value)


@pytest.mark.parametrize("step", [0, -1, math.nan, math.inf, "x", True, 1e-305, Fraction(2) ** 1001], ids=str)
def test_bad_steps_are_refused(step) -> None:
    with pytest.raises(ParameterError, match="step"):
        OnGrid(QUIET, step=step)


@pytest.mark.parametrize(
    "bounds", [(1, 1), (1, 0), (0, 0.5), (0,), 3, "01", (0, math.inf), (math.nan, 1), (0, 10**400)], ids=str
)
def test_bad_bounds_are_refused(bounds) -> None:
    with pytest.raises(ParameterError, match="bounds"):
        OnGrid(QUIET, step=1, bounds=bounds)


@pytest.mark.parametrize("entries", [0, -1, 1.0, True, None], ids=str)
def test_bad_entries_are_refused(entries) -> None:
    with pytest.raises(ParameterError, match="entries"):
        OnGrid(QUIET, step=1, entries=entries)


@pytest.mark.parametrize("sensitivity", [-1, math.nan, "x", (None, None), (None, -1), (-1, 1), True], ids=str)
def test_bad_sensitivities_are_refused(sensitivity) -> None:
    for entries in (1, 3):
        with pytest.raises(ParameterError):
            OnGrid(QUIET, step=1, entries=entries).loss(sensitivity)


@pytest.mark.parametrize("entries", [1, 4])
@pytest.mark.parametrize("scale", ["1e-3", "1", "1e12"])
def test_calibration_is_within_the_spend_at_every_scale(entries, scale) -> None:
    moved = Fraction(scale)
    for kind, spend in [
        (DiscreteLaplace, pure("0.5")),
        (DiscreteGaussian, rho("0.1")),
        (DiscreteGaussian, approx(1, 1e-5)),
        (Gaussian, approx(1, 1e-5)),
        (Gaussian, mu("0.3")),
    ]:
        noisy = OnGrid.calibrate(spend, moved, kind=kind, step=moved / 2**20, bounds=(-moved, moved), entries=entries)
        assert noisy.loss(moved).fits(spend)
        plain = kind.calibrate(spend, 2**20)
        assert float(noisy.mechanism.std) == pytest.approx(plain.std, rel=1e-4 if entries == 1 else 0.09)
        assert noisy.std == pytest.approx(float(moved) * noisy.mechanism.std / 2**20)
        assert noisy.error("0.9") >= noisy.std
        values = np.asarray(noisy.release([0.0] * entries))
        assert (np.abs(values) <= noisy.error(1 - Fraction(1, 10**12))).all()
    assert noisy.loss(0) == PureLoss(Fraction(0))


def test_error_counts_the_rounding() -> None:
    assert OnGrid(QUIET, step="0.25").error(0.95) == 0.125
    assert Fraction(OnGrid(QUIET, step="0.1").error(0.95)) >= Fraction(1, 20)
    assert OnGrid(DiscreteLaplace(2**50), step=Fraction(2) ** 1000).error() == math.inf


@pytest.mark.parametrize(
    "mechanism", [RandomizedResponse("3/4"), Exponential(1, 1), 3], ids=["response", "choice", "none"]
)
def test_what_adds_no_noise_to_numbers_is_refused(mechanism) -> None:
    with pytest.raises(ParameterError, match="puts noise on numbers"):
        OnGrid(mechanism, step=1)
