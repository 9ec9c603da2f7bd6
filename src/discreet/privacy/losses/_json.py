"""Losses as JSON."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import cast

from discreet.errors import ParameterError
from discreet.privacy.losses._base import (
    GroupLoss,
    Loss,
    ParallelLoss,
    SampledLoss,
    ShuffledLoss,
    SubstitutedLoss,
    SumLoss,
    TimesLoss,
)
from discreet.privacy.losses._leaves import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteGaussianLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    MuLoss,
    NonAdaptiveLoss,
    PureLoss,
    RandomizedResponseLoss,
    RdpLoss,
    RhoLoss,
    TradeoffLoss,
)
from discreet.rational import rational

__all__ = ["from_json", "kind_of", "to_json"]

_KINDS: dict[str, tuple[type[Loss], tuple[str, ...]]] = {
    "pure": (PureLoss, ("epsilon",)),
    "approx": (ApproxLoss, ("epsilon", "delta")),
    "rho": (RhoLoss, ("rho", "delta")),
    "mu": (MuLoss, ("mu_squared", "delta")),
    "gaussian": (GaussianLoss, ("noise",)),
    "laplace": (LaplaceLoss, ("scale",)),
    "discrete_laplace": (DiscreteLaplaceLoss, ("scale", "sensitivity")),
    "discrete_gaussian": (DiscreteGaussianLoss, ("sigma", "sensitivity")),
    "randomized_response": (RandomizedResponseLoss, ("p", "k")),
    "bounded_range": (BoundedRangeLoss, ("epsilon",)),
    "nonadaptive": (NonAdaptiveLoss, ("count", "epsilon")),
    "sampled": (SampledLoss, ("rate", "scheme", "term")),
    "shuffled": (ShuffledLoss, ("n", "term")),
    "group": (GroupLoss, ("k", "term")),
    "substituted": (SubstitutedLoss, ("term",)),
    "times": (TimesLoss, ("count", "term")),
    "sum": (SumLoss, ("terms",)),
    "parallel": (ParallelLoss, ("terms", "relation")),
    "rdp": (RdpLoss, ("orders", "values")),
    "tradeoff": (TradeoffLoss, ("points",)),
}
"""The name of each node in JSON and of its fields, in the order of the node's own."""

_KIND_OF = {node: (kind, names) for kind, (node, names) in _KINDS.items()}


def to_json(loss: Loss) -> dict[str, object]:
    """A node as plain JSON; numbers are exact text such as ``"1/10"``.

    >>> from discreet.privacy import pure
    >>> to_json(pure(0.1))
    {'kind': 'pure', 'epsilon': '1/10'}
    """
    if type(loss) not in _KIND_OF:
        raise ParameterError(f"{type(loss).__name__} is not a loss that discreet knows")
    kind, names = _KIND_OF[type(loss)]
    values = (getattr(loss, name) for name in type(loss).__match_args__)  # pyright: ignore[reportAttributeAccessIssue]
    return {"kind": kind, **{name: _value_to_json(value) for name, value in zip(names, values, strict=False)}}


def kind_of(node: type[Loss]) -> str:
    """The name of a node class in JSON, which its constructor has too; of a foreign class its own name."""
    return _KIND_OF[node][0] if node in _KIND_OF else node.__name__


def _value_to_json(value: object) -> object:
    match value:
        case Loss():
            return to_json(value)
        case Fraction():
            return str(value)
        case tuple():
            return [_value_to_json(each) for each in cast("tuple[object, ...]", value)]
        case _:
            return value


def from_json(data: object) -> Loss:
    """The inverse of `to_json`; raises `ParameterError` on anything else."""
    try:
        return _node(data)
    except RecursionError:
        raise ParameterError("this privacy loss is nested too deeply to be read") from None


def _node(data: object) -> Loss:
    if not isinstance(data, dict):
        raise _not_a_loss()
    fields = cast("dict[object, object]", data)
    kind = fields.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS or set(fields) != {"kind", *_KINDS[kind][1]}:
        raise _not_a_loss()
    node, names = _KINDS[kind]
    loss = node(*(_READERS[name](fields[name]) for name in names))
    _ = loss.relation  # refuses a sample of a loss that is valid for other neighbours
    return loss


def _not_a_loss() -> ParameterError:
    return ParameterError("this is not a privacy loss written by discreet")


def _fraction(text: object) -> Fraction:
    if not isinstance(text, str):
        raise _not_a_loss()
    return rational(text, "a privacy loss")


def _unchecked(value: object) -> object:
    return value  # the node checks it


def _list(value: object) -> list[object]:
    if not isinstance(value, list):
        raise _not_a_loss()
    return cast("list[object]", value)


def _fractions(value: object) -> tuple[Fraction, ...]:
    return tuple(_fraction(each) for each in _list(value))


_READERS: dict[str, Callable[[object], object]] = {
    **dict.fromkeys(
        ("epsilon", "delta", "rho", "mu_squared", "noise", "scale", "sigma", "p", "rate"),
        cast("Callable[[object], object]", _fraction),
    ),
    **dict.fromkeys(("sensitivity", "k", "n", "count", "scheme", "relation"), _unchecked),
    "term": _node,
    "terms": lambda value: tuple(_node(each) for each in _list(value)),
    "orders": _fractions,
    "values": _fractions,
    "points": lambda value: tuple(_fractions(each) for each in _list(value)),
}
