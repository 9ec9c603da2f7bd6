"""The Hadamard count-mean sketch: one entry of a Hadamard matrix, in the column of the value's bucket, as one bit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ParameterError
from discreet.local._codec import Longitudinal
from discreet.local._domain import DomainLike
from discreet.local._exp_epsilon import exp_epsilon
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local.frequencies._hadamard import walsh
from discreet.local.frequencies._sketch import SketchScheme
from discreet.local.frequencies._supports import add_cells
from discreet.noise import Draws
from discreet.rational import Number

__all__ = ["HadamardCountMeanSketch"]

_CELLS_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True, init=False)
class HadamardCountMeanSketch(SketchScheme):
    """Reports a hash function, a line of a Hadamard matrix, and one bit, flipped with probability 1 / (e^ε + 1).

    As `CountMeanSketch`, in ⌈log₂(2·hashes·width)⌉ bits, in whole bytes, and with one random bit where that has
    `width`; its error is larger for ε above 1. The server does one fast transform when it is read. Pure ε-local
    privacy. Raises `ParameterError` unless 1e-6 ≤ ε ≤ 100, and for parameters out of the ranges below.
    Source: Apple's Differential Privacy Team 2017, "Learning with Privacy at Scale";
    ``proofs/count_mean_sketch.md``.

    Parameters
    ----------
    hashes, domain, key
        As for `CountMeanSketch`.
    width
        Buckets of each row, a power of two from 2 to 2**20.

    >>> scheme = HadamardCountMeanSketch(4, hashes=32, width=64, domain=["ant", "bee", "cow"])
    >>> reports = scheme.client().encode(["ant"] * 3000 + ["bee"] * 1000)
    >>> reports.width, int(scheme.server().add(reports).estimate().frequencies.argmax())
    (2, 0)
    """

    protocol: ClassVar[str] = "hadamard_count_mean_sketch"

    def __init__(  # noqa: PLR0913 - these are what a collector chooses
        self,
        epsilon: Number,
        *,
        hashes: int = 256,
        width: int = 1024,
        domain: DomainLike | None = None,
        key: int = 0,
        longitudinal: Longitudinal = "once",
    ) -> None:
        SketchScheme.__init__(
            self, epsilon, hashes=hashes, width=width, domain=domain, key=key, longitudinal=longitudinal
        )
        if self.width & (self.width - 1):
            raise ParameterError(f"width must be a power of two here, got {self.width}; take the next one")

    @property
    def bucket_probabilities(self) -> tuple[Fraction, Fraction]:
        """e^ε / (e^ε + 1), and 1/2: two columns of a Hadamard matrix agree in half of the lines."""
        weight = exp_epsilon(self.epsilon)
        return weight / (weight + 1), Fraction(1, 2)

    @property
    def layout(self) -> Layout:
        """One number, (row·width + line)·2 + bit, where the bit is 1 for an entry of −1."""
        return Layout((self.cells,))

    @property
    def cells(self) -> int:
        """One count for each row, line and bit."""
        return 2 * self.hashes * self.width

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A row and a line, the entry there in the column of the value's bucket, and a coin that turns it."""
        rows = draws.below(self.hashes, prepared.size)
        line = draws.below(self.width, prepared.size)
        bit = np.bitwise_count(line & self.buckets(prepared, rows)) & 1
        bit ^= ~draws.coins(self.bucket_probabilities[0], prepared.size)
        return self.layout.pack((rows * self.width + line) * 2 + bit)

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count the rows, lines and bits."""
        add_cells(fields.numbers[0], counts)

    def table(self, counts: Integers) -> tuple[Integers, Integers]:
        """A report supports the buckets whose entries in its line are what it says."""
        cells = counts.reshape(self.hashes, self.width, 2)
        held = cells.sum(axis=(1, 2))
        table = np.empty((self.hashes, self.width), dtype=np.int64)
        step = max(1, _CELLS_AT_ONCE // self.width)
        for row in range(0, self.hashes, step):
            some = slice(row, row + step)
            table[some] = (held[some, None] + walsh(cells[some, :, 0] - cells[some, :, 1])) >> 1
        return held, table
