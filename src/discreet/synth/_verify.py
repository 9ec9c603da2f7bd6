"""Verify the loss of a synthetic table from its certificate alone: what each step loses, by the algebra that ran it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, cast

from discreet.errors import LedgerError, ParameterError
from discreet.prices import additive_from_json, choice_from_json, price_as_loss
from discreet.privacy import Loss, PureLoss, SumLoss, currency, from_json, in_currency, parts
from discreet.release import check_within, json_digest, stated_in, stated_neighbours
from discreet.sensitivity import Norms, bounded_sum
from discreet.synth._discovery import discovery_loss
from discreet.synth._scores import score_sensitivity

__all__ = ["certified_norms", "measured_digest", "recompute_table_loss", "step_costs", "verify_table_loss"]

_PARAMETERS = ("mechanism", "scale", "sigma")
_MALFORMED = "the certificate of this synthetic table cannot be followed: it is malformed"
_MOST_LOSSES = 1_000


def recompute_table_loss(certificate: Mapping[str, Any]) -> Loss:
    """The sum of what the steps lose, in the currency of the fit. Raises `LedgerError` for what cannot be followed."""
    try:
        keys, lost = _discovered(certificate), _lost(certificate)
        if not keys:
            return lost
        fit = from_json(certificate["fit_loss"])
        check_within("all steps together", lost, fit)
        return in_currency(SumLoss((PureLoss(Fraction(0)), *keys, fit)), currency(stated_in(certificate)))
    except (ParameterError, KeyError, ValueError, TypeError, ArithmeticError, RecursionError):
        raise LedgerError(_MALFORMED) from None


def verify_table_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError`, which names the part, where it loses more than is stated."""
    try:
        keys, fit = _discovered(certificate), from_json(certificate["fit_loss"])
        check_within("all steps together", _lost(certificate), fit)
        check_within("keys and steps together", SumLoss((PureLoss(Fraction(0)), *keys, fit)), stated_in(certificate))
    except (ParameterError, KeyError, ValueError, TypeError, ArithmeticError, RecursionError):
        raise LedgerError(_MALFORMED) from None


def _discovered(certificate: Mapping[str, Any]) -> list[Loss]:
    relation, keys = certificate["relation"], certificate["keys"]
    if relation not in ("add_remove", "substitute") or not isinstance(keys, list):
        raise LedgerError(_MALFORMED)
    return [discovery_loss(each, relation) for each in cast("list[object]", keys)]


def step_costs(certificate: Mapping[str, Any]) -> list[Fraction]:
    """What each step costs, in the currency of the fit. Raises `LedgerError` for what cannot be followed."""
    kind, steps = _stated_steps(certificate)
    norms = certified_norms(certificate)
    return [parts(in_currency(_step(each, norms), kind))[0] for each in steps]


def _stated_steps(certificate: Mapping[str, Any]) -> tuple[str, list[Any]]:
    kind, steps = certificate["currency"], certificate["steps"]
    if kind not in ("pure", "rho", "mu") or not isinstance(steps, list) or not steps:
        raise LedgerError("the certificate of this synthetic table states no steps in a currency that is known")
    return kind, cast("list[Any]", steps)


def _lost(certificate: Mapping[str, Any]) -> Loss:
    kind, steps = _stated_steps(certificate)
    norms = certified_norms(certificate)
    losses = Counter(_step(each, norms) for each in steps)
    if len(losses) > _MOST_LOSSES:
        raise LedgerError("the certificate of this synthetic table states more steps than a fit makes")
    total = _sum([count * parts(in_currency(loss, kind))[0] for loss, count in losses.items()])
    measured = [each for each in steps if "measured" in each]
    if certificate["measured"] != measured_digest([each["measured"] for each in measured], measured):
        raise LedgerError("the steps of the certificate are not those that were certified: they were changed")
    return price_as_loss(kind, total)


def _sum(costs: Sequence[Fraction]) -> Fraction:
    """The exact sum, in a tree: a stranger's fractions share no denominators, and those of the parts stay short."""
    while len(costs) > 1:
        costs = [sum(costs[i : i + 2], Fraction(0)) for i in range(0, len(costs), 2)]
    return costs[0]


def certified_norms(certificate: Mapping[str, Any]) -> Norms:
    """How far one person moves a marginal: `rows_per_unit` rows, each in one cell of it."""
    rows, relation = stated_neighbours(certificate)
    return bounded_sum(0, 1, rows=rows, relation=relation, grouped=True)


def _step(data: object, norms: Norms) -> Loss:
    match data:
        case {"measured": columns, **mechanism} if _are_names(columns):
            return additive_from_json(cast("dict[str, Any]", mechanism)).loss(norms)
        case {"chosen": columns, "candidates": int(), "weight": int(weight), **mechanism} if _are_names(columns):
            choice = choice_from_json(cast("dict[str, Any]", mechanism))
            if weight < 1 or choice.sensitivity != score_sensitivity(weight, norms):
                raise LedgerError("a choice states a sensitivity that is not what one person moves its scores by")
            return choice.loss()
        case _:
            raise LedgerError("a step of this synthetic table is not in the format of this version of discreet")


def _are_names(columns: object) -> bool:
    if not isinstance(columns, list) or not columns:
        return False
    names = cast("Sequence[object]", columns)
    return all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def measured_digest(columns: Sequence[Sequence[str]], mechanisms: Sequence[Mapping[str, Any]]) -> str:
    """SHA-256 of the names of the columns of all measured marginals, in order, with what noise each has."""
    plain = [
        [list(names), {name: value for name, value in each.items() if name in _PARAMETERS}]
        for names, each in zip(columns, mechanisms, strict=True)
    ]
    return json_digest(plain)
