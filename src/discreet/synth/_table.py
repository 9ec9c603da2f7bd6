"""A synthetic table: a public distribution of rows, from which any number of them is drawn for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import ValidationError

from discreet.charts import load_altair
from discreet.errors import LedgerError, ParameterError, printable
from discreet.marginals import (
    Clique,
    ColumnCells,
    Merge,
    Model,
    Numbers,
    PublicStream,
    cells,
    model_of,
    places_of,
    sample_cells,
)
from discreet.privacy import Loss, from_json, to_json
from discreet.release import BaseRelease, Content
from discreet.synth._columns import column_named
from discreet.synth._noise import Additive, additive_from_json, additive_to_json
from discreet.synth._pictures import Picture, picture
from discreet.synth._public_policy import public_policy
from discreet.synth._report import SynthesisReport, make_report, merged_texts

__all__ = ["Measured", "SyntheticTable", "table_digests"]

_FORMAT = 1
_FIELDS = frozenset({"format", "table", "columns", "merges", "total", "potentials", "measured"})
_MOST_ROWS = 1_000_000_000
_MALFORMED = (KeyError, IndexError, ValueError, TypeError, AttributeError, ArithmeticError, ParameterError)


@dataclass(frozen=True)
class Measured:
    """One marginal as it was measured: the positions of its columns, whole numbers with noise, and the mechanism.

    Of a single column the cells are its public ones, of several the merged ones.
    """

    clique: Clique
    counts: tuple[int, ...]
    mechanism: Additive


@dataclass(frozen=True, repr=False)
class SyntheticTable(BaseRelease):
    """A synthetic stand-in for a private table. It may be handed to anyone: what is done with it is free.

    It protects what its `loss` says, no more: a synthetic row may equal a real one by chance.

    Attributes
    ----------
    table
        The table that it stands for.
    columns
        Its columns, with their public cells.
    merges
        For each column how its cells were merged.
    total
        About how many rows the private table has: it was measured with noise.
    potentials
        The distribution over merged cells, by the marginals that it was estimated from.
    measured
        All marginals as they were measured, in order.
    loss, certificate
        As of every release. Made by `discreet.synth.fit`.
    """

    table: str
    columns: tuple[ColumnCells, ...]
    merges: tuple[Merge, ...]
    total: float
    potentials: dict[Clique, Numbers]
    measured: tuple[Measured, ...]
    loss: Loss
    certificate: Mapping[str, Any]

    @cached_property
    def model(self) -> Model:
        """The joint distribution over merged cells."""
        return model_of(self._sizes, self.potentials, self.total)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(merge.size for merge in self.merges)

    def sample(self, rows: int | None = None, given: Mapping[str, object] | None = None, label: str = "") -> pa.Table:
        """So many synthetic rows, with the types of the policy; as many as the table has, about, if None is said.

        Costs nothing, as often as you like. The same numbers and label give the same rows again: what is drawn is a
        public function of the table. Rows are balanced (see `discreet.marginals.sample_cells`), so that samples of
        different sizes or labels are not parts of one another.

        Parameters
        ----------
        rows
            How many.
        given
            Values that some columns have in every row; None is null. The others have their distribution given these.
        label
            A public name for this sample.

        Raises `QueryError` for a column that is not there, `ParameterError` for a value that it cannot have.
        """
        count = max(round(self.total), 1) if rows is None else rows
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= _MOST_ROWS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"rows is a whole number from 0 to {_MOST_ROWS:,}, not {rows!r}")
        if not isinstance(label, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"label is a text, not {label!r}")
        fixed = self._fixed(given or {})
        model = self._given(fixed)
        stream = PublicStream(json.dumps([self.digest(), label, sorted(fixed.items())]).encode())
        merged, order = sample_cells(model, count, stream)
        shuffled = stream.order(count)
        arrays: list[pa.Array[Any]] = []
        for i, column in enumerate(self.columns):
            cells, places = self._cells(i, merged[i], order, stream)
            if i in fixed:
                cells = np.full(count, fixed[i])
            values = column.values(cells, places)
            if i in fixed and column.keys is None and fixed[i] != column.valued:
                assert given is not None
                values = pa.array([_value_of(given, column.name)] * count, values.type)
            arrays.append(values.take(pa.array(shuffled, pa.int64())))
        return pa.Table.from_arrays(arrays, names=[column.name for column in self.columns])

    def _cells(
        self, i: int, merged: NDArray[np.int64], order: NDArray[np.int64], stream: PublicStream
    ) -> tuple[NDArray[np.int64], Numbers]:
        """Of each row the public cell of a column, and a place in it, balanced along an order of the rows."""
        merge = self.merges[i]
        along = order[np.argsort(merged[order], kind="stable")]
        held = merged[along]
        numbers = np.bincount(held, minlength=merge.size)
        ranks = np.arange(held.size) - (np.cumsum(numbers) - numbers)[held]
        places = places_of(ranks, i, stream.uniform(merge.size)[held])
        cells, within = merge.spread(held, places)
        public, within_cell = np.empty(held.size, np.int64), np.empty(held.size)
        public[along], within_cell[along] = cells, within
        return public, within_cell

    def _fixed(self, given: Mapping[str, object]) -> dict[int, int]:
        """The public cell of each value that is given."""
        fixed: dict[int, int] = {}
        for name, value in given.items():
            i = column_named(self.columns, name, f"the synthetic {self.table}")
            cell = self.columns[i].cell(value)
            if cell is None:
                raise ParameterError(
                    f"{self.columns[i].name} cannot be {value!r}; it is one of "
                    f"{', '.join(self.columns[i].text(j) for j in range(min(self.columns[i].size, 8)))}…"
                )
            fixed[i] = cell
        return fixed

    def _given(self, fixed: Mapping[int, int]) -> Model:
        if not fixed:
            return self.model
        allowed: dict[int, Numbers] = {}
        for i, cell in fixed.items():
            allowed[i] = np.zeros(self.merges[i].size)
            allowed[i][self.merges[i].into[cell]] = 1.0
        try:
            return model_of(self._sizes, self.potentials, self.total, allowed)
        except ZeroDivisionError:
            names = ", ".join(f"{self.columns[i].name} = {self.columns[i].text(cell)}" for i, cell in fixed.items())
            raise ParameterError(f"the synthetic table has no rows with {names}; give fewer or other values") from None

    def report(self) -> SynthesisReport:
        """Each measured marginal in the model against its measurement, and the budget step by step. Costs nothing.

        It says how well the model has what was measured, not how near it is to the real rows. Raises `LedgerError`
        where the certificate cannot be followed.
        """
        return make_report(self, self.model)

    def plot(self, what: Picture = "marginals", columns: Sequence[str] | None = None, level: float = 0.95) -> Any:
        """The fit as an altair chart, which a notebook shows and ``.save`` writes. Costs nothing.

        Parameters
        ----------
        what
            ``"marginals"``: each column as it was measured, with intervals at `level`, and in the model. ``"errors"``:
            how far each measured marginal of the model is from its measurement, beside what noise alone gives.
            ``"budget"``: what each stage and round spent.
        columns
            Of ``"marginals"`` which to draw; all, if None is said, of which 12 are drawn.
        level
            The confidence of the intervals.

        Raises `MissingExtra` without altair, `ParameterError` for another picture or level, `QueryError` for a column
        that is not there.
        """
        return load_altair().Chart.from_dict(self.to_vega_lite(what, columns, level))

    def to_vega_lite(
        self, what: Picture = "marginals", columns: Sequence[str] | None = None, level: float = 0.95
    ) -> dict[str, Any]:
        """The chart of `plot` as a Vega-Lite specification in plain JSON, for which nothing need be installed."""
        chosen = None if columns is None else [column_named(self.columns, name, "the fit") for name in columns]
        return picture(self.report(), what, chosen, level)

    def policy(self, name: str | None = None) -> dict[str, Any]:
        """The policy of a public table for synthetic rows, called `name` or as the private one, as `connect` takes it.

        Copy its table into a policy of private tables to join them with the rows. Costs nothing.
        """
        return tomllib.loads(self.policy_toml(name), parse_float=Decimal)

    def policy_toml(self, name: str | None = None) -> str:
        """The same policy as the text of a TOML file."""
        return public_policy(self.table, name or self.table, self.columns, f"synthetic-{self.digest()[:16]}")

    def to_bytes(self) -> bytes:
        """The table as JSON; `from_bytes` restores it."""
        return json.dumps(self.to_dict()).encode()

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:  # noqa: ARG002 - counts come as they were measured
        """The table as plain JSON, with its loss and certificate."""
        return {**self._content(), "loss": to_json(self.loss), "certificate": dict(self.certificate)}

    def digest(self) -> str:
        """SHA-256 of the whole distribution, which its certificate states."""
        return _digest(self._content())

    def _content(self) -> dict[str, Any]:
        return {
            "format": _FORMAT,
            "table": self.table,
            "columns": [column.to_json() for column in self.columns],
            "merges": [{"into": list(each.into), "shares": list(each.shares)} for each in self.merges],
            "total": self.total,
            "potentials": [
                {"columns": list(clique), "values": base64.b64encode(values.astype("<f8").tobytes()).decode()}
                for clique, values in self.potentials.items()
            ],
            "measured": [
                {"columns": list(each.clique), "counts": list(each.counts), **additive_to_json(each.mechanism)}
                for each in self.measured
            ],
        }

    @classmethod
    def from_bytes(cls, payload: bytes) -> SyntheticTable:
        """Restore a stored table. Raises `LedgerError` if the bytes are none."""
        try:
            content: dict[str, Any] = json.loads(payload)
            if content["format"] != _FORMAT:
                raise ValueError
            columns = tuple(ColumnCells.from_json(each) for each in content["columns"])
            merges = tuple(_merge_from_json(each) for each in content["merges"])
            sizes = [merge.size for merge in merges]
            table = cls(
                table=str(content["table"]),
                columns=columns,
                merges=merges,
                total=float(content["total"]),
                potentials=dict(_potential_from_json(each, sizes) for each in content["potentials"]),
                measured=tuple(_measured_from_json(each) for each in content["measured"]),
                loss=from_json(content["loss"]),
                certificate=content["certificate"],
            )
            if [len(each.into) for each in merges] != [column.size for column in columns]:
                raise ValueError
            if not (math.isfinite(table.total) and all(_is_of(each, columns, sizes) for each in table.measured)):
                raise ValueError
        except (*_MALFORMED, ValidationError):
            raise LedgerError("a stored synthetic table in the ledger cannot be read; it is damaged") from None
        return table

    def header(self) -> list[tuple[str, bool]]:
        """A row for each column: its cells, and what is most frequent."""
        return [("column", False), ("type", False), ("cells", True), ("most frequent", False), ("share", True)]

    def cells(self, level: float = 0.95, first: int | None = None) -> list[list[str]]:  # noqa: ARG002 - no error bars
        """The columns with their most frequent cell, by what was measured, as text."""
        rows: list[list[str]] = []
        for i, column in enumerate(self.columns[:first]):
            shares = self.model.marginal((i,))
            top = int(np.argmax(shares))
            words = merged_texts(column, self.merges[i])[top]
            rows.append([column.name, column.type, str(column.size), printable(words), f"{shares[top]:.1%}"])
        return rows

    def note(self, level: float = 0.95) -> str:  # noqa: ARG002 - it has no error bars
        """How many rows it stands for."""
        several = sum(len(each.clique) > 1 for each in self.measured)
        return f"synthetic {self.table} of about {max(round(self.total), 0):,} rows, by {several} joint marginals"


def _value_of(given: Mapping[str, object], name: str) -> object:
    return next(value for key, value in given.items() if str(key).casefold() == name.casefold())


def _merge_from_json(data: Mapping[str, Any]) -> Merge:
    into, shares = tuple(map(int, data["into"])), tuple(map(float, data["shares"]))
    if len(into) != len(shares) or not 0 <= min(into) <= max(into) < len(into) or len(set(into)) <= max(into):
        raise ValueError
    return Merge(into, shares)


def _potential_from_json(data: Mapping[str, Any], sizes: Sequence[int]) -> tuple[Clique, Numbers]:
    clique = tuple(map(int, data["columns"]))
    values = np.frombuffer(base64.b64decode(data["values"]), "<f8").astype(np.float64)
    shape = [sizes[column] for column in clique]
    if values.size != np.prod(shape) or not np.isfinite(values).all() or min(clique) < 0:
        raise ValueError
    return clique, values


def _measured_from_json(data: Mapping[str, Any]) -> Measured:
    mechanism = {name: value for name, value in data.items() if name in ("mechanism", "scale", "sigma")}
    counts = tuple(map(int, data["counts"]))
    return Measured(tuple(map(int, data["columns"])), counts, additive_from_json(mechanism))


def _is_of(measured: Measured, columns: Sequence[ColumnCells], sizes: Sequence[int]) -> bool:
    """Whether a marginal has as many counts as its columns have cells: merged ones, or of one column public ones."""
    clique = measured.clique
    if not clique or len(set(clique)) < len(clique) or not 0 <= min(clique) <= max(clique) < len(columns):
        return False
    lengths = {cells(sizes, clique)} | ({columns[clique[0]].size} if len(clique) == 1 else set[int]())
    return len(measured.counts) in lengths


def table_digests(content: Content) -> tuple[dict[str, str], None]:
    """The digest of what a file holds, under its name in the certificate."""
    if content.columns is not None or frozenset(content.fields) != _FIELDS:
        raise KeyError("a file of a synthetic table has other fields")
    return {"answer": _digest(content.fields)}, None


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
