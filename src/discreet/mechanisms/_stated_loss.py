"""What any mechanism says that it costs, with or without a sensitivity."""

from __future__ import annotations

from inspect import signature
from typing import Any

from discreet.errors import ParameterError
from discreet.privacy import Loss

__all__ = ["stated_loss"]


def stated_loss(mechanism: Any, sensitivity: Any) -> Loss:
    """What its `loss` says, given a sensitivity that is not `None`.

    Raises `ParameterError` if it has no `loss`, if the sensitivity is missing or one too many, or for what is no loss.
    """
    told, kind = getattr(mechanism, "loss", None), type(mechanism).__name__
    if not callable(told) or not callable(getattr(mechanism, "release", None)):
        raise ParameterError(
            f"{kind} is no mechanism: it needs loss() and release(value), as those of discreet.mechanisms have"
        )
    takes = signature(told).parameters.values()
    if sensitivity is None and any(each.default is each.empty for each in takes):
        raise ParameterError(
            f"say how far neighbours' values are apart, which the loss of {kind} depends on: for example sensitivity=1"
        )
    if sensitivity is not None and not takes:
        raise ParameterError(f"{kind} holds its own sensitivity; leave sensitivity= out")
    loss = told() if sensitivity is None else told(sensitivity)
    if not isinstance(loss, Loss):
        raise ParameterError(f"loss() of a mechanism must be a loss, got {type(loss).__name__}")
    return loss
