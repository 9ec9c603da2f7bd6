"""C⁻¹ applied to noise, a step at a time, in whole numbers: exact at any size, and quick where 64 bits hold them."""

from __future__ import annotations

import math
from collections import deque
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.learn.correlated._prefix_error import inverse_column
from discreet.learn.correlated._strategies import (
    GUARD,
    PLACES,
    WEIGHT_PLACES,
    BandedToeplitz,
    Blt,
    Independent,
    Strategy,
)

__all__ = ["Filter", "filter_for", "most_sigma"]

Integers = NDArray[Any]
"""Whole numbers, as int64 or as Python ints."""

_HOLDS = 1 << 62
_CHUNK = 1 << 14
_FAR = 16
"""Noise beyond so many standard deviations (10**−56 of it) takes the slow way, which is as exact."""


class Filter(Protocol):
    """What turns independent noise z into w = C⁻¹·z, rounded: w_t = z_t − round(Σ cⱼ w_{t−j})."""

    def step(self, noise: Integers) -> Integers:
        """The next w, for the next z. May write into z."""
        ...

    def skip(self) -> None:
        """A step whose w is lost, and counts as 0 from then on."""
        ...

    def rows(self) -> Integers:
        """What is kept, a row for each of the strategy's numbers of state."""
        ...


def filter_for(strategy: Strategy, rows: Integers) -> Filter:
    """A filter that goes on from these rows; all 0 for a fresh one."""
    match strategy:
        case Independent():
            return _Plain(rows)
        case BandedToeplitz():
            return _Banded(strategy, rows)
        case Blt():
            return _Buffered(strategy, rows)


def most_sigma(strategy: Strategy, steps: int) -> float:
    """The largest standard deviation, on the grid of the noise, up to which 64 bits hold all but far noise."""
    if isinstance(strategy, Independent):
        return _HOLDS / _FAR
    inverse = inverse_column(strategy.column(steps))
    entry = float(np.abs(inverse).sum())
    if isinstance(strategy, BandedToeplitz):
        return _HOLDS / (_FAR * entry * sum(map(abs, strategy.numerators)))
    totals: list[float] = []
    for gap, shift in strategy.gaps:
        powers = (1 - gap / 2**shift) ** np.arange(steps)
        width = 2 * steps
        filtered = np.fft.irfft(np.fft.rfft(inverse, width) * np.fft.rfft(powers, width), width)[:steps]
        totals.append(float(np.abs(filtered).sum()) * 2**GUARD)
    weighted = sum(weight * total for weight, total in zip(strategy.weights, totals, strict=True)) / 2**GUARD
    largest = max(gap * total for (gap, _), total in zip(strategy.gaps, totals, strict=True))
    return _HOLDS / (_FAR * max(weighted, largest, entry * 2**GUARD))


class _Plain:
    """Noise as it is."""

    def __init__(self, rows: Integers) -> None:
        self._rows = rows

    def step(self, noise: Integers) -> Integers:
        return noise

    def skip(self) -> None:
        pass

    def rows(self) -> Integers:
        return self._rows


class _Banded:
    """Keeps the last w, newest first."""

    def __init__(self, strategy: BandedToeplitz, rows: Integers) -> None:
        self._factors, self._width = strategy.numerators[1:], rows.shape[1]
        self._sum = sum(map(abs, self._factors))
        self._past = deque(rows.copy(), maxlen=len(self._factors))
        self._sizes = deque(map(_size, self._past), maxlen=len(self._factors))
        self._is_wide = rows.dtype == np.object_

    def step(self, noise: Integers) -> Integers:
        largest = max(self._sizes, default=0) * self._sum + _size(noise) + (1 << PLACES)
        if largest >= _HOLDS and not self._is_wide:
            self._is_wide = True
            self._past = deque((row.astype(object) for row in self._past), maxlen=len(self._factors))
        if self._is_wide:
            noise = noise.astype(object)
        half = 1 << PLACES - 1
        for chunk in _chunks(noise.size):
            past = np.full_like(noise[chunk], half)
            for factor, row in zip(self._factors, self._past, strict=True):
                past += factor * row[chunk]
            past >>= PLACES
            noise[chunk] -= past
        self._push(noise)
        return noise

    def skip(self) -> None:
        self._push(np.zeros(self._width, dtype=object if self._is_wide else np.int64))

    def rows(self) -> Integers:
        rows = np.zeros((len(self._factors), self._width), dtype=object if self._is_wide else np.int64)
        for row, past in zip(rows, self._past, strict=True):
            row[:] = past
        return rows

    def _push(self, row: Integers) -> None:
        self._past.appendleft(row)
        self._sizes.appendleft(_size(row))


class _Buffered:
    """Keeps sᵢ = Σⱼ λᵢ^(j−1) w_{t−j}, with 2**−GUARD of a step of rounding each time."""

    def __init__(self, strategy: Blt, rows: Integers) -> None:
        self._strategy = strategy
        self._buffers = list(rows.copy())

    def step(self, noise: Integers) -> Integers:
        self._widen(_size(noise))
        noise = noise.astype(self._buffers[0].dtype, copy=False)
        half = 1 << WEIGHT_PLACES - 1
        for chunk in _chunks(noise.size):
            past = np.full_like(noise[chunk], half)
            for weight, buffer in zip(self._strategy.weights, self._buffers, strict=True):
                past += weight * (buffer[chunk] >> GUARD)
            past >>= WEIGHT_PLACES
            noise[chunk] -= past
            fine = noise[chunk] << GUARD
            for (gap, places), buffer in zip(self._strategy.gaps, self._buffers, strict=True):
                buffer[chunk] -= gap * buffer[chunk] >> places
                buffer[chunk] += fine
        return noise

    def skip(self) -> None:
        self._widen(0)
        for (gap, places), buffer in zip(self._strategy.gaps, self._buffers, strict=True):
            for chunk in _chunks(buffer.size):
                buffer[chunk] -= gap * buffer[chunk] >> places

    def rows(self) -> Integers:
        return np.array(self._buffers)

    def _widen(self, size: int) -> None:
        """Go over to Python ints where the next step may pass 64 bits."""
        sizes = list(map(_size, self._buffers))
        weighted = sum(
            weight * ((each >> GUARD) + 1) for weight, each in zip(self._strategy.weights, sizes, strict=True)
        )
        largest = max(gap * each for (gap, _), each in zip(self._strategy.gaps, sizes, strict=True))
        fresh = max(sizes) + (size + (weighted >> WEIGHT_PLACES) + 2 << GUARD)
        if max(weighted + (1 << WEIGHT_PLACES), largest, fresh) >= _HOLDS:
            self._buffers = [buffer.astype(object) for buffer in self._buffers]


def _size(row: Integers) -> int:
    """The largest magnitude in a row, as a Python int."""
    return max(int(row.max()), -int(row.min())) if row.size else 0


def _chunks(size: int) -> list[slice]:
    """Parts of a row that stay in the processor's cache."""
    return [slice(k * _CHUNK, (k + 1) * _CHUNK) for k in range(math.ceil(size / _CHUNK))]
