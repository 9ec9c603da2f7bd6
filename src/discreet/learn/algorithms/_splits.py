"""All splits of binned inputs: a threshold of a number, or one value of a category against the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.learn.algorithms._bins import Bins
from discreet.learn.algorithms._trees import Nodes

__all__ = ["Splits"]


@dataclass(frozen=True)
class Splits:
    """All splits there are, by public facts alone.

    Attributes
    ----------
    bins
        What is split.
    inputs, thresholds
        Of each split its input, and the bin that goes right, with all above it if the input is a number.
    base
        How likely each is to be drawn where nothing is known: inputs alike, and the splits of one alike.
    """

    bins: Bins
    inputs: Nodes
    thresholds: Nodes
    base: NDArray[np.float64]

    @classmethod
    def over(cls, bins: Bins) -> Splits:
        """All splits of some inputs."""
        numbers = len(bins.inputs.numbers)
        thresholds = [np.arange(1, bins.bins) if i < numbers else np.arange(size) for i, size in enumerate(bins.sizes)]
        counts = [len(each) for each in thresholds]
        inputs = np.repeat(np.arange(len(counts)), counts)
        return cls(bins, inputs, np.concatenate(thresholds), 1 / np.repeat(counts, counts) / len(counts))

    def right(self, counts: NDArray[Any]) -> NDArray[Any]:
        """The sums of what goes right at each split, of counts that have a row for each bin."""
        sums = np.empty((len(self.inputs), counts.shape[1]), counts.dtype)
        for i, (start, size) in enumerate(zip(self.bins.starts, self.bins.sizes, strict=True)):
            block, mine = counts[start : start + size], self.inputs == i
            ends = np.cumsum(block[::-1], axis=0)[::-1] if self.bins.ordered[i] else block
            sums[mine] = ends[self.thresholds[mine]]
        return sums

    def total(self, counts: NDArray[Any]) -> NDArray[Any]:
        """The sums of all rows by the counts of each split's input."""
        return np.add.reduceat(counts, self.bins.starts, axis=0)[self.inputs]
