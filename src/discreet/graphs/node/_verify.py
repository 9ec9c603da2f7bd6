"""Releases of graphs with the privacy of people, verified from the certificate alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import LedgerError
from discreet.graphs._losses import added_up
from discreet.graphs.node._count import largest_cap, norms_of
from discreet.graphs.node._degrees_release import NodePrivateDegrees
from discreet.graphs.node._distribution import sums_sensitivity
from discreet.graphs.node._release import NodePrivateCount, cap_in, choice_in, is_listed, resolution_of
from discreet.mechanisms import Gaussian
from discreet.prices import additive_from_json
from discreet.privacy import Loss, currency
from discreet.release import ReleaseKind, check_within, refuse_malformed, register, stated_in

__all__ = ["NODE_COUNT_KIND", "NODE_DEGREES_KIND"]


@refuse_malformed("count of a graph of people")
def recompute_count_loss(certificate: Mapping[str, Any]) -> Loss:
    """What the choice of the cap and the noise lose together. Raises `LedgerError` for what cannot be followed."""
    if is_listed(certificate) and certificate["statistic"] == "components":
        raise LedgerError("components of people who are listed in public are never released")
    cap = cap_in(certificate)
    _check_cap(cap, largest_cap(certificate["statistic"], certificate["max_degree"]), certificate)
    return _recomputed(certificate, resolution_of(certificate["statistic"]).sensitivity(cap))


@refuse_malformed("distribution of degrees of people")
def recompute_degrees_loss(certificate: Mapping[str, Any]) -> Loss:
    """What the choice of the cap and the noise on all sums lose together."""
    cap = cap_in(certificate)
    _check_cap(cap, certificate["max_degree"], certificate)
    return _recomputed(certificate, sums_sensitivity(cap, listed=is_listed(certificate)))


def _check_cap(cap: int, largest: int, certificate: Mapping[str, Any]) -> None:
    if not 1 <= cap <= largest or (certificate["cap_is"] == "public" and cap != largest):
        raise LedgerError("the cap in the certificate of this graph is none that its max_degree allows")


def _recomputed(certificate: Mapping[str, Any], sensitivity: int) -> Loss:
    if certificate["protects"] != "node" or certificate["relation"] != "add_remove":
        raise LedgerError("the certificate of this graph does not say that a person is protected, so no loss follows")
    noise, choice = additive_from_json(certificate["noise"]), choice_in(certificate)
    if certificate["cap_is"] != ("public" if choice is None else "bought"):
        raise LedgerError("the certificate of this graph does not say how its cap was chosen, so no loss follows")
    losses = [noise.loss(norms_of(sensitivity))]
    if choice is not None:
        if choice.sensitivity != 1:
            raise LedgerError("a cap is chosen by scores that a person moves by 1, and the certificate says otherwise")
        losses.append(choice.loss())
    stated = currency(stated_in(certificate))
    if stated == "approx":
        stated = "mu" if isinstance(noise, Gaussian) else "pure"
    return added_up(losses, stated)


def verify_count_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where choice and noise lose more than is stated."""
    check_within("the choice of the cap and the noise", recompute_count_loss(certificate), stated_in(certificate))


def verify_degrees_loss(certificate: Mapping[str, Any]) -> None:
    """Raise `LedgerError` where choice and noise lose more than is stated."""
    check_within("the choice of the cap and the noise", recompute_degrees_loss(certificate), stated_in(certificate))


NODE_COUNT_KIND = register(
    ReleaseKind(
        "graph_node_count",
        NodePrivateCount.from_bytes,
        NodePrivateCount.digests,
        recompute_count_loss,
        verify_count_loss,
    )
)
NODE_DEGREES_KIND = register(
    ReleaseKind(
        "graph_node_degrees",
        NodePrivateDegrees.from_bytes,
        NodePrivateDegrees.digests,
        recompute_degrees_loss,
        verify_degrees_loss,
    )
)
