"""What is audited: anything that makes an output from data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

from discreet.errors import ParameterError

__all__ = ["Batched", "Draws", "batched", "subject"]


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
    found = getattr(mechanism, "release", mechanism)
    if not callable(found):
        raise ParameterError(
            "a mechanism is a function of the data, an object with release(data), or one with draw(data, size); "
            f"got {type(mechanism).__name__}"
        )
    return _OneByOne(cast("Callable[[Any], Any]", found))
