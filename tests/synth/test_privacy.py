"""A fit is what ``proofs/synth.md`` says: how far one person moves it, what it depends on, and what it spends."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay import check_given, check_moves, check_same, lost, run
from synth_neighbours import COLUMNS, WORLDS, policy_of, some_pair, some_rows, table_of

import discreet as dp
from discreet import synth
from discreet.engines._open import open_engine
from discreet.errors import LedgerError
from discreet.marginals import column_cells
from discreet.policy import load_policy
from discreet.prices import Prices, Purse
from discreet.privacy import in_currency
from discreet.query import Count, Marginals, coded_rows, measure_norms
from discreet.release import recompute_loss, verify_loss
from discreet.sensitivity import Norms, bounded_sum
from discreet.synth._scores import distance, score, score_sensitivity

pytestmark = pytest.mark.usefixtures("one_database")

RELATIONS = ("add_remove", "substitute")
SPENDS = {"pure": dp.pure(4), "approx": dp.approx(4, "1e-6"), "rho": dp.rho(2), "mu": dp.mu(2)}
BUDGETS = {"pure": {"epsilon": 9}, "approx": {"epsilon": 9, "delta": "1e-5"}, "rho": {"rho": 9}, "mu": {"mu": 9}}
CASES = [
    (relation, max_rows, currency, tier)
    for relation in RELATIONS
    for max_rows in (1, 3)
    for currency in SPENDS
    for tier in ("instant", "best")
]


def norms_of(relation: str, max_rows: int) -> Norms:
    return bounded_sum(0, 1, rows=max_rows, relation=relation, grouped=True)  # type: ignore[arg-type]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("max_rows", [1, 2, 3])
@pytest.mark.parametrize("rounds", [2, pytest.param(50, marks=pytest.mark.soak)])
def test_no_marginal_and_no_score_moves_more_than_the_plan_states(relation: str, max_rows: int, rounds: int) -> None:
    """2 rounds are 80 pairs for each relation and cap, 480 in all; 50 are 12,000. Attained, not only bounds."""
    dice = random.Random(f"{relation} {max_rows}")
    policy = load_policy(policy_of(relation, max_rows, {"epsilon": 1}, WORLDS))
    cells = [
        column_cells("t", name, policy.tables["t"].columns[name], 4)
        if name in "ad"
        else column_cells("t", name, policy.tables["t"].columns[name])
        for name in COLUMNS
    ]
    bounded = coded_rows(policy, "t", {"world": tuple(range(WORLDS)), **{each.name: each.coded for each in cells}})
    norms = measure_norms(Count(None), bounded, policy.relation)
    assert norms == norms_of(relation, max_rows)
    sets = [(0, *each) for width in range(1, 5) for each in itertools.combinations(range(1, 5), width)]
    largest, furthest, furthest_score = 0, 0, Fraction(0)
    for _ in range(rounds):
        pairs = [some_pair(dice, relation, world) for world in range(WORLDS)]
        merged = [None, *(_some_merge(dice, each.size) for each in cells)]
        request = Marginals(bounded, tuple(sets), tuple(merged))
        salt = dice.randbytes(16)
        sides = []
        for side in (0, 1):
            engine = open_engine({"t": table_of([row for pair in pairs for row in pair[side]])}, policy)
            sides.append(engine.count_marginals(request, salt))
            engine.close()
        for one, other in zip(*sides, strict=True):
            moved = (one - other).reshape(WORLDS, -1)
            largest = max(largest, int(np.abs(moved).sum(axis=1).max()))
            furthest = max(furthest, int((moved * moved).sum(axis=1).max()))
            for a, b in zip(one.reshape(WORLDS, -1), other.reshape(WORLDS, -1), strict=True):
                weight, penalty = dice.choice([1, 8, 16, 64]), dice.randrange(100)
                expected = np.array([dice.choice([0.0, 0.5, 1.4, 3.0, 1e9]) for _ in a])
                change = score(a, expected, weight, penalty) - score(b, expected, weight, penalty)
                furthest_score = max(furthest_score, Fraction(abs(change), score_sensitivity(weight, norms)))
    assert (largest, furthest, furthest_score) == (norms.l1, norms.l2_squared, 1)


def _some_merge(dice: random.Random, size: int) -> tuple[int, ...] | None:
    into = [dice.randrange(size) for _ in range(size)]
    ranks = {cell: rank for rank, cell in enumerate(sorted(set(into)))}
    return dice.choice([None, tuple(ranks[cell] for cell in into)])


@given(
    counts=st.lists(st.integers(0, 50), min_size=1, max_size=6),
    moves=st.lists(st.integers(-3, 3), min_size=6, max_size=6),
    expected=st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=6, max_size=6),
)
def test_a_distance_moves_no_more_than_counts_do_whatever_is_expected(counts, moves, expected) -> None:
    """Also of numbers beyond 64 bits, infinite ones and none: they are public, and the arithmetic stays exact."""
    one = np.array(counts)
    other = np.maximum(one + np.array(moves[: len(one)]), 0)
    public = np.array(expected[: len(one)])
    assert abs(distance(one, public) - distance(other, public)) <= np.abs(one - other).sum()


@pytest.mark.parametrize(("relation", "max_rows", "currency", "tier"), CASES[::3])
def test_the_same_outputs_make_the_same_table_of_any_rows(relation, max_rows, currency, tier) -> None:
    """A fit is replayed on a neighbour, and on rows that have nothing to do with it."""
    dice = random.Random(f"{relation} {max_rows} {currency} {tier}")
    _replayed(dice, relation, max_rows, currency, tier)


@pytest.mark.soak
@pytest.mark.parametrize(("relation", "max_rows", "currency", "tier"), CASES)
def test_the_same_outputs_make_the_same_table_of_many_pairs(relation, max_rows, currency, tier) -> None:
    """320 pairs in each of 32 cases: 10,240."""
    dice = random.Random(f"soak {relation} {max_rows} {currency} {tier}")
    for _ in range(320):
        _replayed(dice, relation, max_rows, currency, tier)


def _replayed(dice: random.Random, relation: str, max_rows: int, currency: str, tier: Any) -> None:
    one, other = some_pair(dice, relation, people=12)
    strangers = [row for person in range(5) for row in some_rows(dice, 0, person, most=40)]
    policy, norms = policy_of(relation, max_rows, BUDGETS[currency]), norms_of(relation, max_rows)
    target = dice.choice([None, "c"])

    def ask(session: dp.Session) -> synth.SyntheticTable:
        return synth.fit(session, "t", SPENDS[currency], tier=tier, target=target, workload=[("a", "d")])

    first = run(ask, {"t": table_of(one)}, policy)
    second = run(ask, {"t": table_of(other)}, policy, first)
    third = run(ask, {"t": table_of(strangers)}, policy, first)
    for each in (second, third):
        check_same(first, each)
        check_given(each)
    check_moves(first, second, norms)
    assert lost(first, norms, "mu" if currency == "approx" else currency).fits(SPENDS[currency])
    certificate = first.content["certificate"]
    assert len(certificate["steps"]) == len(first.drawn)
    assert len({salt for _, salt in first.requests}) == 1, "all passes count the same rows"
    assert verify_loss(certificate) is None
    assert recompute_loss(certificate).fits(SPENDS[currency])


@settings(max_examples=25)
@given(
    currency=st.sampled_from(list(SPENDS)),
    relation=st.sampled_from(RELATIONS),
    rows=st.integers(1, 4),
    steps=st.lists(st.tuples(st.fractions(Fraction(1, 1000), 1), st.sampled_from([0, 1, 16, 64])), max_size=12),
)
def test_no_order_of_steps_passes_the_total(currency, relation, rows, steps) -> None:
    """Steps are priced as shares of what is left, of the total, or of more than there is: then nothing is drawn."""
    prices = Prices.of_spend(SPENDS[currency], norms_of(relation, rows))
    purse, losses = Purse(prices), []
    for share, weight in steps:
        price = prices.total * share
        mechanism = prices.choice(price, weight) if weight else prices.measurement(price)
        loss = mechanism.loss() if weight else mechanism.loss(prices.norms)  # type: ignore[call-arg]
        assert prices.cost(loss) <= price
        before = purse.spent
        try:
            purse.pay(loss)
        except LedgerError:
            assert before + prices.cost(loss) > prices.total
            assert purse.spent == before
            continue
        losses.append(loss)
        assert purse.spent + purse.left == prices.total
        assert purse.left >= 0
    if losses:
        assert in_currency(sum(losses[1:], losses[0]), prices.currency).fits(SPENDS[currency])


@pytest.mark.parametrize("currency", SPENDS)
def test_what_a_spend_buys_is_within_it(currency) -> None:
    """The total of a fit as one loss; of (ε, δ) it is the μ² of the exact curve, to the last digits."""
    prices = Prices.of_spend(SPENDS[currency], norms_of("add_remove", 1))
    assert prices.budget(prices.total).fits(SPENDS[currency])
    assert not prices.budget(prices.total * Fraction(1_001, 1_000)).fits(SPENDS[currency])
