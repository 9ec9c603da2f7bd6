"""What is measured of a table so that its marginals follow: residuals with Gaussian noise, or cells with Laplace noise.

Gaussian noise goes by L2 sensitivity, in which residuals are best of all: ``proofs/residual_marginals.md``. Pure ε goes
by L1, in which the residual of a row of k columns is up to 2**k times as far away as its cell; there the widest
marginals are measured cell by cell, and the residuals of each are combined by their variances.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from discreet.census.marginal_tables._wanted import Wanted
from discreet.errors import ParameterError
from discreet.marginals.residuals import (
    Columns,
    Lattice,
    ResidualErrors,
    centred,
    component_variance,
    residual_norms,
    residual_of,
    residual_query,
    residual_scale,
)
from discreet.prices import Additive, Prices
from discreet.privacy import Relation
from discreet.sensitivity import Norms, bounded_sum

__all__ = ["Form", "Measurements", "measured_norms", "planned_measurements", "widest"]

Form = Literal["residuals", "cells"]
"""What is measured: the integer queries of residuals, or the cells of marginals."""
_MOST_DEVIATION = 2.0**48
_LEAST = 1e-6
_SMOOTH = 10
"""Steps of a grid in the standard deviation of noise that is as good as continuous."""
Integers = NDArray[np.int64]
Numbers = NDArray[np.float64]


def measured_norms(form: str, sizes: tuple[int, ...], rows: int, relation: Relation) -> Norms:
    """How far one person with at most so many rows moves what is measured over columns of these sizes."""
    if form == "residuals":
        return residual_norms(sizes, rows, relation)
    return bounded_sum(0, 1, rows, relation, grouped=bool(sizes))


def widest(lattice: Lattice) -> tuple[Columns, ...]:
    """The residuals' sets of columns that are within no other: all marginals are sums of cells of these."""
    narrower = {each[:i] + each[i + 1 :] for each in lattice.residuals for i in range(len(each))}
    return tuple(each for each in lattice.residuals if each not in narrower)


@dataclass(frozen=True, eq=False)
class Measurements:
    """What is measured, with which noise, and the errors that follow.

    `least` is what no measurement of residuals can bring the objective below; None where that was not computed.
    """

    wanted: Wanted
    form: Form
    mechanisms: Mapping[Columns, Additive]
    least: float | None = None

    @cached_property
    def errors(self) -> ResidualErrors:
        """The variance of everything that follows."""
        lattice = self.wanted.lattice
        if self.form == "residuals":
            scaled = [self.mechanisms[each].std / residual_scale(lattice.shape(each)) for each in lattice.residuals]
            return ResidualErrors(lattice, np.array(scaled) ** 2)
        precision = np.zeros(len(lattice.residuals))
        for columns in self.mechanisms:
            for part in lattice.parts(columns):
                precision[lattice.places[part]] += 1 / self._component_variance(columns, part)
        return ResidualErrors(lattice, 1 / precision)

    def _component_variance(self, columns: Columns, part: Columns) -> float:
        places = tuple(place for place, column in enumerate(columns) if column in part)
        return component_variance(
            self.wanted.lattice.shape(columns), places, max(self.mechanisms[columns].std, _LEAST) ** 2
        )

    def half_widths(self, variances: Numbers, steps: Numbers, confidence: float) -> Numbers:
        """How far numbers are from the truth at most, with a probability of about `confidence` each.

        `steps` are how far one step of a noise's grid moves each: where noise is of few steps, half of one is added.
        Raises `ParameterError` for a confidence outside (0, 1).
        """
        if not isinstance(confidence, int | float) or not 0 < confidence < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"confidence must lie strictly between 0 and 1, for example 0.95; got {confidence!r}")
        factor = float(ndtri((1 + confidence) / 2))
        if self.form == "cells":
            factor = max(factor, math.log(1 / (1 - confidence)) / math.sqrt(2))
        errors = np.sqrt(variances)
        return factor * errors + np.where(errors < _SMOOTH * steps, steps / 2, 0.0)

    def of_cells(self, columns: Columns) -> tuple[float, float]:
        """The variance of a cell of the marginal over columns, and how far a step of the noise moves it."""
        return self.of_products(columns, [np.eye(1, self.wanted.columns[place].size)[0] for place in columns])

    def of_products(self, columns: Columns, weights: Sequence[Numbers]) -> tuple[float, float]:
        """The same of a sum of cells whose weights are products of one for each column."""
        variance = self.errors.product_variance(columns, weights)
        if self.form == "cells":
            return variance, float(np.prod([np.abs(each).max() for each in weights]))
        return variance, self.errors.product_step(columns, weights)

    def cell_half_widths(self, confidence: float) -> Numbers:
        """The half-width of a cell of each marginal that is wanted."""
        cells = np.array([float(self.wanted.lattice.cells(each)) for each in self.wanted.marginals])
        steps = 1 / cells if self.form == "residuals" else np.ones(len(cells))
        return self.half_widths(self.errors.cell_variances, steps, confidence)

    def rows(self, confidence: float, first: int | None = None) -> list[list[str]]:
        """The (first) marginals as text: their columns and cells, their standard error and half-width."""
        rows: list[list[str]] = []
        errors, halves = np.sqrt(self.errors.cell_variances), self.cell_half_widths(confidence)
        for each, error, half in zip(self.wanted.marginals[:first], errors.tolist(), halves.tolist(), strict=False):
            name, cells = ", ".join(self.wanted.named(each)), self.wanted.lattice.cells(each)
            rows.append([name or "total", f"{cells:,}", f"{error:,.1f}", f"{half:,.1f}"])
        return rows

    def named_half_widths(self, confidence: float) -> list[tuple[str, float]]:
        """The half-width of one cell of each marginal, by the names of its columns."""
        names = [" × ".join(self.wanted.named(each)) or "total" for each in self.wanted.marginals]
        return list(zip(names, self.cell_half_widths(confidence).tolist(), strict=True))

    def query(self, counts: Integers) -> NDArray[Any]:
        """The exact integers that are measured, from the counts of a marginal."""
        return residual_query(counts) if self.form == "residuals" else counts

    def estimates(self, measured: Mapping[Columns, Integers]) -> dict[Columns, Numbers]:
        """The best estimate of each residual."""
        if self.form == "residuals":
            return {columns: residual_of(values.astype(np.float64)) for columns, values in measured.items()}
        lattice, noise = self.wanted.lattice, self.errors.noise
        estimates = {each: np.zeros(lattice.shape(each)) for each in lattice.residuals}
        for columns, values in measured.items():
            for part in lattice.parts(columns):
                axes = tuple(axis for axis, column in enumerate(columns) if column not in part)
                share = noise[lattice.places[part]] / self._component_variance(columns, part)
                estimates[part] += share * values.astype(np.float64).sum(axis=axes)
        return {part: centred(each, range(each.ndim)) for part, each in estimates.items()}


