"""Places drawn at once: what is accepted has exactly the probability wanted, by whatever way it was proposed."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, combinations_with_replacement, product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from discreet.mechanisms.quantiles import _joint as _quantile_chain
from discreet.mechanisms.quantiles import _joint as _quantile_places
from discreet.mechanisms.quantiles._joint import Chain, Places

ALARM = 1e-12


def chain_of(counts, bits, shares, sizes, rate) -> Chain:
    """Of records, the rate being per record."""
    places, unit = Places(np.array(counts, dtype=np.int64), bits), 2 << bits
    exact = tuple(unit * Fraction(size) for size in sizes)
    return Chain(places, tuple(Fraction(share) for share in shares), exact, Fraction(rate) / unit)


def ranks(chain: Chain) -> list[int]:
    """The units below each place, one at a time."""
    per_place = [count for count in chain.places.counts.tolist() for _ in range(1 << chain.places.bits)]
    return [2 * sum(per_place[:z]) + count for z, count in enumerate(per_place)]


def weight(chain: Chain, below: list[int], cuts, size: Fraction):
    counts = np.diff([0, *(below[z] for z in cuts), chain.places.records]).tolist()
    cost = sum((abs(count - share * size) for count, share in zip(counts, chain.shares, strict=True)), Fraction(0))
    return mpmath.exp(-mpmath.mpf((chain.rate * cost).numerator) / (chain.rate * cost).denominator)


def vectors(chain: Chain):
    return combinations_with_replacement(range(chain.places.counts.size << chain.places.bits), len(chain.shares) - 1)


def ways(chain: Chain, chosen, monkeypatch):
    """For each (cuts, at) of `chosen`: how likely they are proposed, and the odds and exponent of accepting them."""
    left: list[int] = []
    inside: list[int] = []
    starts, sizes = chain.places.blocks(tuple(accumulate(chain.shares[:-1])), chain.rate)

    def forced(logs):
        weights = _quantile_chain._weights(logs)
        at = left.pop()
        return at, Fraction(int(weights.sum()), int(weights[at]))

    seen = []
    monkeypatch.setattr(_quantile_chain, "_pick", forced)
    monkeypatch.setattr(_quantile_chain, "uniform_below", lambda n, size: [inside.pop(0)])
    monkeypatch.setattr(_quantile_chain, "_accepted", lambda x, odds: seen.append((x, odds)) or True)
    for cuts, at in chosen:
        blocks = [int(np.searchsorted(starts, z, side="right")) - 1 for z in cuts]
        left[:] = [*blocks, at]
        inside[:] = [z - int(starts[k]) for z, k in zip(cuts, blocks, strict=True)]
        assert all(0 <= u < sizes[k] for u, k in zip(inside, blocks, strict=True))
        assert chain.draw() == list(cuts)
        x, odds = seen.pop()
        yield mpmath.mpf(odds.denominator) / odds.numerator, odds, x


def odds_of_acceptance(odds: Fraction, x: Fraction):
    return mpmath.mpf(odds.numerator) / odds.denominator * mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)


CHAINS = [
    chain_of([3, 0, 4, 2], 1, ["1/3", "1/3", "1/3"], [9], "1/2"),
    chain_of([1, 5, 0], 2, ["1/10", "1/2", "2/5"], [-4, 0, "17/2", 30], "2"),
    chain_of([0, 0], 1, ["1/4"] * 4, [-5, 0, 5], "1/100"),
    chain_of([10**6, 10**9], 1, ["1/5"] * 5, [10**9, 0], "32"),
    chain_of([7], 3, ["1/2", "1/2"], [10], "1/50"),
]


@pytest.mark.parametrize("fewest", [1, 256])
@pytest.mark.parametrize("chain", CHAINS, ids=range(len(CHAINS)))
def test_every_vector_has_exactly_its_weight(chain, fewest, monkeypatch) -> None:
    """Proposed, then accepted: in the ratio of the weights, and never with more than probability 1."""
    monkeypatch.setattr(_quantile_places, "_FEWEST", fewest)
    below, constants = ranks(chain), []
    with mpmath.workprec(400):
        chosen = list(product(vectors(chain), range(len(chain.sizes))))
        for (cuts, at), (proposed, odds, x) in zip(chosen, ways(chain, chosen, monkeypatch), strict=True):
            accept = odds_of_acceptance(odds, x)
            assert accept <= 1
            constants.append(proposed * accept / weight(chain, below, cuts, chain.sizes[at]))
        assert max(constants) / min(constants) - 1 < mpmath.mpf(10) ** -60


@pytest.mark.parametrize("chain", [CHAINS[0], CHAINS[1], CHAINS[2]], ids=range(3))
def test_blocks_of_one_place_are_nearly_always_accepted(chain, monkeypatch) -> None:
    """What the proposal loses is what floats may err by, and no more."""
    with mpmath.workprec(400):
        chosen = list(product(vectors(chain), range(len(chain.sizes))))
        kept = mpmath.fsum(p * odds_of_acceptance(odds, x) for p, odds, x in ways(chain, chosen, monkeypatch))
        assert 1 - 3 * chain._slack() < kept < 1


@st.composite
def chains(draw):
    counts = draw(st.lists(st.integers(0, 10 ** draw(st.integers(0, 9))), min_size=1, max_size=40))
    shares = draw(st.lists(st.integers(1, 9), min_size=2, max_size=8))
    sizes = draw(st.lists(st.integers(-sum(counts) - 10, 2 * sum(counts) + 10), min_size=1, max_size=3))
    rate = draw(st.sampled_from(["1e-9", "1/7", "1", "17/3", "500"]))
    bits = draw(st.sampled_from([0, 3, 20]))
    return chain_of(counts, bits, [Fraction(s, sum(shares)) for s in shares], sizes, rate)


@settings(max_examples=60, deadline=None)
@given(chains(), st.data())
def test_no_vector_is_proposed_too_rarely(chain, data) -> None:
    """Whatever the scale, and however unlikely: else it would be accepted with more than probability 1."""
    asked, last = len(chain.shares) - 1, (chain.places.counts.size << chain.places.bits) - 1
    some = st.lists(st.integers(0, last), min_size=asked, max_size=asked)
    chosen = [(sorted(data.draw(some)), data.draw(st.integers(0, len(chain.sizes) - 1))) for _ in range(5)]
    with pytest.MonkeyPatch.context() as patched, mpmath.workprec(200):
        for _, odds, x in ways(chain, chosen, patched):
            assert odds_of_acceptance(odds, x) <= 1


@given(chains())
def test_blocks_hold_every_place_once(chain) -> None:
    starts, sizes = chain.places.blocks(tuple(accumulate(chain.shares[:-1])), chain.rate)
    assert starts[0] == 0
    assert (sizes >= 1).all()
    assert (starts[1:] == starts[:-1] + sizes[:-1]).all()
    assert starts[-1] + sizes[-1] == chain.places.counts.size << chain.places.bits
    assert (starts >> chain.places.bits == starts + sizes - 1 >> chain.places.bits).all()


@pytest.mark.parametrize("cells", [2, 74, 1024])
def test_blocks_are_few(cells) -> None:
    """Weights of 2**46 each can be summed up in 63 bits if they are fewer than 2**17."""
    for counts in (
        np.full(cells, 10**9),
        np.eye(1, cells, dtype=np.int64)[0] * 10**11,
        np.zeros(cells, dtype=np.int64),
    ):
        places = Places(counts.astype(np.int64))
        starts, _ = places.blocks(tuple(Fraction(k, 21) for k in range(1, 21)), Fraction(2**10, 2 << places.bits))
        assert starts.size < 2**16


@pytest.mark.parametrize(
    "chain", [CHAINS[0], *(pytest.param(chain, marks=pytest.mark.soak) for chain in CHAINS[1:3])], ids=range(3)
)
def test_frequencies_follow_the_law(chain) -> None:
    """Fails by chance with probability 1e-12 or so (chi-square; rare vectors count together)."""
    draws = 1500
    below = ranks(chain)
    law = {cuts: sum(weight(chain, below, cuts, size) for size in chain.sizes) for cuts in vectors(chain)}
    whole = mpmath.fsum(law.values())
    expected = {places: float(each / whole) * draws for places, each in law.items()}
    seen = dict.fromkeys(law, 0)
    for _ in range(draws):
        seen[tuple(chain.draw())] += 1
    often = [places for places, count in expected.items() if count >= 10]
    counts = [*(seen[each] for each in often), draws - sum(seen[each] for each in often)]
    wanted = [*(expected[each] for each in often), draws - sum(expected[each] for each in often)]
    if wanted[-1] < 10:
        counts[-2:], wanted[-2:] = [sum(counts[-2:])], [sum(wanted[-2:])]
    assert len(counts) >= 4
    assert stats.chisquare(counts, np.array(wanted) / sum(wanted) * draws).pvalue > ALARM


@pytest.mark.parametrize(("x", "odds"), [("1/3", 1), ("50", 10**20), ("700", "12345678/7"), ("0.001", "1/1000")])
def test_acceptance_is_decided_by_all_the_bits_of_a_uniform_number(x, odds, monkeypatch) -> None:
    """Numbers just below and just above the boundary, on 64 bits and on 128."""
    exact, ratio = Fraction(x), Fraction(odds)
    with mpmath.workprec(2000):
        top = odds_of_acceptance(ratio, exact)
        word, rest = int(top * 2**64), int(top * 2**128) % 2**64
        for u, expected in (
            ((word - 4, 0), True),
            ((word + 4, 0), False),
            ((word, rest - 4), True),
            ((word, rest + 4), False),
        ):
            if min(u) >= 0:
                left = [*u, 0, 0]
                monkeypatch.setattr(
                    _quantile_chain, "uniform64", lambda size, left=left: np.array([left.pop(0)], dtype=np.uint64)
                )
                assert _quantile_chain._accepted(exact, ratio) == expected
                assert len(left) == (2 if u[0] == word else 3)


def test_sums_over_runs() -> None:
    logs = np.log(np.arange(1.0, 38.0))
    start, stop = np.array([0, 0, 5, 36, 7, 0]), np.array([37, 0, 6, 37, 30, 32])
    found = np.exp(_quantile_chain._sums(logs, start, stop))
    assert found == pytest.approx([sum(range(a + 1, b + 1)) for a, b in zip(start, stop, strict=True)], rel=1e-13)
