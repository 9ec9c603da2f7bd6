"""The count-mean sketch: a row of bits with one at the value's bucket, and each bit flipped on its own."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local._exp_epsilon import exp_epsilon
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local.frequencies._sketch import SketchScheme
from discreet.local.frequencies._unary import bit_counts
from discreet.noise import Draws

__all__ = ["CountMeanSketch"]


@dataclass(frozen=True, slots=True, init=False)
class CountMeanSketch(SketchScheme):
    """Reports a hash function and `width` bits, each flipped with probability 1 / (e^(ε/2) + 1).

    For texts of any kind: the estimate is of the candidates that it is asked for, or of a domain that is given. A
    report takes ⌈width/8⌉ bytes and one or two for the function. Pure ε-local privacy. Raises `ParameterError` unless
    1e-6 ≤ ε ≤ 100, and for parameters out of the ranges below.
    Source: Apple's Differential Privacy Team 2017, "Learning with Privacy at Scale";
    ``proofs/count_mean_sketch.md``.

    Parameters
    ----------
    hashes
        Public hash functions, from 1 to 2**16: the rows of the table, which has at most 2**26 cells. An estimate
        hashes each candidate once for each of them, about a million hashes a second.
    width
        Buckets of each row, from 2 to 2**20. Values that collide add `collision_variance`.
    domain
        The values that people may report, as for other schemes, or `None`: any text.
    key
        Which hash functions, from 0 to 2**32 − 1. Another collection can use another key, so that its collisions are
        other ones.

    >>> scheme = CountMeanSketch(4, hashes=32, width=64)
    >>> server = scheme.server().add(scheme.client().encode(["ant"] * 3000 + ["bee"] * 1000))
    >>> server.estimate(candidates=["ant", "bee", "cow"]).frequencies.round(1).tolist()[0] > 0.5
    True
    """

    protocol: ClassVar[str] = "count_mean_sketch"

    @property
    def bucket_probabilities(self) -> tuple[Fraction, Fraction]:
        """e^(ε/2) / (e^(ε/2) + 1) and 1 / (e^(ε/2) + 1)."""
        other = 1 / (exp_epsilon(self.epsilon / 2) + 1)
        return 1 - other, other

    @property
    def layout(self) -> Layout:
        """The row and its bits."""
        return Layout((self.hashes,), self.width)

    @property
    def cells(self) -> int:
        """For each row, the reports, and then the ones of each bit."""
        return self.hashes * (self.width + 1)

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """Draws a row and which bits to flip, and flips the bit of the value's bucket."""
        rows = draws.below(self.hashes, prepared.size)
        bucket = self.buckets(prepared, rows)
        bits = draws.packed_coins(self.bucket_probabilities[1], prepared.size, self.width)
        bits[np.arange(prepared.size), bucket >> 3] ^= (1 << (bucket & 7)).astype(np.uint8)
        return self.layout.pack(rows, bits=bits)

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count the reports and the ones of each row."""
        table = counts.reshape(self.hashes, self.width + 1)
        order = np.argsort(fields.numbers[0], kind="stable")
        named, starts = np.unique(fields.numbers[0][order], return_index=True)
        for row, senders in zip(named.tolist(), np.split(order, starts[1:]), strict=False):
            table[row, 0] += senders.size
            table[row, 1:] += bit_counts(fields.bits[senders], self.width)

    def table(self, counts: Integers) -> tuple[Integers, Integers]:
        """A report supports the buckets whose bits are 1."""
        cells = counts.reshape(self.hashes, self.width + 1)
        return cells[:, 0], cells[:, 1:]
