"""Quantiles: the exact law of every answer, on small grids and for all neighbours, against the stated loss."""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.errors import ParameterError
from discreet.mechanisms import Quantiles
from discreet.privacy import BoundedRangeLoss, TimesLoss, approx, fits, mu, pure, rho

ALARM = 1e-12
DECILES = [Fraction(k, 10) for k in range(1, 10)]


def distance(y, cut: int, cell: int, p: Fraction) -> Fraction:
    """Of p n from the interval [#{before the cell of the cut}, #{in it or before}]."""
    before = sum(each // cell < cut // cell for each in y)
    up_to = sum(each // cell <= cut // cell for each in y)
    return max(Fraction(0), before - p * len(y), p * len(y) - up_to)


def one_law(y, low: int, high: int, cell: int, p: Fraction, rate: float) -> dict[int, float]:
    weights = {c: math.exp(-rate * float(distance(y, c, cell, p))) for c in range(low, high + 1)}
    total = math.fsum(weights.values())
    return {c: weight / total for c, weight in weights.items()}


def tree_law(mechanism: Quantiles, y, low: int, high: int, cell: int, asked, start, stop) -> dict[tuple, float]:
    """Of all cuts together, by going through every cut of every level."""
    if not asked:
        return {(): 1.0}
    middle = len(asked) // 2
    share = (asked[middle] - start) / (stop - start)
    span = 2 * max(share, 1 - share)
    if mechanism.relation == "substitute":
        span = Fraction(2) if (start, stop) == (0, 1) else 2 * span
    law = one_law(y, low, high, cell if len(asked) == 1 else 1, share, float(mechanism.epsilon / span))
    found: dict[tuple, float] = defaultdict(float)
    for c, p in law.items():
        lefts = tree_law(mechanism, [e for e in y if e < c], low, c, cell, asked[:middle], start, asked[middle])
        rights = tree_law(mechanism, [e for e in y if e >= c], c, high, cell, asked[middle + 1 :], asked[middle], stop)
        for (a, q), (b, r) in product(lefts.items(), rights.items()):
            found[(*a, c, *b)] += p * q * r
    return found


def answers_law(mechanism: Quantiles, cells, bits: int) -> dict[tuple, float]:
    """Of the cells answered, with `bits` bits of jitter, which is gone through as well."""
    asked = mechanism.probabilities if isinstance(mechanism.probabilities, tuple) else (mechanism.probabilities,)
    width, size = 1 << bits, int((mechanism.bounds[1] - mechanism.bounds[0]) / mechanism.step) + 1
    found: dict[tuple, float] = defaultdict(float)
    jitters = list(product(range(width), repeat=len(cells))) if len(asked) > 1 else [(0,) * len(cells)]
    for jitter in jitters:
        y = [cell * width + u for cell, u in zip(cells, jitter, strict=True)]
        whole = tree_law(mechanism, y, 0, size * width - 1, width, asked, Fraction(0), Fraction(1))
        for cuts, p in whole.items():
            found[tuple(c // width for c in cuts)] += p / len(jitters)
    return found


def neighbours(cells, size: int, relation: str):
    """Those that have as many records or one more: the others are pairs read the other way round."""
    if relation == "add_remove":
        yield from (tuple(sorted((*cells, new))) for new in range(size))
    else:
        for i, new in product(range(len(cells)), range(size)):
            yield tuple(sorted((*cells[:i], new, *cells[i + 1 :])))


def pairs_of_laws(mechanism: Quantiles, size: int, records: int, bits: int):
    """For all pairs of neighbours of up to `records` records: both laws, in the same order of answers."""
    laws: dict[tuple, dict[tuple, float]] = {}
    for n in range(records + 1):
        for cells in combinations_with_replacement(range(size), n):
            for other in neighbours(cells, size, mechanism.relation):
                if len(other) <= records and other != cells:
                    for each in {cells, other} - laws.keys():
                        laws[each] = answers_law(mechanism, each, bits)
                    p, q = laws[cells], laws[other]
                    assert p.keys() == q.keys()
                    yield np.array(list(p.values())), np.array([q[answer] for answer in p])


def worst(mechanism: Quantiles, size: int, records: int, bits: int) -> tuple[float, float]:
    """The largest loss, and the largest range of losses of one pair."""
    found = [np.log(p / q) for p, q in pairs_of_laws(mechanism, size, records, bits)]
    return max(float(np.abs(each).max()) for each in found), max(float(np.ptp(each)) for each in found)


@pytest.mark.sampled
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize(("p", "size", "records"), [("1/2", 5, 4), ("1/4", 5, 4), ("2/3", 5, 4), ("1/10", 3, 11)])
@pytest.mark.parametrize("epsilon", ["0.3", "2", "40"])
def test_bounded_range_of_one_quantile_is_attained(epsilon, p, size, records, relation) -> None:
    mechanism = Quantiles(p, (0, size - 1), epsilon, relation=relation, step=1)
    highest, widest = worst(mechanism, size, records, bits=0)
    stated = float(mechanism.epsilon)
    assert highest <= stated
    assert stated / 1.001 <= widest <= stated * (1 + 1e-9)


SEVERAL = [
    (["1/4", "1/2"], 4, 3, 1),
    (["1/4", "1/2", "3/4"], 4, 4, 0),
    (["1/4", "1/2", "3/4"], 3, 3, 1),
    (["0.2", "0.5", "0.9"], 3, 2, 2),
]


@pytest.mark.sampled
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize(("asked", "size", "records", "bits"), SEVERAL)
@pytest.mark.parametrize("epsilon", ["0.3", "2", "40"])
def test_several_quantiles_lose_no_more_than_stated(epsilon, asked, size, records, bits, relation) -> None:
    """Small grids do not reach the claim: 0.3 to 0.7 of it, and 0.28 for two records. The next tests reach it."""
    mechanism = Quantiles(asked, (0, size - 1), epsilon, relation=relation, step=1)
    highest, _ = worst(mechanism, size, records, bits)
    assert 0.28 < highest / (mechanism.levels * float(mechanism.epsilon)) <= 1


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_rho_of_several_quantiles_with_jitter(relation) -> None:
    """A mixture of laws with bounded range has none, but keeps to its ρ: every Rényi divergence over its order."""
    mechanism = Quantiles(["1/4", "1/2"], (0, 3), "1.5", relation=relation, step=1)
    assert mechanism.loss() == TimesLoss(2, BoundedRangeLoss(Fraction(3, 2)))
    for p, q in pairs_of_laws(mechanism, 4, 3, bits=1):
        for a, b in ((p, q), (q, p)):
            for alpha in (1.001, 2, 10, 50):
                assert math.log(np.sum(a**alpha * b ** (1 - alpha))) / (alpha - 1) / alpha <= mechanism.loss().rho()


def log_median(y, low: int, high: int, c: int, rate: float) -> float:
    """Of the probability that the median cut is at c, on a grid of any size: cuts between records count together."""
    edges = sorted({low, high + 1, *(edge for each in y for edge in (each, each + 1))})
    runs = [
        (stop - start) * math.exp(-rate * float(distance(y, start, 1, Fraction(1, 2))))
        for start, stop in pairwise(edges)
    ]
    return -rate * float(distance(y, c, 1, Fraction(1, 2))) - math.log(math.fsum(runs))


@pytest.mark.parametrize("levels", [1, 2, 3])
def test_pure_loss_under_adding_is_attained_on_every_level(levels) -> None:
    """Three records at the bottom and then one near the top of many cells: the lower half meets it every time."""
    top, epsilon = 10**9, 2.0
    asked = [Fraction(k, 2**levels) for k in range(1, 2**levels)]
    mechanism = Quantiles(asked, (0, top), epsilon, step=1)
    assert mechanism.levels == levels
    assert mechanism._rate(Fraction(1, 2), Fraction(0), Fraction(1)) == 2
    before, after = (log_median(y, 0, top, top, epsilon) for y in ([0, 0, 0], [0, 0, 0, top - 1]))
    # every cut is at the top, and what is above it holds no record
    assert levels * epsilon / 1.001 <= levels * (before - after) <= levels * epsilon * (1 + 1e-9)


@pytest.mark.parametrize("levels", [1, 2])
def test_pure_loss_under_substitution_is_attained_on_two_levels(levels) -> None:
    """A record goes from the lower half to the top of the upper one, and all three medians take it the hardest."""
    split, top, epsilon = 10**6, 10**15, 2.0
    mechanism = Quantiles(["1/4", "1/2", "3/4"], (0, 4), epsilon, relation="substitute", step=1)
    half = Fraction(1, 2)
    first, later = (float(mechanism._rate(half * stop, Fraction(0), stop)) for stop in (Fraction(1), half))
    lower, upper = ([0, 0, 0, 2], [0, 0, 0]), ([split + 1] * 4, [split + 1] * 4 + [top - 1])
    total = 0.0
    for sign, low, high in zip((1, -1), lower, upper, strict=True):
        total += sign * log_median(low + high, 0, top, split, first)
        if levels == 2:
            total += sign * (log_median(low, 0, split, 1, later) + log_median(high, split, top, top, later))
    assert levels * epsilon / 1.001 <= total <= levels * epsilon * (1 + 1e-9)


@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 4), Fraction(2, 3), Fraction(9, 10)])
def test_range_of_the_moves_of_distances(p) -> None:
    """Exactly 2 max(p, 1 − p) for a record more, and 2 for a record changed."""
    size, most = (3, 11) if p == Fraction(9, 10) else (5, 5)
    for relation, span in (("add_remove", 2 * max(p, 1 - p)), ("substitute", 2)):
        widest = Fraction(0)
        for cells in (c for n in range(most) for c in combinations_with_replacement(range(size), n)):
            here = [distance(cells, c, 1, p) for c in range(size)]
            for other in neighbours(cells, size, relation):
                moves = [distance(other, c, 1, p) - d for c, d in enumerate(here)]
                widest = max(widest, max(moves) - min(moves))
        assert widest == span


@pytest.mark.parametrize(
    ("asked", "cells", "relation", "draws"),
    [
        pytest.param(["1/2"], [0, 2, 2, 3], "add_remove", 4000, marks=pytest.mark.soak),
        (["1/4", "1/2"], [3, 1, 1], "add_remove", 4000),
        (["1/4", "1/2", "2/3"], [0, 3, 2], "substitute", 1500),
        pytest.param(["1/4", "1/2", "2/3"], [0, 3, 2], "substitute", 8000, marks=pytest.mark.soak),
    ],
)
def test_frequencies_follow_the_law(asked, cells, relation, draws) -> None:
    """Fails by chance with probability 1e-12 or so (chi-square over answers with 20 or more expected, and the rest)."""
    mechanism = Quantiles(asked, (0, 3), "1.5", relation=relation, step=1)
    seen = Counter(tuple(mechanism._drawn(np.array(cells), 1)) for _ in range(draws))
    expected = {answer: draws * p for answer, p in answers_law(mechanism, cells, 1).items()}
    assert seen.keys() <= expected.keys()
    often = [answer for answer, count in expected.items() if count >= 20]
    counts = [*(seen[answer] for answer in often), draws - sum(seen[answer] for answer in often)]
    wanted = [*(expected[answer] for answer in often), draws - sum(expected[answer] for answer in often)]
    assert len(often) >= 4
    if wanted[-1] < 20:
        counts[-2:], wanted[-2:] = [sum(counts[-2:])], [sum(wanted[-2:])]
    assert stats.chisquare(counts, np.array(wanted) / sum(wanted) * draws).pvalue > ALARM


def test_loss_levels_and_calibration() -> None:
    assert [Quantiles(DECILES[:m], (0, 1), 1).levels for m in range(1, 10)] == [1, 2, 2, 3, 3, 3, 3, 4, 4]
    assert Quantiles("0.5", (0, 1), "0.7").loss() == BoundedRangeLoss(Fraction(7, 10))
    assert Quantiles.calibrate(pure(1), probabilities=DECILES, bounds=(0, 1)) == Quantiles(DECILES, (0, 1), "0.25")
    assert Quantiles.calibrate(rho(2), probabilities=DECILES, bounds=(0, 1), step="0.1").epsilon == 2
    for spend in (pure("0.3"), approx("0.3", 1e-6), rho("0.3"), mu("0.3")):
        assert fits(Quantiles.calibrate(spend, probabilities=DECILES, bounds=(0, 1)).loss(), spend)
    with pytest.raises(ParameterError, match="state a budget or a spend in one currency"):
        Quantiles.calibrate(pure(1).sampled("0.01"), probabilities="0.5", bounds=(0, 1))


@given(st.lists(st.floats(allow_nan=True), max_size=30), st.sampled_from([["0.5"], ["0.1", "0.2"], DECILES]))
def test_answers_never_fall_and_lie_on_the_grid(x, asked) -> None:
    found = Quantiles(asked, (-1, 3), 1, step="1/3").release(x)
    assert isinstance(found, np.ndarray) and found.dtype == np.float64 and found.shape == (len(asked),)
    assert (np.diff(found) >= 0).all()
    assert set(found.tolist()) <= {float(Fraction(k, 3) - 1) for k in range(13)}


@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
@pytest.mark.parametrize("epsilon", [1e-12, 1, 1e12])
@pytest.mark.parametrize("bounds", [(-1e-3, 1e-3), (0, 1e12), (-(2**1000), 2**1000), ("1/3", "2/3")])
def test_extreme_scales(bounds, epsilon, relation) -> None:
    low, high = (float(Fraction(each)) for each in bounds)
    x = low + (high / 4 - low / 4) * np.arange(4.0)
    for data in (x, [], [low], [math.inf, -math.inf, math.nan], np.full(1000, high)):
        found = Quantiles(DECILES, bounds, epsilon, relation=relation).release(data)
        assert np.isfinite(found).all() and low <= found[0] <= found[-1] <= high
    if epsilon == 1e12:
        assert Quantiles("0.6", bounds, epsilon, relation=relation).release(x) == pytest.approx(x[2])


def test_with_much_budget_quantiles_are_those_of_the_data() -> None:
    """Wrong with probability below 1e-50."""
    x = np.repeat(np.arange(17, 91), np.arange(1, 75) * 10)
    quantiles = Quantiles(DECILES, (17, 90), 200, step=1)
    assert quantiles.release(x).tolist() == np.quantile(x, [float(p) for p in DECILES], method="inverted_cdf").tolist()
    median = Quantiles("1/2", (17, 90), 200, step=1).release(x)
    assert type(median) is float
    assert median == np.median(x)


def test_what_is_no_number_counts_as_the_lower_bound() -> None:
    median = Quantiles("0.5", (3, 9), 500, step=1)
    assert median.release([math.nan, None, "seven", -math.inf, 8]) == 3
    assert median.release([math.inf, 10**300, 12, "8.2", True]) == 9


@pytest.mark.parametrize("x", ["12", 3, None, np.zeros((2, 2)), np.array(1.0)], ids=repr)
def test_data_of_another_shape_are_refused(x) -> None:
    with pytest.raises(ParameterError, match="dimension"):
        Quantiles("0.5", (0, 1), 1).release(x)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"probabilities": 0}, "probability"),
        ({"probabilities": 1}, "probability"),
        ({"probabilities": [0.5, 1.2]}, "probability"),
        ({"probabilities": []}, "rising"),
        ({"probabilities": [0.5, 0.5]}, "rising"),
        ({"probabilities": [0.7, 0.5]}, "rising"),
        ({"probabilities": True}, "finite number"),
        ({"probabilities": "half"}, "finite number"),
        ({"probabilities": [math.nan]}, "finite number"),
        ({"probabilities": [[0.5]]}, "finite number"),
        ({"probabilities": None}, "finite number"),
        ({"bounds": (1, 0)}, "bounds"),
        ({"bounds": (0, math.inf)}, "bounds"),
        ({"bounds": 5}, "bounds"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": "1e200"}, "epsilon"),
        ({"relation": "swap"}, "relation"),
        ({"step": "0.3"}, "step"),
        ({"step": 2}, "step"),
        ({"step": 0}, "step"),
        ({"step": "1e-13"}, "step"),
    ],
    ids=str,
)
def test_bad_parameters_are_refused(change, message) -> None:
    with pytest.raises(ParameterError, match=message):
        Quantiles(**{"probabilities": "0.5", "bounds": (0, 1), "epsilon": 1, **change})


