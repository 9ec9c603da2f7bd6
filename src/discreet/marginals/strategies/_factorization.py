"""Near-optimal factorisations for Gaussian noise: the square root of a workload's Gram matrix, with equal columns.

A strategy A with the Gram matrix C V^(1/2) C, where V is that of the workload and C makes its diagonal 1, is within a
few per cent of the SVD bound for ranges and prefixes. What is measured is A times a whole number, rounded:
exact sums of integers, whose columns are no longer than `COLUMN_NORM`. ``proofs/range_factorizations.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.marginals.strategies._workload import Workload

__all__ = ["COLUMN_NORM", "Factorization", "factorized", "longest_column"]

Numbers = NDArray[np.float64]
COLUMN_NORM = 2**15
"""The L2 norm that no column of the integer strategy exceeds: the sensitivity to one row of data."""
_AT_ONCE = 256
_TURNS = 60
_EXACT = 1e-13
_MOST_DENSE = 2_048
_MOST_CELLS = 10_000
_WEIGHED, _WORK = 60, 2**31


@dataclass(frozen=True, eq=False)
class Factorization:
    """The strategy of a workload, as a square matrix of whole numbers with a row for each measurement.

    Raises `ParameterError` for more cells than it is made for, or if a column would be too long.
    """

    workload: Workload
    rows: NDArray[np.int32] = field(init=False)

    def __post_init__(self) -> None:
        workload = self.workload
        most = _MOST_DENSE if workload.kind == "queries" else _MOST_CELLS
        if workload.cells > most:
            raise ParameterError(f"a workload of this kind has at most {most:,} cells under Gaussian noise")
        rows = np.empty((workload.cells,) * 2, np.int32)
        for begin, block in self._blocks():
            rows[begin : begin + len(block)] = np.rint(block)
        if longest_column(rows) > COLUMN_NORM**2:
            raise ParameterError("a column of the strategy is too long; report this as a bug of discreet")
        object.__setattr__(self, "rows", rows)

    @cached_property
    def _root(self) -> _Sines | _Dense:
        return _Dense(self.workload) if self.workload.kind == "queries" else _Sines(self.workload)

    @cached_property
    def _columns(self) -> Numbers:
        """What each column is multiplied with: longest before rounding, so that no rounding makes it too long."""
        room = COLUMN_NORM - np.sqrt(self.workload.cells) / 2 - 1
        return room / np.sqrt(self._root.diagonal(0.5))

    def _blocks(self) -> Iterator[tuple[int, Numbers]]:
        for begin in range(0, self.workload.cells, _AT_ONCE):
            stop = min(begin + _AT_ONCE, self.workload.cells)
            yield begin, self._root.rows(0.25, begin, stop) * self._columns

    def measured(self, counts: NDArray[Any]) -> list[int]:
        """The exact whole numbers that are measured, of whole counts."""
        exact, integers = list[int](), np.asarray(counts, np.int64)
        for begin in range(0, len(self.rows), _AT_ONCE):
            exact.extend((self.rows[begin : begin + _AT_ONCE].astype(np.int64) @ integers).tolist())
        return exact

    def _times(self, vector: Numbers, *, transposed: bool) -> Numbers:
        out = np.zeros(len(vector))
        for begin in range(0, len(vector), _AT_ONCE):
            block = self.rows[begin : begin + _AT_ONCE].astype(np.float64)
            if transposed:
                out += vector[begin : begin + _AT_ONCE] @ block
            else:
                out[begin : begin + _AT_ONCE] = block @ vector
        return out

    def _solve(self, right: Numbers, *, transposed: bool) -> Numbers:
        """Solve with the integer matrix: what rounding changed is corrected by turns."""
        solution, missed = np.zeros(len(right)), right
        for _ in range(_TURNS):
            if transposed:
                step = self._root.times(-0.25, missed / self._columns)
            else:
                step = self._root.times(-0.25, missed) / self._columns
            solution = solution + step
            if np.abs(step).max() <= _EXACT * np.abs(solution).max():
                break
            missed = right - self._times(solution, transposed=transposed)
        return solution

    def estimate(self, measured: Numbers) -> Numbers:
        """The unbiased counts, from what was measured: the only linear solution, as there are as many as cells."""
        return self._solve(np.asarray(measured, np.float64), transposed=False)

    def variance(self, query: Numbers) -> float:
        """The variance of a linear query's estimate, by noise of variance 1 in each measurement."""
        return float((self._solve(np.asarray(query, np.float64), transposed=True) ** 2).sum())

    @cached_property
    def mean_variance(self) -> float:
        """The mean variance of the workload's queries by noise of variance 1, before rounding to integers."""
        workload, total = self.workload, 0.0
        gram = _Gram(workload)
        for begin in range(0, workload.cells, _AT_ONCE):
            stop = min(begin + _AT_ONCE, workload.cells)
            inverse = self._root.rows(-0.5, begin, stop) / self._columns
            total += float((inverse * gram.rows(begin, stop) / self._columns[begin:stop, None]).sum())
        return total / workload.count


