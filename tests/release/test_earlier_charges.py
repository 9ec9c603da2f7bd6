"""Certificates in μ from when ε-bounded range was charged as ε-DP: they state more than is lost, and still verify."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest

import discreet as dp
from discreet.errors import LedgerError
from discreet.mechanisms import Exponential, Quantiles, ReportNoisyMax, TopK
from discreet.policy import load_policy
from discreet.privacy import MuLoss, as_mu, to_json
from discreet.release import MechanismQuestion, Terms, verify_loss

POLICY = load_policy({"version": "1", "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int"}}}}})
QUARTILES = Quantiles(["1/4", "1/2", "3/4"], (0, 100), 1, step=1)
JOINT = Quantiles(["1/4", "1/2", "3/4"], (0, 100), 1, step=1, method="joint")
EARLIER = [
    (Exponential(1, 1), [1]),
    (Exponential("1/1000", 3, monotone=True), ["1/1000"]),
    (ReportNoisyMax("0.3", 2, "gumbel"), ["0.3"]),
    (TopK(3, "0.5", 1), ["0.5"] * 3),
    (QUARTILES, [1, 1]),
    (JOINT, ["1/12", "11/12"]),
]
"""Mechanisms, and the pure ε of their parts."""


def squared(loss: dp.Loss) -> Fraction:
    pair = as_mu(loss)
    assert pair is not None
    return pair[0]


def stating(mechanism: Any, mu_squared: Fraction) -> dict[str, Any]:
    prepared = MechanismQuestion(mechanism, None).prepare(Terms(POLICY, "mu", lambda _: None))
    statement = json.loads(json.dumps(prepared.statement(1)))
    return {**statement, "loss": to_json(MuLoss(mu_squared, Fraction(0)))}


@pytest.mark.parametrize(("mechanism", "parts"), EARLIER)
def test_an_earlier_larger_charge_verifies(mechanism: Any, parts: list[Any]) -> None:
    earlier, now = sum(squared(dp.pure(each)) for each in parts), squared(mechanism.loss())
    assert earlier > 2 * now
    for stated in (earlier, now):
        assert verify_loss(stating(mechanism, Fraction(stated))) is None


@pytest.mark.parametrize(("mechanism", "parts"), EARLIER)
def test_less_than_is_lost_does_not(mechanism: Any, parts: list[Any]) -> None:
    stated = squared(mechanism.loss()) * (1 - Fraction(1, 10**9))
    with pytest.raises(LedgerError, match="costs more than it says"):
        verify_loss(stating(mechanism, stated))


def test_a_release_of_today_states_what_is_lost() -> None:
    for mechanism, _ in EARLIER:
        prepared = MechanismQuestion(mechanism, None).prepare(Terms(POLICY, "mu", lambda _: None))
        assert prepared.loss == MuLoss(squared(mechanism.loss()), Fraction(0))
