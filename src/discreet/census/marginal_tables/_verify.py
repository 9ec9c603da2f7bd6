"""The kind of release that marginals are: verified from the certificate alone, by the algebra that ran them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

from discreet.census.marginal_tables._measurement import measured_norms
from discreet.census.marginal_tables._tables import MarginalTables
from discreet.errors import LedgerError
from discreet.prices import additive_from_json, price_as_loss
from discreet.privacy import Loss, in_currency, parts
from discreet.release import ReleaseKind, check_within, refuse_malformed, register, stated_in, stated_neighbours

__all__ = ["MARGINALS_KIND", "recompute_marginals_loss", "verify_marginals_loss"]

_MOST_MEASUREMENTS = 2**20
_MOST_CELLS = 2**28


@refuse_malformed("set of marginals")
def recompute_marginals_loss(certificate: Mapping[str, Any]) -> Loss:
    """The sum of what the measurements lose, in their currency. Raises `LedgerError` for what cannot be followed.

    How far one person, of `rows_per_unit` rows, moves a measurement follows from the columns that it names and from how
    many cells each of these has.
    """
    currency, measured, form = certificate["currency"], certificate["measured"], certificate["form"]
    rows, relation = stated_neighbours(certificate)
    if currency not in ("pure", "rho", "mu") or form not in ("residuals", "cells"):
        raise LedgerError("the certificate of these marginals states no measurements in a currency that is known")
    if not isinstance(measured, list) or not 0 < len(cast("list[Any]", measured)) <= _MOST_MEASUREMENTS:
        raise LedgerError("the certificate of these marginals states no measurements, or more than are ever made")
    sizes = _sizes(certificate["sizes"], 2 if form == "residuals" else 1)
    total = Fraction(0)
    for (shape, noise), count in Counter(_step(each, sizes) for each in cast("list[Any]", measured)).items():
        lost = additive_from_json(dict(noise)).loss(measured_norms(form, shape, rows, relation))
        total += count * parts(in_currency(lost, currency))[0]
    return price_as_loss(currency, total)


def _sizes(stated: Any, least: int) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name, size in stated.items():
        if type(size) is not int or not 1 <= size <= _MOST_CELLS:
            raise LedgerError("the certificate of these marginals states a column without a number of cells")
        if size >= least:
            sizes[str(name)] = size
    return sizes


def _step(data: Any, sizes: Mapping[str, int]) -> tuple[tuple[int, ...], tuple[tuple[str, str], ...]]:
    """The sizes of the columns of a measurement, and its noise."""
    match data:
        case {"columns": list(names), **noise} if len(set(cast("list[str]", names))) == len(cast("list[str]", names)):
            shape = tuple(sorted(sizes[name] for name in cast("list[str]", names)))
            return shape, tuple(sorted((str(name), str(value)) for name, value in noise.items()))
        case _:
            raise LedgerError("a measurement of these marginals is not in the format of this version of discreet")


def verify_marginals_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError`, which names the part, where they lose more than is stated."""
    check_within("all measurements together", recompute_marginals_loss(certificate), stated_in(certificate))


MARGINALS_KIND = register(
    ReleaseKind(
        "marginals", MarginalTables.from_bytes, MarginalTables.digests, recompute_marginals_loss, verify_marginals_loss
    )
)
