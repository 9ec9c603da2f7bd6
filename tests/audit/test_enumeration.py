"""Laws of programs by re-running them: brute force over products, cuts, loops without end, and programs that cheat."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.audit.enumeration._distribution import ONE, Distribution, Raised, key_of, shown
from discreet.audit.enumeration._enumeration import enumerate_distribution
from discreet.errors import ParameterError

COIN = {True: Fraction(1, 2), False: Fraction(1, 2)}
DIE = {side: Fraction(1, 6) for side in range(1, 7)}

laws = (
    st.lists(st.integers(0, 9), min_size=1, max_size=4)
    .filter(any)
    .map(lambda weights: {i: Fraction(w, sum(weights)) for i, w in enumerate(weights)})
)


@given(st.lists(laws, max_size=4), st.booleans())
def test_every_branch_is_counted_once(drawn, adaptive) -> None:
    """The law of a function of independent draws, some of them only made after others came out even."""

    def program(data, draw):
        told = []
        for law in drawn:
            if not adaptive or not told or told[-1] % 2 == 0:
                told.append(draw(law))
        return sum(told) + data

    expected: dict[int, Fraction] = {}
    for outcomes in product(*(law.items() for law in drawn)):
        told, p = [], math.prod((each for _, each in outcomes), start=Fraction(1))
        for outcome, _ in outcomes:
            if not adaptive or not told or told[-1] % 2 == 0:
                told.append(outcome)
        if p:
            expected[sum(told) + 7] = expected.get(sum(told) + 7, Fraction(0)) + p
    found = enumerate_distribution(program, 7)
    assert found.weights.keys() == expected.keys()
    assert found.missing == 0
    for outcome, p in expected.items():
        low, high = found.weights[outcome]
        assert low <= p * ONE <= high <= low + found.runs * (len(drawn) + 1)


@given(laws, laws, st.fractions(Fraction(1, 100), 1))
def test_a_part_of_the_mass_leaves_out_no_more_than_it_says(one, other, mass) -> None:
    def program(_, draw):
        return draw(one), draw(other)

    whole, part = enumerate_distribution(program, None), enumerate_distribution(program, None, mass)
    assert part.runs <= whole.runs
    assert part.missing <= 1 - mass + Fraction(1, 10**15)
    for key, (low, high) in part.weights.items():
        assert low <= whole.weights[key][1] and whole.weights[key][0] <= high + part.cut
    assert sum(high for _, high in part.weights.values()) + part.cut >= ONE


def test_what_a_law_lacks_is_missing_from_the_whole() -> None:
    cut = {x: Fraction(1, 2 ** (abs(x) + 2)) * 3 / 3 for x in range(-8, 9)}
    lacks = 1 - sum(cut.values())
    found = enumerate_distribution(lambda _, draw: draw(COIN) and draw(cut), None)
    assert found.missing == pytest.approx(float(lacks / 2), rel=1e-12)
    assert found.probability(False)[0] == 0.5
    assert found.probability(10**6) == (0, found.missing)


def test_a_loop_without_end_is_enumerated_to_any_mass_below_one() -> None:
    def rejecting(_, draw):
        tries = 1
        while not draw({True: Fraction(1, 10), False: Fraction(9, 10)}):
            tries += 1
        return tries

    found = enumerate_distribution(rejecting, None, "0.999999")
    assert found.missing <= 1e-6
    assert found.probability(3)[0] == pytest.approx(0.081, rel=1e-12)
    with pytest.raises(ParameterError, match=r"after 50 runs.*ask for less mass"):
        enumerate_distribution(rejecting, None, limit=50)


def test_a_run_that_gets_unlikely_waits_its_turn() -> None:
    """The likeliest branch never ends; the others are found although it was begun first."""

    def trap(_, draw):
        if draw({True: Fraction(3, 5), False: Fraction(2, 5)}):
            while draw(COIN) is not None:
                pass
        return "out"

    assert enumerate_distribution(trap, None, "0.4").probability("out")[0] == pytest.approx(0.4)


def test_what_is_raised_is_an_output() -> None:
    def fails(_, draw):
        return 1 // (draw(DIE) - 1)

    found = enumerate_distribution(fails, None)
    assert found.probability(Raised("ZeroDivisionError"))[0] == pytest.approx(1 / 6)


def test_a_program_that_catches_everything_does_not_catch_the_search() -> None:
    def greedy(_, draw):
        try:
            return draw({"a": Fraction(3, 2)})
        except Exception:  # noqa: BLE001 (that is the point)
            return "caught"

    with pytest.raises(ParameterError, match="a distribution must give each outcome"):
        enumerate_distribution(greedy, None)


@pytest.mark.parametrize("law", [{}, {1: Fraction(0)}, {1: -0.5, 2: 0.5}, {1: 0.7, 2: 0.7}, {1: math.nan}, {1: "1/2"}])
def test_a_law_that_is_none_is_refused(law) -> None:
    with pytest.raises(ParameterError, match="probability"):
        enumerate_distribution(lambda _, draw: draw(law), None)
    with pytest.raises(ParameterError, match="probability"):
        Distribution.from_probabilities(law)


def test_hidden_randomness_and_state_are_found_out() -> None:
    rng, calls = np.random.default_rng(1), []

    def hidden(_, draw):
        return draw(COIN if rng.random() < 0.5 else DIE), draw(DIE)

    def counting(_, draw):
        calls.append(0)
        return draw(COIN) if len(calls) < 2 else 0

    for program in (hidden, counting):
        with pytest.raises(ParameterError, match="did not repeat itself"):
            enumerate_distribution(program, None)


@pytest.mark.parametrize("mass", [0, -1, "1.01", math.nan])
def test_mass_is_checked(mass) -> None:
    with pytest.raises(ParameterError, match="mass must be"):
        enumerate_distribution(lambda _, draw: 0, None, mass)


def test_no_draw_at_all() -> None:
    found = enumerate_distribution(lambda data, _: data, 5)
    assert (found.probability(5), found.missing, found.runs) == ((1, 1), 0, 1)


def test_floats_are_taken_with_their_rounding() -> None:
    found = Distribution.from_probabilities(dict.fromkeys(range(49), 1 / 49))
    assert found.missing == 0
    low, high = found.probability(3)
    assert low < Fraction(1, 49) < high <= low * (1 + 1e-14)
    assert Distribution.from_probabilities({0: 0.5, 1: 0.25}).missing == pytest.approx(0.25, abs=1e-14)


def test_a_pair_holds_the_probability() -> None:
    third = Fraction(333, 1000), Fraction(334, 1000)
    found = Distribution.from_probabilities({"a": third, "b": third, "c": third})
    assert found.missing == 0 and found.probability("a")[0] <= 0.333 <= 0.334 <= found.probability("a")[1]


DISTINCT = [
    0, False, 0.0, -0.0, "0", None, (), [], {}, (0,), [0], [False], {"a": 0}, {"a": 0.0}, math.nan, math.inf,
    np.array([0]), np.array([[0]]), np.array([0.0]), pa.table({"a": [0]}), pa.table({"b": [0]}), Raised("a"), "a", b"a",
]  # fmt: skip


def test_outputs_that_differ_have_different_keys() -> None:
    assert len({key_of(each) for each in DISTINCT}) == len(DISTINCT)
    assert all(isinstance(shown(key_of(each)), str) for each in DISTINCT)
    assert key_of(np.int64(3)) == 3 and key_of(np.float64(0.5)) == key_of(0.5)
    assert shown(key_of((True, [None, 0.5], "x"))) == "(True, [None, 0.5], 'x')"
    assert shown(key_of(pa.table({"a": [1]}))) == "Table({'a': [1]})"


def test_a_hundred_thousand_branches_take_seconds() -> None:
    """No clock: the number of runs is one for each branch, which is what the time is made of."""
    assert enumerate_distribution(lambda _, draw: sum(draw(DIE) for _ in range(5)), None).runs == 6**5
