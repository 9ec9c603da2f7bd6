"""Staircase noise: the law of its levels, every place and sign, and its frequencies."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.noise import _staircase, staircase
from discreet.noise._staircase import _sampler

DRAWS = 400_000
ALARM = 1e-12  # the secure source: a chi-square test fails by chance with about this probability


def level_tail(epsilon: Fraction, width: int, first: int, k: int) -> mpmath.mpf:
    """P(level ≥ k) for k ≥ 1, with as many places on each level as it has."""
    b = mpmath.exp(-mpmath.mpf(epsilon.numerator) / epsilon.denominator)
    return width * b**k / (first * (1 - b) + width * b)


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize(
    ("epsilon", "width", "first"),
    [("1", 1, 1), ("1/50", 7, 2), ("1/63", 1000, 500), ("20", 2**40, 1), ("1000", 5, 5), ("800", 2**56, 1)],
)
def test_levels_of_steep_stairs_are_exact(epsilon: str, width: int, first: int, monkeypatch) -> None:
    made = []
    monkeypatch.setattr(_staircase, "Table", lambda tails, signed: made.append((tails, signed)))
    exact = Fraction(epsilon)
    _staircase._steep(exact, width, first)
    ((tails, signed),) = made
    assert not signed
    with mpmath.workprec(1500):
        for bits in (64, 128):
            bounds, whole = tails(bits), mpmath.mpf(2) ** bits
            for k, (low, high) in enumerate(bounds, start=1):
                assert low <= whole * level_tail(exact, width, first, k) <= high <= low + 2
            assert whole * level_tail(exact, width, first, len(bounds) + 1) <= 1


@pytest.mark.parametrize(("width", "first"), [(1, 1), (5, 1), (5, 3), (5, 5)])
def test_every_place_and_sign_appears_once(width: int, first: int, monkeypatch) -> None:
    """All levels up to 3, all places in them and both signs: what is left is each integer in its range, once."""
    proposals = [
        (level, sign, place) for level in range(4) for sign in (0, -1) for place in range(width if level else first)
    ]
    level, sign, place = (np.array(each, dtype=np.int64) for each in zip(*proposals, strict=True))

    def all_places(n: int, size: int, source: object) -> np.ndarray:
        if size == level.size and n == width:
            return np.where(level > 0, place, 0)  # of the lowest level, drawn anew
        assert (n, size) == (first, int((level == 0).sum()))
        return place[level == 0]

    monkeypatch.setattr(_staircase, "words_below", all_places)
    drawn = _staircase._Staircase(lambda size, source: (level, sign), width, first).propose(level.size, None)
    reach = first + 3 * width - 1
    assert sorted(drawn.tolist()) == list(range(-reach, reach + 1))
    levels = (np.abs(drawn) + width - first) // width
    assert Counter(levels.tolist()) == {0: 2 * first - 1, 1: 2 * width, 2: 2 * width, 3: 2 * width}
    assert levels.tolist() == [k for k, s, p in proposals if (k, s, p) != (0, -1, 0)]


@pytest.mark.parametrize(
    ("epsilon", "width", "first"),
    [(1, 1, 1), (2, 6, 2), ("1/2", 4, 4), (12, 50, 1), ("1/64", 3, 1), ("0.01", 7, 5), (1000, 9, 4)],
)
def test_frequencies(epsilon, width: int, first: int) -> None:
    drawn = staircase(epsilon, width, first, DRAWS)
    eps = float(Fraction(epsilon))
    reach = int(60 / eps + 2) * width
    x = np.arange(-reach, reach + 1)
    weight = np.exp(-eps * ((np.abs(x) + width - first) // width))
    expected = DRAWS * weight / weight.sum()
    order = np.argsort(expected)[::-1]
    observed = np.bincount(drawn + reach, minlength=2 * reach + 1)[order]
    split = int((expected >= 100).sum())
    shares = np.append(expected[order][:split], expected[order][split:].sum())
    counts = np.append(observed[:split], observed[split:].sum())
    if shares[-1] < 100:
        shares, counts = np.append(shares[:-2], shares[-2:].sum()), np.append(counts[:-2], counts[-2:].sum())
    assert stats.chisquare(counts, shares).pvalue > ALARM


def test_large_widths_are_drawn_whole() -> None:
    drawn = staircase("1/1000", 2**46, 2**45, 100_000)
    assert drawn.dtype == np.int64
    assert np.abs(drawn).mean() == pytest.approx(1000 * 2**46, rel=0.05)  # 15 standard errors
    spread = stats.kstest(drawn % 2**46, "uniform", args=(0, 2**46))
    assert spread.pvalue > ALARM


def test_a_draw_beyond_64_bits_is_kept_whole() -> None:
    far = _staircase._Staircase(lambda size, source: (np.array([2**20]), np.array([-1])), 2**56, 1)

    class Zeros:
        def take(self, nbytes: int) -> bytes:
            return bytes(nbytes)

    drawn = far.propose(1, Zeros())
    assert drawn.dtype == object
    assert drawn.tolist() == [-((2**20 - 1) * 2**56 + 1)]
    assert _sampler(Fraction(1), 3, 2).propose(0, Zeros()).tolist() == []


@pytest.mark.parametrize(
    "bad",
    [
        (0, 1, 1, 1), (-1, 1, 1, 1), (1001, 1, 1, 1), (float("nan"), 1, 1, 1), ("x", 1, 1, 1), (True, 1, 1, 1),
        (1, 0, 1, 1), (1, 5, 6, 1), (1, 5, 0, 1), (1, 2**56 + 1, 1, 1), ("0.5", 2**56, 1, 1), (1, 5.0, 1, 1),
        (1, 5, True, 1), (1, 5, 1, -1), (1, 5, 1, 1.5), (1000, 2**60, 1, 1),
    ],
    ids=str,
)  # fmt: skip
def test_bad_arguments_are_refused(bad) -> None:
    with pytest.raises(ParameterError):
        staircase(*bad)
