"""Queries as the desk answers them: what their columns are, what they cost, and their answers. All of it may wait."""

from __future__ import annotations

import asyncio
import datetime as dt
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Protocol

import pyarrow as pa

from discreet.errors import QueryError
from discreet.policy import Policy
from discreet.privacy import Loss, in_words
from discreet.query import Release
from discreet.server.desk import Answered, Ask, Caller, Desk, Quote, Refusal, Ticket
from discreet.server.postgres._constants import constant_answer
from discreet.server.postgres._desk_tables import desk_answer
from discreet.server.postgres._refusals import SqlError, query_state
from discreet.server.postgres._settings import Settings
from discreet.server.postgres.codec.backend import Notice
from discreet.server.postgres.statements.tokens import tokens_of
from discreet.server.postgres.values.literals import quoted
from discreet.server.postgres.values.types import TYPE_KEY, type_named

__all__ = ["Catalogue", "Described", "Questions", "Result"]

_PLAN: Final = "QUERY PLAN"
_BARS: Final = b"bars"
_OIDS: Final = {"bool": 16, "int": 20, "float": 701, "string": 25, "date": 1082, "timestamp": 1114}


class Description(Protocol):
    """The types of a query's parameters, and the names and types of its columns, as PostgreSQL names them."""

    @property
    def parameters(self) -> tuple[str, ...]: ...

    @property
    def columns(self) -> tuple[tuple[str, str], ...]: ...


class Catalogue(Protocol):
    """What tells of the tables that there are, from the policy alone."""

    def answer(
        self, sql: str, parameters: Sequence[Any] = (), settings: Mapping[str, str] | None = None
    ) -> pa.Table | None:
        """The answer to a query of the catalogue; None for a query of anything else. Raises `QueryError`."""
        ...

    def describe(self, sql: str, parameters: int = 0) -> Description | None:
        """What such a query takes and gives; None for a query of anything else. Raises `QueryError`."""
        ...


@dataclass(frozen=True, slots=True)
class Described:
    """A query before it is asked: its columns, its price (None is free), and its answer where that is at hand."""

    schema: pa.Schema
    price: Loss | None = None
    table: pa.Table | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """An answer, whether it was paid for now, whether it waits for a beat, and what is to be said of it."""

    table: pa.Table
    paid: bool = False
    is_held: bool = False
    notices: tuple[Notice, ...] = ()


