"""A mechanism made again from the parameters that its certificate tells, to ask it once more what it costs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from inspect import signature
from typing import Any, cast

from discreet.errors import LedgerError, ParameterError
from discreet.mechanisms._parameters import home, told
from discreet.mechanisms._question import stated_loss, wrong_relation
from discreet.privacy import ApproxLoss, Loss, from_json
from discreet.rational import rational

__all__ = ["mechanism_earned"]

_PACKAGES = ("discreet.mechanisms", "discreet.sensitivity")
_UNSEEN = "function"
"""The parameter that says what a mechanism asks of a sample or a chunk; what it costs does not depend on it."""


class _Foreign(Exception):
    """A class that discreet did not bring, so that nothing is known of it; never leaves this module."""


def mechanism_earned(certificate: Mapping[str, Any]) -> Loss | str:
    """What the mechanism of a certificate says that it costs; or, in words, why nobody but its author can tell.

    Only mechanisms and statistics that ship with discreet are made again, by their names in its own packages: no code
    is loaded that a certificate names. Costs nothing. Raises `LedgerError` if the mechanism cannot have the parameters
    that are stated, or is for neighbours by another relation than the certificate's.
    """
    said = certificate.get("mechanism")
    try:
        known = _without_functions(said)
        made = _made(known)
        if told(made, named=True) != known:
            made = _made(_by_default(known))
        if told(made, named=True) != known:
            raise ValueError
        loss = stated_loss(made, _made(certificate.get("sensitivity")))
    except _Foreign as foreign:
        return f"{foreign} does not ship with discreet, so what it costs is its author's word"
    except (ParameterError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError):
        raise LedgerError(
            f"the loss does not follow: {_name(said)} cannot have the parameters that are stated together"
        ) from None
    other = wrong_relation(made, loss, certificate.get("relation"))
    if other is not None:
        raise LedgerError(f"the mechanism is for neighbours by {other}, and the certificate states another relation")
    return loss


def _made(said: object) -> Any:
    """The inverse of `told`."""
    match said:
        case None | bool() | int() | str():
            return said
        case list():
            return tuple(_made(each) for each in cast("list[object]", said))
        case {"float": str(text), **rest} if not rest:
            return float(text)
        case {"number": str(text), **rest} if not rest:
            return rational(text, "a parameter")
        case {"kind": str(), **_rest}:
            return from_json(said)
        case {"is": str(name), **rest}:
            return _built(name, cast("Mapping[str, object]", rest))
        case _:
            raise ValueError


def _built(name: str, parameters: Mapping[str, object]) -> Any:
    found = _shipped().get(name)
    if found is None:
        raise _Foreign(name[:200])
    if set(parameters) != {each.name for each in fields(found)}:
        raise ValueError
    takes = signature(found).parameters
    values: dict[str, Any] = {each: len if each == _UNSEEN else _made(value) for each, value in parameters.items()}
    if "spend" in takes and "spend" not in values:
        values["spend"] = ApproxLoss(values["epsilon"], values["delta"])
    return found(**{each: value for each, value in values.items() if each in takes})


def _without_functions(said: object) -> object:
    """The same, with one function in place of all."""
    match said:
        case list():
            return [_without_functions(each) for each in cast("list[object]", said)]
        case dict():
            parts = cast("dict[str, object]", said)
            return {k: home(len) if k == _UNSEEN else _without_functions(each) for k, each in parts.items()}
        case _:
            return said


def _by_default(said: object) -> object:
    """The same with a smooth sensitivity's own β, for which its rate may be another than for that β if it is given."""
    return {**cast("dict[str, object]", said), "beta": None} if isinstance(said, dict) and "beta" in said else said


def _shipped() -> Mapping[str, Any]:
    """The dataclasses that discreet has for mechanisms and statistics, by where they are."""
    public = [getattr(sys.modules[package], name) for package in _PACKAGES for name in sys.modules[package].__all__]
    return {home(each): each for each in public if isinstance(each, type) and is_dataclass(each)}


def _name(said: object) -> str:
    match said:
        case {"is": str(name), **_rest}:
            return name.rpartition(".")[2][:100]
        case _:
            return "the mechanism"
