"""The exact ε of each protocol, by enumeration of all lists of up to 6 vertices and of all that is released."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb, exp, log

import numpy as np
import pytest
from numpy.typing import NDArray

from discreet.graphs.local import LocalDegrees, LocalEdges, LocalStars, LocalTriangles
from discreet.graphs.local._degrees import cap_for
from discreet.graphs.local._randomized_lists import GRID, flip_probability
from discreet.graphs.local._triangles import corrected_count
from discreet.privacy import parts

SIZE = 6
PAIRS = list(combinations(range(SIZE), 2))
EPSILONS = [Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4)]


def lists() -> list[tuple[int, ...]]:
    return [tuple(j for j in range(SIZE) if code >> j & 1) for code in range(1 << SIZE)]


def neighbouring_codes() -> list[tuple[int, int]]:
    return [(code, code | 1 << j) for code in range(1 << SIZE) for j in range(SIZE) if not code >> j & 1]


def list_probability(code: int, out: int, flip: Fraction) -> Fraction:
    flipped = (code ^ out).bit_count()
    return flip**flipped * (1 - flip) ** (SIZE - flipped)


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_randomised_lists(epsilon: Fraction) -> None:
    flip = LocalEdges(SIZE + 1, epsilon).flip
    largest = max(
        list_probability(a, out, flip) / list_probability(b, out, flip)
        for pair in neighbouring_codes()
        for a, b in (pair, pair[::-1])
        for out in range(0, 1 << SIZE, 5)
    )
    assert largest == (1 - flip) / flip
    assert epsilon - Fraction(1, 500) < Fraction(log(largest)) <= epsilon
    assert flip - Fraction(1, GRID) < 1 / (1 + exp(epsilon)) <= flip


def test_a_flip_that_is_rounded_down_costs_more() -> None:
    """Mutant: the nearest probability on the grid, and not the one above."""
    assert any(log((1 - low) / low) > float(e) for e in EPSILONS for low in [flip_probability(e) - Fraction(1, GRID)])


def scale_loss(moved: int, scale: Fraction) -> Fraction:
    """The largest loss of discrete Laplace noise on integers that are so far apart: at the outer end of both."""
    return Fraction(moved) / scale


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_noisy_degrees(epsilon: Fraction) -> None:
    scheme = LocalDegrees(SIZE + 1, epsilon)
    sizes = {(len(lists()[a]), len(lists()[b])) for a, b in neighbouring_codes()}
    one_end = max(scale_loss(abs(a - b), scheme.noise.scale) for a, b in sizes)
    assert one_end == parts(scheme.loss)[0] == epsilon
    assert 2 * one_end == parts(scheme.edge_loss)[0]  # both ends report; charging ε for an edge is a mutant


def star_loss(scheme: LocalStars, mutant: str = "") -> Fraction:
    """Over all pairs of lists, all noisy degrees, and all noisy counts."""
    worst = Fraction(0)
    sizes = {(len(lists()[a]), len(lists()[b])) for a, b in neighbouring_codes()}
    for degrees, noisy in product(sorted(sizes), range(-40, 40)):
        cap = cap_for(noisy, scheme.degree_noise.scale, scheme.vertices - 1)
        stars = [comb(d if mutant == "uncut" else min(d, cap), scheme.leaves) for d in degrees]
        scale = scheme.noise_for(cap).scale
        if mutant == "raw":
            own, capped = (comb(size - 1, scheme.leaves - 1) or 1 for size in (max(*degrees) - 1 or 1, cap))
            scale *= Fraction(own, capped)
        loss = scale_loss(1, scheme.degree_noise.scale) + scale_loss(abs(stars[0] - stars[1]), scale)
        worst = max(worst, loss)
    return worst


@pytest.mark.parametrize("leaves", [2, 3])
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_stars(epsilon: Fraction, leaves: int) -> None:
    scheme = LocalStars(SIZE + 1, epsilon, leaves)
    assert star_loss(scheme) == epsilon == parts(scheme.loss)[0]
    assert parts(scheme.edge_loss)[0] == 2 * epsilon


@pytest.mark.parametrize("mutant", ["uncut", "raw"])
def test_stars_that_are_not_cut_or_have_noise_for_the_true_degree_cost_more(mutant: str) -> None:
    assert star_loss(LocalStars(SIZE + 1, 4, 2), mutant) > 4


@pytest.fixture(scope="module")
def counts() -> dict[Fraction, NDArray[np.int64]]:
    """The corrected count of each list of 6 vertices, for each of the 2**15 noisy graphs on them, by flip."""
    graphs = (np.arange(1 << len(PAIRS))[:, None] >> np.arange(len(PAIRS))) & 1
    within = np.array([[a in own and b in own for a, b in PAIRS] for own in map(set, lists())], np.int64)
    return {
        flip: within @ (graphs.T * GRID - int(flip * GRID))
        for flip in (LocalTriangles(SIZE + 1, e).edges.flip for e in EPSILONS)
    }


def cut(code: int, cap: int) -> int:
    """The list of the first neighbours, as many as the cap."""
    return sum(1 << j for j in lists()[code][:cap])


def largest_move(table: NDArray[np.int64], cap: int) -> int:
    return max(int(np.abs(table[cut(a, cap)] - table[cut(b, cap)]).max()) for a, b in neighbouring_codes())


@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_corrected_counts(epsilon: Fraction, counts: dict[Fraction, NDArray[np.int64]]) -> None:
    """All lists, all noisy graphs, all caps: the second round costs what is stated, and no less for some cap."""
    scheme = LocalTriangles(SIZE + 1, epsilon)
    share = Fraction(7, 20) * epsilon
    losses = []
    for cap in range(1, SIZE + 1):
        moved = largest_move(counts[scheme.edges.flip], cap)
        assert moved <= max(cap - 1, 0) * GRID
        losses.append(scale_loss(moved, scheme.noise_for(cap).scale))
    assert max(losses) == share
    rounds = [
        scale_loss(1, scheme.degrees.noise.scale),
        Fraction(2, 5) * epsilon,
        scale_loss(1, scheme.cap_noise.scale),
        max(losses),
    ]
    assert sum(rounds) == parts(scheme.loss)[0]
    assert sum(rounds) + rounds[0] == parts(scheme.edge_loss)[0] == epsilon
    assert 2 * (rounds[0] + rounds[2] + rounds[3]) + rounds[1] == parts(scheme.worst_edge_loss)[0]


def test_a_cap_that_exchanges_a_neighbour_costs_more_than_one_that_is_added(
    counts: dict[Fraction, NDArray[np.int64]],
) -> None:
    """Mutant: (1 − q)(cap − 1), what a neighbour more moves where nothing is cut; and, as published, (1 − q) cap."""
    flip = LocalTriangles(SIZE + 1, 1).edges.flip
    moved = {cap: largest_move(counts[flip], cap) for cap in range(2, SIZE + 1)}
    assert all(moved[cap] == (cap - 1) * GRID > (1 - flip) * (cap - 1) * GRID for cap in range(2, SIZE))
    assert moved[SIZE] == (1 - flip) * (SIZE - 1) * GRID  # where the cap never cuts
    assert all(moved[cap] > (1 - flip) * cap * GRID for cap in range(5, SIZE))


def test_a_count_without_correction_for_caps_from_the_list_costs_anything(
    counts: dict[Fraction, NDArray[np.int64]],
) -> None:
    """Mutant: noise for the number of neighbours itself; a list of one has none, and a list of two shows through."""
    table = counts[LocalTriangles(SIZE + 1, 1).edges.flip]
    assert not table[0b1].any()
    assert table[0b11].all()


def test_counts_are_what_they_are_defined_to_be(counts: dict[Fraction, NDArray[np.int64]]) -> None:
    flip, table = next(iter(counts.items()))
    dice = np.random.default_rng(1)
    for code, graph in zip(dice.integers(0, 64, 300), dice.integers(0, 1 << 15, 300), strict=True):
        joined = np.zeros((SIZE, SIZE), np.bool_)
        for bit, (a, b) in enumerate(PAIRS):
            joined[a, b] = joined[b, a] = graph >> bit & 1
        own = np.array(lists()[code], int)
        assert corrected_count(joined[np.ix_(own, own)], flip) == table[code, graph]
