r"""What a statement does: SQL is asked at the price that was set, and a command such as \plan costs nothing."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from discreet.cli._options import Format, spend_of
from discreet.cli._output import print_release, print_table
from discreet.cli._plan import explained
from discreet.cli.shell._statements import is_command
from discreet.elapsed import elapsed
from discreet.errors import DiscreetError, ParameterError, printable

if TYPE_CHECKING:
    from discreet.policy import Column, Policy
    from discreet.privacy import Loss
    from discreet.session import Session

__all__ = ["COMMANDS", "Statements"]

_HELP = r"""
SELECT … ;            ask, at the price that \spend has set; a repeat is free
\plan [SELECT …]      show bounds, noise and errors of a query, or of the last one; costs nothing.
                      \plan --assume-rows N SELECT … supposes N rows, for the errors of averages
\spend epsilon=0.1    what each query costs from now on: one of epsilon, rho and mu, and delta beside
                      it; \spend alone shows it
\budget               what is spent and what is left
\tables               the tables of the policy
\columns TABLE        the columns of a table, with their bounds and keys
\help                 this list
\quit                 end, as Ctrl-D does

SQL may take several lines; `;` ends it. A command ends with its line. Ctrl-C forgets the line, or stops
the query; what was charged stays charged.
"""
COMMANDS = tuple(dict.fromkeys(re.findall(r"^\\\w+", _HELP, re.MULTILINE)))
_PRICE = r"\spend epsilon=0.1"
_SHOWN_KEYS = 200


class Statements:
    """The statements of one shell, on one session."""

    def __init__(  # noqa: PLR0913, PLR0917
        self, session: Session, policy: Policy, spend: Loss | None, form: Format, level: float, rows: int | None
    ) -> None:
        self._session, self._policy = session, policy
        self._spend, self._form, self._level, self._rows = spend, form, level, rows
        self._last: str | None = None
        self._commands: dict[str, Callable[[str], None]] = {
            "\\plan": self._plan,
            "\\spend": self._price,
            "\\budget": self._budget,
            "\\tables": self._tables,
            "\\columns": self._columns,
            "\\help": self._help,
        }

    def status(self) -> str:
        """A line for beside the prompt: what a query costs, and what is left."""
        from discreet.privacy import in_words

        price = f"no price is set: {_PRICE}" if self._spend is None else f"a query costs {in_words(self._spend)}"
        try:
            left = f"left {in_words(self._session.remaining)}"
        except DiscreetError:
            left = "the ledger cannot be read now"
        return f"{price}; {left}"

    def run(self, text: str) -> bool:
        r"""Do what a statement says; False for \quit. Raises what `Session.sql` and `Session.plan` raise."""
        if not is_command(text):
            self._ask(text)
            return True
        name, _, rest = text.strip().partition(" ")
        if name in ("\\quit", "\\q"):
            return False
        command = self._commands.get(name)
        if command is None:
            raise ParameterError(f"there is no command {name}; there are {', '.join(COMMANDS)}")
        command(rest.strip().rstrip(";").rstrip())
        return True

    def _ask(self, sql: str) -> None:
        self._last = sql
        if self._spend is None:
            raise ParameterError(f"say what a query may cost, for example {_PRICE}, or see it first: \\plan")
        with elapsed():
            release = self._session.sql(sql, self._spend)
            remaining = self._session.remaining
        print_release(release, remaining, self._form, self._level)

    def _plan(self, rest: str) -> None:
        from dataclasses import replace

        from discreet.privacy import in_words

        match = re.fullmatch(r"(?:--assume-rows[ =]+(\d{1,15})\b)?\s*(.*)", rest, re.DOTALL)
        assert match is not None  # it matches any text
        rows = self._rows if match[1] is None else int(match[1])
        if rows == 0:
            raise ParameterError("--assume-rows is a whole number of rows, 1 or more")
        sql = match[2] or self._last
        if sql is None:
            raise ParameterError("there is no query yet: write \\plan SELECT …")
        self._last = sql
        with elapsed():
            plan = replace(self._session.plan(sql, self._spend), rows=rows)
            remaining = self._session.remaining
            print_table(plan.table(self._level).rich_table())
            typer.echo(explained(plan, self._level))
        fits = "" if plan.loss is None or plan.loss.fits(remaining) else "; this does not fit"
        typer.echo(f"Ledger: {in_words(remaining)} is left{fits}.")

    def _price(self, rest: str) -> None:
        from discreet.privacy import in_words

        if rest:
            given: dict[str, str] = {}
            self._spend = None  # where this fails, nothing is asked at the price from before
            for word in rest.replace("--", "").split():
                name, _, value = word.partition("=")
                if name not in ("epsilon", "rho", "mu", "delta") or not value or name in given:
                    raise ParameterError(f"write {_PRICE}, or rho=R or mu=M, and delta=D beside it; got {word}")
                given[name] = value
            self._spend = spend_of(*(given.get(name) for name in ("epsilon", "rho", "mu", "delta")))
        if self._spend is None:
            raise ParameterError(f"no price is set: write {_PRICE}")
        typer.echo(f"each query costs {in_words(self._spend)}")

    def _budget(self, rest: str) -> None:
        from discreet.privacy import in_words

        _takes_nothing("\\budget", rest)
        spent, left = self._session.spent, self._session.remaining
        typer.echo(f"spent {in_words(spent)}; left {in_words(left)}")

    def _tables(self, rest: str) -> None:
        _takes_nothing("\\tables", rest)
        for name, table in self._policy.tables.items():
            whose = "public" if table.public else f"unit {table.unit}"
            _print_lines(f"{name}: {whose}; {', '.join(table.columns)}")

    def _columns(self, rest: str) -> None:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        names = [name for name in self._policy.tables if name.casefold() == rest.strip('"').casefold()]
        if not names and not rest and len(self._policy.tables) == 1:
            names = list(self._policy.tables)
        if not names:
            raise ParameterError(f"\\columns takes a table of the policy: {', '.join(self._policy.tables)}")
        table = Table("column", "type", "bounds", "public keys", "null", box=box.SIMPLE_HEAD)
        for name, column in self._policy.tables[names[0]].columns.items():
            table.add_row(*(Text(printable(cell)) for cell in (name, *_facts(column))))
        print_table(table)

    def _help(self, rest: str) -> None:
        _takes_nothing("\\help", rest)
        typer.echo(_HELP.strip())


def _facts(column: Column) -> tuple[str, str, str, str]:
    from discreet.policy import toml_value

    bounds = "" if column.bounds is None else " to ".join(map(toml_value, column.bounds))
    keys = "" if column.keys is None else ", ".join(map(str, column.keys))
    shown = keys if len(keys) <= _SHOWN_KEYS else f"{keys[:_SHOWN_KEYS]}…"
    return column.type, bounds, shown, "may be" if column.nullable else "never"


def _print_lines(text: str) -> None:
    typer.echo("\n".join(textwrap.wrap(printable(text), 100, subsequent_indent="    ")))


def _takes_nothing(command: str, rest: str) -> None:
    if rest:
        raise ParameterError(f"{command} takes nothing after it; got {rest}")
