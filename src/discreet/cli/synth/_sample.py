"""`discreet synth sample`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.synth._options import ModelArgument, given_values
from discreet.elapsed import elapsed
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.synth import SyntheticTable, SyntheticTables

__all__ = ["EXAMPLES", "sample"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet synth sample visits.synth -n 50000 -o rows.parquet\n\n"
    "  discreet synth sample visits.synth -n 1000 --given female=true --label a -o women.csv --policy women.toml\n\n"
    "  discreet synth sample visits.synth -n 10\n\n"
    "  discreet synth sample people.synth --people 1000 -o rows"
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
    people: Annotated[
        int | None,
        typer.Option(
            "--people",
            metavar="N",
            min=0,
            max=100_000_000,
            show_default=False,
            help="How many people, where the file holds people with all their rows. Default: about as many as there "
            "are, by a noisy count.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="PLACE",
            show_default=False,
            help="A new file: .parquet, .csv or .duckdb; of several tables a new folder, or .duckdb. Default: CSV on "
            "stdout.",
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
        from discreet.cli.synth._models import model_in
        from discreet.release import check_new_file, write_file
        from discreet.synth import SyntheticTable

        if policy is not None:
            check_new_file(policy)
        if policy is not None and output is not None and policy.resolve() == output.resolve():
            raise ParameterError("--output and --policy write a file each; name different ones")
        model = model_in(file)
        if isinstance(model, SyntheticTable):
            if people is not None:
                raise ParameterError("--people is for people with all their rows; this is one table: use --rows")
            lines = _one_table(model, rows, output, given or (), label, min_repeats, name)
        else:
            _refuse_of_people({"--rows": rows, "--given": given, "--min-repeats": min_repeats, "--name": name})
            lines = _all_tables(model, people, output, label)
        if policy is not None:
            text = model.policy_toml(name or model.table) if isinstance(model, SyntheticTable) else model.policy_toml()
            write_file(text.encode(), policy)
    for line in lines:
        typer.echo(line)


def _refuse_of_people(options: Mapping[str, object]) -> None:
    odd = next((option for option, value in options.items() if value), None)
    if odd is not None:
        more = "; use --people" if odd == "--rows" else ""
        raise ParameterError(f"{odd} is for one table, and this file holds people with all their rows{more}")


def _one_table(  # noqa: PLR0913, PLR0917 - an option each
    model: SyntheticTable,
    rows: int | None,
    output: Path | None,
    given: Sequence[str],
    label: str,
    least: int | None,
    name: str | None,
) -> list[str]:
    """Draw the rows of one table, and put them where they are asked to; lines to say after that."""
    from discreet.synth import check_rows_file, min_repeats, write_rows

    if output is not None:
        check_rows_file(output)
    drawn = model.sample(rows, given_values(given, model.columns), label)
    if least is not None:
        repeated = min_repeats(drawn, least)
        typer.echo(repeated.note, err=True)
        drawn = repeated.rows
    if output is None:
        _print(drawn)
        return []
    write_rows(drawn, output, name or model.table)
    return [_many(drawn.num_rows, f"row{'' if drawn.num_rows == 1 else 's'} of synthetic {model.table}", output)]


def _all_tables(model: SyntheticTables, people: int | None, output: Path | None, label: str) -> list[str]:
    """Draw people with all their rows, and put their tables where they are asked to; lines to say after that."""
    from discreet.synth import check_rows_file, check_tables_place, write_rows, write_tables

    names = [shape.table for shape in model.shapes]
    as_file = len(names) == 1 and (output is None or output.suffix.lower() in _OF_ONE)
    if output is None and not as_file:
        raise ParameterError(f"there are {len(names)} tables; name a new folder or a .duckdb file for them: -o rows")
    if output is not None:
        (check_rows_file if as_file else check_tables_place)(output)
    drawn = model.sample(people, label)
    if output is None:
        _print(drawn[names[0]])
        return []
    if as_file:
        write_rows(drawn[names[0]], output, names[0])
    else:
        write_tables(drawn, output)
    return [
        _many(table.num_rows, f"row{'' if table.num_rows == 1 else 's'} of synthetic {name}", output)
        for name, table in drawn.items()
    ]


def _many(number: int, what: str, output: Path) -> str:
    from discreet.errors import printable

    return printable(f"{number:,} {what} in {output}")


_OF_ONE = (".parquet", ".csv")


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
