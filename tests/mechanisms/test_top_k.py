"""Top-k: the exact law of whole rankings against the stated loss, and one shot of Gumbel noise against peeling."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtri

from discreet.errors import ParameterError
from discreet.mechanisms import TopK
from discreet.privacy import BoundedRangeLoss, TimesLoss, approx, as_mu, fits, mu, pure, rho

ALARM = 1e-12


def law(mechanism: TopK, utilities) -> dict[tuple[int, ...], float]:
    """Logarithms, by peeling."""
    scale = float(mechanism.sensitivity / mechanism.epsilon) * (1 if mechanism.monotone else 2)
    found = {}
    for picks in permutations(range(len(utilities)), mechanism.k):
        left, total = set(range(len(utilities))), 0.0
        for pick in picks:
            total += utilities[pick] / scale - float(np.logaddexp.reduce([utilities[j] / scale for j in left]))
            left.remove(pick)
        found[picks] = total
    return found


def neighbours(utilities, *, monotone: bool):
    for move in [(0, 1), (0, -1)] if monotone else [(-1, 0, 1)]:
        for step in product(move, repeat=len(utilities)):
            yield tuple(u + s for u, s in zip(utilities, step, strict=True))


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", ["0.3", "2"])
@pytest.mark.parametrize(("k", "candidates"), [(1, 3), (2, 3), (3, 4)])
def test_stated_epsilon_by_enumeration(epsilon, k, candidates, monotone) -> None:
    mechanism = TopK(k, epsilon, 1, monotone=monotone)
    stated, worst = k * float(mechanism.epsilon), 0.0
    far = math.ceil(25 / float(mechanism.epsilon))
    for utilities in product((0, far), repeat=candidates):
        p = law(mechanism, utilities)
        assert sum(map(math.exp, p.values())) == pytest.approx(1)
        for other in neighbours(utilities, monotone=monotone):
            q = law(mechanism, other)
            worst = max(worst, *(abs(p[picks] - q[picks]) for picks in p))
    assert stated / 1.001 <= worst <= stated * (1 + 1e-9)


def normal_places(chances: list[float]) -> np.ndarray:
    """Φ⁻¹ of the sums of the first of them, but of all; from the nearer end."""
    up, down = np.cumsum(chances)[:-1], np.cumsum(chances[::-1])[-2::-1]
    return np.where(up < 0.5, ndtri(up), -ndtri(down))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("epsilon", ["0.3", "2", "6"])
@pytest.mark.parametrize(("k", "candidates"), [(1, 2), (2, 3), (3, 4)])
def test_stated_mu_by_enumeration(epsilon, k, candidates, monotone) -> None:
    """No test between neighbours has a power above Φ(Φ⁻¹(α) + μ), and for one pick of two one has it."""
    mechanism, worst = TopK(k, epsilon, 1, monotone=monotone), 0.0
    stated = as_mu(mechanism.loss())
    assert stated is not None
    for halves in product(range(-3, 4, 1 if k < 3 else 3), repeat=candidates - 1):
        utilities = (0, *(half / 2 for half in halves))
        p = law(mechanism, utilities)
        for other in neighbours(utilities, monotone=monotone):
            q = law(mechanism, other)
            likely = sorted(p, key=lambda picks, p=p, q=q: p[picks] - q[picks])
            level, power = (normal_places([math.exp(each[picks]) for picks in likely]) for each in (p, q))
            worst = max(worst, float((power - level).max()))
    assert worst <= math.sqrt(stated[0]) * (1 + 1e-9)
    assert k > 1 or worst >= math.sqrt(stated[0]) * 0.999999


@pytest.mark.parametrize("utilities", [(0, 1, 3), (2, 2, 0)])
def test_one_shot_of_gumbel_noise_has_that_law(utilities) -> None:
    """Two of three: the first at z, the second at y below it, the third below that; by quadrature within 1e-8."""
    mechanism = TopK(2, "1.3", 1)
    x = [u * float(mechanism.epsilon) / 2 for u in utilities]
    for (first, second), expected in law(mechanism, utilities).items():
        third = 3 - first - second

        def density(y: float, first: int = first, second: int = second, third: int = third) -> float:
            """The first above y, the second at y, the third below it."""
            above = -math.expm1(-math.exp(x[first] - y))
            return above * math.exp(x[second] - y - math.exp(x[second] - y)) * math.exp(-math.exp(x[third] - y))

        assert integrate.quad(density, -5, 60, epsabs=1e-12, limit=200)[0] == pytest.approx(
            math.exp(expected), abs=1e-8
        )


@pytest.mark.parametrize(
    ("utilities", "draws"), [([0, 1.5, 3], 3_000), pytest.param([0, 1.5, 3, 2], 8_000, marks=pytest.mark.soak)]
)
def test_frequencies_follow_the_law(utilities: list[float], draws: int) -> None:
    """Fails by chance with probability 1e-12 or so (chi-square, 100 or more expected per ranking)."""
    mechanism = TopK(2, "1.3", 2)
    seen = Counter(tuple(mechanism.release(utilities)) for _ in range(draws))
    expected = {picks: math.exp(p) * draws for picks, p in law(mechanism, utilities).items()}
    assert min(expected.values()) > 100
    assert set(seen) <= set(expected)
    assert stats.chisquare([seen[picks] for picks in expected], list(expected.values())).pvalue > ALARM


def test_loss_and_calibration() -> None:
    assert TopK(3, "0.7", 1).loss() == TimesLoss(3, BoundedRangeLoss(Fraction(7, 10)))
    assert TopK.calibrate(pure(1), 2, k=5, monotone=True) == TopK(5, "0.2", 2, monotone=True)
    for spend in (pure("0.3"), approx("0.3", 1e-6), rho("0.3"), mu("0.3")):
        assert fits(TopK.calibrate(spend, 7, k=5).loss(), spend)


def test_all_candidates_and_certain_ones() -> None:
    assert sorted(TopK(4, 1, 1).release([5, 1, 3, 2])) == [0, 1, 2, 3]
    assert TopK(3, 1000, 1).release([Fraction(1, 3) + 5, 0.5, 10**30, 3]) == [2, 0, 3]


@pytest.mark.parametrize("how", [(0, 1, 1), (1.0, 1, 1), (True, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_bad_parameters_are_refused(how) -> None:
    with pytest.raises(ParameterError):
        TopK(*how)
    with pytest.raises(ParameterError, match="k must"):
        TopK.calibrate(pure(1), 1, k=0)


@pytest.mark.parametrize("utilities", [[1], [], [1.0, math.nan, 2.0]])
def test_bad_utilities_are_refused_before_anything_is_drawn(utilities, monkeypatch) -> None:
    monkeypatch.setattr("discreet.mechanisms.selection._exponential.uniform_below", None)
    with pytest.raises(ParameterError):
        TopK(2, 1, 1).release(utilities)


def test_error_holds_exactly() -> None:
    mechanism = TopK(2, "0.5", 1)
    reach = mechanism.error("0.9", candidates=3)
    for utilities in product(range(0, 60, 10), repeat=3):
        missed = 0.0
        for (first, second), p in law(mechanism, utilities).items():
            left = max(u for i, u in enumerate(utilities) if i != first)
            missed += math.exp(p) * (max(utilities) - utilities[first] > reach or left - utilities[second] > reach)
        assert missed <= 0.1
