"""A synthetic table: a public distribution of rows, from which any number of them is drawn for nothing."""

from __future__ import annotations

import base64
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from discreet.charts import load_altair
from discreet.errors import ParameterError, printable
from discreet.marginals import (
    Clique,
    ColumnCells,
    Merge,
    Model,
    Numbers,
    PublicStream,
    model_of,
)
from discreet.prices import Additive, additive_from_json, additive_to_json
from discreet.privacy import Loss
from discreet.query import Query
from discreet.release import Content, JsonRelease
from discreet.synth._checked import (
    check_counts,
    check_rules,
    check_table,
    check_ties,
    clique_from_json,
    integers_from_json,
)
from discreet.synth._columns import column_named
from discreet.synth._pictures import Picture, picture
from discreet.synth._report import SynthesisReport, make_report, merged_texts
from discreet.synth._verify import measured_digest
from discreet.synth.answers._answer import SyntheticAnswer
from discreet.synth.answers._estimates import MeasuredMarginal
from discreet.synth.answers._refits import refit
from discreet.synth.answers._sql import SQL_ROWS, Source, answer_sql
from discreet.synth.rows._public_policy import public_policy
from discreet.synth.rows._repeats import min_repeats as repeated_rows
from discreet.synth.rows._rows import Given, RowSource
from discreet.synth.rules import BoundRules, Rules

__all__ = ["Measured", "SyntheticTable"]

_MOST_ROWS = 1_000_000_000
_MOST_TABLES = 1_000


@dataclass(frozen=True)
class Measured:
    """One marginal as it was measured: the positions of its columns, whole numbers with noise, and the mechanism.

    Of a single column the cells are its public ones, of several the merged ones.
    """

    clique: Clique
    counts: tuple[int, ...]
    mechanism: Additive


