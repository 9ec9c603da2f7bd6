"""Subsets of a given size: key by key where keys can be scripted; the rest fail by chance with probability 1e-12."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product
from math import comb

import numpy as np
import pytest
from scipy import stats

from discreet.noise import Draws, fresh_draws, remembered_draws


def keys(*values: int) -> bytes:
    return b"".join(value.to_bytes(4, "little") for value in values)


def members(packed: np.ndarray, n: int) -> list[tuple[int, ...]]:
    bits = np.unpackbits(packed, axis=1, bitorder="little")
    assert not bits[:, n:].any()
    return [tuple(np.flatnonzero(row).tolist()) for row in bits]


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_every_set_has_the_same_number_of_orders_of_keys(size, scripted) -> None:
    """Distinct keys are equally likely in every order, so all sets are equally likely."""
    orders = list(permutations([0, 7, 2**31, 2**32 - 2, 2**32 - 1]))
    script = b"".join(keys(*order) for order in orders)
    found = Counter(members(Draws(scripted(script)).packed_subsets(5, size, len(orders)), 5))
    assert len(found) == comb(5, size)
    assert set(found.values()) == {len(orders) // comb(5, size)}


@pytest.mark.parametrize("size", [1, 2, 3])
def test_rows_with_a_tie_at_the_edge_are_drawn_again_and_no_others(size, scripted) -> None:
    """All keys of two bits, in one batch: what is accepted at once is spread evenly, and what is not is drawn later."""
    every = list(product(range(4), repeat=4))
    tied = [sorted(row)[size - 1] == sorted(row)[size] for row in every]
    later = keys(3, 2, 1, 0) * sum(tied)
    found = members(Draws(scripted(b"".join(keys(*row) for row in every) + later)).packed_subsets(4, size, 256), 4)
    for row, again, held in zip(every, tied, found, strict=True):
        if again:
            assert held == tuple(range(4 - size, 4))
        else:
            assert len(held) == size
            assert max(row[i] for i in held) < min(row[i] for i in range(4) if i not in held)
    settled = Counter(held for again, held in zip(tied, found, strict=True) if not again)
    assert len(settled) == comb(4, size)
    assert len(set(settled.values())) == 1


@pytest.mark.parametrize("n", [1, 8, 13])
def test_nothing_is_drawn_for_none_and_for_all(n) -> None:
    draws = Draws(None)  # pyright: ignore[reportArgumentType]
    assert members(draws.packed_subsets(n, 0, 3), n) == [()] * 3
    assert members(draws.packed_subsets(n, n, 3), n) == [tuple(range(n))] * 3


@pytest.mark.parametrize(("n", "size"), [(9, 4), (8, 1), (1000, 999), (30_000, 77), (300_000, 100_000)])
def test_sizes_are_exact_and_rows_are_filled(n, size) -> None:
    found = fresh_draws().packed_subsets(n, size, 9)
    assert found.shape == (9, -(-n // 8))
    assert [len(held) for held in members(found, n)] == [size] * 9
    assert fresh_draws().packed_subsets(n, size, 0).shape == (0, -(-n // 8))


def test_frequency_of_sets() -> None:
    counts = Counter(members(fresh_draws().packed_subsets(6, 3, 40_000), 6))
    assert len(counts) == 20
    assert stats.chisquare(list(counts.values())).pvalue > 1e-12


def test_frequency_of_members_of_large_sets() -> None:
    """Even numbers are half of the members, and a number is with the next one in the same set in one of 11."""
    bits = np.unpackbits(fresh_draws().packed_subsets(2000, 600, 1000), axis=1, bitorder="little")
    assert stats.norm.sf(abs(int(bits[:, ::2].sum()) - 300_000) / np.sqrt(1000 * 600 * 1400 / (4 * 1999))) > 1e-12
    together = int((bits[:, ::2] & bits[:, 1::2]).sum())
    expected = 1_000_000 * 600 * 599 / (2000 * 1999)
    assert stats.norm.sf(abs(together - expected) / np.sqrt(expected)) > 1e-12


def test_a_secret_remembers_its_subsets() -> None:
    """What clients have drawn must never change: these numbers are part of the format."""
    draws = remembered_draws(bytes(range(32)), b"colour")
    assert draws.packed_subsets(20, 7, 2).tolist() == [[12, 40, 11], [212, 26, 0]]
