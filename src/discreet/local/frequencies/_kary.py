"""k-ary randomized response: the value itself, or any other one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local._exp_epsilon import odds
from discreet.local._reports import Bytes, Fields, Integers, Layout
from discreet.local.frequencies._supports import SupportScheme, add_cells
from discreet.noise import Draws

__all__ = ["KaryRandomizedResponse"]


@dataclass(frozen=True, slots=True, init=False)
class KaryRandomizedResponse(SupportScheme):
    """Reports the value with probability e^ε / (e^ε + d − 1), and else one of the others, uniformly.

    The best there is for d < 3e^ε + 2 (Wang et al. 2017, Section 4.4); for larger domains its error grows with d.
    A report takes ⌈log₂ d⌉ bits, in whole bytes. Pure ε-local privacy. Raises `ParameterError` for a domain of fewer
    than 2 or more than 2**24 values and unless 1e-6 ≤ ε ≤ 100.
    Source: Kairouz, Bonawitz and Ramage 2016; ``proofs/local_frequencies.md``, section 2.

    >>> scheme = KaryRandomizedResponse(domain=["bus", "car", "train"], epsilon=2)
    >>> reports = scheme.client().encode(["car"] * 900 + ["bus"] * 100)
    >>> scheme.server().add(reports).estimate().frequencies.shape
    (3,)
    """

    protocol: ClassVar[str] = "kary_randomized_response"

    @property
    def truth(self) -> Fraction:
        """e^ε / (e^ε + d − 1)."""
        weight = odds(self.epsilon)
        return weight / (weight + self.domain.size - 1)

    @property
    def lie(self) -> Fraction:
        """1 / (e^ε + d − 1)."""
        return 1 / (odds(self.epsilon) + self.domain.size - 1)

    @property
    def layout(self) -> Layout:
        """The reported value's place."""
        return Layout((self.domain.size,))

    @property
    def cells(self) -> int:
        """One count for each value."""
        return self.domain.size

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """A coin, and another value where it says so."""
        told = prepared.copy()
        lied = np.flatnonzero(~draws.coins(self.truth, told.size))
        other = draws.below(self.domain.size - 1, lied.size)
        told[lied] = other + (other >= told[lied])
        return self.layout.pack(told)

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count the reported values."""
        add_cells(fields.numbers[0], counts)

    def supports(self, counts: Integers) -> Integers:
        """A report supports the value that it says."""
        return counts.copy()
