"""What may be called in an expression of a loss: constructors, methods, and nodes in square brackets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import ParameterError
from discreet.privacy.losses import _constructors as make
from discreet.privacy.losses._base import GroupLoss, Loss, SumLoss
from discreet.privacy.losses._leaves import ApproxLoss, BoundedRangeLoss, MuLoss, PureLoss, RhoLoss, TradeoffLoss
from discreet.privacy.losses._tradeoff import tradeoff
from discreet.privacy.losses._validation import LEAST, MOST
from discreet.privacy.losses._validation import delta as checked_delta
from discreet.rational import Number

__all__ = ["CONSTRUCTORS", "METHODS", "NODES", "NODE_METHODS", "Root"]

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Root:
    """The square root of a number, which need not be rational."""

    square: Fraction


def _pure(epsilon: Number) -> Loss:
    return make.pure(epsilon) if epsilon != 0 else PureLoss(_ZERO)


def _approx(epsilon: Number, delta: Number) -> Loss:
    return make.approx(epsilon, delta) if epsilon != 0 else ApproxLoss(_ZERO, checked_delta(delta))


def _rho(rho: Number, delta: Number = 0) -> Loss:
    return make.rho(rho, delta) if rho != 0 else RhoLoss(_ZERO, checked_delta(delta))


def _mu(mu: Number | Root, delta: Number = 0) -> Loss:
    if not isinstance(mu, Root):
        return make.mu(mu, delta) if mu != 0 else MuLoss(_ZERO, checked_delta(delta))
    if not LEAST * LEAST <= mu.square <= MOST * MOST:
        raise ParameterError("mu must be between 1e-100 and 1e100")
    return MuLoss(mu.square, checked_delta(delta))


def _bounded_range(epsilon: Number) -> Loss:
    return make.bounded_range(epsilon) if epsilon != 0 else BoundedRangeLoss(_ZERO)


def _sum(losses: list[Loss]) -> Loss:
    if not losses:
        raise ParameterError("sum takes one loss or more")
    total = losses[0]
    for loss in losses[1:]:
        total = total + loss
    return total


CONSTRUCTORS: dict[str, Callable[..., Loss]] = {
    "approx": _approx,
    "bounded_range": _bounded_range,
    "discrete_gaussian": make.discrete_gaussian,
    "discrete_laplace": make.discrete_laplace,
    "gaussian": make.gaussian,
    "laplace": make.laplace,
    "mu": _mu,
    "nonadaptive": make.nonadaptive,
    "pure": _pure,
    "randomized_response": make.randomized_response,
    "rdp": make.rdp,
    "rho": _rho,
    "sum": _sum,
    "tradeoff": tradeoff,
}
METHODS: dict[str, Callable[..., Loss]] = {
    "group": Loss.group,
    "parallel": Loss.parallel,
    "sampled": Loss.sampled,
    "shuffled": Loss.shuffled,
    "under": Loss.under,
}


def _pure_node(epsilon: int | Fraction) -> Loss:
    return PureLoss(Fraction(epsilon))


def _approx_node(epsilon: int | Fraction, delta: int | Fraction) -> Loss:
    return ApproxLoss(Fraction(epsilon), Fraction(delta))


def _rho_node(rho: int | Fraction, delta: int | Fraction = 0) -> Loss:
    return RhoLoss(Fraction(rho), Fraction(delta))


def _mu_node(mu: int | Fraction | Root, delta: int | Fraction = 0) -> Loss:
    return MuLoss(mu.square if isinstance(mu, Root) else Fraction(mu) ** 2, Fraction(delta))


def _bounded_range_node(epsilon: int | Fraction) -> Loss:
    return BoundedRangeLoss(Fraction(epsilon))


def _sum_node(losses: list[Loss]) -> Loss:
    return SumLoss(tuple(losses))


def _tradeoff_node(f: list[tuple[int | Fraction, int | Fraction]]) -> Loss:
    return TradeoffLoss(tuple((Fraction(alpha), Fraction(beta)) for alpha, beta in f))


def _group_node(self: Loss, k: int) -> Loss:
    return GroupLoss(k, self)


NODES: dict[str, Callable[..., Loss]] = {
    "approx": _approx_node,
    "bounded_range": _bounded_range_node,
    "mu": _mu_node,
    "pure": _pure_node,
    "rho": _rho_node,
    "sum": _sum_node,
    "tradeoff": _tradeoff_node,
}
"""What square brackets after a name build: nodes with whatever their own ranges allow."""

NODE_METHODS: dict[str, Callable[..., Loss]] = {"group": _group_node}
