"""Questions in a terminal for what a policy leaves open. They depend on names and types alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import typer

from discreet.cli.policy._drafting import row_cap
from discreet.cli.policy._skeleton import ColumnDraft, PolicyDraft, TableDraft, budget_section
from discreet.errors import ParameterError, printable
from discreet.policy import Column
from discreet.privacy import approx
from discreet.query import type_in_policy
from discreet.rational import rational

__all__ = ["asked"]

_T = TypeVar("_T")
_TYPES = "bool, int, float, decimal, string, date, timestamp"


def asked(draft: PolicyDraft, delta: str | None) -> PolicyDraft:
    """The draft with answers to what it left open. Questions go to stderr."""
    tables = tuple(_table(table) for table in draft.tables)
    budget = draft.budget
    if budget is None:
        typer.echo("The budget is the loss you accept over all queries together.", err=True)
        epsilon = _prompt("epsilon of the budget", _epsilon, "later")
        if epsilon is not None:
            given = {"epsilon": epsilon, "delta": delta or "1e-6"}
            budget = budget_section({name: value for name, value in given.items() if value != "0"})
    return replace(draft, tables=tables, budget=budget)


def _table(table: TableDraft) -> TableDraft:
    name = printable(table.name)
    if any(column.guessed for column in table.columns):
        typer.echo(f"{name} declares no types. Those of a policy are {_TYPES}.", err=True)
    table = replace(table, columns=tuple(_typed(column) for column in table.columns))
    if table.unit is None:
        typer.echo(
            f"Whom is a row of {name} about? Name the column of the person, or rows if each row is another.", err=True
        )
        columns = {column.name.casefold(): column.name for column in table.columns}
        unit = _prompt(f"unit of {name}", lambda text: "rows" if text == "rows" else _known(text, columns), None)
        assert unit is not None
        rest = tuple(column for column in table.columns if column.name != unit)
        table = replace(table, unit=unit, columns=rest)
    if table.unit != "rows" and table.max_rows is None:
        rows = _prompt(f"at most how many rows of one person count in {name}", row_cap, None)
        table = replace(table, max_rows=rows)
    return table


def _typed(draft: ColumnDraft) -> ColumnDraft:
    if not draft.guessed:
        return draft
    kind = _prompt(f"type of {printable(draft.name)}", _type, "string")
    return replace(draft, column=Column.model_validate({"type": kind}), guessed=False)


def _prompt(question: str, read: Callable[[str], _T], default: str | None) -> _T | None:
    """An answer that can be read; None for the default `later`."""

    def checked(text: str) -> _T | None:
        try:
            return None if text == default == "later" else read(text.strip())
        except ParameterError as error:
            raise typer.BadParameter(str(error)) from None

    return typer.prompt(question, default=default, value_proc=checked, err=True)


def _type(text: str) -> str:
    kind = type_in_policy(text)
    if kind is None:
        raise ParameterError(f"{text!r} is no type of a policy: {_TYPES}")
    return kind


def _known(text: str, columns: dict[str, str]) -> str:
    if text.casefold() not in columns:
        raise ParameterError(f"there is no column {text!r}; there are {', '.join(columns.values())}")
    return columns[text.casefold()]


def _epsilon(text: str) -> str:
    approx(rational(text, "epsilon"), "1e-6")
    return text
