"""Random orders, all equally likely."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.noise._range import size_in_range
from discreet.noise._source import BitSource, SecureBits

__all__ = ["permutation"]


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
