"""What `repr` writes of a loss is what a person would write, and `from_text` reads the same loss back."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

from discreet.errors import ParameterError
from discreet.privacy import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    GroupLoss,
    LaplaceLoss,
    Loss,
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
    from_text,
    gaussian,
    mu,
    pure,
    randomized_response,
    rho,
    tradeoff,
)
from discreet.privacy.losses._json import _KINDS

ONE, HALF, THIRD = Fraction(1), Fraction(1, 2), Fraction(1, 3)

WRITTEN = {
    "pure(1.5)": pure(1.5),
    "pure(1/3)": pure(THIRD),
    "pure(0)": PureLoss(Fraction(0)),
    "pure(1e+100)": pure("1e100"),
    "pure[1e+200]": PureLoss(Fraction(10) ** 200),
    "pure(0.1234567890123456789)": pure("0.1234567890123456789"),
    "approx(1.5, 1e-06)": approx(1.5, 1e-6),
    "approx(0.3, 0)": approx("0.3", 0),
    "approx[1, 1.5]": ApproxLoss(ONE, Fraction(3, 2)),
    "rho(0.01)": rho("0.01"),
    "rho(0.01, 1e-09)": rho("0.01", "1e-9"),
    "mu(2)": mu(2),
    "mu(sqrt(2))": MuLoss(Fraction(2)),
    "mu(0.5, 1e-09)": mu("0.5", "1e-9"),
    "gaussian(1.1)": gaussian(1.1),
    "randomized_response(0.75)": randomized_response("0.75"),
    "randomized_response(0.75, 3)": randomized_response("0.75", 3),
    "10000 * gaussian(1.1).sampled(0.01) + pure(0.1)": 10_000 * gaussian(1.1).sampled(0.01) + pure(0.1),
    "2 * (pure(1) + pure(2))": 2 * (pure(1) + pure(2)),
    "2 * (3 * pure(1))": 2 * (3 * pure(1)),
    "(2 * pure(1)).group(3)": (2 * pure(1)).group(3),
    "pure(1).group(2).sampled(0.1, 'without_replacement')": pure(1).group(2).sampled("0.1", "without_replacement"),
    "pure(1) + pure(1) + pure(2)": pure(1) + pure(1) + pure(2),
    "sum([pure(1)] * 1000) + pure(2)": sum([pure(1)] * 1000) + pure(2),
    "sum[[pure(1)]]": SumLoss((pure(1),)),
    "sum[[]]": SumLoss(()),
    "sum[[pure(1) + pure(2), pure(3)]]": SumLoss((pure(1) + pure(2), pure(3))),
    "(pure(1) + pure(2)).parallel(pure(3), 2 * pure(1), relation='substitute')": (pure(1) + pure(2)).parallel(
        pure(3), 2 * pure(1), relation="substitute"
    ),
    "tradeoff([(0, 0.5), (0.5, 0)])": tradeoff([(0, HALF), (HALF, 0)]),
    "tradeoff[[(0, 0)]]": TradeoffLoss(((Fraction(0), Fraction(0)),)),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_what_is_written_is_what_a_person_would_write(text: str) -> None:
    assert repr(WRITTEN[text]) == text
    assert from_text(text) == WRITTEN[text]


def test_a_sum_of_many_different_terms_is_read_back() -> None:
    total = sum(pure(k) for k in range(1, 201))
    assert repr(total).startswith("sum([pure(1), pure(2), ")
    assert from_text(repr(total)) == total


@given(
    st.fractions(0, 10**6) | st.fractions(0, 1, max_denominator=10**12) | st.decimals(0, 99, places=25).map(Fraction)
)
def test_every_exact_number_is_read_back(value: Fraction) -> None:
    assert from_text(repr(PureLoss(value))) == PureLoss(value)


# Numbers that people write, and numbers that only arithmetic makes.
some = (
    st.sampled_from(["1/10", "3/2", "1e-6", "1e-9", "2", "1000", "1e50", "1e-50"]).map(Fraction)
    | st.fractions(Fraction(1, 997), 100, max_denominator=997)
    | st.floats(1e-9, 1e9).map(Fraction)
)
zero_or_some = st.just(Fraction(0)) | some
huge = zero_or_some | st.just(Fraction(10) ** 200)
deltas = st.sampled_from(["0", "1e-9", "1/3", "3/2"]).map(Fraction)
rates = st.fractions(0, 1, max_denominator=1000)
counts = st.integers(1, 10**15)


@st.composite
def orders(draw: st.DrawFn) -> RdpLoss:
    alphas = sorted(draw(st.sets(st.fractions(Fraction(9, 8), 100, max_denominator=9), min_size=1, max_size=4)))
    return RdpLoss(tuple(alphas), tuple(draw(zero_or_some) for _ in alphas))


@st.composite
def corners(draw: st.DrawFn) -> TradeoffLoss:
    """Symmetric, convex corners, of which some may lie on one straight line."""
    steps = draw(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=3))
    runs = sorted((a, b) if b >= a else (b, a) for a, b in steps)
    runs = sorted(runs, key=lambda run: -Fraction(run[1], run[0]))
    runs = [*runs, *((b, a) for a, b in reversed(runs))]
    total = sum(a for a, _ in runs) + draw(st.integers(1, 5))
    points, alpha, beta = [], 0, sum(b for _, b in runs)
    for a, b in [*runs, (0, 0)]:
        points.append((Fraction(alpha, total), Fraction(beta, total)))
        alpha, beta = alpha + a, beta - b
    return TradeoffLoss(tuple(points))


LEAVES: dict[str, st.SearchStrategy[Loss]] = {
    "pure": st.builds(PureLoss, huge),
    "approx": st.builds(ApproxLoss, huge, deltas),
    "rho": st.builds(RhoLoss, huge, deltas),
    "mu": st.builds(MuLoss, huge, deltas),
    "rdp": orders(),
    "gaussian": st.builds(GaussianLoss, some),
    "laplace": st.builds(LaplaceLoss, some),
    "discrete_laplace": st.builds(DiscreteLaplaceLoss, some, counts),
    "discrete_gaussian": st.builds(DiscreteGaussianLoss, some, counts),
    "randomized_response": st.builds(RandomizedResponseLoss, rates.filter(lambda p: 0 < p < 1), st.integers(2, 10**15)),
    "bounded_range": st.builds(BoundedRangeLoss, huge),
    "nonadaptive": st.builds(NonAdaptiveLoss, counts, huge),
    "tradeoff": corners(),
}
NESTED = ["sum", "times", "sampled", "shuffled", "group", "substituted", "parallel"]


@st.composite
def losses(draw: st.DrawFn, depth: int) -> Loss:
    kind = draw(st.sampled_from([*LEAVES, *NESTED] if depth else list(LEAVES)))
    if kind in LEAVES:
        return draw(LEAVES[kind])
    try:
        return draw(combined(kind, depth))
    except ParameterError:  # these losses do not combine so
        return draw(LEAVES["gaussian"])


@st.composite
def combined(draw: st.DrawFn, kind: str, depth: int) -> Loss:
    term = draw(losses(depth - 1))
    others = draw(st.lists(losses(depth - 1), max_size=2))
    terms = tuple(draw(st.lists(st.sampled_from([term, *others]), min_size=kind == "parallel", max_size=6)))
    match kind:
        case "sum":
            loss = SumLoss(terms)
        case "times":
            loss = TimesLoss(draw(st.integers(0, 1000)), term)
        case "sampled":
            loss = SampledLoss(draw(rates), draw(st.sampled_from(["poisson", "without_replacement"])), term)
        case "shuffled":
            loss = ShuffledLoss(draw(st.integers(1, 10**20)), term)
        case "group":
            loss = GroupLoss(draw(st.integers(1, 1000)), term)
        case "substituted":
            loss = SubstitutedLoss(term)
        case _:
            loss = ParallelLoss(terms, draw(st.sampled_from(["add_remove", "substitute"])))
    _ = loss.relation  # refuses a sample of a loss that is valid for other neighbours
    return loss


def test_all_kinds_of_nodes_are_tried() -> None:
    assert {*LEAVES, *NESTED} == set(_KINDS)


@pytest.mark.parametrize("kind", LEAVES)
@given(data=st.data())
def test_every_leaf_is_read_back(kind: str, data: st.DataObject) -> None:
    loss = data.draw(LEAVES[kind])
    assert from_text(repr(loss)) == loss


@pytest.mark.parametrize("kind", NESTED)
@given(data=st.data())
@settings(deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
def test_every_combinator_is_read_back(kind: str, data: st.DataObject) -> None:
    try:
        loss = data.draw(combined(kind, 3))
    except ParameterError:
        reject()
    assume(len(repr(loss)) <= 4_000)
    assert from_text(repr(loss)) == loss
