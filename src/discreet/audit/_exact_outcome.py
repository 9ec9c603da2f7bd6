"""One hashable key for each output that an observer can tell from others, and the text that shows it."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

__all__ = ["Raised", "key_of", "shown"]


@dataclass(frozen=True, slots=True)
class Raised:
    """The output of a run that ended in an exception: the name of its type."""

    name: str


def key_of(output: Any) -> Hashable:
    """A key that two outputs share only if they look alike: ``True``, ``1`` and ``1.0`` differ, as do 0.0 and −0.0.

    Whole numbers and texts, also NumPy's, are their own keys. What is neither a number, a text, a container, an array
    nor a table counts as its printed form, or as its attributes if it prints its address. Costs no privacy.

    >>> key_of(1) == key_of(True), key_of([1, 2]) == key_of([1, 2]), key_of(float("nan")) == key_of(float("nan"))
    (False, True, True)
    """
    kind = type(output)
    if kind is int or kind is str or output is None or kind is Raised:
        return cast("Hashable", output)
    if isinstance(output, np.generic):
        return key_of(output.item())
    if kind is bool:
        return ("bool", output)
    if kind is float:
        return ("float", "nan" if math.isnan(output) else repr(output))
    if isinstance(output, list | tuple):
        items = cast("list[Any]", output)
        return (kind.__name__, *map(key_of, items))
    if isinstance(output, Mapping):
        pairs = ((key_of(name), key_of(value)) for name, value in cast("Mapping[Any, Any]", output).items())
        return ("dict", *pairs)
    if isinstance(output, set | frozenset):
        return ("set", frozenset(map(key_of, cast("set[Any]", output))))
    if isinstance(output, np.ndarray):
        return ("array", output.shape, *map(key_of, cast("list[Any]", output.ravel().tolist())))
    for columns in ("to_pydict", "to_pylist", "to_dict"):
        if hasattr(output, columns):
            return (kind.__name__, key_of(getattr(output, columns)()))
    if kind.__repr__ is object.__repr__:  # it would print its address
        return (kind.__name__, key_of(getattr(output, "__dict__", {})))
    return (kind.__name__, repr(output))


def shown(key: Hashable) -> str:
    """The output with this key, as short text.

    >>> shown(key_of([True, None, 2.5])), shown(key_of(np.array([1, 2])))
    ('[True, None, 2.5]', 'array([1, 2])')
    """
    match key:
        case ("bool" | "float", value):
            return str(value)
        case ("list", *items):
            return f"[{', '.join(map(shown, items))}]"
        case ("tuple", *items):
            return f"({', '.join(map(shown, items))})"
        case ("set", frozenset(members)):
            return "{" + ", ".join(sorted(map(shown, members))) + "}"
        case ("dict", *pairs):
            told = (cast("tuple[Hashable, Hashable]", pair) for pair in pairs)
            return "{" + ", ".join(f"{shown(name)}: {shown(value)}" for name, value in told) + "}"
        case ("array", _, *items):
            return f"array([{', '.join(map(shown, items))}])"
        case (str(), str(text)):
            return text
        case (str(name), inner):
            return f"{name}({shown(cast('Hashable', inner))})"
        case Raised(name):
            return f"raises {name}"
        case other:
            return repr(other)
