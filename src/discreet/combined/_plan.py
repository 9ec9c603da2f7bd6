"""The plan of a query over releases: the plans of its parts, and the rest, which costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from sqlglot import exp

from discreet.combined._allowed import check_rest, total_sql
from discreet.combined._answer import CombinedAnswer, combine
from discreet.combined._run import rehearse, run_rest
from discreet.combined._split import NUMBER, PublicTable, Split, part_name, public_name, split
from discreet.combined._trace import Output, trace
from discreet.errors import ParameterError, QueryError
from discreet.policy import Policy
from discreet.privacy import Loss, in_words, to_json
from discreet.query import (
    ARROW,
    READABLE,
    Answer,
    Group,
    Level,
    Plan,
    PlanTable,
    ReadPublic,
    check_level,
    level_spends,
    public_groups,
    refusals,
    together,
    with_spend,
    without_pivots,
)
from discreet.rational import Number
from discreet.recursion import with_room
from discreet.release import json_digest

__all__ = ["CombinedPlan", "combined_plan"]

FORMAT = 1
"""Number of the format of the rest; it enters the hash, so a change of meaning never reuses a stored answer."""


@dataclass(frozen=True, slots=True, repr=False)
class CombinedPlan(Plan):
    """A query over releases: it has the levels of all its parts, each of which is paid for.

    Attributes
    ----------
    parts
        The plans of the sub-queries that are releases, each once. They share the spend evenly.
    tables
        The public tables that the rest reads, with the columns of each that it does.
    rest
        The SQL over both, as DuckDB runs it.
    outputs, cells, picks
        Its columns; those with cells behind them; whether noise decides which rows there are.
    result
        The names and types of its columns.
    """

    parts: tuple[Plan, ...] = ()
    tables: tuple[PublicTable, ...] = ()
    rest: str = ""
    outputs: tuple[Output, ...] = ()
    cells: tuple[str, ...] = ()
    picks: bool = False
    result: pa.Schema | None = None

    def hash(self, policy: Policy) -> str:
        """SHA-256 of the plans of the parts, the rest with the tables that it reads, the spend and the format."""
        content = {
            "format": FORMAT,
            "parts": [part.hash(policy) for part in self.parts],
            "rest": self.rest,
            "tables": [[table.name, *table.columns] for table in self.tables],
            "spend": None if self.loss is None else to_json(self.loss),
        }
        return json_digest(content)

    @property
    def all_levels(self) -> tuple[Level, ...]:
        """The levels of all parts, with those that choose their caps."""
        return tuple(level for part in self.parts for level in part.all_levels)

    @property
    def loss(self) -> Loss | None:
        """What running the plan will charge: what all parts do; None without a spend."""
        return together([part.loss for part in self.parts if part.loss is not None])

    @property
    def schema(self) -> pa.Schema:
        """The names and types of the output columns, in order."""
        assert self.result is not None
        return self.result

    @property
    def noisy(self) -> tuple[str, ...]:
        """The output columns that will carry noise, in order."""
        return tuple(output.name for output in self.outputs if output.noisy and not self._is_text(output.name))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The output columns that will carry noise and are numbers, in order."""
        return tuple(name for name in self.noisy if not pa.types.is_temporal(self.schema.field(name).type))

    def _is_text(self, name: str) -> bool:
        kind = self.schema.field(name).type
        return pa.types.is_string(kind) or pa.types.is_boolean(kind)

    def released(self, column: str) -> tuple[tuple[int, str], ...]:
        """The parts, by their places, and the columns of theirs of which an output column shows the numbers."""
        ends = [(place, name) for place, part in enumerate(self.parts) for name in part.schema.names]
        used = next((output.columns for output in self.outputs if output.name == column), frozenset[int]())
        return tuple(ends[i] for i in sorted(used))

    def windowed(self, column: str) -> bool:  # noqa: ARG002
        """False: windows in the rest are part of it."""
        return False

    def barless(self, column: str) -> bool:
        """Whether an output column shows no released numbers, so that it has no error bar."""
        return not self.released(column)

    def error(self, column: str, level: float = 0.95) -> float | None:
        """The half-width of an output column that shows released numbers, the widest of them; None for any other.

        None, too, where it depends on data, as `Plan.error` has it, or noise decides which rows there are: then it is
        known with the release. Raises `ParameterError` without a spend, or for no such column.
        """
        if self.loss is None:
            raise ParameterError("errors need a spend: plan(query, spend=…)")
        level = check_level(level)
        if column not in self.schema.names:
            raise ParameterError(f"the result has no column {column}; it has {', '.join(self.schema.names)}")
        halves = [self.parts[place].error(name, level) for place, name in self.released(column)]
        known = [half for half in halves if half is not None]
        return None if self.picks or not known or len(known) < len(halves) else max(known)

    def approximate(self, column: str) -> bool:
        """Whether the half-width of an output column will be approximate."""
        return self.picks or any(self.parts[place].approximate(name) for place, name in self.released(column))

    def rank_error(self, column: str, level: float = 0.95) -> float | None:
        """As `Plan.rank_error` of the released quantiles that a column shows, the largest; None if it shows others."""
        ranks = [self.parts[place].rank_error(name, level) for place, name in self.released(column)]
        known = [rank for rank in ranks if rank is not None]
        return max(known) if known and len(known) == len(ranks) else None

    def spend_for(
        self,
        error: Mapping[str, Number],  # noqa: ARG002
        level: float = 0.95,  # noqa: ARG002
        currency: str | None = None,  # noqa: ARG002
        delta: Number | None = None,  # noqa: ARG002
    ) -> Loss:
        """Not for a query over releases: raises `ParameterError`."""
        raise ParameterError(
            "spend_for is for a query that is one release; ask it of each of plan.parts, which share the spend evenly"
        )

    def finish(self, noisy: Sequence[Sequence[Group]]) -> CombinedAnswer:
        """The answer from the groups of each level of each part that have had their noise: post-processing."""
        return self.combined(noisy, {})[0]

    def combined(self, noisy: Sequence[Sequence[Group]], tables: Mapping[str, pa.Table]) -> tuple[CombinedAnswer, bool]:
        """The answer, with the rows of the public `tables` beside the parts, and whether the rest could be computed."""
        answers, first = list[Answer](), 0
        for part in self.parts:
            answers.append(part.finish(noisy[first : first + len(part.levels)]))
            first += len(part.levels)
        released = {part_name(i): _part_table(each.table, self.parts[i].schema) for i, each in enumerate(answers)}
        rows, width = run_rest(self.rest, {**released, **tables}), len(self.schema)
        values = self.schema.empty_table() if rows is None else pa.table(rows.columns[:width], schema=self.schema)
        behind = [pa.array([], pa.int64())] * len(self.cells) if rows is None else rows.columns[width:]
        cells = dict(zip(self.cells, behind, strict=True))
        return combine(values, self.noisy, cells, answers, picks=self.picks), rows is not None

    def table(self, level: float = 0.95) -> PlanTable:
        """A row for each column of the answer: what it is, and its error at `level`."""
        level = check_level(level)
        rows = [(output.name, *self._row_words(output, level)) for output in self.outputs]
        cost = "no spend yet: plan(query, spend=dp.pure(0.5)) shows errors"
        if self.loss is not None:
            cost = f"errors are half-widths of the noise; cost {in_words(self.loss)}"
        shares = f", each for {_share(self.parts[0])}" if self.loss is not None else ""
        count = len(self.parts)
        notes = [f"computed from {count} release{'' if count == 1 else 's'}{shares}; more in explain()", cost]
        return PlanTable(("column", "is", f"error, {100 * level:.10g} %"), rows, notes)

    def _row_words(self, output: Output, level: float) -> tuple[str, str]:
        ends = self.released(output.name)
        if output.name not in self.noisy:
            return "computed from released values" if output.noisy else "key", "none"
        if not ends:
            return "computed from released values", "" if self.loss is None else "no error bar"
        words = "; ".join(f"{name} of release {place + 1}" for place, name in ends)
        words += ", where it is one" if output.taken else ""
        return words, "" if self.loss is None else self._half(output.name, level)

    def _half(self, column: str, level: float) -> str:
        half = self.error(column, level)
        if half is not None:
            return f"± {'~' if self.approximate(column) else ''}{half:,.4g}"
        return "known with the release: noise picks the rows" if self.picks else "depends on the data"

    def explain(self, level: float = 0.95) -> str:
        """What the plan does: each release in full, and then what is computed from them."""
        level = check_level(level)
        count = len(self.parts)
        shares = "one release" if count == 1 else f"{count} releases, which share the spend evenly"
        lines = [self.sql, "", f"Computed from {shares}. What is computed from released values costs nothing."]
        for place, part in enumerate(self.parts, 1):
            words = part.explain(level).splitlines()
            lines += ["", f"Release {place}:", *(f"  {line}".rstrip() for line in words)]
        if self.tables:
            lines += ["", f"Public tables read beside them: {', '.join(table.name for table in self.tables)}."]
        lines += ["", "Columns:"]
        for output in self.outputs:
            what, half = self._row_words(output, level)
            lines.append(f"  {output.name}: {what}{f'; {half}' if half else ''}")
        cost = "Give a spend to see the noise: plan(query, spend=dp.pure(0.5))."
        return "\n".join([*lines, "", cost if self.loss is None else f"Cost: {in_words(self.loss)}."])


