"""Residuals against dense linear algebra: what is measured, how far a person moves it, shares, estimates and errors."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp

from discreet.errors import ParameterError
from discreet.marginals.residuals import (
    Lattice,
    ResidualErrors,
    component_variance,
    least_largest,
    least_sum,
    residual_norms,
    residual_of,
    residual_query,
    residual_scale,
    tabulated,
)

ADULT = (32, 9, 32, 16, 7, 15, 6, 5, 2, 33, 33, 32, 42, 2)
"""As many cells as the fourteen columns of Adult have, in 32 cells for numbers."""


def up_to(ways: int, columns: int) -> tuple[tuple[int, ...], ...]:
    return tuple(each for k in range(ways + 1) for each in itertools.combinations(range(columns), k))


def marginal_matrix(sizes, columns) -> np.ndarray:
    """The counts of a marginal from those of the full table."""
    full = np.ones((1, 1))
    for place, size in enumerate(sizes):
        full = np.kron(full, np.eye(size) if place in columns else np.ones((1, size)))
    return full


def query_matrix(sizes, columns) -> np.ndarray:
    """The integer query of a residual from the counts of its marginal."""
    full = np.ones((1, 1))
    for place in columns:
        full = np.kron(full, sizes[place] * np.eye(sizes[place]) - 1)
    return full


def costs_of(lattice: Lattice) -> np.ndarray:
    return np.array([math.prod(1 - 1 / lattice.sizes[i] for i in each) for each in lattice.residuals])


@st.composite
def lattices(draw, largest: int = 4) -> Lattice:
    sizes = tuple(draw(st.lists(st.integers(1, largest), min_size=1, max_size=4)))
    subsets = up_to(len(sizes), len(sizes))
    return Lattice(sizes, tuple(draw(st.lists(st.sampled_from(subsets), min_size=1, max_size=6, unique=True))))


@settings(max_examples=60)
@given(lattice=lattices(), data=st.data())
def test_marginals_and_their_errors_are_those_of_dense_least_squares(lattice: Lattice, data) -> None:
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    sizes = lattice.sizes
    counts = rng.integers(0, 50, sizes)
    spreads = rng.uniform(0.5, 5, len(lattice.residuals))
    measured, rows, precision = {}, [], []
    for part, spread in zip(lattice.residuals, spreads, strict=True):
        sigma = spread * residual_scale(lattice.shape(part))
        matrix = query_matrix(sizes, part) @ marginal_matrix(sizes, part)
        noisy = matrix @ counts.ravel() + rng.normal(0, sigma, matrix.shape[0])
        measured[part] = noisy.reshape(lattice.shape(part))
        rows.append(matrix / sigma)
        precision.append(noisy / sigma)
    matrix, noisy = np.vstack(rows), np.concatenate(precision)
    inverse = np.linalg.pinv(matrix.T @ matrix, rcond=1e-9, hermitian=True)
    dense = inverse @ (matrix.T @ noisy)
    errors = ResidualErrors(lattice, spreads**2)
    residuals = {part: residual_of(each) for part, each in measured.items()}
    for place, columns in enumerate(lattice.marginals):
        marginal = marginal_matrix(sizes, columns)
        wanted, cells = marginal @ dense, tabulated(lattice, residuals, columns).ravel()
        assert np.allclose(cells, wanted, rtol=1e-9, atol=1e-9 * max(1.0, float(np.abs(wanted).max())))
        covariance = marginal @ inverse @ marginal.T
        assert np.allclose(np.diag(covariance), errors.cell_variances[place], rtol=1e-9)
        other = lattice.marginals[data.draw(st.integers(0, len(lattice.marginals) - 1))]
        one, two = rng.normal(size=lattice.shape(columns)), rng.normal(size=lattice.shape(other))
        exact = one.ravel() @ marginal @ inverse @ marginal_matrix(sizes, other).T @ two.ravel()
        scale = math.sqrt(errors.variance(columns, one) * errors.variance(other, two))
        assert errors.covariance(columns, one, other, two) == pytest.approx(exact, rel=1e-9, abs=1e-9 * scale)
        weights = [rng.normal(size=sizes[column]) for column in columns]
        product = np.ones(()) if not weights else weights[0]
        for each in weights[1:]:
            product = np.multiply.outer(product, each)
        assert errors.product_variance(columns, weights) == pytest.approx(errors.variance(columns, product), rel=1e-9)


@given(sizes=st.lists(st.integers(1, 5), max_size=3), data=st.data())
def test_the_query_is_the_matrix_and_its_residual_centres(sizes, data) -> None:
    counts = np.array(data.draw(st.lists(st.integers(0, 10**6), min_size=math.prod(sizes), max_size=math.prod(sizes))))
    counts = counts.reshape(sizes)
    columns = tuple(range(len(sizes)))
    exact = (query_matrix(sizes, columns).astype(int) @ counts.ravel()).reshape(sizes)
    assert np.array_equal(residual_query(counts), exact)
    huge = np.asarray(counts.astype(object) * 10**15, object).reshape(sizes)
    assert np.array_equal(residual_query(huge), exact.astype(object) * 10**15)
    scale = residual_scale(sizes)
    assert np.allclose(residual_of(exact.astype(float)) * scale, exact, atol=1e-6)


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("sizes", [(), (2,), (4,), (2, 2), (3, 2), (3, 4), (2, 2, 3)])
def test_norms_are_what_brute_force_finds(sizes, rows, relation) -> None:
    """Every person of up to so many rows, against none, or against every other."""
    cells = math.prod(sizes)
    matrix = query_matrix(sizes, range(len(sizes))).astype(int)
    if rows == 3 and cells > 6:
        persons = [3 * np.eye(cells, dtype=int)[i] for i in range(cells)] + [np.zeros(cells, int)]
    else:
        combos = (each for k in range(rows + 1) for each in itertools.combinations_with_replacement(range(cells), k))
        persons = [np.bincount(np.array(each, int), minlength=cells) for each in combos]
    moves = np.array([matrix @ each for each in persons])
    others = moves if relation == "substitute" else np.zeros((1, cells), int)
    apart = (moves[:, None] - others[None]).reshape(-1, cells)
    norms = residual_norms(sizes, rows, relation)
    assert (apart**2).sum(axis=1).max() == norms.l2_squared
    assert np.abs(apart).sum(axis=1).max() <= norms.l1
    assert np.abs(apart).max() <= norms.linf
    if relation == "add_remove":
        assert norms.l2_squared == rows**2 * cells**2 * math.prod(Fraction(n - 1, n) for n in sizes)
        assert np.abs(apart).sum(axis=1).max() == norms.l1


def log_law(sigma: float, reach: int) -> np.ndarray:
    """The logarithms of the discrete Gaussian's probabilities from -reach to reach."""
    exponents = -(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2)
    return exponents - logsumexp(exponents)


