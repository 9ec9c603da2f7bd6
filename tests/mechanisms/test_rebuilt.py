"""Mechanisms are made again from their certificates, and asked what they cost."""

from __future__ import annotations

import copy
import inspect
import json
import statistics
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

import discreet as dp
from discreet import mechanisms
from discreet.errors import LedgerError
from discreet.mechanisms import (
    AboveThreshold,
    BoundedLaplace,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    GlobalSensitivity,
    Laplace,
    MostFrequent,
    OnGrid,
    PartitionSelection,
    PermuteAndFlip,
    ProposeTestRelease,
    Quantiles,
    RandomizedResponse,
    ReportNoisyMax,
    SampleAndAggregate,
    Sampled,
    Shuffled,
    SmoothSensitivity,
    Staircase,
    ThresholdedCounts,
    ToeplitzCounter,
    TopK,
    TreeCounter,
    TruncatedLaplace,
)
from discreet.policy import Policy, load_policy
from discreet.release import MechanismQuestion, PreparedMechanism, Terms, mechanism_loss
from discreet.sensitivity import Mode, Norms

POLICY = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int"}}}}})
REPLACED = POLICY.model_copy(update={"relation": "substitute"})
SMALL = dp.approx(1, "1e-6")
CASES: list[tuple[Any, Any, str]] = [
    (AboveThreshold(10, 2, 1), None, "pure"),
    (BoundedLaplace.calibrate(dp.pure(1), 1, bounds=(0, 10)), 1, "pure"),
    (DiscreteGaussian(10), Norms(3, 5), "rho"),
    (DiscreteLaplace("0.7"), Norms(3, 5), "pure"),
    (DiscreteLaplace(4), 1, "pure"),
    (Exponential(1, 1), None, "rho"),
    (Gaussian(10), 2, "mu"),
    (GlobalSensitivity("mean", bounds=(0, 100), spend=dp.rho(1)), None, "rho"),
    (Laplace(3), 2.5, "pure"),
    (MostFrequent.calibrate(dp.pure(2), mode=Mode(("no", "a.b"))), None, "pure"),
    (OnGrid(DiscreteLaplace(10), step="0.25", bounds=(0, 10), entries=3), 1, "pure"),
    (PartitionSelection(1, "1e-6", 3), None, "approx"),
    (PermuteAndFlip(1, 1), None, "pure"),
    (ProposeTestRelease("median", bound="0.001", bounds=(0, 1), spend=SMALL), None, "approx"),
    (Quantiles(["1/4", "1/2", "3/4"], (0, 100), 1, step=1, method="joint"), None, "rho"),
    (ReportNoisyMax.calibrate(dp.pure(1), 1), None, "pure"),
    (SampleAndAggregate(lambda rows: 1, chunks=100, bounds=(0, 1), spend=dp.rho(1)), None, "rho"),
    (SampleAndAggregate(statistics.fmean, chunks=9, bounds=(0, 1), spend=dp.pure(1)), None, "pure"),
    (Sampled(DiscreteLaplace(1), "0.1", len), 1, "pure"),
    (SmoothSensitivity("median", bounds=(0, 1), spend=SMALL), None, "approx"),
    (SmoothSensitivity("median", bounds=(0, 1), spend=SMALL, beta="0.001"), None, "approx"),
    (Staircase.calibrate(dp.pure(1), 1), 1, "pure"),
    (ThresholdedCounts.calibrate(SMALL), None, "approx"),
    (ToeplitzCounter.calibrate(dp.rho(1), 1, steps=64), 1, "rho"),
    (TopK(3, 1, Norms(3, 5)), None, "rho"),
    (TreeCounter(64, 100), 1, "pure"),
    (TruncatedLaplace.calibrate(SMALL, 1), 1, "approx"),
]
OF_A_CROWD = [(RandomizedResponse("0.75"), None, "pure"), (Shuffled(RandomizedResponse("0.75"), 10_000), None, "pure")]
PAIRED = {"DiscreteLaplace": "scale", "DiscreteGaussian": "sigma", "Gaussian": "sigma", "Laplace": "scale"}


def certificate(mechanism: Any, sensitivity: Any, currency: str, policy: Policy = POLICY) -> dict[str, Any]:
    return json.loads(json.dumps(prepared(mechanism, sensitivity, currency, policy).statement(1)))


def prepared(
    mechanism: Any, sensitivity: Any, currency: str, policy: Policy = POLICY, name: str | None = None
) -> PreparedMechanism:
    return MechanismQuestion(mechanism, 1, sensitivity, name=name).prepare(Terms(policy, currency, lambda _: None))


def names(case: tuple[Any, Any, str]) -> str:
    return type(case[0]).__name__


