"""A mechanism's public parameters as plain JSON, under names that never change."""

from __future__ import annotations

import re
import sys
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import ParameterError
from discreet.privacy import Loss, to_json

__all__ = ["certified_name", "parameters_to_json"]

_CERTIFIED_IN = {"CountDistinct": "_categories", "Mode": "_categories", "Norms": "_aggregates", "Sum": "_mean"}
"""The modules that certificates name, where that is not the class's name in snake case."""


def parameters_to_json(value: Any, *, named: bool) -> Any:
    """A public parameter as plain JSON, from which any two different mechanisms can be distinguished.

    Under a name (`named`), raises `ParameterError` for an object whose JSON would not identify it; without a name such
    an object is given by its class alone.
    """
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return {"float": repr(value)}
        case Fraction():
            return {"number": str(value)}
        case tuple() | list():
            return [parameters_to_json(item, named=named) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case Loss():
            return to_json(value)
        case _ if _is_found_by_name(value):
            return certified_name(value)
        case _ if is_dataclass(value):
            parts = {each.name: parameters_to_json(getattr(value, each.name), named=named) for each in fields(value)}
            return {"is": certified_name(type(value)), **parts}
        case _ if not named:
            return {"is": certified_name(type(value))}
        case _:
            raise ParameterError(
                f"a named release must identify its mechanism, and a {type(value).__name__} cannot be written as "
                "parameters; leave the name out, or use functions defined at the top of a module, and mechanisms and "
                "statistics that are dataclasses"
            )


def certified_name(named: Any) -> str:
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
