"""Releases of graphs with the privacy of edges, verified from the certificate alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from discreet.errors import LedgerError
from discreet.graphs._losses import added_up
from discreet.graphs.edge._measurements import measurement_from_json
from discreet.graphs.edge._question import ARC_DEGREES_MOVED, DEGREES_MOVED
from discreet.graphs.edge._release import GraphCount, GraphDegrees, direction_in, is_directed
from discreet.prices import additive_from_json
from discreet.privacy import Loss, currency
from discreet.release import ReleaseKind, check_within, refuse_malformed, register, stated_in

__all__ = ["COUNT_KIND", "DEGREES_KIND", "check_edges", "total_loss"]

_MOST_MEASUREMENTS = 8


@refuse_malformed("count of a graph")
def recompute_count_loss(certificate: Mapping[str, Any]) -> Loss:
    """The sum of what the measurements lose for one edge. Raises `LedgerError` for what cannot be followed."""
    check_edges(certificate)
    measured, vertices, directed = certificate["measured"], certificate["vertices"], is_directed(certificate)
    if not isinstance(measured, list) or not 0 < len(cast("list[Any]", measured)) <= _MOST_MEASUREMENTS:
        raise LedgerError("the certificate of this graph states no measurements, or more than are ever made")
    losses: list[Loss] = []
    for each in cast("list[Any]", measured):
        if "vertices" in each and each["vertices"] != vertices:
            raise LedgerError("a measurement of this graph is of another number of vertices")
        losses.append(measurement_from_json(each, directed=directed).loss)
    return total_loss(losses, certificate)


@refuse_malformed("list of degrees")
def recompute_degrees_loss(certificate: Mapping[str, Any]) -> Loss:
    """What the noise on the sorted degrees loses: an edge moves two of them by 1, and an arc one."""
    check_edges(certificate)
    moved = DEGREES_MOVED if direction_in(certificate) is None else ARC_DEGREES_MOVED
    return total_loss([additive_from_json(certificate["noise"]).loss(moved)], certificate)


def check_edges(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where a certificate does not say that one edge is protected."""
    if certificate["protects"] != "edge" or certificate["relation"] != "add_remove":
        raise LedgerError("the certificate of this graph does not say that one edge is protected, so no loss follows")


def total_loss(losses: list[Loss], certificate: Mapping[str, Any]) -> Loss:
    """The losses together, in the currency of what is stated."""
    kind = currency(stated_in(certificate))
    return added_up(losses, "pure" if kind == "approx" else kind)


def verify_count_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where the measurements lose more than is stated."""
    check_within("all measurements together", recompute_count_loss(certificate), stated_in(certificate))


def verify_degrees_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where the noise loses more than is stated."""
    check_within("the noise on all degrees", recompute_degrees_loss(certificate), stated_in(certificate))


COUNT_KIND = register(
    ReleaseKind("graph_count", GraphCount.from_bytes, GraphCount.digests, recompute_count_loss, verify_count_loss)
)
DEGREES_KIND = register(
    ReleaseKind(
        "graph_degrees", GraphDegrees.from_bytes, GraphDegrees.digests, recompute_degrees_loss, verify_degrees_loss
    )
)
