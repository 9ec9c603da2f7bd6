"""Losses as algebra: exact sums, currencies, and what an epsilon promises."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.ledger.state._arithmetic import limit
from discreet.privacy import (
    ApproxLoss,
    Loss,
    PureLoss,
    RhoLoss,
    SumLoss,
    as_approx,
    as_pure,
    as_rho,
    currency,
    fits,
    from_json,
    in_currency,
    in_words,
    left,
    to_json,
)
from discreet.privacy.filters import Filter

positive = st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**6)
deltas = st.fractions(min_value=0, max_value=Fraction(1, 100), max_denominator=10**9)
pures = positive.map(dp.pure)
approxes = st.builds(dp.approx, positive, deltas)
rhos = st.builds(dp.rho, positive, deltas)


def trees(leaves: st.SearchStrategy[Loss]) -> st.SearchStrategy[Loss]:
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]),
            st.tuples(st.integers(0, 50), inner).map(lambda pair: pair[0] * pair[1]),
        ),
        max_leaves=8,
    )


losses = trees(st.one_of(pures, approxes, rhos))
budgets = st.one_of(trees(pures), trees(st.one_of(pures, approxes)), trees(rhos)).filter(
    lambda each: as_rho(each)[1] < 1
)


@given(st.lists(positive, min_size=1, max_size=8), st.integers(0, 1000))
def test_pure_losses_add_and_multiply_exactly(epsilons: list[Fraction], count: int) -> None:
    total: Loss = dp.pure(epsilons[0])
    for epsilon in epsilons[1:]:
        total = total + dp.pure(epsilon)
    assert as_pure(total) == sum(epsilons)
    assert as_pure(count * total) == as_pure(total * count) == count * sum(epsilons)
    assert as_approx(total) == (sum(epsilons), 0)
    assert as_rho(total) == (sum(e * e / 2 for e in epsilons), 0)


@given(trees(approxes), trees(approxes), st.integers(0, 20))
def test_pairs_add_componentwise(one: Loss, other: Loss, count: int) -> None:
    (e1, d1), (e2, d2) = as_approx(one) or (0, 0), as_approx(other) or (0, 0)
    assert as_approx(one + other) == (e1 + e2, d1 + d2)
    assert as_approx(count * one) == (count * e1, count * d1)


@given(losses, losses, losses)
def test_addition_does_not_depend_on_order_or_nesting(a: Loss, b: Loss, c: Loss) -> None:
    for meaning in (as_pure, as_approx, as_rho):
        assert meaning(a + b) == meaning(b + a)
        assert meaning((a + b) + c) == meaning(a + (b + c))
        assert meaning(2 * a) == meaning(a + a)


@given(losses)
def test_json_round_trip(loss: Loss) -> None:
    assert from_json(json.loads(json.dumps(to_json(loss)))) == loss
    assert in_words(loss)


@pytest.mark.parametrize(
    "data",
    [
        None, 3, "pure", [], {}, {"kind": "pure"}, {"kind": "pure", "epsilon": 0.1}, {"kind": "pure", "epsilon": "x"},
        {"kind": "pure", "epsilon": "-1"}, {"kind": "pure", "epsilon": "1/0"}, {"kind": "mu", "mu": "1"},
        {"kind": "sum", "terms": [{"kind": "x"}]},
        {"kind": "times", "count": "2", "term": {"kind": "pure", "epsilon": "1"}},
        {"kind": "approx", "epsilon": "1"}, {"kind": "rho", "rho": "1", "delta": None},
    ],
)  # fmt: skip
def test_json_that_is_no_loss_is_refused(data: object) -> None:
    with pytest.raises(dp.ParameterError):
        from_json(data)


def test_thirty_tenths_are_three() -> None:
    for tenth in (0.1, "0.1", Fraction(1, 10), "1/10", "1e-1"):
        step = dp.pure(tenth)
        assert (30 * step).fits(dp.pure(3))
        assert not (30 * step + dp.pure("1e-300")).fits(dp.pure(3))
        total = step
        for _ in range(29):
            total = total + step
        assert total.fits(dp.pure(3))
        assert not (total + step).fits(dp.pure(3))


@given(losses, budgets)
def test_a_filter_compares_exact_numbers(loss: Loss, budget: Loss) -> None:
    name = currency(budget)
    meaning = {"pure": lambda each: (as_pure(each), 0), "approx": as_approx, "rho": as_rho}[name]
    mine, whole = meaning(loss), meaning(budget)
    expected = mine is not None and mine[0] is not None and mine[0] <= whole[0] and mine[1] <= whole[1]
    basic = Filter(budget)
    assert basic.fits(basic.nothing, loss) == expected
    assert not expected or fits(loss, budget)


@given(budgets)
def test_a_budget_fits_itself(loss: Loss) -> None:
    assert fits(loss, loss)
    rest = left(loss, loss)
    assert all(part == 0 for part in as_rho(rest))


@given(positive, deltas)
def test_conversions_follow_the_closed_forms(epsilon: Fraction, delta: Fraction) -> None:
    assert in_currency(dp.pure(epsilon), "approx") == ApproxLoss(epsilon, Fraction(0))
    assert in_currency(dp.pure(epsilon), "rho") == RhoLoss(epsilon**2 / 2, Fraction(0))
    assert in_currency(dp.approx(epsilon, delta), "rho") == RhoLoss(epsilon**2 / 2, delta)
    assert in_currency(3 * dp.pure(epsilon), "pure") == PureLoss(3 * epsilon)


@pytest.mark.parametrize(
    ("loss", "name"),
    [(dp.rho(1), "pure"), (dp.rho(1), "approx"), (dp.approx(1, 1e-9), "pure"), (dp.pure(1) + dp.rho(1), "approx"),
     (dp.rho(1), "mu"), (dp.pure(1), "")],
)  # fmt: skip
def test_what_a_currency_cannot_say_is_refused(loss: Loss, name: str) -> None:
    with pytest.raises(dp.ParameterError):
        in_currency(loss, name)


def test_currencies_of_budgets() -> None:
    assert currency(dp.pure(1)) == "pure"
    assert currency(dp.approx(1, 0)) == "approx"
    assert currency(dp.pure(1) + dp.approx(1, 1e-9)) == "approx"
    assert currency(7 * dp.rho(1, 1e-9)) == "rho"
    assert currency(dp.mu(1) + 2 * dp.mu(3)) == "mu"


KNOWN_FROM_ABOVE = [
    dp.gaussian(1),
    dp.gaussian(1).sampled("0.01"),
    dp.pure(1).shuffled(10_000),
    dp.pure(1).sampled("0.01"),
    dp.laplace(1),
    dp.bounded_range(1),
    dp.randomized_response("0.75"),
    dp.pure(1).group(2),
    dp.pure(1).parallel(dp.pure(1)),
    dp.rho(1) + dp.pure(1),
    dp.rho(1) + dp.mu(1),
    dp.rdp([2], [1]),
    SumLoss(()),
]


@pytest.mark.parametrize("budget", KNOWN_FROM_ABOVE, ids=lambda each: type(each).__name__)
def test_an_upper_bound_of_a_loss_is_no_budget(budget: Loss) -> None:
    uses = (
        lambda: dp.pure(1).fits(budget),
        lambda: currency(budget),
        lambda: left(budget, 0 * dp.pure(1)),
        lambda: Filter(budget),
        lambda: limit(budget),
        lambda: dp.solve(dp.gaussian, budget),
    )
    for use in uses:
        with pytest.raises(dp.ParameterError, match="state a budget or a spend in one currency"):
            use()


def test_the_delta_of_a_budget_is_less_than_one() -> None:
    with pytest.raises(dp.ParameterError, match="delta of a budget"):
        dp.pure(1).fits(2 * dp.approx(1, "0.6"))


@pytest.mark.parametrize(
    "value", [0, -1, "0", "-0.1", float("nan"), float("inf"), "x", None, True, [], b"1", 1j, "1e101", "1e400", "1e9999"]
)
def test_a_loss_is_greater_than_nothing(value: object) -> None:
    for make in (dp.pure, dp.rho, lambda e: dp.approx(e, 1e-6), lambda r: dp.rho(r, 1e-6)):
        with pytest.raises(dp.ParameterError):
            make(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [1, -1e-9, 2, "1", float("nan"), None, "x", True])
def test_a_delta_lies_below_one(delta: object) -> None:
    with pytest.raises(dp.ParameterError):
        dp.approx(1, delta)  # type: ignore[arg-type]
    with pytest.raises(dp.ParameterError):
        dp.rho(1, delta)  # type: ignore[arg-type]
    with pytest.raises(dp.ParameterError):
        dp.pure(1).epsilon(delta)  # type: ignore[arg-type]


def test_only_whole_multiples_and_only_sums_of_losses() -> None:
    with pytest.raises(dp.ParameterError, match="0 or more"):
        -1 * dp.pure(1)
    for wrong in (0.5, "2", None, True, Fraction(1, 2)):
        with pytest.raises(TypeError):
            wrong * dp.pure(1)  # type: ignore[operator]
        with pytest.raises(TypeError):
            dp.pure(1) + wrong  # type: ignore[operator]


def test_a_node_nobody_knows_is_refused() -> None:
    class Strange(Loss):
        pass

    for use in (as_pure, as_approx, as_rho, in_words, to_json, lambda loss: loss.epsilon(1e-6)):
        with pytest.raises(dp.ParameterError, match="not a loss that discreet knows"):
            use(Strange())


def test_losses_are_immutable_and_hashable() -> None:
    loss = dp.pure(1) + 2 * dp.rho(1)
    assert hash(loss) == hash(dp.pure(1) + 2 * dp.rho(1))
    with pytest.raises(AttributeError):
        dp.pure(1).eps = Fraction(2)  # type: ignore[attr-defined]


# What an epsilon promises.

DELTAS = ["1e-300", "1e-30", "1e-12", "1e-9", "1e-6", "1e-5", "1e-3", "0.01", "0.1"]
RHOS = ["1e-12", "1e-6", "1e-3", "0.01", "0.1", "0.5", "1", "3", "10", "100", "1e4", "1e8"]


def gaussian_delta(rho: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """The δ of the Gaussian mechanism with ρ = 1/(2σ²) at sensitivity 1: Balle and Wang 2018, Theorem 8."""
    mu = mpmath.sqrt(2 * rho)
    return mpmath.ncdf(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu)


@pytest.mark.parametrize("rho", RHOS)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_epsilon_of_a_rho_is_above_the_truth_and_below_the_classic_bound(rho: str, delta: str) -> None:
    """The Gaussian is one mechanism of that ρ, so its exact ε is a lower bound: δ at the stated ε may not exceed δ."""
    stated = dp.rho(rho).epsilon(delta)
    with mpmath.workdps(400):
        assert gaussian_delta(mpmath.mpf(rho), mpmath.mpf(stated)) <= mpmath.mpf(delta)
        r = mpmath.mpf(rho)
        classic = r + 2 * mpmath.sqrt(r * mpmath.log(1 / mpmath.mpf(delta)))
        assert mpmath.mpf(stated) <= classic * (1 + mpmath.mpf("1e-8")) + mpmath.mpf("1e-10")


@given(positive, st.sampled_from(DELTAS), st.sampled_from(DELTAS))
def test_more_loss_is_more_epsilon_and_more_delta_is_less(rho: Fraction, one: str, other: str) -> None:
    low, high = sorted([Fraction(one), Fraction(other)])
    slack = 1 + 1e-9
    assert dp.rho(rho).epsilon(high) <= dp.rho(rho).epsilon(low) * slack + 1e-9
    assert dp.rho(rho).epsilon(low) <= (2 * dp.rho(rho)).epsilon(low) * slack + 1e-9


@given(positive, deltas)
def test_the_epsilon_of_a_pair_is_itself_rounded_up(epsilon: Fraction, delta: Fraction) -> None:
    stated = dp.approx(epsilon, delta).epsilon(delta)
    assert epsilon <= Fraction(stated) <= epsilon * (1 + Fraction(1, 2**51))
    assert dp.pure(epsilon).epsilon() == stated
    if delta:
        assert dp.approx(epsilon, delta).epsilon(0) == math.inf


@pytest.mark.parametrize(
    ("loss", "delta", "expected"),
    [
        (dp.rho(1), 0, math.inf),
        (dp.rho(1, 1e-6), 1e-6, math.inf),
        (dp.rho(1, 1e-6), 1e-9, math.inf),
        (0 * dp.rho(1), 0, 0.0),
        (0 * dp.pure(1), 0, 0.0),
        (PureLoss(Fraction(10**300)), 0, 1e300),
        (dp.pure("1e100"), 0, 1e100),
        (dp.pure("1e-400"), 0, 5e-324),
        (dp.rho(1), "0.999999999999999999999999", 0.0),
        (dp.rho("1e-30"), "0.9", 0.0),
    ],
)
def test_epsilon_at_the_edges(loss: Loss, delta: float | str, expected: float) -> None:
    assert loss.epsilon(delta) == expected


def test_epsilon_at_a_delta_below_all_floats() -> None:
    assert 55 < dp.rho(1).epsilon("1e-320") < dp.rho(1).epsilon("1e-400") < 62
    spent, extra = dp.rho(1, 1e-6), Fraction(3, 10**6)
    # Off an event of probability d, a release of rho at (δ - d)/(1 - d): (1 - d)·δ' + d = δ.
    off = Fraction(2, 10**6) / (1 - Fraction(1, 10**6))
    assert spent.epsilon(extra) == pytest.approx(dp.rho(1).epsilon(off), rel=1e-12)


def test_known_values() -> None:
    """ρ = 0.1 at δ = 1e-6, and the bound of Canonne, Kamath and Steinke 2020 against 2.45 of the classic one."""
    assert dp.rho(0.1).epsilon(1e-6) == pytest.approx(2.1419, abs=1e-4)
    assert dp.rho(0.1).epsilon(1e-6) < 0.1 + 2 * math.sqrt(0.1 * math.log(1e6))
