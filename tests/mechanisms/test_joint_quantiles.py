"""Quantiles drawn jointly: the exact law on small grids and for all neighbours, against the stated loss."""

from __future__ import annotations

import math
import time
from collections import Counter
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.mechanisms import Quantiles
from discreet.mechanisms.quantiles import _joint as _joint_quantiles
from discreet.mechanisms.quantiles import _joint as _quantile_chain
from discreet.mechanisms.quantiles._joint import Joint, Places
from discreet.privacy import BoundedRangeLoss, PureLoss, approx, fits, mu, pure, rho

ALARM = 1e-12
RELATIONS = ["add_remove", "substitute"]
DECILES = [Fraction(k, 10) for k in range(1, 10)]


def joint_of(asked, cells: int, epsilon="1", relation="add_remove") -> Joint:
    return Joint(tuple(Fraction(p) for p in asked), cells, Fraction(epsilon), relation)


def costs(joint: Joint, cells, sizes) -> np.ndarray:
    """Of every vector of cuts, in units of records; one row per size. Cells have two places, a quarter inside them."""
    counts = np.bincount(cells, minlength=joint.cells) if len(cells) else np.zeros(joint.cells)
    below = (np.cumsum(counts) - counts)[:, None] + counts[:, None] * [0.25, 0.75]
    vectors = np.array(list(combinations_with_replacement(range(2 * joint.cells), len(joint.probabilities))))
    ends = np.hstack([np.zeros((len(vectors), 1)), below.ravel()[vectors], np.full((len(vectors), 1), len(cells))])
    shares = np.array([float(share) for share in joint.shares])
    return np.array([np.abs(np.diff(ends) - shares * float(size)).sum(axis=1) for size in sizes])


def law(joint: Joint, cells, sizes) -> np.ndarray:
    """Of every vector of cuts, the sizes being summed out."""
    exponents = -float(joint._rate) * costs(joint, cells, sizes)
    weights = np.exp(exponents - exponents.max()).sum(axis=0)
    return weights / weights.sum()


def neighbours(size: int, records: int, relation: str):
    """All pairs, of up to `records` records; each pair once."""
    for n in range(records + 1):
        for cells in combinations_with_replacement(range(size), n):
            if relation == "add_remove" and n < records:
                yield from ((cells, tuple(sorted((*cells, new)))) for new in range(size))
            if relation == "substitute":
                for i, new in product(range(n), range(size)):
                    if cells[i] < new:
                        yield cells, tuple(sorted((*cells[:i], new, *cells[i + 1 :])))


def sizes_for(joint: Joint, records: int) -> list[float]:
    """Some that a count may guess; or the number of records."""
    return [-3, 0, 1.25, 4, 9] if joint.counted else [records]


ASKED = [
    ("add_remove", ["1/4", "3/4"], 3),
    ("add_remove", ["1/10", "1/3"], 3),
    ("add_remove", ["1/4", "1/2", "3/4"], 2),
    ("add_remove", ["0.1", "0.2", "0.5", "0.9"], 2),
    ("substitute", ["1/4", "3/4"], 3),
    ("substitute", ["0.1", "0.2", "0.5", "0.9"], 2),
]


@pytest.mark.parametrize(("relation", "asked", "cells"), ASKED)
def test_range_of_the_moves_of_costs(relation, asked, cells) -> None:
    """Times the rate it is what the choice is charged, for any guesses of the count; another test reaches it."""
    joint, widest = joint_of(asked, cells, relation=relation), 0.0
    records = 9 if cells == 2 else 6
    for one, other in neighbours(cells, records, relation):
        sizes = sizes_for(joint, len(one))
        after = sizes if joint.counted else sizes_for(joint, len(other))
        widest = max(widest, float(np.ptp(costs(joint, one, sizes) - costs(joint, other, after))))
    charged = float((joint.epsilon - joint.counted) / joint._rate)
    known = 4.0 if relation == "substitute" else 4 * (1 - float(min(joint.shares)))
    assert charged == pytest.approx(2.0 if joint.counted else known)
    assert 0.5 * charged <= widest <= charged * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", ["0.3", "2", "30"])
