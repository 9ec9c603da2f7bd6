"""k-ary randomized response: the value itself, or any other one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.local._exp_epsilon import exp_epsilon
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
    def support_probabilities(self) -> tuple[Fraction, Fraction]:
        """e^ε / (e^ε + d − 1) and 1 / (e^ε + d − 1)."""
        weight = exp_epsilon(self.epsilon)
        total = weight + self.domain.size - 1
        return weight / total, 1 / total

    @property
    def layout(self) -> Layout:
        """The reported value's place."""
        return Layout((self.domain.size,))

    @property
    def cells(self) -> int:
        """One count for each value."""
        return self.domain.size

    def perturb(self, prepared: NDArray[Any], draws: Draws) -> Bytes:
        """Draws a coin for each value, and replaces the value by a uniform other one where the coin is tails."""
        reported = prepared.copy()
        changed = np.flatnonzero(~draws.coins(self.support_probabilities[0], reported.size))
        other = draws.below(self.domain.size - 1, changed.size)
        reported[changed] = other + (other >= reported[changed])
        return self.layout.pack(reported)

    def tally(self, fields: Fields, counts: Integers) -> None:
        """Count the reported values."""
        add_cells(fields.numbers[0], counts)

    def supports(self, counts: Integers) -> Integers:
        """A report supports the value that it names."""
        return counts.copy()
