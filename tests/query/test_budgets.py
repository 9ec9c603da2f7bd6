"""How a spend is shared: never more than it, the same everywhere, and better than even shares where columns share."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.mechanisms import DiscreteLaplace, Gaussian, PartitionSelection, ThresholdedCounts
from discreet.policy import Policy, load_policy
from discreet.privacy import Loss, MuLoss, RhoLoss, as_mu, as_rho, budget_of
from discreet.query import Plan, assumed, make_plan
from discreet.query._plan import with_spend
from discreet.query.budget._calibrate import calibrate, column_slopes
from discreet.query.budget._noise import CountThreshold
from discreet.query.budget._split import best_shares, even_shares, mean_log_error

pytestmark = pytest.mark.usefixtures("one_database")

POLICY = load_policy(
    {
        "version": "1",
        "budget": {"epsilon": 10**12, "delta": "0.5"},
        "tables": {
            "t": {
                "unit": "u",
                "max_rows": 30,
                "max_groups": 20,
                "columns": {
                    "u": {"type": "int"},
                    "k": {"type": "int", "keys": list(range(40))},
                    "b": {"type": "string", "keys": ["p", "q"]},
                    "q": {"type": "string"},
                    "x": {"type": "int", "bounds": [0, 120], "nullable": False},
                    "y": {"type": "float", "bounds": [-3, 9.5]},
                },
            }
        },
    }
)
ONE_ROW = POLICY.model_copy(
    update={"tables": {"t": POLICY.tables["t"].model_copy(update={"max_rows": 1, "max_groups": None})}}
)
SHAPES = {
    "one count": "SELECT k, COUNT(*) AS n FROM t GROUP BY k",
    "people": "SELECT k, COUNT(DISTINCT u) AS n FROM t GROUP BY k",
    "average": "SELECT b, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY b",
    "moments": "SELECT AVG(x) AS a, AVG(y) AS v, CORR(x, y) AS r FROM t",
    "quantile": "SELECT k, AVG(y) AS a, MEDIAN(x) AS m, COUNT(DISTINCT u) AS n FROM t GROUP BY k",
    "private": "SELECT q, COUNT(DISTINCT u) AS n, STDDEV(x) AS d FROM t GROUP BY q HAVING COUNT(*) > 5",
    "levels": "SELECT b, k, COUNT(DISTINCT u) AS n, AVG(x) AS a FROM t GROUP BY CUBE (b, k)",
    "top": "SELECT k, COUNT(DISTINCT u) AS n, AVG(x) AS a FROM t GROUP BY k ORDER BY n DESC LIMIT 3",
    "keys alone": "SELECT DISTINCT q FROM t",
    "private sums": "SELECT q, SUM(x) AS s FROM t GROUP BY q",
}
SPENDS: dict[str, Loss] = {
    "pure": dp.pure("0.7"),
    "approx": dp.approx("0.7", "0.00001"),
    "a large delta": dp.approx("0.7", "0.1"),
    "rho": RhoLoss(Fraction(1, 7), Fraction(1, 10**6)),
    "mu": MuLoss(Fraction(2, 3), Fraction(1, 10**6)),
}


def composed(plan: Plan) -> Loss:
    """All mechanisms that would run, at the norms that they run at, added up by the loss algebra."""
    losses: list[Loss] = []
    for level in plan.levels:
        noise = level.noise
        assert noise is not None
        norms = level.norms if noise.top_keys is None else noise.top_keys.norms
        losses += [m.loss(each) for m, each in zip(noise.mechanisms, norms, strict=True)]
        losses += [each.loss(each.moves) for each in noise.quantiles]
        losses += [] if noise.selection is None else [noise.selection.loss()]
        losses += [] if noise.top_keys is None else [noise.top_keys.mechanism.loss()]
    total = losses[0]
    for loss in losses[1:]:
        total = total + loss
    return total


def within(total: Loss, spend: Loss) -> bool:
    """By the loss algebra, in the currency of the spend: exactly, but for δ(ε) of Gaussian noise, from above."""
    match budget_of(spend):
        case "rho", (rho, delta):
            paid = as_rho(total)
            return paid[0] <= rho and paid[1] <= delta
        case "mu", (squared, delta):
            pair = as_mu(total)
            return pair is not None and float(pair[0]) <= float(squared) * (1 + 1e-9) and pair[1] <= delta
        case _:
            return total.fits(spend)


@pytest.mark.parametrize("spend", SPENDS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("relation", ["add_remove", "substitute"])
def test_what_runs_costs_no_more_than_the_spend(shape: str, spend: str, relation: Any) -> None:
    policy = POLICY.model_copy(update={"relation": relation})
    if spend == "pure" and shape in ("private", "keys alone", "private sums"):
        with pytest.raises(dp.ParameterError, match="needs a delta"):
            make_plan(SHAPES[shape], policy, SPENDS[spend])
        return
    plan = make_plan(SHAPES[shape], policy, SPENDS[spend])
    assert plan.loss is not None
    assert plan.loss.fits(SPENDS[spend])
    assert within(composed(plan), SPENDS[spend])
    for level in plan.levels:
        noise, bounded = level.noise, level.bounded
        assert noise is not None
        alone = bounded.count_units and not isinstance(noise.selection, CountThreshold)
        parts = len(bounded.measures) + len(bounded.histograms) + alone
        assert sum(noise.shares) == Fraction(len(bounded.measures), parts)
        assert all(share >= Fraction(49, 100 * parts) for share in noise.shares)
        if noise.top_keys is not None:
            assert set(noise.shares) == {Fraction(1, parts)}


@settings(deadline=None, max_examples=60)
@given(
    slopes=st.lists(
        st.lists(st.floats(-1e6, 1e6, allow_subnormal=False) | st.just(math.nan), min_size=3, max_size=3), max_size=5
    ),
    epsilon=st.fractions(Fraction(1, 100), 20, max_denominator=1000),
    delta=st.sampled_from([Fraction(0), Fraction(1, 10**9), Fraction(1, 10**5), Fraction(1, 10)]),
    currency=st.sampled_from(["epsilon", "rho", "mu"]),
    shape=st.sampled_from(["average", "people of three", "private"]),
)
def test_whatever_the_slopes_the_measures_cost_what_they_may(
    slopes: list[list[float]], epsilon: Fraction, delta: Fraction, currency: str, shape: str
) -> None:
    """Slopes decide who gets what, never how much all get."""
    text = {
        "average": "SELECT b, COUNT(y) AS n, SUM(x) AS s, AVG(y) AS a FROM t GROUP BY b",
        "people of three": "SELECT k, COUNT(DISTINCT u) AS n, COUNT(*) AS m, COUNT(y) AS c FROM t GROUP BY k",
        "private": "SELECT q, COUNT(DISTINCT u) AS n, COUNT(*) AS m, COUNT(y) AS c FROM t GROUP BY q",
    }[shape]
    if shape == "private":
        delta = delta or Fraction(1, 10**6)
    plan = make_plan(text, POLICY)
    (level,) = plan.levels
    rows = [row + [1.0] * (len(level.norms) - 3) for row in slopes]
    spend: Loss = {
        "epsilon": dp.privacy.ApproxLoss(epsilon, delta) if delta else dp.privacy.PureLoss(epsilon),
        "rho": RhoLoss(epsilon, delta),
        "mu": MuLoss(epsilon, delta),
    }[currency]
    noise = calibrate(spend, level.bounded, level.norms, plan.unit, rows)
    run = replace(plan, levels=(replace(level, noise=noise),), spend=spend)
    assert within(composed(run), spend)
    assert noise.loss.fits(spend)


def brute(columns: list[list[float]], power: int, fineness: int = 60) -> float:
    """The least objective over a grid of all shares of half the even one or more, for three measures."""
    found = math.inf
    for a, b in itertools.product(range(1, fineness), repeat=2):
        shares = (a / fineness, b / fineness, 1 - (a + b) / fineness)
        if min(shares) >= 1 / 6:
            found = min(found, objective(columns, shares, power))
    return found


def objective(columns: list[list[float]], shares: Any, power: int) -> float:
    parts = [sum(a / float(w) ** power for a, w in zip(row, shares, strict=True)) for row in columns]
    return sum(math.log(part) for part in parts)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_shares_are_the_best_of_all(seed: int, power: int) -> None:
    dice = random.Random(f"shares {seed}")
    columns = [[dice.choice([0, 1, 10 ** dice.uniform(-6, 6)]) for _ in range(3)] for _ in range(dice.randrange(1, 6))]
    columns = [row for row in columns if any(row)] or [[1.0, 2.0, 3.0]]
    shares = best_shares(columns, 3, power)
    assert sum(shares) == 1
    steps = power * len(columns) / 1024  # what shares in steps of 1/1024 may lose
    assert objective(columns, shares, power) <= brute(columns, power) + steps


def test_shares_of_columns_that_meet_no_other_are_even() -> None:
    for measures, power in itertools.product((1, 2, 3, 7), (1, 2)):
        alone = [[10.0**i if i == j else 0.0 for i in range(measures)] for j in range(measures)]
        assert best_shares(alone, measures, power) == even_shares(measures)
        assert best_shares([], measures, power) == even_shares(measures)
    assert best_shares([[math.nan, 1.0], [math.inf, 2.0], [0.0, 0.0]], 2, 2) == even_shares(2)
    assert even_shares(0) == best_shares([], 0, 2) == ()


def test_one_column_has_the_closed_form() -> None:
    """Shares in proportion to the cube root, or the square root, of what each causes."""
    assert best_shares([[8.0, 1.0]], 2, 2) == (Fraction(683, 1024), Fraction(341, 1024))
    assert best_shares([[4.0, 1.0]], 2, 1) == (Fraction(683, 1024), Fraction(341, 1024))
    assert best_shares([[1e9, 1.0]], 2, 2) == (Fraction(3, 4), Fraction(1, 4))  # half of an even share is kept


@settings(deadline=None, max_examples=50)
@given(
    columns=st.lists(st.lists(st.floats(1e-3, 1e3), min_size=3, max_size=3), min_size=1, max_size=4),
    units=st.lists(st.sampled_from([2.0**-20, 1.0, 2.0**13]), min_size=4, max_size=4),
)
def test_units_do_not_matter(columns: list[list[float]], units: list[float]) -> None:
    scaled = [[part * unit for part in row] for row, unit in zip(columns, units, strict=False)]
    assert best_shares(scaled, 3, 2) == best_shares(columns, 3, 2)


def test_an_order_by_counts_as_a_column() -> None:
    plain = make_plan("SELECT k, AVG(x) AS a FROM t GROUP BY k", POLICY, dp.pure(1))
    sorted_by = make_plan("SELECT k, AVG(x) AS a FROM t GROUP BY k ORDER BY COUNT(*)", POLICY, dp.pure(1))
    shares = [plan.levels[0].noise.shares[1] for plan in (plain, sorted_by) if plan.levels[0].noise]
    assert shares[1] > shares[0]


def test_measures_that_are_equal_are_paid_once() -> None:
    text = "SELECT COUNT(*) AS n, COUNT(x) AS m, AVG(x) AS a, SUM(x) / COUNT(x) AS r FROM t"
    assert len(make_plan(text, POLICY, dp.pure(1)).levels[0].bounded.measures) == 2


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("SELECT b, COUNT(x) AS n, AVG(x) AS a, STDDEV(x) AS d FROM t GROUP BY b", 1.10),
        ("SELECT AVG(x) AS a, AVG(y) AS v, CORR(x, y) AS r FROM t", 1.25),
        ("SELECT b, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY b", 1.005),
    ],
)
def test_the_best_split_beats_the_even_one(text: str, factor: float) -> None:
    """In the geometric mean of the columns' standard errors, at typical values."""
    plan = make_plan(text, ONE_ROW, dp.pure(1))
    noise, (slopes,) = plan.levels[0].noise, column_slopes(plan.select, plan.levels, plan.aggregates)
    assert noise is not None
    even = [DiscreteLaplace(norms.l1 * len(noise.mechanisms)) for norms in plan.levels[0].norms]
    best = mean_log_error(slopes, [m.std for m in noise.mechanisms])
    before = mean_log_error(slopes, [m.std for m in even])
    assert best is not None and before is not None
    assert math.exp(before - best) >= factor