@dataclass(frozen=True, repr=False)
class SyntheticTable(JsonRelease):
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
    rules
        What rows keep; in `potentials` already, as far as cells determine it.
    """

    called = "synthetic table"
    fields = frozenset({"table", "columns", "merges", "total", "potentials", "measured", "rules"})

    table: str
    columns: tuple[ColumnCells, ...]
    merges: tuple[Merge, ...]
    total: float
    potentials: dict[Clique, Numbers]
    measured: tuple[Measured, ...]
    loss: Loss
    certificate: Mapping[str, Any]
    rules: Rules = field(default_factory=Rules)

    @cached_property
    def model(self) -> Model:
        """The joint distribution over merged cells."""
        return model_of(self._sizes, self.potentials, self.total)

    @cached_property
    def _rules(self) -> BoundRules:
        return BoundRules(self.rules, self.columns)

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(merge.size for merge in self.merges)

    def sample(
        self,
        rows: int | None = None,
        given: Mapping[str, object] | None = None,
        label: str = "",
        *,
        min_repeats: int | None = None,
    ) -> pa.Table:
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
        min_repeats
            Rows that occur fewer times are dropped; the metadata of the schema say how many, and what that bends (see
            `discreet.synth.min_repeats`).

        Every row keeps the hard rules of the table. Raises `QueryError` for a column that is not there,
        `ParameterError` for a value that it cannot have.
        """
        count = max(round(self.total), 1) if rows is None else rows
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= _MOST_ROWS:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"rows is a whole number from 0 to {_MOST_ROWS:,}, not {rows!r}")
        if not isinstance(label, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"label is a text, not {label!r}")
        fixed = self._fixed(given or {})
        cells = sorted((i, each.cell) for i, each in fixed.items())
        stream = PublicStream(json.dumps([self.digest(), label, cells]).encode())
        sampled = RowSource(self.columns, self.merges, self._given(fixed), self._rules, fixed).rows(count, stream)
        return sampled if min_repeats is None else repeated_rows(sampled, min_repeats).rows

    def sql(self, query: Query) -> SyntheticAnswer:
        """The answer to a SELECT over the table, under its own name or as `table`. Costs nothing, as often as you like.

        A column of the answer is *measured* where it is a count or sum that measured marginals determine: its unbiased
        estimate is shown with an interval. It is *derived* where it is computed from such, as shares and averages are,
        and *model* where only synthetic rows answer it, without an interval. These are 200,000 at most; counts and sums
        of a larger table are scaled.
        Raises `QueryError` for what is no SELECT, or is over other tables.
        """
        rows = self._sql_rows
        about_one = abs(self.total - rows.num_rows) <= 1
        scale = 1.0 if about_one else self.total / rows.num_rows
        source = Source(self.table, self.columns, self.merges, self._marginals, rows, scale, self.rules.followers)
        return answer_sql(query, source)

    def tables(self, m: int = 20, rows: int | None = None) -> list[pa.Table]:
        """Rows of m refits of the table under redrawn noise, so that any statistic gets the error of the noise.

        Compute the statistic on each, and give the m estimates to `discreet.synth.combine`. Each refit is estimated
        from what the table itself expects of the measured marginals, with noise of the same distribution drawn again.
        It has `rows` rows, or as many as the refit has, about, if None. More rows leave less sampling error, which is
        in the interval too. Costs nothing; the same numbers give the same tables again. Raises `ParameterError` for an
        m that is no whole number from 2 to 1,000, and as `sample` does.
        """
        if isinstance(m, bool) or not isinstance(m, int) or not 2 <= m <= _MOST_TABLES:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ParameterError(f"m is a whole number of tables from 2 to {_MOST_TABLES:,}, not {m!r}")
        stream, tables = PublicStream(json.dumps([self.digest(), "tables"]).encode()), list[pa.Table]()
        for i in range(m):
            again = refit(self.model, self.merges, self._marginals, self._rules, stream)
            table = replace(self, total=again.total, merges=again.merges, potentials=again.potentials)
            tables.append(table.sample(rows, label=f"table {i}"))
        return tables

    @cached_property
    def _marginals(self) -> list[MeasuredMarginal]:
        return [MeasuredMarginal(e.clique, np.array(e.counts, np.float64), e.mechanism) for e in self.measured]

    @cached_property
    def _sql_rows(self) -> pa.Table:
        return self.sample(min(max(round(self.total), 1), SQL_ROWS), label="sql")

    def _fixed(self, given: Mapping[str, object]) -> dict[int, Given]:
        """The values that are given, with their public cells."""
        fixed: dict[int, Given] = {}
        for name, value in given.items():
            follower = next((e for e in self.rules.followers if e.name.casefold() == str(name).casefold()), None)
            if follower is not None:
                raise ParameterError(f"{follower.name} follows from {' and '.join(follower.given)}: give that")
            i = column_named(self.columns, name, f"the synthetic {self.table}")
            cell = self.columns[i].cell(value)
            if cell is None:
                raise ParameterError(
                    f"{self.columns[i].name} cannot be {value!r}; it is one of "
                    f"{', '.join(self.columns[i].text(j) for j in range(min(self.columns[i].size, 8)))}…"
                )
            fixed[i] = Given(cell, _exactly(self.columns[i], value))
        return fixed

    def _given(self, fixed: Mapping[int, Given]) -> Model:
        if not fixed:
            return self.model
        allowed: dict[int, Numbers] = {}
        for i, given in fixed.items():
            allowed[i] = np.zeros(self.merges[i].size)
            allowed[i][self.merges[i].into[given.cell]] = 1.0
        try:
            return model_of(self._sizes, self.potentials, self.total, allowed)
        except ZeroDivisionError:
            names = ", ".join(f"{self.columns[i].name} = {self.columns[i].text(g.cell)}" for i, g in fixed.items())
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
        names = [column.name for column in self.columns]
        chosen = None if columns is None else [names[column_named(self.columns, each, "the fit")] for each in columns]
        return picture(self.report(), what, chosen, level)

    def policy(self, name: str | None = None) -> dict[str, Any]:
        """The policy of a public table for synthetic rows, called `name` or as the private one, as `connect` takes it.

        Copy its table into a policy of private tables to join them with the rows. Costs nothing.
        """
        return tomllib.loads(self.policy_toml(name), parse_float=Decimal)

    def policy_toml(self, name: str | None = None) -> str:
        """The same policy as the text of a TOML file."""
        version = f"synthetic-{self.digest()[:16]}"
        return public_policy(self.table, name or self.table, self.columns, version, self.rules.followers)

    def content(self) -> dict[str, Any]:
        """The whole distribution, and what was measured; numbers are float64 in base 64."""
        return {
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
            "rules": self.rules.to_json(),
        }

    @classmethod
    def from_content(cls, content: Mapping[str, Any], loss: Loss, certificate: Mapping[str, Any]) -> SyntheticTable:
        """The inverse of `content`."""
        columns = tuple(ColumnCells.from_json(each) for each in content["columns"])
        merges = tuple(_merge_from_json(each) for each in content["merges"])
        sizes = [merge.size for merge in merges]
        table = cls(
            table=str(content["table"]),
            columns=columns,
            merges=merges,
            total=float(content["total"]),
            potentials=dict(_potential_from_json(each, len(sizes)) for each in content["potentials"]),
            measured=tuple(_measured_from_json(each, len(sizes)) for each in content["measured"]),
            loss=loss,
            certificate=certificate,
            rules=Rules.from_json(content["rules"]),
        )
        check_table(columns, merges, table.total, table.potentials)
        check_rules(table.rules, columns)
        check_ties(table.rules, columns, merges, table.potentials)
        for each in table.measured:
            check_counts(columns, merges, table.potentials, each.clique, each.counts)
        return table

    @classmethod
    def digests(cls, content: Content) -> tuple[dict[str, str], str | None]:
        """The digests of what a file holds, and of what was measured in it, under their names in the certificate."""
        digests, left_out = super().digests(content)
        names, measured = [column["name"] for column in content.fields["columns"]], content.fields["measured"]
        columns = [[names[column] for column in each["columns"]] for each in measured]
        return {**digests, "measured": measured_digest(columns, measured)}, left_out

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


def _exactly(column: ColumnCells, value: object) -> object:
    """A value as rows have it. Raises `ParameterError` for one that the type of the column cannot hold exactly."""
    kind = column.values(np.zeros(1, np.int64), np.zeros(1)).type
    try:
        return pa.scalar(value, kind).as_py()
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        raise ParameterError(
            f"{column.name} is a {column.type}, in rows a {kind}: give a value of that type, not {value!r}"
        ) from None


def _merge_from_json(data: Mapping[str, Any]) -> Merge:
    into, shares = integers_from_json(data["into"]), tuple(map(float, data["shares"]))
    if len(into) != len(shares) or not 0 <= max(into) < len(into) or set(into) != set(range(max(into) + 1)):
        raise ValueError
    return Merge(into, shares)


def _potential_from_json(data: Mapping[str, Any], columns: int) -> tuple[Clique, Numbers]:
    values = np.frombuffer(base64.b64decode(data["values"]), "<f8").astype(np.float64)
    return clique_from_json(data["columns"], columns), values


def _measured_from_json(data: Mapping[str, Any], columns: int) -> Measured:
    mechanism = {name: value for name, value in data.items() if name in ("mechanism", "scale", "sigma")}
    clique, counts = clique_from_json(data["columns"], columns), integers_from_json(data["counts"])
    return Measured(clique, counts, additive_from_json(mechanism))
