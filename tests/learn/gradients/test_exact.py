"""Exact arithmetic: no contribution is longer than its bound, counted in Python's integers, and sums lose nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from discreet.errors import ParameterError
from discreet.learn.gradients import Clipping, Exact, Fixed, Normalised, UnitGradients
from discreet.learn.gradients._exact import row_squares
from discreet.learn.gradients._pieces import Dense, Outer, Piece, Scatter, Series, by_unit
from learn.gradients.reference import CASES, Block, curved, sums

CLIPPINGS: list[Clipping] = [Fixed(1.0), Fixed(1e-12), Fixed(1e12), Normalised(1.0), Normalised(3e-9, 1e-12)]


def squared_length(integers: Tensor) -> int:
    """Exactly, in Python's integers."""
    assert torch.equal(integers, integers.trunc())
    return sum(int(each) ** 2 for each in integers.tolist() if each)


def sizes(pieces: Mapping[str, Piece]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for name, piece in pieces.items():
        match piece:
            case Outer(outputs, inputs) | Series(outputs, inputs):
                numbers[name] = outputs.shape[-1] * inputs.shape[-1]
            case Dense(values):
                numbers[name] = values.shape[1]
            case Scatter(_, values, height):
                numbers[name] = height * values.shape[2]
    return numbers


def integers_of(pieces: Mapping[str, Piece], clipping: Clipping, exact: Exact, active: Tensor) -> Tensor:
    totals = {name: torch.zeros(size, dtype=torch.float64) for name, size in sizes(pieces).items()}
    exact.add(pieces, clipping, active, totals)
    return torch.cat(list(totals.values()))


# Numbers of every size, with those that are none, and with pairs that cancel.
HOSTILE = [0.0, -0.0, 1e-45, 1e-38, 1.2e-38, 1e-30, 3e-20, 1e-10, 1.0, 3.0, 1e10, 1e19, 2e19, 1e38, 3.4e38]


def hostile(generator: torch.Generator, *shape: int, finite: bool) -> Tensor:
    kind = int(torch.randint(0, 5, (), generator=generator))
    values = torch.randn(*shape, generator=generator)
    if kind == 0:
        return values * 10 ** torch.empty(shape[0], *[1] * (len(shape) - 1)).uniform_(-30, 15, generator=generator)
    if kind == 1:  # every number of another size
        return values * 10 ** torch.empty(shape).uniform_(-44, 37, generator=generator)
    if kind == 2:
        picks = HOSTILE if finite else [*HOSTILE, math.inf, math.nan]
        signs = torch.randint(0, 2, shape, generator=generator) * 2 - 1
        return torch.tensor(picks)[torch.randint(0, len(picks), shape, generator=generator)] * signs
    if kind == 3 and len(shape) > 1 and shape[1] > 1:  # the second half is the first, turned round
        half = shape[1] // 2
        values[:, half : 2 * half] = -values[:, :half] * (1 + 1e-7)
        return values * 1e6
    return values


def pieces_of(number: int, rows: int, *, finite: bool = False) -> dict[str, Piece]:
    generator = torch.Generator().manual_seed(number)
    width = int(torch.randint(1, 40, (), generator=generator))
    return {
        "outer": Outer(hostile(generator, rows, 3, finite=finite), hostile(generator, rows, width, finite=finite)),
        "series": Series(hostile(generator, rows, 6, 3, finite=finite), hostile(generator, rows, 6, 5, finite=finite)),
        "dense": Dense(hostile(generator, rows, width, finite=finite)),
        "scatter": Scatter(
            torch.randint(0, 4, (rows, 5), generator=generator), hostile(generator, rows, 5, 2, finite=finite), 4
        ),
    }


def alone(pieces: Mapping[str, Piece], clipping: Clipping, exact: Exact, rows: int) -> list[Tensor]:
    every = torch.arange(rows)
    return [integers_of(pieces, clipping, exact, every == row) for row in range(rows)]


def check_hostile(number: int, rows: int = 4) -> None:
    for clipping in CLIPPINGS:
        for exact in (Exact(), Exact(2**16), Exact(2**44)):
            pieces = pieces_of(number, rows)
            vectors = alone(pieces, clipping, exact, rows)
            for vector in vectors:
                assert bool(torch.isfinite(vector).all())
                assert squared_length(vector) <= exact.steps**2
            every = torch.ones(rows, dtype=torch.bool)
            assert torch.equal(integers_of(pieces, clipping, exact, every), sum(vectors))


@settings(max_examples=25)
@given(st.integers(0, 2**40))
def test_no_contribution_is_longer_than_the_bound(number: int) -> None:
    check_hostile(number)


@pytest.mark.soak
@settings(max_examples=20_000)
@given(st.integers(0, 2**40))
def test_no_contribution_of_many_is_longer_than_the_bound(number: int) -> None:
    check_hostile(number)


@settings(max_examples=25)
@given(st.integers(0, 2**40), st.lists(st.integers(0, 5), min_size=5, max_size=5))
def test_no_contribution_of_a_unit_is_longer_than_the_bound(number: int, slots: list[int]) -> None:
    units = torch.tensor(slots)  # 5 is padding
    pieces = {name: by_unit(piece, units) for name, piece in pieces_of(number, 5).items()}
    for clipping in CLIPPINGS:
        vectors = alone(pieces, clipping, Exact(), 5)
        for slot, vector in enumerate(vectors):
            assert squared_length(vector) <= Exact().steps ** 2
            if slot not in slots:
                assert not vector.any()


@pytest.mark.parametrize("width", [4, 64])
def test_gradients_that_cancel_over_time_are_within_the_bound(width: int) -> None:
    # The same inputs twice, and gradients that differ by a millionth: float32 inner products can be 0 for what is long.
    generator = torch.Generator().manual_seed(8)
    inputs = torch.randn(40, 1, width, generator=generator).repeat(1, 2, 1) * 1e3
    outputs = torch.randn(40, 2, width, generator=generator) * 1e3
    outputs[:, 1] = -outputs[:, 0] * (1 + 1e-6 * torch.randint(0, 100, (40, 1), generator=generator))
    for vector in alone({"series": Series(outputs, inputs)}, Fixed(1.0), Exact(), 40):
        assert squared_length(vector) <= Exact().steps ** 2


@pytest.mark.parametrize("kind", ["outer", "dense", "series", "scatter"])
def test_the_bound_is_nearly_reached(kind: str) -> None:
    generator = torch.Generator().manual_seed(1)
    long = {
        "outer": Outer(torch.randn(1, 300, generator=generator), torch.randn(1, 500, generator=generator)),
        "dense": Dense(torch.randn(1, 300_000, generator=generator)),
        "series": Series(
            torch.randn(1, 9, 300, generator=generator), torch.randn(1, 9, 500, generator=generator)
        ),
        "scatter": Scatter(torch.zeros(1, 9, dtype=torch.int64), torch.randn(1, 9, 300, generator=generator), 2),
    }  # fmt: skip
    vector = integers_of({kind: long[kind]}, Fixed(1e-3), Exact(), torch.ones(1, dtype=torch.bool))
    assert 1 - 2e-4 <= float(vector.norm()) / Exact().steps <= 1


@given(st.integers(0, 2**40), st.sampled_from([1, 7, 1023, 1024, 1025, 5000]))
@settings(max_examples=25)
def test_squared_norms_are_not_below_the_exact_ones(number: int, size: int) -> None:
    values = hostile(torch.Generator().manual_seed(number), 2, size, finite=True)
    for row, bound in zip(values.tolist(), row_squares(values).tolist(), strict=True):
        exact = sum(int(each * 2**149) ** 2 for each in row) if bound < math.inf else 0  # whole numbers of 2^-149
        assert bound == math.inf or exact <= int(bound * 2.0**200) * 2 ** (298 - 200) + 2**98


def test_what_is_no_number_adds_nothing_and_leaves_others_alone() -> None:
    model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
    rows = torch.randn(6, 5)
    for bad in (math.nan, math.inf, -math.inf, 3e38):
        spoilt = rows.clone()
        spoilt[2, 1] = bad
        gradients = UnitGradients(model, Fixed())
        others = torch.arange(6) != 2
        seen = sums(model, spoilt, gradients)
        assert bool(torch.isfinite(seen).all())
        difference = seen - sums(model, rows, gradients, active=others)
        assert squared_length(difference) <= Exact().steps ** 2
        if not math.isfinite(bad):
            assert not difference.any()


def test_sums_are_those_of_python_integers() -> None:
    model = nn.Sequential(nn.Embedding(9, 4), Block(4), nn.Linear(4, 3))
    rows = torch.randint(0, 9, (8, 5))
    gradients = UnitGradients(model, Normalised(), Exact(2**44))
    every = torch.arange(8)
    vectors = [sums(model, rows, gradients, active=every == row).tolist() for row in range(8)]
    assert sums(model, rows, gradients).tolist() == [sum(map(int, column)) for column in zip(*vectors, strict=True)]
    doubled = sums(model, rows, gradients)
    with gradients.listening():
        gradients.add(curved(model(rows)), doubled)
    assert torch.equal(doubled, 2 * sums(model, rows, gradients))


MODELS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 4)), (12,), None),
    "cnn": (
        lambda: nn.Sequential(nn.Conv2d(1, 4, 3, 2), nn.ReLU(), nn.Conv2d(4, 8, 3), nn.Flatten(), nn.Linear(72, 4)),
        (1, 11, 11),
        None,
    ),
    "transformer": (lambda: nn.Sequential(nn.Embedding(11, 16), Block(16), nn.Linear(16, 2)), (8,), 11),
}