def test_gaussian_noise_is_bought_where_it_errs_less() -> None:
    kinds: dict[tuple[str, str], set[type]] = {}
    for name, spend in itertools.product(("people", "one count"), ("pure", "approx", "rho", "mu")):
        plan = make_plan(SHAPES[name], POLICY, SPENDS[spend])
        assert plan.levels[0].noise is not None
        kinds[name, spend] = {type(each) for each in plan.levels[0].noise.mechanisms}
        charged = dp.pure("0.7") if kinds[name, spend] == {DiscreteLaplace} else plan.spend
        assert spend == "rho" or budget_of(plan.loss or dp.pure(1))[1][0] == budget_of(charged or dp.pure(1))[1][0]
    assert kinds["people", "approx"] == {Gaussian}  # 20 groups: L1 20, L2 √20
    assert kinds["one count", "approx"] == {DiscreteLaplace}  # all rows of a person may be in one group
    assert kinds["people", "pure"] == {DiscreteLaplace}
    gaussian, laplace = (make_plan(SHAPES["people"], POLICY, SPENDS[name]).error("n") for name in ("approx", "pure"))
    assert gaussian is not None and laplace is not None and 3 * gaussian < 2 * laplace


def test_a_delta_is_charged_where_gaussian_noise_takes_it() -> None:
    plan = make_plan(SHAPES["people"], POLICY, SPENDS["approx"])
    assert plan.loss == SPENDS["approx"]
    assert make_plan(SHAPES["one count"], POLICY, SPENDS["approx"]).loss == dp.pure("0.7")
    told = plan.explain()
    assert "Gaussian noise on all measures together: mu" in told
    assert "certified to be within epsilon 0.7 and delta 1e-05" in told


