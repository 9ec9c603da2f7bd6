"""Verify the loss of a model from its certificate alone: what each step loses, by what a row adds to it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.errors import LedgerError, ParameterError
from discreet.learn._inputs import Inputs
from discreet.learn._steps import step_loss, steps_from_json
from discreet.learn.algorithms import algorithm_from_json
from discreet.privacy import Loss, in_currency, parts
from discreet.release import check_within, stated_in

__all__ = ["recompute_model_loss", "verify_model_loss"]

_MOST_ROWS = 1_000_000
_MOST_ENTRIES = 10_000


def recompute_model_loss(certificate: Mapping[str, Any]) -> Loss:
    """The sum of what the steps lose, in the currency of the fit. Raises `LedgerError` for what cannot be followed."""
    try:
        return _lost(certificate)
    except (ParameterError, KeyError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise LedgerError("the certificate of this model cannot be followed: it is malformed") from None


def verify_model_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where the steps lose more than is stated."""
    check_within("all steps together", recompute_model_loss(certificate), stated_in(certificate))


def _lost(certificate: Mapping[str, Any]) -> Loss:
    rows, relation, currency = certificate["rows_per_unit"], certificate["relation"], certificate["currency"]
    if type(rows) is not int or not 1 <= rows <= _MOST_ROWS or relation not in ("add_remove", "substitute"):
        raise ValueError
    algorithm, inputs = algorithm_from_json(certificate["algorithm"]), Inputs.from_json(certificate["inputs"])
    algorithm.check(inputs)
    steps = steps_from_json(certificate["steps"])
    if len(steps) > _MOST_ENTRIES:
        raise ValueError
    total = Fraction(0)
    for step, times in steps:
        norms = algorithm.row_norms(inputs, step.name).of_unit(rows, relation)
        total += times * parts(in_currency(step_loss(step, norms), currency))[0]
    return algorithm.loss_of(total, certificate)
