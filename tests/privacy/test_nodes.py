"""Building losses: bad input, neighbour relations, JSON, words."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import privacy
from discreet.errors import ParameterError
from discreet.privacy import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    GroupLoss,
    LaplaceLoss,
    MuLoss,
    NonAdaptiveLoss,
    ParallelLoss,
    PureLoss,
    RandomizedResponseLoss,
    RdpLoss,
    RhoLoss,
    SampledLoss,
    ShuffledLoss,
    SubstitutedLoss,
    SumLoss,
    TimesLoss,
    TradeoffLoss,
    approx,
    bounded_range,
    discrete_gaussian,
    discrete_laplace,
    from_json,
    gaussian,
    in_words,
    laplace,
    mu,
    nonadaptive,
    pure,
    randomized_response,
    rdp,
    rho,
    to_json,
    tradeoff,
)

STEP = gaussian("1.1").sampled("0.01")
ALL = [
    pure(1),
    approx(1, "1e-6"),
    rho(1, "1e-9"),
    mu(2),
    mu(2, "1e-9"),
    rdp([2, 4], ["0.1", "0.2"]),
    gaussian(1),
    laplace(2),
    discrete_laplace(3, 2),
    discrete_gaussian(4, 3),
    randomized_response("0.8", 3),
    bounded_range(1),
    nonadaptive(bounded_range(1), 3),
    tradeoff([(0, 1), ("0.3", "0.3"), (1, 0)]),
    STEP,
    gaussian(1).sampled("0.1", "without_replacement"),
    pure(1).shuffled(100),
    (STEP + pure(1)).group(3),
    STEP.under("substitute"),
    pure(1).parallel(gaussian(1)),
    pure(1).parallel(pure(2), relation="substitute"),
    3 * pure(1) + 0 * rho(1),
]


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: in_words(loss)[:40])
def test_every_node_reads_back_and_has_words(loss):
    assert from_json(to_json(loss)) == loss
    assert in_words(loss)
    assert "Loss: " in loss.explain()
    assert hash(loss) == hash(from_json(to_json(loss)))


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: in_words(loss)[:40])
def test_every_node_has_an_ordered_bracket_both_ways(loss):
    low, high = loss.bounds(delta="1e-3")
    assert 0 <= low <= high < math.inf
    low, high = loss.bounds(epsilon=1)
    assert 0 <= low <= high <= 1
    assert loss.epsilon("1e-3") >= loss.epsilon("1e-2") * (1 - 1e-3)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: pure(0), "epsilon"),
        (lambda: pure(math.nan), "epsilon"),
        (lambda: pure("one"), "epsilon"),
        (lambda: approx(1, 1), "delta"),
        (lambda: approx(1, -1e-9), "delta"),
        (lambda: rho(-1), "rho"),
        (lambda: mu(0), "mu"),
        (lambda: mu(1, 2), "delta"),
        (lambda: gaussian(-1), "noise"),
        (lambda: gaussian(math.inf), "noise"),
        (lambda: laplace(0), "scale"),
        (lambda: discrete_laplace(1, 0), "sensitivity"),
        (lambda: discrete_laplace(1, 1.5), "sensitivity"),
        (lambda: discrete_gaussian(-2), "sigma"),
        (lambda: discrete_gaussian(1, True), "sensitivity"),
        (lambda: randomized_response(1), "p"),
        (lambda: randomized_response(-0.1), "p"),
        (lambda: randomized_response(0.5, 1), "k"),
        (lambda: bounded_range(0), "epsilon"),
        (lambda: nonadaptive(pure(1), 3), "nonadaptive"),
        (lambda: nonadaptive(bounded_range(1), 0), "count"),
        (lambda: rdp([2], [0.1, 0.2]), "orders"),
        (lambda: rdp([0.5, 2], [0.1, 0.2]), "orders"),
        (lambda: rdp([3, 2], [0.1, 0.2]), "orders"),
        (lambda: rdp([2], [-0.1]), "values"),
        (lambda: rdp([], []), "orders"),
        (lambda: gaussian(1).sampled(1.1), "rate"),
        (lambda: gaussian(1).sampled(-0.1), "rate"),
        (lambda: gaussian(1).sampled(0.1, "bernoulli"), "scheme"),
        (lambda: pure(1).group(0), "k"),
        (lambda: pure(1).shuffled(0), "n"),
        (lambda: gaussian(1).shuffled(10), "local"),
        (lambda: pure(1).parallel(relation="other"), "relation"),
        (lambda: pure(1).under("edges"), "relation"),
        (lambda: -1 * pure(1), "whole number"),
        (lambda: pure(1).epsilon(1), "delta"),
        (lambda: pure(1).epsilon(math.nan), "delta"),
        (lambda: pure(1).epsilon(-0.1), "delta"),
        (lambda: pure(1).delta(-1), "epsilon"),
        (lambda: pure(1).bounds(), "bounds"),
        (lambda: pure(1).bounds(delta=0.1, epsilon=1), "bounds"),
        (lambda: pure(1).bounds(delta=0.1, gap=0), "gap"),
        (lambda: pure(1).tradeoff(2), "alpha"),
        (lambda: pure(1).renyi(1), "order"),
        (lambda: pure(1).posterior(1.5), "prior"),
        (lambda: gaussian(1).posterior(0.5), "pure epsilon"),
        (lambda: pure(1).at_risk(-1), "n"),
        (lambda: rho(1).mu(), "mu"),
        (lambda: rdp([2], [1]).rho(), "rho"),
        (lambda: rho(1, 1e-6).rho(), "event"),
        (lambda: tradeoff([(0, 1), (0.5, 0.6), (1, 0)]), "1 - alpha"),
        (lambda: tradeoff([(0, 0.5), (0.2, 0.45), (0.4, 0)]), "convex"),
        (lambda: tradeoff([(0.1, 0.5), (0.2, 0.1)]), "alpha 0"),
        (lambda: tradeoff(lambda a: 1 - a * a), "1 - alpha"),
        (lambda: tradeoff(lambda a: math.nan), "1 - alpha"),
        (lambda: tradeoff(lambda a: max(0.0, 0.5 - a * a)), "convex"),
    ],
)
def test_bad_input_names_the_argument(build, name):
    with pytest.raises(ParameterError, match=name):
        build()


def test_relations_do_not_mix():
    other = gaussian(1).sampled(0.1, "without_replacement")
    assert (STEP.relation, other.relation, gaussian(1).relation) == ("add_remove", "substitute", None)
    assert (STEP + gaussian(1)).relation == "add_remove"
    for mixed in (lambda: STEP + other, lambda: SumLoss((pure(1), STEP, other)), lambda: other.sampled(0.5)):
        with pytest.raises(ParameterError, match="substitut"):
            mixed()
    with pytest.raises(ParameterError, match="does not bound adding"):
        other.under("add_remove")
    with pytest.raises(ParameterError, match="local"):
        pure(1).sampled(0.5).shuffled(10)
    both = STEP.under("substitute") + other
    assert both.relation == "substitute"
    assert pure(1).under("substitute").epsilon() == 2.0
    assert other.under("substitute") is other
    assert STEP.under("add_remove") is STEP


def test_parallel_counts_once_or_twice():
    assert pure(1).parallel(pure(2), pure("0.5")).epsilon() == 2.0
    assert pure(1).parallel(pure(2), relation="substitute").epsilon() == 4.0
    assert gaussian(2).parallel(gaussian(1)).bounds(delta=1e-6) == gaussian(1).bounds(delta=1e-6)
    mixed = pure(1).parallel(gaussian(1))
    assert mixed.delta(1) >= max(pure(1).delta(1), gaussian(1).delta(1)) * (1 - 1e-9)
    with pytest.raises(ParameterError):
        pure(1).parallel(gaussian(1).sampled(0.1, "without_replacement"))


def test_python_sum_and_long_sums():
    assert sum([pure(1), pure(2)]) == pure(1) + pure(2)
    total = sum(pure(Fraction(1, 1000)) for _ in range(3000))
    assert total.epsilon() == 3.0
    deep = PureLoss(Fraction(1))
    for _ in range(300):
        deep = deep + pure(1)
    assert deep.bounds(delta=1e-6) == (301 * pure(1)).bounds(delta=1e-6)


def test_sampling_at_the_ends():
    assert gaussian(1).sampled(1).bounds(delta=1e-6) == gaussian(1).bounds(delta=1e-6)
    assert gaussian(1).sampled(0).bounds(delta=1e-6) == (0.0, 0.0)
    assert gaussian(1).sampled("0.5").sampled("0.1").bounds(delta=1e-6) == gaussian(1).sampled("0.05").bounds(
        delta=1e-6
    )


def test_nothing_spent():
    assert (0 * gaussian(1)).bounds(delta=0) == (0.0, 0.0)
    assert (0 * gaussian(1)).bounds(epsilon=0) == (0.0, 0.0)


def test_what_is_not_pure_has_no_epsilon_at_delta_0():
    for loss in (gaussian(1), rho(1), approx(1, "1e-9"), STEP):
        assert loss.epsilon() == math.inf
    assert laplace(2).epsilon() == 0.5


@pytest.mark.parametrize(
    ("loss", "budget", "verdict"),
    [
        (gaussian(2), mu("0.5"), True),
        (4 * gaussian(2), mu(1), True),
        (5 * gaussian(2), mu(1), False),
        (gaussian(1), rho("0.5"), True),
        (rho("0.1"), mu(1), False),
        (100 * pure("0.1"), approx(5, "1e-6"), True),
        (100 * pure("0.1"), approx("4.77", "1e-6"), False),
        (100 * pure("0.1"), pure(10), True),
        (100 * pure("0.1"), pure("9.99"), False),
        (1000 * STEP, approx(3, "1e-6"), True),
        (1000 * STEP, approx(1, "1e-6"), False),
        (gaussian(1), pure(100), False),
        (rdp([2], [1]), rho(10), False),
        (approx("1.1", "1e-9"), approx(1, "1e-6"), False),
    ],
)
def test_fits(loss, budget, verdict):
    assert loss.fits(budget) is verdict


def test_mu_keeps_its_square_exactly():
    assert 4 * [mu("0.5")] and privacy.in_currency(sum(4 * [mu("0.5")]), "mu") == mu(1) == MuLoss(Fraction(1))
    assert privacy.left(mu(1), gaussian(2)) == MuLoss(Fraction(3, 4))


@given(
    st.recursive(
        st.sampled_from([loss for loss in ALL if loss.relation != "substitute"]),
        lambda inner: st.tuples(inner, inner).map(lambda pair: pair[0] + pair[1]) | inner.map(lambda each: 3 * each),
        max_leaves=4,
    )
)
@settings(max_examples=40, deadline=None)
def test_json_of_any_tree(loss):
    assert from_json(to_json(loss)) == loss


@pytest.mark.parametrize(
    "data",
    [None, {}, {"kind": "pure"}, {"kind": "pure", "epsilon": 1}, {"kind": "pure", "epsilon": "1", "more": 1},
     {"kind": "sampled", "rate": "1/2", "scheme": "other", "term": {"kind": "pure", "epsilon": "1"}},
     {"kind": "times", "count": True, "term": {"kind": "pure", "epsilon": "1"}}, {"kind": ["pure"]}],
)  # fmt: skip
def test_foreign_json_is_refused(data):
    with pytest.raises(ParameterError):
        from_json(data)


def at(value):
    return Fraction(value)


ONE = PureLoss(Fraction(1))
INVALID = {
    "epsilon": [lambda: PureLoss(at(-1)), lambda: PureLoss(0.5), lambda: PureLoss(True),
                lambda: ApproxLoss(at(-1), at(0)),
                lambda: PureLoss(at(10**301)), lambda: BoundedRangeLoss(at(-1)), lambda: NonAdaptiveLoss(2, at(-1))],
    "delta": [lambda: ApproxLoss(at(1), at(-1)), lambda: RhoLoss(at(1), at(-1)), lambda: MuLoss(at(1), at(-1))],
    "rho": [lambda: RhoLoss(at(-1), at(0)), lambda: RhoLoss("1", at(0))],
    "mu": [lambda: MuLoss(at(-1)), lambda: MuLoss(Fraction(1, 10**201)), lambda: mu("1e-101"), lambda: mu("1e101")],
    "noise": [lambda: GaussianLoss(at(0)), lambda: GaussianLoss(0.5), lambda: gaussian("1e-101"),
              lambda: gaussian("1e101")],
    "scale": [lambda: LaplaceLoss(at(0)), lambda: DiscreteLaplaceLoss(at(-1), 1), lambda: laplace("1e-400")],
    "sigma": [lambda: DiscreteGaussianLoss(at(0), 1)],
    "sensitivity": [lambda: DiscreteLaplaceLoss(at(1), 0), lambda: DiscreteLaplaceLoss(at(1), -3), lambda:
                    DiscreteGaussianLoss(at(1), True), lambda: DiscreteGaussianLoss(at(1), 10**400)],
    "p ": [lambda: RandomizedResponseLoss(at(1), 2), lambda: RandomizedResponseLoss(at(0), 2), lambda:
           RandomizedResponseLoss(Fraction(1, 10**101), 2)],
    "k ": [lambda: RandomizedResponseLoss(Fraction(1, 2), 1), lambda: GroupLoss(0, ONE),
           lambda: GroupLoss(Fraction(1, 10), ONE),
           lambda: GroupLoss(True, ONE), lambda: approx(1, "1e-6").group(10**400)],
    "count": [lambda: TimesLoss(Fraction(1, 10), ONE), lambda: TimesLoss(-3, ONE), lambda: TimesLoss(True, ONE),
              lambda: NonAdaptiveLoss(0, at(1)), lambda: 10**400 * pure(1)],
    "multiply": [lambda: 10**15 * (10 * pure(1)), lambda: 10**10 * (pure(1) + gaussian(1).group(10**6)),
                 lambda: (10**8 * pure(1)).parallel(pure(1)).group(10**8)],
    "n ": [lambda: ShuffledLoss(0, ONE), lambda: ShuffledLoss(10**101, ONE)],
    "local": [lambda: ShuffledLoss(10, gaussian(1)), lambda: ShuffledLoss(10, pure(1).sampled("0.5"))],
    "shuffled report": [lambda: pure(10_001).shuffled(10), lambda: pure("1e-30").shuffled(10)],
    "rate": [lambda: SampledLoss(at(2), "poisson", ONE), lambda: SampledLoss(0.5, "poisson", ONE),
             lambda: pure(1).sampled("1e-101"), lambda: pure(1).sampled("1e-60").sampled("1e-60")],
    "scheme": [lambda: SampledLoss(Fraction(1, 100), "nonsense", ONE),
               lambda: SampledLoss(Fraction(1, 100), None, ONE)],
    "relation": [lambda: ParallelLoss((ONE,), "edges")],
    "one loss or more": [lambda: ParallelLoss(())],
    "substitut": [lambda: ParallelLoss((ONE, ONE.under("substitute"))),
                  lambda: SubstitutedLoss(ONE.under("substitute")),
                  lambda: SampledLoss(Fraction(1, 2), "poisson", ONE.under("substitute")).relation,
                  lambda: SampledLoss(Fraction(1, 2), "without_replacement", STEP).relation,
                  lambda: SampledLoss(Fraction(1, 2), "poisson", ONE.under("substitute")).fits(pure(1))],
    "built from losses": [lambda: SumLoss((ONE, 2)), lambda: TimesLoss(2, 2), lambda: GroupLoss(2, None),
                          lambda: ParallelLoss((1,)),
                          lambda: SampledLoss(Fraction(1, 2), "poisson", "x"), lambda: SubstitutedLoss(1)],
    "orders": [lambda: RdpLoss((), ()), lambda: RdpLoss((at(2),), (at(-1),)),
               lambda: RdpLoss((at(3), at(2)), (at(1), at(1)))],
    "trade-off": [lambda: TradeoffLoss(()), lambda: TradeoffLoss(((at(0), Fraction(1, 2)), (at(1), at(0)))),
                  lambda: tradeoff([(0, 1), (Fraction(1, 10**400), Fraction(1, 2)), (Fraction(1, 2), 0)])],
}  # fmt: skip


@pytest.mark.parametrize(("name", "build"), [(name, each) for name, builds in INVALID.items() for each in builds])
def test_no_invalid_node_can_be_made(name, build):
    with pytest.raises(ParameterError, match=name) as caught:
        build()
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("data", [
    {"kind": "times", "count": -3, "term": {"kind": "pure", "epsilon": "1"}},
    {"kind": "randomized_response", "p": "1", "k": 2},
    {"kind": "laplace", "scale": "0"},
    {"kind": "discrete_laplace", "scale": "1", "sensitivity": -3},
    {"kind": "shuffled", "n": 10, "term": to_json(pure(1).sampled("0.5"))},
    {"kind": "sampled", "rate": "1/2", "scheme": "poisson", "term": to_json(pure(1).under("substitute"))},
    {"kind": "parallel", "terms": [], "relation": "add_remove"},
], ids=lambda data: data["kind"])  # fmt: skip
def test_json_of_an_invalid_node_is_refused(data):
    with pytest.raises(ParameterError):
        from_json(data)


def test_json_nested_without_end_is_refused():
    data = to_json(pure(1))
    for _ in range(5_000):
        data = {"kind": "times", "count": 1, "term": data}
    with pytest.raises(ParameterError, match="nested"):
        from_json(data)


def test_whole_numbers_in_nodes_become_fractions():
    assert LaplaceLoss(3).bounds(delta=0) == LaplaceLoss(Fraction(3)).bounds(delta=0)
    assert isinstance(PureLoss(2).eps, Fraction)


def test_a_group_of_two_by_add_remove_holds_under_substitution():
    other = gaussian(1).sampled("0.1", "without_replacement")
    assert (STEP.group(2) + other).relation == "substitute"
    both = (STEP.under("substitute") + other).sampled("0.5", "without_replacement")
    assert both.relation == "substitute"
    assert 0 < both.epsilon("1e-6") <= (STEP.under("substitute") + other).epsilon("1e-6")


@given(st.integers(1, 60), st.lists(st.integers(1, 10**4), max_size=5))
@settings(max_examples=50, deadline=None)
def test_counts_and_groups_multiply_within_one_bound(first, more):
    loss, product = first * pure(1), first
    for i, each in enumerate(more):
        product *= each
        if product > 10**15:
            with pytest.raises(ParameterError, match="multiply"):
                each * loss if i % 2 else GroupLoss(each, loss)
            return
        loss = each * loss if i % 2 else GroupLoss(each, loss)
    assert loss.epsilon() == product