def renyi(law: np.ndarray, shift: int, alpha: float) -> float:
    """The divergence of a law from the same moved by whole steps, given by logarithms."""
    here, there = law[abs(shift) :], law[: len(law) - abs(shift)]
    return float(logsumexp(alpha * here + (1 - alpha) * there)) / (alpha - 1)


@pytest.mark.parametrize("sizes", [(2,), (3,), (2, 2), (2, 3), (2, 2, 2)])
@pytest.mark.parametrize("sigma", [0.7, 2.0, 9.0])
def test_the_noise_of_a_residual_loses_what_is_stated_at_every_order(sizes, sigma) -> None:
    """By summing the law of each entry; attained at whole orders."""
    matrix = query_matrix(sizes, range(len(sizes))).astype(int)
    norms = residual_norms(sizes, 1, "add_remove")
    rho = norms.l2_squared / (2 * sigma**2)
    assert rho == pytest.approx(math.prod(1 - 1 / n for n in sizes) / (2 * (sigma / math.prod(sizes)) ** 2))
    law = log_law(sigma, math.ceil(60 * sigma) + 60)
    for alpha in (1.1, 1.5, 2.0, 3.0, 3.7):
        lost = sum(renyi(law, int(move), alpha) for move in matrix[:, 0])
        assert lost <= alpha * rho * (1 + 1e-9)
        if alpha in (2.0, 3.0):
            assert lost == pytest.approx(alpha * rho, rel=1e-9)


