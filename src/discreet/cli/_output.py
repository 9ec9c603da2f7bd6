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
    if form is Format.json:
        print_json(_as_json(release, remaining, level))
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


def _rows(release: Release) -> list[list[object]]:
    from discreet.query import plain_value

    columns = [[plain_value(v) for v in column.to_pylist()] for column in release.to_arrow().columns]
    return [list(row) for row in zip(*columns, strict=True)]


def _errors(release: Release, level: float) -> dict[str, list[object]]:
    from discreet.query import plain_value

    return {name: [plain_value(float(half)) for half in release.error(name, level)] for name in release.noisy}


def _as_json(release: Release, remaining: Loss, level: float) -> dict[str, Any]:
    from discreet.privacy import to_json

    bought = _biases(release)
    return {
        "columns": release.to_arrow().column_names,
        "rows": _rows(release),
        "errors": _errors(release, level),
        **({"bias": [_bias_as_json(bias, columns) for bias, columns in bought]} if bought else {}),
        "loss": to_json(release.loss),
        "remaining": to_json(remaining),
        "certificate": dict(release.certificate),
    }


def _biases(release: Release) -> list[tuple[Bias, list[str]]]:
    """The estimates of bias that were bought with a release, each with the columns that it is of; none if none were."""
    if not release.certificate.get("bias"):
        return []
    columns: dict[Bias, list[str]] = {}
    for name in release.noisy:
        for bias in release.bias(name):
            columns.setdefault(bias, []).append(name)
    return list(columns.items())


def _bias_as_json(bias: Bias, columns: list[str]) -> dict[str, object]:
    from discreet.query import plain_value

    return {
        "columns": columns,
        "what": bias.what,
        "estimate": plain_value(bias.estimate),
        "error": plain_value(bias.error),
        "at_least": bias.at_least,
    }


def _bias_in_words(bias: Bias, columns: list[str]) -> str:
    limit = ", a lower limit" if bias.at_least else ""
    return printable(
        f"bias of {', '.join(columns)}: {bias.what}: {bias.estimate:,.6g} ± {bias.error:,.4g} (95 %){limit}"
    )


def _print_csv(release: Release, level: float) -> None:
    names = list(release.to_arrow().column_names)
    errors = _errors(release, level)
    header = list(names)
    for name in errors:
        label = f"{name}_error"
        while label in header:
            label += "_error"
        header.append(label)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    halves = list(errors.values())
    writer.writerows([*row, *(half[i] for half in halves)] for i, row in enumerate(_rows(release)))


def _print_for_people(release: Release, remaining: Loss, level: float) -> None:
    from discreet.privacy import in_words
    from discreet.query import release_note, release_table

    print_table(release_table(release, level))
    typer.echo(release_note(release, level))
    for bias, columns in _biases(release):
        typer.echo(_bias_in_words(bias, columns))
    typer.echo(f"cost {in_words(release.loss)}; left {in_words(remaining)}")
