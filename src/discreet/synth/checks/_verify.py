"""Verify the loss of a check from its certificate alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.prices import additive_from_json, price_as_loss
from discreet.privacy import Loss, in_currency, parts
from discreet.release import check_within, refuse_malformed, stated_in, stated_neighbours
from discreet.synth.checks._norms import count_norms, distance_norms, score_norms

__all__ = ["recompute_check_loss", "verify_check_loss"]

_MOST_SETS, _MOST_GRID = 1_000_000, 2**32
_MOST_STEPS = 5


@refuse_malformed("check")
def recompute_check_loss(certificate: Mapping[str, Any]) -> Loss:
    """The sum of what the steps lose, in the currency of the check. Raises `LedgerError` for what is malformed."""
    currency, steps = certificate["currency"], certificate["steps"]
    rows, relation = stated_neighbours(certificate)
    if not isinstance(steps, list) or not 0 < len(steps) <= _MOST_STEPS:
        raise ValueError
    total = Fraction(0)
    for step in steps:
        match step:
            case {"rows": str(), **noise}:
                norms = count_norms(rows, relation)
            case {"distance": 1 | 2 | 3, "sets": sets, "grid": grid, **noise}:
                norms = distance_norms(rows, relation, _integer(sets, _MOST_SETS), _integer(grid, _MOST_GRID))
            case {"scores": int(), **noise}:
                norms = score_norms(rows, relation)
            case _:
                raise ValueError
        total += parts(in_currency(additive_from_json(noise).loss(norms), currency))[0]
    return price_as_loss(currency, total)


def verify_check_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where the steps lose more than is stated."""
    check_within("all steps together", recompute_check_loss(certificate), stated_in(certificate))


def _integer(number: object, most: int) -> int:
    if type(number) is not int or not 1 <= number <= most:
        raise ValueError
    return number