def test_what_is_seen_of_a_residual_loses_no_more_by_enumeration() -> None:
    """Of a column of two cells it is one number, the difference of both entries: its law, for both neighbours."""
    sigma, reach, shift = 1.5, 60, 2  # a row moves the entries by 1 and -1
    law = log_law(sigma, reach)
    outcomes = np.arange(-reach, reach + 1)
    apart = outcomes[:, None] - outcomes[None]
    seen = np.array([logsumexp((law[:, None] + law[None])[apart == each]) for each in range(-reach, reach + 1)])
    for alpha in (1.5, 2.0, 5.0):
        rho = residual_norms((2,), 1, "add_remove").l2_squared / (2 * sigma**2)
        assert renyi(seen, shift, alpha) <= alpha * rho + 1e-9


@settings(max_examples=40)
@given(lattice=lattices(), seed=st.integers(0, 2**32 - 1))
def test_the_least_sum_is_the_bound_of_singular_values(lattice: Lattice, seed: int) -> None:
    """That of Li and Miklau for all linear strategies, from the eigenvalues of the dense workload; to 1e-9."""
    weights = np.random.default_rng(seed).uniform(0.1, 5, len(lattice.marginals))
    total = math.prod(lattice.sizes)
    gram = np.zeros((total, total))
    for columns, weight in zip(lattice.marginals, weights, strict=True):
        matrix = marginal_matrix(lattice.sizes, columns)
        gram += weight * matrix.T @ matrix
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0))
    roots = roots[roots > 1e-6 * roots.max()]
    cells = np.array([lattice.cells(each) for each in lattice.marginals])
    best = least_sum(lattice, costs_of(lattice), weights * cells)
    assert best.objective == pytest.approx(roots.sum() ** 2 / total, rel=1e-9)
    assert lattice.variances(best.noise) @ (weights * cells) == pytest.approx(best.objective, rel=1e-12)
    assert (costs_of(lattice) / best.noise).sum() == pytest.approx(1, rel=1e-12)
    assert best.shares.sum() == pytest.approx(1, rel=1e-12)


def test_four_columns_of_adult_are_planned_at_the_dense_optimum() -> None:
    """Relationship, race, sex and marital status: 420 cells, all marginals of up to three columns, to 1e-9."""
    sizes = (7, 6, 5, 2)
    lattice = Lattice(sizes, up_to(3, 4))
    gram = sum(marginal_matrix(sizes, each).T @ marginal_matrix(sizes, each) for each in lattice.marginals)
    roots = np.sqrt(np.maximum(np.linalg.eigvalsh(gram), 0))
    roots = roots[roots > 1e-6]
    cells = np.array([float(lattice.cells(each)) for each in lattice.marginals])
    best = least_sum(lattice, costs_of(lattice), cells)
    assert best.objective == pytest.approx(roots.sum() ** 2 / math.prod(sizes), rel=1e-9)


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_fourteen_columns_of_adult_are_planned_at_the_optimum(ways) -> None:
    """By the closed form of the workload's singular values, in exact fractions but for the roots; to 1e-9."""
    lattice = Lattice(ADULT, up_to(ways, len(ADULT)))
    cells = np.array([float(lattice.cells(each)) for each in lattice.marginals])
    best = least_sum(lattice, costs_of(lattice), cells)
    marginals = [set(each) for each in lattice.marginals]
    roots = []
    for part in lattice.residuals:
        value = sum(Fraction(1, lattice.cells(each)) for each in marginals if set(part) <= each)
        roots.append(math.prod(ADULT[i] - 1 for i in part) * math.sqrt(value))
    assert best.objective == pytest.approx(math.fsum(roots) ** 2, rel=1e-9)
    assert lattice.variances(best.noise) @ cells == pytest.approx(best.objective, rel=1e-12)


