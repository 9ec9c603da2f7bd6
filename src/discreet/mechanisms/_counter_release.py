"""What continual counters take and give back when a whole stream is there at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from discreet.mechanisms._count_stream import CountStream

__all__ = ["CounterRelease"]


class CounterRelease(ABC):
    """A counter that starts streams."""

    __slots__ = ()

    @abstractmethod
    def start(self) -> CountStream:
        """A stream that takes one increment at a time."""

    def release(self, increments: Sequence[int] | NDArray[Any]) -> list[int]:
        """An estimate of the sum after each increment: one fresh stream over all of them.

        Integers may be of any size. Costs `loss(sensitivity)`, **and charges nobody**: this is the raw toolbox. Raises
        `ParameterError` for anything but whole numbers and for more than `steps` of them, before anything is drawn.
        Source: the proof note of the counter.

        >>> from discreet.mechanisms import TreeCounter
        >>> TreeCounter(steps=5, scale="1/1000").release([1, 1, 1, 2**100])
        [1, 2, 3, 1267650600228229401496703205379]
        """
        return self.start().add_all(increments)
