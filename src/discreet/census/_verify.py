"""Verify the loss of a publication from its certificate alone, by the algebra that ran it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

from discreet.errors import LedgerError
from discreet.prices import additive_from_json, price_as_loss
from discreet.privacy import Loss, in_currency, parts
from discreet.release import check_within, refuse_malformed, stated_in, stated_neighbours
from discreet.sensitivity import bounded_sum

__all__ = ["recompute_publication_loss", "verify_publication_loss"]

_MOST_MEASUREMENTS = 100_000


@refuse_malformed("publication of tables")
def recompute_publication_loss(certificate: Mapping[str, Any]) -> Loss:
    """The sum of what the measurements lose, in their currency. Raises `LedgerError` for what cannot be followed.

    One person has `rows_per_unit` rows of each universe, each in one cell of every table at every level.
    """
    currency = certificate["currency"]
    if currency not in ("pure", "rho", "mu"):
        raise LedgerError("the certificate of this publication states measurements in no currency that is known")
    others = [dict(each) for each in dict(certificate.get("universes", {})).values()]
    every = [certificate, *({**certificate, **each} for each in others)]
    if sum(len(each["measured"]) for each in every) > _MOST_MEASUREMENTS:
        raise LedgerError("the certificate of this publication states more measurements than one makes")
    return price_as_loss(currency, sum((_price(each, currency) for each in every), Fraction(0)))


def _price(stated: Mapping[str, Any], currency: str) -> Fraction:
    """What the measurements of one universe lose."""
    rows, relation = stated_neighbours(stated)
    norms, measured = bounded_sum(0, 1, rows=rows, relation=relation, grouped=True), stated["measured"]
    if not isinstance(measured, list) or not measured:
        raise LedgerError("the certificate of this publication states no measurements")
    noise = Counter(_noise(each) for each in cast("list[Any]", measured))
    return sum(
        (
            count * parts(in_currency(additive_from_json(dict(each)).loss(norms), currency))[0]
            for each, count in noise.items()
        ),
        Fraction(0),
    )


def _noise(data: Any) -> tuple[tuple[str, Any], ...]:
    named = {"level", "table"}
    if not all(isinstance(data[name], str) for name in named):
        raise LedgerError("a measurement of this publication names no level and table")
    return tuple(sorted((name, value) for name, value in data.items() if name not in named))


def verify_publication_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError`, which names the part, where it loses more than is stated."""
    check_within("all measurements together", recompute_publication_loss(certificate), stated_in(certificate))
