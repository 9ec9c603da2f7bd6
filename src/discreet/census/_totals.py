"""What follows from a publication, free: totals over areas and cells, and ratios of two of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.census.estimates import Columns, Errors, Estimate, Layout, Sum, half_widths, ratio_interval
from discreet.errors import ParameterError, QueryError
from discreet.query import match_name

__all__ = ["Population", "Ratio", "Total", "Totals"]

Population = float | Mapping[str, float]
"""A public number of people, or one for each area."""
Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Total:
    """A number of people, over areas and cells.

    Attributes
    ----------
    value
        The published integer: never negative, and the sum of the published numbers that it is made of.
    unbiased
        The estimate by least squares, which is right on average.
    standard_error
        Of the unbiased number.
    """

    value: int
    unbiased: float
    standard_error: float
    heavy: bool = False

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Where the true number lies, with a probability of about `confidence`. Raises `ParameterError` for none."""
        half = float(half_widths(np.array([self.standard_error**2]), confidence, heavy=self.heavy)[0])
        return self.unbiased - half, self.unbiased + half


@dataclass(frozen=True, slots=True)
class Ratio:
    """A rate or an average: one total over another, or over a public number.

    Attributes
    ----------
    value
        The ratio of the published integers; NaN where the denominator is 0.
    estimate
        The ratio of the unbiased numbers: not unbiased itself, but near that where its denominator is many times its
        standard error. NaN where the denominator is not above 0.
    standard_error
        Of the estimate, to first order.
    numerator, denominator, variances, covariance
        The unbiased numbers of both, times `per` the first; a public number has no variance.
    least
        Below which no such ratio can be: 0 where people are counted, minus infinity where numbers may be negative.
    """

    value: float
    numerator: float
    denominator: float
    variances: tuple[float, float]
    covariance: float = 0.0
    heavy: bool = False
    least: float = 0.0

    @property
    def estimate(self) -> float:
        """See above."""
        return self.numerator / self.denominator if self.denominator > 0 else math.nan

    @property
    def standard_error(self) -> float:
        """See above."""
        own, below = self.variances
        ratio = self.estimate
        if math.isnan(ratio):
            return math.nan
        return math.sqrt(max(own - 2 * ratio * self.covariance + ratio**2 * below, 0.0)) / self.denominator

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Where the true ratio lies, with a probability of about `confidence`, by Fieller's rule.

        From `least` to infinity where the denominator may be 0 at that confidence. Raises `ParameterError` for no
        confidence.
        """
        one = np.ones(1)
        low, high = ratio_interval(
            self.numerator * one, self.denominator * one, (self.variances[0] * one, self.variances[1] * one),
            self.covariance * one, confidence, heavy=self.heavy, least=self.least,
        )  # fmt: skip
        return float(low[0]), float(high[0])


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over areas and cells of a publication, and their errors.

    Attributes
    ----------
    estimate
        The unbiased numbers.
    integers
        The published ones at each level, areas by cells of all columns.
    """

    estimate: Estimate
    integers: Sequence[NDArray[np.int64]]

    @property
    def layout(self) -> Layout:
        """What is measured where."""
        return self.estimate.layout

    @property
    def errors(self) -> Errors:
        """The variances."""
        return self.estimate.errors

    def published(self, level: int, columns: Columns, areas: slice = slice(None)) -> NDArray[np.int64]:
        """The published integers of a table, area by area, of some areas of a level."""
        cells = self.integers[level][areas].reshape(-1, *self.layout.sizes)
        return self.layout.components.summed(cells, self.layout.detail, columns)

    def unbiased(self, level: int, columns: Columns) -> Numbers:
        """The unbiased numbers of a table, area by area. Raises `QueryError` for one that is not measured there."""
        cached = self._tables.get((level, columns))
        if cached is None:
            cached = self._tables[level, columns] = self.estimate.table(level, columns)
        return cached

    @cached_property
    def _tables(self) -> dict[tuple[int, Columns], Numbers]:
        return {}

    def over(self, areas: Sequence[Numbers | None], columns: Columns) -> tuple[NDArray[Any], Numbers]:
        """The published and the unbiased cells of a table, over areas."""
        shape = tuple(self.layout.sizes[column] for column in columns)
        value, unbiased = np.zeros(shape, np.int64), np.zeros(shape)
        for level, weights in enumerate(areas):
            if weights is not None:
                there = np.flatnonzero(weights)
                self.errors.check_published(level, columns)
                value += self.published(level, columns)[there].sum(axis=0)
                unbiased += self.unbiased(level, columns)[there].sum(axis=0)
        return value, unbiased

    def asked(self, name: str | None, areas: Sequence[Any] | None, where: str | None) -> Sum:
        """The sum that a question is about; see `Publication.total`."""
        columns = self.layout.columns_in(where) if name is None else self.layout.columns_of(name)
        geography = self.layout.spec.geography
        everywhere = [(geography.levels[0], geography.names[0][0])]
        over = geography.weights(everywhere if areas is None else areas, "the total")
        return Sum(over, columns, self.layout.weights(where, columns))

    def total(self, asked: Sum) -> Total:
        """The total of a sum."""
        value, unbiased = self.over(asked.areas, asked.table)
        variance = self.errors.variance_of_sum(asked.areas, asked.table, asked.weights)
        weights = asked.weights
        return Total(int((value * weights).sum()), float((unbiased * weights).sum()), variance**0.5, self.errors.heavy)

    def ratio(self, asked: Sum, among: Sum | float, per: float, other: Totals | None = None) -> Ratio:
        """One sum over another, over one of another universe with noise of its own, or over a public number."""
        over, unbiased = self.summed(asked)
        own = self.errors.variance_of_sum(asked.areas, asked.table, asked.weights) * per**2
        if not isinstance(among, Sum):
            value = per * over / among if among else math.nan
            return Ratio(value, per * unbiased, among, (own, 0.0), heavy=self.errors.heavy)
        beside = self if other is None else other
        below_value, below = beside.summed(among)
        value = per * over / below_value if below_value else math.nan
        variance = beside.errors.variance_of_sum(among.areas, among.table, among.weights)
        covariance = per * self.errors.covariance(asked, among) if other is None else 0.0
        least = 0.0 if (asked.weights >= 0).all() else -math.inf
        return Ratio(value, per * unbiased, below, (own, variance), covariance, self.errors.heavy, least)

    def summed(self, asked: Sum) -> tuple[float, float]:
        """The published and the unbiased number of a sum."""
        value, unbiased = self.over(asked.areas, asked.table)
        return float((value * asked.weights).sum()), float((unbiased * asked.weights).sum())

    def ratios(  # noqa: PLR0913, PLR0917
        self, level: int, asked: Sum, among: Sum | Numbers, per: float, confidence: float, other: Totals | None = None
    ) -> pa.Table:
        """As `ratio`, in each area of a level."""
        own_value, own = (per * each for each in self.in_each(level, asked))
        variances = per**2 * self.errors.variance(level, asked.table, asked.weights)
        covariances, beside = np.zeros_like(variances), self if other is None else other
        if isinstance(among, Sum):
            below_value, below = beside.in_each(level, among)
            noise = beside.errors.variance(level, among.table, among.weights)
            if other is None:
                covariances += per * self.errors.covariances(level, asked, among)
        else:
            below_value, below, noise = among, among, np.zeros_like(among)
        low, high = ratio_interval(own, below, (variances, noise), covariances, confidence, heavy=self.errors.heavy)
        nothing = np.full_like(own, np.nan)
        ratio = np.divide(own, below, out=nothing.copy(), where=below > 0)
        errors = np.sqrt(np.maximum(variances - 2 * ratio * covariances + ratio**2 * noise, 0.0))
        geography = self.layout.spec.geography
        return pa.Table.from_pydict({
            geography.levels[level]: pa.array(geography.names[level], pa.string()),
            "value": np.divide(own_value, below_value, out=nothing.copy(), where=below_value > 0),
            "estimate": ratio,
            "standard_error": np.divide(errors, below, out=nothing, where=below > 0),
            "lower": low,
            "upper": high,
        })  # fmt: skip

    def district_ratios(  # noqa: PLR0913, PLR0917
        self, kind: str, asked: Sum, among: Sum | Numbers, per: float, confidence: float, other: Totals | None = None
    ) -> pa.Table:
        """As `ratio`, in each district of a kind."""
        every = self.layout.weights_of(kind)
        ratios = [
            self.ratio(
                Sum(areas, asked.table, asked.weights),
                Sum(areas, among.table, among.weights) if isinstance(among, Sum) else float(among[i]), per, other,
            )
            for i, areas in enumerate(every)
        ]  # fmt: skip
        ends = [each.interval(confidence) for each in ratios]
        return pa.Table.from_pydict({
            kind: pa.array(list(self.layout.spec.districts[kind]), pa.string()),
            "value": [each.value for each in ratios],
            "estimate": [each.estimate for each in ratios],
            "standard_error": [each.standard_error for each in ratios],
            "lower": [low for low, _ in ends],
            "upper": [high for _, high in ends],
        })  # fmt: skip

    def beyond(self, column: str, least: int, asked: Sum) -> Sum:
        """Of a column of numbers the sum of what each is above the least, over the cells of a sum.

        Raises `QueryError` for a column whose cells are no single numbers.
        """
        numbers, _ = self.mean(column, asked)
        place = next(each for each in numbers.table if self.layout.columns[each].name.casefold() == column.casefold())
        axis = [1] * len(numbers.table)
        axis[numbers.table.index(place)] = -1
        values = np.zeros(self.layout.sizes[place])
        known = self.layout.columns[place].numbers
        assert known is not None
        values[: len(known)] = np.maximum(known - least, 0.0)
        return Sum(asked.areas, numbers.table, np.broadcast_to(values.reshape(axis), numbers.weights.shape).copy())

    def in_each(self, level: int, asked: Sum) -> tuple[Numbers, Numbers]:
        """The published and the unbiased numbers of a sum of cells in each area of a level."""
        axes = tuple(range(1, 1 + len(asked.table)))
        value, unbiased = self.published(level, asked.table), self.unbiased(level, asked.table)
        return (value * asked.weights).sum(axis=axes), (unbiased * asked.weights).sum(axis=axes)

    def people_of(self, population: Mapping[str, float], place: str) -> Numbers:
        """Public numbers of people, of each area of a level or district of a kind. Raises as `people_in`."""
        return _by_name(population, self.layout.names(place))

    def people_in(self, population: Population, areas: Sequence[Any] | None) -> float:
        """The public number of people of all areas that are asked about.

        Raises `ParameterError` for an area without one, and for a number that is not above 0.
        """
        if not isinstance(population, Mapping):
            return _positive("population", population)
        asked = self.layout.spec.geography.names[0] if areas is None else areas
        return float(_by_name(population, [each[1] if isinstance(each, tuple) else each for each in asked]).sum())

    def mean(self, column: str, asked: Sum) -> tuple[Sum, Sum]:
        """The sum of a column's numbers over the cells of a sum, and the sum of those cells where it has a number.

        Raises `QueryError` for a column whose cells are no single numbers.
        """
        names = [each.name for each in self.layout.columns]
        place = names.index(match_name(column, names, "the publication", "column"))
        numbers = self.layout.columns[place].numbers
        if numbers is None:
            raise QueryError(
                f"an average of {names[place]} needs cells of one number each, and its cells are wider, or no numbers; "
                f"cut it finer under cells.{names[place]}, or ask for totals over its cells"
            )
        table = tuple(sorted({*asked.table, place}))
        sizes = tuple(self.layout.sizes[each] for each in table)
        shape = tuple(size if each in asked.table else 1 for each, size in zip(table, sizes, strict=True))
        inside = np.broadcast_to(asked.weights.reshape(shape), sizes)
        axis = [1] * len(table)
        axis[table.index(place)] = -1
        known = np.zeros(self.layout.sizes[place])
        known[: len(numbers)] = 1.0
        values = np.zeros(self.layout.sizes[place])
        values[: len(numbers)] = numbers
        weights = [inside * each.reshape(axis) for each in (values, known)]
        return Sum(asked.areas, table, weights[0]), Sum(asked.areas, table, weights[1])


def _by_name(population: object, names: Sequence[Any]) -> Numbers:
    if not isinstance(population, Mapping):
        raise ParameterError("population: give a public number for each area, by its name")
    numbers = cast("Mapping[str, object]", population)
    missing = next((name for name in names if name not in numbers), None)
    if missing is not None:
        raise ParameterError(f"population: there is no number of people for {missing}")
    return np.array([_positive(f"population of {name}", numbers[name]) for name in names])


def _positive(where: str, number: object) -> float:
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < math.inf:
        raise ParameterError(f"{where}: a public number of people is above 0, not {number!r}")
    return float(number)
