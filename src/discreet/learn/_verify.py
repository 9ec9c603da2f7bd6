"""Verify the loss of a model from its certificate alone: what each step loses, by what a row adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.learn._inputs import Inputs
from discreet.learn._steps import step_loss, steps_from_json
from discreet.learn.algorithms import algorithm_from_json
from discreet.privacy import Loss, in_currency, parts
from discreet.release import check_within, refuse_malformed, stated_in, stated_neighbours

__all__ = ["recompute_model_loss", "step_prices", "verify_model_loss"]

_MOST_ENTRIES = 10_000


@refuse_malformed("model")
def recompute_model_loss(certificate: Mapping[str, Any]) -> Loss:
    """The sum of what the steps lose, in the currency of the fit. Raises `LedgerError` for what cannot be followed."""
    total = sum(_prices(certificate), Fraction(0))
    return algorithm_from_json(certificate["algorithm"]).loss_of(total, certificate)


def verify_model_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where the steps lose more than is stated."""
    check_within("all steps together", recompute_model_loss(certificate), stated_in(certificate))


def step_prices(certificate: Mapping[str, Any]) -> list[Fraction]:
    """What each step loses, all of its times together, in the currency of the fit. Raises as `recompute_model_loss`."""
    recompute_model_loss(certificate)  # refuses what cannot be followed
    return _prices(certificate)


def _prices(certificate: Mapping[str, Any]) -> list[Fraction]:
    (rows, relation), currency = stated_neighbours(certificate), certificate["currency"]
    algorithm, inputs = algorithm_from_json(certificate["algorithm"]), Inputs.from_json(certificate["inputs"])
    algorithm.check(inputs)
    steps = steps_from_json(certificate["steps"])
    if len(steps) > _MOST_ENTRIES:
        raise ValueError
    prices: list[Fraction] = []
    for step, times in steps:
        norms = algorithm.row_norms(inputs, step.name).of_unit(rows, relation)
        prices.append(times * parts(in_currency(step_loss(step, norms), currency))[0])
    return prices