class Questions:
    """What one session asks. Every call may wait: make it in a thread, and in the account's `planning` or `turn`.

    Raises `SqlError` and `Refusal` for what is refused. `columns` are the types of the policy's columns by name, in
    lower case, and `samples` a constant of SQL for each that has keys or bounds.
    """

    def __init__(  # noqa: PLR0913, PLR0917
        self,
        desk: Desk,
        caller: Caller,
        catalogue: Catalogue | None,
        database: str,
        process: int,
        turn: asyncio.Semaphore,
        planning: asyncio.Semaphore,
    ) -> None:
        self._desk, self._caller, self._catalogue = desk, caller, catalogue
        self._database, self._process = database, process
        self.turn, self.planning, self.beat = turn, planning, desk.beat
        self.columns, self.samples = _columns(desk.policy), _samples(desk.policy)

    def describe_catalogue(self, text: str, parameters: int) -> tuple[tuple[int, ...], Described] | None:
        """The types of a catalogue query's parameters, and its columns; None for other queries."""
        try:
            description = None if self._catalogue is None else self._catalogue.describe(text, parameters)
        except QueryError:
            return None  # and why, whoever runs it hears
        if description is None:
            return None
        schema = pa.schema(
            [pa.field(name, pa.string(), metadata={TYPE_KEY: kind}) for name, kind in description.columns]
        )
        return tuple(type_named(name).oid for name in description.parameters), Described(schema)

    def describe(self, text: str, settings: Settings) -> Described:
        """The columns of a query and its price. Costs nothing."""
        table = self._free(text, settings)
        if table is not None:
            return Described(table.schema, table=table)
        if _takes_no_rows(text):
            schema = self._columns_alone(text, settings)
            return Described(schema, table=schema.empty_table())
        quote = self._desk.quote(self._caller, _ask(text, settings), earlier=False)
        schema = _schema(quote, errors=settings.is_on("errors"))
        return Described(schema, None if settings.is_on("rehearse") else quote.price)

    def _columns_alone(self, text: str, settings: Settings) -> pa.Schema:
        """The columns of a query that wants no rows: as it would be answered, or else as empty tables have them."""
        ask = _ask(text, settings)
        try:
            quote = self._desk.quote(self._caller, ask, earlier=False)
        except Refusal as refusal:
            if refusal.kind != "query":
                raise
            try:
                return self._desk.columns_alone(self._caller, ask)
            except Refusal:
                raise refusal from None
        return _schema(quote, errors=settings.is_on("errors"))

    def answer(self, text: str, settings: Settings, ticket: Ticket) -> Result:
        """The answer to a query. What it costs is charged, within `Settings.max_price`."""
        unasked = self._unasked(text, settings)
        if unasked is not None:
            return unasked
        answered = self._desk.answer(self._caller, _ask(text, settings), settings.max_price, ticket=ticket)
        return self._result(answered, settings)

    def answer_free(self, text: str, settings: Settings) -> Result | None:
        """The answer to a query if it is free; None where it costs more than that, whether or not it may."""
        unasked = self._unasked(text, settings)
        if unasked is not None:
            return unasked
        try:
            answered = self._desk.answer(self._caller, _ask(text, settings), probing=True)
        except Refusal as refusal:
            if refusal.kind == "price":
                return None
            raise
        return self._result(answered, settings)

    def _unasked(self, text: str, settings: Settings) -> Result | None:
        """The answer to a query for which no ledger is asked; None for others."""
        table = self._free(text, settings)
        if table is None and _takes_no_rows(text):
            table = self.describe(text, settings).table
        if table is not None:
            return Result(table)
        if settings.is_on("rehearse"):
            return self._result(self._desk.rehearse(self._caller, _ask(text, settings)), settings)
        return None

    def _result(self, answered: Answered, settings: Settings) -> Result:
        errors, level = settings.is_on("errors"), settings.level
        form = f"postgres {errors} {level}"
        stored = self._desk.encode(answered, form, lambda each: _encoded(each.table, errors=errors, level=level))
        table = pa.ipc.open_stream(stored).read_all()
        bars = (table.schema.metadata or {}).get(_BARS, b"").decode()
        notice = Notice("NOTICE", "00000", _cost(answered), bars or None)
        return Result(table.replace_schema_metadata(None), answered.source == "paid", answered.is_held, (notice,))

    def explain(self, text: str, settings: Settings) -> pa.Table:
        """The plan of a query in words, a line a row. Costs nothing."""
        if self._free(text, settings) is not None:
            return pa.table({_PLAN: ["Free: nothing private is read."]})
        quote = self._desk.quote(self._caller, _ask(text, settings))
        lines = quote.words.splitlines()
        if quote.price is not None:
            lines.append(f"Price: {in_words(quote.price)}")
        elif quote.loss is not None:
            lines.append("Price: free")
        for each in quote.answers:
            errors = ", ".join(f"{name} ± {half:.4g}" for name, half in each.errors.items())
            lines.append(f"Answered already, free: at {in_words(each.loss)}{f' ({errors})' if errors else ''}")
        return pa.table({_PLAN: pa.array(lines, pa.string())})

    def _free(self, text: str, settings: Settings) -> pa.Table | None:
        """The answer to a query that reads nothing private; None for others."""
        table = constant_answer(text, self._caller.name, self._database, self._process)
        if table is None and self._catalogue is not None:
            try:
                table = self._catalogue.answer(text, (), settings.changed)
            except QueryError as error:
                raise SqlError(query_state(str(error)), str(error)) from None
        return desk_answer(text, self._desk, self._caller) if table is None else table


def _columns(policy: Policy) -> Mapping[str, int]:
    """Types by name; where tables disagree, none, and a parameter is text."""
    types: dict[str, int] = {}
    for table in policy.tables.values():
        for name, column in table.columns.items():
            oid = _OIDS.get(column.type, 0)
            types[name.lower()] = oid if types.get(name.lower(), oid) == oid else 0
    return types


