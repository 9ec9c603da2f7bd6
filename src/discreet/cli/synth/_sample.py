"""`discreet synth sample`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.synth._options import ModelArgument, given_values
from discreet.elapsed import elapsed
from discreet.errors import ParameterError

__all__ = ["EXAMPLES", "sample"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet synth sample visits.synth -n 50000 -o rows.parquet\n\n"
    "  discreet synth sample visits.synth -n 1000 --given female=true --label a -o women.csv --policy women.toml\n\n"
    "  discreet synth sample visits.synth -n 10"
)


def sample(  # noqa: PLR0913 — an option each
    file: ModelArgument,
    *,
    rows: Annotated[
        int | None,
        typer.Option(
            "--rows",
            "-n",
            metavar="N",
            min=0,
            max=1_000_000_000,
            show_default=False,
            help="How many rows. Default: about as many as the private table has, by a noisy count.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="A new file: .parquet, .csv or .duckdb. Default: CSV on stdout.",
        ),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given",
            metavar="NAME=VALUE",
            show_default=False,
            help="A value that a column has in every row; the others follow from it. Once for each column.",
        ),
    ] = None,
    label: Annotated[
        str, typer.Option("--label", metavar="LABEL", help="A public name: the same label gives the same rows again.")
    ] = "",
    min_repeats: Annotated[
        int | None,
        typer.Option(
            "--min-repeats",
            metavar="K",
            min=1,
            show_default=False,
            help="Drop rows that occur fewer than K times; what that bends is said on stderr.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name",
            metavar="NAME",
            show_default=False,
            help="What the table is called in .duckdb and in the policy. Default: as the private one.",
        ),
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(
            "--policy",
            metavar="FILE",
            show_default=False,
            help="Also write the policy of a public table for the rows to a new file.",
        ),
    ] = None,
) -> None:
    """Draw rows of a synthetic table, with the types of its policy. Spends nothing, needs no ledger and no data.

    The file is not verified: `discreet verify` says whether it is genuine.
    """
    with elapsed():
        from discreet.release import check_new_file, write_file
        from discreet.synth import check_rows_file, load, write_rows
        from discreet.synth import min_repeats as least_repeated

        if output is not None:
            check_rows_file(output)
        if policy is not None:
            check_new_file(policy)
        if policy is not None and output is not None and policy.resolve() == output.resolve():
            raise ParameterError("--output and --policy write a file each; name different ones")
        model = load(file)
        drawn = model.sample(rows, given_values(given or (), model.columns), label)
        repeated = None if min_repeats is None else least_repeated(drawn, min_repeats)
        drawn = drawn if repeated is None else repeated.rows
        table = name or model.table
        if output is not None:
            write_rows(drawn, output, table)
        if policy is not None:
            write_file(model.policy_toml(table).encode(), policy)
    if repeated is not None:
        typer.echo(repeated.note, err=True)
    if output is None:
        _print(drawn)
    else:
        from discreet.errors import printable

        many = "1 row" if drawn.num_rows == 1 else f"{drawn.num_rows:,} rows"
        typer.echo(printable(f"{many} of synthetic {model.table} in {output}"))


def _print(drawn: object) -> None:
    """All rows as CSV on stdout."""
    import io

    import pyarrow as pa
    from pyarrow import csv

    assert isinstance(drawn, pa.Table)
    for start in range(0, max(drawn.num_rows, 1), _PART):
        text = io.BytesIO()
        csv.write_csv(drawn.slice(start, _PART), text, csv.WriteOptions(include_header=start == 0))
        typer.echo(text.getvalue().decode(), nl=False)


_PART = 65_536
