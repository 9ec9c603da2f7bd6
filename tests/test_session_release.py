"""Mechanisms through the front door: charged first, stored, repeated for free under a name."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import BudgetExceeded, LedgerError, ParameterError
from discreet.mechanisms import (
    AboveThreshold,
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gaussian,
    PartitionSelection,
    ProposeTestRelease,
    RandomizedResponse,
    Sampled,
    SmoothSensitivity,
)
from discreet.release import MechanismRelease
from discreet.session import Session

pytestmark = pytest.mark.usefixtures("one_database")

AGES = [0.1, 0.4, 0.6, 0.9] * 100


def opened(relation: str = "add_remove", ledger: Any = None, version: str = "1", **budget: Any) -> Session:
    policy = {
        "version": version,
        "relation": relation,
        "budget": budget or {"epsilon": 10},
        "tables": {"t": {"unit": "rows", "columns": {"x": {"type": "int", "bounds": [0, 9]}}}},
    }
    return dp.connect({"t": pa.table({"x": [1, 2, 3]})}, policy, ledger)


@pytest.mark.parametrize(
    ("mechanism", "value", "sensitivity", "charge"),
    [
        (DiscreteLaplace(4), 42, 1, dp.pure("1/4")),
        (DiscreteLaplace(4), np.arange(6).reshape(2, 3), 2, dp.pure("1/2")),
        (Exponential(1, 1), [0, 5, 1], None, dp.pure(1)),
        (AboveThreshold(10, 2, 1), [1, 50], None, dp.pure(2)),
        (SmoothSensitivity("median", bounds=(0, 1), spend=dp.pure(1), noise="student_t"), AGES, None, dp.pure(1)),
    ],
    ids=["number", "array", "choice", "threshold", "median"],
)
def test_what_is_charged_and_kept(mechanism, value, sensitivity, charge, tmp_path) -> None:
    path = tmp_path / "l"
    with opened(ledger=path) as session:
        first = session.release(mechanism, value, sensitivity=sensitivity, name="it")
        assert session.spent == charge == first.loss
        again = session.release(mechanism, value, sensitivity=sensitivity, name="it")
        assert session.spent == charge
    with opened(ledger=path) as session:
        later = session.release(mechanism, value, sensitivity=sensitivity, name="it")
        assert session.spent == charge
    for other in (again, later):
        assert type(other.value) is type(first.value)
        assert np.array_equal(np.asarray(other.value), np.asarray(first.value))
        assert other.certificate == first.certificate


def test_another_name_parameter_version_or_no_name_pays(tmp_path) -> None:
    path = tmp_path / "l"
    with opened(ledger=path) as session:
        session.release(DiscreteLaplace(10), 42, sensitivity=1, name="a")
        session.release(DiscreteLaplace(10), 42, sensitivity=1, name="b")
        session.release(DiscreteLaplace(5), 42, sensitivity=1, name="a")
        session.release(DiscreteLaplace(10), 42, sensitivity=2, name="a")
        session.release(DiscreteLaplace(10), 42, sensitivity=1)
        session.release(DiscreteLaplace(10), 42, sensitivity=1)
        assert session.spent == dp.pure("0.8")
    with opened(ledger=path, version="2") as session:
        session.release(DiscreteLaplace(10), 42, sensitivity=1, name="a")
        assert session.spent == dp.pure("0.9")


def test_the_charge_is_on_the_ledger_before_the_mechanism_runs() -> None:
    seen = []

    class Watches:
        def loss(self):
            return dp.pure(1)

        def release(self, value):
            seen.append(session.spent)
            return value

    with opened() as session:
        session.release(Watches(), 1)
    assert seen == [dp.pure(1)]


def test_a_sample_for_a_mechanism_with_its_own_sensitivity() -> None:
    choice = Sampled(Exponential(1, 1), "0.1", lambda rows: [len(rows), 0])
    with opened() as session:
        session.release(choice, [1, 2, 3])
        assert session.spent.epsilon() == pytest.approx(0.15856, abs=1e-5)
        with pytest.raises(ParameterError, match="sensitivity=1"):
            session.release(Sampled(DiscreteLaplace(1), "0.1", len), [1, 2, 3])


def test_a_failing_release_stays_spent_and_a_refused_one_does_not() -> None:
    with opened() as session:
        with pytest.raises(ParameterError, match="whole numbers"):
            session.release(DiscreteLaplace(1), float("nan"), sensitivity=1)
        assert session.spent == dp.pure(1)
        with pytest.raises(BudgetExceeded):
            session.release(DiscreteLaplace("1/10"), 1, sensitivity=1)
        with pytest.raises(ParameterError, match="sensitivity=1"):
            session.release(DiscreteLaplace(1), 1)
        with pytest.raises(ParameterError, match="leave sensitivity= out"):
            session.release(Exponential(1, 1), [1], sensitivity=1)
        with pytest.raises(ParameterError, match="no mechanism"):
            session.release(len, [1])  # pyright: ignore[reportArgumentType]
        assert session.spent == dp.pure(1)


def test_the_relation_of_the_policy_is_that_of_the_mechanism() -> None:
    median = {"bounds": (0, 1), "spend": dp.pure(1), "noise": "student_t"}
    for policy, other in (("add_remove", "substitute"), ("substitute", "add_remove")):
        with opened(policy) as session:
            with pytest.raises(ParameterError, match=f"neighbours by {policy}"):
                session.release(SmoothSensitivity("median", **median, relation=other), AGES)
            assert session.spent.epsilon() == 0
            session.release(SmoothSensitivity("median", **median, relation=policy), AGES)
            assert session.spent == dp.pure(1)
    reports = RandomizedResponse("3/4", 2)
    with opened() as session, pytest.raises(ParameterError, match="neighbours by add_remove"):
        session.release(reports, [0, 1])
    with opened("substitute") as session:
        session.release(reports, [0, 1])
        assert session.spent.epsilon() == pytest.approx(float(reports.loss().epsilon()), rel=1e-9)


def test_currencies() -> None:
    with opened(rho="1/2") as session:
        session.release(DiscreteGaussian(10), 3, sensitivity=1)
        assert session.spent == dp.rho("1/200")
    with opened(mu=1) as session:
        session.release(Gaussian(4), 3, sensitivity=2)
        assert session.spent == dp.mu("1/2")
    with opened(epsilon=2, delta="1e-4") as session:
        noise = Gaussian.calibrate(dp.approx(1, 1e-5), 1)
        with pytest.raises(ParameterError):
            session.release(noise, 3, sensitivity=1)
        with pytest.raises(ParameterError, match="no more than the spend"):
            session.release(noise, 3, sensitivity=1, spend=dp.approx("0.9", 1e-5))
        session.release(noise, 3, sensitivity=1, spend=dp.approx(1, 1e-5))
        assert session.spent == dp.approx(1, 1e-5)
        refused = session.release(
            ProposeTestRelease("median", bound="1e-3", bounds=(0, 1), spend=dp.approx("1/2", 1e-5)), [0, 1]
        )
        assert refused.value is None
        assert session.spent == dp.approx("3/2", 2e-5)


def test_errors_are_the_mechanisms_own() -> None:
    with opened() as session:
        release = session.release(DiscreteLaplace(1), 42, sensitivity=1)
        assert release.error(0.95) == DiscreteLaplace(1).error(0.95)
        with pytest.raises(ParameterError, match="needs candidates"):
            session.release(Exponential(1, 1), [1, 2]).error()
        smooth = SmoothSensitivity("median", bounds=(0, 1), spend=dp.pure(1), noise="student_t")
        with pytest.raises(ParameterError, match="depends on the data"):
            session.release(smooth, AGES).error()
        other = session.release(DiscreteLaplace(1), -700, sensitivity=1).certificate
        differ = {name for name, value in release.certificate.items() if other[name] != value}
        assert differ == {"answer", "position", "at", "signature"}


@pytest.mark.parametrize(
    "value",
    [7, -(2**5000), 2.5, -0.0, float("inf"), None, True, "a", [1, None, 2.5], np.array([True, False])],
    ids=["int", "long", "float", "zero", "infinity", "none", "bool", "text", "list", "bools"],
)
def test_bytes_restore_the_value(value) -> None:
    release = MechanismRelease(value, dp.pure(1), {"name": "x"}, DiscreteLaplace(1))
    restored = MechanismRelease.from_bytes(release.to_bytes(), release.mechanism)
    assert repr(restored.value) == repr(value)
    assert restored.loss == dp.pure(1)
    objects = np.array([[2**100, -1], [0, 5]], dtype=object)
    again = MechanismRelease.from_bytes(MechanismRelease(objects, dp.pure(1), {}, None).to_bytes(), None).value
    assert again.dtype == object and again.tolist() == objects.tolist()


@dataclass(frozen=True)
class Told:
    """A mechanism with any parameter."""

    parameter: Any

    def loss(self):
        return dp.pure("1/100")

    def release(self, value):
        return value


def test_a_name_is_for_mechanisms_that_can_be_told_apart() -> None:
    one, other = lambda x: x, lambda x: -x
    alike = [0.5, "0.5", Fraction(1, 2), 1, True, None, "None", [1], (1, "a"), len, np.mean, int, dp.pure(1), Told(1)]
    with opened() as session:
        for i, parameter in enumerate(alike):
            assert session.release(Told(parameter), i, name="n").value == i
        assert session.spent == dp.pure(Fraction(len(alike), 100))
        for parameter in (one, other, partial(max, "secret"), object(), {1: 2}):
            with pytest.raises(ParameterError, match="must identify its mechanism"):
                session.release(Told(parameter), 0, name="n")
            assert "secret" not in str(session.release(Told(parameter), 0).certificate)


def test_damaged_bytes_and_values_of_another_kind() -> None:
    for payload in (b"", b"[]", b"{}", b'{"format": 9}', b'{"format": 1, "value": {"x": 1}}'):
        with pytest.raises(LedgerError, match="damaged"):
            MechanismRelease.from_bytes(payload, None)
    with pytest.raises(ParameterError, match="gave back Fraction"):
        MechanismRelease(Fraction(1, 2), dp.pure(1), {}, None).to_bytes()


def test_private_keys_through_the_front_door() -> None:
    with opened(epsilon=2, delta="1e-3") as session:
        release = session.release(PartitionSelection(1, "1e-4"), np.array([0, 5000]))
        assert release.value.tolist() == [False, True]