def planned_measurements(wanted: Wanted, prices: Prices, rows: int, relation: Relation) -> Measurements:
    """The measurements that a spend buys, in the best shares.

    Raises `ParameterError` where it is too small for any noise that can be drawn.
    """
    form: Form = "residuals" if prices.is_quadratic else "cells"
    lattice = wanted.lattice
    measured = lattice.residuals if form == "residuals" else widest(lattice)
    norms = [measured_norms(form, lattice.shape(each), rows, relation) for each in measured]
    least: float | None = None
    if form == "residuals":
        best = wanted.shares(residual_costs(lattice, norms))
        shares, least = best.shares, best.bound / float(prices.total * (2 if prices.currency == "rho" else 1))
    else:
        shares = np.cbrt([float(lattice.cells(each)) for each in measured])
    mechanisms: dict[Columns, Additive] = {}
    try:
        for each, share, moved in zip(measured, _exact(shares), norms, strict=True):
            mechanisms[each] = Prices(prices.currency, prices.total, moved).measurement(prices.total * share)
    except ParameterError as error:
        raise ParameterError(
            f"the spend is too small for {len(measured):,} measurements: {error}; spend more, or name fewer marginals"
        ) from None
    if max(mechanism.std for mechanism in mechanisms.values()) > _MOST_DEVIATION:
        raise ParameterError("the spend is so small that noise would hide any table; spend more")
    return Measurements(wanted, form, mechanisms, least)


def residual_costs(lattice: Lattice, norms: list[Norms]) -> Numbers:
    """The square of how far one person moves each residual itself."""
    return np.array([
        each.l2_squared / residual_scale(lattice.shape(columns)) ** 2
        for columns, each in zip(lattice.residuals, norms, strict=True)
    ])  # fmt: skip


def _exact(shares: Numbers) -> list[Fraction]:
    """The shares as fractions that add up to 1."""
    exact = [Fraction(share) for share in shares.tolist()]
    unit = max(share.denominator for share in exact)
    parts = [int(share * unit) for share in exact]
    total = sum(parts)
    return [Fraction(part, total) for part in parts]
