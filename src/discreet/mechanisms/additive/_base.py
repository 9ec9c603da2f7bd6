"""What every additive mechanism can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol, overload

from numpy.typing import NDArray

from discreet.mechanisms.numeric._integers import in_shape
from discreet.privacy import Loss
from discreet.rational import Number
from discreet.sensitivity import Norms

__all__ = ["IntegerRelease", "Mechanism"]


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


class IntegerRelease(ABC):
    """A mechanism for one integer, for many, and for arrays of them."""

    __slots__ = ()

    @abstractmethod
    def _released(self, values: list[int]) -> list[int]:
        """Each value with fresh noise."""

    @overload
    def release(self, value: int) -> int: ...
    @overload
    def release(self, value: NDArray[Any]) -> NDArray[Any]: ...
    @overload
    def release(self, value: Sequence[int]) -> list[int]: ...
    def release(self, value: int | Sequence[int] | NDArray[Any]) -> int | list[int] | NDArray[Any]:
        """The value with fresh noise on each entry: an int, a list, or an array of Python ints of the same shape.

        Integers may be of any size. Costs `loss(sensitivity)`, **and charges nobody**: this is the raw toolbox.
        Raises `ParameterError` for anything but whole numbers. Source: the proof note of the mechanism.

        >>> from discreet.mechanisms import DiscreteLaplace
        >>> DiscreteLaplace("1/1000").release([2**100, -7])
        [1267650600228229401496703205376, -7]
        """
        return in_shape(value, self._released)