def test_half_the_delta_is_for_the_discovery_of_keys() -> None:
    plan = make_plan("SELECT q, COUNT(DISTINCT u) AS n FROM t GROUP BY q", POLICY, dp.approx(1, "0.00001"))
    noise = plan.levels[0].noise
    assert noise is not None and isinstance(noise.selection, CountThreshold)
    assert isinstance(noise.mechanisms[0], Gaussian)
    assert noise.selection.rule.noise == noise.mechanisms[0]
    assert noise.selection.rule.delta <= Fraction(1, 200_000) < replace_threshold(noise.selection, -1).rule.delta
    assert noise.mechanisms[0].loss(plan.levels[0].norms[0]).fits(dp.approx(1, "0.000005"))


def replace_threshold(found: CountThreshold, by: int) -> CountThreshold:
    rule = found.rule
    return CountThreshold(found.count, ThresholdedCounts(rule.noise, rule.threshold + by, rule.keys))


@pytest.mark.parametrize(
    ("text", "policy", "counted"),
    [
        ("SELECT q, COUNT(DISTINCT u) AS n FROM t GROUP BY q", POLICY, True),
        ("SELECT q, COUNT(*) AS n FROM t GROUP BY q", ONE_ROW, True),
        ("SELECT q, COUNT(x) AS n, AVG(x) AS a FROM t GROUP BY q", ONE_ROW, True),
        ("SELECT q, AVG(x) AS a FROM t GROUP BY q", ONE_ROW, True),
        ("SELECT q, COUNT(*) AS n FROM t GROUP BY q", POLICY, False),
        ("SELECT q, COUNT(y) AS n FROM t GROUP BY q", ONE_ROW, False),
        ("SELECT q, COUNT(*) FILTER (WHERE x > 3) AS n FROM t GROUP BY q", ONE_ROW, False),
        ("SELECT q, COUNT(DISTINCT x) AS n FROM t GROUP BY q", ONE_ROW, False),
        ("SELECT q, SUM(x) AS s FROM t GROUP BY q", ONE_ROW, False),
    ],
)
@pytest.mark.parametrize("spend", ["approx", "rho", "mu"])
def test_a_count_of_people_discovers_the_keys(text: str, policy: Policy, counted: bool, spend: str) -> None:
    level = make_plan(text, policy, SPENDS[spend]).levels[0]
    assert level.noise is not None
    assert isinstance(level.noise.selection, CountThreshold) == counted
    assert (sum(level.noise.shares) == 1) == counted


