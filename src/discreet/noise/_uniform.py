"""Whole numbers below n, all equally likely."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.noise._range import size_in_range
from discreet.noise._source import BitSource, SecureBits

__all__ = ["uniform_below", "words_below"]


def uniform_below(n: int, size: int) -> NDArray[np.int64]:
    """`size` independent integers, each uniform on 0 … n − 1, exactly.

    Costs no privacy by itself. Raises `ParameterError` unless n is a whole number from 1 to 2**63 and `size` one of 0
    or more. Source: rejection of random bits; ``proofs/noise.md``, section 7.

    >>> uniform_below(1, 3)
    array([0, 0, 0])
    """
    if isinstance(n, bool) or not isinstance(n, Integral) or not 1 <= n <= 2**63:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"n must be a whole number from 1 to 2**63, got {n!r}")
    return words_below(int(n), size_in_range(size), SecureBits())


def words_below(n: int, size: int, source: BitSource) -> NDArray[np.int64]:
    """The first `size` of many words, cut to the bits of n − 1, that are below n."""
    dtype = np.dtype("<u4" if n <= 1 << 32 else "<u8")
    mask = (1 << (n - 1).bit_length()) - 1
    drawn = np.empty(size, dtype=np.int64)
    done = 0
    while done < size:
        want = size - done
        proposals = want * (mask + 1) // n + want // 16 + 8
        word = np.frombuffer(source.take(dtype.itemsize * proposals), dtype=dtype) & dtype.type(mask)
        some = word[word < n][:want] if n <= mask else word[:want]
        drawn[done : done + some.size] = some
        done += some.size
    return drawn
