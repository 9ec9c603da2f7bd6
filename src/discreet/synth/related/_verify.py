"""Verify the loss of synthetic tables from their certificate alone: part by part, as that of one table."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.errors import LedgerError
from discreet.prices import price_as_loss
from discreet.privacy import Loss, in_currency, parts
from discreet.release import check_within, stated_in
from discreet.synth._verify import recompute_table_loss
from discreet.synth.related._release import digest_of_parts
from discreet.synth.related._stated import part_statements

__all__ = ["recompute_tables_loss", "verify_tables_loss"]


def recompute_tables_loss(certificate: Mapping[str, Any]) -> Loss:
    """The sum of what all parts lose, in the currency of the fit. Raises `LedgerError` for what cannot be followed."""
    statements = part_statements(certificate)
    currency = certificate["currency"]
    total = Fraction(0)
    for stated in statements:
        total += parts(in_currency(recompute_table_loss(stated), currency))[0]
    digests = [str(stated.get("measured")) for stated in statements]
    if certificate.get("measured") != digest_of_parts(digests):
        raise LedgerError("the parts of the certificate are not those that were certified: they were changed")
    return price_as_loss(currency, total)


def verify_tables_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where the parts lose more than is stated."""
    check_within("all parts together", recompute_tables_loss(certificate), stated_in(certificate))
