"""Marginals that are wanted of one table, and the residuals that they are made of.

A marginal over columns B is a sum over the subsets A of B: its residual on A, which is centred along each column of A,
spread evenly over the other columns of B. Residuals of different sets are orthogonal, so that each has noise of its own
and the variance of a cell of a marginal is a sum of theirs. See ``proofs/residual_marginals.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError

__all__ = ["Columns", "Lattice", "Numbers"]

Columns = tuple[int, ...]
"""Places of columns, rising."""
Numbers = NDArray[np.float64]
_MOST_RESIDUALS = 2**20
_MOST_PARTS = 2**24


@dataclass(frozen=True)
class _Block:
    """The marginals of so many columns: their places, their residuals, and what share of each a cell's variance has."""

    marginals: NDArray[np.int64]
    residuals: NDArray[np.int64]
    shares: Numbers


@dataclass(frozen=True)
class Lattice:
    """The residuals of marginals over columns of these sizes.

    Raises `ParameterError` for no marginals, one that is listed twice, columns that are not there, and for more
    residuals than can be measured.

    >>> import numpy as np
    >>> lattice = Lattice((2, 3), ((0, 1), (1,)))
    >>> lattice.residuals
    ((), (0,), (1,), (0, 1))
    >>> lattice.variances(np.ones(4)).round(4)
    array([0.5833, 0.7778])
    """

    sizes: tuple[int, ...]
    marginals: tuple[Columns, ...]

    def __post_init__(self) -> None:
        places = range(len(self.sizes))
        if not self.marginals or len(set(self.marginals)) < len(self.marginals):
            raise ParameterError("name at least one marginal, and none twice")
        if any(list(each) != sorted(set(each) & set(places)) for each in self.marginals):
            raise ParameterError("a marginal has places of columns that are there, rising")
        if sum(2 ** len(self.core(each)) for each in self.marginals) > _MOST_PARTS or (
            len(self.residuals) > _MOST_RESIDUALS
        ):
            raise ParameterError(
                f"these marginals have over {_MOST_RESIDUALS:,} sets of columns in them; name fewer or narrower ones"
            )

    def core(self, columns: Iterable[int]) -> Columns:
        """Those of the columns that have more than one cell: the others hold nothing."""
        return tuple(column for column in columns if self.sizes[column] > 1)

    def shape(self, columns: Iterable[int]) -> tuple[int, ...]:
        """How many cells each of the columns has."""
        return tuple(self.sizes[column] for column in columns)

    def cells(self, columns: Iterable[int]) -> int:
        """How many cells a marginal over columns has."""
        return math.prod(self.shape(columns))

    @cached_property
    def residuals(self) -> tuple[Columns, ...]:
        """The sets of columns that have a residual in a marginal: the smaller first."""
        sets = {()} | {subset for each in self.marginals for subset in _subsets(self.core(each))}
        return tuple(sorted(sets, key=lambda each: (len(each), each)))

    @cached_property
    def places(self) -> dict[Columns, int]:
        """The place of each residual."""
        return {each: place for place, each in enumerate(self.residuals)}

    def parts(self, columns: Sequence[int]) -> tuple[Columns, ...]:
        """The residuals that a marginal over columns is made of."""
        return tuple(_subsets(self.core(columns)))

    @cached_property
    def _blocks(self) -> tuple[_Block, ...]:
        cores = [self.core(each) for each in self.marginals]
        by_width: dict[int, list[int]] = {}
        for place, core in enumerate(cores):
            by_width.setdefault(len(core), []).append(place)
        return tuple(self._block(width, places, cores) for width, places in sorted(by_width.items()))

    def _block(self, width: int, marginals: list[int], cores: list[Columns]) -> _Block:
        index = self.places
        residuals = np.array([[index[part] for part in _subsets(cores[place])] for place in marginals], np.int64)
        columns = np.array([cores[place] for place in marginals], np.int64).reshape(len(marginals), width)
        sizes = np.array(self.sizes, float)[columns]
        shares = np.ones((len(marginals), 2**width))
        for part, chosen in enumerate(_subsets(tuple(range(width)))):
            for column in range(width):
                each = sizes[:, column]
                shares[:, part] *= 1 - 1 / each if column in chosen else 1 / each**2
        return _Block(np.array(marginals, np.int64), residuals, shares)

    def variances(self, noise: Numbers) -> Numbers:
        """The variance of a cell of each marginal, from those of the noise of each residual."""
        variances = np.empty(len(self.marginals))
        for block in self._blocks:
            variances[block.marginals] = (noise[block.residuals] * block.shares).sum(axis=1)
        return variances

    def pull_back(self, weights: Numbers) -> Numbers:
        """How much the noise of each residual adds to the weighted sum of the marginals' variances."""
        total = np.zeros(len(self.residuals))
        for block in self._blocks:
            added = block.shares * weights[block.marginals][:, None]
            total += np.bincount(block.residuals.ravel(), added.ravel(), len(total))
        return total


def _subsets(columns: Columns) -> Iterable[Columns]:
    """All subsets, the smaller first."""
    return (each for width in range(len(columns) + 1) for each in combinations(columns, width))
