"""Rebuild a mechanism from its certificate and recompute its loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import Any, cast

from discreet import mechanisms, sensitivity
from discreet.errors import LedgerError, ParameterError
from discreet.mechanisms import stated_loss, wrong_relation
from discreet.privacy import ApproxLoss, Loss, from_json
from discreet.rational import rational
from discreet.release._parameters import certified_name, parameters_to_json
from discreet.release._stated import check_within, stated_in

__all__ = ["mechanism_loss", "recompute_mechanism_loss", "verify_mechanism_loss"]

_FUNCTION = "function"
"""The parameter that says what a mechanism asks of a sample or a chunk; its loss does not depend on it."""


class _Foreign(Exception):
    """A class that does not ship with discreet; never leaves this module."""


def mechanism_loss(certificate: Mapping[str, Any]) -> Loss | str:
    """The loss of the mechanism that a certificate names, or in words why only its author can know it.

    Only mechanisms and statistics that ship with discreet are rebuilt, by their names: no code is loaded that a
    certificate names. Costs nothing. Raises `LedgerError` if the mechanism cannot have the stated parameters, or is for
    neighbours by another relation than the certificate's.
    """
    stated = certificate.get("mechanism")
    try:
        known = _without_functions(stated)
        mechanism = _parameter(known)
        if parameters_to_json(mechanism, named=True) != known:
            mechanism = _parameter(_by_default(known))
        if parameters_to_json(mechanism, named=True) != known:
            raise ValueError
        loss = stated_loss(mechanism, _parameter(certificate.get("sensitivity")))
    except _Foreign as foreign:
        return f"{foreign} does not ship with discreet, so its loss rests on its author's word"
    except (ParameterError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise LedgerError(
            f"the loss does not follow: {_name(stated)} cannot have the parameters that are stated together"
        ) from None
    other = wrong_relation(mechanism, loss, certificate.get("relation"))
    if other is not None:
        raise LedgerError(f"the mechanism is for neighbours by {other}, and the certificate states another relation")
    return loss


def recompute_mechanism_loss(certificate: Mapping[str, Any]) -> Loss:
    """As `mechanism_loss`; raises `LedgerError` where only the author knows."""
    loss = mechanism_loss(certificate)
    if isinstance(loss, str):
        raise LedgerError(f"the loss cannot be recomputed: {loss}")
    return loss


def verify_mechanism_loss(certificate: Mapping[str, Any]) -> str | None:
    """None if the stated loss is at least that of the mechanism, else why that cannot be known.

    Raises `LedgerError` if it is less.
    """
    stated = stated_in(certificate)
    loss = mechanism_loss(certificate)
    if isinstance(loss, str):
        return loss
    check_within("the mechanism", loss, stated)
    return None


def _parameter(value: object) -> Any:
    """The inverse of `parameters_to_json`."""
    match value:
        case None | bool() | int() | str():
            return value
        case list():
            return tuple(_parameter(each) for each in cast("list[object]", value))
        case {"float": str(text), **rest} if not rest:
            return float(text)
        case {"number": str(text), **rest} if not rest:
            return rational(text, "a parameter")
        case {"kind": str(), **_rest}:
            return from_json(value)
        case {"is": str(name), **rest}:
            return _instance(name, cast("Mapping[str, object]", rest))
        case _:
            raise ValueError


def _instance(name: str, parameters: Mapping[str, object]) -> Any:
    shipped = _shipped().get(name)
    if shipped is None:
        raise _Foreign(name[:200])
    if set(parameters) != {each.name for each in fields(shipped)}:
        raise ValueError
    takes = signature(shipped).parameters
    values: dict[str, Any] = {
        each: len if each == _FUNCTION else _parameter(value) for each, value in parameters.items()
    }
    if "spend" in takes and "spend" not in values:
        values["spend"] = ApproxLoss(values["epsilon"], values["delta"])
    return shipped(**{each: value for each, value in values.items() if each in takes})


def _without_functions(value: object) -> object:
    """The same parameters with one function in place of all."""
    match value:
        case list():
            return [_without_functions(each) for each in cast("list[object]", value)]
        case dict():
            parts = cast("dict[str, object]", value)
            return {k: certified_name(len) if k == _FUNCTION else _without_functions(each) for k, each in parts.items()}
        case _:
            return value


def _by_default(value: object) -> object:
    """The same with a smooth sensitivity's own β, for which its rate may be another than for that β if it is given."""
    return {**cast("dict[str, object]", value), "beta": None} if isinstance(value, dict) and "beta" in value else value


def _shipped() -> Mapping[str, Any]:
    """The dataclasses that discreet has for mechanisms and statistics, by their names in certificates."""
    public = [getattr(package, name) for package in (mechanisms, sensitivity) for name in package.__all__]
    return {certified_name(each): each for each in public if isinstance(each, type) and is_dataclass(each)}


def _name(value: object) -> str:
    match value:
        case {"is": str(name), **_rest}:
            return name.rpartition(".")[2][:100]
        case _:
            return "the mechanism"
