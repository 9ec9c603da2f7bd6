"""Every mechanism answers the same questions in the same way: what it costs, how far it errs, what a spend buys."""

from __future__ import annotations

import inspect
from inspect import Parameter

import pytest

from discreet import mechanisms
from discreet.mechanisms.examples import examples

MECHANISMS = {
    name: kind
    for name in mechanisms.__all__
    if isinstance(kind := getattr(mechanisms, name), type) and hasattr(kind, "release")
}
SENSITIVITY_AT_RELEASE = {"Mechanism"} | {
    example.name for example in examples() if example.sensitivity is not None and example.name != "Sampled"
}
"""Mechanisms that take numbers as they are: their loss depends on how far neighbours' numbers are apart."""
KEYWORDS_OF_ERROR = {
    "AboveThreshold": ("queries",),
    "Exponential": ("candidates",),
    "GlobalSensitivity": ("records",),
    "PermuteAndFlip": ("candidates",),
    "Quantiles": ("records",),
    "RandomizedResponse": ("reports",),
    "ReportNoisyMax": ("candidates",),
    "TopK": ("candidates",),
}


def parameters(name: str, method: str) -> list[Parameter]:
    found = list(inspect.signature(getattr(MECHANISMS[name], method)).parameters.values())
    return found[1:] if found and found[0].name == "self" else found


def having(method: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("name", [name for name, kind in MECHANISMS.items() if hasattr(kind, method)])


def test_every_mechanism_is_looked_at() -> None:
    assert MECHANISMS.keys() > SENSITIVITY_AT_RELEASE | KEYWORDS_OF_ERROR.keys()
    assert set(mechanisms.__all__) - MECHANISMS.keys() == {
        "CountStream", "Proportions", "SmoothNoise", "ThresholdStream", "stated_loss", "wrong_relation",
    }  # fmt: skip


@having("release")
def test_a_release_takes_one_thing(name: str) -> None:
    data, *others = parameters(name, "release")
    assert data.default is Parameter.empty
    assert [each.name for each in others] == (["units"] if name == "Sampled" else [])


@having("loss")
def test_a_loss_takes_the_sensitivity_or_nothing(name: str) -> None:
    asked = parameters(name, "loss")
    if name == "Sampled":  # a mechanism of either kind is sampled
        assert [(each.name, each.default) for each in asked] == [("sensitivity", None)]
    else:
        assert [each.name for each in asked] == (["sensitivity"] if name in SENSITIVITY_AT_RELEASE else [])
        assert all(each.default is Parameter.empty for each in asked)


@having("error")
def test_an_error_takes_the_level_first_and_the_rest_by_keyword(name: str) -> None:
    level, *others = parameters(name, "error")
    assert (level.name, level.default, level.kind) == ("level", 0.95, Parameter.POSITIONAL_OR_KEYWORD)
    assert tuple(each.name for each in others) == KEYWORDS_OF_ERROR.get(name, ())
    assert all(each.kind is Parameter.KEYWORD_ONLY for each in others)


@having("std")
def test_a_standard_deviation_is_a_property(name: str) -> None:
    assert isinstance(inspect.getattr_static(MECHANISMS[name], "std"), property)


@having("calibrate")
def test_a_calibration_takes_the_spend_then_the_sensitivity_and_the_rest_by_keyword(name: str) -> None:
    asked = parameters(name, "calibrate")
    positional = [each.name for each in asked if each.kind is Parameter.POSITIONAL_OR_KEYWORD]
    assert positional == ["spend", "sensitivity"][: len(positional)]
    assert all(each.default is Parameter.empty for each in asked[: len(positional)])
    assert all(each.kind is Parameter.KEYWORD_ONLY for each in asked[len(positional) :])
    assert "sensitivity" not in [each.name for each in asked[len(positional) :]]
    assert "sensitivity" in positional or name not in SENSITIVITY_AT_RELEASE