@pytest.mark.parametrize(
    ("spend", "keys", "kind"),
    [("approx", 1, PartitionSelection), ("approx", 40, ThresholdedCounts), ("rho", 1, ThresholdedCounts)],
)
def test_the_discovery_is_the_one_that_shows_smaller_groups(spend: str, keys: int, kind: type) -> None:
    one_key = ONE_ROW.tables["t"].model_copy(update={"max_rows": keys})
    policy = ONE_ROW.model_copy(update={"tables": {"t": one_key}})
    noise = make_plan("SELECT DISTINCT q FROM t", policy, SPENDS[spend]).levels[0].noise
    assert noise is not None and isinstance(noise.selection, kind)
    others = [
        PartitionSelection.calibrate(SPENDS[spend], keys=keys),
        ThresholdedCounts.calibrate(SPENDS[spend], keys=keys, noise="gaussian"),
    ]
    least = [other.shown_from(0.95) for other in others]
    assert noise.selection == others[least.index(min(least))]


ASKED: list[tuple[str, dict[str, float], Policy]] = [
    ("SELECT AVG(x) AS p FROM t", {"p": 1.0}, POLICY),
    ("SELECT AVG(x) AS p FROM t", {"p": 1.0}, ONE_ROW),
    ("SELECT b, SUM(y) AS s, AVG(y) AS a FROM t GROUP BY b", {"s": 3000, "a": 0.5}, POLICY),
    ("SELECT b, SUM(y) - COUNT(*) AS s FROM t GROUP BY b", {"s": 500}, ONE_ROW),
    ("SELECT k, COUNT(DISTINCT u) AS n FROM t GROUP BY k", {"n": 300}, POLICY),
    ("SELECT VAR_POP(x) AS v, STDDEV(y) AS d, CORR(x, y) AS r FROM t", {"v": 100, "d": 0.2, "r": 0.2}, POLICY),
    ("SELECT b, AVG(x) AS a FROM t GROUP BY ROLLUP (b)", {"a": 2}, POLICY),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("text", "targets", "policy"), ASKED)