def longest_column(rows: NDArray[np.int32]) -> int:
    """The square of the L2 norm of the longest column, exact.

    >>> longest_column(np.array([[3, 0], [4, 1]], np.int32))
    25
    """
    squared = np.zeros(rows.shape[1], np.int64)
    for begin in range(0, len(rows), _AT_ONCE):
        squared += (rows[begin : begin + _AT_ONCE].astype(np.int64) ** 2).sum(axis=0)
    return int(squared.max())


@lru_cache(maxsize=1)
def factorized(workload: Workload) -> Factorization:
    """The factorisation of a workload; that of the last one is remembered."""
    return Factorization(workload)


class _Gram:
    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._dense = workload.gram() if workload.kind == "queries" else None

    def rows(self, begin: int, stop: int) -> Numbers:
        if self._dense is not None:
            return self._dense[begin:stop]
        own, at = np.arange(begin, stop), np.arange(self._workload.cells)
        after = self._workload.cells - np.maximum.outer(own, at)
        return (after * (np.minimum.outer(own, at) + 1 if self._workload.kind == "ranges" else 1)).astype(np.float64)


class _Sines:
    """Powers of the Gram matrix of ranges or prefixes, by its eigenvectors, which are sines."""

    def __init__(self, workload: Workload) -> None:
        n = workload.cells
        self._cells, self._is_reversed = n, workload.kind == "prefixes"
        self._length = 2 * (2 * n + 1) if self._is_reversed else 2 * (n + 1)
        k = np.arange(1, n + 1)
        self._frequencies = 2 * k - 1 if self._is_reversed else k
        self._doubled = 2 if self._is_reversed else 1
        self._eigenvalues = workload.singular_values**2

    def _cosines(self, power: float) -> Numbers:
        """Sums of powers of eigenvalues times cosines, scaled so that differences of two are entries of the matrix."""
        spectrum = np.zeros(self._length)
        spectrum[self._frequencies] = self._eigenvalues**power
        return np.asarray(np.fft.fft(spectrum).real) * (2 / self._length * self._doubled)

    def rows(self, power: float, begin: int, stop: int) -> Numbers:
        """Some rows of the matrix to a power."""
        cosines, n = self._cosines(power), self._cells
        own, at = np.arange(begin, stop)[:, None], np.arange(n)
        if self._is_reversed:
            own, at = n - 1 - own, n - 1 - at
        return cosines[np.abs(own - at)] - cosines[own + at + 2]

    def diagonal(self, power: float) -> Numbers:
        """The diagonal of the matrix to a power."""
        cosines, at = self._cosines(power), np.arange(self._cells)
        diagonal = cosines[0] - cosines[2 * at + 2]
        return diagonal[::-1] if self._is_reversed else diagonal

    def times(self, power: float, vector: Numbers) -> Numbers:
        """The matrix to a power, times a vector, by two Fourier transforms."""
        n = self._cells
        padded = np.zeros(self._length)
        padded[1 : n + 1] = vector[::-1] if self._is_reversed else vector
        spectrum = np.zeros(self._length)
        spectrum[self._frequencies] = -np.fft.fft(padded).imag[self._frequencies] * self._eigenvalues**power
        out = -np.fft.fft(spectrum).imag[1 : n + 1] * (4 / self._length * self._doubled)
        return out[::-1] if self._is_reversed else out


class _Dense:
    """Powers of a weighted Gram matrix of listed queries, by its eigenvectors.

    The weights of cells are those of the best strategy with columns of one length, by fixed-point steps: Denisov,
    McMahan, Rush, Smith and Thakurta 2022, Theorem 3.2. Few steps are near enough, and any weights are a strategy.
    """

    def __init__(self, workload: Workload) -> None:
        gram, weights = workload.padded_gram(), np.ones(workload.cells)
        for _ in range(min(_WEIGHED, max(_WORK // workload.cells**3, 1))):
            values, self._vectors = np.linalg.eigh(np.sqrt(weights)[:, None] * gram * np.sqrt(weights))
            self._eigenvalues = np.maximum(values, values.max() * 1e-12)
            weights = self.diagonal(0.5)
            weights = weights / weights.mean()

    def rows(self, power: float, begin: int, stop: int) -> Numbers:
        """Some rows of the matrix to a power."""
        return (self._vectors[begin:stop] * self._eigenvalues**power) @ self._vectors.T

    def diagonal(self, power: float) -> Numbers:
        """The diagonal of the matrix to a power."""
        return (self._vectors**2) @ self._eigenvalues**power

    def times(self, power: float, vector: Numbers) -> Numbers:
        """The matrix to a power, times a vector."""
        return self._vectors @ (self._eigenvalues**power * (self._vectors.T @ vector))
