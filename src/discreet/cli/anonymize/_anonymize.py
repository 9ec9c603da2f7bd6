"""`discreet anonymize`."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli._options import listed_names
from discreet.cli._table_files import table_in
from discreet.cli.anonymize._options import QuasiOption, SensitiveOption, TableArgument
from discreet.cli.ledger._options import Shape, ShapeOption
from discreet.elapsed import elapsed
from discreet.errors import ParameterError

if TYPE_CHECKING:
    from discreet.anonymize import Anonymized

__all__ = ["EXAMPLES", "anonymize"]

EXAMPLES = (
    "[bold]Examples[/bold]\n\n"
    "  discreet anonymize patients.csv --k 10 --quasi age,sex,town --sensitive illness -o coarse.csv\n\n"
    "  discreet anonymize patients.csv --k 10 --l 2 --quasi age,sex,town --sensitive illness "
    "--hierarchies towns.toml -o coarse.parquet\n\n"
    "  discreet risk coarse.csv --quasi age,sex,town --sensitive illness\n\n"
    "Columns that no option names are left out. This is no differential privacy: no ledger counts the table, and the "
    "certificate lists what is not promised."
)


class Methods(StrEnum):
    """How classes are made."""

    best = "best"
    fast = "fast"
    full_domain = "full-domain"
    full_domain_without_recoding = "full-domain without recoding"
    datafly = "datafly"
    microaggregation = "microaggregation"


def anonymize(  # noqa: PLR0913 - an option each
    table: TableArgument,
    *,
    k: Annotated[
        int, typer.Option("--k", metavar="K", min=1, show_default=False, help="Every row looks like K − 1 others.")
    ],
    quasi: QuasiOption,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", show_default=False, help="A new file: .parquet, .csv, .duckdb."),
    ],
    sensitive: SensitiveOption = None,
    l: Annotated[  # noqa: E741 - as the field calls it
        int | None,
        typer.Option(
            "--l", metavar="L", min=1, show_default=False, help="Every class has L values of each sensitive column."
        ),
    ] = None,
    t: Annotated[
        float | None,
        typer.Option(
            "--t",
            metavar="T",
            min=0,
            max=1,
            show_default=False,
            help="Each class's sensitive values are at most T from the table's (earth mover's distance).",
        ),
    ] = None,
    hierarchies: Annotated[
        Path | None,
        typer.Option(
            "--hierarchies",
            metavar="FILE",
            show_default=False,
            help="A TOML file: for each column widths, prefixes, a file as ARX writes it, or a tree.",
        ),
    ] = None,
    method: Annotated[
        Methods, typer.Option("--method", help="How classes are made; `best` keeps most, `fast` cuts at medians.")
    ] = Methods.best,
    suppression: Annotated[
        float,
        typer.Option("--suppression", metavar="SHARE", min=0, max=1, help="The largest share of rows to leave out."),
    ] = 0.0,
    other: Annotated[
        str | None,
        typer.Option(
            "--other", metavar="A,B", show_default=False, help="More columns to publish as they are, at your own risk."
        ),
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            show_default=False,
            help="A new file for the certificate. Default: the output's name and .certificate.json.",
        ),
    ] = None,
    form: ShapeOption = Shape.table,
) -> None:
    """Coarsen a table until every row looks like others, and certify what that does and does not promise.

    It is classical anonymisation: a condition on the table. Names and other columns that are not named are left out.
    """
    with elapsed():
        from discreet.anonymize import KAnonymity
        from discreet.release import check_new_file, write_file
        from discreet.synth import check_rows_file, write_rows

        check_rows_file(output)
        place = certificate or output.with_name(f"{output.name}.certificate.json")
        if place.resolve() == output.resolve():
            raise ParameterError("--output and --certificate write a file each; name different ones")
        check_new_file(place)
        if hierarchies is not None and hierarchies.suffix.lower() != ".toml":
            raise ParameterError(
                f"--hierarchies takes a TOML file, not {hierarchies.name}: name that there, as [COLUMN] and "
                f'file = "{hierarchies.name}"'
            )
        model = KAnonymity(
            k=k,
            quasi=listed_names(quasi, "--quasi") or [],
            sensitive=listed_names(sensitive, "--sensitive") or [],
            l=l,
            t=t,
            hierarchies=hierarchies,
            other=listed_names(other, "--other") or [],
            method=method.value,
            suppression=suppression,
        )
        out = model.fit_transform(table_in(table))
        write_rows(out.table, output)
        write_file(json.dumps(dict(out.certificate), indent=1).encode(), place)
    _print(out, output, place, form)


def _print(out: Anonymized, output: Path, place: Path, form: Shape) -> None:
    from discreet.cli._output import print_json
    from discreet.errors import printable

    if form is Shape.json:
        print_json({"file": str(output), "certificate_file": str(place), "certificate": dict(out.certificate)})
        return
    verdict = out.verdict
    lines = [
        f"{verdict.rows:,} rows in {verdict.classes:,} classes of {verdict.k:,} or more in {output}",
        f"coarsened by {out.losses.certainty:.1%} (certainty penalty), {out.losses.suppressed:,} rows left out",
        *(
            f"{name}: at least {each.distinct:,} values in each class, at most {each.equal:.2f} from the table"
            for name, each in verdict.spreads.items()
        ),
        f"certificate in {place}",
        "not promised:",
        *(f"- {each}" for each in out.certificate["not promised"]),
    ]
    for line in lines:
        typer.echo(printable(line))