@pytest.mark.parametrize("case", CASES, ids=names)
def test_what_ships_is_made_again(case: tuple[Any, Any, str]) -> None:
    mechanism, sensitivity, currency = case
    earned = mechanism_loss(certificate(mechanism, sensitivity, currency))
    assert earned == (mechanism.loss() if sensitivity is None else mechanism.loss(sensitivity))


def test_nothing_that_ships_is_left_out() -> None:
    shipped = [getattr(mechanisms, name) for name in mechanisms.__all__]
    kinds = {each.__name__ for each in shipped if inspect.isclass(each) and hasattr(each, "loss")}
    tried = {names(case) for case in [*CASES, *OF_A_CROWD]}
    assert kinds - tried == {"Mechanism"}
    for case in OF_A_CROWD:
        assert mechanism_loss(certificate(*case, policy=REPLACED)) == case[0].loss()


@pytest.mark.parametrize("case", [case for case in CASES if names(case) in PAIRED], ids=names)
def test_less_noise_would_cost_more(case: tuple[Any, Any, str]) -> None:
    told = certificate(*case)
    place = told["mechanism"][PAIRED[names(case)]]
    place["number"] = str(Fraction(place["number"]) * Fraction(99, 100))
    earned = mechanism_loss(told)
    assert isinstance(earned, dp.Loss)
    assert not earned.fits(prepared(*case).loss)


def test_parameters_that_contradict_one_another_are_refused() -> None:
    smooth = certificate(SmoothSensitivity("median", bounds=(0, 1), spend=SMALL), None, "approx")
    noisy = certificate(GlobalSensitivity("sum", bounds=(0, 9), spend=dp.pure(1)), None, "pure")
    for told, path in ((smooth, ("rate",)), (smooth, ("step",)), (noisy, ("noise", "scale")), (noisy, ("step",))):
        other: Any = copy.deepcopy(told)
        at = other["mechanism"]
        for name in path:
            at = at[name]
        at["number"] = str(Fraction(at["number"]) * Fraction(101, 100))
        with pytest.raises(LedgerError, match="together"):
            mechanism_loss(other)


@dataclass(frozen=True)
class Own:
    """Somebody's mechanism."""

    scale: int = 1

    def loss(self) -> dp.Loss:
        return dp.pure(1)

    def release(self, value: Any) -> Any:
        return value


def test_what_does_not_ship_is_never_believed() -> None:
    found = mechanism_loss(certificate(Own(), None, "pure"))
    assert isinstance(found, str) and "Own" in found and "author" in found
    wrapped = mechanism_loss(certificate(Sampled(Own(), "0.1", len), None, "pure"))
    assert isinstance(wrapped, str) and "Own" in wrapped


def test_no_code_that_a_certificate_names_is_loaded() -> None:
    for name in ("os.system", "builtins.eval", "subprocess.Popen", "discreet.session.Session", "discreet.errors.x", ""):
        for said in ({"is": name}, {"is": name, "args": "true"}, [{"is": name}]):
            try:
                found = mechanism_loss({"mechanism": said, "sensitivity": None, "relation": "add_remove"})
            except LedgerError:
                continue
            assert isinstance(found, str)
    assert isinstance(mechanism_loss({"mechanism": {"is": "discreet.mechanisms._mechanism_release.X"}}), str)


def test_another_relation_is_refused() -> None:
    told = certificate(Quantiles("0.5", (0, 1), 1), None, "pure")
    with pytest.raises(LedgerError, match="another relation"):
        mechanism_loss({**told, "relation": "substitute"})


def test_hostile_parameters_are_refused_in_time() -> None:
    started = time.process_time()
    wild: list[Any] = [
        None,
        True,
        -1,
        0,
        10**300,
        "x",
        [],
        {},
        {"number": "1e3999"},
        {"number": "1/0"},
        {"float": "nan"},
    ]
    wild += [{"number": "1e3999"}, {"number": "1/0"}, {"float": "nan"}]
    wild += [{"is": "discreet.sensitivity._aggregates.Norms", "l1": -1, "l2_squared": 0, "linf": 0}, {"kind": "pure"}]
    for case in CASES:
        told = certificate(*case)
        for name in [each for each in told["mechanism"] if each != "is"]:
            for value in wild:
                other = {**told, "mechanism": {**told["mechanism"], name: value}}
                try:
                    mechanism_loss(other)
                except LedgerError:
                    continue
    assert time.process_time() - started < 20


def test_a_question_is_known_by_its_hash_and_a_value_by_its_digest() -> None:
    asked = prepared(DiscreteLaplace(4), 1, "pure", name="it")
    one, other = (asked.statement(value) for value in (1, 2))
    assert one["plan"] == other["plan"] == asked.hash
    assert one["answer"] != other["answer"]
    assert prepared(DiscreteLaplace(4), 1, "pure", name="else").statement(1)["plan"] != one["plan"]
