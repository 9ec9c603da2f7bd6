"""Sums of neighbours' vectors: rows that are never too long, what one edge moves, and mistakes with their exact loss.

The loss of a whole release is exact: both graphs are given the same noisy history, so that hop for hop the means of the
noise are two integer matrices, and μ² is the sum of their squared distances by σ².
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.graphs.small import labelled

from discreet.errors import ParameterError
from discreet.graphs import Graph, NoisyAggregation
from discreet.graphs.features import GRID, _aggregation, neighbour_sums, normalized, unit_vectors
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian
from discreet.privacy import approx, mu, pure, rho
from discreet.sensitivity import Norms

Rows = NDArray[np.int64]
DICE = np.random.default_rng(7)
HUGE, TINY = 1.7976931348623157e308, 5e-324
HOSTILE = {
    "axis": np.eye(1, 3).repeat(4, axis=0),
    "zeros": np.zeros((4, 2)),
    "some zeros": np.array([[0, 0], [1, 0], [0, 0], [-1, 0]]),
    "huge": np.array([[HUGE, -HUGE], [HUGE, TINY], [-HUGE, HUGE], [1e300, 1e-300]]),
    "tiny": np.full((4, 3), TINY),
    "integers": np.array([[-(2**63), 2**63 - 1]] * 4, np.int64),
    "many columns": np.ones((4, 4000)),
    "random": DICE.normal(size=(4, 5)),
}


def length(rows: Rows) -> int:
    return sum(int(entry) ** 2 for entry in rows.ravel())


def spent(aggregation: NoisyAggregation, pair: tuple[Graph, Graph], units: Rows, history: list[Rows]) -> Fraction:
    """μ² of a release between two graphs, exactly, where the noisy sums are a history."""
    means: list[list[Rows]] = []
    for graph in pair:
        exact: list[Rows] = []

        def scripted(values: Rows, mechanism: Any, exact: list[Rows] = exact) -> Rows:
            exact.append(values)
            assert mechanism == aggregation.noise
            return history[len(exact) - 1]

        with patch.object(_aggregation, "with_noise", scripted):
            list(aggregation.draw(graph, units))
        means.append(exact)
    assert len(means[0]) == len(means[1]) == aggregation.hops
    return sum(length(a - b) for a, b in zip(*means, strict=True)) / aggregation.noise.sigma**2


def histories(shape: tuple[int, int], hops: int) -> Iterator[list[Rows]]:
    """Noise of the size that there is, zeros, and the ends of 64 bits."""
    yield [np.rint(DICE.normal(size=shape) * 4 * GRID).astype(np.int64) for _ in range(hops)]
    yield [np.zeros(shape, np.int64)] * hops
    yield [np.where(DICE.random(shape) < 0.5, -(2**63), 2**63 - 1)] * hops


@pytest.mark.parametrize("name", HOSTILE)
def test_no_change_of_an_edge_loses_more_than_is_claimed(name: str) -> None:
    """All graphs of 2, 3 and 4 vertices, or 3 where columns are many; every edge, there or not."""
    aggregation = NoisyAggregation.calibrate(mu(1), 2)
    worst = Fraction(0)
    for n in (2, 3) if name == "many columns" else (2, 3, 4):
        vectors = HOSTILE[name][:n]
        units = unit_vectors(vectors, n)
        assert all(length(row) <= GRID**2 for row in units)
        for history in histories(vectors.shape, 2):
            for graph in labelled(n):
                for a, b in combinations(range(n), 2):
                    worst = max(worst, spent(aggregation, (graph, graph.toggled(a, b)), units, history))
    assert worst <= 1
    if name in {"axis", "integers"}:
        assert worst > Fraction(999, 1000)


def test_the_claim_is_attained_by_one_column() -> None:
    aggregation = NoisyAggregation(3, Gaussian(GRID))
    empty = Graph.from_pairs([], 2)
    history = [np.array([[9], [-7]]), np.array([[1], [0]]), np.array([[-3], [3]])]
    lost = spent(aggregation, (empty, empty.toggled(0, 1)), unit_vectors([[2.0], [-3.0]], 2), history)
    assert lost == 5  # of 6: the second sum is 0 in one row, and moves nothing in the third hop
    history[1][1] = 1
    assert spent(aggregation, (empty, empty.toggled(0, 1)), unit_vectors([[2.0], [-3.0]], 2), history) == 6
    assert aggregation.loss().fits(mu("2.4494897429")) and not aggregation.loss().fits(mu("2.4494897427"))


finite = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0.0, HUGE, -HUGE, TINY, 1.0, 0.5, float(2**24)]),
    st.integers(-(2**63), 2**63 - 1).map(float),
)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Graph, tuple[int, int], NDArray[np.float64], list[Rows]]:
    n, columns, hops = draw(st.integers(2, 7)), draw(st.integers(1, 6)), draw(st.integers(1, 3))
    pairs = list(combinations(range(n), 2))
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True))
    rows = st.lists(st.lists(finite, min_size=columns, max_size=columns), min_size=n, max_size=n)
    integers = st.lists(st.integers(-(2**63), 2**63 - 1), min_size=n * columns, max_size=n * columns)
    history = [np.array(draw(integers), np.int64).reshape(n, columns) for _ in range(hops)]
    return (
        Graph.from_pairs(chosen or np.empty((0, 2), np.int64), n),
        draw(st.sampled_from(pairs)),
        np.array(draw(rows)),
        history,
    )


@settings(max_examples=100, deadline=None)
@given(cases(), st.integers(16, 2**20))
def test_random_graphs_vectors_and_histories(
    case: tuple[Graph, tuple[int, int], NDArray[np.float64], list[Rows]], grid: int
) -> None:
    graph, edge, vectors, history = case
    aggregation = NoisyAggregation(len(history), DiscreteGaussian(grid), grid)
    lost = spent(aggregation, (graph, graph.toggled(*edge)), unit_vectors(vectors, graph.vertices, grid), history)
    assert lost <= 2 * len(history)
    assert aggregation.loss() == rho(len(history))


@settings(max_examples=200, deadline=None)
@given(st.lists(finite, min_size=1, max_size=40), st.integers(16, 2**20))
def test_a_row_is_never_longer_and_has_its_direction(row: list[float], grid: int) -> None:
    (units,) = normalized(np.array([row]), grid)
    assert length(units) <= grid**2
    largest = max(map(abs, row))
    if largest == 0:
        assert not units.any()
        return
    exact = [Fraction(each) / Fraction(largest) for each in row]
    scale = float(grid) / float(sum(each * each for each in exact)) ** 0.5
    assert all(abs(got - scale * float(each)) <= 1 + 2e-7 * grid for got, each in zip(units, exact, strict=True))
    assert all(int(got) * each >= 0 for got, each in zip(units, exact, strict=True))


def test_rows_of_any_number_of_columns_are_never_longer() -> None:
    for columns in (2, 3, 48, 999, 4000, 4096):
        for rows in (np.ones((1, columns)), DICE.normal(size=(20, columns)), np.full((1, columns), -(2**63))):
            units = normalized(rows)
            assert all(length(row) <= GRID**2 for row in units)
            assert all(length(row) > (GRID - columns**0.5 - 1) ** 2 for row in units)


def test_sums_are_those_of_a_dense_matrix() -> None:
    graph = next(each for each in labelled(4) if each.edges == 4)
    dense = np.zeros((4, 4), np.int64)
    for a, b in graph.ends:
        dense[a, b] = dense[b, a] = 1
    units = DICE.integers(-99, 99, (4, 3))
    assert neighbour_sums(graph, units).tolist() == (dense @ units).tolist()
    assert neighbour_sums(Graph.from_pairs([], 0), np.empty((0, 3), np.int64)).shape == (0, 3)


@pytest.mark.parametrize("noise", [Gaussian(500), DiscreteGaussian(500)])
def test_every_number_has_noise_of_its_own(noise: Gaussian | DiscreteGaussian) -> None:
    """Zeros, two hops of 20,000 numbers: a variance has the standard error σ² √(2/20,000), a correlation 1/√20,000.

    Seven of them are allowed: a false alarm has a chance below 1e-10.
    """
    noisy = NoisyAggregation(2, noise).release(Graph.from_pairs([], 5_000), np.zeros((5_000, 4))).astype(float)
    assert noisy.shape == (2, 5_000, 4)
    assert np.var(noisy[0]) / 500**2 == pytest.approx(1, abs=7 * (2 / 20_000) ** 0.5)
    assert abs(np.corrcoef(noisy[0].ravel(), noisy[1].ravel())[0, 1]) < 7 / 20_000**0.5


def test_the_parts_of_a_spend() -> None:
    for hops in (1, 2, 16):
        for spend in (approx(2, 1e-5), rho("0.1"), mu("0.5")):
            aggregation = NoisyAggregation.calibrate(spend, hops)
            assert aggregation.loss().fits(spend)
            smaller = replace(aggregation, noise=type(aggregation.noise)(aggregation.noise.sigma * Fraction(999, 1000)))
            assert not smaller.loss().fits(spend)
            assert NoisyAggregation.from_json(aggregation.to_json()) == aggregation


@pytest.mark.parametrize("spend", [pure(1), approx(1, 0)])
def test_an_epsilon_alone_buys_no_gaussian_noise(spend: Any) -> None:
    with pytest.raises(ParameterError, match="without a delta"):
        NoisyAggregation.calibrate(spend, 2)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"hops": 0}, "hops"),
        ({"hops": True}, "hops"),
        ({"hops": 17}, "hops"),
        ({"hops": 1.0}, "hops"),
        ({"grid": 15}, "grid"),
        ({"grid": 2**21}, "grid"),
        ({"noise": DiscreteLaplace(3)}, "noise"),
    ],
)
def test_parameters_out_of_range(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        NoisyAggregation(**{"hops": 2, "noise": Gaussian(4), **parameters})


@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ([[1.0], [np.nan]], "finite"),
        ([[1.0], [-np.inf]], "finite"),
        ([[1.0]], "a row for each of 2 vertices"),
        ([1.0, 2.0], "shape"),
        (np.empty((2, 0)), "columns"),
        (np.ones((2, 4097)), "4,096 columns"),
        ([["a"], ["b"]], "must be numbers"),
        (np.array([[1j], [2j]]), "must be numbers"),
        (np.array([[None], [1]]), "must be numbers"),
        ([[1.0], [1.0, 2.0]], "an array of numbers"),
    ],
)
def test_vectors_that_are_none_are_refused(vectors: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        unit_vectors(vectors, 2)


def test_numbers_wider_than_64_bits_are_read_or_refused() -> None:
    assert unit_vectors(np.array([[True, False]]), 1).tolist() == [[GRID, 0]]
    if np.finfo(np.longdouble).max > HUGE:
        with pytest.raises(ParameterError, match="finite"):
            unit_vectors(np.array([[np.longdouble("1e4000")]]), 1)


# What would go wrong


def rounded_behind_the_check(rows: NDArray[Any], grid: int = GRID) -> Rows:
    """Rows of length 1, and then rounded."""
    numbers = np.asarray(rows, float)
    lengths = np.linalg.norm(numbers, axis=1, keepdims=True)
    numbers = numbers / np.where(lengths > 0, lengths, 1)
    assert (np.linalg.norm(numbers, axis=1) <= 1 + 1e-12).all()
    return np.rint(numbers * grid).astype(np.int64)


def bounded_columns(rows: NDArray[Any], grid: int = GRID) -> Rows:
    numbers = np.asarray(rows, float)
    return np.rint(numbers / np.abs(numbers).max(axis=0) * grid).astype(np.int64)


def with_degree(rows: NDArray[Any], grid: int = GRID) -> Rows:
    """A column of ones beside a row that is as long as it may be: its sum is the degree."""
    units = normalized(rows, grid)
    units[:, -1] = grid
    return units


def as_they_are(rows: NDArray[Any], grid: int = GRID) -> Rows:
    return np.asarray(rows, np.int64)


def with_own_vector(graph: Graph, units: Rows) -> Rows:
    """A vertex with neighbours is one of them."""
    return neighbour_sums(graph, units) + units * (graph.degrees() > 0)[:, None]


def exact_sums_handed_on(self: NoisyAggregation, graph: Graph, units: Rows) -> Iterator[Rows]:
    for _ in range(self.hops):
        exact = _aggregation.neighbour_sums(graph, units)
        yield _aggregation.with_noise(exact, self.noise)
        units = normalized(exact, self.grid)


_calibrate = NoisyAggregation.calibrate.__func__  # type: ignore[attr-defined]
TWO = (Graph.from_pairs([], 2), Graph.from_pairs([(0, 1)], 2))
STAR = Graph.from_pairs([(0, leaf) for leaf in range(1, 7)], 8)
AXIS = np.array([[1.0, 0], *[[1, 0], [-1, 0]] * 3, [1, 0]])  # the leaves of the star add up to nothing


@dataclass(frozen=True)
class Mutant:
    """A mistake, where it shows, and the μ² that it loses there, at a claim of 1."""

    name: str
    pair: tuple[Graph, Graph]
    vectors: NDArray[np.float64]
    lost: Fraction
    patches: tuple[tuple[Any, str, Any], ...]


MUTANTS = (
    Mutant(
        "noise for one end", TWO, AXIS[:2], Fraction(2),
        ((NoisyAggregation, "moved", property(lambda self: Norms(self.grid, self.grid**2, self.grid))),),
    ),
    Mutant(
        "rounding behind the check", TWO, np.ones((2, 4000)), Fraction(4000 * 65**2, 2 * GRID**2) + Fraction(1, 2),
        ((_aggregation, "normalized", rounded_behind_the_check),),
    ),
    Mutant(
        "hops charged once", TWO, AXIS[:2], Fraction(2),
        (
            (
                NoisyAggregation, "calibrate",
                classmethod(lambda cls, spend, hops: replace(_calibrate(cls, spend, 1), hops=hops)),
            ),
        ),
    ),
    Mutant(
        "exact sums handed on", (STAR, STAR.toggled(0, 7)), AXIS, Fraction(5, 2),
        ((NoisyAggregation, "draw", exact_sums_handed_on),),
    ),
    Mutant(
        "sums not made as long again", TWO, AXIS[:2], Fraction(1, 2) + Fraction(8),
        ((_aggregation, "normalized", as_they_are),),
    ),
    Mutant(
        "columns bounded, and not rows", TWO, np.ones((2, 9)), Fraction(9),
        ((_aggregation, "normalized", bounded_columns),),
    ),
    Mutant("the degree behind the check", TWO, AXIS[:2], Fraction(2), ((_aggregation, "normalized", with_degree),)),
    Mutant("a vertex in its own sum", TWO, AXIS[:2], Fraction(4), ((_aggregation, "neighbour_sums", with_own_vector),)),
)  # fmt: skip


def lost_by(mutant: Mutant) -> Fraction:
    """μ² at a claim of 1; sums of the history are four times as long as a vector."""
    n, columns = mutant.vectors.shape
    aggregation = NoisyAggregation.calibrate(mu(1), 2)
    history = [np.zeros((n, columns), np.int64) for _ in range(2)]
    history[0][:, 0] = 4 * GRID
    if mutant.name == "columns bounded, and not rows":
        history[0][:] = GRID
    units = normalized(mutant.vectors) if mutant.name.startswith("sums") else unit_vectors(mutant.vectors, n)
    return spent(aggregation, mutant.pair, units, history)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_a_mutant_loses_more_than_it_claims_and_the_sound_code_does_not(mutant: Mutant) -> None:
    assert lost_by(mutant) <= 1
    with ExitStack() as stack:
        for where, name, broken in mutant.patches:
            stack.enter_context(patch.object(where, name, broken))
        lost = lost_by(mutant)
    print(f"{mutant.name}: {float(lost):.4f}")
    assert lost > 1
    assert float(lost) == pytest.approx(float(mutant.lost), rel=1e-9)