def _share(part: Plan) -> str:
    assert part.loss is not None
    return in_words(part.loss)


@with_room
def combined_plan(
    query: exp.Query,
    policy: Policy,
    spend: Loss | None = None,
    read: ReadPublic | None = None,
    *,
    grouped: bool = False,
) -> CombinedPlan:
    """The plan of a query over releases. Costs nothing, and runs the rest on example rows alone.

    With `grouped`, a PIVOT groups by the values that become columns, too.

    Raises `NoRelease` where no sub-query is a release, `QueryError` for what else is not supported, and
    `ParameterError` for a spend that cannot buy the parts.
    """
    written = query.sql(dialect="duckdb")
    with refusals():
        parted = split(without_pivots(query, policy, grouped=grouped), policy, read)
        check_rest(parted.rest)
        traced = trace(parted)
        tables = _read_tables(parted, policy)
        rest = total_sql(parted.rest)
        result = rehearse(rest, {**_part_schemas(parted.parts), **public_schemas(tables, policy)})
    names = [output.name for output in traced.outputs]
    _check_order(query, len(names))
    fields = [pa.field(name, result.field(i).type) for i, name in enumerate(names)]
    parts = parted.parts
    plan = CombinedPlan(
        written,
        exp.Select(expressions=[exp.alias_(exp.column(name, quoted=True), name, quoted=True) for name in names]),
        tuple(level for part in parts for level in part.levels),
        tuple(aggregate for part in parts for aggregate in part.aggregates),
        parts[0].unit,
        None,
        currency=parts[0].currency,
        parts=parts,
        tables=tables,
        rest=rest,
        outputs=traced.outputs,
        cells=traced.cells,
        picks=traced.picks,
        result=pa.schema(fields),
    )
    return plan if spend is None else _with_spend(plan, spend)


