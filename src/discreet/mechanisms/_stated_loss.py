"""The loss that a mechanism states, and for which neighbours it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import Any

from discreet.errors import ParameterError
from discreet.privacy import Loss, Relation

__all__ = ["stated_loss", "wrong_relation"]


def stated_loss(mechanism: Any, sensitivity: Any) -> Loss:
    """The loss that a mechanism states, for a sensitivity unless it is None.

    Raises `ParameterError` if it has no `loss`, if a sensitivity is missing or not wanted, or for what is no loss.
    """
    loss_of, kind = getattr(mechanism, "loss", None), type(mechanism).__name__
    if not callable(loss_of) or not callable(getattr(mechanism, "release", None)):
        raise ParameterError(
            f"{kind} is no mechanism: it needs loss() and release(value), as those of discreet.mechanisms have"
        )
    takes = signature(loss_of).parameters.values()
    if sensitivity is None and any(each.default is each.empty for each in takes):
        raise ParameterError(
            f"say how far neighbours' values are apart, which the loss of {kind} depends on: for example sensitivity=1"
        )
    if sensitivity is not None and not takes:
        raise ParameterError(f"{kind} holds its own sensitivity; leave sensitivity= out")
    loss = loss_of() if sensitivity is None else loss_of(sensitivity)
    if not isinstance(loss, Loss):
        raise ParameterError(f"loss() of a mechanism must be a loss, got {type(loss).__name__}")
    return loss


def wrong_relation(mechanism: Any, loss: Loss, relation: object) -> Relation | None:
    """The neighbour relation that a mechanism's loss is for, if it is another one than `relation`; None if it is not.

    A loss or a mechanism may name its relation. One that takes utilities or counts as `monotone` is for add/remove: a
    person who comes moves all of them up, one who is replaced moves some up and others down.
    """
    named: list[Relation | None] = [loss.relation, getattr(mechanism, "relation", None)]
    if any(_is_monotone(mechanism)):
        named.append("add_remove")
    return next((each for each in named if each is not None and each != relation), None)


def _is_monotone(mechanism: Any) -> Iterator[bool]:
    """Of a mechanism and those that it is made of."""
    yield bool(getattr(mechanism, "monotone", False))
    if is_dataclass(mechanism) and not isinstance(mechanism, type):
        for each in fields(mechanism):
            yield from _is_monotone(getattr(mechanism, each.name))
