"""Many outputs of a mechanism on each of two inputs, with the numbers in them by place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit._leaves import leaves
from discreet.audit._subject import Draws

__all__ = ["Column", "Outputs", "drawn", "draws", "numbers_in", "text_of"]

Column = tuple[str, list[Any], list[Any]]
"""A place in the outputs, what is there on the first input, and on the second; None where there is no number."""

_MOST_COLUMNS = 6
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}")


@dataclass(frozen=True, slots=True)
class Outputs:
    """first, second: independent outputs on each input. columns: the numbers in them."""

    first: list[Any]
    second: list[Any]
    columns: list[Column]


def drawn(mechanism: Draws, pair: tuple[Any, Any], size: int) -> Outputs:
    """`size` outputs on each input of the pair."""
    first, second = (draws(mechanism, data, size) for data in pair)
    one, other = numbers_in(first), numbers_in(second)
    names = list(dict.fromkeys((*one, *other)))[:_MOST_COLUMNS]
    nothing: list[Any] = [None] * size
    return Outputs(first, second, [(name, one.get(name, nothing), other.get(name, nothing)) for name in names])


def draws(mechanism: Draws, data: Any, size: int) -> list[Any]:
    """`size` outputs as a list."""
    return list(mechanism.draw(data, size))


def numbers_in(outputs: Sequence[Any]) -> dict[str, list[Any]]:
    """By place, the number that each output has there, or None; lengths are left out.

    >>> numbers_in([1, 2.5]), numbers_in([(1, "a"), (None, "b")])
    ({'output': [1, 2.5]}, {'output[0]': [1, None]})
    """
    found: dict[str, list[Any]] = {}
    for row, output in enumerate(outputs):
        for within, name, value in leaves(output):
            place = within + name
            if isinstance(value, str | bytes | bool | np.bool_) or value is None or name.startswith(" "):
                continue
            if place not in found:
                if len(found) >= 4 * _MOST_COLUMNS:
                    continue
                found[place] = [None] * len(outputs)
            found[place][row] = value
    return found


def text_of(output: object) -> str:
    """All of an output as text that is equal for equal outputs; addresses in memory are left out.

    >>> text_of((1, None)) == text_of((1, None)), text_of(ValueError("at 0x7f00aa"))
    (True, 'output error ValueError; output error text ValueError: at 0x…')
    """
    told = (
        f"{within}{name} {value!r}" if not isinstance(value, str) else f"{within}{name} {value}"
        for within, name, value in leaves(output)
        if name not in (" length", " type", " keys") and not name.startswith(" number ")
    )
    return _ADDRESS.sub("0x…", "; ".join(told))
