"""Whole numbers below n, all equally likely."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.noise._source import BitSource, SecureBits
from discreet.rational import Number, decimal_text, rational

__all__ = [
    "MAX_SCALE",
    "MIN_SCALE",
    "packed_subsets_from",
    "permutation",
    "scale_in_range",
    "secret",
    "size_in_range",
    "uniform64",
    "uniform_below",
    "words_below",
]


MIN_SCALE = Fraction(1, 1000)
"""The least scale or sigma: below it, noise is zero but for one draw in e^1000."""

MAX_SCALE = Fraction(2**56)
"""The largest scale or sigma, about 7.2e16."""


def scale_in_range(value: Number, name: str) -> Fraction:
    """The exact scale or sigma, called `name` in errors. Costs no privacy.

    Raises `ParameterError` unless it is between `MIN_SCALE` and `MAX_SCALE`. Source: the ranges proved in
    ``proofs/noise.md``.

    >>> scale_in_range(0.1, "scale")
    Fraction(1, 10)
    """
    exact = rational(value, name)
    if not MIN_SCALE <= exact <= MAX_SCALE:
        shown = decimal_text(exact) if abs(exact) < 10**300 else "a larger number"
        raise ParameterError(f"{name} must be between 0.001 and 2**56 (about 7.2e16), got {shown}")
    return exact


def size_in_range(value: int, name: str = "size") -> int:
    """The size as an int, or a `ParameterError`."""
    if isinstance(value, bool) or not isinstance(value, Integral):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParameterError(f"{name} must be a whole number, 0 or more, got {value!r}")
    if value < 0:
        raise ParameterError(f"{name} must be a whole number, 0 or more, got {value}")
    return int(value)


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


def permutation(size: int) -> NDArray[np.int64]:
    """The numbers 0 … size − 1 in a random order, each of the size! orders with the same probability, exactly.

    Costs no privacy by itself. Raises `ParameterError` unless `size` is a whole number, 0 or more.
    Source: the order of independent keys, drawn until all differ; ``proofs/noise.md``, section 7.

    >>> sorted(permutation(3).tolist()), permutation(0).tolist()
    ([0, 1, 2], [])
    """
    return _permutation(size_in_range(size), SecureBits())


def _permutation(size: int, source: BitSource) -> NDArray[np.int64]:
    while True:
        keys = np.frombuffer(source.take(8 * size), dtype="<u8")
        order = np.argsort(keys).astype(np.int64)
        ranked = keys[order]
        if not bool((ranked[1:] == ranked[:-1]).any()):
            return order


_KEYS_AT_ONCE = 1 << 18


def packed_subsets_from(n: int, size: int, rows: int, source: BitSource) -> NDArray[np.uint8]:
    """Those of n independent keys that are the `size` smallest; drawn anew where that is no set, for a tie."""
    packed = np.zeros((rows, -(-n // 8)), dtype=np.uint8)
    if size == 0:
        return packed
    if size == n:
        packed[:] = np.packbits(np.ones(n, dtype=np.bool_), bitorder="little")
        return packed
    step = max(1, _KEYS_AT_ONCE // n)
    for start in range(0, rows, step):
        left = np.arange(start, min(start + step, rows))
        while left.size:
            keys = np.frombuffer(source.take(4 * n * left.size), dtype="<u4").reshape(left.size, n)
            ranked = np.sort(keys, axis=1)
            settled = ranked[:, size - 1] < ranked[:, size]
            packed[left[settled]] = np.packbits((keys < ranked[:, size, None])[settled], axis=1, bitorder="little")
            left = left[~settled]
    return packed


def uniform64(size: int) -> NDArray[np.uint64]:
    """`size` independent integers, each uniform on 0 … 2**64 − 1.

    Costs no privacy by itself. Raises `ParameterError` if `size` is not a whole number, 0 or more.
    Source: AES-256-CTR under a fresh key from the operating system.

    >>> uniform64(3).dtype
    dtype('uint64')
    """
    count = size_in_range(size)
    return np.frombuffer(SecureBits().take(8 * count), dtype="<u8").astype(np.uint64)


def secret(nbytes: int) -> bytes:
    """`nbytes` unpredictable bytes, for a salt or a key.

    Costs no privacy by itself. Raises `ParameterError` if `nbytes` is not a whole number, 0 or more.
    Source: as `uniform64`.

    >>> len(secret(16))
    16
    """
    return SecureBits().take(size_in_range(nbytes, "nbytes"))
