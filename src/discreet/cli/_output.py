"""A release on stdout: a table for people, CSV, or one JSON object."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli._options import Format
from discreet.errors import printable

if TYPE_CHECKING:
    from rich.table import Table

    from discreet.privacy import Loss
    from discreet.query import Bias, Release

__all__ = ["print_json", "print_release", "print_table", "release_json"]

_FIRST = 50
"""Of a longer answer the table has so many rows; files and the other formats have all of them."""


def print_release(release: Release, remaining: Loss, form: Format, level: float, output: Path | None = None) -> None:
    """Print a release, all rows of which are in `output` if that is given.

    NaN and infinities become nulls; dates and timestamps become ISO 8601 text.
    """
    if form is Format.json:
        print_json(release_json(release, remaining, level))
    elif form is Format.csv:
        _print_csv(release, level)
    else:
        _print_for_people(release, remaining, level, output)


def release_json(release: Release, remaining: Loss, level: float) -> dict[str, Any]:
    """A release as ``--format json`` has it."""
    from discreet.privacy import to_json

    content = release.to_dict(level)
    certificate = content.pop("certificate")
    return {**content, "remaining": to_json(remaining), "certificate": certificate}


def print_json(content: dict[str, Any]) -> None:
    """One JSON object on one line, in ASCII, so that no terminal or locale can garble it."""
    typer.echo(json.dumps(content, allow_nan=False))


def print_table(table: Table) -> None:
    """A rich table on stdout, never narrowed where nobody has a window."""
    from rich.console import Console
    from rich.measure import Measurement

    console = Console()
    if not sys.stdout.isatty():
        console.width = max(80, Measurement.get(console, console.options.update(width=10_000), table).maximum)
    with console.capture() as text:
        console.print(table)
    typer.echo(text.get(), nl=False)


def _bias_in_words(bias: Bias, columns: list[str]) -> str:
    limit = ", a lower limit" if bias.at_least else ""
    return printable(
        f"bias of {', '.join(columns)}: {bias.what}: {bias.estimate:,.6g} ± {bias.error:,.4g} (95 %){limit}"
    )


def _print_csv(release: Release, level: float) -> None:
    names = list(release.to_arrow().column_names)
    content = release.to_dict(level)
    errors: dict[str, list[object]] = content["errors"]
    header = list(names)
    for name in errors:
        label = f"{name}_error"
        while label in header:
            label += "_error"
        header.append(label)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    halves = list(errors.values())
    writer.writerows([*row, *(half[i] for half in halves)] for i, row in enumerate(content["rows"]))


def _print_for_people(release: Release, remaining: Loss, level: float, output: Path | None) -> None:
    from discreet.privacy import in_words

    print_table(release.rich_table(level, first=_FIRST))
    cut = release.shown_rows > _FIRST
    typer.echo(f"first {_FIRST} of {release.note(level)}" if cut else release.note(level))
    if cut:
        to_ask = "all rows: --output FILE.csv or FILE.parquet, or --format csv; a repeat is free"
        typer.echo(to_ask if output is None else printable(f"all rows are in {output}"))
    for line in release.footnotes(level, _FIRST):
        typer.echo(printable(line))
    for bias, columns in release.biases():
        typer.echo(_bias_in_words(bias, columns))
    typer.echo(f"cost {in_words(release.loss)}; left {in_words(remaining)}")