@pytest.mark.parametrize(("relation", "asked", "cells"), ASKED)
def test_choices_lose_no_more_than_stated(relation, asked, cells, epsilon) -> None:
    joint, widest = joint_of(asked, cells, epsilon, relation), 0.0
    charged = float(joint.epsilon - joint.counted)
    for one, other in neighbours(cells, 5, relation):
        sizes = sizes_for(joint, len(one))
        after = sizes if joint.counted else sizes_for(joint, len(other))
        losses = np.log(law(joint, one, sizes) / law(joint, other, after))
        assert float(np.abs(losses).max()) <= charged
        widest = max(widest, float(np.ptp(losses)))
    assert 0.5 * charged <= widest <= charged * (1 + 1e-9)


@pytest.mark.parametrize(
    ("relation", "asked", "heaps", "old", "new"),
    [
        ("substitute", ["1/3", "2/3"], (0, 0, 0, 4, 0), 0, 4),
        ("substitute", ["0.2", "0.4", "0.6", "0.8"], (0, 0, 4, 0, 0), 0, 4),
        ("add_remove", ["1/3", "2/3"], (0, 0, 0, 4, 4), 0, None),
        ("add_remove", ["1/10", "1/3"], (0, 0, 4, 8, 8), 0, None),
        ("add_remove", ["1/4", "1/2", "3/4"], (0, 4, 8, 8, 8), 0, None),
    ],
)
def test_bounded_range_is_attained(relation, asked, heaps, old, new) -> None:
    joint, common = joint_of(asked, 5, "2", relation), np.repeat(np.arange(5), heaps).tolist()
    one, other = [*common, old], [*common, *([] if new is None else [new])]
    laws = (law(joint, cells, [0, 10, 20, 40] if joint.counted else [len(cells)]) for cells in (one, other))
    widest, charged = float(np.ptp(np.log(next(laws) / next(laws)))), float(joint.epsilon - joint.counted)
    assert charged / 1.001 <= widest <= charged * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", ["1", "6"])
