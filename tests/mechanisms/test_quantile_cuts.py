"""One cut of sorted data: every cut lies in one block of the right weight, and blocks are chosen exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from discreet.mechanisms.quantiles import _cuts as _quantile_cuts
from discreet.mechanisms.quantiles._cuts import Stretch, draw_cut

ALARM = 1e-12


def stretch_of(y, low: int, high: int, cell_bits: int) -> Stretch:
    return Stretch(np.array(sorted(y), dtype=np.int64), low, high, cell_bits)


def distance(s: Stretch, c: int, p: Fraction) -> Fraction:
    y, cell = s.y.tolist(), 1 << s.cell_bits
    before, up_to = sum(e // cell < c // cell for e in y), sum(e // cell <= c // cell for e in y)
    return max(Fraction(0), before - p * len(y), p * len(y) - up_to)


@st.composite
def cases(draw):
    low = draw(st.integers(0, 9))
    high = draw(st.integers(low, 40))
    y = draw(st.lists(st.integers(low, high), max_size=25))
    p = draw(st.sampled_from([Fraction(1, 2), Fraction(1, 3), Fraction(9, 10), Fraction(1, 97)]))
    rate = draw(st.sampled_from([Fraction(1, 7), Fraction(1, 2), Fraction(3, 2), Fraction(1, 10**9), Fraction(10**9)]))
    return stretch_of(y, low, high, draw(st.integers(0, 4))), p, rate


@given(cases(), st.sampled_from([80, 192]))
def test_every_cut_lies_in_one_block_with_its_weight(case, bits) -> None:
    """And the exponent that it is accepted with makes up for the distance of its block: checked for every cut."""
    s, p, rate = case
    target, width = p * s.y.size, max(1, 1 // rate)
    seen = []
    with mpmath.workprec(400):
        for low, high, block in _quantile_cuts._blocks(s, target, rate, width, bits):
            seen += range(block.start, block.stop)
            least = None
            for c in range(block.start, block.stop):
                gap = _quantile_cuts._gap(s, target, block, c)
                exponent = rate * (distance(s, c, p) - gap)
                assert least is None or exponent == least
                least = exponent
                assert 0 <= gap < width or low == 0
            if least is not None:
                x = mpmath.mpf(least.numerator) / least.denominator
                weight = (block.stop - block.start) * mpmath.exp(-x) * mpmath.mpf(2) ** bits
                assert low <= weight <= high
    assert sorted(seen) == list(range(s.low, s.high + 1))


def shares(s: Stretch, p: Fraction, rate: Fraction):
    """Blocks and their exact weights, summed up, out of all."""
    width = max(1, 1 // rate)
    blocks = [block for _, _, block in _quantile_cuts._blocks(s, p * s.y.size, rate, width, 2000)]
    weights = []
    for block in blocks:
        cuts = range(block.start, block.stop)
        x = rate * min(
            (distance(s, c, p) - _quantile_cuts._gap(s, p * s.y.size, block, c) for c in cuts), default=Fraction(0)
        )
        weights.append(len(cuts) * mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator))
    total = mpmath.fsum(weights)
    return blocks, [mpmath.fsum(weights[: i + 1]) / total for i in range(len(weights))]


@pytest.mark.parametrize("rate", [Fraction(1, 7), Fraction(3, 4), Fraction(5)])
@pytest.mark.parametrize("cell_bits", [0, 2])
def test_blocks_are_chosen_by_all_the_bits_of_a_uniform_number(cell_bits, rate, monkeypatch) -> None:
    """The number just below and just above every boundary, on 64 bits and on 128."""
    s, p = stretch_of([1, 1, 5, 8, 9, 9, 30, 31], 0, 40, cell_bits), Fraction(2, 5)
    with mpmath.workprec(2000):
        blocks, tops = shares(s, p, rate)
        table = list(_quantile_cuts._blocks(s, p * 8, rate, max(1, 1 // rate), 192))
        for top in tops[:-1]:
            word, rest = int(top * 2**64), int(top * 2**128) % 2**64
            for u in ((word - 1, 0), (word + 1, 0), (word, rest - 1), (word, rest + 1)):
                left = list(u)
                monkeypatch.setattr(
                    _quantile_cuts, "uniform64", lambda size, left=left: np.array([left.pop(0)], dtype=np.uint64)
                )
                value = mpmath.mpf(u[0] * 2**64 + u[1] + mpmath.mpf(1) / 2) / 2**128
                expected = next(b for b, t in zip(blocks, tops, strict=True) if value < t)
                assert _quantile_cuts._pick(s, p * 8, rate, max(1, 1 // rate), table) == expected
                assert len(left) == (0 if u[0] == word else 1)


@pytest.mark.sampled
@pytest.mark.parametrize("rate", [Fraction(1, 7), Fraction(3, 4)])
@pytest.mark.parametrize("low", [0, 99_000])
def test_weights_that_are_hardly_known_never_decide_wrongly(low, rate, monkeypatch) -> None:
    """Around every boundary and between them, with bounds of 16 bits at first, each word more adding 64."""
    monkeypatch.setattr(_quantile_cuts, "_BITS", 16)
    monkeypatch.setattr(_quantile_cuts, "_NEGLIGIBLE", 8)
    y = [99_000 + each for each in (1, 1, 5, 8, 9, 9, 11, *range(12, 40))]
    s, p, width = stretch_of(y, low, 99_050, 0), Fraction(2, 5), max(1, 1 // rate)
    target = p * s.y.size
    with mpmath.workprec(2000):
        blocks, tops = shares(s, p, rate)
        table = list(_quantile_cuts._blocks(s, target, rate, width, 16))
        offsets = [k * 2**e for k in (-1, 1) for e in range(0, 60, 3)]
        words = [int(top * 2**64) + off for top in tops[:-1] for off in offsets]
        words += [int((low + high) * 2**63) for low, high in pairwise(tops)]
        for word in words:
            if 0 <= word < 2**64:
                left = [word] + [0] * 5
                monkeypatch.setattr(
                    _quantile_cuts, "uniform64", lambda size, left=left: np.array([left.pop(0)], dtype=np.uint64)
                )
                expected = next(b for b, t in zip(blocks, tops, strict=True) if mpmath.mpf(word) / 2**64 < t)
                assert _quantile_cuts._pick(s, target, rate, width, table) == expected


@pytest.mark.parametrize(
    ("y", "cell_bits", "p", "rate"),
    [
        pytest.param([0, 3, 3, 3, 3, 11], 0, "1/2", "0.7", marks=pytest.mark.soak),
        ([0, 3, 3, 3, 3, 11], 2, "1/3", "0.7"),
        pytest.param(list(range(12)), 0, "1/4", "0.11", marks=pytest.mark.soak),
        ([], 1, "1/2", "3"),
        pytest.param([5] * 9, 0, "2/3", "0.2", marks=pytest.mark.soak),
    ],
)
def test_frequencies_follow_the_law(y, cell_bits, p, rate) -> None:
    """Fails by chance with probability 1e-12 or so (chi-square; rare cuts count together)."""
    s, draws = stretch_of(y, 0, 11, cell_bits), 4000
    drawn = np.bincount([draw_cut(s, Fraction(p), Fraction(rate)) for _ in range(draws)], minlength=12)
    weights = np.array([float(np.exp(-float(Fraction(rate) * distance(s, c, Fraction(p))))) for c in range(12)])
    expected = weights / weights.sum() * draws
    rare = expected < 20
    counts, wanted = drawn[~rare].tolist(), expected[~rare].tolist()
    if rare.any():
        counts[0], wanted[0] = counts[0] + drawn[rare].sum(), wanted[0] + expected[rare].sum()
    assert stats.chisquare(counts, wanted).pvalue > ALARM


def test_far_cuts_are_reached_though_their_weight_is_beyond_the_first_bits(monkeypatch) -> None:
    """A uniform number of all ones on 320 bits: the last block, which 192 bits call negligible."""
    s = stretch_of(range(0, 400, 2), 0, 400, 0)
    words = [2**64 - 1] * 5 + [0]
    monkeypatch.setattr(_quantile_cuts, "uniform64", lambda size: np.array([words.pop(0)], dtype=np.uint64))
    table = list(_quantile_cuts._blocks(s, Fraction(100), Fraction(2), 1, 192))
    block = _quantile_cuts._pick(s, Fraction(100), Fraction(2), 1, table)
    assert block.first > 70
    assert block.stop - block.start == 2  # one gap, and not all that is farther out


def test_positions_of_sixty_two_bits_and_extreme_rates() -> None:
    far = 2**62 - 1
    for rate in (Fraction(1, 2**500), Fraction(2) ** 500):
        for y in ([], [0], [far], [0, far], [far] * 3):
            assert 0 <= draw_cut(stretch_of(y, 0, far, 0), Fraction(1, 2), rate) <= far
    assert draw_cut(stretch_of([0, far // 2, far], 0, far, 0), Fraction(1, 2), Fraction(10**6)) == far // 2
