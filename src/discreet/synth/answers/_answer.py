"""The answer of a synthetic table to a query: values, what determines them, and intervals where measurements do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.errors import MissingExtra, ParameterError
from discreet.marginals import Numbers
from discreet.query import check_level
from discreet.release import ShownTable
from discreet.synth.answers._estimates import MeasuredMarginal, Moments

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["AnswerColumn", "AnswerKind", "Spread", "SyntheticAnswer"]

AnswerKind = Literal["key", "measured", "derived", "model"]
_SHORT = {"measured": "", "derived": "~", "model": ""}


@dataclass(frozen=True, eq=False)
class Spread:
    """The noise in each row of a column; of whole numbers a half-width is one, by the correction for continuity.

    Attributes
    ----------
    moments
        Its standard deviation and shape, to first order.
    mechanisms
        Those of all marginals: where one cell's noise is all there is, its own distribution is used.
    divisors
        The largest relative standard deviation of what the column is divided by; 0 without a division.
    slack
        How far rounding moved the value at most.
    """

    moments: Moments
    mechanisms: Sequence[MeasuredMarginal]
    divisors: Numbers
    slack: float = 0.0

    def half_widths(self, level: float) -> Numbers:
        """Half-widths at a level. Of a ratio the first order is widened to hold Fieller's interval, up to ∞.

        Source: Cornish and Fisher 1938 for the quantile by kurtosis; Fieller 1954; ``proofs/synth_intervals.md``.
        """
        from scipy.special import ndtri

        z = float(ndtri((1 + level) / 2))
        half = self.moments.std * (z + (z**3 - 3 * z) * self.moments.kurtosis / 24)
        half = np.where(self.moments.on_integers, np.ceil(half - 0.5), half)
        for i in {int(i) for i in self.moments.single if i >= 0}:
            half[self.moments.single == i] = self.mechanisms[i].mechanism.error(level)
        far = z * self.divisors
        with np.errstate(divide="ignore", invalid="ignore"):
            wide = np.where(far > 0, half / np.maximum(1 - far, 0), half)
        return wide + self.slack

    def taken(self, rows: NDArray[np.int64]) -> Spread:
        """The same of some rows."""
        return Spread(self.moments.taken(rows), self.mechanisms, self.divisors[rows], self.slack)


@dataclass(frozen=True, eq=False)
class AnswerColumn:
    """What a column is, in which rows that is so, and its noise there."""

    kind: AnswerKind
    determined: NDArray[np.bool_]
    spread: Spread | None = None


@dataclass(frozen=True, repr=False, eq=False)
class SyntheticAnswer(ShownTable):
    """What a synthetic table answers. It is no release of its own: it costs nothing, and is computed from one.

    An interval is for the same statistic of the private table, of the rows and values that its policy's caps and bounds
    leave and whose keys are listed or were discovered: other rows do not count in a fit. It is of the noise in what was
    measured, and knows nothing of the synthetic rows. A column that follows from others (`discreet.synth.Follows`) is
    what its public table says, whatever the private rows have in its place.

    Attributes
    ----------
    table
        The values: of what is measured or derived the unbiased estimates, elsewhere what the synthetic rows give.
    model
        The same columns as the synthetic rows give them.
    columns
        By name what determines each column.
    picked
        The share of all groups that is shown, where they were picked by noisy values; None if they were not.
    """

    table: pa.Table
    model: pa.Table
    columns: Mapping[str, AnswerColumn]
    picked: float | None = None

    def kind(self, column: str) -> AnswerKind:
        """What determines a column: ``"measured"``, ``"derived"`` or ``"model"``; ``"key"`` if rows are grouped by it.

        *Measured* are counts and sums that are linear functions of measured marginals, *derived* are other functions of
        such, *model* is what nothing measured determines. A row can be *model* in any column: see `kinds`. Raises
        `ParameterError` for a column that is not there.
        """
        return self._column(column).kind

    def kinds(self, column: str) -> list[AnswerKind]:
        """What determines a column, row by row: where merged cells mix groups, the model has the value.

        Raises `ParameterError` for a column that is not there.
        """
        each = self._column(column)
        return [each.kind if known else "model" for known in each.determined.tolist()]

    def error(self, column: str, level: float = 0.95) -> Numbers:
        """Half-widths aligned with the rows: value ± half-width covers with probability `level`; NaN where *model*.

        What is derived has them to first order, infinite where a divisor may be zero. Where HAVING or LIMIT picked rows
        by noisy values they are wider, so that of those shown few enough are wrong (Benjamini and Yekutieli 2005).
        Limits of the claim: ``proofs/synth_intervals.md``. Costs nothing. Raises `ParameterError` for a key, a column
        that is not there, or a level outside (0, 1).
        """
        each, level = self._column(column), check_level(level)
        if each.kind == "key":
            raise ParameterError(f"{column} is a key, which has no error; ask for a column of numbers")
        if each.spread is None:
            return np.full(self.table.num_rows, np.nan)
        level = level if self.picked is None else 1 - (1 - level) * self.picked
        missing = np.asarray(self.table.column(column).is_null())
        return np.where(each.determined & ~missing, each.spread.half_widths(level), np.nan)

    def _column(self, name: str) -> AnswerColumn:
        if name not in self.columns:
            raise ParameterError(f"the answer has no column {name}; it has {', '.join(self.columns)}")
        return self.columns[name]

    def to_arrow(self, *, errors: bool = False, level: float = 0.95) -> pa.Table:
        """The values as an Arrow table.

        With `errors` each measured or derived column NAME is followed by ``NAME_low`` and ``NAME_high``, its interval
        at `level`, null where it has none, and by ``NAME_model``, what the synthetic rows have there. Where one of
        these names is taken, it ends in ``_2``. Raises `ParameterError` for a level outside (0, 1).
        """
        if not errors:
            return self.table
        columns: dict[str, Any] = {name: self.table.column(name) for name in self.table.column_names}
        taken = {name.casefold() for name in columns}
        shown: dict[str, Any] = {}
        for name, column in columns.items():
            shown[name] = column
            if self.columns[name].spread is None:
                continue
            half = self.error(name, level)
            values = np.array(column.to_numpy(), np.float64)
            for end, beside in (
                ("low", pa.array(values - half, from_pandas=True)),
                ("high", pa.array(values + half, from_pandas=True)),
                ("model", self.model.column(name)),
            ):
                free = f"{name}_{end}"
                while free.casefold() in taken:
                    free += "_2"
                taken.add(free.casefold())
                shown[free] = beside
        return pa.table(shown)

    def to_pandas(self, *, errors: bool = False, level: float = 0.95) -> pd.DataFrame:
        """The same as a pandas frame. Raises `MissingExtra` without pandas."""
        try:
            return self.to_arrow(errors=errors, level=level).to_pandas()
        except ImportError:
            raise MissingExtra("to_pandas() needs pandas: pip install pandas") from None

    def to_polars(self, *, errors: bool = False, level: float = 0.95) -> pl.DataFrame:
        """The same as a polars frame. Raises `MissingExtra` without polars."""
        try:
            import polars
        except ImportError:
            raise MissingExtra("to_polars() needs polars: pip install polars") from None
        return polars.DataFrame(self.to_arrow(errors=errors, level=level))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The values by the Arrow PyCapsule interface, so that whatever reads Arrow reads an answer."""
        return self.table.__arrow_c_stream__(requested_schema)

    def header(self) -> list[tuple[str, bool]]:
        """The columns that are shown: their names with what determines them, and whether they hold numbers."""
        shown: list[tuple[str, bool]] = []
        for name, column in self.columns.items():
            shown.append((name if column.kind == "key" else f"{name} ({column.kind})", column.kind != "key"))
            if column.spread is not None:
                shown.append((f"{name}, model", True))
        return shown

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """The (first) rows as text, with half-widths at `level`."""
        columns: list[list[str]] = []
        for name, column in self.columns.items():
            values = self.table.column(name).slice(0, first).to_pylist()
            if column.spread is None:
                columns.append([_text(value) for value in values])
                continue
            halves, kinds = self.error(name, level).tolist(), self.kinds(name)
            columns.append([_with_error(*each) for each in zip(values, halves, kinds, strict=False)])
            columns.append([_text(value) for value in self.model.column(name).slice(0, first).to_pylist()])
        return [list(row) for row in zip(*columns, strict=True)]

    def note(self, level: float = 0.95) -> str:
        """How many rows there are, and what the signs mean."""
        number = "1 row" if self.table.num_rows == 1 else f"{self.table.num_rows:,} rows"
        parts = [number]
        if any(column.spread is not None for column in self.columns.values()):
            parts.append(f"± is {100 * level:.10g} % of the noise of what was measured")
        if any(column.kind == "derived" for column in self.columns.values()):
            parts.append("~ to first order")
        partly = any(column.spread is not None and not column.determined.all() for column in self.columns.values())
        if partly or any(column.kind == "model" for column in self.columns.values()):
            parts.append("without ± nothing measured determines it: the model's own value, how far off is not known")
        return "; ".join(parts)

    def _cost(self) -> str:
        return "nothing"


def _with_error(value: float | None, half: float, kind: AnswerKind) -> str:
    if value is None or np.isnan(half):
        return _text(value)
    if np.isinf(half):
        return f"{_text(value)} ± ∞"
    digits = 0 if half >= 100 else 2 if half >= 0.1 else 4
    return f"{value:,.{digits}f} ± {_SHORT[kind]}{half:,.{digits}f}"


def _text(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:,.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
