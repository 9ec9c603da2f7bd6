"""Noisy degrees become a sequence that some graph has."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pytest

from discreet.graphs.edge import graphical, sorted_degrees


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5])
def test_every_falling_sequence_becomes_graphical_and_stays_if_it_is(n: int) -> None:
    for degrees in product(range(max(n, 1)), repeat=n):
        if list(degrees) == sorted(degrees, reverse=True):
            near = graphical(np.array(degrees, np.int64))
            assert nx.is_graphical(near.tolist())
            assert (np.diff(near) <= 0).all()
            if nx.is_graphical(degrees):
                assert near.tolist() == list(degrees)


def test_random_sequences_become_graphical() -> None:
    draws = np.random.default_rng(2)
    for _ in range(300):
        n = int(draws.integers(2, 60))
        degrees = np.sort((n - 1) * draws.random(n) ** draws.choice([0.2, 1, 4]))[::-1].round().astype(np.int64)
        near = graphical(degrees)
        assert nx.is_graphical(near.tolist())
        assert (np.diff(near) <= 0).all()


def test_noise_is_pooled_away() -> None:
    """Hay and others: runs of equal degrees are averaged. Seeded, so without a false alarm."""
    draws = np.random.default_rng(3)
    degrees = np.repeat([40, 10, 3], [5, 200, 800]).astype(np.int64)
    noisy = degrees + np.rint(draws.laplace(0, 4, degrees.size)).astype(np.int64)
    assert np.abs(sorted_degrees(noisy) - degrees).mean() < 0.2 < np.abs(noisy - degrees).mean() / 10
