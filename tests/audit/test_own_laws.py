"""The real code of every mechanism, all branches of it, on small neighbours: its true loss is what it claims.

`door` replaces the samplers by their laws, so what runs is each mechanism as it is shipped, from the data to the
output. Grids that would be too fine to enumerate are made coarse by the constant that sets them; the claim must hold on
any.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import mechanisms as m
from discreet.audit.enumeration._distribution import Distribution
from discreet.audit.enumeration._exact import ExactVerdict, exact
from discreet.mechanisms import stated_loss
from discreet.mechanisms.examples import examples
from discreet.mechanisms.quantiles import _joint as _quantile_chain
from discreet.mechanisms.quantiles._joint import Places
from discreet.mechanisms.thresholds import _partition_selection
from discreet.privacy import ApproxLoss, Loss, RhoLoss
from discreet.query import draw
from discreet.sensitivity import Mode

sys.path.insert(0, str(Path(__file__).parent))
import door

pytestmark = pytest.mark.usefixtures("one_database")

F = Fraction
SELDOM = F(1, 10**20)
NEAR_ZERO = "1e-12"


@dataclass(frozen=True)
class Own:
    """One mechanism at one setting.

    mechanism: builds it, once constants are patched.
    pairs: neighbours.
    claim: the mechanism → what it claims for them.
    tight: how much of the claim the pairs reach at least, as the proof note says or as was found: of its ε at δ, or,
        if `at` is given, of the δ that it claims at the ε `at`.
    miss: how much of the law may be left out.
    constants: what is patched to make it small, from the time it is built.
    options: of `door.opened`.
    """

    mechanism: Callable[[], Any]
    pairs: list[tuple[Any, Any]]
    claim: Callable[[Any], Loss] = lambda mechanism: mechanism.loss()
    tight: float = 0.0
    at: str | None = None
    miss: Fraction = SELDOM
    constants: dict[str, Any] = field(default_factory=dict)
    options: Callable[[Any], dict[str, Any]] = lambda mechanism: {}


def for_one(mechanism: Any) -> Loss:
    return mechanism.loss(1)


def rounded_up(loss: Loss) -> Loss:
    """A δ that is attained exactly could not be told from a greater one: laws are enumerated in floats."""
    return (
        dp.approx(max(loss.eps, F(1, 10**9)), loss.at_delta * (1 + F(1, 2**50)))
        if isinstance(loss, ApproxLoss)
        else loss
    )


def patched(name: str, value: Any) -> dict[str, Any]:
    return {f"discreet.mechanisms.{name}": value}


def words_of_selection(mechanism: Any) -> dict[str, Any]:
    """Words of `uniform64` as far as the thresholds of partition selection tell them apart."""
    high, low = _partition_selection._thresholds(mechanism.key_epsilon, mechanism.key_delta)
    return {"words": door.between([*high, *low])}


def chunks_and_places(samplers: Any) -> Callable[[int, int], Any]:
    """`_chunks.draws`, of 64-bit words that name a chunk by their last bit and a place by their order."""

    def draws(rows: int, people: int) -> Any:
        order = samplers.permutation(rows).astype(np.uint64)
        return samplers.uniform_below(2, people).astype(np.uint64), order, np.zeros(rows, dtype=np.uint64)

    return draws


def in_this_process(_sent: bytes, chunks: Any, _seconds: int) -> list[float]:
    return [math.nan if chunk is None else float(chunk[0]) for chunk in chunks]


SAMPLE_AND_AGGREGATE = (
    patched("statistics._sample_and_aggregate._STEPS", 4)
    | patched("statistics._sample_and_aggregate.check_function", lambda _: b"")
    | patched("statistics._sample_and_aggregate.answers", in_this_process)
    | patched("statistics._sample_and_aggregate.draws", door.Stand(chunks_and_places))
    | patched("statistics._smooth._FINENESS", 4)
)
SHORT_WORDS = patched("quantiles._cuts._WORD", 3) | patched("quantiles._joint._WORD", 3)
FEW_PLACES = patched("quantiles._quantiles._POSITION_BITS", 2) | patched(
    "quantiles._quantiles.uniform64",
    door.Stand(lambda samplers: lambda size: samplers.uniform_below(2, size).astype(np.uint64) << np.uint64(63)),
)


def picks(samplers: Any) -> Callable[[Any], tuple[int, Fraction]]:
    """`_quantile_chain._pick`: the index in whose part of the summed weights a uniform number falls."""

    def pick(logs: Any) -> tuple[int, Fraction]:
        weights = _quantile_chain._weights(logs).tolist()
        total = sum(weights)
        at = samplers.draw({i: F(weight, total) for i, weight in enumerate(weights)})
        return at, F(total, weights[at])

    return pick


JOINT = patched("quantiles._joint.Places", partial(Places, bits=1)) | patched(
    "quantiles._joint._pick", door.Stand(picks)
)


def short_words(mechanism: Any) -> dict[str, Any]:
    return {"words": door.short_words(3)}


def smooth(noise: str, spend: Loss, **how: Any) -> Own:
    return Own(
        lambda: m.SmoothSensitivity("median", bounds=(0, 1), spend=spend, noise=noise),
        [([0, 0, 1], [0, 1]), ([0, 0, 1], [0, 0])],
        constants=patched("statistics._smooth._FINENESS", 4),
        **how,
    )


NUMBERS = [(0, 1)]
OWN: dict[str, Own] = {
    "DiscreteLaplace": Own(lambda: m.DiscreteLaplace("1/2"), NUMBERS, for_one, tight=1 - 1e-9),
    "DiscreteLaplace of two": Own(
        lambda: m.DiscreteLaplace("1/3"), [([0, 0], [1, 1])], lambda each: each.loss(2), 0.999999, miss=F(1, 10**12)
    ),
    "Laplace": Own(lambda: m.Laplace("1/2"), NUMBERS, for_one, tight=1 - 1e-9),
    "Laplace curve": Own(lambda: m.Laplace(2), NUMBERS, for_one, tight=1 - 1e-9, at=NEAR_ZERO),
    "DiscreteGaussian": Own(lambda: m.DiscreteGaussian(2), NUMBERS, for_one, tight=1 - 1e-6),
    "DiscreteGaussian in rho": Own(lambda: m.DiscreteGaussian(1), NUMBERS, lambda _: dp.rho("0.5")),
    "Gaussian": Own(lambda: m.Gaussian(2), NUMBERS, for_one, tight=1 - 1e-9, at="0.5"),
    "Staircase": Own(lambda: m.Staircase(2, 3), [(0, 3), (0, 1)], lambda each: each.loss(3), tight=1 - 1e-9),
    "BoundedLaplace": Own(lambda: m.BoundedLaplace("1/2", (-5, 5)), [(4, 5), (0, 1)], for_one, tight=1 - 1e-9),
    "TruncatedLaplace": Own(lambda: m.TruncatedLaplace("1/2", 9), NUMBERS, for_one, tight=1 - 1e-9, at="2"),
    "OnGrid": Own(
        lambda: m.OnGrid(m.DiscreteLaplace("1/2"), step="1/4"),
        [(0.3, 0.8), (0.1, 0.6), (0.0, 0.13)],
        lambda each: each.loss("1/2"),
        tight=1 - 1e-9,
    ),
    "Sampled": Own(
        lambda: m.Sampled(m.DiscreteLaplace("1/2"), rate="1/2", function=sum),
        [([0], [0, 1]), ([1, 1], [1])],
        for_one,
        tight=1 - 1e-9,
    ),
    "TreeCounter": Own(
        lambda: m.TreeCounter(3, "1/2", arity=2), [([0, 0, 0], [1, 0, 0])], for_one, tight=0.999, miss=F(1, 10**6)
    ),
    "ToeplitzCounter": Own(
        lambda: m.ToeplitzCounter(2, 1),
        [([0, 0], [1, 0])],
        for_one,
        constants=patched("streams._toeplitz_counter._FINEST", 2),
    ),
    "Exponential": Own(
        lambda: m.Exponential(2, 1), [([1, 0], [0, 1]), ([0, 2], [0, 1])], tight=0.999, at=NEAR_ZERO, miss=F(1, 10**4)
    ),
    "PermuteAndFlip": Own(lambda: m.PermuteAndFlip(2, 1), [([5, 0], [4, 1]), ([0, 1, 2], [1, 1, 1])], tight=1 - 1e-9),
    "ReportNoisyMax exponential": Own(lambda: m.ReportNoisyMax(2, 1), [([5, 0], [4, 1])], tight=1 - 1e-9),
    "ReportNoisyMax gumbel": Own(
        lambda: m.ReportNoisyMax(2, 1, "gumbel"), [([1, 0], [0, 1])], tight=0.999, at=NEAR_ZERO, miss=F(1, 10**4)
    ),
    "ReportNoisyMax laplace": Own(
        lambda: m.ReportNoisyMax(4, 1, "laplace"), [([9, 0], [8, 1])], tight=0.9, miss=F(1, 10**15)
    ),
    "TopK": Own(lambda: m.TopK(2, 2, 1), [([1, 0], [0, 1]), ([1, 1, 0], [0, 0, 1])], miss=F(1, 50)),
    "AboveThreshold": Own(lambda: m.AboveThreshold(1, 8, 1), [([0, 1], [1, 0]), ([1, 0], [0, 1])], miss=F(1, 10**8)),
    "AboveThreshold numeric": Own(
        lambda: m.AboveThreshold(1, 12, 1, numeric=True), [([1, 0], [0, 1])], miss=F(1, 10**4)
    ),
    "MostFrequent": Own(
        lambda: m.MostFrequent.calibrate(dp.pure(2), mode=Mode((0, 1))), [([0, 0, 1], [0, 1]), ([0, 1], [0])]
    ),
    "PartitionSelection": Own(
        lambda: m.PartitionSelection(1, "0.3"),
        [([1, 0], [0, 0]), ([1, 2], [1, 3])],
        tight=1 - 1e-9,
        at="1",
        options=words_of_selection,
        miss=F(1, 10**12),
    ),
    "ThresholdedCounts": Own(
        lambda: m.ThresholdedCounts(m.DiscreteLaplace("1/2"), 4), [([0], [1]), ([2, 7], [1, 7])], miss=F(1, 10**12)
    ),
    "RandomizedResponse": Own(
        lambda: m.RandomizedResponse.from_epsilon(1, k=3), [([0], [1]), ([0, 2], [1, 2])], tight=1 - 1e-9
    ),
    "Shuffled": Own(
        lambda: m.Shuffled(m.RandomizedResponse.from_epsilon(1), 4), [([0, 1, 1, 0], [1, 1, 1, 0])], at="0.2"
    ),
    "ProposeTestRelease": Own(
        lambda: m.ProposeTestRelease("mean", bound="0.3", bounds=(0, 1), spend=dp.approx(8, "0.1")),
        [([0, 0, 1], [0, 1]), ([0, 0, 0], [0, 0])],
        constants=patched("statistics._propose_test_release._FINENESS", 4),
        miss=F(1, 10**12),
    ),
    "ProposeTestRelease far apart": Own(
        lambda: m.ProposeTestRelease("mean", bound=1, bounds=(0, 100), spend=dp.approx(8, "0.018")),
        [([0, 100], [0])],
        tight=0.999,
        at="8",
        constants=patched("statistics._propose_test_release._FINENESS", 4),
        miss=F(1, 10**12),
    ),
    "SmoothSensitivity laplace": smooth("laplace", dp.approx(4, "0.1")),
    "SmoothSensitivity cauchy": smooth("cauchy", dp.pure(4), miss=F(1, 1000)),
    "SmoothSensitivity student_t": smooth("student_t", dp.pure(4), miss=F(1, 10**6)),
    "SmoothSensitivity uniform_log_normal": smooth("uniform_log_normal", dp.rho(2), miss=F(1, 10**6)),
    "SmoothSensitivity laplace_log_normal": smooth("laplace_log_normal", dp.rho(2), miss=F(1, 10**5)),
    "GlobalSensitivity sum": Own(
        lambda: m.GlobalSensitivity("sum", bounds=(0, 1), spend=dp.pure(4)),
        [([0, 1], [0]), ([0, 0.3], [0, 0.3, 1])],
        constants=patched("statistics._global._FINENESS", 4),
    ),
    "GlobalSensitivity mean": Own(
        lambda: m.GlobalSensitivity("mean", bounds=(0, 1), spend=dp.pure(4)),
        [([0, 1], [0]), ([0, 0.3], [0, 0.3, 1])],
        constants=patched("statistics._global._FINENESS", 2),
        miss=F(1, 10**12),
    ),
    "Quantiles one": Own(
        lambda: m.Quantiles("1/2", (0, 3), epsilon=2, step=1),
        [([0, 3], [0]), ([1, 1, 2], [1, 2])],
        constants=SHORT_WORDS | FEW_PLACES,
        options=short_words,
        miss=F(1, 10**4),
    ),
    "Quantiles recursive": Own(
        lambda: m.Quantiles(["1/3", "2/3"], (0, 1), epsilon=2, step=1),
        [([0, 1], [0])],
        constants=SHORT_WORDS | FEW_PLACES,
        options=short_words,
        miss=F(1, 25),
    ),
    "Quantiles joint": Own(
        lambda: m.Quantiles(["1/3", "2/3"], (0, 1), epsilon=2, step=1, method="joint"),
        [([0, 1], [0])],
        constants=SHORT_WORDS | JOINT,
        options=short_words,
        miss=F(1, 10**2),
    ),
    "SampleAndAggregate mean": Own(
        lambda: m.SampleAndAggregate(statistics.fmean, chunks=2, bounds=(0, 1), spend=dp.pure(4)),
        [(np.array([0.0, 1.0]), np.array([1.0]))],
        constants=SAMPLE_AND_AGGREGATE,
    ),
    "SampleAndAggregate median": Own(
        lambda: m.SampleAndAggregate(
            statistics.fmean, chunks=2, bounds=(0, 1), spend=dp.approx(4, "0.1"), aggregator="median"
        ),
        [(np.array([0.0, 1.0]), np.array([1.0]))],
        constants=SAMPLE_AND_AGGREGATE,
    ),
}
"""By name of the class, and after a space the variant."""


for example in examples():
    for scaled in [] if example.name in {name.partition(" ")[0] for name in OWN} else example.scaled:
        OWN[example.named(scaled)] = Own(
            lambda scaled=scaled: scaled.at(F(1, 2)),
            [scaled.pair],
            lambda mechanism, scaled=scaled: rounded_up(stated_loss(mechanism, scaled.sensitivity)),
        )
"""What needs no constants to be patched is enumerated from its example."""


SLOW = {
    "Quantiles recursive", "SampleAndAggregate median", "SmoothSensitivity cauchy",
    "SmoothSensitivity laplace_log_normal", "SmoothSensitivity uniform_log_normal",
}  # fmt: skip
"""Those of which another variant is enumerated every time."""


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.soak] * (n in SLOW)) for n in OWN])
def test_the_true_loss_is_within_the_claim(name: str) -> None:
    case = OWN[name]
    stands = {target: value for target, value in case.constants.items() if isinstance(value, door.Stand)}
    with pytest.MonkeyPatch.context() as patch:
        for target in case.constants.keys() - stands.keys():
            patch.setattr(target, case.constants[target])
        mechanism = case.mechanism()
        options = {"mass": 1 - case.miss, "tail": case.miss / 8, "also": stands} | case.options(mechanism)
        claim = case.claim(mechanism)
        laws = [
            [door.real_law(lambda data=data: mechanism.release(data), **options) for data in pair]
            for pair in case.pairs
        ]

        def against(claim: Loss) -> ExactVerdict:
            places = [((i, 0), (i, 1)) for i in range(len(laws))]
            return exact(lambda place: laws[place[0]][place[1]], places, claim, spare=min(1000 * case.miss, F(1, 20)))

        verdict = against(claim)
        assert not verdict.violated, verdict.sentence
        assert verdict.holds or isinstance(claim, RhoLoss), verdict.sentence  # no enumeration proves every Rényi order
        if case.at is not None:
            allowed = claim.delta(case.at)
            assert against(dp.approx(case.at, allowed)).delta_at_claimed[0] >= case.tight * allowed
        else:
            assert verdict.epsilon[0] >= case.tight * verdict.claimed


def test_every_mechanism_is_enumerated() -> None:
    """A mechanism that cannot be enumerated would be listed here with the reason; there is none."""
    releasing = {name for name in m.__all__ if hasattr(getattr(m, name), "release")} - {"Mechanism"}  # a protocol
    assert {name.partition(" ")[0] for name in OWN} == releasing


POLICY = {
    "version": "1",
    "budget": {"epsilon": 100, "delta": "0.5"},
    "tables": {
        "visits": {
            "unit": "person",
            "max_rows": 2,
            "max_groups": 1,
            "columns": {
                "ward": {"type": "string", "keys": ["a", "b"]},
                "town": {"type": "string"},
                "days": {"type": "int", "bounds": [0, 2]},
            },
        }
    },
}
ROWS = [(1, "a", "x", 2), (2, "a", "x", 1), (3, "b", "y", 2), (3, "b", "y", 1)]


def answers(sql: str, spend: Loss, miss: Fraction) -> ExactVerdict:
    """All answers to a query, on a table and without each of its people, from the parts that `Session.sql` runs."""

    def table(without: int) -> pa.Table:
        rows = [row for row in ROWS if row[0] != without]
        return pa.Table.from_pylist([dict(zip(("person", "ward", "town", "days"), row, strict=True)) for row in rows])

    def law(without: int) -> Distribution:
        with dp.connect({"visits": table(without)}, POLICY) as session:
            plan = session.plan(sql, spend)
            groups = session._engine.run(plan.levels[0].bounded, bytes(16))
        selection = plan.levels[0].noise.selection
        options = {} if selection is None else words_of_selection(selection)
        return door.real_law(
            lambda: plan.finish([draw(groups, plan.levels[0].bounded, plan.levels[0].noise)]).table,
            mass=1 - miss,
            tail=miss / 8,
            **options,
        )

    return exact(law, [(0, person) for person in (1, 2, 3)], spend, spare=min(1000 * miss, F(1, 20)))


@pytest.mark.parametrize(
    ("sql", "spend", "miss", "tight"),
    [
        ("SELECT COUNT(*) AS n FROM visits", dp.pure(2), F(1, 10**12), 0.999999),
        ("SELECT SUM(days) AS d FROM visits", dp.rho(1), F(1, 10**12), 0.0),
        ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", dp.pure(6), F(1, 10**6), 0.999),
        ("SELECT town, COUNT(*) AS n FROM visits GROUP BY town", dp.approx(6, "0.2"), F(1, 100), 0.0),
        ("SELECT COUNT(DISTINCT days) AS d FROM visits", dp.pure(2), F(1, 10**12), 0.0),
        ("SELECT COUNT(DISTINCT person) AS p FROM visits", dp.pure(2), F(1, 10**12), 0.999999),
        pytest.param(
            *("SELECT COUNT(*) FILTER (WHERE days > 1) AS n FROM visits", dp.pure(2), F(1, 10**12), 0.0),
            marks=pytest.mark.soak,
        ),
        pytest.param(*("SELECT VAR_POP(days) AS v FROM visits", dp.pure(9), F(1, 10**6), 0.0), marks=pytest.mark.soak),
        (
            "SELECT SUM(v) AS s FROM (SELECT person, SUM(days) AS v FROM visits GROUP BY person)",
            dp.pure(2),
            F(1, 10**12),
            0.0,
        ),
        (
            "SELECT COUNT(*) AS n FROM visits AS a JOIN visits AS b ON a.person = b.person",
            dp.pure(2),
            F(1, 10**12),
            0.99,
        ),
    ],
    ids=[
        "count",
        "sum in rho",
        "public keys",
        "discovered keys",
        "distinct values",
        "people",
        "filter",
        "variance",
        "totals of people",
        "join",
    ],
)
def test_the_true_loss_of_a_query_is_within_its_spend(sql: str, spend: Loss, miss: Fraction, tight: float) -> None:
    verdict = answers(sql, spend, miss)
    assert not verdict.violated, verdict.sentence
    assert verdict.holds or isinstance(spend, RhoLoss), verdict.sentence
    assert verdict.epsilon[0] >= tight * verdict.claimed
