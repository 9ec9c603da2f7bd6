"""What every additive mechanism can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, overload

from numpy.typing import NDArray

from discreet.privacy import Loss
from discreet.rational import Number
from discreet.sensitivity import Norms

__all__ = ["Mechanism"]


class Mechanism(Protocol):
    """Noise added to integers, with its loss. Implementations are frozen dataclasses without further state."""

    def loss(self, sensitivity: Number | Norms) -> Loss:
        """What one release costs when neighbours' values are at most `sensitivity` apart."""
        ...

    @overload
    def release(self, value: int) -> int: ...
    @overload
    def release(self, value: NDArray[Any]) -> NDArray[Any]: ...
    @overload
    def release(self, value: Sequence[int]) -> list[int]: ...
    def release(self, value: int | Sequence[int] | NDArray[Any]) -> int | list[int] | NDArray[Any]:
        """The value with noise, in the shape it came in, as Python ints. Not charged to any budget."""
        ...

    def error(self, level: Number = 0.95) -> int:
        """How far the released number is from the value at most, with probability `level`."""
        ...

    @property
    def std(self) -> float:
        """The standard deviation of the noise."""
        ...