def neighbours(name: str, pairs: int) -> None:
    """Batches with and without a row, the rest shifted by one place, differ by what that row adds alone."""
    build, shape, words = MODELS[name]
    model, count = build(), 32
    gradients = UnitGradients(model, Fixed(0.1))
    generator = torch.Generator().manual_seed(5)
    for _ in range(pairs):
        size = int(torch.randint(2, count + 1, (), generator=generator))
        rows = torch.zeros(count, *shape) if words is None else torch.zeros(count, *shape, dtype=torch.int64)
        drawn = (
            torch.randn(size, *shape, generator=generator) * 10 ** float(torch.randn((), generator=generator))
            if words is None
            else torch.randint(0, words, (size, *shape), generator=generator)
        )
        rows[:size] = drawn
        victim = int(torch.randint(0, size, (), generator=generator))
        without = torch.zeros_like(rows)
        without[: size - 1] = torch.cat([drawn[:victim], drawn[victim + 1 :]])
        own = torch.zeros_like(rows)
        own[0] = drawn[victim]
        places = torch.arange(count)
        difference = sums(model, rows, gradients, active=places < size) - sums(
            model, without, gradients, active=places < size - 1
        )
        assert torch.equal(difference, sums(model, own, gradients, active=places < 1))
        assert 0 < squared_length(difference) <= Exact().steps ** 2


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("pairs", [10, pytest.param(1_000, marks=pytest.mark.soak)])
def test_neighbours_differ_by_the_row_s_own_integers(name: str, pairs: int) -> None:
    neighbours(name, pairs)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_rule_gives_more_than_the_bound(case) -> None:
    model, generator = case.model(), torch.Generator().manual_seed(3)
    rows = case.rows(4, generator)
    if rows.is_floating_point():
        rows = rows * torch.tensor([1.0, 1e6, 1e-30, 1e15]).view(-1, *[1] * len(case.shape))
    gradients = UnitGradients(model, Normalised(stability=1e-6), Exact(2**40))
    every = torch.arange(4)
    vectors = [sums(model, rows, gradients, active=every == row) for row in range(4)]
    for vector in vectors:
        assert squared_length(vector) <= 2**80
    assert torch.equal(sums(model, rows, gradients), sum(vectors))


@pytest.mark.parametrize("steps", [0, 2**15, 3 * 2**20, 2**45, -(2**20)])
def test_steps_are_a_power_of_two(steps: int) -> None:
    with pytest.raises(ParameterError, match="power of two"):
        Exact(steps)


def test_more_rows_than_a_sum_holds_are_refused() -> None:
    model = nn.Linear(1, 1)
    gradients = UnitGradients(model, Fixed(), Exact(2**44))
    assert gradients.arithmetic.most_units == 511
    with pytest.raises(ParameterError, match="smaller microbatches"):
        sums(model, torch.zeros(512, 1), gradients)
