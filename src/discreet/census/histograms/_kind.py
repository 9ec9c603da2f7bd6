"""The kind of release that a histogram is, and its loss from its certificate alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from discreet.census.histograms._measured import BLOCKS, FIRST_BLOCKS, PARTITIONED, factorization_norms, parts_cost
from discreet.census.histograms._release import Histogram
from discreet.errors import LedgerError
from discreet.marginals.strategies import COLUMN_NORM, Workload, factorized, longest_column
from discreet.prices import additive_from_json, price_as_loss
from discreet.privacy import Loss
from discreet.release import ReleaseKind, check_within, refuse_malformed, register, stated_in, stated_neighbours
from discreet.sensitivity import bounded_sum

__all__ = ["HISTOGRAM_KIND"]

_MOST_PARTS = 100


@refuse_malformed("histogram")
def _recompute(certificate: Mapping[str, Any]) -> Loss:
    """The sum of what the parts lose. A row is in one block of each width, or moves a factorisation by a column."""
    (rows, relation), currency = stated_neighbours(certificate), certificate["currency"]
    measured = cast("list[dict[str, Any]]", certificate["measured"])
    if currency not in ("pure", "rho", "mu") or not isinstance(measured, list) or not 0 < len(measured) <= _MOST_PARTS:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise LedgerError("the certificate of this histogram states no measurements in a currency that is known")
    norms = bounded_sum(0, 1, rows=rows, relation=relation, grouped=True)
    of_strategy = factorization_norms(rows, substitute=relation == "substitute")
    losses: list[tuple[str, Loss]] = []
    for each in measured:
        part = each["part"]
        if part not in (*PARTITIONED, "strategy") and not str(part).startswith((BLOCKS, FIRST_BLOCKS)):
            raise LedgerError("a measurement of this histogram is not one that this version of discreet makes")
        noise = additive_from_json({name: value for name, value in each.items() if name != "part"})
        losses.append((part, noise.loss(of_strategy if part == "strategy" else norms)))
    return price_as_loss(currency, parts_cost(losses, currency))


@refuse_malformed("histogram")
def _followed(certificate: Mapping[str, Any]) -> Loss:
    """The loss, if no column of a factorisation is longer than it takes it to be: the strategy is made again."""
    lost = _recompute(certificate)
    if any(each["part"] == "strategy" for each in certificate["measured"]):
        runs = certificate["runs"]
        ends = tuple((int(first), int(last)) for first, last in runs["queries"])
        strategy = factorized(Workload(certificate["workload"], int(runs["cells"]), ends))
        if longest_column(strategy.rows) > COLUMN_NORM**2:
            raise LedgerError("a column of the factorisation is longer than the loss of this histogram takes it to be")
    return lost


def _verify(certificate: Mapping[str, Any]) -> None:
    check_within("all measurements together", _followed(certificate), stated_in(certificate))


HISTOGRAM_KIND = register(ReleaseKind("census_histogram", Histogram.from_bytes, Histogram.digests, _recompute, _verify))