def _check_order(query: exp.Query, columns: int) -> None:
    """Raise `QueryError` for ORDER BY the number of a column that there is not."""
    order = query.args.get("order")
    for term in () if order is None else order.expressions:
        place = term.this.unnest()
        if isinstance(place, exp.Literal) and place.is_int and not 1 <= int(place.name) <= columns:
            raise QueryError(
                f"ORDER BY {place.name} is not a column of the result; it has {columns}: write the name of one"
            )


def _with_spend(plan: CombinedPlan, spend: Loss) -> CombinedPlan:
    """The plan with an even share of a spend for each part, and of its δ for each that discovers keys."""
    discover = [any(level.bounded.count_units for level in part.levels) for part in plan.parts]
    spends = level_spends(spend, discover)
    parts = tuple(with_spend(part, share) for part, share in zip(plan.parts, spends, strict=True))
    return replace(plan, parts=parts, levels=tuple(level for part in parts for level in part.levels), spend=spend)


def _part_table(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """The released rows of a part as the rest reads them: its columns by their places, and the number of each row."""
    names = [f"c{i}" for i in range(rows.num_columns)]
    return pa.table([*rows.cast(schema).columns, pa.array(range(rows.num_rows), pa.int64())], names=[*names, NUMBER])


def _part_schemas(parts: Sequence[Plan]) -> dict[str, tuple[pa.Schema, int]]:
    schemas: dict[str, tuple[pa.Schema, int]] = {}
    for place, part in enumerate(parts):
        fields = [pa.field(f"c{i}", each.type) for i, each in enumerate(part.schema)]
        schemas[part_name(place)] = pa.schema([*fields, pa.field(NUMBER, pa.int64())]), _example_rows(part)
    return schemas


def _example_rows(part: Plan) -> int:
    """How many rows a release surely has if these are few; one where a filter or LIMIT may leave one alone."""
    if any(part.select.args.get(name) for name in ("having", "qualify", "limit")):
        return 1
    return min(3, sum(public_groups(level.bounded.keys) or 3 for level in part.levels))


def public_schemas(tables: Sequence[PublicTable], policy: Policy) -> dict[str, tuple[pa.Schema, int]]:
    """The schemas of the public tables, by what the rest calls them."""
    schemas: dict[str, tuple[pa.Schema, int]] = {}
    for place, table in enumerate(tables):
        declared = policy.tables[table.name].columns
        every = list(declared)
        fields = [pa.field(f"c{every.index(name)}", ARROW[declared[name].type]) for name in table.columns]
        schemas[public_name(place)] = pa.schema(fields), 3
    return schemas


def _read_tables(parted: Split, policy: Policy) -> tuple[PublicTable, ...]:
    """The public tables with the columns that the rest names; it leaves out the others, in place.

    Raises `QueryError` for a table without a `key`, and for a column of a type that is not read.
    """
    named = {column.name.casefold() for column in parted.rest.find_all(exp.Column)}
    tables: list[PublicTable] = []
    for place, table in enumerate(parted.tables):
        declared = policy.tables[table.name]
        if declared.key is None:
            raise QueryError(
                f"the public table {table.name} needs a key to be read beside releases, so that none of its rows is "
                'read twice; declare key = "…" in the policy'
            )
        used = [name for name in table.columns if name.casefold() in named or name == declared.key]
        if any(_is_renamed(source) for source in _sources_of(parted.rest, public_name(place))):
            used = list(table.columns)
        for name in used:
            if (kind := declared.columns[name].type) not in READABLE:
                raise QueryError(
                    f"{name} of the public table {table.name} is a {kind}; beside releases whole numbers, texts, truth "
                    "values, dates and timestamps are read: write the query without it"
                )
        for source in _sources_of(parted.rest, public_name(place)):
            left = [item for item in source.expressions if item.alias in used or not item.this.name.startswith("c")]
            source.set("expressions", left)
        tables.append(PublicTable(table.name, tuple(used)))
    return tuple(tables)


def _sources_of(rest: exp.Query, table: str) -> list[exp.Select]:
    selects = [node.parent_select for node in rest.find_all(exp.Table) if node.name == table]
    return [select for select in selects if isinstance(select, exp.Select)]


def _is_renamed(source: exp.Select) -> bool:
    alias = None if source.parent is None else source.parent.args.get("alias")
    return alias is not None and bool(alias.args.get("columns"))
