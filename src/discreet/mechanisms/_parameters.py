"""A mechanism's public parameters as plain JSON, and back for those that ship with discreet."""

from __future__ import annotations

import re
import sys
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError
from discreet.privacy import Loss, to_json

__all__ = ["home", "told"]

_CERTIFIED_IN = {"CountDistinct": "_categories", "Mode": "_categories", "Norms": "_aggregates", "Sum": "_mean"}
"""The modules that certificates name, where they are not called as the class is."""


def told(value: Any, *, named: bool) -> Any:
    """A public parameter as plain JSON, with nothing lost that tells two mechanisms apart.

    Raises `ParameterError` for what does not tell what it is, if it is `named`; without a name only its class is told.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return {"float": repr(value)}
        case Fraction():
            return {"number": str(value)}
        case tuple() | list():
            return [told(item, named=named) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case Loss():
            return to_json(value)
        case _ if _is_found_by_name(value):
            return home(value)
        case _ if is_dataclass(value):
            parts = {each.name: told(getattr(value, each.name), named=named) for each in fields(value)}
            return {"is": home(type(value)), **parts}
        case _ if not named:
            return {"is": home(type(value))}
        case _:
            raise ParameterError(
                f"under a name this could be taken for another mechanism, because a {type(value).__name__} does "
                "not tell what it is; leave the name out, or take functions that are defined at the top of a "
                "module, and mechanisms and statistics that are dataclasses"
            )


def home(named: Any) -> str:
    """The name of a class or a function in a certificate: the module that defines it, and its name there.

    A class of discreet keeps the module that the first certificates named, wherever it is defined today: certificates
    and releases that are stored must be found again.
    """
    module, name = named.__module__, named.__qualname__
    package = ".".join(module.split(".")[:2])
    if isinstance(named, type) and package in ("discreet.mechanisms", "discreet.sensitivity"):
        words = re.findall(r"[A-Z][a-z0-9]*", name)
        module = f"{package}.{_CERTIFIED_IN.get(name, '_' + '_'.join(words).lower())}"
    return f"{module}.{name}"


def _is_found_by_name(value: Any) -> bool:
    """Whether it is a function or a class at the top of a module: its name says which."""
    name = getattr(value, "__qualname__", None)
    return isinstance(name, str) and getattr(sys.modules.get(value.__module__), name, None) is value
