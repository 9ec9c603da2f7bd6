"""The exact law of whole streams of estimates, from the nodes that each adds up; and a variant that is wrong."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import ParameterError
from discreet.mechanisms import TreeCounter
from discreet.mechanisms.streams._tree_counter import _best_arity, _digits, _most_nodes, _prefix_noise
from discreet.privacy import approx, fits, mu, pure, rho
from discreet.sensitivity import Norms

ALARM = 1e-12
SMALL = [(steps, arity) for steps in (1, 2, 3, 4) for arity in (2, 3, 4, 5)]


def noise_matrix(steps: int, arity: int) -> np.ndarray:
    """Row t − 1: how often each draw is in the estimate after t increments; only draws that are used by then."""
    many = 2 * steps + 2 * arity
    noise = _prefix_noise(arity, TreeCounter(steps, 1, arity).height, iter(np.eye(many, dtype=int)))
    rows = np.array([next(noise) for _ in range(steps)])
    return rows[:, np.flatnonzero(np.abs(rows).sum(axis=0))]


def nodes_of(step: int, arity: int) -> dict[tuple[int, int], int]:
    """The nodes of a prefix as (level, place), with signs: right of where the larger digits stand, or left."""
    at, found = 0, {}
    for level in reversed(range(len(digits := _digits(step, arity)))):
        at *= arity
        for place in range(abs(digits[level])):
            found[level, at + place if digits[level] > 0 else at - place - 1] = 1 if digits[level] > 0 else -1
        at += digits[level]
    return found


@pytest.mark.parametrize("arity", [2, 3, 4, 5, 6, 7])
def test_the_nodes_of_a_prefix_add_up_to_it_and_no_step_is_in_more_than_height(arity: int) -> None:
    for steps in (1, 2, 3, 7, 8, 13, 40, 150):
        counter = TreeCounter(steps, 1, arity)
        used: set[tuple[int, int]] = set()
        for step in range(1, steps + 1):
            nodes = nodes_of(step, arity)
            leaves = np.zeros(arity ** (counter.height + 1), dtype=int)
            for (level, place), sign in nodes.items():
                leaves[place * arity**level : (place + 1) * arity**level] += sign
            assert np.array_equal(leaves, np.arange(leaves.size) < step)
            assert counter.nodes(step) == len(nodes)
            used |= set(nodes)
        depth = np.zeros(arity ** (counter.height + 1), dtype=int)
        for level, place in used:
            depth[place * arity**level : (place + 1) * arity**level] += 1
        assert depth.max() == depth[0] == counter.height


@pytest.mark.parametrize("arity", [2, 3, 4, 5, 6, 7])
def test_each_estimate_has_the_noise_of_its_nodes(arity: int) -> None:
    """The same matrix of noise, up to the order in which it is drawn."""
    for steps in (1, 2, 3, 8, 40, 150):
        names: dict[tuple[int, int], int] = {}
        rows = np.zeros((steps, 3 * steps + 3 * arity), dtype=int)
        for step in range(1, steps + 1):
            for node, sign in nodes_of(step, arity).items():
                rows[step - 1, names.setdefault(node, len(names))] = sign
        columns = sorted(map(tuple, rows[:, : len(names)].T.tolist()))
        assert columns == sorted(map(tuple, noise_matrix(steps, arity).T.tolist()))


def worst_cost(matrix: np.ndarray, scale: Fraction) -> float:
    """The largest ln P(o | x)/P(o | x′) over outcomes o of estimates and neighbours with one increment moved by one.

    The law of o − A·x is that of M·z with z discrete Laplace, one draw after the other. Each is cut where it weighs
    e^−39 and outcomes count from 1e-9 of the likeliest on, so that what is cut is below 1e-7 of any that counts.
    """
    reach = int(39 * scale)
    size = 2 * reach + 3
    law = np.zeros((size,) * len(matrix))
    law[(size // 2,) * len(matrix)] = 1
    axes = tuple(range(len(matrix)))
    for column in matrix.T:
        law = sum(
            math.exp(-abs(z) / scale) * np.roll(law, (z * column).tolist(), axes) for z in range(-reach, reach + 1)
        )
    worst = 0.0
    for step in axes:
        moved = np.roll(law, -1, axes[step:])  # one more from this step on
        both = np.minimum(law, moved) > 1e-9 * law.max()
        worst = max(worst, float(np.abs(np.log(law[both] / moved[both])).max()))
    return worst


@pytest.mark.parametrize(("steps", "arity"), SMALL)
def test_stated_epsilon_on_all_outcomes(steps: int, arity: int) -> None:
    """Attained where as many draws as estimates are in use; else approached in the tail of what was drawn ahead."""
    scale, matrix = Fraction(1, 3), noise_matrix(steps, arity)
    claimed = float(TreeCounter(steps, scale, arity).loss(1).epsilon())
    worst = worst_cost(matrix, scale)
    if matrix.shape[1] == steps:
        assert worst == pytest.approx(claimed, rel=1e-6)
    else:
        assert claimed / 1.05 < worst <= claimed * (1 + 1e-6)


@pytest.mark.parametrize("arity", [2, 3, 5, 8])
def test_a_move_of_one_increment_is_undone_by_as_many_draws_as_the_height(arity: int) -> None:
    """The proof of ε, in numbers: M v = A eᵢ with ‖v‖₁ at most the height, where M has independent columns."""
    for steps in (7, 13, 40):
        matrix, height = noise_matrix(steps, arity), TreeCounter(steps, 1, arity).height
        if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
            continue
        found = []
        for step in range(steps):
            moved = (np.arange(steps) >= step).astype(float)
            undone, *_ = np.linalg.lstsq(matrix, moved, rcond=None)
            assert np.allclose(matrix @ undone, moved, atol=1e-9)
            found.append(np.abs(undone).sum())
        assert max(found) == pytest.approx(height)


def test_noise_that_ignores_the_height_is_caught() -> None:
    """At nominal ε = 3, Δ = 1, and noise of scale Δ/ε on each of three nodes."""
    assert worst_cost(noise_matrix(4, 2), Fraction(1, 3)) == pytest.approx(9, rel=1e-6)


def test_frequencies_of_an_estimate() -> None:
    """Fails by chance with probability 1e-12 (chi-square): T = 5, and the estimates of step 3, of two nodes."""
    counter, draws = TreeCounter(5, "1.5", arity=2), 6000
    seen = np.array([counter.release([4, -1, 7])[2] - 10 for _ in range(draws)])
    q = math.exp(-1 / 1.5)
    one = q ** np.abs(np.arange(-60, 61)) * (1 - q) / (1 + q)
    law = np.convolve(one, one)[120 - 5 : 120 + 6]
    law = np.array([*law, 1 - law.sum()])
    counts = np.array([*(np.sum(seen == x) for x in range(-5, 6)), np.sum(np.abs(seen) > 5)])
    assert stats.chisquare(counts, law * draws).pvalue > ALARM


def test_draws_come_from_the_stated_noise(monkeypatch) -> None:
    asked = []

    def scripted(scale, size):
        asked.append(scale)
        return np.arange(1, size + 1)

    monkeypatch.setitem(TreeCounter.start.__globals__, "discrete_laplace", scripted)
    counter = TreeCounter(9, "2.5", arity=3)
    together = counter.release(range(9))
    stream = counter.start()
    assert [stream.add(x) for x in range(9)] == together
    assert set(asked) == {Fraction(5, 2)}
    # 1 = +1; 2 = 3 − 1; 3; 4 = 3 + 1; 5 = 9 − 3 − 1; 6 = 9 − 3; 7 = 9 − 3 + 1; 8 = 9 − 1; 9
    noise = [t - s for t, s in zip(together, np.cumsum(range(9)).tolist(), strict=True)]
    assert noise == [1, 3 - 2, 3, 3 + 4, 7 - 6 - 5, 7 - 6, 7 - 6 + 8, 7 - 9, 7]


@given(st.integers(2, 9), st.integers(1, 400))
@settings(max_examples=60, deadline=None)
def test_digits(arity: int, number: int) -> None:
    digits = _digits(number, arity)
    assert sum(digit * arity**place for place, digit in enumerate(digits)) == number
    assert all(-((arity - 1) // 2) <= digit <= arity // 2 for digit in digits)
    assert digits[-1] > 0
    assert _most_nodes(number, arity) == max(sum(map(abs, _digits(t, arity))) for t in range(1, number + 1))


@pytest.mark.parametrize("steps", [*range(1, 40), 100, 365, 400])
def test_the_best_arity_is_the_best(steps: int) -> None:
    def cost(arity: int) -> int:
        return len(_digits(steps, arity)) ** 2 * _most_nodes(steps, arity)

    assert cost(_best_arity(steps)) == min(cost(arity) for arity in range(2, 2 * steps + 2))
    assert TreeCounter(steps, 1).arity == _best_arity(steps)


@pytest.mark.parametrize("arity", [2, 3, 16])
@pytest.mark.parametrize("scale", ["0.3", "2", "20"])
def test_error_and_std_follow_the_law(arity: int, scale: str) -> None:
    counter = TreeCounter(100, scale, arity)
    q, reach = math.exp(-1 / float(scale)), int(60 * float(scale)) + 30
    one = q ** np.abs(np.arange(-reach, reach + 1)) * (1 - q) / (1 + q)
    law, most = np.array([1.0]), max(counter.nodes(step) for step in range(1, 101))
    for _ in range(most):
        law = np.convolve(law, one)
    x = np.arange(law.size) - law.size // 2
    for level in (0.5, 0.95, 0.999999):
        k = counter.error(level)
        assert law[np.abs(x) > k].sum() <= (1 - level) * (1 + 1e-8)
        assert k == 0 or law[np.abs(x) > k - 1].sum() > (1 - level) * (1 - 1e-8)
    assert counter.std == max(counter.std_at(step) for step in range(1, 101))
    assert counter.std == pytest.approx(math.sqrt((law * x**2).sum()), rel=1e-9)


@pytest.mark.parametrize("scale", ["0.001", "1e12", str(2**56)])
def test_extreme_scales_and_steps(scale: str) -> None:
    for steps in (1, 10**6, 2**40):
        counter = TreeCounter(steps, scale)
        assert counter.error(0.5) <= counter.error(0.95) <= counter.error(1 - 1e-12)
        assert counter.error(0.95) <= 0.95 + 5 * counter.std_at(steps) + 5 * float(Fraction(scale)) * counter.nodes(
            steps
        )
        counter.start().add(2**70)
    assert TreeCounter(2, 2**56).loss(1).epsilon() > 0


@pytest.mark.parametrize("spend", [pure("0.3"), approx("0.3", 1e-6)], ids=["pure", "approx"])
@pytest.mark.parametrize("sensitivity", [1, 3, Norms(3, 9)], ids=["one", "three", "norms"])
@pytest.mark.parametrize("arity", [None, 2])
def test_calibration(spend, sensitivity, arity) -> None:
    counter = TreeCounter.calibrate(spend, sensitivity, steps=365, arity=arity)
    assert fits(counter.loss(sensitivity), spend)
    assert counter.loss(sensitivity).epsilon() == pytest.approx(0.3)
    assert counter.scale == counter.height * (1 if sensitivity == 1 else 3) / Fraction(3, 10)
    assert TreeCounter.calibrate(pure(10**9), 1, steps=3).scale == Fraction(1, 1000)


@pytest.mark.parametrize("spend", [rho(1), mu(1), 0 * pure(1), pure(1).sampled("0.01")], ids=str)
def test_other_spends_are_refused(spend) -> None:
    with pytest.raises(ParameterError, match=r"epsilon"):
        TreeCounter.calibrate(spend, 1, steps=10)


@pytest.mark.parametrize(
    "how",
    [{"steps": 0}, {"steps": 2**40 + 1}, {"steps": True}, {"steps": 2.0}, {"steps": "9"}, {"steps": 10**500},
     {"scale": 0}, {"scale": -1}, {"scale": math.nan}, {"scale": math.inf}, {"scale": 2**57}, {"scale": True},
     {"arity": 1}, {"arity": 65537}, {"arity": True}, {"arity": 3.0}],
    ids=lambda how: f"{next(iter(how))}-{next(iter(how.values()))!s}",
)  # fmt: skip
def test_bad_parameters_are_refused(how) -> None:
    with pytest.raises(ParameterError):
        TreeCounter(**({"steps": 10, "scale": 1} | how))


def test_bad_questions_are_refused() -> None:
    counter = TreeCounter(10, 1)
    for step in (0, 11, True, 1.0, -1):
        with pytest.raises(ParameterError, match="step"):
            counter.std_at(step)
    for level in (0, 1, 2, "x", math.nan):
        with pytest.raises(ParameterError, match="level"):
            counter.error(level)
    with pytest.raises(ParameterError, match="sensitivity"):
        counter.loss(-1)
    assert counter.loss(0).epsilon() == 0
