"""A release on stdout: a table for people, CSV, or one JSON object."""

from __future__ import annotations

import csv
import json
import sys
from typing import TYPE_CHECKING, Any

import typer

from discreet.cli._options import Format
from discreet.errors import printable

if TYPE_CHECKING:
    from rich.table import Table

    from discreet.privacy import Loss
    from discreet.query import Bias, Release

__all__ = ["print_json", "print_release", "print_table"]


def print_release(release: Release, remaining: Loss, form: Format, level: float) -> None:
    """Print a release. NaN and infinities become nulls; dates and timestamps become ISO 8601 text."""
    from discreet.privacy import to_json

    if form is Format.json:
        content = release.to_dict(level)
        certificate = content.pop("certificate")
        print_json({**content, "remaining": to_json(remaining), "certificate": certificate})
    elif form is Format.csv:
        _print_csv(release, level)
    else:
        _print_for_people(release, remaining, level)


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


def _print_for_people(release: Release, remaining: Loss, level: float) -> None:
    from discreet.privacy import in_words

    print_table(release.rich_table(level))
    typer.echo(release.note(level))
    for bias, columns in release.biases():
        typer.echo(_bias_in_words(bias, columns))
    typer.echo(f"cost {in_words(release.loss)}; left {in_words(remaining)}")
