"""What is measured of a table so that its marginals follow: residuals with Gaussian noise, or cells with Laplace noise.

Gaussian noise goes by L2 sensitivity, in which residuals are best of all: ``proofs/residual_marginals.md``. Pure ε goes
by L1, in which the residual of a row of k columns is up to 2**k times as far away as its cell; there the widest
marginals are measured cell by cell, and the residuals of each are combined by their variances.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
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
_SMOOTH = 8
"""Steps of a grid in the standard deviation of noise whose sums are as good as continuous."""
Integers = NDArray[np.int64]


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
        return component_variance(self.wanted.lattice.shape(columns), places, self.mechanisms[columns].std ** 2)

    def half_width(self, variance: float, confidence: float) -> float:
        """How far a number of this variance is from the truth at most, with a probability of about `confidence`.

        By the normal quantile, or by Laplace's where it is the wider and the noise is. Gaussian noise of a few steps of
        its grid is not smooth: there it is what sums of it keep within at all events, being sub-Gaussian. Raises
        `ParameterError` for a confidence outside (0, 1).
        """
        if not isinstance(confidence, int | float) or not 0 < confidence < 1:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"confidence must lie strictly between 0 and 1, for example 0.95; got {confidence!r}")
        factor = float(ndtri((1 + confidence) / 2))
        if self.form == "cells":
            factor = max(factor, math.log(1 / (1 - confidence)) / math.sqrt(2))
        elif not self._is_smooth:
            factor = math.sqrt(2 * math.log(2 / (1 - confidence)))
        return factor * math.sqrt(variance)

    @cached_property
    def _is_smooth(self) -> bool:
        return min(each.std for each in self.mechanisms.values()) > _SMOOTH

    def rows(self, confidence: float, first: int | None = None) -> list[list[str]]:
        """The (first) marginals as text: their columns and cells, their standard error and half-width."""
        rows: list[list[str]] = []
        variances = self.errors.cell_variances.tolist()
        for each, variance in list(zip(self.wanted.marginals, variances, strict=True))[:first]:
            half, name = self.half_width(variance, confidence), ", ".join(self.wanted.named(each))
            cells = self.wanted.lattice.cells(each)
            rows.append([name or "total", f"{cells:,}", f"{variance**0.5:,.1f}", f"{half:,.1f}"])
        return rows

    def query(self, counts: Integers) -> NDArray[Any]:
        """The exact integers that are measured, from the counts of a marginal."""
        return residual_query(counts) if self.form == "residuals" else counts

    def estimates(self, measured: Mapping[Columns, Integers]) -> dict[Columns, NDArray[np.float64]]:
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


def residual_costs(lattice: Lattice, norms: list[Norms]) -> NDArray[np.float64]:
    """The square of how far one person moves each residual itself."""
    return np.array([
        each.l2_squared / residual_scale(lattice.shape(columns)) ** 2
        for columns, each in zip(lattice.residuals, norms, strict=True)
    ])  # fmt: skip


def _exact(shares: NDArray[np.float64]) -> list[Fraction]:
    """The shares as fractions that add up to 1."""
    exact = [Fraction(share) for share in shares.tolist()]
    unit = max(share.denominator for share in exact)
    parts = [int(share * unit) for share in exact]
    total = sum(parts)
    return [Fraction(part, total) for part in parts]
