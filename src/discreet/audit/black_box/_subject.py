"""The subject of an audit: anything that makes an output from data."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from discreet.audit.black_box._columns import leaves
from discreet.errors import ParameterError

__all__ = ["Batched", "Column", "Draws", "Outputs", "batched", "drawn", "draws", "numbers_in", "subject", "text_of"]


@runtime_checkable
class Draws(Protocol):
    """Makes many independent outputs at once."""

    def draw(self, data: Any, size: int) -> Sequence[Any]:
        """`size` independent outputs on the data."""
        ...


@dataclass(frozen=True, slots=True)
class Batched:
    """A function of data and size, as something to audit. Made by `batched`."""

    function: Callable[[Any, int], Sequence[Any]]

    def draw(self, data: Any, size: int) -> Sequence[Any]:
        """`size` independent outputs on the data."""
        return self.function(data, size)


@dataclass(frozen=True, slots=True)
class _OneByOne:
    """A mechanism that is asked once for each output; an exception that it raises is an output."""

    mechanism: Callable[[Any], Any]

    def draw(self, data: Any, size: int) -> list[Any]:
        return [self._once(data) for _ in range(size)]

    def _once(self, data: Any) -> Any:
        try:
            return self.mechanism(data)
        except Exception as error:  # noqa: BLE001 (whatever an analyst would see)
            return error.with_traceback(None)


def batched(function: Callable[[Any, int], Sequence[Any]]) -> Batched:
    """A mechanism that makes many outputs at once: `function(data, size)` returns `size` independent ones.

    A list, or an array whose first axis counts the outputs. The auditor believes that they are independent: noise that
    is shared between them would be taken for noise that never varies. Exceptions come through; return those that an
    analyst would see as outputs.

    >>> from discreet.mechanisms import DiscreteLaplace
    >>> noisy = batched(lambda count, size: DiscreteLaplace(1).release([count] * size))
    >>> len(noisy.draw(5, 100))
    100
    """
    return Batched(function)


def subject(mechanism: Any) -> Draws:
    """The mechanism as something to draw from: an object with `draw`, or with `release`, or any callable.

    Raises `ParameterError` for anything else.
    """
    if isinstance(mechanism, Draws):
        return mechanism
    function = getattr(mechanism, "release", mechanism)
    if not callable(function):
        raise ParameterError(
            "a mechanism is a function of the data, an object with release(data), or one with draw(data, size); "
            f"got {type(mechanism).__name__}"
        )
    return _OneByOne(cast("Callable[[Any], Any]", function))


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
    numbers: dict[str, list[Any]] = {}
    for row, output in enumerate(outputs):
        for within, name, value in leaves(output):
            place = within + name
            if isinstance(value, str | bytes | bool | np.bool_) or value is None or name.startswith(" "):
                continue
            if place not in numbers:
                if len(numbers) >= 4 * _MOST_COLUMNS:
                    continue
                numbers[place] = [None] * len(outputs)
            numbers[place][row] = value
    return numbers


def text_of(output: object) -> str:
    """All of an output as text that is equal for equal outputs; addresses in memory are left out.

    >>> text_of((1, None)) == text_of((1, None)), text_of(ValueError("at 0x7f00aa"))
    (True, 'output error ValueError; output error text ValueError: at 0x…')
    """
    parts = (
        f"{within}{name} {value!r}" if not isinstance(value, str) else f"{within}{name} {value}"
        for within, name, value in leaves(output)
        if name not in (" length", " type", " keys") and not name.startswith(" number ")
    )
    return _ADDRESS.sub("0x…", "; ".join(parts))
