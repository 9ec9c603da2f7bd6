"""Plain random bits, for decisions and for salts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.noise._range import size_in_range
from discreet.noise._source import SecureBits

__all__ = ["secret", "uniform64"]


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
