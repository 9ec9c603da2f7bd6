"""The kind of release that overlapping groups are, and its loss from its certificate alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

from discreet.census.details._layout import group_norms
from discreet.census.details._release import DetailTables
from discreet.errors import LedgerError
from discreet.prices import additive_from_json, price_as_loss
from discreet.privacy import Loss, in_currency, parts
from discreet.release import ReleaseKind, check_within, refuse_malformed, register, stated_in, stated_neighbours

__all__ = ["DETAIL_KIND"]

_MOST_MEASUREMENTS = 1_000
_MOST_GROUPS = 1_000
_STAGES = ["totals", "detail"]


@refuse_malformed("release of overlapping groups")
def _recompute(certificate: Mapping[str, Any]) -> Loss:
    """The sum of what the stages lose at all levels: one person is in so many groups in each of them."""
    (rows, relation), currency = stated_neighbours(certificate), certificate["currency"]
    groups, measured = certificate["groups_per_row"], cast("list[dict[str, Any]]", certificate["measured"])
    if type(groups) is not int or not 1 <= groups <= _MOST_GROUPS:
        raise LedgerError("the certificate states no number of groups that one person may be in")
    if currency not in ("pure", "rho", "mu") or not 0 < len(measured) <= _MOST_MEASUREMENTS:
        raise LedgerError("the certificate of these groups states no measurements in a currency that is known")
    stages: dict[str, list[str]] = {}
    total = Fraction(0)
    norms = group_norms(groups, rows, relation)
    for each in measured:
        stages.setdefault(str(each["level"]), []).append(each["stage"])
        noise = additive_from_json({name: value for name, value in each.items() if name not in ("level", "stage")})
        total += parts(in_currency(noise.loss(norms), currency))[0]
    if any(each != _STAGES for each in stages.values()):
        raise LedgerError("a level of these groups is not measured once for totals and once for detail")
    return price_as_loss(currency, total)


def _verify(certificate: Mapping[str, Any]) -> None:
    check_within("both stages at all levels together", _recompute(certificate), stated_in(certificate))


DETAIL_KIND = register(ReleaseKind("census_detail", DetailTables.from_bytes, DetailTables.digests, _recompute, _verify))