def _samples(policy: Policy) -> Mapping[str, str]:
    samples: dict[str, str] = {}
    for table in policy.tables.values():
        for name, column in table.columns.items():
            value: object = None
            if column.keys:
                value = column.keys[len(column.keys) // 2]
            elif column.bounds is not None:
                low, high = column.bounds
                value = low + (high - low) / 2  # pyright: ignore[reportOperatorIssue]
            if value is not None:
                samples[name.lower()] = _constant(value)
    return samples


def _constant(value: object) -> str:
    match value:
        case bool():
            return str(value).upper()
        case str():
            return quoted(value)
        case dt.datetime():
            return f"CAST('{value.replace(microsecond=0).isoformat(sep=' ')}' AS TIMESTAMP)"
        case dt.date():
            return f"CAST('{value.isoformat()}' AS DATE)"
        case _:
            return f"({math.floor(float(str(value)) if not isinstance(value, Fraction) else value)})"


def _ask(text: str, settings: Settings) -> Ask:
    return Ask(text, settings.spend, "postgres", settings.is_on("bias"), level=settings.level)


def _takes_no_rows(text: str) -> bool:
    """Whether a query ends with LIMIT 0, as those do that look at columns alone."""
    if "limit" not in text.lower():
        return False
    return [token.text.upper() for token in tokens_of(text)[-2:]] == ["LIMIT", "0"]


def _schema(quote: Quote, *, errors: bool) -> pa.Schema:
    """The columns of the answer, with those of `Release.to_arrow` for errors."""
    fields: list[pa.Field] = []
    taken = {column.name.casefold() for column in quote.columns}
    for column in quote.columns:
        fields.append(pa.field(column.name, column.type))
        if errors and column.noisy:
            kind = pa.float64() if column.name in quote.plan.numbers else column.type
            ends = _interval_names(column.name, taken)
            taken |= {end.casefold() for end in ends}
            fields += [pa.field(end, kind) for end in ends]
    return pa.schema(fields)


def _interval_names(name: str, taken: set[str]) -> tuple[str, str]:
    number = 1
    while True:
        tail = "" if number == 1 else f"_{number}"
        low, high = f"{name}_low{tail}", f"{name}_high{tail}"
        if not {low.casefold(), high.casefold()} & taken:
            return low, high
        number += 1


def _encoded(release: Release, *, errors: bool, level: float) -> bytes:
    """An answer as a session reads it: an Arrow stream, with its error bars in words beside it."""
    table = release.to_arrow(errors=errors, level=level)
    halves: dict[str, Sequence[float]] = {}
    taken = {name.casefold() for name in release.answer.table.column_names}
    for name in release.noisy:
        if not errors:
            halves[name] = release.error(name, level).tolist()
            continue
        low, high = _interval_names(name, taken)
        taken |= {low.casefold(), high.casefold()}
        numbers = pa.types.is_floating(table.schema.field(low).type)
        halves[name] = [(b - a) / 2 for a, b in zip(*_ends(table, low, high), strict=True)] if numbers else []
    bars = [bar for name, each in halves.items() if (bar := _bar(release, name, each))]
    words = f"With probability {level:.4g}: {', '.join(bars)}." if bars else ""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.with_metadata({_BARS: words.encode()})) as writer:
        writer.write_table(table.replace_schema_metadata({_BARS: words.encode()}))
    return sink.getvalue().to_pybytes()


def _cost(answered: Answered) -> str:
    match answered.source:
        case "paid" if answered.price is not None:
            return f"this answer cost {in_words(answered.price)}"
        case "rehearsal":
            return "a rehearsal: rows made up from the policy, which say nothing of the data; free"
        case "shelf":
            return "free: another account paid for this answer"
        case "repeat":
            return "free: this account has had this answer before"
        case _:
            return "free: nothing private was read"


def _ends(table: pa.Table, low: str, high: str) -> tuple[list[float], list[float]]:
    """The ends of the intervals of a column, where there are any."""
    pairs = zip(table.column(low).to_pylist(), table.column(high).to_pylist(), strict=True)
    known = [(a, b) for a, b in pairs if a is not None and b is not None]
    return [a for a, _ in known], [b for _, b in known]


def _bar(release: Release, name: str, halves: Sequence[float]) -> str:
    known = [float(half) for half in halves if not math.isnan(half)]
    if not known:
        rows = release.rank_error(name)
        return "" if rows is None else f"{name} within ± {rows:.4g} rows of its rank"
    least, most = f"{min(known):.4g}", f"{max(known):.4g}"
    return f"{name} ± {most}" if least == most else f"{name} ± {least} to {most}"
