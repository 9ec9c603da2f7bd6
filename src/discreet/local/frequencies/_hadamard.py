"""Hadamard response: a place in a block of a Hadamard matrix, where the value's row is more often +1 than −1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.local._estimate import Estimate, Floats
from discreet.local._exp_epsilon import exp_epsilon
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local.frequencies._supports import FrequencyScheme, add_cells, no_candidates
from discreet.noise import Draws

__all__ = ["HadamardResponse", "walsh", "walsh_of_floats"]


_MOST = 2**8


def walsh(rows: Integers) -> Integers:
    """Each row r becomes s with s[j] = Σᵢ (−1)^⟨i, j⟩ r[i], where ⟨i, j⟩ counts the bits that i and j share.

    Rows have 2**m entries; m·2**m additions each, no rounding. Source: Fino and Algazi 1976.

    >>> walsh(np.array([[1, 2, 3, 5]])).tolist()
    [[11, -3, -5, 1]]
    """
    count, size = rows.shape
    done = rows.copy()
    half = 1
    while half < size:
        pairs = done.reshape(count, size // (2 * half), 2, half)
        left, right = pairs[:, :, 0], pairs[:, :, 1]
        done = np.stack((left + right, left - right), axis=2).reshape(count, size)
        half *= 2
    return done


def walsh_of_floats(rows: Floats) -> Floats:
    """The same of floats, by products of matrices: more additions in less time.

    >>> walsh_of_floats(np.array([[0.5, 1, 1.5, 2.5]])).tolist()
    [[5.5, -1.5, -2.5, 0.5]]
    """
    size = rows.shape[1]
    done, width = rows, 1
    while width < size:
        step = min(size // width, _MOST)
        if width == 1:
            done = done.reshape(-1, step) @ _signs(step)
        else:
            done = np.matmul(_signs(step), done.reshape(-1, step, width))
        width *= step
    return done.reshape(rows.shape)


@lru_cache(maxsize=_MOST.bit_length())
def _signs(size: int) -> Floats:
    places = np.arange(size)
    return 1 - 2 * (np.bitwise_count(places[:, None] & places) & 1).astype(np.float64)


@dataclass(frozen=True, slots=True, init=False)
class HadamardResponse(FrequencyScheme):
    """Reports one of K = B·b places: B blocks with a place for each column of a Hadamard matrix of b rows.

    A value has a block and a row of it other than the first; places of the block where the row is +1 are e^ε times as
    likely as all others. A report takes ⌈log₂ K⌉ bits, in whole bytes, K < 4d + 4; the server adds 1 to a count for
    each and does one fast transform when it is read. B and b are those of the least variance over the domain. The error
    hardly depends on d; `ProjectiveGeometry` has a lower one for ε above 1. Pure ε-local privacy. Raises
    `ParameterError` for a domain of fewer than 2 or more than 2**24 values and unless 1e-6 ≤ ε ≤ 100.
    Source: Acharya, Sun and Zhang 2019, Sections 5 and 6; ``proofs/local_frequencies.md``, section 4.

    >>> scheme = HadamardResponse(domain=1000, epsilon=2)
    >>> reports = scheme.client().encode([7] * 5000)
    >>> int(scheme.server().add(reports).estimate().frequencies.argmax())
    7
    """

    protocol: ClassVar[str] = "hadamard_response"

    @property
    def blocks(self) -> int:
        """B: values v and v + B share a block."""
        return -(-self.domain.size // (self.columns - 1))

    @property
    def columns(self) -> int:
        """b: a power of two, and the places of a block."""
        return _best_columns(self.domain.size, self.epsilon)

    @property
    def likely(self) -> Fraction:
        """The probability that a report is a place where the sender's row is +1."""
        half, weight = self.columns // 2, exp_epsilon(self.epsilon)
        return half * weight / (half * weight + self.cells - half)

    @property
    def layout(self) -> Layout:
        """The place: block·b + column."""
        return Layout((self.cells,))

    @property
    def cells(self) -> int:
        """One count for each place: K = B·b."""
        return self.blocks * self.columns

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A coin: among the places where the row is +1, or else among all others, uniformly."""
        blocks, columns, half = self.blocks, self.columns, self.columns // 2
        row, block = np.divmod(prepared, blocks)
        row += 1
        likely = draws.coins(self.likely, prepared.size)
        place = np.empty(prepared.size, dtype=np.int64)
        place[likely] = draws.below(half, int(likely.sum()))
        unlikely = draws.below(self.cells - half, prepared.size - int(likely.sum()))
        place[~likely] = unlikely
        away = np.zeros(prepared.size, dtype=np.bool_)
        away[~likely] = unlikely >= half
        in_block = _with_parity(np.where(away, 0, place), row, ~likely) + block * columns
        elsewhere = place - half  # a place of the other blocks, in order
        elsewhere += np.where(elsewhere >= block * columns, columns, 0)
        return self.layout.pack(np.where(away, elsewhere, in_block))

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count the places."""
        add_cells(fields.numbers[0], counts)

    def read(self, counts: Integers, reports: int, candidates: Sequence[str] | None) -> Estimate:
        """The sum over the block of row · count, scaled. ``proofs/local_frequencies.md``, section 4."""
        no_candidates(candidates)
        table = counts.reshape(self.blocks, self.columns)
        row, block = np.divmod(np.arange(self.domain.size), self.blocks)
        shares = (walsh(table)[block, row + 1] * (self._scale / reports)).astype(np.float64)
        held = table.sum(axis=1)[block] / reports
        squares = np.maximum(held * self._scale**2 - np.clip(shares, 0, 1), 0)
        return Estimate(self.domain, reports, shares, np.sqrt(squares / reports))

    def variance(self, frequencies: ArrayLike) -> Floats:
        """The variance of each estimate, times n; it depends on what else is in the value's block."""
        shares = self._shares(frequencies)
        block = np.arange(self.domain.size) % self.blocks
        own = np.bincount(block, weights=shares, minlength=self.blocks)[block]
        half, weight = self.columns // 2, float(exp_epsilon(self.epsilon))
        total = half * weight + self.cells - half
        scale = self._scale
        in_block = own * half * (weight + 1) / total + (1 - own) * 2 * half / total
        return in_block * scale**2 - shares

    @property
    def _scale(self) -> float:
        half, weight = self.columns // 2, exp_epsilon(self.epsilon)
        return float((half * weight + self.cells - half) / (half * (weight - 1)))


def _with_parity(number: Integers, row: Integers, odd: NDArray[np.bool_]) -> Integers:
    """The bits of `number` and one more, put in at the lowest bit of `row`, which makes ⟨column, row⟩ odd or even.

    For each parity this is one to one from 0 … b/2 − 1 to the columns of that parity.
    """
    bit = row & -row
    low = number & (bit - 1)
    column = ((number ^ low) << 1) | low
    parity = (np.bitwise_count(column & row) & 1).astype(np.bool_)
    return column | np.where(parity != odd, bit, 0)


@lru_cache(maxsize=256)
def _best_columns(size: int, epsilon: Fraction) -> int:
    """The power of two with the least variance, on average over the domain.

    Clients and servers choose in exact arithmetic, so that they agree.
    """
    gain = exp_epsilon(epsilon) - 1

    def variance(columns: int) -> Fraction:
        half, blocks = columns // 2, -(-size // (columns - 1))
        total = half * gain + blocks * columns
        return (columns + half * gain / blocks) / total * (total / (half * gain)) ** 2

    return min((2**m for m in range(1, (size + 1).bit_length() + 1)), key=variance)