@pytest.mark.parametrize("currency", ["pure", "approx", "rho", "mu"])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_least_spend_reaches_its_error_within_five_in_a_hundred(
    text: str, targets: dict[str, float], policy: Policy, currency: str, level: float
) -> None:
    plan = replace(make_plan(text, policy), rows=20_000)
    spend = plan.spend_for(targets, level, currency, delta="0.000001" if currency == "approx" else None)
    assert budget_of(spend)[0] == currency
    bought = with_spend(plan, spend)
    reached = [(bought.error(column, level) or math.nan) / target for column, target in targets.items()]
    assert 0.95 <= max(reached) <= 1
    main, *delta = budget_of(spend)[1]
    less = {"pure": dp.privacy.PureLoss, "approx": dp.privacy.ApproxLoss, "rho": RhoLoss, "mu": MuLoss}[currency](
        main * Fraction(996, 1000), *delta
    )
    cheaper = with_spend(plan, less)
    if len(targets) > 1 or "COUNT" not in text:
        assert max((cheaper.error(column, level) or math.nan) / target for column, target in targets.items()) > 1


def test_a_count_has_the_largest_half_width_within_its_target() -> None:
    plan = make_plan("SELECT COUNT(*) AS n FROM t", ONE_ROW)
    for target, reached in ((7.5, 7), (7, 7), (1, 1), (0.5, 0)):
        assert with_spend(plan, plan.spend_for({"n": target}, currency="pure")).error("n") == reached


