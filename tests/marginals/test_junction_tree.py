"""Junction trees against the whole joint distribution, written out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from discreet.marginals import Clique, JunctionTree, junction_tree, neighbours_of, triangulated

Floats = NDArray[np.float64]


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[int], list[Clique], int]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    columns = st.sets(st.integers(0, len(sizes) - 1), min_size=1, max_size=3)
    cliques = draw(st.lists(columns.map(lambda each: tuple(sorted(each))), max_size=6))
    return sizes, cliques, draw(st.integers(0, 2**32 - 1))


def joint(tree: JunctionTree, arrays: Sequence[Floats]) -> Floats:
    """The sum of arrays over cliques, as one array over all columns."""
    columns = len(tree.sizes)
    total = np.zeros(tree.sizes)
    for clique, array in zip(tree.cliques, arrays, strict=True):
        shape = [tree.sizes[column] if column in clique else 1 for column in range(columns)]
        total = total + array.transpose(np.argsort(clique)).reshape(shape)
    return total


def distribution(tree: JunctionTree, potentials: Sequence[Floats]) -> Floats:
    total = joint(tree, potentials)
    weights = np.exp(total - total.max())
    return weights / weights.sum()


def marginal(law: Floats, clique: Clique) -> Floats:
    rest = tuple(column for column in range(law.ndim) if column not in clique)
    return law.sum(axis=rest).transpose(np.argsort(np.argsort(clique)))


@given(problems())
def test_beliefs_are_the_marginals_of_the_joint_distribution(problem: tuple[list[int], list[Clique], int]) -> None:
    sizes, cliques, seed = problem
    tree, rng = junction_tree(sizes, cliques), np.random.default_rng(seed)
    potentials = [rng.normal(size=shape) * 20 for shape in tree.shapes]
    law = distribution(tree, potentials)
    for clique, belief in zip(tree.cliques, tree.beliefs([each.copy() for each in potentials]), strict=True):
        np.testing.assert_allclose(belief, marginal(law, clique), atol=1e-10)


@given(problems())
def test_covariances_are_those_of_the_joint_distribution(problem: tuple[list[int], list[Clique], int]) -> None:
    sizes, cliques, seed = problem
    tree, rng = junction_tree(sizes, cliques), np.random.default_rng(seed)
    potentials = [rng.normal(size=shape) for shape in tree.shapes]
    values = [rng.normal(size=shape) for shape in tree.shapes]
    law, sums = distribution(tree, potentials), joint(tree, values)
    centred = law * (sums - float((law * sums).sum()))
    beliefs = tree.beliefs([each.copy() for each in potentials])
    for clique, change in zip(tree.cliques, tree.covariances(beliefs, values), strict=True):
        np.testing.assert_allclose(change, marginal(centred, clique), atol=1e-10)


@given(problems())
def test_a_tree_holds_every_clique_and_columns_run_along_its_edges(
    problem: tuple[list[int], list[Clique], int],
) -> None:
    sizes, cliques, _ = problem
    tree = junction_tree(sizes, cliques)
    assert {column for clique in tree.cliques for column in clique} == set(range(len(sizes)))
    for clique in cliques:
        assert set(clique) <= set(tree.cliques[tree.home(clique)])
    for i, (clique, parent, shared) in enumerate(zip(tree.cliques, tree.parents, tree.shared, strict=True)):
        assert parent < i
        before = {column for earlier in tree.cliques[:i] for column in earlier}
        upper = tree.cliques[parent] if parent >= 0 else ()
        assert set(clique) & before == set(clique[:shared]) == set(clique) & set(upper)


def test_far_potentials_neither_overflow_nor_vanish() -> None:
    tree = junction_tree([2, 2, 2], [(0, 1), (1, 2)])
    beliefs = tree.beliefs([np.array([[0.0, -2000.0], [-2000.0, 1000.0]]) for _ in tree.cliques])
    assert all(np.isfinite(belief).all() for belief in beliefs)
    assert beliefs[0].sum() == pytest.approx(1)


def test_a_cycle_is_triangulated() -> None:
    square = neighbours_of(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert sorted(map(len, triangulated([2, 2, 2, 2], square))) == [3, 3]
    with pytest.raises(KeyError):
        junction_tree([2, 2], []).home((0, 1))
