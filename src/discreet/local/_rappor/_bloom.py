"""Bloom filters of texts: which bits a text sets, in each cohort."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.local._frequencies._hashing import buckets_of
from discreet.local._layout import Bytes, Integers

if TYPE_CHECKING:
    from scipy.sparse import csc_array

__all__ = ["bloom_columns", "bloom_rows"]


def bloom_rows(texts: NDArray[Any], cohorts: Integers, bits: int, hashes: int) -> Bytes:
    """The filter of each text in its own cohort, as packed bits: of shape (texts, ⌈bits/8⌉).

    Bit `buckets_of(text, key=cohort·hashes + i, bits)` is set for i from 0 to hashes − 1. Each text is hashed once in
    each cohort that it is in.
    """
    places: dict[str, int] = {}
    codes = np.fromiter((places.setdefault(text, len(places)) for text in texts), dtype=np.int64, count=len(texts))
    known = np.array([*places, ""], dtype=object)
    pairs, which = np.unique(cohorts * (len(places) + 1) + codes, return_inverse=True)
    cohort, code = np.divmod(pairs, len(places) + 1)
    rows = np.zeros((len(pairs), -(-bits // 8)), dtype=np.uint8)
    ends = np.flatnonzero(np.diff(cohort, append=-1)) + 1
    start = 0
    for end in ends.tolist():
        some = known[code[start:end]].tolist()
        for places_of_one in _hashed(some, int(cohort[start]), bits, hashes):
            rows[np.arange(start, end), places_of_one >> 3] |= (1 << (places_of_one & 7)).astype(np.uint8)
        start = end
    return rows[which]


def bloom_columns(texts: Sequence[str], cohorts: Iterable[int], bits: int, hashes: int) -> csc_array:
    """The filters of each text in these cohorts, one below the other: a column of zeros and ones for each text."""
    from scipy.sparse import csc_array

    places = [at * bits + found for at, cohort in enumerate(cohorts) for found in _hashed(texts, cohort, bits, hashes)]
    rows = np.sort(np.array(places), axis=0)
    kept = np.diff(rows, axis=0, prepend=-1) > 0
    ends = np.concatenate(([0], np.cumsum(kept.sum(axis=0))))
    shape = (len(places) // hashes * bits, len(texts))
    return csc_array((np.ones(ends[-1]), rows.T[kept.T], ends), shape=shape)


def _hashed(texts: Sequence[str], cohort: int, bits: int, hashes: int) -> Iterable[Integers]:
    return (buckets_of(texts, cohort * hashes + i, bits) for i in range(hashes))
