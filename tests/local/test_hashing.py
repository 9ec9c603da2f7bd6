"""Public hashes: fixed for ever, and as even as chance."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from discreet.local.frequencies._hash_families import HASH, buckets_of

TEXTS = ["a", "ü", "", "日本"]


def test_the_hashes_of_this_version_never_change() -> None:
    """Clients that are already out there know no other."""
    assert HASH == "blake2b-1"
    assert buckets_of(TEXTS, 0, 1000).tolist() == [263, 784, 931, 291]
    assert buckets_of(TEXTS, 7, 2**32).tolist() == [186505332, 2788875042, 2101273565, 2154767130]
    assert buckets_of(TEXTS, 2**64 - 1, 5).tolist()[:3] == [2, 0, 4]
    assert buckets_of([], 0, 5).tolist() == []


@pytest.mark.parametrize("size", [1, 2, 3, 10_007, 2**31 + 11, 2**32])
def test_the_specification_in_whole_numbers(size) -> None:
    texts = [*TEXTS, "\ud800", *map(str, range(2000))]
    for key in (0, 1, 2**64 - 1):
        words = [
            hashlib.blake2b(
                b"discreet blake2b-1\0" + key.to_bytes(8, "little") + text.encode("utf-8", "surrogatepass"),
                digest_size=8,
            ).digest()
            for text in texts
        ]
        expected = [int.from_bytes(word, "little") * size >> 64 for word in words]
        assert buckets_of(texts, key, size).tolist() == expected


def test_buckets_are_even_and_keys_independent() -> None:
    """Fixed inputs, so fixed results: the test cannot fail by chance."""
    texts = [str(number) for number in range(30_000)]
    one, two = (buckets_of(texts, key, 10) for key in (1, 2))
    held = np.bincount(10 * one + two, minlength=100)
    assert ((held - 300) ** 2 / 300).sum() < 99 + 5 * np.sqrt(2 * 99)