@settings(max_examples=15)
@given(lattice=lattices(3), seed=st.integers(0, 2**32 - 1))
def test_no_shares_have_a_smaller_largest_variance(lattice: Lattice, seed: int) -> None:
    """Against a general solver, which is not exact, and by the bound, which is."""
    weights = 10 ** np.random.default_rng(seed).uniform(-1, 1, len(lattice.marginals))
    costs = costs_of(lattice)
    best = least_largest(lattice, costs, weights)
    variances = lattice.variances(best.noise) * weights
    assert variances.max() == pytest.approx(best.objective, rel=1e-12)
    assert (costs / best.noise).sum() == pytest.approx(1, rel=1e-12)
    assert best.bound <= best.objective * (1 + 1e-12)
    assert best.objective <= best.bound * (1 + 1e-6)

    def largest(logs: np.ndarray) -> float:
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        return math.log(float((lattice.variances(costs / shares) * weights).max()))

    tried = minimize(largest, np.log(best.shares + 1e-12), method="Nelder-Mead", options={"maxiter": 400})
    assert math.exp(tried.fun) >= best.bound * (1 - 1e-9)


def test_the_largest_variance_of_all_pairs_of_adult_meets_its_bound() -> None:
    lattice = Lattice(ADULT, up_to(2, len(ADULT)))
    weights = 10 ** np.random.default_rng(5).uniform(-1, 1, len(lattice.marginals))
    best = least_largest(lattice, costs_of(lattice), weights)
    assert best.bound <= best.objective <= best.bound * (1 + 1e-9)


@given(sizes=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_components_are_orthogonal_parts_with_one_variance_each(sizes) -> None:
    """Of cells that were measured themselves: sums over the other columns, centred along a component's own."""
    centrings = {
        each: query_matrix(sizes, each) / math.prod(sizes[i] for i in each) for each in up_to(len(sizes), len(sizes))
    }
    maps = {each: centring @ marginal_matrix(sizes, each) for each, centring in centrings.items()}
    for one, two in itertools.combinations(maps, 2):
        assert np.allclose(maps[one] @ maps[two].T, 0, atol=1e-9)
    for each, matrix in maps.items():
        expected = component_variance(sizes, each, 4.0) * centrings[each]
        assert np.allclose(4.0 * matrix @ matrix.T, expected, atol=1e-9)


@pytest.mark.parametrize(
    "marginals", [(), ((0,), (0,)), ((1, 0),), ((0, 0),), ((2,),), ((-1,),)],
)  # fmt: skip
def test_what_is_no_set_of_marginals_is_refused(marginals) -> None:
    with pytest.raises(ParameterError):
        Lattice((2, 3), marginals)


@pytest.mark.parametrize("weight", [0.0, -1.0, math.inf, math.nan])
def test_weights_are_positive_numbers(weight) -> None:
    lattice = Lattice((2, 3), ((0,), (1,)))
    for shares in (least_sum, least_largest):
        with pytest.raises(ParameterError, match="weight"):
            shares(lattice, costs_of(lattice), np.array([1.0, weight]))


def test_too_many_residuals_are_refused_before_they_are_listed() -> None:
    with pytest.raises(ParameterError, match="sets of columns"):
        Lattice((2,) * 30, (tuple(range(30)),))


@pytest.mark.soak
def test_a_hundred_columns_of_ten_values_are_planned() -> None:
    lattice = Lattice((10,) * 100, up_to(3, 100))
    cells = np.array([float(lattice.cells(each)) for each in lattice.marginals])
    best = least_sum(lattice, costs_of(lattice), cells)
    values = [  # widths of residuals, how many there are of each, and how many marginals of each width hold one
        (k, math.comb(100, k), [math.comb(100 - k, w - k) if w >= k else 0 for w in range(4)]) for k in range(4)
    ]
    roots = sum(many * 9**k * math.sqrt(sum(held / 10**w for w, held in enumerate(over))) for k, many, over in values)
    assert best.objective == pytest.approx(roots**2, rel=1e-9)
