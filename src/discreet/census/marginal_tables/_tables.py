"""Marginals that were published: values from 0, beside each the unbiased number and its error; all else is free."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.census.marginal_tables._measurement import Measurements, widest
from discreet.census.marginal_tables._pictures import cell_chart, error_chart
from discreet.census.marginal_tables._values import FittedValues
from discreet.census.marginal_tables._wanted import Wanted
from discreet.charts import load_altair
from discreet.errors import QueryError
from discreet.marginals.residuals import Columns, tabulated
from discreet.prices import additive_from_json, additive_to_json
from discreet.privacy import Loss, in_words
from discreet.release import JsonRelease

__all__ = ["Estimated", "MarginalTables"]

_WIDTHS = ("i1", "i2", "i4", "i8")


@dataclass(frozen=True, slots=True)
class Estimated:
    """A number of rows.

    Attributes
    ----------
    value
        Never negative: a sum of published values.
    unbiased
        Right on average; it may be negative.
    standard_error
        Of the unbiased number.
    lower, upper
        Where the true number lies, with a probability of about the confidence that was asked for; around the unbiased
        number.
    """

    value: float
    unbiased: float
    standard_error: float
    lower: float
    upper: float


@dataclass(frozen=True, repr=False, eq=False)
class MarginalTables(JsonRelease):
    """Marginals of a table, measured together. They may be shown to anyone, and all that is computed from them is free.

    The unbiased numbers of all tables add up: one over fewer columns is the sum of any wider one, as all are made of
    the same residuals. Values, which are never negative, add up among the tables of one of `groups`; those of two
    groups are fitted each on its own.

    Attributes
    ----------
    table_name
        The table that was counted.
    measurements
        What was measured of it, with which noise.
    measured
        The noisy integers, by the places of their columns.
    loss, certificate
        As of every release; the certificate lists every measurement.
    """

    called = "set of marginals"
    fields = frozenset({"table", "wanted", "form", "noise", "measured"})

    table_name: str
    measurements: Measurements
    measured: Mapping[Columns, NDArray[np.int64]]
    loss: Loss
    certificate: Mapping[str, Any]

    def certified(self, certificate: Mapping[str, Any]) -> MarginalTables:
        """The same with a certificate."""
        return replace(self, certificate=certificate)

    @property
    def _wanted(self) -> Wanted:
        return self.measurements.wanted

    @property
    def marginals(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each marginal that was asked for."""
        return tuple(self._wanted.named(each) for each in self._wanted.marginals)

    @cached_property
    def _residuals(self) -> dict[Columns, NDArray[np.float64]]:
        return self.measurements.estimates(self.measured)

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Columns whose values add up: a table is of the first group that has all its columns.

        A group has all columns of one marginal, or of several where together they have few cells. It follows from what
        was asked for.
        """
        return tuple(self._wanted.named(each) for each in self._values.groups)

    @cached_property
    def _values(self) -> FittedValues:
        return FittedValues(self._wanted.lattice, self._residuals, self.measurements.errors.noise)

    def table(self, *columns: str, confidence: float = 0.95, fit: bool = True) -> pa.Table:
        """The table over some columns, with a row for each cell, in the order in which they are named. Costs nothing.

        Its columns: the cell of each column, as text; ``value``, which is never negative, and is nearer to the count
        where most cells are empty, but biased; ``unbiased``, which is right on average, adds up everywhere, and may be
        negative; its ``standard_error``; ``lower`` and ``upper``, its interval at `confidence`. Without columns it is
        the total. Values are fitted when a table of their group is first asked for; with ``fit=False`` they are left
        out, which is quicker for large tables.

        Raises `QueryError` where no marginal that was asked for has all the columns, `ParameterError` for a confidence
        that is none.
        """
        places = self._wanted.places(columns)
        names = [self._wanted.columns[place].name for place in places]
        order = [names.index(each) for each in self._in_order(columns)]
        unbiased = tabulated(self._wanted.lattice, self._residuals, places).transpose(order).ravel()
        values = {"value": self._values.over(places).transpose(order).ravel()} if fit else {}
        variance, step = self.measurements.of_cells(places)
        half = self._half(variance, step, confidence)
        shape = tuple(self._wanted.columns[places[each]].size for each in order)
        cells = [each.ravel() for each in np.indices(shape)]
        texts = {names[each]: self._texts(places[each], cells[axis]) for axis, each in enumerate(order)}
        return pa.Table.from_pydict(
            {
                **texts,
                **values,
                "unbiased": unbiased,
                "standard_error": np.full(unbiased.size, variance**0.5),
                "lower": unbiased - half,
                "upper": unbiased + half,
            }
        )

    def _in_order(self, columns: Sequence[str]) -> list[str]:
        known = {name.casefold(): name for name in self._wanted.names}
        return [known[each.casefold()] for each in columns]

    def _texts(self, place: int, cells: NDArray[np.int64]) -> pa.Array[Any]:
        column = self._wanted.columns[place]
        return pa.array([column.text(i) for i in range(column.size)], pa.string()).take(pa.array(cells, pa.int64()))

    def tables(self, confidence: float = 0.95, *, fit: bool = True) -> Iterator[tuple[tuple[str, ...], pa.Table]]:
        """The columns of each marginal that was asked for, with its table."""
        for names in self.marginals:
            yield names, self.table(*names, confidence=confidence, fit=fit)

    def standard_error(self, *columns: str) -> float:
        """The standard error of each cell of the table over some columns: one for all of them. Raises as `table`."""
        variance, _ = self.measurements.of_cells(self._wanted.places(columns))
        return variance**0.5

    def _half(self, variance: float, step: float, confidence: float) -> float:
        return float(self.measurements.half_widths(np.array([variance]), np.array([step]), confidence)[0])

    def total(self, where: Mapping[str, str | Sequence[str]], confidence: float = 0.95) -> Estimated:
        """How many rows are in some cells of some columns, and the error of that. Costs nothing.

        `where` names of each column one cell or several, as the tables spell them. Raises `QueryError` for a cell that
        there is not, and as `table`.
        """
        places = self._wanted.places(list(where))
        chosen = dict(zip(self._in_order(list(where)), where.values(), strict=True))
        weights = [self._weights(place, chosen[self._wanted.columns[place].name]) for place in places]
        value, unbiased = self._values.over(places), tabulated(self._wanted.lattice, self._residuals, places)
        for each in reversed(weights):
            value, unbiased = value @ each, unbiased @ each
        variance, step = self.measurements.of_products(places, weights)
        half, middle = self._half(variance, step, confidence), float(unbiased)
        return Estimated(float(value), middle, variance**0.5, middle - half, middle + half)

    def _weights(self, place: int, cells: str | Sequence[str]) -> NDArray[np.float64]:
        column = self._wanted.columns[place]
        texts = {column.text(i): i for i in range(column.size)}
        weights = np.zeros(column.size)
        for each in [cells] if isinstance(cells, str) else cells:
            if each not in texts:
                raise QueryError(f"{column.name} has no cell {each!r}; it has: {', '.join(list(texts)[:20])}")
            weights[texts[each]] = 1
        return weights

    def plot(self, *columns: str, level: float = 0.95) -> Any:
        """An altair chart: the table over some columns with its intervals; without any, the error of each marginal.

        Costs nothing. Raises as `table`, and `MissingExtra` without altair.
        """
        return load_altair().Chart.from_dict(self.to_vega_lite(*columns, level=level))

    def to_vega_lite(self, *columns: str, level: float = 0.95) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        if not columns:
            return error_chart(self.measurements.named_half_widths(level), level, in_words(self.loss))
        shown = self.table(*columns, confidence=level)
        title = f"{self.table_name} by {', '.join(self._in_order(columns))}"
        return cell_chart(shown, title, level, in_words(self.loss))

    def content(self) -> dict[str, Any]:
        """What was asked for, the noise, and the noisy integers."""
        return {
            "table": self.table_name,
            "wanted": self._wanted.to_json(),
            "form": self.measurements.form,
            "noise": [additive_to_json(each) for each in self.measurements.mechanisms.values()],
            "measured": [_packed(self.measured[each]) for each in self.measurements.mechanisms],
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> MarginalTables:
        """The inverse of `content`."""
        wanted, form = Wanted.from_json(content["wanted"]), content["form"]
        if form not in ("residuals", "cells") or not isinstance(content["table"], str):
            raise ValueError
        lattice = wanted.lattice
        measured = lattice.residuals if form == "residuals" else widest(lattice)
        noise = [additive_from_json(each) for each in content["noise"]]
        mechanisms = dict(zip(measured, noise, strict=True))
        arrays = [
            _unpacked(data, lattice.shape(each)) for each, data in zip(measured, content["measured"], strict=True)
        ]
        measurements = Measurements(wanted, form, mechanisms)
        return cls(content["table"], measurements, dict(zip(measured, arrays, strict=True)), loss, certificate)

    def header(self) -> list[tuple[str, bool]]:
        """The marginals, and the error of each."""
        return [("marginal", False), ("cells", True), ("standard error", True), ("half-width", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """The marginals as text; half-widths are at `level`."""
        return self.measurements.rows(level, first)

    @property
    def shown_rows(self) -> int:
        """How many marginals there are."""
        return len(self._wanted.marginals)

    def note(self, level: float = 0.95) -> str:
        """What it is."""
        total = float(self._residuals[()])
        half = self._half(*self.measurements.of_cells(()), level)
        return f"marginals of {self.table_name}, about {total:,.0f} ± {half:,.0f} rows; half-widths of one cell"


def _packed(array: NDArray[np.int64]) -> list[str]:
    """An array as the width of its numbers, and their bytes in base 64.

    >>> _unpacked(_packed(np.array([[1, -300]])), (1, 2))
    array([[   1, -300]])
    """
    low, high = (int(array.min()), int(array.max())) if array.size else (0, 0)
    width = next(each for each in _WIDTHS if np.iinfo(each).min <= low and high <= np.iinfo(each).max)
    raw = np.ascontiguousarray(array, f"<{width}").tobytes()
    return [width, base64.b64encode(zlib.compress(raw, 1)).decode()]


def _unpacked(data: Any, shape: Sequence[int]) -> NDArray[np.int64]:
    """The inverse of `_packed`, of an array of this shape. Raises `ValueError` or `TypeError` for what is none."""
    width, text = data
    if width not in _WIDTHS:
        raise ValueError
    size = int(np.prod(shape, dtype=np.int64)) * int(width[1])
    unpacking = zlib.decompressobj()
    try:
        raw = unpacking.decompress(base64.b64decode(text, validate=True), size + 1)
    except zlib.error:
        raise ValueError from None
    if len(raw) != size or not unpacking.eof:
        raise ValueError
    return np.frombuffer(raw, f"<{width}").reshape(tuple(shape)).astype(np.int64)
