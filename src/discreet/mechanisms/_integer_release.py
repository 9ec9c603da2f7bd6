"""What mechanisms that release integers take and give back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, overload

from numpy.typing import NDArray

from discreet.mechanisms._integers import in_shape

__all__ = ["IntegerRelease"]


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
