"""Mechanisms are made again from their certificates, and asked what they cost."""

from __future__ import annotations

import copy
import inspect
import json
import time
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

import discreet as dp
from discreet import mechanisms
from discreet.errors import LedgerError, ParameterError
from discreet.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    GlobalSensitivity,
    Laplace,
    OnGrid,
    Quantiles,
    SampleAndAggregate,
    Sampled,
    SmoothSensitivity,
    TopK,
    stated_loss,
    wrong_relation,
)
from discreet.mechanisms.examples import examples
from discreet.policy import Policy, load_policy
from discreet.release import MechanismQuestion, PreparedMechanism, Terms, mechanism_loss
from discreet.sensitivity import Norms

POLICY = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int"}}}}})
REPLACED = POLICY.model_copy(update={"relation": "substitute"})
SMALL = dp.approx(1, "1e-6")
Case = tuple[Any, Any, str, Policy]
"""A mechanism, how far neighbours' values are apart, the budget's currency and the policy."""


def case_of(mechanism: Any, sensitivity: Any) -> Case:
    """In the first currency, and for the first relation, in which the mechanism can be charged."""
    loss = stated_loss(mechanism, sensitivity)
    policy = POLICY if wrong_relation(mechanism, loss, "add_remove") is None else REPLACED
    for currency in ("pure", "approx", "rho", "mu"):
        with suppress(ParameterError):
            prepared(mechanism, sensitivity, currency, policy)
            return mechanism, sensitivity, currency, policy
    raise AssertionError(f"{mechanism} has a loss in no currency")


def certificate(mechanism: Any, sensitivity: Any, currency: str, policy: Policy = POLICY) -> dict[str, Any]:
    return json.loads(json.dumps(prepared(mechanism, sensitivity, currency, policy).statement(1)))


def prepared(
    mechanism: Any, sensitivity: Any, currency: str, policy: Policy = POLICY, name: str | None = None
) -> PreparedMechanism:
    return MechanismQuestion(mechanism, 1, sensitivity, name=name).prepare(Terms(policy, currency, lambda _: None))


def names(case: Case) -> str:
    return type(case[0]).__name__


SHOWN = [case_of(each.mechanism, each.sensitivity) for each in examples()]
CASES = [
    *SHOWN,
    *(case_of(each.mechanism, each.sensitivity) for example in examples() for each in example.settings),
    case_of(DiscreteGaussian(10), Norms(3, 5)),
    case_of(DiscreteLaplace("0.7"), Norms(3, 5)),
    case_of(Laplace(3), 2.5),
    case_of(OnGrid(DiscreteLaplace(10), step="0.25", bounds=(0, 10), entries=3), 1),
    case_of(SampleAndAggregate(lambda rows: 1, chunks=100, bounds=(0, 1), spend=dp.rho(1)), None),
    case_of(SmoothSensitivity("median", bounds=(0, 1), spend=SMALL, beta="0.001"), None),
    case_of(TopK(3, 1, Norms(3, 5)), None),
]
PAIRED = {"DiscreteLaplace": "scale", "DiscreteGaussian": "sigma", "Gaussian": "sigma", "Laplace": "scale"}


@pytest.mark.parametrize("case", CASES, ids=names)
def test_what_ships_is_made_again(case: Case) -> None:
    assert mechanism_loss(certificate(*case)) == stated_loss(case[0], case[1])


def test_nothing_that_ships_is_left_out() -> None:
    shipped = [getattr(mechanisms, name) for name in mechanisms.__all__]
    kinds = {each.__name__ for each in shipped if inspect.isclass(each) and hasattr(each, "loss")}
    assert kinds - {names(case) for case in CASES} == {"Mechanism"}


@pytest.mark.parametrize("case", [case for case in CASES if names(case) in PAIRED], ids=names)
def test_less_noise_would_cost_more(case: Case) -> None:
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
    for case in SHOWN:
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
