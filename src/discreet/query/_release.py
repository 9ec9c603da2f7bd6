"""The answer that people get: values, errors and a certificate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from discreet.charts import chart, load_altair
from discreet.errors import LedgerError, MissingExtra, ParameterError
from discreet.privacy import Loss, from_json, to_json
from discreet.query._checked_query import Bias
from discreet.query._footnotes import cell_text, footnotes
from discreet.query.results._answer import Answer
from discreet.query.results._dual import Floats
from discreet.query.results._intervals import check_level
from discreet.query.results._serialize import answer_from_stored, answer_to_stored, plain_value
from discreet.query.results._words import answer_words, loss_in_symbols
from discreet.release import BaseRelease, check_finite, read_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Release"]


@dataclass(frozen=True, repr=False)
class Release(BaseRelease):
    """A private answer. It may be shown to anyone: everything done with it from here on is free.

    `loss` is what it cost; `certificate` says in plain JSON what ran: the query, the unit and relation, the mechanism
    and noise of each measure, and the digest of the policy.
    """

    answer: Answer
    loss: Loss
    certificate: Mapping[str, Any]

    def to_arrow(self, *, errors: bool = False, level: float = 0.95) -> pa.Table:
        """The values as an Arrow table, in the order of the SELECT list.

        With `errors`, each column NAME with noise is followed by ``NAME_low`` and ``NAME_high``, its interval at
        `level`: the value ± `error`. They are null for what hangs on a quantile, and infinite where noise leaves
        nothing known. Where one of the two is the name of a column already, in any case of its letters, they are
        ``NAME_low_2`` and ``NAME_high_2``. Raises `ParameterError` for a level outside (0, 1).

        >>> from discreet.privacy import pure
        >>> from discreet.query.results._answer import ErrorShape
        >>> answer = Answer(pa.table({"k": ["a"], "n": [3]}), {"n": ErrorShape({}, linear=True, cap=None)})
        >>> Release(answer, pure(1), {}).to_arrow(errors=True).column_names
        ['k', 'n', 'n_low', 'n_high']
        """
        return self.answer.with_intervals(check_level(level)) if errors else self.answer.table

    def to_pandas(self, *, errors: bool = False, level: float = 0.95) -> pd.DataFrame:
        """The same as a pandas frame; raises `MissingExtra` without pandas."""
        return _pandas(self.to_arrow(errors=errors, level=level))

    def to_polars(self, *, errors: bool = False, level: float = 0.95) -> pl.DataFrame:
        """The same as a polars frame; raises `MissingExtra` without polars."""
        return _polars(self.to_arrow(errors=errors, level=level))

    def plot(self, level: float = 0.95) -> Any:
        """The answer as an altair chart with its intervals at `level`, which a notebook shows and ``.save`` writes.

        The types of the columns choose the kind: one row is a point; a key of texts, or of few numbers, has bars; dates
        and many numbers a line with a band; two keys are a heat map, or lines over dates; more keys have bars. Of many
        groups the largest are drawn, and the chart says of how many. Costs nothing. Raises `MissingExtra` without
        altair, `ParameterError` for an answer without a column with noise or a level outside (0, 1).
        """
        altair = load_altair()
        return altair.Chart.from_dict(self.to_vega_lite(level))

    def to_vega_lite(self, level: float = 0.95) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed.

        >>> from discreet.privacy import pure
        >>> from discreet.query.results._answer import ErrorShape
        >>> answer = Answer(pa.table({"n": [3]}), {"n": ErrorShape({}, linear=True, cap=None)})
        >>> Release(answer, pure(1), {}).to_vega_lite()["title"]
        {'text': 'n', 'subtitle': ['95 % intervals of the noise, ε = 1']}
        """
        check_level(level)
        words, levels = answer_words(self.certificate), self.certificate.get("levels")
        numbers = self.answer.numbers
        left_out = {*words.levels, *self.noisy} - {*numbers}
        shown = [name for name in self.answer.table.column_names if name not in left_out]
        return chart(
            self.answer.table.select(shown),
            {name: self.error(name, level) for name in numbers if name in shown},
            words=words.columns,
            approximate=[name for name in numbers if self.approximate(name)],
            counts=words.counts,
            totals=isinstance(levels, list) and len(levels) > 1,
            subtitle=f"{100 * level:.10g} % intervals of the noise, {loss_in_symbols(self.loss)}",
            notes=[words.where, *filter(None, map(self._rank_note, numbers))],
        )

    def _rank_note(self, column: str) -> str:
        rows = self.rank_error(column)
        return "" if rows is None else f"{column}: rank within ± {rows:,.4g} rows"

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The values by the Arrow PyCapsule interface, so that whatever reads Arrow reads a release: `pyarrow.table`,
        `polars.DataFrame`, DuckDB, narwhals. Nothing is copied.

        Source: the Arrow PyCapsule interface, arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html.

        >>> from discreet.privacy import pure
        >>> release = Release(Answer(pa.table({"n": [3]}), {}), pure(1), {})
        >>> pa.table(release).equals(release.to_arrow())
        True
        """
        return self.answer.table.__arrow_c_stream__(requested_schema)

    def error(self, column: str, level: float = 0.95) -> Floats:
        """Half-widths of the noise, aligned with the rows: value ± half-width covers with probability `level`.

        What is covered is the same statistic without noise, of the values that the bounds and caps left; `bias` is what
        they may have done to it. Counts, sums and what is linear in them are answered from the noise's own law. Other
        columns are `approximate`: averages, ratios and moments are computed again from the noisy sums less noise that
        may have been in them, at fixed points spread like the noise, and the wider side is the half-width. It is
        infinite where so much noise leaves nothing known. What hangs on a quantile has NaN: see `rank_error`.

        Costs nothing. Raises `ParameterError` for a column without noise or a level outside (0, 1).
        """
        return self.answer.error(column, level)

    def rank_error(self, column: str) -> float | None:
        """By how many rows of a group the rank of a released quantile is off at most, with probability 0.95 or more.

        Error bars of quantiles are in rank, as those in the unit of the column depend on the data: of a group's n rows
        p · n ± this many lie below the value. It holds whatever the data are, and is wider than most data need. None
        for a column that is no quantile, or one of several of its argument, where it depends on n: `Plan.explain` has
        it for an assumed n. Costs nothing. Raises `ParameterError` for a column without noise.
        """
        self.answer.shape(column)
        rows = self.certificate.get("rank_errors", {}).get(column)
        return None if rows is None else float(rows)

    def approximate(self, column: str) -> bool:
        """Whether `error` of this column is approximate.

        So it is for whatever is not linear in counts and sums, as ratios are not. So is that of every column where
        HAVING, or ORDER BY with LIMIT, picked rows by their noisy values, for high noise as for high values: their bars
        are wider, so that of all that are shown few enough are wrong. ``docs/sql.md`` has the measured coverage.
        """
        return self.answer.picked is not None or not self.answer.shape(column).linear

    def bias(self, column: str) -> tuple[Bias, ...]:
        """What bounds and caps may have done to a column, estimated with noise of its own, all groups together.

        Each is a count of rows, or a sum of what was cut off, with its own error; `Bias.at_least` marks lower limits.
        Not among them are rows that the cap on groups drops, rows without a person and keys that are not public. Costs
        nothing here: it was bought with the answer, by ``bias=True``. Raises `ParameterError` if it was not, or for a
        column without noise. Source: ``proofs/bias.md``.
        """
        self.answer.shape(column)
        estimates = self.certificate.get("bias")
        if not estimates:
            raise ParameterError("no estimate of bias was bought; ask with bias=True")
        return tuple(
            Bias(each["what"], float(each["estimate"]), float(each["error"]), each["at_least"])
            for each in estimates
            if column in each["columns"]
        )

    @property
    def noisy(self) -> tuple[str, ...]:
        """The columns that carry noise, in order; the others are keys."""
        return tuple(self.answer.shapes)

    def to_bytes(self) -> bytes:
        """The whole release as an Arrow stream; `from_bytes` restores it."""
        header, stored = self._stored()
        header |= {"loss": to_json(self.loss), "certificate": dict(self.certificate)}
        fields = [pa.field(f"c{i}", column.type) for i, column in enumerate(stored)]
        schema = pa.schema(fields, metadata={"discreet": json.dumps(header)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_table(pa.table(stored, schema=schema))
        return sink.getvalue().to_pybytes()

    @classmethod
    def from_bytes(cls, payload: bytes) -> Self:
        """Restore a stored release. Raises `LedgerError` if the bytes are not one."""
        try:
            stored = read_table(payload)
            header = json.loads((stored.schema.metadata or {})[b"discreet"])
            check_finite(header["certificate"])
            answer = cls._restored(header, stored.columns)
            return cls(answer, from_json(header["loss"]), header["certificate"])
        except (pa.ArrowException, OSError, LookupError, ValueError, TypeError, ArithmeticError, RecursionError):
            raise LedgerError("a stored release in the ledger cannot be read; it is damaged") from None

    def _stored(self) -> tuple[dict[str, Any], list[Any]]:
        """What `to_bytes` stores of the answer: plain JSON, and columns."""
        return answer_to_stored(self.answer)

    @classmethod
    def _restored(cls, header: Mapping[str, Any], columns: Sequence[Any]) -> Answer:
        """The inverse of `_stored`."""
        return answer_from_stored(header, columns)

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Columns, rows and half-widths at `level`; NaN and infinities are None, dates and timestamps ISO 8601 text."""
        columns = [[plain_value(value) for value in column.to_pylist()] for column in self.answer.table.columns]
        biases = [_bias_to_dict(bias, names) for bias, names in self.biases()]
        return {
            "columns": self.answer.table.column_names,
            "rows": [list(row) for row in zip(*columns, strict=True)],
            "errors": {name: [plain_value(float(half)) for half in self.error(name, level)] for name in self.noisy},
            **({"bias": biases} if biases else {}),
            "loss": to_json(self.loss),
            "certificate": dict(self.certificate),
        }

    def biases(self) -> list[tuple[Bias, list[str]]]:
        """Every estimate of bias that was bought, with the columns it may have moved; none if none were."""
        if not self.certificate.get("bias"):
            return []
        columns: dict[Bias, list[str]] = {}
        for name in self.noisy:
            for bias in self.bias(name):
                columns.setdefault(bias, []).append(name)
        return list(columns.items())

    def header(self) -> list[tuple[str, bool]]:
        """The columns of the answer; those with noise are numbers."""
        return [(name, name in self.answer.numbers) for name in self.answer.table.column_names]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """The (first) rows as text for people: noisy numbers with ± half-width, and a ~ where that is approximate."""
        columns: list[list[str]] = []
        for name in self.answer.table.column_names:
            values = self.answer.table.column(name).slice(0, first).to_pylist()
            if name in self.answer.shapes:
                tilde = "~" if self.approximate(name) else ""
                half, rank = self.answer.error(name, level, first), self.rank_error(name)
                columns.append([cell_text(v, h, tilde, rank) for v, h in zip(values, half, strict=True)])
            else:
                columns.append(["NULL" if v is None else str(v) for v in values])
        return [list(row) for row in zip(*columns, strict=True)]

    def note(self, level: float = 0.95) -> str:
        """How many rows there are, and what ± and ~ mean."""
        number = "1 row" if self.shown_rows == 1 else f"{self.shown_rows:,} rows"
        approximate = "; ~ approximate" if any(self.approximate(name) for name in self.noisy) else ""
        return f"{number}; ± is {100 * level:.10g} % of the noise{approximate}"

    def footnotes(self, level: float = 0.95, first: int | None = None) -> list[str]:
        """What is to be known of the (first) rows: groups that may be missing, quantiles, nulls, numbers all noise."""
        names, rows = self.answer.table.column_names, self.cells(level, first)
        noisy = [[row[i] for row in rows] for i, name in enumerate(names) if name in self.answer.shapes]
        return footnotes(self.certificate, answer_words(self.certificate), noisy)

    @property
    def shown_rows(self) -> int:
        """How many rows the answer has."""
        return self.answer.table.num_rows


def _bias_to_dict(bias: Bias, columns: list[str]) -> dict[str, object]:
    return {
        "columns": columns,
        "what": bias.what,
        "estimate": plain_value(bias.estimate),
        "error": plain_value(bias.error),
        "at_least": bias.at_least,
    }


def _pandas(table: pa.Table) -> pd.DataFrame:
    try:
        return table.to_pandas()
    except ImportError:
        raise MissingExtra("to_pandas() needs pandas: pip install pandas") from None


def _polars(table: pa.Table) -> pl.DataFrame:
    try:
        import polars
    except ImportError:
        raise MissingExtra("to_polars() needs polars: pip install polars") from None
    frame = polars.from_arrow(table)
    assert isinstance(frame, polars.DataFrame)
    return frame