def test_spend_for_takes_the_currency_at_hand() -> None:
    text = "SELECT b, COUNT(*) AS n FROM t GROUP BY b"
    assert budget_of(make_plan(text, POLICY).spend_for({"n": 50}))[0] == "pure"  # a budget in (ε, δ), and no δ needed
    assert budget_of(make_plan(text, POLICY, dp.rho(1)).spend_for({"n": 50}))[0] == "rho"
    assert budget_of(make_plan(text, POLICY, dp.approx(1, 1e-6)).spend_for({"n": 50}))[0] == "approx"
    nowhere = POLICY.model_copy(update={"budget": None})
    with pytest.raises(dp.ParameterError, match="currency="):
        make_plan(text, nowhere).spend_for({"n": 50})
    private = make_plan("SELECT q, COUNT(*) AS n FROM t GROUP BY q", POLICY)
    assert budget_of(private.spend_for({"n": 500}, delta=1e-6))[1][1] == Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("error", "more", "says"),
    [
        ({"z": 1}, {}, "no column z"),
        ({"b": 1}, {}, "is a key"),
        ({"n": 0}, {}, "greater than 0"),
        ({"n": -1}, {}, "greater than 0"),
        ({"n": math.nan}, {}, "finite"),
        ({"n": math.inf}, {}, "finite"),
        ({"n": None}, {}, "finite"),
        ({}, {}, "say which error"),
        (None, {}, "say which error"),
        ({"a": 1}, {}, "assume"),
        ({"m": 1}, {}, "in rank"),
        ({"n": 1}, {"level": 2}, "level"),
        ({"n": 1}, {"currency": "euro"}, "currency is one of"),
        ({"n": 1}, {"currency": "pure", "delta": 0.1}, "has no delta"),
        ({"n": 1}, {"delta": 1}, "below 1"),
        ({"s": 1e-12}, {}, "no spend up to 1e9"),
    ],
)
def test_targets_that_make_no_sense(error: Any, more: dict[str, Any], says: str) -> None:
    text = "SELECT b, COUNT(*) AS n, AVG(x) AS a, MEDIAN(x) AS m, SUM(y) AS s FROM t GROUP BY b"
    with pytest.raises(dp.ParameterError, match=says):
        make_plan(text, POLICY).spend_for(error, **more)


def test_private_keys_need_a_delta_here_too() -> None:
    private = make_plan("SELECT q, COUNT(*) AS n FROM t GROUP BY q", POLICY)
    for currency in (None, "pure", "rho"):
        with pytest.raises(dp.ParameterError, match="private keys"):
            private.spend_for({"n": 500}, currency=currency)


def test_an_earlier_release_stands_for_the_data() -> None:
    table = pa.table(
        {"u": range(3_000), "k": [0] * 3_000, "b": ["p", "q", "q"] * 1_000, "q": ["z"] * 3_000, "x": [30] * 3_000}
    ).append_column("y", pa.array([1.0] * 3_000))
    text = "SELECT b, COUNT(*) AS n, AVG(x) AS a, STDDEV(x) AS d FROM t GROUP BY b"
    with dp.connect({"t": table}, ONE_ROW) as session:
        first = session.sql(text, dp.pure(1))
        again = dp.Release.from_bytes(first.to_bytes())
        plan = session.plan(text, dp.pure("0.1"), assume=again)
        assert plan.error("a") == pytest.approx(10 * max(first.error("a")), rel=0.02)
        assert plan.error("n") == session.plan(text, dp.pure("0.1")).error("n")
        spend = plan.spend_for({"a": 2.0})
        assert 1.9 <= (session.plan(text, spend, assume=first).error("a") or 0) <= 2
        assert plan.hash(ONE_ROW) == session.plan(text, dp.pure("0.1")).hash(ONE_ROW)
        for other in ("SELECT b, COUNT(*) AS n FROM t GROUP BY b", text.replace("x", "y")):
            with pytest.raises(dp.ParameterError, match="the same query under the same bounds"):
                session.plan(other, dp.pure(1), assume=first)
    wider = ONE_ROW.tables["t"].model_copy(
        update={"columns": POLICY.tables["t"].columns | {"x": POLICY.tables["t"].columns["y"]}}
    )
    assert make_plan(text, ONE_ROW).shape != make_plan(text, ONE_ROW.model_copy(update={"tables": {"t": wider}})).shape


def test_rows_still_are_an_assumption() -> None:
    plan = replace(make_plan("SELECT STDDEV(x) AS d FROM t", POLICY, dp.pure(1)), rows=assumed({"rows": 10**6})[0])
    assert 0 < (plan.error("d") or 0) < 10
