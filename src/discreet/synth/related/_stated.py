"""What a certificate of several tables states of each part, in the form of a certificate of one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from discreet.errors import LedgerError

__all__ = ["part_statements"]

_MOST_PARTS = 100


def part_statements(certificate: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A certificate for each part, whose spend is that of all. Raises `LedgerError` for one without parts."""
    listed, currency = certificate.get("parts"), certificate.get("currency")
    if not isinstance(listed, list) or not 0 < len(listed) <= _MOST_PARTS or currency not in ("pure", "rho", "mu"):
        raise LedgerError("the certificate of these synthetic tables states no parts in a currency that is known")
    shared = {
        "currency": currency,
        "keys": [],
        "relation": certificate.get("relation"),
        "fit_loss": certificate.get("loss"),
    }
    if not all(isinstance(part, dict) for part in cast("list[object]", listed)):
        raise LedgerError("the certificate of these synthetic tables cannot be followed: it is malformed")
    return [{**part, **shared} for part in cast("list[dict[str, Any]]", listed)]