@pytest.mark.parametrize(("records", "level"), [(-1, 0.95), (True, 0.95), (2.0, 0.95), (10, 0), (10, 1)])
def test_bad_error_arguments_are_refused(records, level) -> None:
    with pytest.raises(ParameterError):
        Quantiles("0.5", (0, 1), 1).error(level, records=records)


@pytest.mark.parametrize("p", ["0.5", "0.9"])
def test_error_of_one_quantile_holds_exactly(p) -> None:
    """Whatever the data: two heaps of records, and the target in one of them or between."""
    mechanism = Quantiles(p, (0, 9), "0.8", step=1)
    for cells in ([0] * a + [c] * (60 - a) for a in range(0, 61, 6) for c in (1, 5, 9)):
        reach = mechanism.error("0.9", records=60)
        law = one_law(cells, 0, 9, 1, Fraction(p), 0.8 / (2 * max(float(p), 1 - float(p))))
        assert reach < 60
        assert sum(q for c, q in law.items() if distance(cells, c, 1, Fraction(p)) > reach) <= 0.1


@pytest.mark.parametrize("spread", [1, 30, 2**20])
def test_error_of_many_quantiles_holds(spread) -> None:
    """Fails by chance with probability 2e-11 or less: 20 releases, each with 1e-12."""
    mechanism, x = Quantiles(DECILES, (0, 2**20), 1, step=1), np.arange(20_000) ** 2 % spread
    reach = mechanism.error(1 - Fraction(1, 10**12), records=x.size)
    assert reach < 5000
    for _ in range(20):
        for p, t in zip(DECILES, mechanism.release(x).tolist(), strict=True):
            assert max((x < t).sum() - p * x.size, p * x.size - (x <= t).sum()) <= reach


def test_error_grows_with_what_makes_it_harder() -> None:
    assert Quantiles("0.5", (0, 1), 1).error(records=10**6) < Quantiles("0.1", (0, 1), 1).error(records=10**6)
    few, many = (Quantiles(asked, (0, 1), 1).error(records=10**6) for asked in (DECILES[4:5], DECILES))
    assert few < many < 10**6
    assert Quantiles(DECILES, (0, 1), 1).error("0.9", records=10**6) < Quantiles(DECILES, (0, 1), 1).error(
        "0.99", records=10**6
    )
    assert [Quantiles(DECILES, (0, 1), 1).error(records=n) for n in (0, 1, 2)] == [0, 1, 2]
    assert Quantiles(DECILES, (0, 1), "1e-140").error(1 - Fraction(1, 10**400), records=10**9) == 10**9


def test_a_million_records_are_quick() -> None:
    """About 0.1 s."""
    x = np.random.default_rng(1).normal(size=1_000_000)
    quantiles = Quantiles.calibrate(pure(1), probabilities=DECILES, bounds=(-5, 5))
    start = time.process_time()
    quantiles.release(x)
    assert time.process_time() - start < 1
