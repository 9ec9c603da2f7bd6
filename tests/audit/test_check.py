"""The auditor refutes what is wrong, and what is right no more often than its confidence allows."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import discreet as dp
from discreet import mechanisms as m
from discreet.audit import Verdict, batched, check

SURE = 1 - 1e-9


def noisy(mechanism: Any) -> Any:
    """A mechanism that adds noise to one whole number, many times at once."""
    return batched(lambda value, size: mechanism.release([value] * size))


CORRECT: dict[str, tuple[Any, tuple[Any, Any], dp.Loss]] = {
    "laplace": (noisy(m.DiscreteLaplace(1)), (0, 1), dp.pure(1)),
    "fine laplace": (noisy(m.DiscreteLaplace(2**20)), (0, 2**20), dp.pure(1)),
    "gaussian": (noisy(m.Gaussian(1)), (0, 1), dp.mu(1)),
    "gaussian in rho": (noisy(m.DiscreteGaussian(1)), (0, 1), dp.rho("0.5")),
    "response": (
        batched(lambda value, size: m.RandomizedResponse("3/4").release([value] * size).tolist()),
        (0, 1),
        dp.randomized_response("3/4"),
    ),
    "truncated": (noisy(m.TruncatedLaplace(1, 3)), (0, 1), m.TruncatedLaplace(1, 3).loss(1)),
    "two numbers": (
        batched(lambda pair, size: np.reshape(m.DiscreteLaplace(2).release([*pair] * size), (size, 2)).tolist()),
        ((0, 0), (1, 1)),
        dp.pure(1),
    ),
}


@pytest.mark.parametrize("runs", [35, pytest.param(700, marks=pytest.mark.soak)])
@pytest.mark.parametrize("sequential", [False, True], ids=["at once", "sequential"])
def test_false_alarms(sequential: bool, runs: int) -> None:
    """Among 35 audits at 95 % of mechanisms that attain their claim, more than 13 alarms come with probability 1e-9.

    Each is audited with its own samples, so were every audit to raise a false alarm with probability 5 %, their number
    would be binomial. Fewer alarms are fine: the limits are conservative. Among 700 it is more than 74.
    """
    most = int(stats.binom.isf(1e-9, runs, 0.05))
    cases = list(CORRECT.values())
    alarms = 0
    for run in range(runs):
        mechanism, pair, claim = cases[run % len(cases)]
        alarms += check(mechanism, [pair], claim, samples=4_000, sequential=sequential).violated
    assert alarms <= most


@pytest.mark.parametrize("name", CORRECT)
def test_what_is_right_is_not_refuted_and_nearly_attained(name: str) -> None:
    """At a confidence of 1 − 1e-9. The bounds below are missed with a probability that is smaller than that."""
    mechanism, pair, claim = CORRECT[name]
    verdict = check(mechanism, [pair], claim, samples=200_000, confidence=SURE)
    assert not verdict.violated
    assert verdict.witness is not None
    assert verdict.claim == claim
    assert 199_990 <= verdict.samples <= 200_000
    match name:
        case "gaussian":
            assert verdict.mu_lower > 0.9
        case "gaussian in rho":
            assert verdict.rho_lower > 0.2
        case "truncated":
            assert verdict.delta > 0.01
        case "two numbers":
            assert verdict.epsilon_lower > 0.7
        case _:
            assert verdict.epsilon_lower > 0.85 * verdict.claimed


def test_a_correct_laplace_mechanism_on_a_fine_grid() -> None:
    """The median of many such audits is 0.988 with a standard deviation of 0.006, of which 0.95 is 6 away."""
    mechanism, pair, claim = CORRECT["fine laplace"]
    verdict = check(mechanism, [pair], claim, samples=1_000_000)
    assert verdict.epsilon_lower >= 0.95


@pytest.mark.parametrize(("scale", "samples"), [("1/2", 10_000), ("4/5", 100_000)])
@pytest.mark.parametrize("grid", [1, 2**20])
def test_too_little_noise(scale: str, samples: int, grid: int) -> None:
    """At a confidence of 1 − 1e-9: 2 and 1.25 lie 8 standard deviations or more above the claim of 1."""
    mechanism = noisy(m.DiscreteLaplace(Fraction(scale) * grid))
    verdict = check(mechanism, [(0, grid)], dp.pure(1), samples=samples, confidence=SURE)
    assert verdict.violated
    assert verdict.epsilon_lower <= 1 / Fraction(scale)
    assert "VIOLATED" in verdict.sentence
    early = check(mechanism, [(0, grid)], dp.pure(1), samples=samples, confidence=SURE, sequential=True)
    assert early.violated
    assert early.samples <= samples


def test_floating_point_noise_is_caught_as_the_leak_that_it_is() -> None:
    rng = np.random.default_rng()
    plain = batched(lambda value, size: value + rng.laplace(size=size))
    verdict = check(plain, [(0.0, 1.0)], dp.pure(1), samples=20_000, confidence=SURE)
    assert verdict.violated
    assert verdict.epsilon_lower > 3
    normal = batched(lambda value, size: value + rng.normal(size=size))
    assert check(normal, [(0.0, 1.0)], dp.mu(1), samples=20_000, confidence=SURE).violated


def leaks(output: Callable[[int, np.random.Generator], Any]) -> Verdict:
    """The audit of a mechanism that leaks on a tenth of its runs; its epsilon is infinite."""
    rng = np.random.default_rng()

    def run(world: int) -> Any:
        made = output(world if rng.random() < 0.1 else 0, rng)
        if isinstance(made, Exception):
            raise made
        return made

    return check(run, [(0, 1)], dp.pure(1), samples=8_000, confidence=SURE)


LEAKS: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "an atom": lambda leak, rng: 7.0 if leak else rng.random(),
    "a refusal": lambda leak, rng: None if leak else int(rng.integers(9)),
    "no number": lambda leak, rng: math.nan if leak else rng.random(),
    "an infinity": lambda leak, rng: math.inf if leak else rng.random(),
    "a minus zero": lambda leak, rng: -0.0 if leak else 0.0,
    "a type": lambda leak, rng: 1.0 if leak else 1,
    "an error": lambda leak, rng: ValueError("x") if leak else int(rng.integers(9)),
    "the text of an error": lambda leak, rng: ValueError("x" if leak else "y"),
    "a longer list": lambda leak, rng: [int(each) for each in rng.integers(9, size=3 + leak)],
    "a missing row": lambda leak, rng: pa.table({"n": [int(each) for each in rng.integers(9, size=3 - leak)]}),
    "a column's type": lambda leak, rng: pa.table({"n": pa.array([3], pa.int32() if leak else pa.int64())}),
    "a null": lambda leak, rng: pa.table({"n": [None if leak else int(rng.integers(9)), 1]}),
    "an equality": lambda leak, rng: [x := float(rng.random()), x if leak else float(rng.random())],
    "a repeated value": lambda leak, rng: rng.permutation([1.5 if leak else rng.random(), 1.5, *rng.random(9)]),
    "a text": lambda leak, rng: "yes" if leak else "no",
    "a number in a text": lambda leak, rng: f"{100 + rng.random() if leak else rng.random():.6f}",
    "a key": lambda leak, rng: {"b" if leak else "a": int(rng.integers(9))},
    "a sum": lambda leak, rng: [x := int(rng.integers(-9, 9)), (1000 if leak else 0) - x],
    "a pattern": lambda leak, rng: [True, False, True] if leak else [True, bool(x := rng.integers(2)), bool(x)],
    "a number in words": lambda leak, rng: f"the count is {50 * leak + rng.random():.4f} people",
    "the last digits of a large number": lambda leak, rng: 2**60 + leak,
    "a remainder": lambda leak, rng: 2 * int(rng.integers(10**6)) + leak,
    "a byte": lambda leak, rng: bytes([leak, *rng.integers(0, 256, 20)]),
    "a column among many": lambda leak, rng: rng.random(500) + 5 * leak * (np.arange(500) == 450),
    "a type of list": lambda leak, rng: (x,) if (x := float(rng.random())) and leak else [x],
    "an order": lambda leak, rng: [0, 1, 2] if leak else [2, 1, 0],
}


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("name", LEAKS)
def test_what_outputs_can_hide_a_leak_in(name: str) -> None:
    """The leak comes up 100 times in 1,000 on one side and never on the other: never missed, but for 1e-40."""
    verdict = leaks(LEAKS[name])
    assert verdict.violated, verdict.sentence


def test_the_pair_that_leaks_is_found_among_many() -> None:
    def counts(value: int, size: int) -> list[int]:
        return m.DiscreteLaplace("1/2" if value > 1000 else 2).release([value] * size)

    pairs = [(i, i + 1) for i in range(40)] + [(1001, 1002)]
    verdict = check(batched(counts), iter(pairs), dp.pure(1), samples=60_000, confidence=SURE)
    assert verdict.violated
    assert verdict.witness is not None
    assert verdict.witness.inputs == (1001, 1002)
    assert verdict.witness.pair == 40


def test_a_sequential_audit_stops_early() -> None:
    told: list[tuple[int, int]] = []
    verdict = check(
        noisy(m.DiscreteLaplace("1/4")),
        [(0, 1)],
        dp.pure(1),
        samples=1_000_000,
        sequential=True,
        confidence=SURE,
        progress=lambda done, total: told.append((done, total)),
    )
    assert verdict.violated
    assert verdict.samples <= 8_000
    assert told[-1] == (verdict.samples, 1_000_000)


def test_a_verdict_as_text_and_as_json() -> None:
    verdict = check(noisy(m.DiscreteLaplace(1)), [(0, 1)], dp.pure(1), samples=10_000, confidence=SURE)
    assert str(verdict) == verdict.sentence
    assert verdict.sentence.startswith("Not refuted")
    assert "proves no privacy" in verdict.sentence
    told = verdict.to_json()
    assert told["violated"] is False
    assert told["claimed"] == 1.0
    assert told["epsilon_lower"] == verdict.epsilon_lower
    assert told["samples"] == 10_000
    assert verdict.tradeoff == [pytest.approx(point) for point in told["tradeoff"]]
    assert all(error >= 0 for point in verdict.tradeoff for error in point)
    assert check(noisy(m.Gaussian(1)), [(0, 1)], dp.mu(1), samples=1_000, delta=0).to_json()["claimed"] is None


def test_an_audit_of_nothing_but_errors_says_so() -> None:
    def broken(data: Any) -> Any:
        raise TypeError("takes no data")

    verdict = check(broken, [(0, 1)], dp.pure(1), samples=400)
    assert not verdict.violated
    assert verdict.witness is None
    assert "takes no data" in verdict.sentence


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": []}, "at least one pair"),
        ({"pairs": [0, 1]}, "pairs must be"),
        ({"claim": 1}, "a claim is a loss"),
        ({"samples": 10}, "at least 100 for each"),
        ({"samples": 1e6}, "whole number"),
        ({"pairs": None}, "pairs must be"),
        ({"mechanism": batched(lambda data, size: iter([0]))}, "must return a list"),
        ({"samples": True}, "whole number"),
        ({"confidence": 1}, "confidence"),
        ({"confidence": 0}, "confidence"),
        ({"delta": 1}, "delta"),
        ({"mechanism": 3}, "a mechanism is"),
        ({"mechanism": batched(lambda data, size: [0])}, "must return"),
    ],
    ids=lambda each: each if isinstance(each, str) else min(each),
)
def test_bad_input(arguments: dict[str, Any], message: str) -> None:
    usual = {"mechanism": m.DiscreteLaplace(1), "pairs": [(0, 1)], "claim": dp.pure(1), "samples": 400}
    with pytest.raises(dp.ParameterError, match=message):
        check(**{**usual, **arguments})


def test_the_curve_of_gaussian_noise_is_traced_and_never_crossed() -> None:
    """All points lie on or above the true curve (at 1 − 1e-9), and close to it all the way."""
    verdict = check(noisy(m.Gaussian(1)), [(0, 1)], dp.mu(1), samples=200_000, confidence=SURE)
    for alpha, beta in verdict.tradeoff:
        assert dp.mu(1).tradeoff(alpha) <= beta <= dp.mu(1).tradeoff(alpha) + 0.05
    assert len(verdict.tradeoff) >= 6
    assert 0.9 * verdict.claimed < verdict.gaussian_epsilon <= verdict.claimed


def test_a_leak_of_delta_alone_is_shown_as_one() -> None:
    """The truth is told on a hundredth of the runs, and nothing else ever: ε at that δ is 0."""
    rng = np.random.default_rng()

    def rarely(value: int, size: int) -> list[int]:
        return (value * (rng.random(size) < 0.01)).astype(int).tolist()

    verdict = check(batched(rarely), [(0, 1)], dp.approx(1, "0.01"), samples=400_000, confidence=SURE)
    assert not verdict.violated
    assert verdict.epsilon_lower == 0
    assert 0.006 < verdict.delta_lower <= 0.01
    assert verdict.witness is not None
    assert check(batched(rarely), [(0, 1)], dp.approx(1, "0.005"), samples=400_000, confidence=SURE).violated


def test_a_mechanism_that_changes_its_input_is_refused() -> None:
    """Its first output would be of other data than its second, and an audit of the rest would show nothing."""

    def last(data: list[int]) -> int | None:
        data.sort()
        return data.pop() if data else None

    with pytest.raises(dp.ParameterError, match="changed its input in place"):
        check(last, [([1, 2, 3], [1, 2, 9])], dp.pure(1), samples=400)


def test_what_is_certified_beyond_the_claim_refutes_it() -> None:
    """No bound in a verdict is above the claim unless it says so: over runs just above the claim, in every unit."""
    for claim, mechanism in (
        (dp.mu("0.8"), m.Gaussian(1)),
        (dp.rho("0.36"), m.Gaussian(1)),
        (dp.pure("0.97"), m.DiscreteLaplace(1)),
    ):
        for _ in range(12):
            verdict = check(noisy(mechanism), [(0, 1)], claim, samples=6_000)
            _, claimed, certified = verdict.nearest
            assert verdict.violated == (certified > claimed) or verdict.epsilon_lower > verdict.claimed


@pytest.mark.parametrize(
    "claim",
    [
        dp.rho("0.5", "0.05"),
        pytest.param(dp.rho("0.5", "0.05") + dp.gaussian(1), marks=pytest.mark.soak),
        dp.approx(1, "0.05"),
    ],
)
def test_a_claim_that_holds_beside_a_delta_has_a_nearest_unit(claim: dp.Loss) -> None:
    verdict = check(noisy(m.DiscreteLaplace(2)), [(0, 1)], claim, samples=6_000)
    unit, claimed, certified = verdict.nearest
    assert unit in ("epsilon", "delta", "rho")
    assert 0 < certified < claimed