def test_pure_loss_of_count_and_choice_together(epsilon) -> None:
    """The noisy count gone through as far as 1e-12 of it, and forgotten, as a release does."""
    joint = joint_of(["1/4", "1/2", "3/4"], 2, epsilon)
    scale = float(1 / joint.counted)
    laws = {}
    for n in range(4):
        reach = math.ceil(28 * scale)
        counts = np.arange(n - reach, n + reach + 1)
        noise = np.exp(-np.abs(counts - n) / scale)
        for cells in combinations_with_replacement(range(2), n):
            whole = 0.0
            for count, p in zip(counts.tolist(), noise / noise.sum(), strict=True):
                whole = whole + p * law(joint, cells, [count + joint._apart * k for k in range(-3, 4)])
            laws[cells] = whole
    worst = max(float(np.abs(np.log(laws[a] / laws[b])).max()) for a, b in neighbours(2, 3, "add_remove"))
    assert 0.1 * float(joint.epsilon) < worst <= float(joint.epsilon) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("relation", "asked", "cells"),
    [pytest.param(*each, marks=[pytest.mark.soak] * (each[0] == "add_remove" and len(each[1]) > 2)) for each in ASKED],
)
def test_release_follows_the_law(relation, asked, cells, monkeypatch) -> None:
    """Fails by chance with probability 1e-12 or so (chi-square; rare answers count together)."""
    monkeypatch.setattr(_joint_quantiles, "discrete_laplace", lambda scale, size: np.array([2]))
    monkeypatch.setattr(_joint_quantiles, "Places", partial(Places, bits=1))
    mechanism = Quantiles(asked, (0, cells - 1), "1.2", relation=relation, step=1, method="joint")
    data, draws, joint = [0, 0, 1, 1, 1, cells - 1, cells - 1], 800, mechanism._joint
    sizes = [9 + joint._apart * k for k in range(-3, 4)] if joint.counted else [7]
    vectors = combinations_with_replacement(range(2 * cells), len(asked))
    expected: Counter[tuple] = Counter()
    for vector, p in zip(vectors, law(joint, data, sizes).tolist(), strict=True):
        expected[tuple(cut // 2 for cut in vector)] += p * draws
    seen = Counter(tuple(int(each) for each in mechanism.release(data)) for _ in range(draws))
    assert seen.keys() <= expected.keys()
    often = [answer for answer, count in expected.items() if count >= 10]
    counts = [*(seen[each] for each in often), draws - sum(seen[each] for each in often)]
    wanted = [*(expected[each] for each in often), draws - sum(expected[each] for each in often)]
    if wanted[-1] < 10:
        counts[-2:], wanted[-2:] = [sum(counts[-2:])], [sum(wanted[-2:])]
    assert len(counts) >= 3
    assert stats.chisquare(counts, np.array(wanted) / sum(wanted) * draws).pvalue > ALARM


def test_loss_and_calibration() -> None:
    made = Quantiles(DECILES, (0, 100), 3, step=1, method="joint")
    assert made.loss() == PureLoss(Fraction(1, 4)) + BoundedRangeLoss(Fraction(11, 4))
    assert Quantiles(DECILES[:2], (0, 100), 3, step=1, method="joint").loss() == BoundedRangeLoss(Fraction(3))
    assert Quantiles(DECILES, (0, 9), 3, step=1, method="joint", relation="substitute").loss() == BoundedRangeLoss(
        Fraction(3)
    )
    assert Quantiles.calibrate(pure(1), probabilities=DECILES, bounds=(0, 100), step=1).epsilon == 1
    for relation, asked in product(RELATIONS, (DECILES, DECILES[:2])):
        for spend in (pure("0.3"), approx("0.3", 1e-6), rho("0.3"), mu("0.3")):
            made = Quantiles.calibrate(
                spend, probabilities=asked, bounds=(0, 9), relation=relation, step=1, method="joint"
            )
            assert made.method == "joint"
            assert fits(made.loss(), spend)
            more = Quantiles(asked, (0, 9), made.epsilon * Fraction(11, 10), step=1, method="joint", relation=relation)
            assert not fits(more.loss(), spend)


@pytest.mark.parametrize(
    ("spend", "asked", "step", "method"),
    [
        (pure(1), DECILES, 1, "joint"),
        (approx(1, 1e-6), DECILES, 1, "joint"),
        (mu(1), DECILES, 1, "recursive"),
        (rho(1), DECILES, 1, "recursive"),
        (pure(1), DECILES, None, "recursive"),
        (pure(1), DECILES, "100/1023", "joint"),
        (pure(1), DECILES, "100/1024", "recursive"),
        (pure(1), DECILES[:1], 1, "recursive"),
        (pure(1), "0.5", 1, "recursive"),
        (pure(1), [Fraction(k, 21) for k in range(1, 21)], 1, "joint"),
        (pure(1), [Fraction(k, 22) for k in range(1, 22)], 1, "recursive"),
        (pure("1e-100"), DECILES, 1, "recursive"),
        (pure(10**6), DECILES, 1, "recursive"),
    ],
)
def test_the_method_follows_from_public_facts(spend, asked, step, method) -> None:
    assert Quantiles.calibrate(spend, probabilities=asked, bounds=(0, 100), step=step).method == method


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "both"}, "method must be"),
        ({"method": None}, "method must be"),
        ({"probabilities": "0.5"}, "2 to 20 quantiles"),
        ({"probabilities": ["0.5"]}, "2 to 20 quantiles"),
        ({"probabilities": [Fraction(k, 22) for k in range(1, 22)]}, "2 to 20 quantiles"),
        ({"step": None}, "1024 points at most"),
        ({"step": "1/1024"}, "1024 points at most"),
        ({"epsilon": "1e-13"}, "epsilon"),
        ({"epsilon": 1025}, "epsilon"),
    ],
    ids=str,
)
def test_what_cannot_be_joint_is_refused(change, message) -> None:
    with pytest.raises(ParameterError, match=message):
        Quantiles(
            **{"probabilities": [0.2, 0.5], "bounds": (0, 1), "epsilon": 1, "step": 0.5, "method": "joint", **change}
        )


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [Fraction(1, 2**40), 1, 2**10])
@pytest.mark.parametrize("bounds", [("-1e-3", "1e-3"), (0, 1e12), (-(2**400), 2**400)])
def test_extreme_scales(bounds, epsilon, relation) -> None:
    low, high = (Fraction(each) for each in bounds)
    mechanism = Quantiles(DECILES[::2], bounds, epsilon, relation=relation, step=(high - low) / 40, method="joint")
    x = float(low) + float(high / 4 - low / 4) * np.arange(4.0)
    for data in (x, [], [float(low)], [math.inf, -math.inf, math.nan, None], np.full(100_000, float(high))):
        found = mechanism.release(data)
        assert np.isfinite(found).all()
        assert (np.diff(found) >= 0).all()
        assert float(low) <= found[0] <= found[-1] <= float(high)


