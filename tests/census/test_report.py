"""The stated bend of totals by size of area, against the truth of made-up countries, over many publications.

In each row the stated bend and the true one differ by noise alone: by 0 on average, and with at most the variance that
is stated. So the sum of these differences over all publications, in people, is held to 7 standard errors, in at most 30
rows: a false alarm has a probability below 30 · 2.6e-12 < 1e-9. How many intervals hold the truth is held to the
quantile of 1e-10 of the binomial law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

import discreet as dp
from discreet import census
from discreet.census._question import published_integers
from discreet.census._selection import noise_within
from discreet.census.estimates import Errors, Estimate, Layout
from discreet.marginals import ColumnCells
from discreet.marginals.trees import Tree
from discreet.mechanisms import DiscreteGaussian, DiscreteLaplace
from discreet.prices import with_noise

LEVELS = ("country", "county", "tract", "block")
SHARES = {"country": 1, "county": 2, "tract": 3, "block": 3}


def country(sizes: tuple[int, ...], people: float, cells: int) -> tuple[Layout, list[NDArray[np.int64]]]:
    """Areas, of which a third of the smallest are empty, and how many people each of them has in each cell."""
    draws = np.random.default_rng(28)
    parents = [
        np.repeat(np.arange(above), 1 + draws.multinomial(below - above, draws.dirichlet(np.full(above, 8.0))))
        for above, below in pairwise(sizes)
    ]
    tree = Tree(tuple(parents))
    blocks = draws.lognormal(0, 1.2, sizes[-1]) * (draws.random(sizes[-1]) >= 0.3)
    by_cell = draws.dirichlet(np.full(cells, 0.5)) * (blocks * people * sizes[-1] / blocks.sum())[:, None]
    names = tuple(tuple(f"{level}{i}" for i in range(size)) for level, size in zip(LEVELS, sizes, strict=True))
    land = census.Geography(LEVELS, names, tree)
    spec = census.Spec("people", land, {"total": (), "by_age": ("age",)}, shares=SHARES)
    layout = Layout(spec, (ColumnCells("age", "int", nullable=False, keys=tuple(range(cells))),))
    return layout, tree.sums(draws.poisson(by_cell).astype(np.int64))


def published(layout: Layout, truth: list[NDArray[np.int64]], scale: float, *, heavy: bool) -> census.Publication:
    """A publication with fresh noise, as it is made below the ledger."""
    kind = DiscreteLaplace if heavy else DiscreteGaussian
    mechanisms: dict[Any, Any] = {
        each: kind(scale / float(share) ** 0.5) for each, share in layout.shares().items()
    }  # fmt: skip
    measured = {
        (level, name): with_noise(
            counts if name == "by_age" else counts.sum(axis=1, keepdims=True), mechanisms[level, name]
        )
        for level, counts in zip(LEVELS, truth, strict=True)
        for name in layout.tables
    }
    leaves = published_integers({"t": Estimate(Errors.of_mechanisms(layout, mechanisms), measured)})["t"]
    return census.Publication(layout, mechanisms, measured, leaves, dp.rho(1), {})


@dataclass
class Row:
    """Sums over publications of what one row states and of what is true, in people."""

    stated: float = 0.0
    true: float = 0.0
    naive: float = 0.0
    variance: float = 0.0
    areas: int = 0
    held: list[bool] = field(default_factory=list)

    def add(self, row: census.ReportRow, published_less: tuple[float, float]) -> None:
        true, naive = published_less
        self.areas += row.areas
        self.stated += row.bend * row.areas
        self.variance += (row.bend_error * row.areas) ** 2
        self.true += true
        self.naive += naive
        low, high = row.interval(0.95)
        self.held.append(low <= true / row.areas <= high)


def bends(layout: Layout, truth: list[NDArray[np.int64]], scale: float, runs: int, *, heavy: bool) -> dict[Any, Row]:
    rows: dict[Any, Row] = {}
    for _ in range(runs):
        made = published(layout, truth, scale, heavy=heavy)
        for row in made.report().rows:
            place = LEVELS.index(row.level)
            unbiased, values = made.estimate.table(place, ()), made.integers[place].sum(axis=1)
            low = -math.inf if row.least == 0 else row.least - 0.5
            inside = (unbiased >= low) & (unbiased < (math.inf if row.most is None else row.most + 0.5))
            assert inside.sum() == row.areas
            less = tuple(float((values - other)[inside].sum()) for other in (truth[place].sum(axis=1), unbiased))
            rows.setdefault((row.level, row.least), Row()).add(row, less)  # pyright: ignore[reportArgumentType]
    return {key: row for key, row in rows.items() if row.areas >= 5 * runs}


def check(rows: dict[Any, Row]) -> None:
    assert len(rows) <= 30
    for key, row in rows.items():
        assert abs(row.stated - row.true) <= 7 * row.variance**0.5, key
    held = [each for row in rows.values() for each in row.held]
    assert sum(held) >= binom.ppf(1e-10, len(held), 0.95)


SMALL = (1, 4, 40, 800), 20.0, 3


@pytest.mark.parametrize("scale", [2.0, 8.0])
def test_the_stated_bend_holds_the_true_one(scale: float) -> None:
    layout, truth = country(*SMALL)
    rows = bends(layout, truth, scale, 40, heavy=False)
    check(rows)
    smallest = rows["block", 0]
    assert abs(smallest.naive - smallest.true) > 20 * smallest.variance**0.5, "published less unbiased is not the bend"
    assert smallest.naive > 0 > smallest.true


def test_laplace_noise_makes_it_less_sure() -> None:
    """A sum of Laplace noise is between two laws, and the standard error holds half of what is between them."""
    layout, truth = country(*SMALL)
    rows = bends(layout, truth, 3.0, 40, heavy=True)
    held = [each for row in rows.values() for each in row.held]
    assert sum(held) >= binom.ppf(1e-10, len(held), 0.95)
    smallest = rows["block", 0]
    assert abs(smallest.naive - smallest.true) > 5 * smallest.variance**0.5 * 40**0.5


@pytest.mark.soak
@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("scale", [1.0, 4.0, 16.0])
@pytest.mark.parametrize("shape", [((1, 5, 50, 4_000), 60.0, 8), ((1, 2, 2_000, 4_000), 6.0, 3)])
def test_the_stated_bend_holds_the_true_one_in_larger_countries(
    shape: tuple[tuple[int, ...], float, int], scale: float, heavy: bool
) -> None:
    rows = bends(*country(*shape), scale, 150, heavy=heavy)
    if heavy:
        for key, row in rows.items():
            assert sum(row.held) >= binom.ppf(1e-11, len(row.held), 0.95), key
    else:
        check(rows)


@pytest.mark.parametrize("end", [-4.0, -1.0, 0.0, 0.5, 2.0])
@pytest.mark.parametrize(("heavy", "close"), [(False, 1e-3), (True, 0.2)])
def test_the_noise_of_what_was_chosen_by_it(end: float, heavy: bool, close: float) -> None:
    """By integration: Gaussian noise of variance 1, from an end on; and Laplace noise within what is stated."""
    places = np.linspace(-20, 20, 40_001)
    law = np.exp(-math.sqrt(2) * np.abs(places)) if heavy else np.exp(-(places**2) / 2)
    law /= law.sum()
    parts, unsure = noise_within(places, np.ones_like(places), end, math.inf, heavy=heavy)
    off = float(law @ parts) - float((law * places)[places >= end].sum())
    assert abs(off) <= close
    assert abs(off) <= 1e-3 + abs(float(law @ unsure)) + (0.02 if heavy else 0)


def test_the_variance_of_the_stated_bend_is_enough_for_one_area() -> None:
    """By integration, wherever the truth lies from the end of a size."""
    noise = np.linspace(-12, 12, 6_001)
    law = np.exp(-(noise**2) / 2)
    law /= law.sum()
    for truth in np.linspace(-5, 5, 51):
        inside = truth + noise >= 0
        parts, _ = noise_within(truth + noise, np.ones_like(noise), 0.0, math.inf, heavy=False)
        variance = float(law @ (parts - noise * inside) ** 2)
        assert variance <= float(law @ inside) + 2 * float(law @ parts**2) + 1e-3


def test_totals_that_are_held_have_no_noise() -> None:
    parts, unsure = noise_within(np.array([3.0, 4.0]), np.zeros(2), 0.5, 9.5, heavy=True)
    assert not parts.any() and not unsure.any()
