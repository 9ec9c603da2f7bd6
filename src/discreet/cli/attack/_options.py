"""Arguments and options that attacks share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AcceptOption",
    "ControlArgument",
    "EvidenceOption",
    "HierarchiesOption",
    "OriginalArgument",
    "QuasiOption",
    "ReleaseArgument",
    "RowsOption",
    "SensitiveOption",
    "SyntheticArgument",
    "TargetsOption",
]

ReleaseArgument = Annotated[
    Path,
    typer.Argument(metavar="RELEASE", show_default=False, help="The table as it is to be published: CSV or Parquet."),
]
SyntheticArgument = Annotated[
    Path, typer.Argument(metavar="SYNTHETIC", show_default=False, help="The synthetic rows, CSV or Parquet.")
]
OriginalArgument = Annotated[
    Path, typer.Argument(metavar="ORIGINAL", show_default=False, help="The rows behind it, which are the truth.")
]
ControlArgument = Annotated[
    Path,
    typer.Argument(
        metavar="CONTROL", show_default=False, help="Other rows of the same population, that are not behind it."
    ),
]
QuasiOption = Annotated[
    str,
    typer.Option("--quasi", metavar="A,B,C", show_default=False, help="The columns by which people are found."),
]
SensitiveOption = Annotated[
    str, typer.Option("--sensitive", metavar="COLUMN", show_default=False, help="The column that is guessed.")
]
HierarchiesOption = Annotated[
    Path | None,
    typer.Option(
        "--hierarchies",
        metavar="FILE",
        show_default=False,
        help="The TOML file of hierarchies whose ancestors cells may be.",
    ),
]
RowsOption = Annotated[
    str | None,
    typer.Option(
        "--row",
        metavar="COLUMN",
        show_default=False,
        help="A column of the second table: the row of the first, from 0, that is the same person's, and -1 for none. "
        "Default: both tables have the same people in the same order.",
    ),
]
TargetsOption = Annotated[
    int, typer.Option("--targets", metavar="N", min=2, help="On how many people at most it is tried.")
]
AcceptOption = Annotated[
    float | None,
    typer.Option(
        "--accept",
        metavar="ADVANTAGE",
        show_default=False,
        help="Exit with 1 if the advantage over the control may be larger: if its interval of 95 % is not below.",
    ),
]
EvidenceOption = Annotated[
    Path | None,
    typer.Option(
        "--evidence",
        "-o",
        metavar="FILE",
        show_default=False,
        help="A new .csv or .parquet file with each guess, and whether it is right. It is as private as the rows.",
    ),
]
