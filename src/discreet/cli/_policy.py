"""`discreet policy init`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.errors import ParameterError

__all__ = ["EXAMPLES", "init", "policy"]

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
    from discreet.cli._skeleton import skeleton
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
