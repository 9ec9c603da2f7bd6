"""Small countries, specifications and dense least squares for the tests of statistical tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import census
from discreet.census.estimates import Columns, Layout, Measure
from discreet.marginals import ColumnCells

AREAS = {
    "state": ["N", "N", "N", "S", "S"],
    "county": ["n1", "n1", "n2", "s1", "s1"],
    "block": ["n11", "n12", "n21", "s11", "s12"],
}
LEVELS = ["state", "county", "block"]


def land() -> census.Geography:
    return census.Geography.of_areas(AREAS, LEVELS, root="country")


def random_land(draws: np.random.Generator, levels: int, most: int = 40) -> census.Geography:
    """Areas of several levels, with from 1 to 3 in each that is above them."""
    paths = [[0]]
    for _ in range(levels):
        more = [[*path, i] for path in paths for i in range(int(draws.integers(1, 4)))]
        if len(more) > most:
            break
        paths = more
    names = [f"level{i}" for i in range(1, len(paths[0]))] or ["level1"]
    paths = paths if len(paths[0]) > 1 else [[0, 0]]
    columns = {name: ["_".join(map(str, path[: i + 2])) for path in paths] for i, name in enumerate(names)}
    return census.Geography.of_areas(columns, names)


def cells(name: str, size: int) -> ColumnCells:
    return ColumnCells(name, "int", nullable=False, keys=tuple(range(size)))


def random_layout(draws: np.random.Generator, most_cells: int = 12) -> Layout:
    """A layout of random areas, columns and tables, with districts."""
    geography = random_land(draws, int(draws.integers(1, 6)))
    while True:
        sizes = [int(each) for each in draws.integers(1, 5, draws.integers(1, 4))]
        if math.prod(sizes) <= most_cells:
            break
    names = [f"c{i}" for i in range(len(sizes))]
    sets = [each for many in range(len(names) + 1) for each in combinations(names, many)]
    chosen = draws.permutation(len(sets))[: draws.integers(1, 5)]
    tables = {f"t{i}": sets[i] for i in chosen}
    leaves = geography.names[-1]
    inside = [name for name in leaves if draws.random() < 0.5]
    districts = {"district": {"d0": tuple(inside)}} if inside else {}
    used = [name for name in names if any(name in columns for columns in tables.values())]
    spec = census.Spec("people", geography, tables, column="area", districts=districts)
    return Layout(spec, tuple(cells(name, sizes[names.index(name)]) for name in used))


def random_noise(draws: np.random.Generator, layout: Layout) -> dict[Measure, float]:
    """Variances of measurements: uneven, with levels left out; every table is measured at the last level."""
    levels = layout.spec.geography.levels
    noise = {(levels[-1], name): float(draws.uniform(0.5, 9)) for name in layout.tables}
    for place in (*levels[:-1], *layout.spec.districts):
        for name in layout.tables:
            if draws.random() < 0.5:
                noise[place, name] = float(draws.uniform(0.5, 9))
    return noise


def random_counts(
    draws: np.random.Generator, layout: Layout, noise: Mapping[Measure, float]
) -> dict[Measure, NDArray[np.int64]]:
    return {
        (place, name): draws.integers(-20, 40, (layout.areas(place), layout.components.cells(layout.tables[name])))
        for place, name in noise
    }


class Dense:
    """Least squares over all cells of all smallest areas at once."""

    def __init__(
        self, layout: Layout, noise: Mapping[Measure, float], counts: Mapping[Measure, NDArray[np.int64]]
    ) -> None:
        self._layout = layout
        rows = [self.matrix(self.areas(place), layout.tables[name]) for place, name in noise]
        precision = np.concatenate(
            [np.full(len(row), 1 / each) for row, each in zip(rows, noise.values(), strict=True)]
        )
        matrix = np.vstack(rows)
        values = np.concatenate([counts[each].ravel() for each in noise])
        self.covariance = np.linalg.pinv(matrix.T @ (precision[:, None] * matrix), rcond=1e-12, hermitian=True)
        self.estimate = self.covariance @ (matrix.T @ (precision * values))

    def areas(self, place: str) -> NDArray[Any]:
        """The smallest areas of each area of a level, or district."""
        geography = self._layout.spec.geography
        if place in geography.levels:
            return geography.tree.sums(np.eye(geography.tree.sizes[-1]))[geography.level(place)]
        rows = np.zeros((self._layout.areas(place), geography.tree.sizes[-1]))
        for i, (name, inside) in enumerate(self._layout.spec.districts[place].items()):
            rows[i, geography.leaves(inside, name)] = 1
        return rows

    def matrix(self, areas: NDArray[Any], columns: Columns) -> NDArray[Any]:
        """The sums over areas and over the columns that a table leaves out."""
        sizes = self._layout.sizes
        each = np.eye(math.prod(sizes)).reshape(-1, *sizes)
        axes = tuple(1 + column for column in range(len(sizes)) if column not in columns)
        return np.kron(areas, each.sum(axis=axes).reshape(len(each), -1).T)
