"""The answer that people get: values, errors and a certificate."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import isinf, isnan
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from discreet.errors import LedgerError, ParameterError
from discreet.privacy import Loss, from_json, to_json
from discreet.query._bias_parts import Bias
from discreet.query._files import read_file, write_file
from discreet.query.results._answer import Answer
from discreet.query.results._dual import Floats
from discreet.query.results._serialize import answer_from_stored, answer_to_stored

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from rich.console import Group

__all__ = ["Release"]


@dataclass(frozen=True)
class Release:
    """A private answer. It may be shown to anyone: everything done with it from here on is free.

    `loss` is what it cost; `certificate` says in plain JSON what ran: the query, the unit and relation, the mechanism
    and noise of each measure, and the digest of the policy.
    """

    answer: Answer
    loss: Loss
    certificate: Mapping[str, Any]

    def to_arrow(self) -> pa.Table:
        """The values as an Arrow table, in the order of the SELECT list."""
        return self.answer.table

    def to_pandas(self) -> pd.DataFrame:
        """The values as a pandas frame; raises `MissingExtra` without pandas."""
        from discreet.query._frames import to_pandas

        return to_pandas(self.answer.table)

    def to_polars(self) -> pl.DataFrame:
        """The values as a polars frame; raises `MissingExtra` without polars."""
        from discreet.query._frames import to_polars

        return to_polars(self.answer.table)

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
        found = self.certificate.get("bias")
        if not found:
            raise ParameterError("no estimate of bias was bought; ask with bias=True")
        return tuple(
            Bias(each["what"], float(each["estimate"]), float(each["error"]), each["at_least"])
            for each in found
            if column in each["columns"]
        )

    @property
    def noisy(self) -> tuple[str, ...]:
        """The columns that carry noise, in order; the others are keys."""
        return tuple(self.answer.shapes)

    def to_bytes(self) -> bytes:
        """The whole release as an Arrow stream; `from_bytes` restores it."""
        about, stored = answer_to_stored(self.answer)
        about |= {"loss": to_json(self.loss), "certificate": dict(self.certificate)}
        fields = [pa.field(f"c{i}", column.type) for i, column in enumerate(stored)]
        schema = pa.schema(fields, metadata={"discreet": json.dumps(about)})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_table(pa.table(stored, schema=schema))
        return sink.getvalue().to_pybytes()

    @classmethod
    def from_bytes(cls, payload: bytes) -> Release:
        """Restore a stored release. Raises `LedgerError` if the bytes are not one."""
        try:
            stored = pa.ipc.open_stream(payload).read_all()
            about = json.loads((stored.schema.metadata or {})[b"discreet"])
            answer = answer_from_stored(about, stored.columns)
            return cls(answer, from_json(about["loss"]), about["certificate"])
        except (pa.ArrowException, OSError, KeyError, ValueError, TypeError):
            raise LedgerError("a stored release in the ledger cannot be read; it is damaged") from None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole release to a new file, which `load` reads and `discreet verify` checks.

        Costs nothing. Raises `ParameterError` if there is such a file already, `DataError` if it cannot be written.
        """
        write_file(self.to_bytes(), path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """The release in a file by `save`. That it is genuine is not checked: ask `discreet verify`.

        Raises `DataError` if the file cannot be read, `LedgerError` if it is no release of a query.
        """
        return cls.from_bytes(read_file(path))

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:
        """The (first) rows as text for people: noisy numbers with ± half-width, and a ~ where that is approximate."""
        columns: list[list[str]] = []
        for name in self.answer.table.column_names:
            values = self.answer.table.column(name).slice(0, first).to_pylist()
            if name in self.answer.shapes:
                tilde = "~" if self.approximate(name) else ""
                half = self.answer.error(name, level, first)
                columns.append([_with_error(v, h, tilde) for v, h in zip(values, half, strict=True)])
            else:
                columns.append(["NULL" if v is None else str(v) for v in values])
        return [list(row) for row in zip(*columns, strict=True)]

    def __rich__(self) -> Group:
        from discreet.query._render import shown

        return shown(self)

    def __repr__(self) -> str:
        from discreet.query._render import plain

        return plain(self.__rich__())

    def _repr_html_(self) -> str:
        from discreet.query._render import html_table

        return html_table(self)


def _with_error(value: float | None, half: float, tilde: str) -> str:
    if value is None:
        return "NULL"
    if isnan(half):  # a quantile: its error in this unit depends on the data
        return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    if isinf(half):
        return f"{value:,.6g} ± {tilde}∞"
    if isinstance(value, int):
        return f"{value:,} ± {tilde}{half:,.0f}"
    digits = 0 if half >= 100 else 2 if half >= 0.1 else 4
    return f"{value:,.{digits}f} ± {tilde}{half:,.{digits}f}"
