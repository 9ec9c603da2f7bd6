"""`discreet policy init`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.errors import ParameterError, printable

if TYPE_CHECKING:
    from discreet.engines.duckdb import Declared

__all__ = ["EXAMPLES", "init", "policy", "skeleton"]


EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet policy init visits.parquet\n\n"
    "  discreet policy init shop.duckdb --output shop.toml"
)


def policy() -> None:
    """Write policies: the public facts of a source."""


def init(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", show_default=False, help="A Parquet, CSV or DuckDB file."),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="Where to write the skeleton; an existing file is left as it is. Default: print it.",
        ),
    ] = None,
) -> None:
    """Write a commented skeleton of a policy from column names and declared types alone.

    No value is read. What only the owner of the data can decide is left open, and a policy is refused until it is said.
    """
    from discreet.engines.duckdb import declared_tables

    text = skeleton(data.name, declared_tables(data))
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ParameterError(f"{output} exists and is left as it is; name another file, or remove it first") from None
    except OSError as error:
        raise ParameterError(f"{output} cannot be written: {error.strerror}; name another file") from None
    typer.echo(f"{output}: say unit, version and budget, then bounds and keys where you need them.", err=True)


_HEAD = """\
# A policy for {source}, written from its column names and declared types. No value was read.
#
# Everything in a policy is public, and every promise of privacy rests on it. Decide from what you know about how the
# data came to be, never by looking at the rows: a bound that is the data's own maximum gives that person away.
# The policy is refused until version, budget and unit are said. docs/policy.md explains every key.

# DECIDE: a public label of this state of the data. Same label, same stored answers; new data, new label.
# version = "2026-11"

# Neighbours differ by one person added or removed. With "substitute": by one person's rows replaced.
relation = "add_remove"

[budget]
# DECIDE: the loss you accept over all queries together, for as long as anyone asks about these people.
# epsilon = 1.0
# What a GROUP BY over private keys spends beside epsilon: the probability that the promise fails. Keep it far below
# 1 / number of people. A ledger that is made without a delta takes no such query later.
delta = 1e-6
"""

_TABLE = """\

[tables.{table}]
# DECIDE: whom a row is about: the column that names the person, or "rows" if every row is another person.
# unit = "..."
# DECIDE, unless unit = "rows": how many rows of one person may count, and in how many groups of one query.
# max_rows = ...
# max_groups = ...
#
# Remove the columns that no query needs. Of the others, DECIDE
#   bounds, needed by SUM and AVG: values beyond are moved to the nearer bound;
#   keys, the public values to GROUP BY: left out, they are private, and discovering them costs a delta.
"""

_UNTYPED = """\
# A CSV file declares no types: change "string" to bool, int, float, decimal, date or timestamp where it is one.
"""

_BOUNDS, _KEYS = "# bounds = [lower, upper]", "# keys = [...]"
_NUMBERS = ("float", "decimal")


def skeleton(source: str, tables: Mapping[str, Declared]) -> str:
    """The TOML text. It depends on names and types alone.

    >>> print(skeleton("t.csv", {"t": {"age": "int"}}).splitlines()[0])
    # A policy for t.csv, written from its column names and declared types. No value was read.
    """
    untyped = re.search(r"\.[ct]sv(\.gz)?$", source, re.IGNORECASE) is not None
    parts = [_HEAD.format(source=printable(source))]
    for table, columns in tables.items():
        parts.append(_TABLE.format(table=_key(table)))
        if untyped:
            parts.append(_UNTYPED)
        for name, kind in columns.items():
            parts.append("\n".join(_column(table, name, kind, untyped=untyped)) + "\n")
    return "".join(parts)


def _column(table: str, name: str, kind: str | None, *, untyped: bool) -> Iterator[str]:
    if kind is None:
        yield f"\n# {printable(name)} is of a type that policies do not have; it stays invisible."
        return
    yield f"\n[tables.{_key(table)}.columns.{_key(name)}]"
    yield f'type = "{kind}"'
    if untyped or kind in (*_NUMBERS, "int"):
        yield _BOUNDS
    if kind not in _NUMBERS:
        yield _KEYS


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _string(name)


def _string(name: str) -> str:
    """A TOML basic string on one line."""
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
