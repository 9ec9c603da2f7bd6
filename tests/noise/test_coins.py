"""Coins and uniform integers, bit by bit where bits can be scripted; the rest fail by chance below 1e-11."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet.errors import ParameterError
from discreet.noise import bernoulli, bernoulli_exp, exp_bounds, permutation, uniform_below
from discreet.noise._bernoulli import _bernoulli_exp, _scaled_exp_of_any, bernoulli_from, quick_bernoulli_from
from discreet.noise._blocks import FILTER_SLACK
from discreet.noise._uniform import _permutation, words_below

ALARM = 1e-12


def words(*values: int) -> bytes:
    return b"".join(value.to_bytes(8, "little") for value in values)


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 2**64 + 1), Fraction(2**70 - 1, 2**70), Fraction(3, 4)])
def test_a_coin_compares_all_bits_of_the_uniform_with_p(p: Fraction, scripted) -> None:
    """Every decision is U < p on the 128 bits given, unless those are the first 128 bits of p."""
    first, second = p * 2**64 // 1, p * 2**128 // 1 % 2**64
    for u in {max(first - 1, 0), first, min(first + 1, 2**64 - 1)}:
        for v in {0, max(second - 1, 0), min(second + 1, 2**64 - 1), 2**64 - 1}:
            if (u, v) != (first, second):
                drawn = bernoulli_from(p, 1, scripted(words(u, v)))
                assert drawn.tolist() == [Fraction(u * 2**64 + v, 2**128) < p]


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(1, 1000), Fraction(2**70 - 1, 2**70), Fraction(1, 4)])
def test_a_quick_coin_compares_all_bits_too_the_first_eight_of_all_coins_first(p: Fraction, scripted) -> None:
    tie, rest = divmod(p * 256, 1)
    firsts, seconds = list(range(256)), [0, rest * 2**64 // 1 - 1, rest * 2**64 // 1 + 1, 2**64 - 1]
    for second in seconds if rest else [0]:
        script = bytes(firsts) + words(min(max(second, 0), 2**64 - 1))
        drawn = quick_bernoulli_from(p, 256, scripted(script))
        uniforms = [Fraction(first, 256) for first in firsts]
        uniforms[tie] += Fraction(min(max(second, 0), 2**64 - 1), 2**72)
        assert drawn.tolist() == [uniform < p for uniform in uniforms]


def test_many_coins_are_drawn_in_parts() -> None:
    for size in (0, 1, 2**16 - 1, 2**16, 2**16 + 1, 2**18 + 3):
        drawn = bernoulli("0.4", size)
        assert drawn.shape == (size,)
        assert all(stats.binomtest(int(part.sum()), part.size, 0.4).pvalue > ALARM for part in np.split(drawn, [2**16])
                   if part.size)  # fmt: skip


def test_certain_coins_and_bad_ones() -> None:
    assert bernoulli(1, 5).all()
    assert not bernoulli("0", 5).any()
    assert bernoulli("0.3", 0).shape == (0,)
    for p in (-0.1, 1.1, float("nan"), None):
        with pytest.raises(ParameterError, match="p must"):
            bernoulli(p, 1)
    with pytest.raises(ParameterError, match="size"):
        bernoulli("0.3", -1)


@pytest.mark.parametrize("p", ["1/3", "1e-3", 0.97])
def test_frequency_of_a_coin(p) -> None:
    draws = 400_000
    assert stats.binomtest(int(bernoulli(p, draws).sum()), draws, float(Fraction(p))).pvalue > ALARM


@pytest.mark.parametrize("n", [1, 2, 3, 10, 2**32 - 1, 2**32, 2**32 + 1, 2**63 - 5, 2**63])
def test_integers_below_n_are_the_words_below_n(n: int, scripted) -> None:
    bits = (n - 1).bit_length()
    width = 4 if n <= 2**32 else 8
    raw = [0, n - 1, n % 2**bits if bits else 0, (n - 1) // 2, 2**bits - 1]
    filled = [value | (1 << 8 * width) - (1 << bits) for value in raw]  # bits above those of n − 1 do not count
    script = b"".join(value.to_bytes(width, "little") for value in filled)
    expected = [value for value in raw if value < n]
    assert words_below(n, len(expected), scripted(script)).tolist() == expected


@pytest.mark.parametrize("n", [3, 10, 1000])
def test_frequencies_of_integers_below_n(n: int) -> None:
    drawn = uniform_below(n, 300_000)
    assert drawn.dtype == np.int64
    assert stats.chisquare(np.bincount(drawn, minlength=n)).pvalue > ALARM


@pytest.mark.parametrize("n", [0, -1, 2**63 + 1, True, 1.5])
def test_bad_n_is_refused(n) -> None:
    with pytest.raises(ParameterError, match="n must"):
        uniform_below(n, 1)


def test_error_of_the_extended_filter_is_far_inside_its_slack() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.random(2000) * 70, np.arange(270) / 4, np.nextafter(np.arange(1, 270) / 4, 0), [1e300]])
    with mpmath.workprec(200):
        errors = [
            abs(mpmath.mpf(p) - 2**32 * mpmath.exp(-mpmath.mpf(v)))
            for p, v in zip(_scaled_exp_of_any(x), x, strict=True)
        ]
    assert max(errors) < 2 < FILTER_SLACK
    assert _scaled_exp_of_any(np.array([np.inf])).tolist() == [0.0]


@pytest.mark.parametrize("x", ["0", "1e-6", "1/7", "1/4", "3/4", "2.3", "10", "21", "23", "64", "1e400"])
def test_exact_decisions_agree_with_the_filter(x: str, scripted) -> None:
    exact = Fraction(x)
    threshold = exp_bounds(exact, 32)[0]
    near = [threshold + step for step in (-3000, -6, -5, -4, -2, 2, 4, 5, 6, 3000)]
    uniform = np.array([u for u in [2**32 - 1, *near] if 0 <= u < 2**32], dtype="<u4")
    floats = np.full(uniform.size, float(exact) if exact < 10**300 else np.inf)
    quick = _bernoulli_exp(floats, lambda _: exact, scripted(uniform.tobytes()))
    slow = _bernoulli_exp(floats, lambda _: exact, scripted(uniform.tobytes()), slack=np.inf)
    assert quick.tolist() == slow.tolist() == (uniform < threshold + (exact == 0)).tolist()


def test_a_tie_is_decided_by_later_bits(scripted) -> None:
    x = Fraction(30)  # exp(−30) is below 2**−43: 32 zero bits decide nothing
    low, _ = exp_bounds(x, 96)
    for later, accepted in [(low - 5, True), (low + 5, False), (0, True), (2**64 - 1, False)]:
        bits = bytes(4) + later.to_bytes(8, "little")
        assert _bernoulli_exp(np.array([30.0]), lambda _: x, scripted(bits)).tolist() == [accepted]


def test_bad_exponents_are_refused() -> None:
    for bad in (-1.0, np.nan):
        with pytest.raises(ParameterError, match="exponents"):
            bernoulli_exp(np.array([0.0, bad]), lambda _: Fraction(0))


@pytest.mark.parametrize("x", ["0.1", "1", "3.7"])
def test_frequency_of_exp(x: str) -> None:
    draws = 400_000
    drawn = bernoulli_exp(np.full(draws, float(x)), lambda _: Fraction(x))
    assert stats.binomtest(int(drawn.sum()), draws, float(np.exp(-float(x)))).pvalue > ALARM


def test_every_order_of_keys_gives_its_own_permutation(scripted) -> None:
    """Distinct keys are equally likely in every order, so all 4! permutations are equally likely."""
    found = {tuple(_permutation(4, scripted(words(*keys))).tolist()) for keys in permutations([0, 7, 2**63, 2**64 - 1])}
    assert found == set(permutations(range(4)))


def test_keys_with_a_tie_are_all_drawn_again(scripted) -> None:
    script = words(5, 1, 5) + words(9, 9, 9) + words(30, 10, 20)
    assert _permutation(3, scripted(script)).tolist() == [1, 2, 0]


def test_frequency_of_orders() -> None:
    """Fails by chance with probability 1e-12 or so (chi-square, 500 expected of each of 120 orders)."""
    counts = Counter(tuple(permutation(5).tolist()) for _ in range(60_000))
    assert len(counts) == 120
    assert stats.chisquare(list(counts.values())).pvalue > ALARM


@pytest.mark.parametrize("place", [0, 1, 4_999])
def test_where_one_of_many_goes(place: int) -> None:
    """Fails by chance with probability 1e-12 or so: its place is uniform, and so is that of its neighbour, given it."""
    draws = [permutation(5_000) for _ in range(4_000)]
    at = [int(np.flatnonzero(order == place)[0]) for order in draws]
    assert stats.chisquare(np.bincount(np.array(at) // 500, minlength=10)).pvalue > ALARM
    after = [
        (int(np.flatnonzero(order == (place + 1) % 5_000)[0]) - a) % 5_000 for order, a in zip(draws, at, strict=True)
    ]
    assert stats.chisquare(np.bincount((np.array(after) - 1) // 500, minlength=10)).pvalue > ALARM


@pytest.mark.parametrize("size", [-1, 1.0, True, None], ids=str)
def test_bad_sizes_of_a_permutation_are_refused(size) -> None:
    with pytest.raises(ParameterError, match="size"):
        permutation(size)
