"""How frequent each value of a category is, from noisy counts. Proof: ``proofs/learning_preparing.md``."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.learn._examples import Examples
from discreet.learn._inputs import MISSING, Input
from discreet.learn._steps import Measurer, RowNorms

__all__ = ["measure_values", "value_norms"]


def value_norms(categories: Sequence[Input]) -> RowNorms:
    """A row has one value of each category at most."""
    return RowNorms(len(categories), len(categories))


def measure_values(
    measurer: Measurer, name: str, examples: Examples, categories: Sequence[Input], share: Fraction
) -> list[NDArray[np.float64]]:
    """Noisy counts of the values of some categories of the examples, for a share of the spend."""
    places = [examples.inputs.categories.index(each) for each in categories]
    exact = [
        np.bincount(column[column != MISSING], minlength=each.size)
        for each, column in zip(categories, examples.cells.T[places], strict=True)
    ]
    noisy = measurer.measure(name, np.concatenate(exact), measurer.noise_of(name, share))
    return np.split(noisy, np.cumsum([each.size for each in categories])[:-1])
