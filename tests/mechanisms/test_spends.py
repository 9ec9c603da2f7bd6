"""A spend is a budget that is accepted: a loss that happens to be small is not read as one by its upper bound."""

from __future__ import annotations

from inspect import signature

import pytest

import discreet as dp
from discreet import mechanisms as m
from discreet.errors import ParameterError
from discreet.mechanisms.examples import examples

NOT_BUDGETS = [
    dp.pure(1).shuffled(10_000),
    dp.pure(1).sampled("0.01"),
    dp.gaussian(1),
    dp.approx(1, 1e-6).sampled("0.5"),
    dp.laplace(1),
]

TAKERS = {example.name: example.calibrate for example in examples() if example.calibrate is not None}


def test_every_mechanism_that_takes_a_spend_is_here() -> None:
    found = {
        name
        for name in m.__all__
        for kind in [getattr(m, name)]
        if hasattr(kind, "release")
        and (hasattr(kind, "calibrate") or "spend" in signature(kind).parameters)
        and name != "Mechanism"
    }
    assert found == set(TAKERS)


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize("spend", NOT_BUDGETS, ids=str)
def test_only_a_budget_can_be_spent(taker: str, spend: dp.Loss) -> None:
    with pytest.raises(ParameterError, match="state a budget or a spend in one currency"):
        TAKERS[taker](spend)
