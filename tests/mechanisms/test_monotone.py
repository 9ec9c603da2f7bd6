"""Monotone utilities are those of add/remove: every mechanism that takes them is refused under substitution."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet import mechanisms
from discreet.mechanisms import (
    AboveThreshold,
    Exponential,
    MostFrequent,
    PermuteAndFlip,
    ReportNoisyMax,
    Sampled,
    TopK,
)
from discreet.release import mechanism_loss
from discreet.sensitivity import Mode
from discreet.session import Session

pytestmark = pytest.mark.usefixtures("one_database")

UTILITIES = [0, 5, 1]
MADE: dict[str, Any] = {
    "AboveThreshold": lambda monotone: AboveThreshold(0, 1, 1, monotone=monotone),
    "Exponential": lambda monotone: Exponential(1, 1, monotone=monotone),
    "PermuteAndFlip": lambda monotone: PermuteAndFlip(1, 1, monotone=monotone),
    "ReportNoisyMax": lambda monotone: ReportNoisyMax(1, 1, monotone=monotone),
    "TopK": lambda monotone: TopK(2, "1/2", 1, monotone=monotone),
}
WITH_FLAG = [
    name
    for name in mechanisms.__all__
    if is_dataclass(kind := getattr(mechanisms, name)) and "monotone" in {each.name for each in fields(kind)}
]


def opened(relation: str) -> Session:
    columns = {"x": {"type": "int", "bounds": [0, 9]}}
    policy = {
        "version": "1", "relation": relation, "budget": {"epsilon": 10},
        "tables": {"t": {"unit": "rows", "columns": columns}},
    }  # fmt: skip
    return dp.connect({"t": pa.table({"x": [1, 2, 3]})}, policy)


def test_every_mechanism_with_the_flag_is_here() -> None:
    assert sorted(MADE) == WITH_FLAG


@pytest.mark.parametrize("name", WITH_FLAG)
def test_it_is_refused_under_substitution_alone(name: str) -> None:
    with opened("substitute") as session:
        with pytest.raises(
            dp.ParameterError, match=r"neighbours by substitute, .* is for add_remove; .*monotone=False"
        ):
            session.release(MADE[name](True), UTILITIES)
        assert session.spent.epsilon() == 0
        session.release(MADE[name](False), UTILITIES)
        assert session.spent == dp.pure(1)
    with opened("add_remove") as session:
        session.release(MADE[name](True), UTILITIES)
        session.release(MADE[name](False), UTILITIES)
        assert session.spent == dp.pure(2)


@pytest.mark.parametrize("name", WITH_FLAG)
def test_a_certificate_of_it_does_not_follow_under_substitution(name: str) -> None:
    with opened("add_remove") as session:
        certificate = dict(session.release(MADE[name](True), UTILITIES).certificate)
    assert mechanism_loss(certificate) == MADE[name](True).loss()
    with pytest.raises(dp.LedgerError, match="neighbours by add_remove"):
        mechanism_loss({**certificate, "relation": "substitute"})


@pytest.mark.parametrize(
    "mechanism",
    [
        MostFrequent.calibrate(dp.pure(1), mode=Mode(("a", "b"))),
        Sampled(Exponential(1, 1, monotone=True), "1/2", len),
    ],
)
def test_so_is_one_that_is_made_of_it(mechanism: Any) -> None:
    with opened("substitute") as session, pytest.raises(dp.ParameterError, match="neighbours by substitute"):
        session.release(mechanism, [])