def test_tied_values_are_found() -> None:
    """Wrong with probability below 1e-12, even of a quantile close to the edge of a value that all have."""
    mechanism = Quantiles(["0.01", "0.5", "0.99"], (0, 100), 1, step=1, method="joint")
    assert mechanism.release(np.full(1_000_000, 40)).tolist() == [40, 40, 40]
    x = np.repeat(np.arange(17, 91), np.arange(1, 75) * 10)
    found = Quantiles(DECILES, (17, 90), 200, step=1, method="joint").release(x)
    assert found.tolist() == np.quantile(x, [float(p) for p in DECILES], method="inverted_cdf").tolist()


@pytest.mark.parametrize(
    ("asked", "relation"),
    [
        pytest.param(asked, each, marks=[pytest.mark.soak] * (each == "add_remove" and asked is DECILES))
        for asked in (DECILES, DECILES[:2])
        for each in RELATIONS
    ],
    ids=lambda each: each if isinstance(each, str) else len(each),
)
def test_error_holds(asked, relation) -> None:
    """Fails by chance with probability 2e-11 or less: 20 releases, each with 1e-12."""
    mechanism = Quantiles(asked, (0, 100), 1, step=1, relation=relation, method="joint")
    for x in (np.arange(20_000) ** 2 % 101, np.full(20_000, 3), np.arange(20_000) % 2):
        reach = mechanism.error(1 - Fraction(1, 10**12), records=x.size)
        assert reach < 2_000
        for _ in range(7):
            for p, t in zip(asked, mechanism.release(x).tolist(), strict=True):
                assert max((x < t).sum() - p * x.size, p * x.size - (x <= t).sum()) <= reach


def test_error_needs_no_data() -> None:
    mechanism = Quantiles(DECILES, (0, 100), 1, step=1, method="joint")
    assert [mechanism.error(records=n) for n in (0, 1, 2)] == [0, 1, 2]
    assert mechanism.error("0.9", records=10**5) < mechanism.error("0.99", records=10**5)
    with pytest.raises(ParameterError):
        mechanism.error(records=-1)


@pytest.mark.soak
def test_deciles_err_less_than_by_recursion_at_equal_epsilon() -> None:
    """By half as much; 40 releases of either tell them apart by more than ten standard errors."""
    x = np.arange(1000) * 7 % 101
    means = []
    for method in ("joint", "recursive"):
        made = Quantiles.calibrate(pure("0.3"), probabilities=DECILES, bounds=(0, 100), step=1, method=method)
        off = [
            max(0, (x < t).sum() - p * x.size, p * x.size - (x <= t).sum())
            for _ in range(40)
            for p, t in zip(DECILES, made.release(x).tolist(), strict=True)
        ]
        means.append(float(sum(off)) / len(off))
    assert means[0] < 0.8 * means[1]


def test_a_thousand_cells_take_less_than_two_seconds() -> None:
    """About 0.4 s."""
    mechanism = Quantiles.calibrate(pure(1), probabilities=DECILES, bounds=(0, 1000), step="1000/1023")
    x = np.random.default_rng(1).normal(500, 100, size=1000)
    start = time.process_time()
    mechanism.release(x)
    assert time.process_time() - start < 2


@pytest.mark.sampled
@pytest.mark.parametrize("records", [0, 40, 100_000])
@pytest.mark.parametrize("epsilon", ["1e-6", "1", "1000"])
def test_no_data_make_acceptance_rare(epsilon, records, monkeypatch) -> None:
    """Twenty quantiles of one value: most take one to ten proposals, and none here as many as 300."""
    seen, accepted = [], _quantile_chain._accepted
    monkeypatch.setattr(_quantile_chain, "_accepted", lambda x, odds: seen.append(x) or accepted(x, odds))
    made = Quantiles([Fraction(k, 21) for k in range(1, 21)], (0, 1), epsilon, step=1, method="joint")
    made.release(np.ones(records))
    assert len(seen) < 300
