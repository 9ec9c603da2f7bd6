"""Verify the loss of a synthetic table from its certificate alone: what each step loses, by the algebra that ran it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

from discreet.errors import LedgerError, ParameterError
from discreet.privacy import Loss, MuLoss, PureLoss, RhoLoss, in_currency, parts
from discreet.release import check_within, stated_in
from discreet.sensitivity import Norms, bounded_sum
from discreet.synth._noise import additive_from_json, choice_from_json

__all__ = ["certified_norms", "recompute_table_loss", "step_costs", "verify_table_loss"]

_MOST_ROWS = 1_000_000


def recompute_table_loss(certificate: Mapping[str, Any]) -> Loss:
    """The sum of what the steps lose, in the currency of the fit. Raises `LedgerError` for what cannot be followed."""
    try:
        return _lost(certificate)
    except (ParameterError, KeyError, ValueError, TypeError, ArithmeticError, RecursionError):
        raise LedgerError("the certificate of this synthetic table cannot be followed: it is malformed") from None


def verify_table_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where the steps lose more than is stated."""
    check_within("all steps together", recompute_table_loss(certificate), stated_in(certificate))


def step_costs(certificate: Mapping[str, Any]) -> list[Fraction]:
    """What each step costs, in the currency of the fit. Raises `LedgerError` for what cannot be followed."""
    currency, steps = certificate["currency"], certificate["steps"]
    if currency not in ("pure", "rho", "mu") or not isinstance(steps, list) or not steps:
        raise LedgerError("the certificate of this synthetic table states no steps in a currency that is known")
    norms = certified_norms(certificate)
    return [parts(in_currency(_step(each, norms), currency))[0] for each in cast("list[Any]", steps)]


def _lost(certificate: Mapping[str, Any]) -> Loss:
    total = sum(step_costs(certificate), Fraction(0))
    match certificate["currency"]:
        case "pure":
            return PureLoss(total)
        case "rho":
            return RhoLoss(total, Fraction(0))
        case _:
            return MuLoss(total, Fraction(0))


def certified_norms(certificate: Mapping[str, Any]) -> Norms:
    """How far one person moves a marginal: `rows_per_unit` rows, each in one cell of it."""
    rows, relation = certificate["rows_per_unit"], certificate["relation"]
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= _MOST_ROWS:
        raise LedgerError("the certificate states no number of rows that one person may have")
    if relation not in ("add_remove", "substitute"):
        raise LedgerError("the certificate names no relation of neighbours, so no loss follows")
    return bounded_sum(0, 1, rows=rows, relation=relation, grouped=True)


def _step(data: object, norms: Norms) -> Loss:
    match data:
        case {"measured": columns, **mechanism} if _are_names(columns):
            return additive_from_json(cast("dict[str, Any]", mechanism)).loss(norms)
        case {"chosen": columns, "candidates": int(), **mechanism} if _are_names(columns):
            choice = choice_from_json(cast("dict[str, Any]", mechanism))
            if choice.sensitivity < norms.l1 or choice.sensitivity % norms.l1:
                raise LedgerError("a choice states a sensitivity below what one person moves a score by")
            return choice.loss()
        case _:
            raise LedgerError("a step of this synthetic table is not in the format of this version of discreet")


def _are_names(columns: object) -> bool:
    if not isinstance(columns, list) or not columns:
        return False
    return all(isinstance(name, str) for name in cast("Sequence[object]", columns))
