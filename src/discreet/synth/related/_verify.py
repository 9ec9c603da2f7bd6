"""Verify the loss of synthetic tables from their certificate alone: part by part, as that of one table."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

from discreet.errors import LedgerError
from discreet.privacy import Loss, MuLoss, PureLoss, RhoLoss, in_currency, parts
from discreet.release import check_within, stated_in
from discreet.synth._verify import recompute_table_loss

__all__ = ["recompute_tables_loss", "verify_tables_loss"]


def recompute_tables_loss(certificate: Mapping[str, Any]) -> Loss:
    """The sum of what all parts lose, in the currency of the fit. Raises `LedgerError` for what cannot be followed."""
    listed, currency = certificate.get("parts"), certificate.get("currency")
    if not isinstance(listed, list) or not listed or currency not in ("pure", "rho", "mu"):
        raise LedgerError("the certificate of these synthetic tables states no parts in a currency that is known")
    total = Fraction(0)
    for part in cast("list[object]", listed):
        if not isinstance(part, dict):
            raise LedgerError("the certificate of these synthetic tables cannot be followed: it is malformed")
        stated = {
            **cast("dict[str, Any]", part),
            "currency": currency,
            "keys": [],
            "relation": certificate.get("relation"),
        }
        total += parts(in_currency(recompute_table_loss(stated), currency))[0]
    match currency:
        case "pure":
            return PureLoss(total)
        case "rho":
            return RhoLoss(total, Fraction(0))
        case _:
            return MuLoss(total, Fraction(0))


def verify_tables_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where the parts lose more than is stated."""
    check_within("all parts together", recompute_tables_loss(certificate), stated_in(certificate))
